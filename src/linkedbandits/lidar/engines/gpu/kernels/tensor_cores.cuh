// What has to be said in a card's own instructions; a function for each. Tests that run kernels on a CPU have these
// functions of their own (ON_CPU).
#pragma once
#include <cuda_fp16.h>

#ifndef ON_CPU
// Adds to a sum of 16 x 8 the product of 16 x 16 and 16 x 8 numbers in half precision; each lane has a part of each.
__device__ inline void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, uint2 b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b.x), "r"(b.y));
}

// Four matrices of 8 x 8 from shared memory, in parts as ``multiply`` takes them: lane 8 i + r says where row r of the
// matrix i is, and each lane gets two neighbours of each matrix.
__device__ inline void load_matrices(unsigned (&parts)[4], const __half* row) {
    unsigned address = (unsigned)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3]) : "r"(address));
}

__device__ inline float power_of_two(float exponent) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
    return power;
}
#endif
