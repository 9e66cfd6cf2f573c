"""Counts of values in bins, over the part of them that is worth a look."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# What lies in view; a few far values would squeeze all others.
_VIEW = (0.005, 0.995)
_VIEW_MARGIN = 0.15
_ROUNDING = 1e-12  # relative: what is closer is one number
_ALL_BUT_EQUAL = 1e-6
# A tail longer than so many times that of the middle is cut.
_LONGEST_TAIL = 6
_FEWEST_BINS, _MOST_BINS, _MOST_SCORE_BINS = 8, 40, 60


@dataclass(frozen=True, eq=False)
class Histogram:
    """Numbers of values in bins.

    Parameters
    ----------
    edges : array of shape (m + 1,)
    counts : array of shape (m,)
    n_outside : int, default=0
        Finite values that lie in none of the bins.
    """

    edges: Floats
    counts: NDArray[np.intp]
    n_outside: int = 0

    @property
    def density(self) -> Floats:
        """Counts as a density of all values, those outside included, shape (m,)."""
        total = max(int(self.counts.sum()) + self.n_outside, 1)
        return np.asarray(self.counts / (total * np.diff(self.edges)))

    @property
    def middles(self) -> Floats:
        """Middles of the bins, shape (m,)."""
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)


def view(values: Floats) -> tuple[float, float]:
    """Ends between which nearly all values lie, and some room.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = view(np.append(np.random.default_rng(0).normal(size=1000), 99.0))
    >>> -5 < low < -2.5, 2.5 < high < 5
    (True, True)
    """
    low, high = np.quantile(values, _VIEW)
    apart = high - low if high - low > _ROUNDING * max(abs(low), abs(high)) else 0.0
    room = _VIEW_MARGIN * (apart or max(abs(high), 1.0))
    return float(low - room), float(high + room)


def histogram(values: Floats, low: float, high: float) -> Histogram:
    """Counts in at most 40 bins of equal width, more of them for more values.

    Parameters
    ----------
    values : array of shape (n,), finite
    low, high : float
        Ends of the bins; other values are counted as outside.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.random.default_rng(0).normal(size=1000)
    >>> found = histogram(values, 0.0, 5.0)
    >>> int(found.counts.sum()) + found.n_outside
    1000
    """
    held = values[(values >= low) & (values <= high)]
    counts, edges = np.histogram(held, _bin_count(len(held), _MOST_BINS), (low, high))
    return Histogram(edges, counts, len(values) - len(held))


def score_histogram(
    scores: Floats, *, bins: Any = None, lowest: float | None = None
) -> Histogram:
    """Scores that are finite in bins, but for a few that are far below the others.

    Parameters
    ----------
    scores : array of shape (n,)
        Log-densities; ``-inf``, which is density zero, is left out.
    bins : int or sequence, optional
        As in :func:`numpy.histogram`; without it by the number of scores.
    lowest : float, optional
        Lower scores are counted as outside; without it by :func:`tail_start`.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.append(np.random.default_rng(0).normal(size=500), [-5000, -np.inf])
    >>> found = score_histogram(scores)
    >>> int(found.counts.sum()), found.n_outside
    (500, 1)
    """
    seen = scores[np.isfinite(scores)]
    if not len(seen):
        return Histogram(
            np.linspace(0, 1, _FEWEST_BINS + 1), np.zeros(_FEWEST_BINS, int)
        )
    least = tail_start(seen) if lowest is None else lowest
    held = seen[seen >= least]
    wanted = _bin_count(len(held), _MOST_SCORE_BINS) if bins is None else bins
    ends = _apart(max(least, float(seen.min())), float(seen.max()))
    counts, edges = np.histogram(held, wanted, ends)
    return Histogram(edges, counts, len(seen) - len(held))


def tail_start(scores: Floats) -> float:
    """The least of the finite scores that does not squeeze the picture of the others.

    Examples
    --------
    >>> import numpy as np
    >>> tail_start(np.append(np.linspace(-1, 0, 100), -50.0))
    -1.0
    """
    low, middle = np.quantile(scores, [0.01, 0.5])
    lowest = middle - _LONGEST_TAIL * (middle - low)
    return float(scores[scores >= lowest].min())


def value_edges(values: Floats) -> Floats:
    """Edges of 5 to 100 bins by the rule of Freedman and Diaconis.

    Examples
    --------
    >>> import numpy as np
    >>> len(value_edges(np.random.default_rng(0).normal(size=1000)))
    27
    """
    if not len(values) or values.min() == values.max():
        middle = float(values[0]) if len(values) else 0.5
        return np.linspace(middle - 0.5, middle + 0.5, 11)
    low, high = np.quantile(values, [0.25, 0.75])
    width = 2 * (high - low) / len(values) ** (1 / 3)
    span = values.max() - values.min()
    wanted = span / width if width > 0 else 50
    return np.linspace(values.min(), values.max(), int(np.clip(wanted, 5, 100)) + 1)


def _bin_count(n: int, most: int) -> int:
    return int(np.clip(2 * n ** (1 / 3), _FEWEST_BINS, most))


def _apart(low: float, high: float) -> tuple[float, float]:
    """Ends of a histogram, apart where all scores are all but equal."""
    least = _ALL_BUT_EQUAL * max(abs(low), abs(high))
    if high - low > least:
        return low, high
    return low - least - 0.5, high + least + 0.5
