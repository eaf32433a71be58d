// Kernels on a CPU: each CUDA thread is a thread of the process, or the only one. Included before a kernel's source.
#pragma once
#include <algorithm>
#include <cmath>
#include <pthread.h>

#define __device__
#define __global__
#define __shared__ static
#define __restrict__
#define __launch_bounds__(threads)

struct Index {
    unsigned x;
};
static thread_local Index threadIdx = {0}, blockIdx = {0};
static Index blockDim = {1};
static pthread_barrier_t all_threads;

static inline void __syncthreads() {
    if (blockDim.x > 1) pthread_barrier_wait(&all_threads);
}
static inline int atomicAdd(int* place, int more) { return __atomic_fetch_add(place, more, __ATOMIC_RELAXED); }
static inline void atomicMin(int* place, int value) {
    int old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (old > value && !__atomic_compare_exchange_n(place, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
static inline void atomicMax(int* place, int value) {
    int old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(place, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static double* dynamic_shared;
#define DYNAMIC_SHARED(name) double* name = dynamic_shared

extern "C" void begin(unsigned threads, double* memory) {
    blockDim.x = threads;
    dynamic_shared = memory;
    pthread_barrier_init(&all_threads, nullptr, threads);
}
extern "C" void be(unsigned block, unsigned thread) {
    blockIdx.x = block;
    threadIdx.x = thread;
}
// A block ends when all of its threads do.
extern "C" void end_block() { __syncthreads(); }
