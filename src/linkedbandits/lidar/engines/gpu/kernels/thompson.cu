// Thompson gating: the gate opens a little before a depth that is drawn from the posterior. A block a pixel.
#include "counter.cuh"
#include "likelihood.cuh"

struct Drawing {
    Pixel pixel;
    float bins[BINS];  // the weight of each bin
    int drawn;
};

extern "C" __device__ const int drawing_bytes = sizeof(Drawing);

extern "C" __global__ void __launch_bounds__(THREADS) draw_gate(
    const int* active, const long long* numbers, const int* marks, const int* fired, const float* log_prior,
    const double* expected_background, int* level, int* arm, const uint2* likelihood_tables,
    const double* backgrounds, int levels, unsigned key_low, unsigned key_high,
    int* steps, int lead, const int* start_before, int* opens) {
    DYNAMIC_SHARED(unsigned char, memory);
    Drawing& shared = *reinterpret_cast<Drawing*>(memory);
    Pixel& pixel = shared.pixel;
    int number = active[blockIdx.x], lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long row = (long long)number * BINS;
    const float* prior = log_prior ? log_prior + row : nullptr;
    load(pixel, marks + row, fired + row);
    __syncthreads();
    const uint2* tables_of_level = likelihood_tables + (long long)level[number] * ROW_TILES * FRAGMENTS * 32;
    float top = find_top(pixel, tables_of_level, prior).first;
    for (int row_tile = 0; row_tile < ROW_TILES; row_tile++) {
        Tables tables(tables_of_level, row_tile);
        for (int tile = warp; tile < BIN_TILES; tile += WARPS) {
            Tile value;
            log_likelihood(value, pixel.counts, tables, prior, tile, row_tile);
            float here = 0, on = 0;  // bins g and g + 8
#pragma unroll
            for (int eight = 0; eight < 2; eight++) {
                here += __expf(value[eight][0] - top) + __expf(value[eight][1] - top);
                on += __expf(value[eight][2] - top) + __expf(value[eight][3] - top);
            }
            for (int apart = 1; apart < 4; apart *= 2) {
                here += __shfl_xor_sync(~0u, here, apart);
                on += __shfl_xor_sync(~0u, on, apart);
            }
            int bin = bin_of(tile, 0);
            if (lane % 4 == 0 && bin < BINS) shared.bins[bin] = row_tile == 0 ? here : shared.bins[bin] + here;
            if (lane % 4 == 0 && bin + 8 < BINS)
                shared.bins[bin + 8] = row_tile == 0 ? on : shared.bins[bin + 8] + on;
        }
    }
    __syncthreads();
    if (warp == 0) {
        // The likeliest bin, and the bin in which the weights reach what was drawn.
        const int part = (BINS + 31) / 32;
        int from = min(lane * part, BINS), to = min(from + part, BINS), best = from;
        float sum = 0, most = -1;
        for (int bin = from; bin < to; bin++) {
            sum += shared.bins[bin];
            if (shared.bins[bin] > most) { most = shared.bins[bin]; best = bin; }
        }
        for (int apart = 16; apart; apart /= 2) {
            float other = __shfl_xor_sync(~0u, most, apart);
            int other_bin = __shfl_xor_sync(~0u, best, apart);
            if (other > most || (other == most && other_bin < best)) { most = other; best = other_bin; }
        }
        float upto = sum;
        for (int apart = 1; apart < 32; apart *= 2) {
            float other = __shfl_up_sync(~0u, upto, apart);
            if (lane >= apart) upto += other;
        }
        float whole = __shfl_sync(~0u, upto, 31);
        int step = steps[number] + 1;
        float drawn = (float)uniform(make_uint2(key_low, key_high), numbers[number], DRAWS, (unsigned)step) * whole;
        float before = upto - sum;
        int at = BINS;
        if (before <= drawn && drawn < upto)
            for (int bin = from; bin < to; bin++) {
                before += shared.bins[bin];
                if (before > drawn) { at = bin; break; }
            }
        for (int apart = 16; apart; apart /= 2) at = min(at, __shfl_xor_sync(~0u, at, apart));
        at = min(at, BINS - 1);
        count_near(pixel, 0, best);
        __syncwarp();
        if (lane == 0) {
            Levels grid = {backgrounds, levels};
            steps[number] = step;
            arm[number] = best;
            level[number] = grid.of(pixel.fired - pixel.near_fired[0], pixel.samples - pixel.near_samples[0],
                                    expected_background[number]);
            opens[number] = start_before[max(at - lead, 0)];
        }
    }
}
