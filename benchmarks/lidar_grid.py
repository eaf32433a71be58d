"""Cycles to 95 % over the whole grid of sensors: measured piece by piece, kept in a file, shown as a page.

A piece is one acquisition in one cell, with every estimator: one line of the file. What is in the file is not measured
again, so a run goes on where the last one ended; to have something measured anew, take its lines out.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict

import numpy as np

from benchmarks.lidar_cycles import cycles_to_level
from linkedbandits.workers import run_pieces
from tools import lidar_grid_page
from tools.lidar_grid import FILE, GRID, METHODS, Cell, read, whole


def main(workers: int = 2) -> None:
    """Measure what is missing, 500 pixels a cell: hours, if nothing was measured before. Then write the page."""
    done = read()
    todo = [(cell, name) for cell in GRID for name in METHODS if name not in done.get(cell, {})]
    # The cheap ones first: then the table has something of everything long before it is complete.
    todo.sort(key=lambda piece: piece[0].bins * piece[0].ambient / piece[0].signal)
    remedy = "what is measured is in the file; the same command goes on from there"
    pieces = run_pieces(measure, todo, workers=workers, name_of=lambda piece: f"{piece[1]}, {piece[0]}", remedy=remedy)
    with closing(pieces), FILE.open("a") as file:
        for count, ((cell, name), measured) in enumerate(pieces, start=1):
            cycles = {key: value if np.isfinite(value) else None for key, value in measured.items()}
            file.write(json.dumps({"cell": asdict(cell), "acquisition": name, "cycles": cycles}) + "\n")
            file.flush()
            print(f"{count} of {len(todo)}: {name}, {cell}", flush=True)
    lidar_grid_page.write(whole(read()))


def measure(piece: tuple[Cell, str]) -> dict[str, float]:
    """A piece, in a process of its own."""
    return cycles_to_level(*piece)
