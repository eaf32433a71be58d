// What the detector counts of the light before it, with a clock that runs: a warp, or a thread, a pixel.
//
// Counts are kept as two rows of integers a pixel: ``fired``, and ``marks``, the differences of the samples from bin to
// bin. A cycle that opens at g and ends in bin h has sampled the bins from g to h: one more mark at g, one less behind h.
// So a cycle writes three numbers, however many bins there are.
#include "counter.cuh"
#include "light.cuh"
#include "shared_memory.cuh"

struct Clocks {
    long long* bins_gone;   // of each pixel
    double* last_fired;     // the bin of the last detection, counted from a period before the clock; -inf for none
    int* armed;             // cycles or windows so far
    int* detections;        // of free-running
};

struct Scene {
    const long long* number;  // of the pixel in the image
    const double *depth, *signal, *background;
    const double* cumulative;

    __device__ Light of(int pixel) const {
        double here = depth[pixel];
        bool comes = isfinite(here);
        return Light{comes ? here : 0.0, comes ? signal[pixel] : 0.0, background[pixel], cumulative};
    }
};

// Kernels take plain pointers; these are the parameters that make a scene, the clocks and the key of random numbers.
#define SCENE_PARAMETERS const long long *numbers, const double *depth, const double *signal, \
    const double *background, const double *cumulative
#define SCENE Scene{numbers, depth, signal, background, cumulative}
#define CLOCK_PARAMETERS long long *bins_gone, double *last_fired, int *armed_before, int *detections_before
#define CLOCKS Clocks{bins_gone, last_fired, armed_before, detections_before}
#define KEY_PARAMETERS unsigned key_low, unsigned key_high
#define KEY make_uint2(key_low, key_high)

// How many cycles of its next gate each pixel has: as many as the policy keeps a gate for, and no more than may be
// spent. Who has none left is done.
extern "C" __global__ void plan_cycles(
    const int* active, int count, CLOCK_PARAMETERS, const int* cycles, const int* opens, double growth, int most_cycles,
    double most_bins, double dead_periods, int free_running, int* times, const unsigned char* stopped,
    unsigned char* done) {
    Clocks clocks = CLOCKS;
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) return;
    int pixel = active[row];
    double left = most_cycles - cycles[pixel];
    if (isfinite(most_bins)) {
        long long gone = clocks.bins_gone[pixel];
        if (free_running) {
            left = fmin(left, floor((most_bins - gone) / BINS));
        } else {
            long long idle = (BINS - gone % BINS) % BINS;
            double fit = (most_bins - gone - idle) / BINS
                - lost_periods(clocks.last_fired[pixel] - idle, opens[pixel], dead_periods);
            double each = 1 + lost_periods(BINS - 1, opens[pixel], dead_periods);
            left = fmin(left, fit >= 1 ? floor((fit - 1) / each) + 1 : 0.0);
        }
    }
    double wanted = fmax(floor(cycles[pixel] * growth), 1.0);
    times[pixel] = (int)fmax(fmin(wanted, left), 0.0);
    done[pixel] = stopped[pixel] || left <= 0;
}

__device__ inline double sum_of_warp(double value) {
    for (int apart = 16; apart; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
    return value;
}

// Let the clock run on to the beginning of a period.
__device__ inline void wait_for_period(long long& gone, double& fired) {
    long long idle = (BINS - gone % BINS) % BINS;
    gone += idle;
    fired -= idle;
}

// Gates that open once, at once, and stay open: a warp a pixel, a lane a cycle.
extern "C" __global__ void expose_suffix(
    const int* active, int count, SCENE_PARAMETERS, CLOCK_PARAMETERS, KEY_PARAMETERS, const int* opens, const int* times,
    double dead_periods, int* cycles, int* marks, int* fired) {
    Scene scene = SCENE;
    Clocks clocks = CLOCKS;
    uint2 key = KEY;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= count) return;
    int pixel = active[row], open = opens[pixel], armed = clocks.armed[pixel], number = times[pixel];
    if (number == 0) return;
    Light light = scene.of(pixel);
    double before_gate = light.before(open), whole = light.before(BINS);
    int* my_marks = marks + (long long)pixel * BINS;
    int* my_fired = fired + (long long)pixel * BINS;
    double lost = 0, of_last = NEVER;
    for (int cycle = lane; cycle < number; cycle += 32) {
        double sum = before_gate + until_photon(key, scene.number[pixel], PHOTONS, (unsigned)(armed + cycle));
        int place = sum < whole ? light.bin_at(sum, open) : BINS;
        bool last = cycle == number - 1;
        if (place < BINS) {
            atomicAdd(&my_fired[place], 1);
            if (place + 1 < BINS) atomicSub(&my_marks[place + 1], 1);
            if (last) of_last = place;  // charged to the next time, whose gate may open elsewhere
            else lost += lost_periods(place, open, dead_periods);
        }
    }
    lost = sum_of_warp(lost);
    of_last = __shfl_sync(~0u, of_last, (number - 1) % 32);
    if (lane == 0) {
        atomicAdd(&my_marks[open], number);
        long long gone = clocks.bins_gone[pixel];
        double before = clocks.last_fired[pixel];
        wait_for_period(gone, before);
        lost += lost_periods(before, open, dead_periods);
        clocks.bins_gone[pixel] = gone + (number + (long long)lost) * BINS;
        clocks.last_fired[pixel] = of_last;
        clocks.armed[pixel] = armed + number;
        cycles[pixel] += number;
    }
}

// Any gates, also such that rise: a warp a pixel. The light that the detector sees is added up from bin to bin first.
// A gate is a row of bits; where ``bits`` is null it is the suffix from ``opens`` on.
// Shared memory: (BINS + 1) doubles and BINS integers a warp.
extern "C" __global__ void expose_gate(
    const int* active, int count, SCENE_PARAMETERS, CLOCK_PARAMETERS, KEY_PARAMETERS, const int* opens, const unsigned* bits,
    const float* rising, int rise_bins, const int* times, double dead_periods, int* cycles, int* marks, int* fired) {
    Scene scene = SCENE;
    Clocks clocks = CLOCKS;
    uint2 key = KEY;
    DYNAMIC_SHARED(double, shared);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + warp;
    if (row >= count) return;
    double* upto = shared + warp * (BINS + 1);
    int* hits = (int*)(shared + (blockDim.x / 32) * (BINS + 1)) + warp * BINS;
    int pixel = active[row], open = opens[pixel], armed = clocks.armed[pixel], number = times[pixel];
    if (number == 0) return;
    const unsigned* gate = bits ? bits + (long long)pixel * ((BINS + 31) / 32) : nullptr;
    auto is_open = [&](int bin) { return gate ? (gate[bin / 32] >> (bin % 32)) & 1 : (unsigned)(bin >= open); };
    // How many bins ago did the window open that this bin is in? As many as matter.
    auto since_opening = [&](int bin) {
        int since = 0;
        while (since < rise_bins && bin - since - 1 >= 0 && is_open(bin - since - 1)) since++;
        return since;
    };
    Light light = scene.of(pixel);
    double carried = 0;
    if (lane == 0) upto[0] = 0;
    for (int first = 0; first < BINS; first += 32) {
        int bin = first + lane;
        double seen = 0;
        if (bin < BINS && is_open(bin)) {
            int since = since_opening(bin);
            seen = light.of_bin(bin) * (since < rise_bins ? (double)rising[since] : 1.0);
        }
        for (int apart = 1; apart < 32; apart *= 2) {
            double other = __shfl_up_sync(~0u, seen, apart);
            if (lane >= apart) seen += other;
        }
        if (bin < BINS) { upto[bin + 1] = carried + seen; hits[bin] = 0; }
        carried += __shfl_sync(~0u, seen, 31);
    }
    __syncwarp();
    double lost = 0, of_last = NEVER;
    for (int cycle = lane; cycle < number; cycle += 32) {
        double sum = until_photon(key, scene.number[pixel], PHOTONS, (unsigned)(armed + cycle));
        if (sum >= carried) continue;
        int low = 0, high = BINS - 1;
        while (low < high) {
            int middle = (low + high) / 2;
            if (upto[middle + 1] > sum) high = middle;
            else low = middle + 1;
        }
        atomicAdd(&hits[low], 1);
        if (cycle == number - 1) of_last = low;
        else lost += lost_periods(low, open, dead_periods);
    }
    __syncwarp();
    int* my_marks = marks + (long long)pixel * BINS;
    int* my_fired = fired + (long long)pixel * BINS;
    int ended = 0;      // cycles that ended before these bins
    int before = 0;     // samples of the bin before
    for (int first = 0; first < BINS; first += 32) {
        int bin = first + lane, hit = bin < BINS ? hits[bin] : 0, upto_here = hit;
        for (int apart = 1; apart < 32; apart *= 2) {
            int other = __shfl_up_sync(~0u, upto_here, apart);
            if (lane >= apart) upto_here += other;
        }
        // What comes while a gate rises is seen, and not counted.
        bool counts = bin < BINS && is_open(bin) && since_opening(bin) >= rise_bins;
        int samples = counts ? number - (ended + upto_here - hit) : 0;
        int left = __shfl_up_sync(~0u, samples, 1);
        if (lane == 0) left = before;
        if (bin < BINS) {
            if (samples != left) my_marks[bin] += samples - left;
            if (counts && hit) my_fired[bin] += hit;
        }
        ended += __shfl_sync(~0u, upto_here, 31);
        before = __shfl_sync(~0u, samples, 31);
    }
    lost = sum_of_warp(lost);
    of_last = __shfl_sync(~0u, of_last, (number - 1) % 32);
    if (lane == 0) {
        long long gone = clocks.bins_gone[pixel];
        double last = clocks.last_fired[pixel];
        wait_for_period(gone, last);
        lost += lost_periods(last, open, dead_periods);
        clocks.bins_gone[pixel] = gone + (number + (long long)lost) * BINS;
        clocks.last_fired[pixel] = of_last;
        clocks.armed[pixel] = armed + number;
        cycles[pixel] += number;
    }
}

// When the next photon comes, in bins, to who sees from a moment on, period after period.
__device__ inline double next_photon(const Light& light, double since, double until) {
    double total = light.before(BINS);
    if (total <= 0) return -NEVER;
    double whole = floor(since / BINS), within = since - whole * BINS;
    int bin = min((int)within, BINS - 1);
    double sum = light.before(bin) + (within - bin) * light.of_bin(bin) + until;
    double more = floor(sum / total), rest = fmin(sum - more * total, total * (1 - 1e-16));
    bin = min(light.bin_at(rest, 0), BINS - 1);
    double part = (rest - light.before(bin)) / fmax(light.of_bin(bin), 1e-300);
    return fmax((whole + more) * BINS + bin + fmin(fmax(part, 0.0), 1.0), since);
}

// A run of bins from ``first`` up to ``end`` was seen, over any number of periods.
__device__ inline void count_run(int* marks, long long first, long long end) {
    atomicAdd(&marks[0], (int)(end / BINS - first / BINS));
    atomicAdd(&marks[first % BINS], 1);
    atomicSub(&marks[end % BINS], 1);
}

// The detector sees again a dead time after each photon, wherever that is: a thread a pixel.
extern "C" __global__ void expose_free_running(
    const int* active, int count, SCENE_PARAMETERS, CLOCK_PARAMETERS, KEY_PARAMETERS, const int* times, double dead_bins,
    int* cycles, int* marks, int* fired) {
    Scene scene = SCENE;
    Clocks clocks = CLOCKS;
    uint2 key = KEY;
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) return;
    int pixel = active[row];
    long long length = (long long)times[pixel] * BINS;
    if (length == 0) return;
    Light light = scene.of(pixel);
    int* my_marks = marks + (long long)pixel * BINS;
    int* my_fired = fired + (long long)pixel * BINS;
    double last = clocks.last_fired[pixel] + 0.5 - BINS;  // the moment of the last detection, in bins from now
    double armed = fmax(last + dead_bins, 0.0);
    int detections = clocks.detections[pixel];
    while (armed < length) {
        double until = until_photon(key, scene.number[pixel], DETECTIONS, (unsigned)detections);
        double came = next_photon(light, armed, until);
        detections++;
        bool hit = came < length;
        long long first = (long long)ceil(armed), end = hit ? (long long)floor(came) + 1 : length;
        if (end > first) {  // the bin in which it sees again is seen in part, and not counted
            count_run(my_marks, first, end);
            if (hit) atomicAdd(&my_fired[(end - 1) % BINS], 1);
        }
        if (!hit) break;
        last = came;
        armed = came + dead_bins;
    }
    clocks.detections[pixel] = detections;
    clocks.bins_gone[pixel] += length;
    clocks.last_fired[pixel] = last - 0.5 + BINS - length;
    clocks.armed[pixel] += times[pixel];
    cycles[pixel] += times[pixel];
}

// Windows as long as a period, each a step later in its own than the one before: a warp a pixel, a lane a window.
extern "C" __global__ void expose_shifted(
    const int* active, int count, SCENE_PARAMETERS, CLOCK_PARAMETERS, KEY_PARAMETERS, int shifts, const int* times,
    double dead_periods, int* cycles, int* marks, int* fired) {
    Scene scene = SCENE;
    Clocks clocks = CLOCKS;
    uint2 key = KEY;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= count) return;
    int pixel = active[row], armed = clocks.armed[pixel], number = times[pixel];
    if (number == 0) return;
    Light light = scene.of(pixel);
    int* my_marks = marks + (long long)pixel * BINS;
    int* my_fired = fired + (long long)pixel * BINS;
    auto begins = [&](long long window) { return (int)(window % shifts * BINS / shifts); };
    double lost = 0, of_last = NEVER;
    long long moved = 0;
    for (int window = lane; window < number; window += 32) {
        long long which = (long long)armed + window;
        int first = begins(which), step = (begins(which + 1) - first + BINS) % BINS;
        double came = next_photon(light, first, until_photon(key, scene.number[pixel], PHOTONS, (unsigned)which));
        bool hit = came < first + BINS;
        long long end = hit ? (long long)floor(came) + 1 : first + BINS;
        count_run(my_marks, first, end);
        if (hit) atomicAdd(&my_fired[(end - 1) % BINS], 1);
        double place = hit ? (double)(end - 1 - first) : NEVER;
        if (window == number - 1) of_last = place;
        else { lost += lost_periods(place, step, dead_periods); moved += step; }
    }
    lost = sum_of_warp(lost);
    moved = (long long)sum_of_warp((double)moved);
    of_last = __shfl_sync(~0u, of_last, (number - 1) % 32);
    if (lane == 0) {
        long long gone = clocks.bins_gone[pixel];
        double last = clocks.last_fired[pixel];
        long long idle = ((begins(armed) - gone) % BINS + BINS) % BINS;
        lost += lost_periods(last - idle, 0, dead_periods);
        clocks.bins_gone[pixel] = gone + idle + (number + (long long)lost) * BINS + moved;
        clocks.last_fired[pixel] = of_last;
        clocks.armed[pixel] = armed + number;
        cycles[pixel] += number;
    }
}

// Every bin the same number of samples, with gates that open once and stay open: a warp a pixel.
//
// A play opens at the first bin that still lacks samples. So for each round of ``level`` more samples, bin after bin:
// who passed the bins before is counted here, and as many plays are opened here as are still missing. What later bins
// have beyond their need is counted, and is not held against the next round's.
//
// Shared memory: BINS integers a warp.
extern "C" __global__ void expose_evenly(
    int count, SCENE_PARAMETERS, KEY_PARAMETERS, int most_cycles, double share_of_level, int* cycles, int* marks,
    int* fired) {
    DYNAMIC_SHARED(int, all_ends);
    Scene scene = SCENE;
    uint2 key = KEY;
    int pixel = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (pixel >= count) return;
    int* ends = all_ends + threadIdx.x / 32 * BINS;  // plays that end in each bin
    Light light = scene.of(pixel);
    double whole = light.before(BINS);
    int* my_marks = marks + (long long)pixel * BINS;
    int* my_fired = fired + (long long)pixel * BINS;
    int played = 0, level = 0, missing = 1;
    while (played < most_cycles) {
        for (int bin = lane; bin < BINS; bin += 32) ends[bin] = 0;
        __syncwarp();
        int passed = 0;
        for (int bin = 0; bin < BINS; bin++) {
            int opened = min(max(missing - passed, 0), most_cycles - played);
            if (opened > 0) {
                double before = light.before(bin);
                for (int play = lane; play < opened; play += 32) {
                    double sum = before + until_photon(key, scene.number[pixel], PHOTONS, (unsigned)(played + play));
                    int place = sum < whole ? light.bin_at(sum, bin) : BINS;
                    if (place < BINS) atomicAdd(&ends[place], 1);
                }
                __syncwarp();
                if (lane == 0) my_marks[bin] += opened;
                played += opened;
            }
            int ended = ends[bin];
            if (lane == 0 && ended) {
                my_fired[bin] += ended;
                if (bin + 1 < BINS) my_marks[bin + 1] -= ended;
            }
            passed += opened - ended;
        }
        __syncwarp();
        level += missing;
        missing = max((int)(level * share_of_level), 1);
    }
    if (lane == 0) cycles[pixel] = played;
}
