"""Rows drawn from mixtures and curves: the data of tests, benchmarks and examples."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from rhokit.validation import generator

_BIMODAL_PROBABILITIES = np.array([0.3, 0.7])
_BIMODAL_MEANS = np.array([0.0, 5.0])

# Far enough inside the unit square that five times the usual noise stays in it.
_SPIRAL_REACH = 0.45
_SPIRAL_START = 0.1


def bimodal(n: int, random_state: Any = None) -> NDArray[np.float64]:
    r"""Rows of two hills on a line, :math:`0.3\,N(0, 1) + 0.7\,N(5, 1)`.

    Parameters
    ----------
    n : int
    random_state : int, RandomState or Generator, optional

    Returns
    -------
    X : array of shape (n, 1), float64

    See Also
    --------
    bimodal_pdf : The density that the rows come from.

    Examples
    --------
    >>> from rhokit.datasets import bimodal
    >>> X = bimodal(1000, random_state=0)
    >>> X.shape
    (1000, 1)
    >>> print(f"{(X > 2.5).mean():.2f}")
    0.72
    """
    rng = generator(random_state)
    hill = rng.choice(2, n, p=_BIMODAL_PROBABILITIES)
    return rng.normal(_BIMODAL_MEANS[hill], 1.0)[:, None]


def bimodal_pdf(x: Any) -> NDArray[np.float64]:
    r"""True density of :func:`bimodal`, :math:`0.3\,\varphi(x) + 0.7\,\varphi(x - 5)`.

    Parameters
    ----------
    x : array-like
        Of any shape, such as the rows (n, 1) themselves.

    Returns
    -------
    density : float64, of the shape of ``x``

    Examples
    --------
    >>> from rhokit.datasets import bimodal_pdf
    >>> bimodal_pdf([0.0, 2.5, 5.0]).round(4)
    array([0.1197, 0.0175, 0.2793])
    """
    x = np.asarray(x, dtype=np.float64)
    hills: NDArray[np.float64] = norm.pdf(x[..., None], _BIMODAL_MEANS)
    return hills @ _BIMODAL_PROBABILITIES


def spirals(
    n: int, noise: float = 0.01, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Three spirals wound about the middle of the unit square.

    Arm k follows :math:`(\tfrac12, \tfrac12) + r\,(\cos\theta, \sin\theta)` from
    :math:`r = 0.1` to 0.45 over one turn, :math:`\theta` starting at
    :math:`2\pi k/3`. The arms are 0.12 apart, so a kernel
    :math:`e^{-\gamma\|x-y\|^2}` with γ = 256 (bandwidth 0.044) resolves them.

    Parameters
    ----------
    n : int
    noise : float, default=0.01
        Standard deviation of a row about its arm, in both columns. Up to the default
        practically all rows lie in the unit square.
    random_state : int, RandomState or Generator, optional

    Returns
    -------
    X : array of shape (n, 2), float64
    arm : array of shape (n,), int
        0, 1 or 2: the arm of each row.

    Examples
    --------
    >>> from rhokit.datasets import spirals
    >>> X, arm = spirals(6, random_state=0)
    >>> X.shape, arm
    ((6, 2), array([2, 1, 1, 0, 0, 0]))
    """
    rng = generator(random_state)
    arm = rng.integers(3, size=n)
    turn = rng.uniform(size=n)
    radius = _SPIRAL_START + (_SPIRAL_REACH - _SPIRAL_START) * turn
    angle = 2 * np.pi * (turn + arm / 3)
    curve = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X = 0.5 + radius[:, None] * curve + rng.normal(0.0, noise, (n, 2))
    return X, arm


def clusters(
    n: int,
    d: int,
    *,
    n_clusters: int = 8,
    width: float = 0.08,
    centres: Any = None,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Rows of round clusters, equally likely, with centres in the unit cube.

    Parameters
    ----------
    n : int
    d : int
        Number of columns.
    n_clusters : int, default=8
        Number of centres to draw, uniform in the cube; ``centres`` goes before it.
    width : float, default=0.08
        Standard deviation of a cluster in every column.
    centres : array-like of shape (n_clusters, d), optional
        Those of an earlier call: more rows of the same mixture.
    random_state : int, RandomState or Generator, optional

    Returns
    -------
    X : array of shape (n, d), float64
    centres : array of shape (n_clusters, d), float64
        One seed gives the same centres for every ``n`` and ``width``.

    Examples
    --------
    >>> from rhokit.datasets import clusters
    >>> train, centres = clusters(1000, 10, random_state=0)
    >>> test, _ = clusters(200, 10, centres=centres, random_state=1)
    >>> train.shape, test.shape, centres.shape
    ((1000, 10), (200, 10), (8, 10))
    """
    rng = generator(random_state)
    if centres is None:
        centres = rng.uniform(size=(n_clusters, d))
    centres = np.array(centres, dtype=np.float64)
    if centres.ndim != 2 or centres.shape[1] != d:
        raise ValueError(
            f"clusters: centres must have shape (n_clusters, {d}), one column for "
            f"each of the rows, got {centres.shape}"
        )
    chosen = rng.integers(len(centres), size=n)
    return rng.normal(centres[chosen], width), centres
