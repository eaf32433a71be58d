// What the threads of a block do together. Everything goes through shared memory and __syncthreads(), so that it is
// right for any number of threads, and for one.
#pragma once
#include "constants.cuh"
#include "shared_memory.cuh"

static __device__ inline int threads() { return (int)blockDim.x; }
static __device__ inline int thread() { return (int)threadIdx.x; }
static __device__ inline double infinity() { return -log(0.0); }

// np.clip: the upper end wins.
static __device__ inline double clip(double value, double low, double high) { return fmin(fmax(value, low), high); }
static __device__ inline int clip(int value, int low, int high) {
    return value < low ? low : (value > high ? high : value);
}

// A number of each thread, for all that is done together.
static __device__ double* numbers_of_threads() {
    __shared__ double numbers[MOST_THREADS];
    return numbers;
}

template <typename Join>
static __device__ double over_block(double mine, Join join) {
    double* partial = numbers_of_threads();
    partial[thread()] = mine;
    __syncthreads();
    for (int half = threads() / 2; half > 0; half /= 2) {
        if (thread() < half) partial[thread()] = join(partial[thread()], partial[thread() + half]);
        __syncthreads();
    }
    double all = partial[0];
    __syncthreads();  // the next one may write here
    return all;
}

static __device__ double sum_over_block(double mine) {
    return over_block(mine, [](double one, double other) { return one + other; });
}

static __device__ double max_over_block(double mine) {
    return over_block(mine, [](double one, double other) { return fmax(one, other); });
}

// The sum of what the threads before this one have.
static __device__ double sum_before(double mine) {
    double* upto = numbers_of_threads();
    upto[thread()] = mine;
    __syncthreads();
    for (int away = 1; away < threads(); away *= 2) {
        double before = thread() >= away ? upto[thread() - away] : 0.0;
        __syncthreads();
        upto[thread()] += before;
        __syncthreads();
    }
    double before = upto[thread()] - mine;
    __syncthreads();
    return before;
}

// A sum of exp(terms), kept as exp(top) * sum so that no term is too large or too small.
struct LogSum {
    double top;
    double sum;

    static __device__ LogSum nothing() { return {-infinity(), 0.0}; }

    __device__ void add(double term) {
        if (term <= top) {
            sum += term > -infinity() ? exp(term - top) : 0.0;
        } else {
            sum = 1.0 + (top > -infinity() ? sum * exp(top - term) : 0.0);
            top = term;
        }
    }

    __device__ double log_of_all() const { return sum > 0 ? top + log(sum) : -infinity(); }
};

static __device__ double log_sum_over_block(LogSum mine) {
    double top = max_over_block(mine.top);
    if (!(top > -infinity())) return -infinity();
    return top + log(sum_over_block(mine.sum > 0 ? mine.sum * exp(mine.top - top) : 0.0));
}

// The place of the largest value; of equal ones the first, as np.argmax has it.
struct Best {
    double value;
    int place;

    __device__ void take(double other, int its_place) {
        if (other > value || (other == value && its_place < place)) {
            value = other;
            place = its_place;
        }
    }
};

static __device__ Best best_over_block(Best mine) {
    double* values = numbers_of_threads();
    __shared__ int places[MOST_THREADS];
    values[thread()] = mine.value;
    places[thread()] = mine.place;
    __syncthreads();
    for (int half = threads() / 2; half > 0; half /= 2) {
        if (thread() < half) {
            mine.take(values[thread() + half], places[thread() + half]);
            values[thread()] = mine.value;
            places[thread()] = mine.place;
        }
        __syncthreads();
    }
    Best all = {values[0], places[0]};
    __syncthreads();
    return all;
}

// The counts of a pixel in shared memory: of bin i at [i], with zeros from -2 HALF to BINS + 2 HALF. They are whole
// numbers, but double: the sums they go into are, and to convert a number costs as much as four products.
struct Counts {
    const double* fired;
    const double* missed;
    double total_fired;
    double total_missed;
};

// `memory` has room for 2 * PADDED numbers.
static __device__ Counts load_counts(const int* marks, const int* successes, double* memory) {
    double* fired = memory + 2 * HALF;
    double* missed = fired + PADDED;
    for (int bin = thread() - 2 * HALF; bin < BINS + 2 * HALF; bin += threads()) {
        bool inside = bin >= 0 && bin < BINS;
        fired[bin] = inside ? (double)successes[bin] : 0.0;
        missed[bin] = inside ? (double)marks[bin] : 0.0;
    }
    __syncthreads();
    // Samples are the running sums of the marks: each thread adds up some neighbouring bins. The numbers are whole, so
    // any order gives the same.
    int each = (BINS + threads() - 1) / threads();
    int first = thread() * each, end = first + each < BINS ? first + each : BINS;
    double mine = 0.0;
    for (int bin = first; bin < end; ++bin) mine += missed[bin];
    double samples = sum_before(mine);
    double all_fired = 0.0, all_missed = 0.0;
    for (int bin = first; bin < end; ++bin) {
        samples += missed[bin];
        missed[bin] = samples - fired[bin];
        all_fired += fired[bin];
        all_missed += missed[bin];
    }
    Counts counts = {fired, missed, sum_over_block(all_fired), sum_over_block(all_missed)};
    return counts;
}

// The logarithms of the weights that bins have beforehand; without a row, all have the same.
struct Prior {
    const float* row;

    __device__ double of(int bin) const { return row ? (double)row[bin] : -log((double)BINS); }
};

static __device__ Prior prior_of(const float* log_prior, int pixel) {
    Prior prior = {log_prior ? log_prior + (long long)pixel * BINS : log_prior};
    return prior;
}
