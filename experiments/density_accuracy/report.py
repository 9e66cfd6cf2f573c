"""Pictures, tables and reading of the errors over D."""

from types import SimpleNamespace

import numpy as np

from benchmarks.figures.markdown import NOTHING, bold, table
from benchmarks.figures.style import INK, Looks, label, logarithmic, panels
from experiments.density_accuracy.config import (
    AGAINST_EXACT,
    AGAINST_TRUTH,
    BETTER,
    ENOUGH,
    EXACT_ITSELF,
    GRID,
    IID,
    LANDMARKS,
    LINE,
    MNIST,
    OF_LOGS,
    PANELS,
    RFF,
    SPIRALS,
)
from experiments.density_text import (
    known,
    maybe,
    mean,
    mean_and_half_band,
    pick,
    ratio,
    sentences,
    times,
    values,
)
from experiments.reports import Report, measured

_CURVES = {IID: False, BETTER: True, RFF: False, LANDMARKS: True, GRID: True}
_METRICS = {LINE: AGAINST_EXACT, SPIRALS: AGAINST_EXACT, MNIST: OF_LOGS}
_LEAST_SHOWN = 1e-7  # smaller errors are told in words: they would flatten the rest
_FLOOR = """\
Of MNIST the logarithms are compared, as in the paper. RFF-KDE may be negative, where
there is none: less than 1/D of the kernel's peak counts as that. The values of DMKDE
stay as they are. Better drawn pairs are Sobol's in 1-D and 2-D, orthogonal ones for
MNIST; landmarks are centres of k-means.
"""


def report(lines, album):
    """The page: a picture for each γ, a table for each set."""
    results = measured(lines)
    if not results:
        return Report("Nothing has been measured.\n")
    parts = [_about(results), _FLOOR, _reading(results)]
    for which, title in enumerate(("the printed number", "its double")):
        chosen = _of_gamma(results, which)
        if chosen:
            parts += [f"## γ: {title}\n", _tables(chosen)]
            words = f"Errors over D, γ: {title}"
            parts.append(album.add(f"density-accuracy-{which}", _figure(chosen), words))
    return Report("\n".join(filter(None, parts)))


def _about(results):
    seeds = {p: len(known(pick(results, panel=p), "seed")) for p in PANELS}
    counts = ", ".join(f"{panel} {count}" for panel, count in seeds.items())
    settings = results[0]["settings"]
    return (
        f"{settings['rows']:,} rows; {settings['queries']:,} equally spaced points of "
        "[-5, 10] in 1-D, as many rows of their own in the others. All maps at full "
        f"rank. Seeds of rows and features: {counts}. Bands are 95 % intervals of the "
        "mean, as in the paper, which prints its errors as curves alone and calls "
        f"D = {ENOUGH:,} enough. The printed γ may be that of the feature map, half "
        "the density's, so everything is made with that number and with its double.\n"
    )


def _of_gamma(results, which):
    """Lines by panel, for the first or the second γ of each."""
    found = {p: pick(results, panel=p, gamma=g[which]) for p, g in PANELS.items()}
    return {panel: own for panel, own in found.items() if own}


def _reading(results):
    """At the paper's D: how much farther its map is than landmarks and pairs."""
    texts = []
    for panel, own in _of_gamma(results, 0).items():
        sizes = [size for size in known(pick(own, case=IID), "D") if size <= ENOUGH]
        if not sizes:
            continue
        size, metric = max(sizes), _METRICS[panel]
        paper, pairs, landmarks = (
            mean(values(own, case=name, metric=metric, D=size))
            for name in (IID, BETTER, LANDMARKS)
        )
        grid = mean(values(own, case=GRID, metric=metric))
        texts.append(_sentence(panel, size, paper, pairs, landmarks, grid))
    return sentences(*texts)


def _sentence(panel, size, paper, pairs, landmarks, grid):
    first, second = ratio(paper, pairs), ratio(paper, landmarks)
    if first is None or second is None:
        return ""
    text = (
        f"{panel}, D = {size:,}: the error of the paper's map is {paper:.2g}, "
        f"{times(first)} that of better drawn pairs and {times(second)} that of "
        "landmarks"
    )
    return text + (f"; the grid's is {grid:.1g}." if grid is not None else ".")


def _tables(chosen):
    parts = []
    for panel, own in chosen.items():
        metric, gamma = _METRICS[panel], known(own, "gamma")[0]
        parts.append(f"### {panel}, γ = {gamma:g}: {metric}\n")
        parts.append(_table(own, metric))
        if panel == LINE:
            exact = mean(values(own, case=EXACT_ITSELF, metric=AGAINST_TRUTH))
            parts.append(
                "Against the true density, where exact KDE itself is "
                f"{maybe(exact)} off:\n"
            )
            parts.append(_table(own, AGAINST_TRUTH))
    return "\n".join(parts)


def _table(own, metric):
    curves = [name for name in _CURVES if name != GRID]
    sizes = sorted({d for name in curves for d in known(pick(own, case=name), "D")})
    rows = [
        [bold(name, _CURVES[name])]
        + [_cell(values(own, case=name, metric=metric, D=size)) for size in sizes]
        for name in curves
    ]
    grid = pick(own, case=GRID, metric=metric)
    text = table(["D", *(f"{size:,}" for size in sizes)], rows)
    if not grid:
        return text
    columns = np.median([line["details"]["D"] for line in grid])
    error = _cell(values(grid))
    return (
        f"{text}\nWhat rhokit chooses itself: {error}, {columns:,.0f} coefficients.\n"
    )


def _cell(array):
    if not len(array):
        return NOTHING
    middle, half = mean_and_half_band(array)
    return f"{middle:.2g} ± {half:.1g}" if half else f"{middle:.2g}"


# ---- picture -------------------------------------------------------------------------


def _figure(chosen):
    looks = Looks(SimpleNamespace(name=n, ours=o) for n, o in _CURVES.items())
    wanted = [(panel, _METRICS[panel]) for panel in chosen]
    if LINE in chosen:
        wanted.insert(0, (LINE, AGAINST_TRUTH))
    figure, axes = panels(len(wanted), columns=2, height=2.9, names=_CURVES)
    for ax, (panel, metric) in zip(axes, wanted, strict=True):
        own = pick(chosen[panel], metric=metric)
        for name in _CURVES:
            _draw(ax, pick(own, case=name), looks[name], name)
        _draw_exact(ax, values(own, case=EXACT_ITSELF))
        ax.set_xscale("log", base=2)
        label(ax, f"{panel}: {metric}", "D", "")
        ax.title.set_fontsize(8)
        logarithmic(ax, "y")
    looks.legend(figure, axes)
    return figure


def _draw_exact(ax, errors):
    """A line where exact KDE is, if it is compared with the truth itself."""
    if len(errors):
        ax.axhline(mean(errors), color=INK, linewidth=0.8, linestyle=":")
        place = {"xytext": (0, 3), "textcoords": "offset points"}
        ax.annotate("exact KDE", (16, mean(errors)), **place, fontsize=7)


def _draw(ax, own, look, name):
    if not own:
        return
    if name == GRID:
        error, columns = mean(values(own)), np.median(known(own, "D"))
        if error > _LEAST_SHOWN:
            ax.plot([columns], [error], label=name, **look.dots())
        else:
            ax.text(
                0.02,
                0.03,
                f"grid, {columns:,.0f} coefficients: {error:.0e}",
                transform=ax.transAxes,
                fontsize=7,
                color=look.colour,
            )
        return
    sizes = sorted(known(own, "D"))
    bands = [mean_and_half_band(values(own, D=size)) for size in sizes]
    middle, half = np.array(bands, dtype=float).T
    ax.plot(sizes, middle, label=name, **look.line())
    ax.fill_between(
        sizes,
        np.maximum(middle - half, middle / 10),
        middle + half,
        color=look.colour,
        alpha=0.2,
        linewidth=0,
    )
