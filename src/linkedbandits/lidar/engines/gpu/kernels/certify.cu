// Where is a depth proved? PulseGating._decide of pulse_gating.py, for pixels in which that was found to be promising.
#include "certificate.cuh"
#include "returns.cuh"
#include "two_returns.cuh"

// Pixels of a list, of which there are `*count`: each block takes one after the other, as long as there are any (`*taken`
// begins with 0). So nobody has to wait for the count to start the blocks, and none waits for one with a long proof.
// Dynamic shared memory: 2 * PADDED + room numbers.
extern "C" __global__ void __launch_bounds__(MOST_THREADS)
    certify(const int* list, const int* count, int* taken, const int* marks, const int* fired, const float* log_prior,
            const double* expected_signal, const double* expected_background, const int* level, const int* cycles,
            int* arm, int* next_try, unsigned char* certain, unsigned char* stopped,
            const double* fire, const double* share, const double* signals, const double* backgrounds,
            const double* between, const double* cells, const double* cumulative, int levels, int knots, int told,
            double tolerance, double strongest, double needed, int room) {
    DYNAMIC_SHARED(double, shared);
    __shared__ int place;
    const ReturnTables tables = {fire, share, signals, backgrounds, between, levels, knots, told};
    while (true) {
        __syncthreads();  // the shared memory is still read for the pixel before
        if (thread() == 0) place = atomicAdd(taken, 1);
        __syncthreads();
        if (place >= *count) return;
        const int pixel = list[place];
        const long long row = (long long)pixel * BINS;
        const Prior prior = prior_of(log_prior, pixel);
        const Counts counts = load_counts(marks + row, fired + row, shared);
        double* memory = shared + 2 * PADDED;
        const double depth = estimate(counts, tables, prior, level[pixel], memory).depth;
        const Lane lane = make_lane(counts, expected_signal[pixel], expected_background[pixel], told);
        Attempt proof = attempt(lane, prior, cells, depth, tolerance, strongest, needed, memory, room);
        if (proof.held) {  // and two returns that overlap do not explain the counts better
            Fit single = fit_at(lane, cells, depth);
            proof.held = gain_of_two(counts, cumulative, depth, tolerance, single, memory) <= MORE;
        }
        if (thread() == 0) {
            arm[pixel] = (int)clip(floor(depth), 0.0, BINS - 1.0);
            certain[pixel] = proof.held;
            if (proof.held) stopped[pixel] = 1;
            next_try[pixel] = (int)ceil(clip(proof.times, SOONEST, LATEST) * cycles[pixel]);
        }
    }
}
