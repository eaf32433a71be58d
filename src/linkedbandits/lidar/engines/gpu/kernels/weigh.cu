// Where is the return, and what would a sample of every bin be worth? A block of threads a pixel.
//
// A sample of bin i is worth the entropy of "does it fire?" less what of it would be left if depth and signal were
// known. With w the weights of depths and signals,
//
//     chance[i]  = alone + sum over depths d and rows of  w[d, row] * more chance[row, i - d]  / sum of w,
//
// and likewise the entropy. As a product of matrices: four neighbouring bins are the columns, with their chances and
// their entropies; what is summed over are the weights of the depths around them. So
//
//     [16 fours of bins x (window + 3) * rows] weights   times   [(window + 3) * rows x 8] tables,
//
// 16 rows after the other: the weights of so many are in shared memory together.
#include "likelihood.cuh"

#define POSITIONS (WINDOW + 3)
#define FOURS ((BINS + 3) / 4)
#define FOUR_TILES ((FOURS + 15) / 16)
#define FOUR_TILES_A_WARP ((FOUR_TILES + WARPS - 1) / WARPS)
#define WEIGHT_PLACES (64 * FOUR_TILES + POSITIONS + 1)
// Eight halves are left out after every fourth place: then 16 rows that are read together are in different banks.
#define WEIGHT_SIZE (WEIGHT_PLACES * 16 + (WEIGHT_PLACES / 4 + 1) * 8)

__device__ inline int weight_at(int place) { return place * 16 + (place >> 2) * 8; }

__device__ inline float binary_entropy(float chance) {
    float never = fmaxf(1 - chance, 1e-30f);
    return -chance * __logf(fmaxf(chance, 1e-30f)) - never * __logf(never);
}

// How much likelier counts of background alone are with the one that fits them best than with this one.
__device__ inline double gained(int fired, int samples, double background) {
    double missed = samples - fired;
    double best = fmax(log1p(fired / fmax(missed, 0.5)), LEAST_BACKGROUND);
    return fmax(fired * log(expm1(-best) / expm1(-background)) - missed * (best - background), 0.0);
}

struct Weighing {
    Pixel pixel;
    alignas(16) __half weights[WEIGHT_SIZE];
#if LIKELY
    float cells[BINS * PHASES + 1];
#endif
};

#if LIKELY
// Add up the weights of a depth over signals, without temper: by a product with a table of zeros and ones.
__device__ inline void add_plain_weights(
    Weighing& shared, const Tile& value, float top, const uint2* phase_tables, int tile, int row_tile) {
    int lane = threadIdx.x % 32;
    auto weights = [&](int eight, int i) {
        return packed(__expf(value[eight][i] - top), __expf(value[eight][i + 1] - top));
    };
    unsigned here = weights(0, 0), below = weights(0, 2), on = weights(1, 0), far = weights(1, 2);
    for (int phases = 0; phases < (PHASES + 7) / 8; phases++) {
        float sums[4] = {0, 0, 0, 0};
        multiply(sums, here, below, on, far, phase_tables[(phases * ROW_TILES + row_tile) * 32 + lane]);
        for (int i = 0; i < 4; i++) {
            int bin = bin_of(tile, i), phase = 8 * phases + 2 * (lane % 4) + i % 2;
            if (bin < BINS && phase < PHASES) {
                float& cell = shared.cells[bin * PHASES + phase];
                cell = row_tile == 0 ? sums[i] : cell + sums[i];
            }
        }
    }
}

// How probable is the best window of twice the tolerance, and how probable no return? ``cells`` has the weight of each
// depth of the grid. Adds up in order within each thread's part, so the sum does not depend on timing.
__device__ inline void probabilities(Weighing& shared, int wide, double of_none, double& near, double& none) {
    const int cells = BINS * PHASES, part = (cells + THREADS - 1) / THREADS;
    int from = min(threadIdx.x * part, cells), to = min(from + part, cells);
    float own = 0;
    for (int i = from; i < to; i++) own += shared.cells[i];
    float whole = sum_of_warp(own);
    if (threadIdx.x % 32 == 0) shared.pixel.sums[threadIdx.x / 32] = whole;
    float most = 0, window = 0;
    for (int i = from; i < to && i + wide <= cells; i++) {
        if (i == from) for (int j = 0; j < wide; j++) window += shared.cells[i + j];
        else window += shared.cells[i + wide - 1] - shared.cells[i - 1];
        most = fmaxf(most, window);
    }
    most = most_of_warp(most);
    if (threadIdx.x % 32 == 0) shared.pixel.mosts[threadIdx.x / 32] = most;
    __syncthreads();
    double total = of_none;
    most = 0;
    for (int i = 0; i < WARPS; i++) {
        total += shared.pixel.sums[i];
        most = fmaxf(most, shared.pixel.mosts[i]);
    }
    near = most / total;
    none = of_none / total;
}
#endif

extern "C" __device__ const int weighing_bytes = sizeof(Weighing);

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) weigh(
    const int* active, const int* marks, const int* fired, const float* log_prior, const double* expected_background,
    int* level, int* arm, const int* cycles, const int* next_try,
    const uint2* likelihood_tables, const uint2* outlook_tables, const uint2* phase_tables, const double* backgrounds,
    int levels, float temper, float step, float least_worth,
    float needed, float away_from, double likely, int wide,
    float* worth, float* chance, unsigned char* promising, unsigned char* stopped) {
    DYNAMIC_SHARED(unsigned char, memory);
    Weighing& shared = *reinterpret_cast<Weighing*>(memory);
    Pixel& pixel = shared.pixel;
    int number = active[blockIdx.x], lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long row = (long long)number * BINS;
    const float* prior = log_prior ? log_prior + row : nullptr;
    int my_level = level[number];
    load(pixel, marks + row, fired + row);
    // Beside the range there are no depths, and no weights.
    for (int place = threadIdx.x; place < HALF + WEIGHT_PLACES - 16 * BIN_TILES - HALF; place += THREADS) {
        int where = place < HALF ? place : place + 16 * BIN_TILES;
        if (where < WEIGHT_PLACES)
            for (int i = 0; i < 16; i++) shared.weights[weight_at(where) + i] = __half(0.0f);
    }
    __syncthreads();
    const uint2* tables_of_level = likelihood_tables + (long long)my_level * ROW_TILES * FRAGMENTS * 32;
    const uint2* outlook = outlook_tables + (long long)my_level * ROW_TILES * POSITIONS * 32 + lane;
    Top top = find_top(pixel, tables_of_level, prior);
    int best_bin = top.depth / PHASES;
    // From the likeliest depth of the grid to the next, the weight falls by at most the step.
    float power = fminf(temper, step / fmaxf(top.first - top.second, 1e-6f));
    float scale = power * 1.44269504f, offset = -scale * top.first;  // exponents of two
    int my_four = lane % 8 + (lane / 8 % 2) * 8, my_column = (lane / 16) * 8;  // the row that this lane has read

    float total = 0, rival = IMPOSSIBLE, sums[FOUR_TILES_A_WARP][4] = {};
    for (int row_tile = 0; row_tile < ROW_TILES; row_tile++) {
        // The log-likelihood is made for a second time here: to keep it from the first would take so many registers that
        // half as many blocks ran side by side.
        Tables tables(tables_of_level, row_tile);
        if (row_tile > 0) __syncthreads();  // the weights before these were read by all
#pragma unroll 2
        for (int tile = warp; tile < BIN_TILES; tile += WARPS) {
            Tile value;
            log_likelihood(value, pixel.counts, tables, prior, tile, row_tile);
#if CERTAIN
            float best_depth = best_bin + (top.depth % PHASES + 0.5f) / PHASES;
#pragma unroll
            for (int eight = 0; eight < 2; eight++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    float middle = bin_of(tile, i) + (row_of(row_tile, eight, i) % PHASES + 0.5f) / PHASES;
                    if (fabsf(middle - best_depth) > away_from) rival = fmaxf(rival, value[eight][i]);
                }
#endif
#if LIKELY
            add_plain_weights(shared, value, top.first, phase_tables, tile, row_tile);
#endif
#pragma unroll
            for (int eight = 0; eight < 2; eight++) {
                float weight[4];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    weight[i] = power_of_two(fmaf(value[eight][i], scale, offset));
                    total += weight[i];
                }
                int column = 8 * eight + 2 * (lane % 4), place = bin_of(tile, 0) + HALF;
                *reinterpret_cast<unsigned*>(&shared.weights[weight_at(place) + column]) = packed(weight[0], weight[1]);
                *reinterpret_cast<unsigned*>(&shared.weights[weight_at(place + 8) + column]) =
                    packed(weight[2], weight[3]);
            }
        }
        __syncthreads();
#pragma unroll 4
        for (int position = 0; position < POSITIONS; position++) {
            uint2 table = outlook[(row_tile * POSITIONS + position) * 32];
#pragma unroll
            for (int turn = 0; turn < FOUR_TILES_A_WARP; turn++) {
                int tile = warp + turn * WARPS;
                if (tile >= FOUR_TILES) break;
                int place = 4 * (16 * tile + my_four) + position;
                unsigned weights[4];
                load_matrices(weights, &shared.weights[weight_at(place) + my_column]);
                multiply(sums[turn], weights[0], weights[1], weights[2], weights[3], table);
            }
        }
    }
    total = sum_of_warp(total);
    rival = most_of_warp(rival);
    if (lane == 0) {
        pixel.sums[warp] = total;
        pixel.mosts[warp] = rival;
    }
    if (warp == 0) count_near(pixel, 0, best_bin);
#if LIKELY
    if (warp == WARPS - 1) count_near(pixel, 1, arm[number]);
#endif
    __syncthreads();
    total = 0;
    for (int i = 0; i < WARPS; i++) {
        total += pixel.sums[i];
        rival = fmaxf(rival, pixel.mosts[i]);
    }

    float alone = (float)-expm1(-backgrounds[my_level]), entropy_alone = binary_entropy(alone), share = 1 / total;
#pragma unroll
    for (int turn = 0; turn < FOUR_TILES_A_WARP; turn++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int bin = 64 * (warp + turn * WARPS) + 32 * half + lane;
            if (bin >= BINS) continue;
            float likely_to_fire = fminf(alone + sums[turn][2 * half] * share, 1.0f);  // but for rounding
            float known = sums[turn][2 * half + 1] * share;
            chance[row + bin] = likely_to_fire;
            worth[row + bin] = fmaxf(binary_entropy(likely_to_fire) - entropy_alone - known, least_worth);
        }

#if LIKELY
    double none = 0, near = 0, of_none = 1;
    if (levels > 1) {
        double background = backgrounds[my_level];
        of_none = gained(pixel.fired, pixel.samples, background)
            - gained(pixel.fired - pixel.near_fired[1], pixel.samples - pixel.near_samples[1], background);
    } else of_none = 0;
    __syncthreads();
    // Every depth of the grid had a weight of one bin's share: with no prior given, that is what "no return" is held to.
    double before = log_prior ? 0.0 : -log((double)BINS);
    of_none = ROWS * exp(fmin(of_none - (top.first + before), 50.0));
    probabilities(shared, wide, of_none, near, none);
#endif
    if (threadIdx.x == 0) {
        Levels grid = {backgrounds, levels};
        arm[number] = best_bin;
        level[number] = grid.of(pixel.fired - pixel.near_fired[0], pixel.samples - pixel.near_samples[0],
                                expected_background[number]);
        promising[number] = CERTAIN && cycles[number] >= next_try[number] && top.first - rival >= needed;
#if LIKELY
        bool ends = near >= likely || none >= 1 - (1 - likely) * (1 - likely);
        if (ends && cycles[number] > 0) stopped[number] = 1;
#endif
    }
}
