// The best gate that opens once and stays open: a warp a pixel.
//
// With s_i the chance that bin i does not fire, the rest of a cycle from bin g on is worth V_g = v_g + s_g V_{g+1}, and
// ends without a photon with probability E_g = s_g E_{g+1}. Both come from the last bin to the first. A detection costs
// ``lost_base`` periods, and one more if it comes ``late`` bins after the opening, or later. So the gate from g on has a
// worth per time of V_g / (1 + lost_base (1 - E_g) + (survival of the first ``late`` bins - E_g)).
//
// A gate that rises passes its first bins with part of its sensitivity and counts nothing there; from then on it is what
// it would be without a rise.
//
// Shared memory: 3 * PLACES floats a warp.
#include "shared_memory.cuh"

#define BINS_A_LANE ((BINS + 31) / 32)
#define PLACES (BINS + 1 + (BINS + 1) / 32 + 1)

// Rows of bins in shared memory, with a gap after every 32: then lanes that each walk along a run of their own do not
// meet in one bank.
struct Row {
    float* first;
    __device__ float& operator[](int bin) const { return first[bin + bin / 32]; }
};

extern "C" __device__ const int suffix_bytes_a_warp = 3 * PLACES * sizeof(float);

extern "C" __global__ void best_suffix(
    const int* active, int count, const float* worth, const float* chance, float lost_base, int late,
    const float* rising, int rise_bins, const unsigned char* may_open, int* opens) {
    DYNAMIC_SHARED(float, rest);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + warp;
    if (row >= count) return;
    Row value = {rest + warp * 3 * PLACES};           // of the rest of a cycle, from each bin on
    Row to_end = {value.first + PLACES};              // the probability that nothing fires from there on
    Row dark = {to_end.first + PLACES};               // the logarithm of: nothing fired before
    int pixel = active[row];
    const float* my_worth = worth + (long long)pixel * BINS;
    const float* my_chance = chance + (long long)pixel * BINS;
    for (int bin = lane; bin < BINS; bin += 32) {     // read side by side, then each lane has a run of bins
        value[bin] = my_worth[bin];
        to_end[bin] = 1 - my_chance[bin];
    }
    __syncwarp();
    int from = min(lane * BINS_A_LANE, BINS), to = min(from + BINS_A_LANE, BINS);
    float run_value = 0, run_survives = 1, run_dark = 0;
    for (int bin = to - 1; bin >= from; bin--) {
        run_value = value[bin] + to_end[bin] * run_value;
        run_survives *= to_end[bin];
        run_dark += __logf(fmaxf(to_end[bin], 1e-30f));
    }
    // What comes behind a lane's run: its own run is left out of the running totals.
    float behind_value = run_value, behind_survives = run_survives, before_dark = run_dark;
    for (int apart = 1; apart < 32; apart *= 2) {
        float next_value = __shfl_down_sync(~0u, behind_value, apart);
        float next_survives = __shfl_down_sync(~0u, behind_survives, apart);
        float earlier = __shfl_up_sync(~0u, before_dark, apart);
        if (lane + apart < 32) {
            behind_value += behind_survives * next_value;
            behind_survives *= next_survives;
        }
        if (lane >= apart) before_dark += earlier;
    }
    float next_value = __shfl_down_sync(~0u, behind_value, 1), next_end = __shfl_down_sync(~0u, behind_survives, 1);
    if (lane == 31) { next_value = 0; next_end = 1; }
    before_dark -= run_dark;
    for (int bin = from; bin < to; bin++) {
        dark[bin] = before_dark;
        before_dark += __logf(fmaxf(to_end[bin], 1e-30f));
    }
    if (to == BINS && from < to) dark[BINS] = before_dark;
    for (int bin = to - 1; bin >= from; bin--) {
        next_value = value[bin] + to_end[bin] * next_value;
        next_end *= to_end[bin];
        value[bin] = next_value;
        to_end[bin] = next_end;
    }
    if (lane == 0) { value[BINS] = 0; to_end[BINS] = 1; }
    __syncwarp();
    float best = -1;
    int best_open = 0;
    for (int open = lane; open < BINS; open += 32) {
        if (may_open && !may_open[open]) continue;
        float passed = 0;  // the logarithm of: nothing while it rises
        float late_dark = 0;
        for (int after = 0; after < rise_bins && open + after < BINS; after++) {
            if (after == late) late_dark = passed;
            passed += rising[after] * (dark[open + after + 1] - dark[open + after]);
        }
        float risen = rise_bins ? __expf(passed) : 1.0f;
        int on = min(open + rise_bins, BINS);
        float gate_value = open + rise_bins > BINS ? 0.0f : risen * value[on];
        float gate_end = risen * to_end[on];
        float time = 1 + lost_base * (1 - gate_end);
        if (open + late < BINS) {
            if (late >= rise_bins) late_dark = passed + dark[open + late] - dark[on];
            time += __expf(late_dark) - gate_end;
        }
        float rate = gate_value / time;
        if (rate > best) { best = rate; best_open = open; }
    }
    for (int apart = 16; apart; apart /= 2) {
        float other = __shfl_xor_sync(~0u, best, apart);
        int other_open = __shfl_xor_sync(~0u, best_open, apart);
        if (other > best || (other == best && other_open < best_open)) { best = other; best_open = other_open; }
    }
    if (lane == 0) opens[pixel] = best_open;
}

// The first bin of each gate that is a row of bits: a thread a pixel.
extern "C" __global__ void first_open(const int* active, int count, const unsigned* gate, int* opens) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) return;
    int pixel = active[row], word = 0;
    const unsigned* bits = gate + (long long)pixel * ((BINS + 31) / 32);
    while (word < (BINS + 31) / 32 - 1 && bits[word] == 0) word++;
    opens[pixel] = 32 * word + max(__ffs(bits[word]) - 1, 0);
}
