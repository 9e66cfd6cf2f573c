"""Drawing in SVG: escaped tags, scales, axes, and the marks that a pointer finds."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from rhokit.report.words import number, shortened

WIDTH, HEIGHT = 360, 224
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 10, 10, 42
_TICK_ROOM = 6


def tag(name: str, content: str = "", **attributes: Any) -> str:
    """An element; attributes are escaped, ``content`` must be.

    ``class_`` stands for ``class``, and underscores for hyphens.

    Examples
    --------
    >>> tag("text", escape("a < b"), x=1, text_anchor='"')
    '<text x="1" text-anchor="&quot;">a &lt; b</text>'
    """
    pairs = (
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{''.join(pairs)}>{content}</{name}>"


def write(text: str, x: float, y: float, **attributes: Any) -> str:
    """A text, escaped."""
    return tag("text", escape(text), x=x, y=y, **attributes)


def polyline(points: Iterable[tuple[float, float]], closed: bool = False) -> str:
    """The path through points, as the ``d`` of a path."""
    steps = " ".join(f"{_plain(x)} {_plain(y)}" for x, y in points)
    return f"M{steps}{'Z' if closed else ''}"


@dataclass(frozen=True)
class Mark:
    """A place of a chart, in its own units, and the values that it stands for."""

    x: float
    y: float
    values: tuple[str, ...]


@dataclass(frozen=True)
class Frame:
    """The plane of a chart: ranges of two axes, over a rectangle of the page.

    Parameters
    ----------
    x, y : tuple of two floats
        Lowest and highest value.
    height : float
    left : float
        Room for the labels of the vertical axis.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    height: float = HEIGHT
    left: float = _LEFT

    @property
    def bottom(self) -> float:
        """Where the horizontal axis is."""
        return self.height - _BOTTOM

    @property
    def right(self) -> float:
        """Where the vertical axis's range ends."""
        return WIDTH - _RIGHT

    def across(self, value: float) -> float:
        """Place of a value along the horizontal axis."""
        low, high = self.x
        return self.left + (value - low) / (high - low) * (self.right - self.left)

    def up(self, value: float) -> float:
        """Place of a value along the vertical axis."""
        low, high = self.y
        return self.bottom - (value - low) / (high - low) * (self.bottom - _TOP)

    def path(
        self, x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray
    ) -> str:
        """The ``d`` of a path through values."""
        pairs = zip(x, y, strict=True)
        return polyline((self.across(a), self.up(b)) for a, b in pairs)

    def axes(
        self,
        x_label: str,
        y_label: str,
        y_words: dict[float, str] | None = None,
        x_words: dict[float, str] | None = None,
    ) -> str:
        """Both axes with ticks and names, which words may replace.

        Values along the axis are written as a table has them: they may be years.
        """
        across = x_words or ticks(*self.x, plain=True)
        up = y_words or ticks(*self.y, most=4)
        parts = [
            tag("path", d=f"M{self.left} {self.bottom}H{self.right}", class_="axis"),
            *(self._x_tick(value, word) for value, word in across.items()),
            *(self._y_tick(value, word) for value, word in up.items()),
            write(
                shortened(x_label, 48),
                (self.left + self.right) / 2,
                self.height - 6,
                class_="name",
                text_anchor="middle",
            ),
            write(shortened(y_label, 36), 0, 0, class_="name", **self._turned()),
        ]
        return "".join(parts)

    def _turned(self) -> dict[str, str]:
        middle = (self.bottom + _TOP) / 2
        return {"transform": f"translate(11 {middle:g}) rotate(-90)"} | {
            "text_anchor": "middle"
        }

    def _x_tick(self, value: float, word: str) -> str:
        place = self.across(value)
        line = tag("path", d=f"M{place:.1f} {self.bottom}v4", class_="axis")
        text = write(word, place, self.bottom + 16, class_="tick", text_anchor="middle")
        return line + text

    def _y_tick(self, value: float, word: str) -> str:
        place = self.up(value)
        line = tag("path", d=f"M{self.left} {place:.1f}H{self.right}", class_="rule")
        text = write(
            word, self.left - _TICK_ROOM, place + 4, class_="tick", text_anchor="end"
        )
        return line + text


def chart(
    body: str,
    *,
    label: str,
    names: Sequence[str],
    marks: Sequence[Mark],
    height: float = HEIGHT,
    nearest: str = "x",
) -> str:
    """A whole picture, with what a pointer or the arrow keys may find on it.

    Parameters
    ----------
    body : str
        Elements, escaped.
    label : str
        What it shows, for those who do not see it.
    names : sequence of str
        Of the values of every mark.
    marks : sequence of Mark
        In the order in which arrow keys step through them.
    nearest : {"x", "xy"}
        Whether the nearest mark is looked for along the axis or in the plane.
    """
    found = [[_round(m.x), _round(m.y), *m.values] for m in marks]
    return tag(
        "svg",
        body,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height:g}",
        class_="chart",
        role="img",
        tabindex="0",
        aria_label=label,
        data_nearest=nearest,
        data_names=json.dumps(list(names)),
        data_marks=json.dumps(found, separators=(",", ":")),
    )


def ticks(
    low: float, high: float, most: int = 5, *, plain: bool = False
) -> dict[float, str]:
    """Round numbers between two ends, and how they are written.

    ``plain`` ones have no marks between thousands.

    Examples
    --------
    >>> list(ticks(0.0, 1.0).values())
    ['0', '0.2', '0.4', '0.6', '0.8', '1']
    >>> list(ticks(-3.2, 7.9))
    [-2.5, 0.0, 2.5, 5.0, 7.5]
    """
    step = _step((high - low) / most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [k * step + 0.0 for k in range(first, last + 1)]
    digits = 4
    while (
        len({number(value, digits) for value in values}) < len(values) and digits < 12
    ):
        digits += 1
    words = {value: number(value, digits) for value in values}
    return {k: word.replace(",", "") for k, word in words.items()} if plain else words


def _step(least: float) -> float:
    """The smallest round number that is no smaller."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(
        m * power for m in (1, 2, 2.5, 5, 10) if m * power >= least * (1 - 1e-9)
    )


def _plain(value: Any) -> str:
    return (
        f"{value:.2f}".rstrip("0").rstrip(".")
        if isinstance(value, float)
        else str(value)
    )


def _round(value: float) -> float:
    return round(float(value), 1)
