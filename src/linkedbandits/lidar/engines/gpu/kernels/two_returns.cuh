// Do the counts look like two returns close to each other? two_returns.py, for the pixel of a block.
#pragma once
#include "certificate.cuh"

constexpr int SINGLES = 5, PAIRED = 3;
constexpr int PULSES = SINGLES + 2 * PAIRED;
constexpr int FITS = SINGLES + PAIRED * PAIRED;

// Where each pulse is, in tolerances from the centre: single ones, then those before it, then those behind it.
static __device__ double away(int pulse) {
    if (pulse < SINGLES) return 0.3 * (pulse - SINGLES / 2);
    int side = (pulse - SINGLES) % PAIRED;
    double far = side == 0 ? 1.05 : (side == 1 ? 1.6 : 2.4);
    return pulse < SINGLES + PAIRED ? -far : far;
}

// The share of a pulse that comes before a time, from a table of STEPS_A_BIN a bin: between them it is a line.
static __device__ double cumulative_at(const double* table, double time) {
    const int last = 2 * (HALF + 1) * STEPS_A_BIN;
    double place = clip((time + (HALF + 1)) * STEPS_A_BIN, 0.0, (double)last);
    int step = (int)place < last ? (int)place : last - 1;
    return table[step] + (place - step) * (table[step + 1] - table[step]);
}

// The bins around the centre.
struct Near {
    int first;
    int width;

    __device__ bool has(int i) const { return first + i >= 0 && first + i < BINS; }
};

// The largest log-likelihood over all signals of a return with these shares; or of two, if there are others. The
// background stays.
static __device__ double best_light(const Counts& counts, const Near& near, const double* one, const double* other,
                                    double signal, double background) {
    double first = signal / 2 + 1e-6, second = other ? first : 0.0;
    for (int step = 0; step < TWO_STEPS; ++step) {
        double along = 0.0, bent = 1e-12, along_other = 0.0, bent_other = 1e-12, both = 0.0;
        for (int i = 0; i < near.width; ++i) {
            if (!near.has(i)) continue;
            double share = one[i], its_share = other ? other[i] : 0.0;
            Pull here = pull_at(counts.fired[near.first + i], first * share + second * its_share + background);
            double weight = here.pull - counts.missed[near.first + i];
            along += weight * share;
            bent += here.bend * share * share;
            along_other += weight * its_share;
            bent_other += here.bend * its_share * its_share;
            both += here.bend * share * its_share;
        }
        if (!other) {
            first = clip(first + along / bent, first / 5, 5 * first);
            continue;
        }
        double area = fmax(bent * bent_other - both * both, 1e-6 * bent * bent_other);
        double change = (bent_other * along - both * along_other) / area;
        double change_other = (bent * along_other - both * along) / area;
        first = clip(first + change, first / 5, 5 * first);
        second = clip(second + change_other, second / 5, 5 * second);
    }
    double value = 0.0;
    for (int i = 0; i < near.width; ++i)
        if (near.has(i))
            value += at_rate(counts.fired[near.first + i], counts.missed[near.first + i],
                             first * one[i] + (other ? second * other[i] : 0.0) + background);
    return value;
}

// By how many nats two returns around the centre explain the counts better than one at it. `memory` has room for the
// shares of all pulses: PULSES * (2 * (HALF + ceil(2.4 * tolerance) + 1) + 1).
static __device__ double gain_of_two(const Counts& counts, const double* cumulative, double centre, double tolerance,
                                     const Fit& single, double* memory) {
    const int reach = HALF + (int)ceil(2.4 * tolerance) + 1;
    const Near near = {(int)floor(centre) - reach, 2 * reach + 1};
    __syncthreads();
    for (int i = thread(); i < PULSES * near.width; i += threads()) {
        double edge = near.first + i % near.width - centre - tolerance * away(i / near.width);
        memory[i] = cumulative_at(cumulative, edge + 1) - cumulative_at(cumulative, edge);
    }
    __syncthreads();
    double one = -infinity(), two = -infinity();
    for (int which = thread(); which < FITS; which += threads()) {
        int pair = which - SINGLES;
        if (pair < 0) {
            const double* share = memory + which * near.width;
            one = fmax(one, best_light(counts, near, share, nullptr, single.signal, single.background));
        } else {
            const double* left = memory + (SINGLES + pair / PAIRED) * near.width;
            const double* right = memory + (SINGLES + PAIRED + pair % PAIRED) * near.width;
            two = fmax(two, best_light(counts, near, left, right, single.signal, single.background));
        }
    }
    return max_over_block(two) - max_over_block(one);
}
