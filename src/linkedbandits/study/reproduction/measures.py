"""What a table of plays does not have: where the samples of each cell went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkedbandits.bounds import characteristic_time
from linkedbandits.bounds.divergence import pooled_kl
from linkedbandits.model import FloatArray

if TYPE_CHECKING:
    import polars as pl

    from linkedbandits.study import Results

__all__ = ["measured_table"]


def measured_table(results: Results) -> pl.DataFrame:
    """The table of the results, with four figures about the mean samples of the arms.

    ``samples_spread``: those of the most sampled arm over those of the least sampled one.
    ``near_over_far``: those of the best arm's closest rival over those of its farthest one.
    ``gap_law_spread``: largest over smallest of samples times gap squared, over the rivals.
    ``allocation_price``: the plays that samples shared out like this need for the same evidence as the best sharing.

    These are null where an arm was never sampled.
    """
    import polars as pl  # takes a third of a second to import; who has results has it already

    table = results.table()
    rows = [_measures(results, results.cells[key]) for key in table["cell"]]
    return table.hstack(pl.DataFrame(rows, schema=dict.fromkeys(rows[0], pl.Float64)))


def _measures(results: Results, cell: dict[str, Any]) -> dict[str, float | None]:
    trials = results.trials(cell["key"])
    samples = np.array(trials["samples"].to_list(), dtype=np.float64).mean(axis=0)
    plays = float(trials["plays"].to_numpy().mean(dtype=np.float64))
    means = np.array(cell["means"])
    best = int(means.argmax())
    gaps, of_rivals = means[best] - np.delete(means, best), np.delete(samples, best)
    never = bool((samples == 0).any())
    by_law = of_rivals * gaps**2
    return {
        "samples_spread": None if never else float(samples.max() / samples.min()),
        "near_over_far": None if never else float(of_rivals[gaps.argmin()] / of_rivals[gaps.argmax()]),
        "gap_law_spread": None if never else float(by_law.max() / by_law.min()),
        "allocation_price": None if never else allocation_price(means, samples / plays),
    }


def allocation_price(means: FloatArray, samples_a_play: FloatArray) -> float:
    """Plays for a unit of evidence when arms are sampled at these rates, over the least that any rates need.

    >>> means = np.array([0.1, 0.05, 0.05])
    >>> round(allocation_price(means, characteristic_time(means).proportions), 6)
    1.0
    >>> round(allocation_price(means, np.full(3, 1 / 1.15)), 3)  # equal samples, as many as plays can bring
    1.053
    """
    best = int(means.argmax())
    rivals, of_rivals = np.delete(means, best), np.delete(samples_a_play, best)
    of_best = samples_a_play[best]
    best_part, rival_part = pooled_kl(means[best], rivals, of_rivals / of_best)
    evidence_a_play = float((of_best * best_part + of_rivals * rival_part).min())
    return 1 / evidence_a_play / characteristic_time(means).value
