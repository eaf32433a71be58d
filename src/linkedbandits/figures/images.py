"""Images of pixels: panels with a colour bar each, and small pictures for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import floor, log10
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

import numpy as np

from linkedbandits.display import picture
from linkedbandits.errors import MissingExtra, UnknownName
from linkedbandits.figures.style import ENDINGS, new_panels

TAILS = (2.0, 98.0)
"""Colours go from one of these percentiles to the other: a few stray pixels must not take all of them."""
NO_NUMBER = "0.85"
"""The grey of pixels that have none."""
MOST_PIXELS = 256
"""On a side of a small picture."""
SHOWN_WIDTH = 320
"""Of a small picture on the page."""
_PANEL = 4.0
_LEAST_PANEL = 2.8
"""Inches that a title needs, however narrow the image is."""
_LETTERS, _LINE = 14.0, 0.17
"""Small letters to an inch, and inches of a line of them."""
_MOST_STRETCH = 5.0
"""An image that is longer than this fills its panel: a row of pixels would be a line."""


@dataclass(frozen=True)
class Image:
    """An image with its title; ``around_zero`` says that colours have their middle at 0."""

    title: str
    values: np.ndarray[Any, Any]
    colours: str
    around_zero: bool = False


def draw_image(axes: Any, image: Image) -> None:
    """One image with its colour bar; pixels without a number are grey."""
    axes.set(xticks=[], yticks=[])
    axes.set_title(image.title, fontsize="medium")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_facecolor(NO_NUMBER)
    low, high = limits(image)
    drawn = axes.imshow(
        image.values,
        cmap=image.colours,
        interpolation="nearest",
        vmin=low,
        vmax=high,
        aspect=image_aspect(image.values.shape),
    )
    colour_bar([axes], drawn, [image.values])


def colour_bar(row: Sequence[Any], drawn: Any, values: Sequence[np.ndarray[Any, Any]], label: str = "") -> None:
    """A colour bar beside a row of images and as high as they are, with an arrow where a value is beyond its end.

    An image that is higher than wide is as high as its panel, and so is the bar that the layout makes.
    """
    rows, columns = drawn.get_array().shape[:2]
    where: dict[str, Any] = {"ax": list(row), "pad": 0.01}
    if rows <= columns:
        where = {"cax": row[-1].inset_axes((1.02, 0.0, 0.045, 1.0))}
        where["cax"].grid(visible=False)
    low, high = drawn.get_clim()
    known = np.concatenate([image[np.isfinite(image)] for image in values])
    below, above = bool((known < low).any()), bool((known > high).any())
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[below, above]
    row[-1].figure.colorbar(drawn, **where, label=label, extend=extend)


def rounded_up(amount: float) -> float:
    """The least of 1, 2 and 5 times powers of ten that is no less: where a scale ends.

    >>> rounded_up(0.13), rounded_up(3.0), rounded_up(5.0), rounded_up(70.0)
    (0.2, 5.0, 5.0, 100.0)
    """
    power = floor(log10(amount))
    candidates = (float(f"{digit}e{at}") for at in (power, power + 1) for digit in (1, 2, 5))
    return next(one for one in candidates if one >= amount * (1 - 1e-9))


def image_aspect(shape: tuple[int, ...]) -> Literal["equal", "auto"]:
    """Pixels are squares, but in an image that is very long: there they are stretched until they can be seen.

    >>> image_aspect((100, 20)), image_aspect((1, 30))
    ('equal', 'auto')
    """
    rows, columns = shape
    return "equal" if max(rows, columns) <= _MOST_STRETCH * min(rows, columns) else "auto"


def plot_images(images: Mapping[str, Image], what: str | None, ax: Any, columns: int, notes: Sequence[str] = ()) -> Any:
    """All images in a figure, or the one that is wanted, above the notes; with ``ax`` one of them there."""
    if what is not None and what not in images:
        saved = Path(str(what)).suffix.lower() in ENDINGS
        how = f"; to save the picture write plot().savefig({str(what)!r})" if saved else ""
        raise UnknownName(f"there is no image {what!r}; choose one of {', '.join(images)}{how}")
    if ax is not None:
        draw_image(ax, images[what or next(iter(images))])
        return ax
    shown = list(images.values()) if what is None else [images[what]]
    return images_figure(shown, columns if what is None else 1, notes)


def images_figure(images: Sequence[Image], columns: int, notes: Sequence[str] = ()) -> Any:
    """A figure with a panel for each image, and the notes below them."""
    rows = -(-len(images) // columns)
    high, wide = images[0].values.shape
    tall = _PANEL * float(np.clip(high / wide, 0.4, 1.6))
    across = float(np.clip(tall * wide / high, _LEAST_PANEL, _PANEL))
    width = (across + 0.6) * columns
    below = [] if all(np.isfinite(image.values).all() for image in images) else ["grey: no depth"]
    below += [line for note in notes for line in wrap(note, int(_LETTERS * width))]
    with new_panels(rows, columns, width, (tall + 0.35) * rows + _LINE * len(below)) as (figure, panels):
        for axes, image in zip(panels, images, strict=True):
            draw_image(axes, image)
        if below:
            figure.supxlabel("\n".join(below), fontsize="small")
    return figure


def limits(image: Image) -> tuple[float, float]:
    """Where colours begin and end."""
    values = image.values[np.isfinite(image.values)]
    if not values.size:
        return (-1.0, 1.0) if image.around_zero else (0.0, 1.0)
    if image.around_zero:
        most = max(float(np.percentile(np.abs(values), TAILS[1])), 1e-9)
        return -most, most
    low, high = (float(value) for value in np.percentile(values, TAILS))
    least = max(1e-3 * abs(low), 1e-9)  # or rounding would have all the colours
    return low, max(high, low + least)


def small_png(image: Image) -> bytes | None:
    """The image alone, transparent where there is no number; None without matplotlib."""
    try:
        with new_panels(1, 1, 1, 1):
            from matplotlib.image import imsave
    except MissingExtra:
        return None
    step = -(-max(image.values.shape) // MOST_PIXELS)
    low, high = limits(image)
    written = BytesIO()
    imsave(written, image.values[::step, ::step], vmin=low, vmax=high, cmap=image.colours, format="png")
    return written.getvalue()


def depth_picture(image: Image) -> str:
    """The image for a notebook's table, or nothing without matplotlib or pixels."""
    png = small_png(image) if image.values.size else None
    return "" if png is None else picture(png, image.title, SHOWN_WIDTH)
