"""The engine ``gpu`` on a real card: seconds for a megapixel, what they are spent on, growth, and what is sure.

Times are those of one whole ``capture``: light in, depths out, on the host. Kernels are compiled before.
"""

from __future__ import annotations

import time
from collections import defaultdict
from math import inf
from typing import Any

import numpy as np

from linkedbandits.errors import LinkedBanditError
from linkedbandits.intervals import share_interval
from linkedbandits.lidar import Scene, Sensor, Task, capture
from linkedbandits.lidar.engines.gpu.device import Program, devices, import_cupy
from linkedbandits.lidar.engines.gpu.fragments import likelihood_fragments, outlook_fragments
from linkedbandits.lidar.estimators import model_of

DELTA = 0.05
SENSOR = Sensor(bins=1000, ambient=10.0, reach=30.0)
TOLD = Task(SENSOR, signal=0.5, cycles=500, told=True, borrow=False)
PROOF = Task(SENSOR, signal=0.5, cycles=500, delta=DELTA)
FP32_PEAK, TENSOR_PEAK, MEMORY_PEAK = 66.9e12, 989.5e12, 4.8e12
"""Of an H200, by its data sheet: operations of single precision and of half precision on tensor cores; bytes."""


def main() -> None:
    try:
        card = devices()[0]
    except LinkedBanditError as error:
        print(f"  not measured here: {error}")
        return
    cupy = import_cupy()
    properties = cupy.cuda.runtime.getDeviceProperties(card)
    driver = cupy.cuda.runtime.driverGetVersion()
    print(f"  {properties['name'].decode()}, {properties['totalGlobalMem'] / 2**30:.0f} GiB, driver for CUDA {driver}")
    megapixel()
    growth()
    sure()


def surface(side: int) -> Scene:
    """Slants and steps, with brightness a factor of nine apart from pixel to pixel; light goes with it."""
    rng = np.random.default_rng(2)
    place = np.linspace(0, 1, side)
    depth = 0.35 + 0.3 * place[:, np.newaxis] + 0.1 * np.sin(9 * place)
    depth *= np.where(place > 0.6, 1.2, 0.9)
    return Scene("slants", SENSOR.reach * depth, 9.0 ** rng.uniform(-1, 0, (side, side)))


def scene_of(task: Task, side: int) -> Scene:
    scene = surface(side)
    return Scene(scene.name, scene.depth, np.ones_like(scene.depth)) if task.told else scene.sunlit()


def seconds_of(task: Task, side: int, seed: int = 1) -> tuple[float, Any]:
    scene = scene_of(task, side)
    begun = time.perf_counter()
    frame = capture(scene, task, seed=seed, engine="gpu")
    return time.perf_counter() - begun, frame


def megapixel() -> None:
    for name, task, most in (
        ("suffix gates, background known, no certificate", TOLD, 2.5),
        ("background unknown, neighbours, certificate to delta 0.05", PROOF, 10.0),
    ):
        seconds_of(task, 64)  # compiles
        times = []
        for seed in range(3):
            seconds, frame = seconds_of(task, 1024, seed)
            times.append(seconds)
        right = np.abs(np.nan_to_num(frame.error, nan=np.inf)) <= task.tolerance * SENSOR.bin_depth
        verdict = "holds" if np.median(times) <= most else "NOT REACHED"
        print(
            f"  1,048,576 pixels x 1000 bins x {task.cycles} cycles, {name}: {np.median(times):.2f} s "
            f"({', '.join(f'{each:.2f}' for each in times)}; at most {most:g}: {verdict}); "
            f"{frame.cycles.mean():.0f} cycles a pixel, {right.mean():.2%} right, {frame.confident.mean():.1%} sure",
            flush=True,
        )
        by_kernel(task)


def by_kernel(task: Task) -> None:
    """Where the time goes: each kernel alone, with the device made to wait for it."""
    cupy = import_cupy()
    spent: dict[str, float] = defaultdict(float)
    launches: dict[str, int] = defaultdict(int)
    blocks: dict[str, int] = defaultdict(int)
    kernel = Program.kernel

    def timed(program: Program, source: str, name: str, shared_bytes: int = 0) -> Any:
        found = kernel(program, source, name, shared_bytes)

        def run(grid: Any, block: Any, arguments: Any, shared_mem: int = 0) -> None:
            cupy.cuda.Device().synchronize()
            begun = time.perf_counter()
            found(grid, block, arguments, shared_mem=shared_mem)
            cupy.cuda.Device().synchronize()
            spent[name] += time.perf_counter() - begun
            launches[name] += 1
            blocks[name] += grid[0]

        return run

    Program.kernel = timed  # type: ignore[method-assign]
    try:
        whole, _ = seconds_of(task, 1024)
    finally:
        Program.kernel = kernel  # type: ignore[method-assign]
    for name, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        print(f"    {name:20} {seconds:6.3f} s in {launches[name]:4} launches")
    print(f"    {'the rest, on the host':20} {whole - sum(spent.values()):6.3f} s")
    if "weigh" in spent:
        roofline(task, blocks["weigh"], spent["weigh"])


def roofline(task: Task, decisions: int, seconds: float) -> None:
    """What share of the card's peaks the kernel ``weigh`` reaches, counted by what it has to do."""
    model = model_of(SENSOR, task.signal, task.strongest, task.told)
    bins, rows = SENSOR.bins, model.cells_per_bin
    products = likelihood_fragments(model).shape[1] * 2 * -(-bins // 16)  # made twice
    products += outlook_fragments(model).shape[1] * -(-bins // 64)
    on_tensor_cores = 2 * 16 * 8 * 16 * products
    single = bins * (16 * -(-rows // 16)) * 7 + bins * 30
    priors = 0 if task.told and not task.borrow else 4 * bins
    memory = bins * (4 + 4 + 4 + 4) + priors  # marks and photons in, worth and chance out
    for name, each, peak in (
        ("half precision on tensor cores", on_tensor_cores, TENSOR_PEAK),
        ("single precision", single, FP32_PEAK),
        ("memory", memory, MEMORY_PEAK),
    ):
        print(f"    weigh, {name}: {each * decisions / seconds / peak:.1%} of the peak")


REPEATS = {256: 4, 512: 3, 1024: 2, 2048: 1}
"""Frames of each size in a round; there are two rounds, and the fastest counts: others use the machine too."""


def growth() -> None:
    print("  growth, seconds a megapixel (background known, no certificate; and with everything):")
    for task, name in ((TOLD, "known"), (PROOF, "everything")):
        rates = dict.fromkeys(REPEATS, inf)
        for begin in (0, 100):
            for side, repeats in REPEATS.items():
                seconds = min(seconds_of(task, side, seed)[0] for seed in range(begin, begin + repeats))
                rates[side] = min(rates[side], seconds / side**2 * 2**20)
        spread = max(rates.values()) / min(rates.values()) - 1
        verdict = "holds" if spread <= 0.15 else "NOT REACHED"
        words = ", ".join(f"{side} x {side}: {rate:.2f}" for side, rate in rates.items())
        print(f"    {name}: {words}; apart by {spread:.1%} (at most 15 %: {verdict})", flush=True)


def sure() -> None:
    """A million pixels, backgrounds nine apart and told none of them: how many are sure and wrong?"""
    frame = seconds_of(Task(SENSOR, signal=0.5, cycles=3000, delta=DELTA), 1024, seed=9)[1]
    wrong = frame.confident & ~(np.abs(frame.error) <= frame.task.tolerance * SENSOR.bin_depth)
    _, limit = share_interval(int(wrong.sum()), wrong.size, confidence=0.98)
    verdict = "holds" if limit < DELTA else "VIOLATED"
    print(
        f"  sure and wrong: {int(wrong.sum())} of {wrong.size:,} pixels, 99 % limit {limit:.2g} "
        f"(delta {DELTA}: {verdict}); "
        f"{frame.confident.mean():.1%} sure after {frame.cycles.mean():.0f} cycles on average"
    )
