"""Quality against time: one panel per case, with the front of what nobody beats."""

from benchmarks.figures.readings import front
from benchmarks.figures.style import FAINT, PALE, label, logarithmic, panels

_LEAST = 1e-16  # errors below are rounding, and a logarithm has no zero


def scatter(cases, looks, words, *, judged=None, more=False, height=2.7):
    """Panels of marks.

    Parameters
    ----------
    cases : dict of str to list of Entry
        Panels by title. Entries without time or quality are left out.
    looks : Looks
    words : tuple of str
        Labels of the axes.
    judged : callable, optional
        Whether an entry is the one to beat; where it stands, the area of those that
        are better in both is shaded.
    more : bool
        Whether more quality is better, on a linear axis; otherwise quality is an error,
        on a logarithmic one.
    height : float
        Of a panel.

    Returns
    -------
    figure : matplotlib.figure.Figure or None
        None where no case has anything to show.
    """
    kept = {
        title: [entry for entry in entries if entry.took_part]
        for title, entries in cases.items()
    }
    kept = {title: entries for title, entries in kept.items() if entries}
    if not kept:
        return None
    names = {entry.name for entries in kept.values() for entry in entries}
    figure, axes = panels(len(kept), height=height, names=names)
    for ax, (title, entries) in zip(axes, kept.items(), strict=True):
        _panel(ax, entries, looks, judged, more)
        label(ax, title, *words)
    looks.legend(figure, axes)
    return figure


def _panel(ax, entries, looks, judged, more):
    points = {e.name: (e.seconds(), _height(e, more)) for e in entries}
    for name, (x, y) in points.items():
        ax.plot(x, y, label=name, **looks[name].dots())
    _front(ax, points.values(), more)
    _room(ax, points.values(), more)
    for entry in entries:
        if judged is not None and judged(entry):
            _shade(ax, *points[entry.name])


def _height(entry, more):
    return entry.quality if more else max(entry.quality, _LEAST)


def _front(ax, points, more):
    sign = -1 if more else 1
    steps = [(x, sign * y) for x, y in front((x, sign * y) for x, y in points)]
    ax.step(*zip(*steps, strict=True), where="post", color=FAINT, linewidth=0.8)


def _room(ax, points, more):
    """Room around the marks, also if there is but one."""
    xs, ys = zip(*points, strict=True)
    ax.set_xlim(min(xs) / 2, max(xs) * 2)
    if more:
        margin = max(0.08 * (max(ys) - min(ys)), 0.01)
        ax.set_ylim(min(ys) - margin, max(ys) + margin)
        logarithmic(ax, "x")
    else:
        margin = max((max(ys) / min(ys)) ** 0.08, 1.25)
        ax.set_ylim(min(ys) / margin, max(ys) * margin)
        logarithmic(ax, "x", "y")


def _shade(ax, x, y):
    left, low = ax.get_xlim()[0], ax.get_ylim()[0]
    ax.fill_between([left, x], low, y, color=PALE, alpha=0.6, linewidth=0, zorder=1)
