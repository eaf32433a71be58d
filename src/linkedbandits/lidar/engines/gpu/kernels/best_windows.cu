// The gate with the most worth per time, of windows and gaps of at least so many bins: gates._search, a thread a pixel.
//
// The text of gates.py has the idea. There all lanes and intervals of first bins are searched side by side; here each
// thread has its intervals on a stack, and what it reaches with one serves the next at once. What both find is the best
// but for the share CLOSE, and may differ by that. Any subset of bins is the case of windows and gaps of one bin.
//
// Arrays of a pixel lie in global memory as [bin][pixel], so that neighbouring threads read neighbouring numbers.

#ifndef MOST_THREADS
#define MOST_THREADS 256
#endif
#define WORDS ((BINS + 31) / 32)

constexpr double CLOSE = 1e-2;
constexpr double SMALLEST = 2.2250738585072014e-308;
constexpr int MOST_INTERVALS = 32;  // they halve, and of each size one at most waits

// What a gate may be, and what a detection costs: `base` periods, and one more from `late` bins after the first open one.
struct Rules {
    int shortest;  // of a window, its rise included
    int gap;
    int rise;
    const double* rising;  // the sensitivity of each bin in which a window still rises
    double base;
    int late;
};

// One of the arrays, of this thread's pixel.
template <typename Number>
struct Column {
    Number* first;
    long long stride;

    __device__ Number& operator[](int bin) const { return first[bin * stride]; }
};

struct Pixel {
    Column<float> shut;    // what the rest of a cycle is worth with the gate shut and free to open,
    Column<float> opened;  // and with the gate open and free to shut
    Column<float> worth;
    Column<float> survive;
    Column<float> first;  // the worth of the best gate that opens first here
    Column<float> prefix_value;
    Column<float> prefix_survive;
    Column<unsigned> opens_bits;  // is it better to open here than later,
    Column<unsigned> shuts_bits;  // and to shut here than to stay open?

    // The logarithm of the chance to get from a bin to the end. Before the search it has the place of the first two, in
    // two parts: together they are as good as in double precision.
    __device__ double log_end(int bin) const { return bin < BINS ? (double)shut[bin] + opened[bin] : 0.0; }
    __device__ void set_log_end(int bin, double value) const {
        shut[bin] = (float)value;
        opened[bin] = (float)(value - shut[bin]);
    }

    __device__ float shut_at(int bin) const { return bin < BINS ? shut[bin] : 0.0f; }
    __device__ float opened_at(int bin) const { return bin < BINS ? opened[bin] : 0.0f; }
};

static __device__ Pixel columns_of(float* scratch, long long stride, long long slot) {
    auto column = [&](int which) { return Column<float>{scratch + which * (long long)BINS * stride + slot, stride}; };
    unsigned* bits = (unsigned*)(scratch + 7LL * BINS * stride) + slot;
    return {column(0), column(1),      column(2), column(3), column(4),
            column(5), column(6), {bits, stride}, {bits + (long long)WORDS * stride, stride}};
}

// Consecutive bins taken together: what they are worth, and the probability that none fires.
struct Piece {
    float value;
    float survive;

    __device__ Piece then(const Piece& other) const {
        return {value + survive * other.value, survive * other.survive};
    }
};

struct Opening {
    int bin;
    double rate;  // worth per time
};

// The best gate that opens once and stays open.
static __device__ Opening best_suffix(const Pixel& pixel, const Rules& rules) {
    double log_end = 0.0;
    for (int i = BINS - 1; i >= 0; --i) {
        log_end += log(fmax((double)pixel.survive[i], SMALLEST));
        pixel.set_log_end(i, log_end);
    }
    Opening best = {0, -1.0};
    double value = 0.0;  // of all bins from where the gate is risen
    for (int i = BINS - 1; i >= 0; --i) {
        int risen = i + rules.rise < BINS ? i + rules.rise : BINS;
        if (i + rules.rise < BINS) value = pixel.worth[risen] + pixel.survive[risen] * value;
        double rising = 0.0, rising_to_late = 0.0;
        for (int after = 0; after < rules.rise && i + after < BINS; ++after) {
            rising += rules.rising[after] * (pixel.log_end(i + after) - pixel.log_end(i + after + 1));
            if (after < rules.late) rising_to_late = rising;
        }
        double end = exp(rising + pixel.log_end(risen));
        double time = 1 + rules.base * (1 - end);
        if (i < BINS - rules.late) {  // open for so long that a detection may come late
            int late = i + rules.late;
            double further = late > risen ? pixel.log_end(risen) - pixel.log_end(late) : 0.0;
            time += exp(rising_to_late + further) - end;
        }
        double rate = exp(rising) * value / time;
        if (rate >= best.rate) best = {i, rate};  // of equal ones the first
    }
    return best;
}

// Worth and cost of bins at a price of time, with the extra period from bin `late_from` on.
struct Priced {
    const Pixel& pixel;
    float soon;
    float late;
    int late_from;

    __device__ float cost(int bin) const { return bin >= late_from ? late : soon; }
    __device__ Piece of(int bin) const {
        float survive = pixel.survive[bin];
        return {pixel.worth[bin] - cost(bin) * (1 - survive), survive};
    }
};

// So many bins in a row, from each bin on, as one asks for them from the last bin to the first. A run reaches from its
// bin to the end of a stretch of that length, and some way into the next one: sums up to there are written down for the
// stretch behind, and from here for this one. Nothing has to be divided, so nothing can be lost by that.
struct Runs {
    int length;
    Piece to_end;

    __device__ Piece from(const Priced& priced, int bin) {
        if (length == 0 || bin >= BINS) return {0.0f, 1.0f};
        int end = (bin / length + 1) * length;
        if (bin == BINS - 1 || bin + 1 == end) {
            to_end = priced.of(bin);
            if (length > 1) sum_up(priced, end);
        } else {
            to_end = priced.of(bin).then(to_end);
        }
        int last = bin + length - 1 < BINS - 1 ? bin + length - 1 : BINS - 1;
        if (last < end) return to_end;
        return to_end.then({priced.pixel.prefix_value[last], priced.pixel.prefix_survive[last]});
    }

    __device__ void sum_up(const Priced& priced, int start) const {
        Piece upto = {0.0f, 1.0f};
        for (int i = start; i < start + length && i < BINS; ++i) {
            upto = upto.then(priced.of(i));
            priced.pixel.prefix_value[i] = upto.value;
            priced.pixel.prefix_survive[i] = upto.survive;
        }
    }
};

// The bins of a window that still rise: they cost what they detect, and bring nothing.
static __device__ Piece rising_from(const Priced& priced, const Rules& rules, int bin) {
    Piece piece = {0.0f, 1.0f};
    for (int after = 0; after < rules.rise && bin + after < BINS; ++after) {
        float part = powf(priced.pixel.survive[bin + after], (float)rules.rising[after]);
        piece = piece.then({(part - 1) * priced.cost(bin + after), part});
    }
    return piece;
}

// From the last bin to `low`: what the best gates are worth at this price, and where they open and shut.
static __device__ void search_pass(const Priced& priced, const Rules& rules, int block, int low) {
    const Pixel& pixel = priced.pixel;
    Runs runs = {block - rules.rise, {0.0f, 1.0f}};
    unsigned opens = 0, shuts = 0;
    float shut_next = 0.0f, opened_next = 0.0f;
    for (int i = BINS - 1; i >= low; --i) {
        Piece window = rising_from(priced, rules, i).then(runs.from(priced, i + rules.rise));
        Piece here = priced.of(i);
        float first = window.value + window.survive * (block == 1 ? opened_next : pixel.opened_at(i + block));
        float stays = here.value + here.survive * opened_next;
        float shut_after = rules.gap == 1 ? shut_next : pixel.shut_at(i + rules.gap);
        if (first > shut_next) opens |= 1u << (i % 32);
        if (shut_after > stays) shuts |= 1u << (i % 32);
        opened_next = fmaxf(stays, shut_after);
        shut_next = fmaxf(first, shut_next);
        pixel.first[i] = first;
        pixel.opened[i] = opened_next;
        pixel.shut[i] = shut_next;
        if (i % 32 == 0 || i == low) {
            pixel.opens_bits[i / 32] = opens;
            pixel.shuts_bits[i / 32] = shuts;
            opens = shuts = 0;
        }
    }
}

static __device__ bool bit(const Column<unsigned>& bits, int bin) { return bits[bin / 32] >> (bin % 32) & 1; }

// Calls visit(bin, bins since the window opened) for each open bin of the gate that opens first at a bin.
template <typename Visit>
static __device__ void walk(const Pixel& pixel, const Rules& rules, int block, int opens, Visit visit) {
    int i = opens;
    while (i < BINS) {
        int since = 0;
        for (; i < BINS && (since < block || !bit(pixel.shuts_bits, i)); ++i) visit(i, since++);
        i += rules.gap;
        while (i < BINS && !bit(pixel.opens_bits, i)) ++i;
    }
}

// gates.worth_per_time of that gate, in double precision.
static __device__ double worth_per_time(const Pixel& pixel, const Rules& rules, int block, int opens) {
    double reached = 1.0, value = 0.0, time = 1.0;
    walk(pixel, rules, block, opens, [&](int bin, int since) {
        double survive = pixel.survive[bin];
        if (since < rules.rise)
            survive = pow(survive, rules.rising[since]);
        else
            value += reached * pixel.worth[bin];
        time += reached * (1 - survive) * (rules.base + (bin - opens >= rules.late ? 1 : 0));
        reached *= survive;
    });
    return value / time;
}

static __device__ void write_gate(const Pixel& pixel, const Rules& rules, int block, int opens, unsigned* gate) {
    for (int word = 0; word < WORDS; ++word) gate[word] = 0;
    walk(pixel, rules, block, opens, [&](int bin, int) { gate[bin / 32] |= 1u << (bin % 32); });
}

static __device__ void write_suffix(int opens, unsigned* gate) {
    for (int word = 0; word < WORDS; ++word) {
        int before = opens - 32 * word, bins = BINS - 32 * word;
        unsigned all = bins < 32 ? (1u << bins) - 1 : ~0u;
        gate[word] = before <= 0 ? all : (before >= 32 ? 0u : all & (~0u << before));
    }
}

struct Interval {
    int low;
    int high;
};

// The gate of a pixel, as the text of gates.py says: intervals of first bins that may have a better one, until none is
// left.
static __device__ void search(const Pixel& pixel, const Rules& rules, unsigned* gate) {
    int block = rules.shortest > rules.rise ? rules.shortest : rules.rise;
    block = block < BINS ? block : BINS;
    Opening suffix = best_suffix(pixel, rules);
    write_suffix(suffix.bin, gate);
    double reached = suffix.rate;
    const int never_late = BINS - rules.late;  // gates from here on are open for so short that nothing comes late
    Interval stack[MOST_INTERVALS];
    stack[0] = {0, BINS - 1};
    for (int count = 1; count > 0;) {
        Interval some = stack[--count];
        float price = (float)reached;
        Priced priced = {pixel, (float)rules.base * price, (float)(rules.base + 1) * price, some.high + rules.late};
        search_pass(priced, rules, block, some.low);
        int opens = some.low;
        for (int i = some.low; i <= some.high; ++i)
            if (pixel.first[i] > pixel.first[opens]) opens = i;
        bool better = false;
        if (pixel.first[opens] > reached) {
            double rate = worth_per_time(pixel, rules, block, opens);
            if (rate > reached) {
                write_gate(pixel, rules, block, opens, gate);
                reached = rate;
                better = true;
            }
        }
        bool exact = some.low == some.high || some.low >= never_late;
        if (exact && !better) continue;  // rounding is all that is left
        Interval left = {BINS, -1};
        for (int i = some.low; i <= some.high; ++i)
            if (pixel.first[i] > reached * (1 + CLOSE)) {
                if (left.low == BINS) left.low = i;
                left.high = i;
            }
        if (left.high < 0) continue;
        if (left.low < left.high && left.low < never_late) {
            int middle = left.high < never_late ? (left.low + left.high) / 2 : never_late - 1;
            stack[count++] = {middle + 1, left.high};
            stack[count++] = {left.low, middle};
        } else {
            stack[count++] = left;
        }
    }
}

// A thread for each of `count` pixels: those of the list `active`, or the first ones where there is no list. `scratch`
// has (7 * BINS + 2 * WORDS) * stride 32-bit numbers, where stride is at least the count.
extern "C" __global__ void __launch_bounds__(MOST_THREADS)
    best_windows(const int* active, int count, const float* worth, const float* chance, unsigned* gate,
                 float* scratch, long long stride, int shortest, int gap, int rise, const double* rising, double base,
                 int late) {
    const int slot = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (slot >= count) return;
    const long long which = active ? active[slot] : slot;
    const Pixel pixel = columns_of(scratch, stride, slot);
    for (int i = 0; i < BINS; ++i) {
        pixel.worth[i] = worth[which * BINS + i];
        pixel.survive[i] = 1 - chance[which * BINS + i];
    }
    const Rules rules = {shortest, gap, rise, rising, base, late};
    search(pixel, rules, gate + which * WORDS);
}
