// Stands in for CUDA's header of that name: numbers of 16 bits, as much of them as kernels use.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

static inline float float_of_half(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float size = exponent == 31  ? (fraction ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp((float)fraction, -24)
                                 : std::ldexp((float)(1024 + fraction), exponent - 25);
    return bits >> 15 ? -size : size;
}

// To the nearest; of two that are as near, the one whose last bit is zero.
static inline uint16_t half_of_float(float value) {
    uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    float size = std::fabs(value);
    if (std::isnan(value)) return sign | 0x7e00;
    if (size >= 65520.0f) return sign | 0x7c00;
    int exponent = size < 0x1p-14f ? -14 : std::ilogb(size);
    int steps = (int)std::nearbyint(std::ldexp(size, 10 - exponent));  // exact but for the rounding
    return sign | (uint16_t)(((exponent + 14) << 10) + steps);         // 2048 steps carry into the exponent
}

struct __half {
    uint16_t bits;
    __half() = default;
    explicit __half(float value) : bits(half_of_float(value)) {}
};
struct alignas(4) __half2 {
    __half x, y;
};

static inline __half __int2half_rn(int value) { return __half((float)value); }
static inline int __half2int_rn(__half value) { return (int)std::nearbyint(float_of_half(value.bits)); }
static inline __half2 __floats2half2_rn(float low, float high) { return {__half(low), __half(high)}; }
