// When a depth is certain: certificate.py, for the pixel of a block. Its text has the mathematics; the steps have the
// names they have there (fit, line, mean, box, above), and a thread does one cell at a time.
#pragma once
#include "block.cuh"

// Counts, what is expected, and what of them every cell shares.
struct Lane {
    Counts counts;
    double expected_signal;
    double expected_background;
    int told;
    double alone;  // the background that fits best if nothing comes back,
    double none;   // and the log-likelihood then
};

// x log(x / total), and 0 without any.
static __device__ inline double own_share(double count, double total) {
    return count > 0 ? count * log(count / total) : 0.0;
}

// The log-likelihood of counts at the rate that fits them best.
static __device__ inline double best_of(double fired, double missed) {
    double total = fmax(fired + missed, 1.0);
    return own_share(fired, total) + own_share(missed, total);
}

// The log-likelihood of counts at a rate; without photons it takes no logarithm.
static __device__ inline double at_rate(double fired, double missed, double rate) {
    double photons = fired > 0 ? fired * log(-expm1(-rate)) : 0.0;
    return photons - missed * rate;
}

static __device__ Lane make_lane(const Counts& counts, double expected_signal, double expected_background, int told) {
    Lane lane = {counts, fmax(expected_signal, LEAST_SIGNAL), fmax(expected_background, LEAST_BACKGROUND), told};
    double best = log1p(counts.total_fired / fmax(counts.total_missed, 1e-9));
    lane.alone = told ? lane.expected_background : clip(best, LEAST_BACKGROUND, MOST_BACKGROUND);
    bool dimmer = best <= MOST_BACKGROUND && !told;
    lane.none = dimmer ? best_of(counts.total_fired, counts.total_missed)
                       : at_rate(counts.total_fired, counts.total_missed, lane.alone);
    return lane;
}

// A cell of depths: the place of its division among DIVISIONS, and its number from depth 0 on. A bin has 2, 8, 32, 128
// cells, so that all middles and ends are exact.
struct Place {
    int division;
    int number;

    __device__ int shift() const { return 1 + 2 * division; }
    __device__ int per_bin() const { return 1 << shift(); }
    __device__ int bin() const { return number >> shift(); }
    __device__ int phase() const { return number & (per_bin() - 1); }
    __device__ double half() const { return 0.5 / per_bin(); }
    __device__ double depth() const { return (number + 0.5) / per_bin(); }
    __device__ bool finest() const { return division == DIVISIONS - 1; }
    __device__ Place part(int which) const { return {division + 1, 4 * number + which}; }
};

constexpr int FINEST = DIVISIONS - 1;
constexpr int OF_NODES = 1;  // M's depths are the middles of the cells of this division
static_assert(NODES == 1 << (1 + 2 * OF_NODES), "the depths of M are those of a division");

// The counts of the bins around a cell, those of all other bins together, and the pulse in its middle.
struct Cell {
    const double* fired;
    const double* missed;
    const double* share;
    const double* slope;
    const double* curve;
    double fired_elsewhere;
    double missed_elsewhere;
    double width;
};

// `tables` has share, slope and curve, [per_bin][WINDOW] each, of one division after the other.
static __device__ Cell cell_at(const Lane& lane, const double* tables, const Place& place) {
    int cells_before = 2 * ((1 << (2 * place.division)) - 1) / 3;
    const double* share = tables + (3 * cells_before + place.phase()) * WINDOW;
    int size = place.per_bin() * WINDOW;
    int first = place.bin() - HALF;
    Cell cell = {lane.counts.fired + first, lane.counts.missed + first, share, share + size, share + 2 * size,
                 lane.counts.total_fired,   lane.counts.total_missed,   1.0 / place.per_bin()};
    for (int j = 0; j < WINDOW; ++j) {
        cell.fired_elsewhere -= cell.fired[j];
        cell.missed_elsewhere -= cell.missed[j];
    }
    return cell;
}

// Of a bin with this rate: x / (exp(r) - 1), and that divided by its chance to fire. Neither without photons.
struct Pull {
    double pull;
    double bend;
};

static __device__ inline Pull pull_at(double fired, double rate) {
    Pull found = {0.0, 0.0};
    if (fired > 0) {
        double firing_inverse = 1 / -expm1(-rate);
        found.pull = fired * (firing_inverse - 1);
        found.bend = found.pull * firing_inverse;
    }
    return found;
}

// The log-likelihood in the middle of a cell.
static __device__ double value_at(const Cell& cell, double signal, double background) {
    double value = at_rate(cell.fired_elsewhere, cell.missed_elsewhere, background);
    for (int j = 0; j < WINDOW; ++j)
        value += at_rate(cell.fired[j], cell.missed[j], signal * cell.share[j] + background);
    return value;
}

struct Fit {
    double signal;
    double background;
};

// A first guess of the signal: one step of Newton's from none.
static __device__ double first_signal(const Cell& cell, double background) {
    double along = 0.0, bend = 0.0;
    Pull of_one = pull_at(1.0, background);
    for (int j = 0; j < WINDOW; ++j) {
        double share = cell.share[j];
        along += (cell.fired[j] * of_one.pull - cell.missed[j]) * share;
        bend += cell.fired[j] * of_one.bend * share * share;
    }
    return clip(along / fmax(bend, 1e-12), 1e-3, 1e3);
}

// The signal and the background that fit best in a cell's middle, nearly: a bound may be drawn anywhere.
static __device__ Fit fit(const Lane& lane, const Cell& cell) {
    double background = lane.alone;
    double signal = first_signal(cell, background);
    for (int step = 0; step < STEPS; ++step) {
        Pull others = pull_at(cell.fired_elsewhere, background);
        double along_signal = 0.0, along_background = others.pull - cell.missed_elsewhere;
        double signal_bend = 0.0, both = 0.0, background_bend = others.bend;
        for (int j = 0; j < WINDOW; ++j) {
            double share = cell.share[j];
            Pull here = pull_at(cell.fired[j], signal * share + background);
            double weight = here.pull - cell.missed[j];
            along_signal += weight * share;
            along_background += weight;
            signal_bend += here.bend * share * share;
            both += here.bend * share;
            background_bend += here.bend;
        }
        signal_bend = fmax(signal_bend, 1e-12);
        double changed = 0.0;
        if (!lane.told) {
            double area = signal_bend * background_bend;
            area = fmax(area - both * both, 1e-9 * area + 1e-300);
            double change = (signal_bend * along_background - both * along_signal) / area;
            changed = clip(background + change, background / 3, 3 * background);
            changed = clip(changed, LEAST_BACKGROUND, MOST_BACKGROUND) - background;
        }
        double change = (along_signal - both * changed) / signal_bend;  // with the background that it then is
        double moved = clip(signal + change, signal / 5, 5 * signal) - signal;
        signal += moved;
        background += changed;
        if (!(fabs(along_signal * moved + along_background * changed) > SETTLED)) break;
    }
    Fit found = {signal, background};
    return found;
}

// The background that fits best with a signal, from the one given on. The last step is not taken: a tangent takes its
// value and its slopes from the same background.
static __device__ double best_background(const Lane& lane, const Cell& cell, double signal, double background) {
    for (int step = 0; step < STEPS - 1; ++step) {
        Pull others = pull_at(cell.fired_elsewhere, background);
        double along = others.pull - cell.missed_elsewhere, bend = others.bend;
        for (int j = 0; j < WINDOW; ++j) {
            Pull here = pull_at(cell.fired[j], signal * cell.share[j] + background);
            along += here.pull - cell.missed[j];
            bend += here.bend;
        }
        if (lane.told) along = 0.0;
        double moved = clip(background + along / fmax(bend, 1e-300), background / 3, 3 * background);
        moved = clip(moved, LEAST_BACKGROUND, MOST_BACKGROUND);
        if (!(fabs(moved - background) > 1e-9 * background)) break;
        background = moved;
    }
    return background;
}

// What bounds the log-likelihood over a cell, for every background: start + slope * signal.
struct Line {
    double value;  // in the cell's middle, where the line is drawn
    double start;
    double slope;
    double falls_after;  // about how much more signal it takes until such a line falls
};

static __device__ Line line_at(const Lane& lane, const Cell& cell, double signal, double background) {
    background = best_background(lane, cell, signal, background);
    Pull others = pull_at(cell.fired_elsewhere, background);
    double value = at_rate(cell.fired_elsewhere, cell.missed_elsewhere, background);
    double along = others.pull - cell.missed_elsewhere;
    double tangent = 0.0, tilt = 0.0, curve = 0.0, bend = 0.0;
    for (int j = 0; j < WINDOW; ++j) {
        double fired = cell.fired[j], missed = cell.missed[j], share = cell.share[j];
        double rate = signal * share + background;
        double weight = -missed;
        value -= missed * rate;
        if (fired > 0) {  // at_rate and pull_at in one, as they share the chance
            double firing = -expm1(-rate), inverse = 1 / firing, pull = fired * (inverse - 1);
            value += fired * log(firing);
            weight += pull;
            bend += pull * inverse * share * share;
        }
        along += weight;
        tangent += weight * share;
        tilt += weight * cell.slope[j];
        curve += fabs(weight) * cell.curve[j];
    }
    if (lane.told) along = 0.0;
    double most = tangent + fabs(tilt) * (cell.width / 2) + curve * (cell.width * cell.width / 8);
    // The background was not found to the last digit: what a farther one could gain is added.
    double other = fmax(along * (MOST_BACKGROUND - background), -along * background);
    Line line = {value, value - signal * tangent + other, most, FALLS * most / fmax(bend, 1e-12)};
    return line;
}

struct Above {
    bool possible;  // is the bound over the cell above the level,
    bool likely;    // and the likelihood in its middle?
};

// May the cell hold the depth? What is no number refutes nothing.
static __device__ Above above(const Lane& lane, const Cell& cell, double strongest, double level) {
    Fit best = fit(lane, cell);
    double signal = fmin(best.signal, strongest);
    Line line = line_at(lane, cell, signal, best.background);
    // What fits best may be next to nothing: then it is as much stronger as it takes for the line to fall.
    double stronger = fmax(STRONGER * signal + 0.01 * lane.expected_signal, signal + line.falls_after);
    stronger = fmin(stronger, strongest);
    Line falling = line_at(lane, cell, stronger, best.background);
    // The first line rises, if slightly, and the second falls: they meet where both are highest.
    double meet = strongest;
    if (falling.slope < 0) {
        double faster = fmax(line.slope - falling.slope, TINY);  // lines as good as parallel meet nowhere
        meet = fmin(fmax(falling.start - line.start, 0.0) / faster, strongest);
    }
    double top = line.start + (line.slope > 0 ? line.slope * meet : 0.0);
    Above found = {!(top <= level), line.value > level};
    return found;
}

// The logarithm of at least what the law of SPREADS gives to the interval between two neighbouring ends.
static __device__ double box_weight(double low, double high, double expected) {
    double log_low = log(low), log_high = log(high), log_expected = log(expected);
    double from_low = fabs(log_low - log_expected), from_high = fabs(log_high - log_expected);
    LogSum both = LogSum::nothing();
    both.add(fmin(-from_low / NARROW - log_low, -from_high / NARROW - log_high) - log(2 * NARROW));
    both.add(fmin(-from_low / WIDE - log_low, -from_high / WIDE - log_high) - log(2 * WIDE));
    return both.log_of_all() - log(2.0) + log(high - low);
}

// A node of M while its box is filled in: what fits best, how far the box reaches, and the values at its 3 x 3 points.
struct Node {
    double signal, background, wide_signal, wide_background;
    double values[9];

    __device__ double signal_at(int which) const { return signal + (which - 1) * wide_signal; }
    __device__ double background_at(int which) const { return background + (which - 1) * wide_background; }
    __device__ double value(int of_signal, int of_background) const { return values[3 * of_signal + of_background]; }
};
constexpr int NODE_SIZE = sizeof(Node) / sizeof(double);

// What fits best at a node, and how far its box reaches from there.
static __device__ void begin_box(const Lane& lane, const Cell& cell, Node& node) {
    Fit best = fit(lane, cell);
    double signal_bend = 0.0, background_bend = pull_at(cell.fired_elsewhere, best.background).bend;
    for (int j = 0; j < WINDOW; ++j) {
        double share = cell.share[j];
        double bend = pull_at(cell.fired[j], best.signal * share + best.background).bend;
        signal_bend += bend * share * share;
        background_bend += bend;
    }
    node.signal = best.signal;
    node.background = best.background;
    node.wide_signal = fmin(BOX / sqrt(fmax(signal_bend, 1e-12)), 0.9 * best.signal);
    // With a known background the box is a line.
    node.wide_background = lane.told ? 0.0 : fmin(BOX / sqrt(fmax(background_bend, 1e-12)), 0.9 * best.background);
}

// The logarithm of what a node's box adds to M at least, by its four quarters; or two halves of a line.
static __device__ double term_of(const Lane& lane, const Node& node) {
    LogSum quarters = LogSum::nothing();
#pragma unroll
    for (int s = 0; s < 2; ++s) {
        double weight = box_weight(node.signal_at(s), node.signal_at(s + 1), lane.expected_signal);
        if (lane.told) {
            quarters.add((node.value(s, 1) + node.value(s + 1, 1)) / 2 + weight);
            continue;
        }
#pragma unroll
        for (int b = 0; b < 2; ++b) {
            double corners = node.value(s, b) + node.value(s, b + 1) + node.value(s + 1, b) + node.value(s + 1, b + 1);
            double other = box_weight(node.background_at(b), node.background_at(b + 1), lane.expected_background);
            quarters.add(corners / 4 + weight + other);
        }
    }
    return quarters.log_of_all();
}

struct Mean {
    double best;  // the largest log-likelihood around the centre,
    double mean;  // and a lower bound of log M
};

// Fits are for a thread a node, values for a thread a point of a box: there are fewer nodes than threads. `memory`, of
// `room` numbers, holds as many nodes as are done at once.
static __device__ Mean mean_around(const Lane& lane, const Prior& prior, const double* tables, double centre,
                                   double reach, double* memory, int room) {
    const int span = (int)ceil(NODES * fmax(reach, 1.0));
    const int middle = (int)floor(centre * NODES);
    const int first = middle - span > 0 ? middle - span : 0;
    const int end = middle + span + 1 < BINS * NODES ? middle + span + 1 : BINS * NODES;
    const int at_once = room / NODE_SIZE;
    Node* nodes = (Node*)memory;
    double best = -infinity();
    LogSum all = LogSum::nothing();
    for (int start = first; start < end; start += at_once) {
        int count = end - start < at_once ? end - start : at_once;
        __syncthreads();
        for (int i = thread(); i < count; i += threads())
            begin_box(lane, cell_at(lane, tables, {OF_NODES, start + i}), nodes[i]);
        __syncthreads();
        for (int i = thread(); i < count * 9; i += threads()) {
            Node& node = nodes[i / 9];
            int of_signal = i % 9 / 3, of_background = i % 3;
            if (lane.told && of_background != 1) continue;
            node.values[i % 9] = value_at(cell_at(lane, tables, {OF_NODES, start + i / 9}), node.signal_at(of_signal),
                                          node.background_at(of_background));
        }
        __syncthreads();
        for (int i = thread(); i < count; i += threads()) {
            best = fmax(best, nodes[i].value(1, 1));
            all.add(term_of(lane, nodes[i]) + prior.of((start + i) / NODES) - log((double)NODES));
        }
    }
    __syncthreads();
    Mean found = {max_over_block(best), log_sum_over_block(all)};
    return found;
}

// The log-likelihood just outside of the window, on the side that is likelier: where most proofs fail.
static __device__ double at_edges(const Lane& lane, const double* tables, double centre, double tolerance,
                                  bool within_range) {
    const int beyond = within_range ? 0 : HALF;
    double value = -infinity();
    for (int side = thread(); side < 2; side += threads()) {
        double outside = side == 0 ? centre - tolerance : centre + tolerance;
        Place place = {FINEST, 0};
        place.number = (int)floor(outside * place.per_bin()) + (side == 0 ? -1 : 1);
        if (place.depth() <= -beyond || place.depth() >= BINS + beyond) continue;
        Cell cell = cell_at(lane, tables, place);
        Fit best = fit(lane, cell);
        value = fmax(value, value_at(cell, best.signal, best.background));
    }
    return max_over_block(value);
}

// The signal and the background that fit best with a depth. One thread computes, all get it.
static __device__ Fit fit_at(const Lane& lane, const double* tables, double depth) {
    __shared__ Fit found;
    if (thread() == 0) {
        Place place = {FINEST, 0};
        place.number = (int)floor(clip(depth, 0.0, BINS - 1e-6) * place.per_bin());
        found = fit(lane, cell_at(lane, tables, place));
    }
    __syncthreads();
    Fit result = found;
    __syncthreads();
    return result;
}

// What no return to a bin can exceed: the bins around it fire as often as they did, the others all alike. `bests` has
// best_of for every bin, as counts are laid out.
static __device__ double saturated(const Lane& lane, const double* bests, int bin) {
    double near = 0.0, fired = lane.counts.total_fired, missed = lane.counts.total_missed;
    for (int i = bin - HALF; i <= bin + HALF; ++i) {
        near += bests[i];
        fired -= lane.counts.fired[i];
        missed -= lane.counts.missed[i];
    }
    return near + (lane.told ? at_rate(fired, missed, lane.alone) : best_of(fired, missed));
}

// Is C > 0 somewhere in a first cell, without a signal? Elsewhere no signal at all fits best.
static __device__ bool some_signal_fits(const Lane& lane, const double* tables, double against, const Place& place) {
    Cell cell = cell_at(lane, tables, place);
    double tangent = 0.0, tilt = 0.0, curve = 0.0;
    for (int j = 0; j < WINDOW; ++j) {
        double weight = cell.fired[j] / against - cell.missed[j];
        tangent += weight * cell.share[j];
        tilt += weight * cell.slope[j];
        curve += fabs(weight) * cell.curve[j];
    }
    return tangent + fabs(tilt) * (cell.width / 2) + curve * (cell.width * cell.width / 8) > 0;
}

// Cells that may hold the depth and are still to be looked at, in shared memory. The threads take some of the last
// ones at a time, and put back what those are divided into. They take so few that there is room for that: at the worst
// one, and then the divisions of one cell at most are there beyond the limit.
constexpr int MOST_SUSPECTS = 1024;
constexpr int SUSPECTS_LIMIT = MOST_SUSPECTS - 3 * DIVISIONS;

struct Suspects {
    int count;
    int over;  // is there nothing more to learn?
    int codes[MOST_SUSPECTS];

    __device__ void put(const Place& place) { codes[atomicAdd(&count, 1)] = place.number * 4 + place.division; }

    __device__ void put_parts(const Place& place) {
        int first = atomicAdd(&count, 4);
        for (int which = 0; which < 4; ++which) {
            Place part = place.part(which);
            codes[first + which] = part.number * 4 + part.division;
        }
    }
};

// Calls look(place), which says whether the cell is to be divided, until no suspect is left or it is over.
template <typename Look>
static __device__ void look_at_all(Suspects& suspects, Look look) {
    for (;;) {
        __syncthreads();
        int count = suspects.count;
        bool over = suspects.over;
        int some = (SUSPECTS_LIMIT - count) / 3;
        some = some < threads() ? some : threads();
        some = some < count ? some : count;
        some = some > 1 ? some : 1;
        bool mine = !over && thread() < some && count > 0;
        int code = mine ? suspects.codes[count - 1 - thread()] : 0;
        __syncthreads();  // all have read
        if (over || count == 0) return;
        if (thread() == 0) suspects.count = count - some;
        __syncthreads();
        Place place = {code & 3, code >> 2};
        if (mine && look(place)) suspects.put_parts(place);
    }
}

// Looks at the first cells, of all bins, that are not refuted at first sight, and at what they are divided into. They
// are looked at where there is no room for more, and after the last bin: the more of them, the more threads are busy.
template <typename Look>
static __device__ void look_at_first_suspects(const Lane& lane, const double* tables, double level, bool within_range,
                                              double* memory, Suspects& suspects, Look look) {
    double* bests = memory + 2 * HALF;
    __syncthreads();
    for (int bin = thread() - 2 * HALF; bin < BINS + 2 * HALF; bin += threads())
        bests[bin] = best_of(lane.counts.fired[bin], lane.counts.missed[bin]);
    __syncthreads();
    const double against = expm1(lane.alone);
    // A return may be outside of the range and reach into it.
    const int first = within_range ? 0 : -HALF, end = within_range ? BINS : BINS + HALF;
    for (int start = first; start < end; start += threads()) {
        int bin = start + thread();
        if (bin < end && saturated(lane, bests, bin) > level)
            for (int phase = 0; phase < 2; ++phase) {
                Place place = {0, 2 * bin + phase};
                if (some_signal_fits(lane, tables, against, place)) suspects.put(place);
            }
        __syncthreads();
        bool full = suspects.count + 2 * threads() > SUSPECTS_LIMIT;
        __syncthreads();
        if (full || start + threads() >= end) look_at_all(suspects, look);
        if (suspects.over) return;  // written before the last __syncthreads(), and the same for all
    }
}

struct Attempt {
    bool held;
    double times;  // about how many times the samples it may take until it holds
};

// Is the depth within the tolerance of the centre, but for a probability of exp(-needed)?
//
// It holds unless some cell speaks against it: one outside of the window whose middle is possible, or one of the finest
// that could not be refuted. Whether a cell is looked at depends on those that it is a part of alone, so the threads may
// take them in any order, and stop with the first that speaks against it.
static __device__ Attempt attempt(const Lane& lane, const Prior& prior, const double* tables, double centre,
                                  double tolerance, double strongest, double needed, double* memory, int room) {
    __shared__ Suspects suspects;
    Mean mean = mean_around(lane, prior, tables, centre, tolerance, memory, room);
    double level = mean.mean - needed;
    double rival = fmax(lane.none, at_edges(lane, tables, centre, tolerance, true));
    // Evidence grows with the samples, and what it has to reach hardly does.
    Attempt result = {level >= rival, 1 + fmax(rival - level, 0.0) / fmax(mean.best - rival, 1e-3)};
    if (!result.held) return result;
    if (thread() == 0) {
        suspects.count = 0;
        suspects.over = 0;
    }
    look_at_first_suspects(lane, tables, level, true, memory, suspects, [&](const Place& place) {
        double away = fabs(place.depth() - centre);
        if (!(away + place.half() > tolerance)) return false;
        Above found = above(lane, cell_at(lane, tables, place), strongest, level);
        bool against = found.likely && away > tolerance;  // dividing the cell would not help: its middle is possible
        if (against || (found.possible && place.finest())) suspects.over = 1;
        return found.possible && !against && !place.finest();
    });
    __syncthreads();
    result.held = !suspects.over;
    __syncthreads();
    return result;
}

struct Interval {
    double low;
    double high;
};

// From which to which depth is anything possible, but for a probability of exp(-needed)? Within the range or not.
//
// Ends are counted in half cells of the finest division, as whole numbers. What is between them already is not looked
// at: it and its parts would not widen them. So they are the farthest of all that is possible, in whatever order the
// threads find it.
static __device__ Interval interval(const Lane& lane, const Prior& prior, const double* tables, double centre,
                                    double tolerance, double strongest, double needed, double* memory, int room) {
    __shared__ Suspects suspects;
    __shared__ int low, high;
    constexpr int HALF_CELLS = 2 << (1 + 2 * FINEST);  // in a bin
    constexpr int FAR = 1 << 30;
    double level = mean_around(lane, prior, tables, centre, tolerance, memory, room).mean - needed;
    Interval everything = {0.0, (double)BINS};
    if (!(level >= lane.none)) return everything;
    if (thread() == 0) {
        suspects.count = 0;
        suspects.over = 0;
        low = FAR;
        high = -FAR;
    }
    look_at_first_suspects(lane, tables, level, false, memory, suspects, [&](const Place& place) {
        int half = HALF_CELLS / 2 / place.per_bin();
        int middle = (2 * place.number + 1) * half;
        // Others may be widening the interval just now: to see it narrower costs a look, and is as right.
        if (middle - half >= *(volatile int*)&low && middle + half <= *(volatile int*)&high) return false;
        Above found = above(lane, cell_at(lane, tables, place), strongest, level);
        if (found.likely) {
            atomicMin(&low, middle);
            atomicMax(&high, middle);
        }
        if (found.possible && place.finest()) {
            atomicMin(&low, middle - half);
            atomicMax(&high, middle + half);
        }
        return found.possible && !place.finest();
    });
    __syncthreads();
    Interval found = {(double)low / HALF_CELLS, (double)high / HALF_CELLS};
    bool nothing = low > high;  // refuted everywhere: the counts fit no depth, so none is claimed
    __syncthreads();
    return nothing ? everything : found;
}
