"""Scaling: time and memory against size, and the power by which they grow."""

from benchmarks.figures.markdown import shown, table
from benchmarks.figures.readings import finite, grouped, of_metric, results
from benchmarks.figures.style import (
    CYCLE,
    MARKS,
    label,
    legend_under,
    logarithmic,
    panels,
)

EXPONENT = "exponent"
_METHOD = """\
The exponent is the slope of a straight line through the logarithms: 1 is proportional
to the size, 0 is independent of it.
"""


def chapter(lines, album):
    """Panels of curves with their exponents, and a table."""
    lines = [line for line in results(lines) if line["details"].get("curve")]
    curves = [Curve(group) for group in grouped(lines, _place).values()]
    if not any(curve.points for curve in curves):
        return "No curve has been measured.\n"
    return "\n".join(
        [
            _METHOD,
            album.add("scaling", _figure(curves), "Time and memory against size"),
            table(
                [
                    "model",
                    "over",
                    "measure",
                    "sizes",
                    "values",
                    "exponent",
                    "expected",
                ],
                [curve.row() for curve in curves],
                "lllrrrr",
            ),
        ]
    )


class Curve:
    """Points of one curve, in the order of their sizes.

    Parameters
    ----------
    lines : list of dict
        Its points and its exponent.
    """

    def __init__(self, lines):
        facts = lines[0]["details"]
        self.model = facts.get("model") or facts["curve"]
        self.axis, self.measure = facts.get("axis", ""), facts.get("measure", "")
        fits = of_metric(lines, EXPONENT)
        self.exponent = finite(fits[0]["value"]) if fits else None
        self.expected = facts.get("expected")
        self.points = _points(lines) or _fitted(fits)

    def name(self):
        """Model and exponent, for a legend."""
        power = self._power()
        return f"{self.model}: exponent {power}" if power else self.model

    def row(self):
        """Cells of the table."""
        ends = [self.points[0], self.points[-1]] if self.points else []
        return [
            self.model,
            self.axis,
            self.measure,
            " → ".join(f"{size:,.0f}" for size, _ in ends),
            " → ".join(shown(value) for _, value in ends),
            self._power(),
            "" if self.expected is None else f"{self.expected:g}",
        ]

    def _power(self):
        return "" if self.exponent is None else f"{self.exponent:z.2f}"


def _place(line):
    return tuple(line["details"].get(key) for key in ("curve", "axis", "measure"))


def _points(lines):
    """Sizes and values of the lines that are points."""
    points = [
        (line["details"]["size"], line["value"])
        for line in lines
        if line["details"].get("size") and finite(line["value"]) is not None
    ]
    return sorted(points)


def _fitted(fits):
    """Sizes and values that an exponent was fitted to."""
    details = fits[0]["details"] if fits else {}
    pairs = zip(details.get("sizes", []), details.get("values", []), strict=False)
    return sorted((size, v) for size, v in pairs if v is not None)


def _figure(curves):
    drawn = [curve for curve in curves if curve.points]
    groups = grouped(drawn, lambda curve: (curve.axis, curve.measure))
    most = max(len(group) for group in groups.values())
    looks = {
        model: {"color": CYCLE[i % len(CYCLE)], "marker": MARKS[i % len(MARKS)]}
        for i, model in enumerate(dict.fromkeys(curve.model for curve in drawn))
    }
    figure, axes = panels(len(groups), columns=2, height=2.3 + 0.16 * most)
    for ax, ((axis, measure), group) in zip(axes, groups.items(), strict=True):
        for curve in group:
            points = zip(*curve.points, strict=True)
            style = {"linewidth": 1.3, "markersize": 4} | looks[curve.model]
            ax.plot(*points, label=curve.name(), **style)
        _at_least_a_decade(ax)
        logarithmic(ax, "x", "y")
        label(ax, measure, axis, "")
        legend_under(ax)
    return figure


def _at_least_a_decade(ax):
    """What does not grow is to look flat, whatever its noise."""
    values = [v for line in ax.lines for v in line.get_ydata()]
    low, high = min(values), max(values)
    spare = max(1.0, 10 * low / high) ** 0.5 * 1.2
    ax.set_ylim(low / spare, high * spare)
