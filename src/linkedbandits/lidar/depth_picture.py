"""The picture of a depth map: depth, how wide its interval is, signal and background."""

from __future__ import annotations

from pathlib import Path

from linkedbandits.figures.style import save
from linkedbandits.lidar.depth_maps import DepthMap


def draw_depth(path: Path, depth_map: DepthMap) -> None:
    """Write the picture; pixels without a depth are grey."""
    save(depth_map.plot(), path, trimmed=True)
