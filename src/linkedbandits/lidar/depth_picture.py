"""The picture of a depth map: depth, how wide its interval is, signal and background."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkedbandits.figures.style import new_panels, save
from linkedbandits.lidar.depth_maps import DepthMap
from linkedbandits.model import FloatArray

_TAILS = (2.0, 98.0)
"""Colours go from one of these percentiles to the other: a few stray pixels must not take all of them."""


def draw_depth(path: Path, depth_map: DepthMap) -> None:
    """Write the picture; pixels without a depth are grey."""
    high, wide = depth_map.depth.shape
    width = np.where(depth_map.found, np.diff(depth_map.interval, axis=2)[..., 0], np.nan)
    images = (
        ("depth (m)", depth_map.depth, "viridis"),
        ("width of the interval (m)", width, "magma"),
        ("signal (photons a cycle)", np.where(depth_map.found, depth_map.signal, np.nan), "cividis"),
        ("background (photons a bin and cycle)", depth_map.background, "cividis"),
    )
    with new_panels(2, 2, 9.0, 9.0 * float(np.clip(high / wide, 0.4, 1.6)) + 0.6) as (figure, panels):
        for axes, (title, image, colours) in zip(panels, images, strict=True):
            axes.set(xticks=[], yticks=[], title=title)
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
            axes.set_facecolor("0.85")
            shown = axes.imshow(image, cmap=colours, interpolation="nearest", **_range(image))
            figure.colorbar(shown, ax=axes, pad=0.01)
        save(figure, path)


def _range(image: FloatArray) -> dict[str, Any]:
    values = image[np.isfinite(image)]
    if not values.size:
        return {"vmin": 0.0, "vmax": 1.0}
    low, high = np.percentile(values, _TAILS)
    least = max(1e-3 * abs(low), 1e-9)  # or rounding would have all the colours
    return {"vmin": low, "vmax": max(high, low + least)}
