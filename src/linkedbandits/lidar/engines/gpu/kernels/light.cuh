// The light of a pixel in closed form: background everywhere, and the pulse around its depth.
//
// The pulse's cumulative share is a table, STEPS_A_BIN a bin, from -(HALF + 1) to HALF + 1 bins around the depth.
#pragma once
#include "constants.cuh"

// The moment of a detection that was never made.
#define NEVER (-__longlong_as_double(0x7ff0000000000000LL))

struct Light {
    double depth, signal, background;
    const double* cumulative;

    // The share of the pulse before the edge of a bin.
    __device__ double share_before(double edge) const {
        double place = (edge - depth + (HALF + 1)) * STEPS_A_BIN;
        if (place <= 0) return 0.0;
        int last = 2 * (HALF + 1) * STEPS_A_BIN;
        if (place >= last) return 1.0;
        int below = (int)place;
        return cumulative[below] + (place - below) * (cumulative[below + 1] - cumulative[below]);
    }

    // Photons a cycle from the first bin up to the edge of a bin, in the mean.
    __device__ double before(int edge) const {
        double pulse = signal > 0 ? signal * (share_before(edge) - share_before(0)) : 0.0;
        return background * edge + pulse;
    }

    __device__ double of_bin(int bin) const { return before(bin + 1) - before(bin); }

    // The bin in which the light since the first bin reaches ``sum``, from bin ``low`` on; BINS where it never does.
    __device__ int bin_at(double sum, int low) const {
        if (before(BINS) <= sum) return BINS;
        int high = BINS - 1;
        if (signal > 0) {  // the pulse is in a few bins, and beside it light grows evenly
            int first = max((int)floor(depth) - HALF, low), end = min((int)floor(depth) + HALF + 1, BINS);
            if (first < end) {
                if (before(first) > sum) high = first - 1;
                else if (before(end) <= sum) low = end;
                else { low = first; high = end - 1; }
            }
        }
        if (high - low > WINDOW && background > 0) {
            int guess = min(max((int)(low + (sum - before(low)) / background), low), high);
            while (guess > low && before(guess) > sum) guess--;
            while (guess < high && before(guess + 1) <= sum) guess++;
            return guess;
        }
        while (low < high) {
            int middle = (low + high) / 2;
            if (before(middle + 1) > sum) high = middle;
            else low = middle + 1;
        }
        return low;
    }
};

// Periods that pass unseen after a detection in bin ``fired``, counted from the first bin of its own period, if the
// next gate opens at ``opens``. ``dead_periods`` is the dead time in periods.
__device__ inline double lost_periods(double fired, double opens, double dead_periods) {
    double since_opening = (fired + 0.5 - opens) / BINS;
    return fmax(ceil(since_opening + dead_periods) - 1, 0.0);
}
