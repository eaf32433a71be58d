"""Depth with sensors that exist: scenes with an unknown background, dead times, and whether sure depths are right."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from linkedbandits.intervals import share_interval
from linkedbandits.lidar import Frame, Photons, Scene, Sensor, Task, capture, find_depths, find_scene
from linkedbandits.lidar.acquiring import Acquired, acquire
from linkedbandits.lidar.acquisitions import find_acquisition
from linkedbandits.lidar.choosing import faster
from linkedbandits.lidar.estimators import model_of
from linkedbandits.lidar.exposure import Exposure
from linkedbandits.lidar.gates import AnySubset, Gates, Suffixes, Windows
from linkedbandits.lidar.pulse import MeasuredPulse
from linkedbandits.lidar.returns import few_at_a_time
from linkedbandits.model import BoolArray, FloatArray

ENGINE = os.environ.get("ENGINE", "numpy")
"""``ENGINE=compiled make bench ...`` is sooner done; the laws are the same."""
WORKERS = 2
RIGHT = 0.95
SPAN = 9.0
"""Backgrounds of the brightest and the darkest pixels of a scene are this factor apart."""
SIGNAL, FWHM, BINS = 0.5, 3.0, 200
LIKELY = (0.85, 0.9, 0.94, 0.97)
"""Pixels end where their depth is right with these probabilities, by their own reckoning: one run for each."""
ALLOWED = {10: (160, 125), 20: (450, 350)}
"""Cycles that a pixel may take, on average, and what is aimed at, by mean background."""


def main() -> None:
    """Cycles and time until 95 % of the pixels of a scene are within a bin, with suffix gates."""
    print(f"suffix gates, {BINS} bins, pulse {FWHM:g} bins, signal {SIGNAL:g}, backgrounds unknown, {SPAN:g} apart")
    print("a pixel's mean cycles and time until 95 % are within a bin; and if every pixel has the same cycles\n")
    print("| scene (pixels) | ambient | what pixels know | cycles | µs | the same for all |\n|---|--:|---|--:|--:|--:|")
    missed = []
    for name, step in (("motorcycle", 14), ("room", 2), ("leaves", 2)):
        scene = spanning(even_signal(thinned(find_scene(name), step)), SPAN)
        for ambient, (allowed, _) in ALLOWED.items():
            for borrow in (True, False):
                task = task_for(scene, ambient, borrow=borrow)
                cycles, seconds = crossing(stopped_when_likely(scene, task))
                same, _ = crossing(same_for_all(scene, task, cycles))
                words = "what is around them" if borrow else "nothing"
                print(
                    f"| {name} ({scene.depth.size:,}) | {ambient} | {words} | {cycles:,.0f} | {1e6 * seconds:,.1f} | "
                    f"{same:,.0f} |",
                    flush=True,
                )
                for measure, taken in (("on average", cycles), ("the same for all", same)):
                    if borrow and taken > allowed:
                        missed.append(f"{name} at ambient {ambient}: {taken:,.0f} cycles {measure}, {allowed} allowed")
    print("\n" + ("\n".join(missed) or "all within what is allowed"))


def thinned(scene: Scene, step: int) -> Scene:
    """Every so-manieth pixel of every so-manieth row."""
    return replace(scene, depth=scene.depth[::step, ::step], reflectivity=scene.reflectivity[::step, ::step])


def even_signal(scene: Scene) -> Scene:
    """The same scene with as much coming back from every pixel; its light is that of the true shades."""
    shades = np.maximum(scene.reflectivity, 0.02)
    far = np.nanmax(np.where(scene.present, scene.depth, np.nan))
    return replace(scene, reflectivity=np.where(scene.present, (scene.depth / far) ** 2, 1.0), light=shades)


def spanning(scene: Scene, span: float) -> Scene:
    """The same with backgrounds that are this factor apart, from the darkest to the brightest shade but for some."""
    assert scene.light is not None
    low, high = np.log(np.quantile(scene.light, [0.02, 0.98]))
    return replace(scene, light=span ** np.clip((np.log(scene.light) - low) / (high - low), 0, 1))


def task_for(scene: Scene, ambient: float, **more: object) -> Task:
    far = float(np.nanmax(np.where(scene.present, scene.depth, np.nan)))
    sensor = Sensor(bins=BINS, fwhm=FWHM, ambient=ambient, reach=np.ceil(2.2 * far) / 2)
    return Task(sensor, SIGNAL, 20_000, **more)  # type: ignore[arg-type]


Look = tuple[float, float, float]
"""The share of right pixels, and their mean cycles and seconds."""


def looked_at(frame: Frame) -> Look:
    real = np.isfinite(frame.truth)
    return frame.summary().within_tolerance, float(frame.cycles[real].mean()), float(frame.seconds[real].mean())


def stopped_when_likely(scene: Scene, task: Task, acquisition: str = "pulse") -> Iterator[Look]:
    for likely in LIKELY:
        yield looked_at(
            capture(scene, replace(task, likely=likely), acquisition, seed=3, workers=WORKERS, engine=ENGINE)
        )


def same_for_all(scene: Scene, task: Task, first: float) -> Iterator[Look]:
    """Every pixel has the same cycles, more and more; and it is told that there is a return, as in the other tables."""
    cycles = 1.4 * first
    while cycles < 40 * first:
        whole = replace(task, cycles=round(cycles), likely=None, present=True)
        yield looked_at(capture(scene, whole, seed=3, workers=WORKERS, engine=ENGINE))
        cycles *= 1.25


def crossing(looks: Iterator[Look]) -> tuple[float, float]:
    """Cycles and seconds where the share of right pixels passes the level, between two looks."""
    before: Look | None = None
    for look in looks:
        if look[0] >= RIGHT:
            if before is None or look[0] == before[0]:
                return look[1], look[2]
            part = (RIGHT - before[0]) / (look[0] - before[0])
            return before[1] + part * (look[1] - before[1]), before[2] + part * (look[2] - before[2])
        before = look
    return np.inf, np.inf


def edges() -> None:
    """Do pixels at an edge pay for what is around them? Those that are 3 bins or more from some neighbour."""
    print("pixels at an edge and elsewhere, ended where 95 % likely, ambient 10; and sure at delta 0.05\n")
    print("| scene | pixels | what they know | within a bin | cycles | cycles until sure |\n|---|---|---|--:|--:|--:|")
    for name, step in (("motorcycle", 14), ("room", 2), ("leaves", 2)):
        scene = spanning(even_signal(thinned(find_scene(name), step)), SPAN)
        for borrow in (False, True):
            task = task_for(scene, 10, borrow=borrow)
            likely = capture(scene, replace(task, likely=0.95), seed=3, workers=WORKERS, engine=ENGINE)
            sure = capture(scene, replace(task, delta=DELTA, cycles=6000), seed=3, workers=WORKERS, engine=ENGINE)
            edge = at_edges(likely.truth / task.sensor.bin_depth)
            real = np.isfinite(likely.truth)
            right = np.abs(likely.error) <= task.tolerance * task.sensor.bin_depth
            for words, some in (("at an edge", edge & real), ("elsewhere", ~edge & real)):
                print(
                    f"| {name} | {words} ({some.sum():,}) | {'what is around' if borrow else 'nothing'} | "
                    f"{right[some].mean():.1%} | {likely.cycles[some].mean():,.0f} | {sure.cycles[some].mean():,.0f} |",
                    flush=True,
                )


def at_edges(depth: FloatArray) -> BoolArray:
    """Pixels with a neighbour, in their row or column, that is 3 bins or more away, or has no depth."""
    padded = np.pad(depth, 1, mode="edge")
    around = [padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
    return np.any([~(np.abs(each - depth) < 3) for each in around], axis=0)


DEAD_TIMES = (0, 10, 20, 50, 100)


def dead_times() -> None:
    """Time until 95 % are within a bin, by dead time: free-running, gated, and what the program chooses."""
    scene = made_up(2000, 10.0)
    print("µs of a pixel until 95 % are within a bin; 2,000 made-up pixels, backgrounds unknown, 9 apart, mean 10\n")
    print(
        "| dead time (ns) | free-running | gated (suffix) | auto chooses | auto over the best |\n|--:|--:|--:|---|--:|"
    )
    for dead_time in DEAD_TIMES:
        sensor = Sensor(bins=BINS, fwhm=FWHM, ambient=10.0, reach=6.0, dead_time=1e-9 * dead_time)
        task = Task(sensor, SIGNAL, 20_000, borrow=False)
        seconds = {name: crossing(stopped_when_likely(scene, task, name))[1] for name in ("free-running", "pulse")}
        chosen = faster(replace(task, likely=RIGHT))  # pixels end by themselves
        print(
            f"| {dead_time} | {1e6 * seconds['free-running']:.1f} | {1e6 * seconds['pulse']:.1f} | {chosen} | "
            f"{seconds[chosen] / min(seconds.values()):.2f} |",
            flush=True,
        )


EQUAL_SCENES = {"motorcycle": 18, "room": 4, "leaves": 4}
"""Every so-manieth pixel of every so-manieth row."""
TIMES = (5, 11, 25, 57, 128)
"""Microseconds of a pixel: the first at which the better way has nearly all right, or the last."""
AS_GOOD = 0.02
"""Shares of right pixels that differ by less are within what 700 to 1,000 of them can tell."""


def equal_time() -> None:
    """Where every pixel has the same time: does the program choose the better of free-running and gates?"""
    print(
        "share of pixels within a bin when all have the same time, signal 0.5 and ambient 10 on average, both as in the"
    )
    print("sun; at the first of some times at which the better way has 95 % right, or the last of them\n")
    print("| scene | dead time (ns) | neighbours | µs | free-running | gated (suffix) | auto chooses | |")
    print("|---|--:|---|--:|--:|--:|---|---|")
    missed = 0
    for name, step in EQUAL_SCENES.items():
        scene = thinned(find_scene(name), step).sunlit()
        far = float(np.nanmax(np.where(scene.present, scene.depth, np.nan)))
        for dead_time in DEAD_TIMES:
            sensor = Sensor(
                bins=BINS, fwhm=FWHM, ambient=10.0, reach=float(np.ceil(2.2 * far) / 2), dead_time=1e-9 * dead_time
            )
            for borrow in (True, False):
                for microseconds in TIMES:
                    task = Task(sensor, SIGNAL, 10**6, present=True, borrow=borrow, seconds=1e-6 * microseconds)
                    right = {
                        way: looked_at(capture(scene, task, way, seed=12, workers=WORKERS, engine=ENGINE))[0]
                        for way in WAYS
                    }
                    if max(right.values()) >= RIGHT:
                        break
                chosen = faster(task)
                good = right[chosen] >= max(right.values()) - AS_GOOD
                missed += not good
                shares = " | ".join(f"{right[way]:.1%}" for way in WAYS)
                print(
                    f"| {name} | {dead_time} | {'yes' if borrow else 'no'} | {microseconds:g} | {shares} | {chosen} | "
                    f"{'as good' if good else 'WORSE'} |",
                    flush=True,
                )
    print(
        f"\n{missed} choices are worse by more than {AS_GOOD:.0%}"
        if missed
        else "\nall choices are as good as the best"
    )


WAYS = ("free-running", "pulse")


def made_up(pixels: int, ambient: float, seed: int = 4) -> Scene:
    """Pixels at random depths in a row: nothing is to be learnt from those around. Backgrounds are SPAN apart."""
    generator = np.random.default_rng(seed)
    depth = generator.uniform(0.9, 5.91, (1, pixels))  # nearer ones could not be dark enough to send back no more
    return Scene("made up", depth, (depth / depth.max()) ** 2, SPAN ** generator.uniform(0, 1, depth.shape))


@dataclass(frozen=True)
class Setting:
    """A sensor and a scene to be sure in."""

    name: str
    scene: Scene
    sensor: Sensor
    signal: float = SIGNAL
    acquisition: str = "pulse"
    borrow: bool = False
    cycles: int = 6000


DELTA = 0.05


def settings(pixels: int) -> list[Setting]:
    """Backgrounds nine apart and told none of them; other pulses, gates, modes, and scenes with edges."""

    def sensor(ambient: float = 10.0, gates: Gates | None = None, **more: object) -> Sensor:
        gates = Suffixes() if gates is None else gates
        return Sensor(bins=BINS, fwhm=FWHM, ambient=ambient, reach=6.0, gates=gates, **more)  # type: ignore[arg-type]

    plain = made_up(pixels, 10.0)
    side = round(pixels**0.5)
    room = spanning(even_signal(thinned(find_scene("leaves"), max(1, 96 // side))), SPAN)
    far = replace(room, depth=np.minimum(room.depth, 5.9))
    near = np.where(np.arange(pixels) % 2 == 0, 0.0, 5.85) + np.random.default_rng(9).uniform(0.001, 0.149, (1, pixels))
    ends = replace(plain, depth=near, reflectivity=np.full(near.shape, 0.5))
    sky = replace(far, depth=np.where(np.indices(far.depth.shape)[0] < len(far.depth) // 4, np.nan, far.depth))
    nothing = replace(plain, depth=np.full(plain.depth.shape, np.nan))
    bright = replace(plain, reflectivity=np.where(np.arange(pixels) % 20 == 0, plain.reflectivity, 0.02))
    return [
        Setting("ambient 10", plain, sensor()),
        Setting("ambient 20", plain, sensor(20.0), cycles=12_000),
        Setting("ambient 1", plain, sensor(1.0)),
        Setting("any subset", plain, sensor(gates=AnySubset())),
        Setting("suffix at 20 positions", plain, sensor(gates=Suffixes(20))),
        Setting("windows of 2 ns", plain, sensor(gates=Windows(2e-9, 2e-9))),
        Setting("gate that rises for 1 ns", plain, sensor(rise=1e-9)),
        Setting("measured pulse with a tail", plain, sensor(response=with_a_tail())),
        Setting("free-running, 10 ns", plain, sensor(dead_time=10e-9), acquisition="free-running"),
        Setting("depths at both ends", ends, sensor()),
        Setting("jitter of 100 ps", plain, sensor(jitter=100e-12)),
        Setting("neighbours across edges", far, sensor(), borrow=True),
        Setting("neighbours, windows, sky", sky, sensor(gates=Windows(2e-9, 2e-9)), borrow=True),
        Setting("neighbours that know nothing", shuffled(far), sensor(), borrow=True),
        Setting("no return", nothing, sensor(), cycles=1500),
        Setting("returns brighter than expected", bright, sensor()),
    ]


def with_a_tail() -> MeasuredPulse:
    """A fast rise and a slow fall, as detectors have."""
    time = np.arange(0, 12, 0.1)
    return MeasuredPulse.from_samples(time**2 * np.exp(-1.5 * time) + 0.02 * np.exp(-0.5 * time) * (time > 0), 0.1)


def shuffled(scene: Scene) -> Scene:
    """The same pixels in any order: all that is around them is wrong."""
    order = np.random.default_rng(5).permutation(scene.depth.size)

    def mixed(image: FloatArray) -> FloatArray:
        return image.reshape(-1)[order].reshape(image.shape)

    assert scene.light is not None
    return replace(scene, depth=mixed(scene.depth), reflectivity=mixed(scene.reflectivity), light=mixed(scene.light))


def validity(pixels: int = 2000) -> None:
    """How often a depth is sure and wrong, in every setting, with the upper 99 % limit."""
    print(f"sure and wrong at delta {DELTA}, {pixels:,} pixels each, backgrounds unknown and {SPAN:g} apart\n")
    print("| setting | sure | wrong | limit | cycles | µs | |\n|---|--:|--:|--:|--:|--:|---|")
    for setting in settings(pixels):
        task = Task(setting.sensor, setting.signal, setting.cycles, DELTA, borrow=setting.borrow)
        report(setting.name, capture(setting.scene, task, setting.acquisition, seed=6, workers=WORKERS, engine=ENGINE))
    for words, ambient, signal in (("a tenth of", 1.0, 0.05), ("ten times", 100.0, 5.0)):
        returns = Returns.at_random(pixels, 10.0, np.random.default_rng(7))
        told = Task(replace(returns.sensor, ambient=ambient), signal, 6000, DELTA, borrow=False)
        acquired, depth = returns.acquired(told)
        wrong = int((acquired.proved & (np.abs(depth - returns.depth) > 1)).sum())
        print_row(f"expecting {words} background and signal", acquired.proved, wrong, acquired.cycles, acquired.seconds)
    from_histograms(pixels)


def from_histograms(pixels: int) -> None:
    """Depths of photons that were counted already, with neighbours: 400 synchronous cycles, ambient 2."""
    side = round(pixels**0.5)
    scene = spanning(even_signal(thinned(find_scene("room"), max(1, 96 // side))), SPAN)
    sensor = Sensor(bins=BINS, fwhm=FWHM, ambient=2.0, reach=6.0)
    depth = scene.depth.reshape(-1) / sensor.bin_depth
    background = scene.ambients(sensor.ambient).reshape(-1) / BINS
    exposure = Exposure(sensor, sensor.rates(depth, np.full(depth.size, SIGNAL), background), np.random.default_rng(3))
    counts = exposure.expose(np.ones((depth.size, BINS), dtype=np.bool_), 400)
    photons = Photons.from_histogram(
        counts.successes.reshape(*scene.depth.shape, BINS), cycles=400, bin_seconds=sensor.bin_seconds
    )
    found = find_depths(photons, fwhm=FWHM, signal=SIGNAL, delta=DELTA)
    wrong = int((found.confident & (np.abs(found.depth - scene.depth) > sensor.bin_depth)).sum())
    print_row("histograms of a file, neighbours", found.confident, wrong, np.full(depth.size, 400.0), exposure.seconds)
    missed = (scene.depth < found.interval[..., 0]) | (scene.depth > found.interval[..., 1])
    _, limit = share_interval(int(missed.sum()), missed.size, confidence=0.98)
    print(f"\nof those histograms, intervals that miss the depth: {missed.sum()} of {missed.size:,}, limit {limit:.4f}")


@dataclass(frozen=True)
class Returns:
    """Pixels at random depths whose light is not what is expected of them."""

    sensor: Sensor
    depth: FloatArray
    rates: FloatArray

    @classmethod
    def at_random(cls, pixels: int, ambient: float, generator: np.random.Generator) -> Returns:
        sensor = Sensor(bins=BINS, fwhm=FWHM, ambient=ambient, reach=6.0)
        depth = generator.uniform(5, BINS - 55, pixels)
        backgrounds = ambient * np.log(SPAN) / (SPAN - 1) * SPAN ** generator.uniform(0, 1, pixels) / BINS
        return cls(sensor, depth, sensor.rates(depth, np.full(pixels, SIGNAL), backgrounds))

    def with_another(self, apart: float, signal: float) -> Returns:
        return replace(self, rates=self.rates + signal * self.sensor.pulse.shares(self.depth + apart, BINS))

    def acquired(self, task: Task) -> tuple[Acquired, FloatArray]:
        """By ``pulse``, with the depths found in bins."""
        found = acquire(find_acquisition("pulse", task), task, self.rates, 0, np.random.SeedSequence(8), None)
        model = model_of(task.sensor, task.signal)
        parts = [
            model.estimate(found.samples[some], found.successes[some], found.level[some])
            for some in few_at_a_time(self.depth.size, model.cells_per_bin * BINS)
        ]
        return found, np.concatenate(parts)


def report(name: str, frame: Frame) -> None:
    within = frame.task.tolerance * frame.task.sensor.bin_depth
    wrong = int((frame.confident & ~(np.abs(frame.error) <= within)).sum())
    print_row(name, frame.confident, wrong, frame.cycles, frame.seconds)


def print_row(name: str, sure: BoolArray, wrong: int, cycles: FloatArray, seconds: FloatArray) -> None:
    _, limit = share_interval(wrong, sure.size, confidence=0.98)
    print(
        f"| {name} | {sure.mean():.1%} | {wrong} | {limit:.4f} | {cycles.mean():,.0f} | {1e6 * seconds.mean():,.1f} | "
        f"{'holds' if limit <= DELTA else 'VIOLATED'} |",
        flush=True,
    )


def two_returns(pixels: int = 2000) -> None:
    """Glass before the target: which depth is called sure? That is outside of the model, which knows one return."""
    print("two returns, the first of 0.5 photons a cycle, ambient 10 on average, delta 0.05: how many depths are sure,")
    print("and how many of those are within a bin of neither, with the upper 99 % limit\n")
    print("| second return | bins apart | sure | of neither | limit | |\n|--:|--:|--:|--:|--:|---|")
    for signal in (0.5, 0.25):
        for apart in (1.0, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 4.0, 6.0, 50.0):
            returns = Returns.at_random(pixels, 10.0, np.random.default_rng(8))
            task = Task(returns.sensor, SIGNAL, 4000, DELTA, borrow=False)
            acquired, depth = returns.with_another(apart, signal).acquired(task)
            off = depth - returns.depth
            neither = int((acquired.proved & (np.abs(off) > 1) & (np.abs(off - apart) > 1)).sum())
            _, limit = share_interval(neither, pixels, confidence=0.98)
            print(
                f"| {signal:g} | {apart:g} | {acquired.proved.mean():.1%} | {neither} | {limit:.4f} | "
                f"{'holds' if limit <= DELTA else 'VIOLATED'} |",
                flush=True,
            )
