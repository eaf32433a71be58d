// The numbers that the NumPy code is made with; a test holds each of them against the module it is from.
#pragma once

#ifndef WINDOW
#define WINDOW (2 * HALF + 1)  // bins that a pulse reaches
#endif
#ifndef ROWS
#define ROWS (SIGNALS * PHASES)
#endif
#ifndef MOST_THREADS
#define MOST_THREADS 256  // of a block; it may be any power of two up to this, one included
#endif
#define PADDED (BINS + 4 * HALF)  // bins with the nothing on both sides that a return from outside of the range reaches

// sensor.py, expected.py
constexpr double LEAST_BACKGROUND = 1e-6;
constexpr double LEAST_SIGNAL = 1e-6;

// returns.py
constexpr double LEVEL_RATIO = 1.15;
constexpr double PHOTONS_BEFORE = 3.0;
constexpr int ROUNDS = 4;
constexpr double LEAST_EVIDENCE = 0.01;
constexpr int BETWEEN = 16;

// certificate.py
constexpr int NODES = 8;
constexpr double BOX = 1.2;
constexpr double STRONGER = 1.7;
constexpr double MOST_BACKGROUND = 10.0;
constexpr double FALLS = 4.0;
constexpr int STEPS = 10;
constexpr double SETTLED = 0.1;
constexpr double NARROW = 0.3;
constexpr double WIDE = 1.2;
constexpr int DIVISIONS = 4;  // a bin has 2, 8, 32 or 128 cells

// two_returns.py
constexpr double MORE = -1.0;
constexpr int TWO_STEPS = 8;

// pulse_gating.py
constexpr double SOONEST = 1.05;
constexpr double LATEST = 1.5;

// tables.py
constexpr int STEPS_A_BIN = 2048;

constexpr double TINY = 2.2250738585072014e-308;  // the smallest normal number
