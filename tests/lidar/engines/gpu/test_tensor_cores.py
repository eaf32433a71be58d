"""What stands in for a card's own instructions, and for its warps, where kernels run on a CPU."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.lidar.engines.gpu.fragments import fragments
from tests.support.kernels_on_cpu import compiled_text, needs_compiler, run

pytestmark = needs_compiler

SOURCE = """
extern "C" __global__ void to_halves(const float* numbers, int count, unsigned* words) {
    for (int i = 0; i < count; i++) words[i] = __half(numbers[i]).bits;
}
extern "C" __global__ void from_halves(float* numbers) {
    for (int i = 0; i < 65536; i++) numbers[i] = float_of_half(i);
}
// A matrix of 16 x 16 in shared memory, rows 24 apart, times fragments.
extern "C" __global__ void product(const float* left, const uint2* right, float* sums) {
    DYNAMIC_SHARED(__half, memory);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    __half* mine = memory + warp * 16 * 24;
    for (int i = lane; i < 256; i += 32) mine[i / 16 * 24 + i % 16] = __half(left[warp * 256 + i]);
    __syncwarp();
    unsigned parts[4];
    load_matrices(parts, mine + lane % 16 * 24 + lane / 16 * 8);
    float sum[4];
    int row = lane / 4, column = 2 * (lane % 4);
    float* my_sums = sums + warp * 128;
    for (int i = 0; i < 4; i++) sum[i] = my_sums[(row + i / 2 * 8) * 8 + column + i % 2];
    multiply(sum, parts[0], parts[1], parts[2], parts[3], right[threadIdx.x]);
    for (int i = 0; i < 4; i++) my_sums[(row + i / 2 * 8) * 8 + column + i % 2] = sum[i];
}
extern "C" __global__ void shuffles(int* found) {
    int value = 100 + threadIdx.x, *mine = found + 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    mine[0] = __shfl_sync(~0u, value, 7);
    mine[1] = __shfl_xor_sync(~0u, value, 5);
    mine[2] = __shfl_up_sync(~0u, value, 3);
    mine[3] = __shfl_down_sync(~0u, value, 3);
}
extern "C" __global__ void without_a_barrier(int* found) {
    __shared__ int numbers[64];
    numbers[threadIdx.x] = blockIdx.x;
    found[blockIdx.x * 64 + threadIdx.x] = numbers[63 - threadIdx.x];
}
extern "C" __global__ void with_a_barrier(int* found) {
    __shared__ int numbers[64];
    numbers[threadIdx.x] = blockIdx.x;
    __syncthreads();
    found[blockIdx.x * 64 + threadIdx.x] = numbers[63 - threadIdx.x];
    __syncthreads();
}
extern "C" __global__ void some_lanes_alone() {
    if (threadIdx.x % 32 < 20) __syncwarp();
}
extern "C" __global__ void one_writes_too_far() {
    DYNAMIC_SHARED(int, memory);
    if (threadIdx.x == 3) memory[10] = 0;
}
extern "C" __global__ void rounded_down(const double* numbers, int count, float* found) {
    for (int i = 0; i < count; i++) found[i] = __double2float_rd(numbers[i]);
}
"""


@pytest.fixture(scope="module")
def library():
    return compiled_text(SOURCE, ())


def test_numbers_of_16_bits_are_those_of_numpy(library):
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    found = np.empty(65536, dtype=np.float32)
    run(library, "from_halves", 1, found)
    assert np.array_equal(found, every.astype(np.float32), equal_nan=True)
    finite = np.sort(every[np.isfinite(every)].astype(np.float32))
    between = (finite[1:].astype(np.float64) + finite[:-1]) / 2
    ties = between.astype(np.float32)
    near = np.concatenate([np.nextafter(ties, np.float32(side)) for side in (-np.inf, np.inf)])
    numbers = np.concatenate([finite, ties, near, np.float32([65519.99, 65520, 1e9, -1e9, np.inf, -np.inf, 1e-30])])
    words = np.empty(numbers.size, dtype=np.uint32)
    run(library, "to_halves", 1, numbers, numbers.size, words)
    with np.errstate(over="ignore"):
        assert np.array_equal(words.astype(np.uint16), numbers.astype(np.float16).view(np.uint16))


def test_a_product_of_matrices_by_what_each_lane_holds(library):
    rng = np.random.default_rng(1)
    left = rng.normal(size=(2, 16, 16)).astype(np.float16)
    right = rng.normal(size=(2, 16, 8)).astype(np.float16)
    before = rng.normal(size=(2, 16, 8)).astype(np.float32)
    sums = before.copy()
    shared = 2 * 2 * 16 * 24
    run(library, "product", 1, left.astype(np.float32), fragments(right), sums, shared_bytes=shared, threads=64)
    exactly = before + left.astype(np.float64) @ right.astype(np.float64)
    np.testing.assert_allclose(sums, exactly, rtol=1e-6, atol=1e-6)


def test_lanes_get_the_numbers_of_other_lanes(library):
    found = np.zeros((3, 64, 4), dtype=np.int32)
    run(library, "shuffles", 3, found, threads=64)
    lane = np.arange(64) % 32
    first = 100 + np.arange(64) - lane
    source = [np.full(64, 7), lane ^ 5, np.where(lane < 3, lane, lane - 3), np.where(lane > 28, lane, lane + 3)]
    assert (found == (first + np.array(source)).T).all()


def test_what_is_read_without_a_barrier_is_not_there_yet(library):
    blocks = np.repeat(np.arange(4), 64).reshape(4, 64)
    found = np.zeros((4, 64), dtype=np.int32)
    run(library, "without_a_barrier", 4, found, threads=64)
    assert (found != blocks).any()
    run(library, "with_a_barrier", 4, found, threads=64)
    assert (found == blocks).all()


def test_what_a_card_would_not_do_is_said(library):
    with pytest.raises(AssertionError, match="not where lane 0 is"):
        run(library, "some_lanes_alone", 1, threads=32)
    with pytest.raises(AssertionError, match="beyond its shared memory"):
        run(library, "one_writes_too_far", 1, threads=8, shared_bytes=40)
    run(library, "one_writes_too_far", 1, threads=8, shared_bytes=44)
    with pytest.raises(AssertionError, match="float32 where the kernel reads i4"):
        run(library, "shuffles", 1, np.zeros(256, dtype=np.float32), threads=64)
    with pytest.raises(AssertionError, match="takes 1 arguments"):
        run(library, "shuffles", 1, threads=64)
    with pytest.raises(TypeError, match=r"1\.5 where the kernel reads i4"):
        run(library, "to_halves", 1, np.zeros(1, dtype=np.float32), 1.5, np.zeros(1, dtype=np.uint32))


def test_numbers_rounded_down_are_not_above(library):
    numbers = np.random.default_rng(2).normal(size=1000)
    numbers[:3] = [0.0, -1.5, 0.1]
    found = np.empty(1000, dtype=np.float32)
    run(library, "rounded_down", 1, numbers, 1000, found)
    assert (found <= numbers).all()
    assert (np.nextafter(found, np.float32(np.inf)) > numbers).all()
