"""The area above a level of a function on a grid, as one path."""

import numpy as np


def area_above(values: np.ndarray, level: float) -> list[list[tuple[float, float]]]:
    """Polygons that together cover where a function is at least ``level``.

    Within a cell the level's line is straight, between places found by linear
    interpolation along the cell's sides. Cells that lie inside as a whole are joined
    along a row. Polygons touch and do not overlap, so that one path of them all is
    filled evenly.

    Parameters
    ----------
    values : array of shape (m, n)
    level : float

    Returns
    -------
    polygons : list of lists of (column, row)
        In units of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> area_above(np.array([[0.0, 1.0], [0.0, 1.0]]), 0.5)
    [[(0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 1.0)]]
    """
    above = values >= level
    corners = above[:-1, :-1].astype(int) + above[:-1, 1:] + above[1:, :-1]
    corners += above[1:, 1:]  # (m - 1, n - 1), how many of a cell's are above
    polygons: list[list[tuple[float, float]]] = []
    for row, counts in enumerate(corners):
        polygons += [_box(a, b, row) for a, b in _runs(counts == 4)]
        polygons += [
            _clipped(values, row, column, level)
            for column in np.flatnonzero((counts > 0) & (counts < 4)).tolist()
        ]
    return polygons


def _box(begin: float, end: float, row: float) -> list[tuple[float, float]]:
    return [(begin, row), (end, row), (end, row + 1), (begin, row + 1)]


def _runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """Begin and end of every run of true flags."""
    padded = np.concatenate([[False], flags, [False]]).astype(int)
    change = np.diff(padded)
    begins, ends = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def _clipped(
    values: np.ndarray, row: int, column: int, level: float
) -> list[tuple[float, float]]:
    """The part of one cell that is above, corner by corner around it."""
    around = [
        (column, row),
        (column + 1, row),
        (column + 1, row + 1),
        (column, row + 1),
    ]
    heights = [float(values[y, x]) - level for x, y in around]
    polygon: list[tuple[float, float]] = []
    for k, (x, y) in enumerate(around):
        (x_next, y_next), here = around[(k + 1) % 4], heights[k]
        there = heights[(k + 1) % 4]
        if here >= 0:
            polygon.append((float(x), float(y)))
        if (here >= 0) != (there >= 0):
            share = here / (here - there)
            polygon.append((x + share * (x_next - x), y + share * (y_next - y)))
    return polygon
