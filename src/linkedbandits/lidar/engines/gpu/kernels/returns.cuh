// What counts say about a return: ReturnModel of returns.py, for the pixel of a block.
//
// What misses take from the log-likelihood is the signal times the share of the pulse, so that one sum serves all
// signals; what photons add to it takes a sum for each. Both are in double precision, as proofs begin with the depth.
#pragma once
#include "block.cuh"

struct ReturnTables {
    const double* fire;         // [levels][PHASES][WINDOW][SIGNALS]: what a photon adds to the log-likelihood
    const double* share;        // [PHASES][WINDOW]: of the pulse
    const double* signals;      // [SIGNALS]
    const double* backgrounds;  // [levels]
    const double* between;      // [knots][(knots - 1) * BETWEEN + 1]: a spline through neighbouring depths
    int levels;
    int knots;
    int told;
};

// A table's number serves this many bins at once: with fewer, reading it would take longer than the product.
constexpr int BINS_AT_ONCE = SIGNALS <= 8 ? 4 : (SIGNALS <= 16 ? 2 : 1);

// The log-weights of all signals at a phase of some bins, against no return: likelihood and what was known before.
template <int COUNT>
static __device__ inline void log_weights(const Counts& counts, const ReturnTables& tables, const Prior& prior,
                                          int level, int phase, const int (&bins)[COUNT],
                                          double (&weights)[COUNT][SIGNALS]) {
    const double* fire = tables.fire + (long long)(level * PHASES + phase) * WINDOW * SIGNALS;
    const double* share = tables.share + phase * WINDOW;
    double missed[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        missed[k] = 0.0;
#pragma unroll
        for (int s = 0; s < SIGNALS; ++s) weights[k][s] = 0.0;
    }
    for (int j = 0; j < WINDOW; ++j) {
        double fired[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            fired[k] = counts.fired[bins[k] + j - HALF];
            missed[k] += share[j] * counts.missed[bins[k] + j - HALF];
        }
#pragma unroll
        for (int s = 0; s < SIGNALS; ++s) {
            double adds = fire[j * SIGNALS + s];
#pragma unroll
            for (int k = 0; k < COUNT; ++k) weights[k][s] += adds * fired[k];
        }
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        double before = prior.of(bins[k]);
#pragma unroll
        for (int s = 0; s < SIGNALS; ++s) weights[k][s] = weights[k][s] - tables.signals[s] * missed[k] + before;
    }
}

// Calls visit(bin, phase, weights of all signals) for the bins from `first` to `end`, each in one of the threads.
template <typename Visit>
static __device__ inline void visit_depths(const Counts& counts, const ReturnTables& tables, const Prior& prior,
                                           int level, int first, int end, Visit visit) {
    for (int start = first; start < end; start += BINS_AT_ONCE * threads()) {
        int bins[BINS_AT_ONCE];
#pragma unroll
        for (int k = 0; k < BINS_AT_ONCE; ++k) {
            int bin = start + k * threads() + thread();
            bins[k] = bin < end ? bin : end - 1;  // computed and not looked at
        }
        for (int phase = 0; phase < PHASES; ++phase) {
            double weights[BINS_AT_ONCE][SIGNALS];
            log_weights(counts, tables, prior, level, phase, bins, weights);
#pragma unroll
            for (int k = 0; k < BINS_AT_ONCE; ++k)
                if (start + k * threads() + thread() < end) visit(bins[k], phase, weights[k]);
        }
    }
}

static __device__ inline double largest(const double (&weights)[SIGNALS]) {
    double top = weights[0];
#pragma unroll
    for (int s = 1; s < SIGNALS; ++s) top = fmax(top, weights[s]);
    return top;
}

static __device__ inline double sum_above(const double (&weights)[SIGNALS], double top) {
    double sum = 0.0;
#pragma unroll
    for (int s = 0; s < SIGNALS; ++s) sum += exp(weights[s] - top);
    return sum;
}

struct Estimate {
    double depth;
    double top;  // the largest log-weight of any signal and depth
};

// The log-weight of all depths between the knots, at place i of their fine grid.
static __device__ inline double on_spline(const ReturnTables& tables, const double* near, int count, int i) {
    double value = 0.0;
    for (int knot = 0; knot < tables.knots; ++knot) value += near[knot] * tables.between[knot * count + i];
    return value;
}

// The depth that fits best: the mean over depths near the likeliest of the grid, and between them. `near` has room for
// the knots.
static __device__ Estimate estimate(const Counts& counts, const ReturnTables& tables, const Prior& prior, int level,
                                    double* near) {
    Best best = {-infinity(), BINS * PHASES};
    visit_depths(counts, tables, prior, level, 0, BINS, [&](int bin, int phase, const double(&weights)[SIGNALS]) {
        best.take(largest(weights), bin * PHASES + phase);
    });
    best = best_over_block(best);
    const int reach = tables.knots / 2;
    for (int knot = thread(); knot < tables.knots; knot += threads()) {
        int place = clip(best.place + knot - reach, 0, BINS * PHASES - 1);
        int bin[1] = {place / PHASES};
        double weights[1][SIGNALS];
        log_weights(counts, tables, prior, level, place % PHASES, bin, weights);
        double top = largest(weights[0]);
        near[knot] = top + log(sum_above(weights[0], top));
    }
    __syncthreads();
    const int count = (tables.knots - 1) * BETWEEN + 1;
    double top = -infinity();
    for (int i = thread(); i < count; i += threads()) top = fmax(top, on_spline(tables, near, count, i));
    top = max_over_block(top);
    double all = 0.0, moment = 0.0;
    for (int i = thread(); i < count; i += threads()) {
        double depth = (best.place + ((double)i / BETWEEN - reach) + 0.5) / PHASES;
        if (depth < 0 || depth > BINS) continue;
        double weight = exp(on_spline(tables, near, count, i) - top);
        all += weight;
        moment += depth * weight;
    }
    all = sum_over_block(all);
    Estimate found = {sum_over_block(moment) / all, best.value};
    return found;
}

// Photons and samples, together, of the bins that a return at `depth` does not reach.
struct Elsewhere {
    double fired;
    double missed;
};

static __device__ Elsewhere elsewhere(const Counts& counts, double depth) {
    int place = clip((int)floor(depth), 0, BINS);
    Elsewhere all = {counts.total_fired, counts.total_missed};
    for (int bin = place - HALF; bin <= place + HALF; ++bin) {
        all.fired -= counts.fired[bin];
        all.missed -= counts.missed[bin];
    }
    return all;
}

// Photons a bin that these counts tell, with a few as expected added; and the level nearest to that.
static __device__ int level_of(const ReturnTables& tables, const Elsewhere& all, double expected) {
    if (tables.told) return 0;
    double tried = all.fired + all.missed;
    double share = (all.fired + PHOTONS_BEFORE) / (tried + PHOTONS_BEFORE / -expm1(-expected));
    double background = -log1p(-fmin(share, 1 - 1e-9));
    double step = rint(log(background / tables.backgrounds[0]) / log(LEVEL_RATIO));
    return (int)clip(step, 0.0, tables.levels - 1.0);
}

struct Fitted {
    Estimate found;
    int level;
};

// The depth that fits best, and the level of the background that goes with it. Once the level stays, so does the depth.
static __device__ Fitted fitted(const Counts& counts, const ReturnTables& tables, const Prior& prior, double expected,
                                double* near) {
    Elsewhere all = {counts.total_fired, counts.total_missed};
    Fitted fit = {{0.0, 0.0}, level_of(tables, all, expected)};
    for (int round = 0; round < (tables.told ? 1 : ROUNDS); ++round) {
        fit.found = estimate(counts, tables, prior, fit.level, near);
        int level = level_of(tables, elsewhere(counts, fit.found.depth), expected);
        if (level == fit.level) break;
        fit.level = level;
    }
    return fit;
}

// How much likelier counts of background alone are with the one that fits them best than with this one.
static __device__ double gained(const Elsewhere& all, double background) {
    double best = fmax(log1p(all.fired / fmax(all.missed, 0.5)), LEAST_BACKGROUND);
    double gain = all.fired * log(expm1(-best) / expm1(-background)) - all.missed * (best - background);
    return fmax(gain, 0.0);
}

// How much likelier "no return" is, against one at `depth`, than both are with the level's background.
static __device__ double none_better(const Counts& counts, const ReturnTables& tables, int level, double depth) {
    if (tables.told) return 0.0;
    double background = tables.backgrounds[level];
    Elsewhere all = {counts.total_fired, counts.total_missed};
    return gained(all, background) - gained(elsewhere(counts, depth), background);
}

struct Posterior {
    double evidence;  // how much likelier the counts are with a return than without: the ratio's logarithm
    double near;      // how probable the best window of depths is
};

// ReturnModel.evidence and shares in one go, as both add up the same weights. `top` is any number near the largest
// log-weight; `wide` are the depths of the grid in a window. The weights are written down for so many bins as `memory`
// (of `room` numbers) holds, and again for those that windows reach into from there: sums of windows are direct.
static __device__ Posterior posterior(const Counts& counts, const ReturnTables& tables, const Prior& prior, int level,
                                      double top, double none, int wide, double* memory, int room) {
    const int more = (wide + PHASES - 1) / PHASES;
    const int at_once = room / PHASES - more;
    double all = 0.0, most = 0.0;
    for (int first = 0; first < BINS; first += at_once) {
        int end = first + at_once < BINS ? first + at_once : BINS;
        int written = end + more < BINS ? end + more : BINS;
        __syncthreads();
        visit_depths(counts, tables, prior, level, first, written,
                     [&](int bin, int phase, const double(&weights)[SIGNALS]) {
                         double weight = sum_above(weights, top);
                         memory[(bin - first) * PHASES + phase] = weight;
                         if (bin < end) all += weight;
                     });
        __syncthreads();
        int starts = (written - first) * PHASES - wide + 1;
        if (starts > (end - first) * PHASES) starts = (end - first) * PHASES;
        for (int start = thread(); start < starts; start += threads()) {
            double window = 0.0;
            for (int i = 0; i < wide; ++i) window += memory[start + i];
            most = fmax(most, window);
        }
    }
    all = sum_over_block(all);
    most = max_over_block(most);
    double of_none = ROWS * exp(fmin(none - top, 50.0));
    Posterior found = {top + log(all) - log((double)ROWS) - none, most / (all + of_none)};
    return found;
}
