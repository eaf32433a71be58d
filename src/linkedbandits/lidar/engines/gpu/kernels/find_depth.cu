// What the counts of every pixel say once they are acquired: finding.py, for the estimator "map".
#include "certificate.cuh"
#include "returns.cuh"

// A block for each active pixel. With gates the level is the one that the pixel has, and the prior counts; without, the
// level is found, and written down. `wide` are depths of the grid in a window of twice the tolerance. Dynamic shared
// memory: 2 * PADDED + room numbers.
extern "C" __global__ void __launch_bounds__(MOST_THREADS)
    find_depth(const int* active, const int* marks, const int* fired, const float* log_prior, int* level,
               double* depth, double* signal, double* background, double* sure, const double* fire,
               const double* share, const double* signals, const double* backgrounds, const double* between,
               const double* cells, int levels, int knots, int told, int gated, int present, int wide,
               double expected_signal, double expected_background, int room) {
    DYNAMIC_SHARED(double, shared);
    const int pixel = active[blockIdx.x];
    const long long row = (long long)pixel * BINS;
    const ReturnTables tables = {fire, share, signals, backgrounds, between, levels, knots, told};
    const Prior prior = prior_of(gated ? log_prior : nullptr, pixel);
    const Counts counts = load_counts(marks + row, fired + row, shared);
    double* memory = shared + 2 * PADDED;
    Fitted fit;
    if (gated) {
        fit.level = level[pixel];
        fit.found = estimate(counts, tables, prior, fit.level, memory);
    } else {
        fit = fitted(counts, tables, prior, expected_background, memory);
    }
    const double found = fit.found.depth;
    const double none = none_better(counts, tables, fit.level, found);
    const Posterior after =
        posterior(counts, tables, prior, fit.level, fit.found.top, none, wide, memory, room);
    const Lane lane = make_lane(counts, expected_signal, expected_background, told);
    const Fit light = fit_at(lane, cells, found);
    if (thread() == 0) {
        bool seen = after.evidence > LEAST_EVIDENCE;
        level[pixel] = fit.level;
        depth[pixel] = (seen || present) && counts.total_fired > 0 ? found : nan("");
        signal[pixel] = seen ? light.signal : 0.0;
        background[pixel] = light.background;
        sure[pixel] = seen && gated ? after.near : 0.0;
    }
}
