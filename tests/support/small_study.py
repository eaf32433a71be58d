"""A study of a second or two, with something of everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from linkedbandits.study import Results, Study, read_study
from linkedbandits.study.chunks import Chunk, Finished, run_chunk

TEXT = """
name = "small"
seed = 5
trials = {trials}
deltas = [0.2, 0.05]
linkages = ["ordered"]

[[instances]]
scenario = "one-sparse"
arms = 2

[[instances]]
name = "a hundred"
means = HUNDRED

[[instances]]
name = "mirrors"
means = [0.3, 0.8, 0.5]

[[instances]]
name = "together"
means = [0.1, 0.9]
correlation = 0.5

[[policies]]
policy = "linked-elimination"

[[policies]]
policy = "uniform-sampling"
label = "fifty each"
parameters = {{ samples = 50 }}
linkages = ["ordered", "single"]
""".replace("HUNDRED", str([0.9] + [0.1] * 99))


def small_study(trials: int = 300, text: str = TEXT) -> Study:
    """Sixteen cells; with 100 arms a block has 256 lanes, so these trials fall in two blocks."""
    return read_study(text.format(trials=trials), name="small")


def in_this_process(chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Finished]]:
    """The simplest engine there can be."""
    for chunk in chunks:
        yield chunk, run_chunk(chunk)


def same_trials(one: Results, other: Results) -> bool:
    """Have both the same cells, and in each the same trials and traces?"""
    return one.cells.keys() == other.cells.keys() and all(
        one.trials(key).equals(other.trials(key)) and one.trace(key).equals(other.trace(key)) for key in one.cells
    )
