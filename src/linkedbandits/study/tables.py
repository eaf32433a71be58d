"""The rows of a finished chunk as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkedbandits.study.chunks import Chunk, Finished

if TYPE_CHECKING:
    import polars as pl


def table_of(chunk: Chunk, finished: Finished) -> pl.DataFrame:
    """One row per trial, in order; the same whatever chunks the trials came in."""
    import polars as pl

    first = chunk.lanes.start
    whole_list = pl.List(pl.Int64)
    traces = [finished.traces.get(lane) for lane in range(len(chunk.lanes))]
    return pl.DataFrame(
        {
            "trial": pl.Series(range(first, chunk.lanes.stop), dtype=pl.Int64),
            "plays": finished.plays,
            "arm": finished.top[:, 0].copy(),
            "top": pl.Series(finished.top).arr.to_list(),
            "confident": finished.confident,
            "correct": finished.correct,
            "samples": pl.Series(finished.samples).arr.to_list(),
            "trace_plays": pl.Series([trace and trace[0] for trace in traces], dtype=whole_list),
            "trace_arms": pl.Series([trace and trace[1] for trace in traces], dtype=whole_list),
        }
    )
