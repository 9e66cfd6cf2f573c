"""The panels that pictures of densities are made of."""

import numpy as np

from rhokit.plots.canvas import BLUE, INK, ORANGE, PALE
from rhokit.plots.models import share

_POINT = {"s": 7, "color": INK, "alpha": 0.35, "linewidths": 0}
_COLOURED = {"s": 9, "linewidths": 0, "cmap": "viridis"}
# Rows below this quantile of the log-density share a colour.
_LOWEST_COLOUR = 0.01


def draw_curve(ax, x, density, values, marks, style):
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


def draw_histogram(ax, values):
    """A histogram of rows, as a density."""
    seen = values[np.isfinite(values)]
    ax.hist(seen, bins=_edges(seen), density=True, color=PALE, zorder=0)


def _edges(values):
    """Edges of bins by the rule of Freedman and Diaconis, of a sensible number."""
    if not len(values) or values.min() == values.max():
        return 10
    low, high = np.quantile(values, [0.25, 0.75])
    width = 2 * (high - low) / len(values) ** (1 / 3)
    span = values.max() - values.min()
    wanted = span / width if width > 0 else 50
    return np.linspace(values.min(), values.max(), int(np.clip(wanted, 5, 100)) + 1)


def draw_map(ax, x, y, density, shares, points, cmap, style):
    """Filled regions of highest density, which enclose given shares.

    What is drawn has ``shares``, the labels of its levels but the last.
    """
    from matplotlib import colormaps

    levels, labels = enclosing_levels(density, shares)
    colours = colormaps[cmap] if isinstance(cmap, str) else cmap
    # From pale, not from white, to three quarters: points must stay visible.
    shades = colours(np.linspace(0.12, 0.75, len(labels)))
    filled = ax.contourf(x, y, density, levels, colors=shades)
    ax.contour(x, y, density, levels[:-1], colors="white", linewidths=0.5, alpha=0.7)
    filled.shares = labels
    if points is not None:
        ax.scatter(*points.T, **(_POINT | style))
    return filled


def enclosing_levels(density, shares):
    """Densities above which given shares of the probability lie, rising.

    One more level, the highest density, stands at the end. Also the shares of all but
    that, in hundredths, as text.
    """
    shares = sorted({share("shares", each) for each in np.atleast_1d(shares).tolist()})
    heights = np.sort(np.maximum(density, 0), axis=None)[::-1]
    if not heights[0] > 0:
        raise ValueError("the density is zero wherever it was to be drawn")
    reached = np.cumsum(heights) / heights.sum()
    # Rounding may leave the last sum below one.
    place = np.minimum(np.searchsorted(reached, shares), len(heights) - 1)
    found = {}
    for level, each in zip(heights[place], shares, strict=True):
        found[float(level)] = f"{100 * each:g}"  # of equal levels, the larger share
    top = float(heights[0])
    found.pop(top, None)
    levels = sorted(found)
    if not levels:  # as good as flat
        levels, found = [0.0], {0.0: "100"}
    return [*levels, top], [found[level] for level in levels]


def draw_scatter(ax, points, log_density, style):
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
