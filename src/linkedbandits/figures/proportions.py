"""Where samples should go, and where policies put them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linkedbandits.figures.style import COLOURS, MARKERS, new_figure, save
from linkedbandits.model import FloatArray
from linkedbandits.theory import CharacteristicTime


def draw_proportions(path: Path, means: FloatArray, time: CharacteristicTime, measured: dict[str, FloatArray]) -> None:
    """Draw samples a play over the arms: the optimal ones as bars, each policy's measured ones as marks."""
    with new_figure(max(6.0, min(0.35 * means.size + 3, 14.0)), 4.2) as (figure, axes):
        arms = np.arange(means.size)
        axes.bar(arms, time.proportions, color="0.82", label="optimal proportions", zorder=1)
        many = means.size > 60
        for number, (name, samples) in enumerate(measured.items()):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            # Beside each other, so that policies that sample alike can all be seen.
            beside = arms + (number - (len(measured) - 1) / 2) * min(0.8 / len(measured), 0.18)
            axes.plot(beside, samples, marker, color=colour, markersize=2.5 if many else 5, label=name, zorder=2)
        axes.set_xlabel("arm, in the order tried" if time.linkage == "ordered" else "arm")
        axes.set_ylabel("samples a play")
        axes.set_ylim(bottom=0)
        axes.margins(x=0.02)
        if not many:
            axes.set_xticks(arms)
        axes.set_title(f"Where samples go, linkage {time.linkage}", loc="left")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        save(figure, path)
