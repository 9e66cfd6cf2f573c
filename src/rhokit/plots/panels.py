"""The panels that pictures of densities are made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection import region_levels, value_edges
from rhokit.inspection.checks import check_fraction
from rhokit.plots.canvas import BLUE, INK, ORANGE, PALE

Floats = NDArray[np.float64]
Style = dict[str, Any]
_POINT: Style = {"s": 7, "color": INK, "alpha": 0.35, "linewidths": 0}
_COLOURED: Style = {"s": 9, "linewidths": 0, "cmap": "viridis"}
# Rows below this quantile of the log-density share a colour.
_LOWEST_COLOUR = 0.01


def draw_curve(
    ax: Any,
    x: Floats,
    density: Floats,
    values: Floats | None,
    marks: str | None,
    style: Style,
) -> None:
    """The density of one column, and where its rows are."""
    if values is not None and marks == "histogram":
        draw_histogram(ax, values)
    ax.fill_between(x, density, color=BLUE, alpha=0.15, linewidth=0)
    ax.plot(x, density, **({"color": BLUE} | style))
    if values is not None and marks == "rug":
        # Heights in parts of the axes, so that the rug stays at its foot.
        ax.plot(
            values,
            np.full(len(values), 0.012),
            "|",
            color=INK,
            alpha=0.3,
            markersize=6,
            markeredgewidth=0.7,
            transform=ax.get_xaxis_transform(),
        )
    ax.set_ylim(bottom=min(0.0, float(np.min(density))))


def draw_histogram(ax: Any, values: Floats) -> None:
    """A histogram of rows, as a density."""
    seen = values[np.isfinite(values)]
    ax.hist(seen, bins=value_edges(seen), density=True, color=PALE, zorder=0)


def draw_map(
    ax: Any,
    grid: tuple[Floats, Floats, Floats],
    probabilities: Sequence[float],
    points: Floats | None,
    cmap: Any,
    style: Style,
) -> Any:
    """Filled regions of highest density, which enclose given probabilities.

    What is drawn has ``labels``, those of its levels but the last.
    """
    from matplotlib import colormaps

    x, y, density = grid
    levels, labels = enclosing_levels(density, probabilities)
    colours = colormaps[cmap] if isinstance(cmap, str) else cmap
    # From pale, not from white, to three quarters: points must stay visible.
    shades = colours(np.linspace(0.12, 0.75, len(labels)))
    filled = ax.contourf(x, y, density, levels, colors=shades)
    ax.contour(x, y, density, levels[:-1], colors="white", linewidths=0.5, alpha=0.7)
    filled.labels = labels
    if points is not None:
        ax.scatter(*points.T, **(_POINT | style))
    return filled


def enclosing_levels(
    density: Floats, probabilities: Sequence[float]
) -> tuple[list[float], list[str]]:
    """Densities above which given probabilities lie, rising.

    One more level, the highest density, stands at the end. Also the probabilities of
    all but that, in hundredths, as text.
    """
    wanted = sorted(
        {
            check_fraction("probabilities", p)
            for p in np.atleast_1d(probabilities).tolist()
        }
    )
    heights = region_levels(density, wanted)
    if not len(heights):
        raise ValueError("the density is zero wherever it was to be drawn")
    # Of equal levels, the larger probability.
    found = {
        height: f"{100 * p:g}"
        for height, p in zip(heights.tolist(), wanted, strict=True)
    }
    top = float(np.max(density))
    found.pop(top, None)
    levels = sorted(found)
    if not levels:  # as good as flat
        levels, found = [0.0], {0.0: "100"}
    return [*levels, top], [found[level] for level in levels]


def draw_scatter(ax: Any, points: Floats, log_density: Floats, style: Style) -> Any:
    """Rows coloured by log-density; those of density zero stand out."""
    seen = np.isfinite(log_density)
    order = np.flatnonzero(seen)[np.argsort(-log_density[seen], kind="stable")]
    low, high = 0.0, 1.0
    if len(order):
        low = np.quantile(log_density[seen], _LOWEST_COLOUR)
        high = log_density[seen].max()
    if (~seen).any():
        zero = {"s": 14, "color": ORANGE, "marker": "x", "label": "density zero"}
        ax.scatter(*points[~seen].T, **zero)
    # The least likely are drawn last, so that they are not hidden.
    return ax.scatter(
        *points[order].T,
        c=log_density[order],
        **(_COLOURED | {"vmin": low, "vmax": high} | style),
    )
