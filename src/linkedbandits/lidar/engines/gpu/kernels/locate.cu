// Depth from counts that are there already, and what it may be: locating.py.
#include "certificate.cuh"
#include "returns.cuh"
#include "two_returns.cuh"

// A block for each active pixel; a return may come from outside of the range. `found`, [7][pixels], gets depth, low,
// high, signal, background, how probable the depth is, and by how many nats two returns are better. Dynamic shared
// memory: 2 * PADDED + room numbers.
extern "C" __global__ void __launch_bounds__(MOST_THREADS)
    locate(const int* active, const int* marks, const int* fired, const float* log_prior,
           const double* expected_signal, const double* expected_background, double* found, long long pixels,
           const double* fire, const double* share, const double* signals, const double* backgrounds,
           const double* between, const double* cells, const double* cumulative, int levels, int knots, int wide,
           double tolerance, double strongest, double needed, int room) {
    DYNAMIC_SHARED(double, shared);
    const int pixel = active[blockIdx.x];
    const long long row = (long long)pixel * BINS;
    const ReturnTables tables = {fire, share, signals, backgrounds, between, levels, knots, false};
    const Prior prior = prior_of(log_prior, pixel);
    const Counts counts = load_counts(marks + row, fired + row, shared);
    double* memory = shared + 2 * PADDED;
    const Lane lane = make_lane(counts, expected_signal[pixel], expected_background[pixel], false);
    const Fitted fit = fitted(counts, tables, prior, lane.expected_background, memory);
    const double depth = fit.found.depth;
    const double none = none_better(counts, tables, fit.level, depth);
    const Posterior after =
        posterior(counts, tables, prior, fit.level, fit.found.top, none, wide, memory, room);
    const Interval possible = interval(lane, prior, cells, depth, tolerance, strongest, needed, memory, room);
    const Fit light = fit_at(lane, cells, depth);
    const double two = gain_of_two(counts, cumulative, depth, tolerance, light, memory);
    if (thread() == 0) {
        bool seen = after.evidence > LEAST_EVIDENCE;  // where nothing speaks for a return, there is nothing of one
        found[pixel] = seen ? depth : nan("");
        found[pixels + pixel] = possible.low;
        found[2 * pixels + pixel] = possible.high;
        found[3 * pixels + pixel] = seen ? light.signal : 0.0;
        found[4 * pixels + pixel] = light.background;
        found[5 * pixels + pixel] = seen ? after.near : 0.0;
        found[6 * pixels + pixel] = two;
    }
}
