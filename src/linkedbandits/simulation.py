"""Exact simulation without playing: many independent lanes of a policy, side by side.

All a policy sees of a batch of plays are its counts, and the counts of a batch can be drawn directly: binomially
for needs, multinomially for a repeated tuple. So a run of ten billion plays costs what a run of ten does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_max_plays, check_whole
from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Linkage, fulfil
from linkedbandits.loop import play_on
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Request, check_means
from linkedbandits.policy import AnyPolicy, LaneState, best_guess, check_linkage, linkage_of
from linkedbandits.runs import Runs
from linkedbandits.streams import LaneStreams, Seed, block_lanes
from linkedbandits.world import CoinFlips, LawOfRequests, World, check_lanes, check_world

WORKING_MEMORY = 16 * 2**20
"""Default bytes for the arrays of the lanes that run side by side: with fewer lanes the calls themselves take the time,
with many more the arrays are in no cache."""

_ARRAYS_PER_CELL = 32
"""How many 8-byte numbers a lane holds for each arm at the busiest moment, with room to spare."""

Progress = Callable[[int], None]

Watch = Callable[[IntArray, IntArray, IntArray], None]
"""Told after every step of a run: the lanes that took it, their plays so far, and how many arms each has still in."""


@dataclass(frozen=True)
class Outcomes:
    """How some lanes ended: a row each, with the answer's k arms (best first), plays, and counts of every arm."""

    top: IntArray
    plays: IntArray
    samples: IntArray
    successes: IntArray
    confident: BoolArray

    @classmethod
    def blank(cls, lanes: int, arms: int, k: int) -> Outcomes:
        """Rows to be filled in."""
        return cls(
            top=np.zeros((lanes, k), dtype=np.int64),
            plays=np.zeros(lanes, dtype=np.int64),
            samples=np.zeros((lanes, arms), dtype=np.int64),
            successes=np.zeros((lanes, arms), dtype=np.int64),
            confident=np.zeros(lanes, dtype=np.bool_),
        )


def simulate(
    means: npt.ArrayLike,
    policy: AnyPolicy,
    *,
    linkage: str | Linkage | None = None,
    world: World | LawOfRequests | None = None,
    trials: int = 1000,
    seed: Seed = 0,
    max_plays: int | None = None,
    parallel: int | None = None,
    memory_limit: int = WORKING_MEMORY,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Runs:
    """Run ``policy`` on arms with these means, ``trials`` times.

    Without a ``linkage`` it is ``ordered``, or ``free`` for a policy that asks for tuples in any order.

    A run that has not stopped after ``max_plays`` plays ends there with status ``"exhausted"`` and names the arm with
    the highest empirical mean among those still in, or the one that its policy answers with at any time. Without
    ``max_plays`` that happens at 2**62 plays.

    ``world`` answers in place of coins with these means, which are then what answers are judged by. It is a law of
    requests, such as an :class:`linkedbandits.OutcomeTable` or a :class:`linkedbandits.SharedDifficulty`; or anything
    that keeps to :class:`linkedbandits.world.World` and has a lane for every trial. A law can be used again. A world
    serves one simulation, in which all lanes run side by side, whatever the memory.

    ``parallel`` simulates a live experiment with that many plays out at once: its policy asks for more at a time.

    The same seed gives the same runs whatever ``memory_limit`` is: it bounds (in bytes, roughly, beside the
    result itself) how many lanes run side by side, and randomness belongs to fixed blocks of lanes. ``progress``
    is called with the number of trials that have just finished, ``watch`` after every step with the numbers of those
    that go on, their plays, and how many arms each of them has still in.

    >>> import linkedbandits as lb
    >>> runs = lb.simulate(lb.scenarios.one_sparse(10), lb.UniformSampling(delta=0.1), trials=100, seed=7)
    >>> runs.error_rate()
    0.0
    """
    vector = check_means(means)
    check_whole("trials", trials)
    outcomes = simulate_lanes(
        np.broadcast_to(vector, (trials, vector.size)),
        policy,
        linkage=linkage,
        world=world,
        seed=seed,
        max_plays=max_plays,
        parallel=parallel,
        memory_limit=memory_limit,
        progress=progress,
        watch=watch,
    )
    return runs_of(vector, policy, outcomes)


def runs_of(means: FloatArray, policy: AnyPolicy, outcomes: Outcomes) -> Runs:
    """Outcomes of lanes that all had these means, as the trials of one simulation."""
    goal = policy.goal
    return Runs(
        means,
        outcomes.top,
        outcomes.plays,
        outcomes.samples,
        outcomes.confident,
        goal.tolerance,
        goal.neighbours,
        goal.costs,
        goal.delta,
        policy.error_bound,
        policy.name,
    )


def simulate_lanes(
    means: FloatArray,
    policy: AnyPolicy,
    *,
    linkage: str | Linkage | None = None,
    world: World | LawOfRequests | None = None,
    first: int = 0,
    seed: Seed = 0,
    max_plays: int | None = None,
    parallel: int | None = None,
    memory_limit: int = WORKING_MEMORY,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Outcomes:
    """Run ``policy`` once in every lane; lane l has the arms' means ``means[l]``.

    ``first`` is the number of the first of these lanes in a larger run, and has to begin one of its blocks (see
    ``linkedbandits.streams``): then each lane ends exactly as it does in the whole run. The other parameters are
    those of :func:`simulate`.
    """
    lanes, arms = means.shape
    if first % block_lanes(arms):
        raise InvalidParameter(
            f"first={first} is inside a block; with {arms} arms lanes can begin at multiples of {block_lanes(arms)}"
        )
    if parallel is not None:
        check_whole("parallel", parallel)
    if not isinstance(seed, np.random.SeedSequence):
        check_whole("seed", seed, least=0)
    limit = check_max_plays(max_plays)
    if memory_limit <= 0:
        raise InvalidParameter(f"memory_limit={memory_limit!r} is not a number of bytes; try {WORKING_MEMORY}")
    link = linkage_of([policy], linkage)
    check_linkage(policy, link)
    policy = policy.fitted_to(link, parallel)
    try:
        outcomes = Outcomes.blank(lanes, arms, policy.goal.k)
    except MemoryError:
        gigabytes = 2 * lanes * arms * 8 / 1e9
        raise InvalidParameter(
            f"trials={lanes} need {gigabytes:.3g} GB for their results; run fewer at a time, with a seed for each"
        ) from None
    block = block_lanes(arms)
    side_by_side = max(1, memory_limit // (8 * _ARRAYS_PER_CELL * arms * block)) * block
    if world is not None and not isinstance(world, LawOfRequests):
        check_world(world)
        check_lanes(world, lanes, arms)
        side_by_side = lanes
    _have_memory_kept()
    for start in range(0, lanes, side_by_side):
        rows = range(start, min(start + side_by_side, lanes))
        streams = LaneStreams(seed, arms, range(first + rows.start, first + rows.stop))
        if world is None:
            answering: World = CoinFlips(means[rows.start : rows.stop], streams)
        else:
            answering = world.answering(streams) if isinstance(world, LawOfRequests) else world
        state = policy.start(len(rows), arms, streams.policy_seeds())
        _run_lanes(rows, state, answering, policy, link, limit, outcomes, progress, watch)
    return outcomes


def _have_memory_kept() -> None:
    """Have the C library keep memory that is freed for the next array, instead of giving it back to the system.

    glibc takes the largest piece that was ever given back for what a program works with, and then keeps twice as much.
    Otherwise every step would get its arrays page by page from the system: a tenth of the time of a simulation. The
    piece is never written to, so it costs nothing.
    """
    np.empty(WORKING_MEMORY, dtype=np.uint8)


class _Tally:
    """What the running lanes have used and seen so far, whether or not their policy reads it."""

    def __init__(self, lanes: range, arms: int) -> None:
        self.lane = np.arange(lanes.start, lanes.stop)
        self.plays = np.zeros(len(lanes), dtype=np.int64)
        self.samples = np.zeros((len(lanes), arms), dtype=np.int64)
        self.successes = np.zeros((len(lanes), arms), dtype=np.int64)

    def keep(self, lanes: IntArray) -> None:
        self.lane = self.lane.take(lanes)
        self.plays = self.plays.take(lanes)
        self.samples = self.samples.take(lanes, axis=0)
        self.successes = self.successes.take(lanes, axis=0)


def _run_lanes(
    lanes: range,
    state: LaneState,
    world: World,
    policy: AnyPolicy,
    linkage: Linkage,
    max_plays: int,
    outcomes: Outcomes,
    progress: Progress | None,
    watch: Watch | None,
) -> None:
    """Run all lanes to their ends; lanes that are done are written down and thinned out."""
    arms = outcomes.samples.shape[1]
    tally = _Tally(lanes, arms)

    def write_down(finished: BoolArray, top: IntArray, confident: bool) -> None:
        # Positions are found once for all arrays, and rows at positions are taken many times faster than by a mask.
        done, going_on = np.flatnonzero(finished), np.flatnonzero(~finished)
        rows = tally.lane[done]
        outcomes.top[rows] = top[done]
        outcomes.plays[rows] = tally.plays[done]
        outcomes.samples[rows] = tally.samples[done]
        outcomes.successes[rows] = tally.successes[done]
        outcomes.confident[rows] = confident
        if progress is not None:
            progress(rows.size)
        for part in (state, world, tally):
            part.keep(going_on)

    def leading() -> IntArray:
        return best_guess(policy, state, tally.samples, tally.successes)

    def answer(request: Request) -> Counts | None:
        step = fulfil(request, max_plays - tally.plays, arms, linkage, world)
        counts = step.counts
        tally.plays += step.plays
        tally.samples += counts.samples
        tally.successes += counts.successes
        if step.spare is not None:  # part of what was seen, and never shown to the policy
            tally.samples += step.spare.samples
            tally.successes += step.spare.successes
        if not step.met.all():
            write_down(~step.met, leading(), confident=False)
            counts = counts.take(step.met)
        return counts if tally.lane.size else None

    def goes_on() -> bool:
        if watch is not None:
            watch(tally.lane, tally.plays, np.count_nonzero(state.still_in, axis=1))
        if state.stopped.any():
            write_down(state.stopped, policy.answer(state), policy.status_at_stop == "confident")
        out_of_plays = tally.plays >= max_plays
        if out_of_plays.any():
            write_down(out_of_plays, leading(), confident=False)
        return tally.lane.size > 0

    play_on(policy, state, answer, goes_on)
