// The log-likelihood of every signal and depth of a pixel, by matrix products on tensor cores.
//
// A table has a column for each bin of a window around the depth and a row for each pair of a signal and a phase, the
// depth's place within its bin. The log-likelihood of 16 bins and 16 rows is a product of two matrices,
//
//     [16 bins x window] counts around each bin   times   [window x 16 rows] what each count adds,
//
// once for photons and once for samples without one. Counts are whole numbers: half precision has them exactly up to
// 2048, and with DIGITS 2 they are split into two digits to that base. Tables are the sum of two halves, so that nothing
// is lost that single precision would keep. This chooses gates; no guarantee rests on it.
//
// In a product of 16 x 16 by 16 x 8, lane 4 g + q of a warp holds rows g and g + 8, columns 2 q and 2 q + 1 of the
// result. Here rows are bins and columns are rows of the table.
#pragma once
#include "constants.cuh"
#include "shared_memory.cuh"
#include "tensor_cores.cuh"

#define ROW_TILES ((ROWS + 15) / 16)
#define BIN_TILES ((BINS + 15) / 16)
#define TILES_A_WARP ((BIN_TILES + WARPS - 1) / WARPS)
#define THREADS (32 * WARPS)
#define WINDOW_STEPS ((WINDOW + 15) / 16)
#define KINDS (2 * DIGITS)
#define BASE 2048
// Tables of one tile: photons or samples without one, steps along the window, rows by eights, two halves of a number.
#define FRAGMENTS (2 * WINDOW_STEPS * 2 * 2)
// Length of a row of counts: with a window's reach on both sides; rows 16 banks apart.
#define SPAN_NEEDED (16 * BIN_TILES + 16 * WINDOW_STEPS + 16)
#define SPAN ((SPAN_NEEDED + 63) / 64 * 64 + 32)
#define IMPOSSIBLE -1e30f

struct HalfCounts {
    // Each kind twice, the second shifted by one: so every pair of neighbours can be read at once.
    __half rows[KINDS][2][SPAN];

    // Bin i is at i + HALF.
    __device__ void put(int kind, int place, int count) {
        __half low = __int2half_rn(DIGITS == 1 ? count : count % BASE);
        rows[kind][0][place] = low;
        if (place > 0) rows[kind][1][place - 1] = low;
        if (DIGITS > 1) {
            __half high = __int2half_rn(count / BASE);
            rows[kind + 2][0][place] = high;
            if (place > 0) rows[kind + 2][1][place - 1] = high;
        }
    }

    __device__ int get(int kind, int bin) const {
        int count = __half2int_rn(rows[kind][0][bin + HALF]);
        return DIGITS > 1 ? count + BASE * __half2int_rn(rows[kind + 2][0][bin + HALF]) : count;
    }
};

enum { FIRED = 0, MISSED = 1 };

__device__ inline unsigned packed(float low, float high) {
    __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<unsigned*>(&both);
}

// The values of 16 bins and 16 rows: by eights of rows, then bin g rows 2q and 2q+1, bin g+8 likewise.
typedef float Tile[2][4];

// The tables of 16 rows, as a lane gives them to products: kept in registers where they are few.
#define HOLDS_TABLES (FRAGMENTS <= 16)

struct Tables {
#if HOLDS_TABLES
    uint2 held[FRAGMENTS];
#else
    const uint2* first;
#endif

    // ``of_level`` has those of all rows.
    __device__ Tables(const uint2* of_level, int row_tile) {
        const uint2* mine = of_level + row_tile * FRAGMENTS * 32 + threadIdx.x % 32;
#if HOLDS_TABLES
#pragma unroll
        for (int which = 0; which < FRAGMENTS; which++) held[which] = mine[which * 32];
#else
        first = mine;
#endif
    }

    __device__ uint2 operator[](int which) const {
#if HOLDS_TABLES
        return held[which];
#else
        return first[which * 32];
#endif
    }
};

// The bin and the row of one of a tile's values.
__device__ inline int bin_of(int tile, int i) { return 16 * tile + (threadIdx.x % 32) / 4 + 8 * (i / 2); }
__device__ inline int row_of(int row_tile, int eight, int i) {
    return 16 * row_tile + 8 * eight + 2 * (threadIdx.x % 4) + i % 2;
}

__device__ inline void log_likelihood(
    Tile& value, const HalfCounts& counts, const Tables& tables, const float* log_prior, int tile, int row_tile) {
    int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    Tile high;  // of the second digits, which count BASE times as much
    for (int eight = 0; eight < 2; eight++)
        for (int i = 0; i < 4; i++) value[eight][i] = high[eight][i] = 0;
    int start = 16 * tile + (g & ~1) + 2 * q;
#pragma unroll
    for (int kind = 0; kind < KINDS; kind++) {
        const unsigned* row = reinterpret_cast<const unsigned*>(counts.rows[kind][g & 1]);
#pragma unroll
        for (int step = 0; step < WINDOW_STEPS; step++) {
            // What is 8 bins on is also what is 8 columns on.
            unsigned here = row[start / 2 + 8 * step], on = row[start / 2 + 8 * step + 4];
            unsigned far = row[start / 2 + 8 * step + 8];
#pragma unroll
            for (int eight = 0; eight < 2; eight++)
#pragma unroll
                for (int half = 0; half < 2; half++)
                    multiply(kind < 2 ? value[eight] : high[eight], here, on, on, far,
                             tables[((kind % 2 * WINDOW_STEPS + step) * 2 + eight) * 2 + half]);
        }
    }
    if (DIGITS > 1)
        for (int eight = 0; eight < 2; eight++)
            for (int i = 0; i < 4; i++) value[eight][i] += BASE * high[eight][i];
    // Add what was expected beforehand, and leave out what fills up the tables.
    if (log_prior || tile == BIN_TILES - 1) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int bin = bin_of(tile, i);
            float prior = bin < BINS ? (log_prior ? log_prior[bin] : 0.0f) : IMPOSSIBLE;
#pragma unroll
            for (int eight = 0; eight < 2; eight++) value[eight][i] += prior;
        }
    }
    if (16 * row_tile + 16 > ROWS)
#pragma unroll
        for (int eight = 0; eight < 2; eight++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (row_of(row_tile, eight, i) >= ROWS) value[eight][i] = IMPOSSIBLE;
}

// The largest value, the depth it has (bin * PHASES + phase), and the largest of any other depth.
struct Top {
    float first;
    int depth;
    float second;

    __device__ void see(float value, int its_depth) { join(Top{value, its_depth, IMPOSSIBLE}); }

    // The same of a depth that this thread has not seen before.
    __device__ void see_new(float value, int its_depth) {
        second = fmaxf(second, fminf(first, value));
        depth = value > first ? its_depth : depth;
        first = fmaxf(first, value);
    }

    __device__ void join(const Top& other) {
        if (depth == other.depth) {
            first = fmaxf(first, other.first);
            second = fmaxf(second, other.second);
        } else if (first > other.first || (first == other.first && depth < other.depth)) {
            second = fmaxf(second, other.first);
        } else {
            second = fmaxf(other.second, first);
            first = other.first;
            depth = other.depth;
        }
    }
};

// Look at all values of a tile.
__device__ inline void see_tile(Top& top, const Tile& value, int tile, int row_tile) {
#if ROWS <= 16 && (PHASES == 2 || PHASES == 4 || PHASES == 8)
    // Both eights of rows have the same phases, so a thread has each depth in one place.
#pragma unroll
    for (int i = 0; i < 4; i++)
        top.see_new(fmaxf(value[0][i], value[1][i]), bin_of(tile, i) * PHASES + row_of(0, 0, i) % PHASES);
#else
#pragma unroll
    for (int eight = 0; eight < 2; eight++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            top.see(value[eight][i], bin_of(tile, i) * PHASES + row_of(row_tile, eight, i) % PHASES);
#endif
}

__device__ inline Top top_of_warp(Top top) {
    for (int apart = 16; apart; apart /= 2) {
        Top other = {__shfl_xor_sync(~0u, top.first, apart), __shfl_xor_sync(~0u, top.depth, apart),
                     __shfl_xor_sync(~0u, top.second, apart)};
        top.join(other);
    }
    return top;
}

__device__ inline float sum_of_warp(float value) {
    for (int apart = 16; apart; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
    return value;
}

__device__ inline float most_of_warp(float value) {
    for (int apart = 16; apart; apart /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, apart));
    return value;
}

__device__ inline int sum_of_warp(int value) {
    for (int apart = 16; apart; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
    return value;
}

// Photons and samples of a pixel, and what its threads tell each other.
struct Pixel {
    HalfCounts counts;
    Top tops[WARPS];
    int fired_of_warp[WARPS], samples_of_warp[WARPS], scanned[WARPS];
    float sums[WARPS], mosts[WARPS];
    int fired, samples;   // of all bins
    int near_fired[2], near_samples[2];  // of the bins around a depth
};

// Load the counts of a pixel, and add them up.
__device__ inline void load(Pixel& pixel, const int* marks, const int* fired) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int place = threadIdx.x; place < KINDS * 2 * SPAN / 2; place += THREADS)
        reinterpret_cast<unsigned*>(pixel.counts.rows)[place] = 0;
    __syncthreads();
    int carried = 0, all_fired = 0, all_samples = 0;
    for (int first = 0; first < BINS; first += 4 * THREADS) {
        int bin = first + 4 * threadIdx.x, mark[4], own = 0;
        int hits[4];
#if BINS % 4 == 0
        // Sixteen bytes at once.
        int4 nothing = make_int4(0, 0, 0, 0);
        int4 four = bin < BINS ? *reinterpret_cast<const int4*>(marks + bin) : nothing;
        int4 four_hits = bin < BINS ? *reinterpret_cast<const int4*>(fired + bin) : nothing;
        mark[0] = four.x, mark[1] = four.y, mark[2] = four.z, mark[3] = four.w;
        hits[0] = four_hits.x, hits[1] = four_hits.y, hits[2] = four_hits.z, hits[3] = four_hits.w;
#else
        for (int i = 0; i < 4; i++) {
            mark[i] = bin + i < BINS ? marks[bin + i] : 0;
            hits[i] = bin + i < BINS ? fired[bin + i] : 0;
        }
#endif
        for (int i = 0; i < 4; i++) own += mark[i];
        int upto = own;
        for (int apart = 1; apart < 32; apart *= 2) {
            int other = __shfl_up_sync(~0u, upto, apart);
            if (lane >= apart) upto += other;
        }
        if (lane == 31) pixel.scanned[warp] = upto;
        __syncthreads();
        int samples = carried + upto - own;
        for (int i = 0; i < WARPS; i++) {
            if (i < warp) samples += pixel.scanned[i];
            carried += pixel.scanned[i];
        }
        for (int i = 0; i < 4; i++) {
            if (bin + i >= BINS) break;
            samples += mark[i];
            pixel.counts.put(FIRED, bin + i + HALF, hits[i]);
            pixel.counts.put(MISSED, bin + i + HALF, samples - hits[i]);
            all_fired += hits[i];
            all_samples += samples;
        }
        __syncthreads();
    }
    all_fired = sum_of_warp(all_fired);
    all_samples = sum_of_warp(all_samples);
    if (lane == 0) {
        pixel.fired_of_warp[warp] = all_fired;
        pixel.samples_of_warp[warp] = all_samples;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        pixel.fired = pixel.samples = 0;
        for (int i = 0; i < WARPS; i++) {
            pixel.fired += pixel.fired_of_warp[i];
            pixel.samples += pixel.samples_of_warp[i];
        }
    }
}

// Photons and samples of the bins that a return to ``bin`` reaches: a warp does this.
__device__ inline void count_near(Pixel& pixel, int which, int bin) {
    int fired = 0, samples = 0;
    for (int i = bin - HALF + threadIdx.x % 32; i <= bin + HALF; i += 32)
        if (i >= 0 && i < BINS) {
            int hits = pixel.counts.get(FIRED, i);
            fired += hits;
            samples += hits + pixel.counts.get(MISSED, i);
        }
    fired = sum_of_warp(fired);
    samples = sum_of_warp(samples);
    if (threadIdx.x % 32 == 0) {
        pixel.near_fired[which] = fired;
        pixel.near_samples[which] = samples;
    }
}

__device__ inline Top top_of_block(Pixel& pixel, Top top) {
    top = top_of_warp(top);
    if (threadIdx.x % 32 == 0) pixel.tops[threadIdx.x / 32] = top;
    __syncthreads();
    top = pixel.tops[0];
    for (int i = 1; i < WARPS; i++) top.join(pixel.tops[i]);
    return top;
}

// The largest of all values of a pixel whose counts are loaded.
__device__ inline Top find_top(Pixel& pixel, const uint2* tables_of_level, const float* log_prior) {
    Top top = {2 * IMPOSSIBLE, -1, IMPOSSIBLE};
    for (int row_tile = 0; row_tile < ROW_TILES; row_tile++) {
        Tables tables(tables_of_level, row_tile);
#pragma unroll 2
        for (int tile = threadIdx.x / 32; tile < BIN_TILES; tile += WARPS) {
            Tile value;
            log_likelihood(value, pixel.counts, tables, log_prior, tile, row_tile);
            see_tile(top, value, tile, row_tile);
        }
    }
    return top_of_block(pixel, top);
}

// Levels of the background, their logarithms evenly apart.
struct Levels {
    const double* backgrounds;
    int count;

    // The level nearest to what the bins away from a return say; what is expected counts as a few photons.
    __device__ int of(int fired, int samples, double expected) const {
        if (count == 1) return 0;
        double share = (fired + PHOTONS_BEFORE) / (samples + PHOTONS_BEFORE / -expm1(-expected));
        double background = -log1p(-fmin(share, 1 - 1e-9));
        int level = (int)rint(log(background / backgrounds[0]) / log(LEVEL_RATIO));
        return min(max(level, 0), count - 1);
    }
};
