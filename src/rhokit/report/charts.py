"""The pictures of a report, each a string of SVG made from numbers alone."""

import math
from typing import Any

import numpy as np

from rhokit.inspection import (
    Histogram,
    PredictedValues,
    ReliabilityCurve,
    Spectrum,
    inside,
)
from rhokit.inspection.values import THE_VALUE
from rhokit.report.columns import Pair
from rhokit.report.contours import area_above
from rhokit.report.svg import WIDTH, Frame, Mark, chart, polyline, tag, write
from rhokit.report.words import count, fixed, number, percent, plain_number, shortened

ROOM = 1.06  # above the highest value
_SQUARE = 300
_MOST_INTERVALS = 160
_MOST_EIGENVALUES = 256
_LEAST_EIGENVALUE = 1e-10
_MARKS_PER_SIDE = 32
_BAR, _BAR_LEFT, _BAR_RIGHT, _BAR_TOP = 22, 118, 52, 8


def histogram_chart(
    histogram: Histogram, name: str, label: str, line: tuple[float, str] | None = None
) -> str:
    """Counts as bars, and perhaps a line at a value, with a word beside it."""
    edges, counts = histogram.edges, histogram.counts
    frame = Frame((edges[0], edges[-1]), (0.0, max(int(counts.max()), 1) * ROOM))
    body = [frame.axes(name, "rows"), bars(frame, edges, counts, "bar")]
    if line is not None and edges[0] <= line[0] <= edges[-1]:
        body.append(_upright(frame, *line))
    marks = [
        Mark(
            frame.across((low + high) / 2),
            frame.up(n),
            (f"{plain_number(low)} to {plain_number(high)}", number(n, 9)),
        )
        for low, high, n in zip(edges[:-1], edges[1:], counts.tolist(), strict=True)
    ]
    return chart("".join(body), label=label, names=(name, "rows"), marks=marks)


def bar_chart(
    name: str,
    pairs: tuple[tuple[str, int], ...],
    probabilities: tuple[float, ...] = (),
    of_line: str = "model",
) -> str:
    """Categories and how often they come, as bars that lie.

    ``probabilities`` are the model's own, or another's that ``of_line`` names, drawn as
    a line across each bar.
    """
    total = sum(n for _, n in pairs) or 1
    has_model = any(map(math.isfinite, probabilities))
    known = [p * total for p in probabilities if math.isfinite(p)]
    most = max([1, *(n for _, n in pairs), *known])
    unit = (WIDTH - _BAR_LEFT - _BAR_RIGHT) / most
    body, marks = [], []
    for place, (word, n) in enumerate(pairs):
        y = _BAR_TOP + place * _BAR
        expected = probabilities[place] if has_model else math.nan
        body.append(_lying_bar(word, n, y, unit * n, unit * expected * total))
        values = [word, number(n, 9), percent(n / total)]
        values += [percent(expected)] if has_model else []
        marks.append(Mark(_BAR_LEFT + unit * n, y + _BAR / 2 - 1, tuple(values)))
    return chart(
        "".join(body),
        label=f"How often each value of {name} comes; most often {pairs[0][0]}",
        names=[name, "rows", "share", *([of_line] if has_model else [])],
        marks=marks,
        height=2 * _BAR_TOP + len(pairs) * _BAR,
        nearest="xy",
    )


def _lying_bar(word: str, n: int, y: float, width: float, expected: float) -> str:
    """A bar with its name and number, and a line where the model expects its end."""
    expected = min(expected, WIDTH - _BAR_LEFT - 1.0)  # or it is off the picture
    end = _BAR_LEFT + float(np.fmax(width, expected))
    bar: dict[str, Any] = {
        "x": _BAR_LEFT,
        "y": y + 2,
        "width": max(width, 1.0),
        "height": _BAR - 6,
    }
    parts = [
        write(
            shortened(word, 18),
            _BAR_LEFT - 8,
            y + 14,
            class_="tick",
            text_anchor="end",
        ),
        tag("rect", **bar, class_="bar"),
        write(number(n, 9), end + 6, y + 14, class_="tick"),
    ]
    if math.isfinite(expected):
        line = f"M{_BAR_LEFT + expected:.1f} {y}v{_BAR - 2}"
        parts.append(tag("path", d=line, class_="model"))
    return "".join(parts)


def reliability_chart(curve: ReliabilityCurve) -> str:
    """Confidence against the fraction of right answers, larger dots for more rows."""
    frame = Frame((0.0, 1.0), (0.0, 1.0), height=_SQUARE)
    most = int(curve.counts.max())
    bins = list(
        zip(
            curve.predicted.tolist(),
            curve.observed.tolist(),
            curve.counts.tolist(),
            strict=True,
        )
    )
    dots = [
        tag(
            "circle",
            cx=frame.across(predicted),
            cy=frame.up(observed),
            r=3 + 6 * math.sqrt(n / most),
            class_="dot",
        )
        for predicted, observed, n in bins
    ]
    gaps = [
        tag("path", d=f"M{x:.1f} {frame.up(observed):.1f}V{y:.1f}", class_="gap")
        for predicted, observed, _ in bins
        for x, y in [(frame.across(predicted), frame.up(predicted))]
    ]
    body = [
        frame.axes("probability of the answer", "share of right answers"),
        _diagonal(frame),
        *gaps,
        *dots,
    ]
    marks = [
        Mark(
            frame.across(predicted),
            frame.up(observed),
            (percent(predicted), percent(observed), number(n, 9)),
        )
        for predicted, observed, n in bins
    ]
    label = "Probability of answers against the share of them that are right"
    return chart(
        "".join(body),
        label=label,
        names=("probability", "right", "rows"),
        marks=marks,
        height=_SQUARE,
        nearest="xy",
    )


def coverage_chart(value: PredictedValues) -> str:
    """Coverage that was asked for against the share of values inside."""
    achieved = value.achieved or ()
    frame = Frame((0.0, 1.0), (0.0, 1.0), height=_SQUARE)
    places = [
        (frame.across(a), frame.up(b))
        for a, b in zip(value.nominal, achieved, strict=True)
    ]
    body = [
        frame.axes("coverage asked for", "share of values inside"),
        _diagonal(frame),
        tag("path", d=polyline(places), class_="line thin"),
        *(tag("circle", cx=x, cy=y, r=5, class_="dot") for x, y in places),
    ]
    marks = [
        Mark(x, y, (percent(asked, 0), percent(got), number(width)))
        for (x, y), asked, got, width in zip(
            places, value.nominal, achieved, value.widths, strict=True
        )
    ]
    return chart(
        "".join(body),
        label=f"Coverage of the intervals of {value.name}, asked for and achieved",
        names=("asked for", "inside", "mean width"),
        marks=marks,
        height=_SQUARE,
        nearest="xy",
    )


def interval_chart(value: PredictedValues, coverage: float) -> str:
    """Predictions against the truth, with the interval of each row; truth is known."""
    some = _spread_over(value.predicted, _MOST_INTERVALS)
    predicted, interval = value.predicted[some], value.interval(coverage)[some]
    truth = np.asarray(value.truth)[some]
    low = float(min(interval.min(), truth.min()))
    high = float(max(interval.max(), truth.max()))
    frame = Frame(
        _widened(float(predicted.min()), float(predicted.max())),
        _widened(low, high),
        height=_SQUARE,
    )
    is_named = value.name != THE_VALUE
    lead = f"{value.name}, " if is_named else ""
    body = [frame.axes(f"{lead}predicted", f"{lead}true, and interval")]
    marks = []
    held = inside(interval, truth)
    for x, (a, b), y, holds in zip(predicted, interval, truth, held, strict=True):
        across, at = frame.across(x), frame.up(y)
        line = f"M{across:.1f} {frame.up(a):.1f}V{frame.up(b):.1f}"
        body.append(tag("path", d=line, class_="whisker"))
        body.append(
            tag("circle", cx=across, cy=at, r=2.4, class_="dot" if holds else "ring")
        )
        span = f"{plain_number(a)} to {plain_number(b)}"
        marks.append(Mark(across, at, (plain_number(x), plain_number(y), span)))
    body.append(_equal(frame))
    names = "predicted", "true", f"{percent(coverage, 0)} interval"
    return chart(
        "".join(body),
        label=f"Predictions of {value.name} against the truth, with intervals",
        names=names,
        marks=marks,
        height=_SQUARE,
        nearest="xy",
    )


def pair_chart(pair: Pair) -> str:
    """The density of two columns as shaded areas, and some of the rows as dots."""
    (x, y), density = pair.grid.axes, pair.grid.density
    ends = [(float(axis[0]), float(axis[-1])) for axis in (x, y)]
    frame = Frame(ends[0], ends[1], height=_SQUARE)
    steps = [float(axis[1] - axis[0]) for axis in (x, y)]

    def place(point: tuple[float, float]) -> tuple[float, float]:
        column, row = point
        across = frame.across(ends[0][0] + column * steps[0])
        return round(across, 1), round(frame.up(ends[1][0] + row * steps[1]), 1)

    body = [frame.axes(*pair.names)]
    for level in pair.levels.tolist():
        polygons = area_above(density, level)
        d = "".join(polyline(map(place, polygon), closed=True) for polygon in polygons)
        body.append(tag("path", d=d, class_="shade"))
    (x_low, x_high), (y_low, y_high) = ends
    body += [
        tag("circle", cx=frame.across(a), cy=frame.up(b), r=1.2, class_="grain")
        for a, b in pair.dots.tolist()
        if x_low <= a <= x_high and y_low <= b <= y_high
    ]
    step = -(-len(x) // _MARKS_PER_SIDE)
    marks = [
        Mark(
            frame.across(x[i]),
            frame.up(y[j]),
            (plain_number(x[i]), plain_number(y[j]), number(density[j, i])),
        )
        for j in range(0, len(y), step)
        for i in range(0, len(x), step)
    ]
    return chart(
        "".join(body),
        label=f"Density of {pair.names[0]} and {pair.names[1]} together",
        names=(*pair.names, "density"),
        marks=marks,
        height=_SQUARE,
        nearest="xy",
    )


def spectrum_chart(spectrum: Spectrum, rank: int | None) -> str:
    """Eigenvalues on a logarithmic scale, with the rank that is kept."""
    values = spectrum.fractions[0]
    seen = values[values > _LEAST_EIGENVALUE * values[0]]
    logs = np.log10(seen)
    low, high = math.floor(logs[-1] - 1e-9), math.ceil(logs[0] + 1e-9)
    every = -(-(high - low) // 5)
    words = {float(k): _power_of_ten(k) for k in range(high, low - 1, -every)}
    end = float(max(len(seen), rank or 1, 2))
    frame = Frame((0.0, end * 1.02), (float(low), float(high)))
    places = np.arange(1, len(seen) + 1)
    body = [
        frame.axes("eigenvector, the largest first", "share of the rows", words),
        tag("path", d=frame.path(places, logs), class_="line"),
    ]
    if rank is not None and rank < spectrum.dim:
        body.append(_upright(frame, float(rank), f"rank {rank}"))
    some = np.unique(np.geomspace(1, len(seen), _MOST_EIGENVALUES).astype(int)) - 1
    sums = np.cumsum(values)
    marks = [
        Mark(
            frame.across(k + 1),
            frame.up(logs[k]),
            (str(k + 1), percent(seen[k], 3), percent(sums[k])),
        )
        for k in some.tolist()
    ]
    label = (
        f"{count(len(seen), 'eigenvalue')} that are not zero, effective rank "
        f"{fixed(spectrum.effective_rank[0], 1)}"
    )
    names = "eigenvector", "share", "all up to it"
    return chart("".join(body), label=label, names=names, marks=marks)


# ---- parts -----------------------------------------------------------------------


def bars(frame: Frame, edges: np.ndarray, heights: np.ndarray, kind: str) -> str:
    """Standing bars between edges."""
    gap = 1.0 if len(heights) < 30 else 0.5
    return "".join(
        tag(
            "rect",
            x=frame.across(low) + gap / 2,
            y=frame.up(height),
            width=max(frame.across(high) - frame.across(low) - gap, 0.3),
            height=max(frame.bottom - frame.up(height), 0.0),
            class_=kind,
        )
        for low, high, height in zip(edges[:-1], edges[1:], heights, strict=True)
        if height > 0
    )


def _upright(frame: Frame, value: float, word: str) -> str:
    """A line at a value along the horizontal axis, with a word on the roomier side."""
    place = frame.across(value)
    on_left = place > (frame.left + frame.right) / 2
    line = tag("path", d=f"M{place:.1f} 10V{frame.bottom:g}", class_="limit")
    anchor = {"text_anchor": "end" if on_left else "start"}
    text = write(
        word, place - 5 if on_left else place + 5, 20.0, class_="note", **anchor
    )
    return line + text


def _diagonal(frame: Frame) -> str:
    return tag("path", d=frame.path([0, 1], [0, 1]), class_="limit")


def _equal(frame: Frame) -> str:
    """Where truth and prediction agree."""
    low, high = max(frame.x[0], frame.y[0]), min(frame.x[1], frame.y[1])
    if low >= high:
        return ""
    return tag("path", d=frame.path([low, high], [low, high]), class_="limit")


def _spread_over(values: np.ndarray, most: int) -> np.ndarray:
    """Places of at most so many values, spread over their order."""
    order = np.argsort(values, kind="stable")
    return order[np.linspace(0, len(order) - 1, min(len(order), most)).astype(int)]


def _widened(low: float, high: float) -> tuple[float, float]:
    room = 0.04 * (high - low) or max(abs(low), 1.0) * 0.04
    return low - room, high + room


def _power_of_ten(k: int) -> str:
    return "1" if k == 0 else f"{10.0**k:g}" if k > -4 else f"1e{k}"
