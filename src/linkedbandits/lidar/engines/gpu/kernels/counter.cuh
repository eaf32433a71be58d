// Randomness by counter: a number for every seed, pixel, stream and place in it, whoever asks and in whatever order.
//
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011). The NumPy version of the same numbers is engines/counter.py.
#pragma once

enum Stream : unsigned { PHOTONS = 0, DRAWS = 1, DETECTIONS = 2 };

__device__ inline uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, counter.z), low1 = 0xCD9E8D57u * counter.z;
        counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

// Uniform in (0, 1): the number at this place of a pixel's stream.
__device__ inline double uniform(uint2 key, long long pixel, Stream stream, unsigned long long number) {
    uint4 words = philox(make_uint4((unsigned)(number >> 2), stream, (unsigned)pixel, (unsigned)(pixel >> 32)), key);
    unsigned place = number & 3;
    unsigned word = place == 0 ? words.x : place == 1 ? words.y : place == 2 ? words.z : words.w;
    return (word + 0.5) * 0x1p-32;
}

// Light until the next photon, in mean photons: exponential.
__device__ inline double until_photon(uint2 key, long long pixel, Stream stream, unsigned long long number) {
    return -log(uniform(key, pixel, stream, number));
}
