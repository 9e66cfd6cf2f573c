"""Pictures of densities: time against rows, error against time."""

from benchmarks.figures.readings import grouped
from benchmarks.figures.scatter import scatter
from benchmarks.figures.style import Looks, label, logarithmic, panels

MANY = 100_000
_TIME = "fit + 100,000 queries, seconds"


def pictures(cases, album):
    """Markdown of all pictures.

    Parameters
    ----------
    cases : list of density.Field
    album : style.Album
    """
    looks = Looks(entry for case in cases for entry in case.entries)
    yield from _time_against_rows(cases, looks, album)
    largest, middle = _chosen(cases)
    yield from _error_against_time("largest", largest, looks, album)
    yield from _error_against_time("100000", middle, looks, album)


def _time_against_rows(cases, looks, album):
    groups = grouped(cases, lambda case: case.title())
    kept = {title: _curves(group) for title, group in groups.items() if group[1:]}
    kept = {title: curves for title, curves in kept.items() if curves}
    if not kept:
        return
    names = {name for curves in kept.values() for name in curves}
    figure, axes = panels(len(kept), names=names)
    for ax, (title, curves) in zip(axes, kept.items(), strict=True):
        for name, points in curves.items():
            ax.plot(*zip(*points, strict=True), label=name, **looks[name].line())
        logarithmic(ax, "x", "y")
        label(ax, title, "training rows N", _TIME)
    looks.legend(figure, axes)
    yield "### Time against rows\n"
    yield album.add("density-time", figure, "Time of fit and queries against rows")


def _curves(cases):
    """Rows and seconds of each contestant that has any."""
    curves = {}
    for case in cases:
        for entry in case.entries:
            if entry.seconds(MANY) is not None:
                curves.setdefault(entry.name, []).append((case.n, entry.seconds(MANY)))
    return curves


def _chosen(cases):
    """Cases with the most rows of their kind; those with 100,000 where that is less."""
    groups = grouped(cases, lambda case: case.title()).values()
    largest = [max(group, key=lambda case: case.n) for group in groups]
    others = [case for case in cases if case.n == MANY and case not in largest]
    return largest, others


def _error_against_time(name, cases, looks, album):
    figure = scatter(
        {f"{case.title()}\nN = {case.n:,}": case.entries for case in cases},
        looks,
        (_TIME, "relative RMSE"),
        judged=lambda entry: any(case.is_auto(entry) for case in cases),
        height=2.85,
    )
    if figure is None:
        return
    rows = "the most rows" if name == "largest" else f"{MANY:,} rows"
    yield f"### Error against time, {rows}\n"
    yield (
        "Lower left is better. The line is the front: what nobody beats in both. "
        "Whoever stands in the shaded area beats rhokit's own choice in both.\n"
    )
    yield album.add(f"density-error-{name}", figure, f"Error against time, {rows}")
