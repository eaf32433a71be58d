// Kernels on a CPU. Included before a kernel's source.
//
// The threads of a block run one after the other, each on a stack of its own: one runs until it waits for others, at a
// barrier or to exchange numbers within its warp, and then the next one does. They go on where all have come. A warp runs
// as far as it gets without the others. So what one thread writes and another reads without a barrier between them comes
// too late, or too early: the first is another one each time. (What no barrier but an exchange keeps apart is not seen.)
#pragma once
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <string>
#include <tuple>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>

#define ON_CPU
#define __device__
#define __global__
#define __shared__ static
#define __restrict__
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)

struct Index {
    unsigned x;
};
static Index threadIdx = {0}, blockIdx = {0}, blockDim = {1};

namespace on_cpu {

constexpr size_t STACK = 256 * 1024;
constexpr size_t BEHIND = 512;  // bytes behind the shared memory, which nobody may write
constexpr unsigned char CANARY = 0xCB;
constexpr int LANES = 32;

enum Waiting { RUNS, FOR_WARP, FOR_BLOCK, DONE };

struct Thread {
    ucontext_t begins;
    jmp_buf here;
    char* stack = nullptr;   // kept from launch to launch
    Waiting waiting = RUNS;
    bool began = false;
    const char* where = "";  // what it waits in
    int turn = 0;            // of two places to exchange numbers, the one that is next
};

// What the lanes of a warp tell each other: of two exchanges in a row each has a place of its own, so who is quick does
// not overwrite what others still have to read.
struct Warp {
    unsigned char slots[2][LANES][16];
    float left[2][16][16], right[2][16][8];
};

static std::vector<Thread> threads;
static std::vector<Warp> warps;
static jmp_buf scheduler;
static ucontext_t scheduler_context;
static unsigned char* dynamic_shared;
static void (*body)(void*);
static void* body_argument;

static inline Thread& me() { return threads[threadIdx.x]; }
static inline Warp& my_warp() { return warps[threadIdx.x / LANES]; }

static inline void wait(Waiting what, const char* where) {
    Thread& mine = me();
    mine.waiting = what;
    mine.where = where;
    if (_setjmp(mine.here) == 0) _longjmp(scheduler, 1);
}

static void first_step() {
    body(body_argument);
    me().waiting = DONE;
    _longjmp(scheduler, 1);
}

static void go_on(unsigned number) {
    Thread& thread = threads[number];
    threadIdx.x = number;
    if (_setjmp(scheduler) != 0) return;
    if (thread.began) _longjmp(thread.here, 1);
    thread.began = true;
    getcontext(&thread.begins);
    thread.begins.uc_stack.ss_sp = thread.stack;
    thread.begins.uc_stack.ss_size = STACK;
    thread.begins.uc_link = nullptr;
    makecontext(&thread.begins, first_step, 0);
    swapcontext(&scheduler_context, &thread.begins);
}

static unsigned mix;

// A number below ``count``, another one each time.
static unsigned any_below(unsigned count) {
    mix = mix * 1664525u + 1013904223u;
    return (mix >> 8) % count;
}

// Lets a warp run until all of its threads wait for the block, or are done; "" or what is wrong.
static std::string run_warp(unsigned first, unsigned end) {
    unsigned count = end - first;
    while (true) {
        unsigned begin = any_below(count), step = any_below(2) ? 1 : count - 1, waits = 0;
        for (unsigned i = 0, place = begin; i < count; i++, place = (place + step) % count)
            if (threads[first + place].waiting == RUNS) go_on(first + place);
        for (unsigned i = first; i < end; i++) waits += threads[i].waiting == FOR_WARP;
        if (waits == 0) return "";
        for (unsigned i = first; i < end; i++)
            if (threads[i].waiting != FOR_WARP || std::strcmp(threads[i].where, threads[first].where) != 0)
                return "lane " + std::to_string(i - first) + " of a warp is not where lane 0 is, in "
                    + (threads[first].waiting == DONE ? "its end" : threads[first].where);
        for (unsigned i = first; i < end; i++) threads[i].waiting = RUNS;
    }
}

// One warp after the other, each as far as it gets alone: who does not wait for others is far ahead of them.
static std::string run_block() {
    unsigned count = threads.size(), warp_count = warps.size(), left = 1;
    for (Thread& each : threads) {
        each.waiting = RUNS;
        each.began = false;
        each.turn = 0;
    }
    while (left) {
        unsigned begin = any_below(warp_count);
        for (unsigned i = 0; i < warp_count; i++) {
            unsigned first = (begin + i) % warp_count * LANES, end = first + LANES < count ? first + LANES : count;
            std::string wrong = run_warp(first, end);
            if (!wrong.empty()) return wrong;
        }
        left = 0;
        for (Thread& each : threads)
            if (each.waiting == FOR_BLOCK) {
                each.waiting = RUNS;
                left++;
            }
    }
    return "";
}

static std::string run_blocks(unsigned blocks, unsigned block_size, size_t shared_bytes) {
    size_t size = (shared_bytes + BEHIND + 15) / 16 * 16;
    dynamic_shared = static_cast<unsigned char*>(std::aligned_alloc(16, size));
    for (size_t i = block_size; i < threads.size(); i++) std::free(threads[i].stack);
    threads.resize(block_size);
    for (Thread& each : threads)
        if (!each.stack) each.stack = static_cast<char*>(std::malloc(STACK));
    warps.assign((block_size + LANES - 1) / LANES, Warp());
    blockDim.x = block_size;
    std::string wrong;
    mix = 1;
    for (unsigned block = 0; block < blocks && wrong.empty(); block++) {
        blockIdx.x = block;
        std::memset(dynamic_shared, CANARY, size);  // a block finds nothing there that it could use
        wrong = run_block();
        for (size_t place = shared_bytes; place < size; place++)
            if (dynamic_shared[place] != CANARY) wrong = "a block wrote beyond its shared memory";
    }
    std::free(dynamic_shared);
    return wrong;
}

// Types as NumPy writes them; pointers with a star.
template <typename T>
std::string type_of() {
    if constexpr (std::is_pointer_v<T>) {
        return "*" + type_of<std::remove_cv_t<std::remove_pointer_t<T>>>();
    } else {
        const char* kind = std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u";
        return kind + std::to_string(std::is_class_v<T> ? 4 : sizeof(T));  // a class is a vector of words
    }
}

template <typename... Parameters>
const char* signature(void (*)(Parameters...)) {
    static std::string types;
    types.clear();
    ((types += type_of<Parameters>() + " "), ...);
    return types.c_str();
}

template <typename... Parameters>
struct Call {
    void (*kernel)(Parameters...);
    void** arguments;

    template <size_t... places>
    void now(std::index_sequence<places...>) {
        kernel(*static_cast<std::remove_cv_t<Parameters>*>(arguments[places])...);
    }
};

// ``arguments`` points to each of them. What is wrong, or null.
template <typename... Parameters>
const char* launch(
    void (*kernel)(Parameters...), unsigned blocks, unsigned block_size, unsigned long shared_bytes, void** arguments) {
    Call<Parameters...> call = {kernel, arguments};
    body_argument = &call;
    body = [](void* which) { static_cast<Call<Parameters...>*>(which)->now(std::index_sequence_for<Parameters...>()); };
    static std::string wrong;
    wrong = run_blocks(blocks, block_size, shared_bytes);
    return wrong.empty() ? nullptr : wrong.c_str();
}

// The value that the lane ``from`` has.
template <typename T>
static inline T exchange(T value, int from, const char* where) {
    static_assert(sizeof(T) <= 16);
    Warp& warp = my_warp();
    int turn = me().turn ^= 1;
    std::memcpy(warp.slots[turn][threadIdx.x % LANES], &value, sizeof(T));
    wait(FOR_WARP, where);
    std::memcpy(&value, warp.slots[turn][from], sizeof(T));
    return value;
}

}  // namespace on_cpu

#define KERNEL_ON_CPU(name)                                                                                        \
    extern "C" const char* signature_of_##name() { return on_cpu::signature(&name); }                             \
    extern "C" const char* launch_##name(unsigned blocks, unsigned threads, unsigned long shared, void** given) { \
        return on_cpu::launch(&name, blocks, threads, shared, given);                                             \
    }

#define DYNAMIC_SHARED(type, name) type* name = reinterpret_cast<type*>(on_cpu::dynamic_shared)

static inline void __syncthreads() { on_cpu::wait(on_cpu::FOR_BLOCK, "__syncthreads"); }
static inline void __syncwarp() { on_cpu::wait(on_cpu::FOR_WARP, "__syncwarp"); }

template <typename T>
static inline T __shfl_sync(unsigned, T value, int from) {
    return on_cpu::exchange(value, from % on_cpu::LANES, "__shfl_sync");
}
template <typename T>
static inline T __shfl_xor_sync(unsigned, T value, int mask) {
    return on_cpu::exchange(value, (threadIdx.x % on_cpu::LANES) ^ mask, "__shfl_xor_sync");
}
// Where no lane is that far away, a lane has its own value.
template <typename T>
static inline T __shfl_up_sync(unsigned, T value, int apart) {
    int lane = threadIdx.x % on_cpu::LANES;
    return on_cpu::exchange(value, lane >= apart ? lane - apart : lane, "__shfl_up_sync");
}
template <typename T>
static inline T __shfl_down_sync(unsigned, T value, int apart) {
    int lane = threadIdx.x % on_cpu::LANES;
    return on_cpu::exchange(value, lane + apart < on_cpu::LANES ? lane + apart : lane, "__shfl_down_sync");
}

static inline int atomicAdd(int* place, int more) { return std::exchange(*place, *place + more); }
static inline int atomicSub(int* place, int less) { return std::exchange(*place, *place - less); }
static inline void atomicMin(int* place, int value) { *place = value < *place ? value : *place; }
static inline void atomicMax(int* place, int value) { *place = value > *place ? value : *place; }

static inline int min(int one, int other) { return one < other ? one : other; }
static inline int max(int one, int other) { return one > other ? one : other; }
static inline unsigned min(unsigned one, int other) { return one < (unsigned)other ? one : (unsigned)other; }
static inline int __ffs(int word) { return __builtin_ffs(word); }
static inline unsigned __umulhi(unsigned one, unsigned other) { return (uint64_t)one * other >> 32; }
#define __expf(value) expf(value)
#define __logf(value) logf(value)
static inline float __double2float_rd(double value) {
    float near = (float)value;
    return near > value ? std::nextafter(near, -INFINITY) : near;
}
static inline double __longlong_as_double(long long bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
struct int4 {
    int x, y, z, w;
};
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

#include "cuda_fp16.h"

// What tensor_cores.cuh has for a card, as NVIDIA's "PTX ISA" documents it.

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32. The sum is made in double precision: a card's is a little coarser.
static inline void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, uint2 b) {
    on_cpu::Warp& warp = on_cpu::my_warp();
    int turn = on_cpu::me().turn ^= 1;
    int lane = threadIdx.x % on_cpu::LANES, group = lane / 4, pair = 2 * (lane % 4);
    auto(&left)[16][16] = warp.left[turn];
    auto(&right)[16][8] = warp.right[turn];
    for (int i = 0; i < 2; i++) {
        left[group][pair + i] = float_of_half(a0 >> 16 * i);
        left[group + 8][pair + i] = float_of_half(a1 >> 16 * i);
        left[group][pair + 8 + i] = float_of_half(a2 >> 16 * i);
        left[group + 8][pair + 8 + i] = float_of_half(a3 >> 16 * i);
        right[pair + i][group] = float_of_half(b.x >> 16 * i);
        right[pair + 8 + i][group] = float_of_half(b.y >> 16 * i);
    }
    on_cpu::wait(on_cpu::FOR_WARP, "mma.sync");
    for (int i = 0; i < 4; i++) {
        double whole = sum[i];
        for (int k = 0; k < 16; k++) whole += (double)left[group + 8 * (i / 2)][k] * right[k][pair + i % 2];
        sum[i] = (float)whole;
    }
}

// ldmatrix.sync.aligned.m8n8.x4.shared.b16: lane 8 i + r gives the address of row r of the matrix i.
static inline void load_matrices(unsigned (&parts)[4], const __half* row) {
    if (reinterpret_cast<uintptr_t>(row) % 16 != 0) std::abort();  // a card would refuse it, too
    int lane = threadIdx.x % on_cpu::LANES;
    for (int matrix = 0; matrix < 4; matrix++) {
        const __half* its = on_cpu::exchange(row, 8 * matrix + lane / 4, "ldmatrix.sync");
        std::memcpy(&parts[matrix], its + 2 * (lane % 4), 4);
    }
}

// ex2.approx.ftz.f32
static inline float power_of_two(float exponent) {
    float power = exp2f(exponent);
    return power < 0x1p-126f ? 0.0f : power;
}
