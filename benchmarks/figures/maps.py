"""Which map: error against size for every feature map, one panel per dimension."""

from benchmarks.figures.markdown import NOTHING, phrase, seconds, shown, table
from benchmarks.figures.readings import finite, grouped, of_metric, results
from benchmarks.figures.style import (
    CYCLE,
    MARKS,
    handles_by_name,
    label,
    legend_below,
    logarithmic,
    panels,
)

ERROR = "relative RMSE"
_LEAST = 1e-16
_METHOD = """\
Relative RMSE against the exact kernel density in double precision, over the size D of
the map. Lines are medians over seeds, bands reach from the least to the greatest error.
A map that takes a size of its own is a single mark.
"""


def chapter(lines, album):
    """The picture, and the best map at every size."""
    lines = [
        line
        for line in of_metric(results(lines), ERROR)
        if line["details"].get("panel")
    ]
    measured = [
        line
        for line in lines
        if finite(line["value"]) is not None and line["details"].get("size")
    ]
    if not measured:
        return "No map has been measured.\n"
    groups = grouped(measured, lambda line: line["details"]["panel"])
    groups = dict(sorted(groups.items(), key=lambda item: _dimension(item[0])))
    return "\n".join(
        [
            _METHOD,
            album.add("maps", _figure(groups), "Error over the size of the map"),
            "### The best map at each size\n",
            _best(groups),
            _own_sizes(groups),
            _absences(lines),
        ]
    )


def _dimension(panel):
    digits = panel.partition("-")[0]
    return (int(digits) if digits.isdigit() else 10**6), panel


def _name(line):
    rule = line["details"].get("rule")
    return f"{line['details'].get('map')}, {rule}" if rule else line["details"]["map"]


def _curves(group):
    """Lines of each map by size; maps of one size of their own are apart."""
    curves = grouped(group, _name)
    for curve in curves.values():
        curve.sort(key=lambda line: line["details"]["size"])
    return curves


def _figure(groups):
    looks = _looks([line for group in groups.values() for line in group])
    figure, axes = panels(len(groups), columns=2, height=3.4, names=looks)
    for ax, (panel, group) in zip(axes, groups.items(), strict=True):
        for name, curve in _curves(group).items():
            _draw(ax, name, curve, looks[name])
        logarithmic(ax, "x", "y")
        _powers_of_four(ax, [line["details"]["size"] for line in group])
        label(ax, _title(panel, group), "size D of the map", ERROR)
    drawn = handles_by_name(axes)
    legend_below(figure, [drawn[name] for name in looks], list(looks))
    return figure


def _powers_of_four(ax, sizes):
    """Marks where maps usually have their sizes."""
    ticks = [4**k for k in range(1, 12) if min(sizes) <= 4**k <= max(sizes)]
    if ticks:
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.set_xticks([], minor=True)


def _title(panel, group):
    facts = group[0]["details"]
    known = [
        text
        for key, text in (("n", "N = {:,}"), ("gamma", "γ = {:g}"))
        if facts.get(key) is not None
        for text in [text.format(facts[key])]
    ]
    return ", ".join([panel, *known])


def _draw(ax, name, curve, look):
    sizes = [line["details"]["size"] for line in curve]
    values = [max(line["value"], _LEAST) for line in curve]
    ax.plot(sizes, values, label=name, linewidth=1.3, markersize=4.5, **look)
    spreads = [_spread(line) for line in curve]
    if any(low < high for low, high in spreads):
        low, high = zip(*spreads, strict=True)
        ax.fill_between(sizes, low, high, color=look["color"], alpha=0.1, linewidth=0)


def _spread(line):
    errors = [e for e in line["details"].get("errors") or [] if e is not None]
    errors = [max(e, _LEAST) for e in errors or [line["value"]]]
    return min(errors), max(errors)


def _looks(lines):
    """A colour per map, lighter with each rule; a mark per rule."""
    looks = {}
    for i, group in enumerate(
        grouped(lines, lambda line: line["details"]["map"]).values()
    ):
        for j, name in enumerate(grouped(group, _name)):
            colour = _lighter(CYCLE[i % len(CYCLE)], min(0.2 * j, 0.7))
            looks[name] = {"color": colour, "marker": MARKS[(i + j) % len(MARKS)]}
    return looks


def _lighter(colour, share):
    """A colour mixed with so much white."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(p + share * (255 - p)):02x}" for p in parts)


def _best(groups):
    """A table: the map with the least error, sizes down and dimensions across."""
    columns = {}
    for panel, group in groups.items():
        sized = [line for line in group if not _alone(line, group)]
        by_size = grouped(sized, lambda line: line["details"]["size"])
        columns[panel] = {size: _least(lines) for size, lines in by_size.items()}
    sizes = sorted({size for column in columns.values() for size in column})
    rows = [
        [f"{size:,}", *(column.get(size, NOTHING) for column in columns.values())]
        for size in sizes
    ]
    return table(["D", *columns], rows, "r" + "l" * len(columns))


def _alone(line, group):
    """Whether a map has only this size, where others have several."""
    sizes = {each["details"]["size"] for each in group if _name(each) == _name(line)}
    others = {each["details"]["size"] for each in group if _name(each) != _name(line)}
    return len(sizes) == 1 and not sizes & others


def _least(lines):
    best = min(lines, key=lambda line: line["value"])
    return f"{_name(best)} ({shown(best['value'])})"


def _own_sizes(groups):
    notes = [
        f"- {panel}: {_name(line)}, {line['details']['size']:,} coefficients: error "
        f"{shown(line['value'])}, fit {seconds(line['details'].get('fit_seconds'))} s"
        for panel, group in groups.items()
        for line in group
        if _alone(line, group)
    ]
    return "With a size of their own:\n\n" + "\n".join(notes) + "\n" if notes else ""


def _absences(lines):
    """What has no figures, or not at all sizes."""
    notes = [
        f"- {line['case']}: {phrase(line['details'].get('reason') or 'no figure')}\n"
        for line in lines
        if finite(line["value"]) is None
    ]
    return "Not at all sizes:\n\n" + "".join(notes) if notes else ""
