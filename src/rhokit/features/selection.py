"""Landmarks for weighted rows, by k-means or at random."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from rhokit.fast import small_algebra
from rhokit.features.sample import distinct_rows

# Landmarks of a group are worth a careful start of k-means up to so many numbers.
_FEW_NUMBERS = 2**15
# Landmarks are chosen from at most this many rows, or so many per landmark.
_SELECTION_ROWS = 4096
_SELECTION_ROWS_PER_LANDMARK = 10


def select_landmarks(
    rows: NDArray[Any],
    weights: NDArray[np.float64] | None,
    n_landmarks: int,
    selection: str,
    rng: np.random.Generator,
    groups: NDArray[Any] | None = None,
    careful: bool = False,
) -> NDArray[Any]:
    """At most ``n_landmarks`` landmarks for weighted rows, shape (m, d).

    With ``groups`` (n,), such as the rows' classes, each group gets landmarks of its
    own, as many as its share of the weight and at least one: none then lies between
    two groups, where it would tell nothing. ``careful`` seeds k-means with its own
    "++" rule: better, but one centre after the other.
    """
    if groups is not None:
        return _landmarks_by_group(rows, weights, n_landmarks, selection, rng, groups)
    most = max(_SELECTION_ROWS, _SELECTION_ROWS_PER_LANDMARK * n_landmarks)
    distinct, mass = distinct_rows(rows, weights, most, rng)
    if len(distinct) <= n_landmarks:
        return distinct
    if selection == "uniform":
        chosen = rng.choice(
            len(distinct), n_landmarks, replace=False, p=mass / mass.sum()
        )
        return distinct[np.sort(chosen)]
    seed = int(rng.integers(2**31 - 1))
    if selection == "kmeans++":
        _, chosen = kmeans_plusplus(
            distinct, n_landmarks, sample_weight=mass, random_state=seed
        )
        return distinct[np.unique(chosen)]
    init = "k-means++" if careful else "random"
    kmeans = KMeans(n_landmarks, init=init, n_init=1, max_iter=10, random_state=seed)
    with small_algebra(n_landmarks), warnings.catch_warnings():
        # Rows that differ by rounding alone share a centre: fewer landmarks suffice.
        warnings.simplefilter("ignore", ConvergenceWarning)
        kmeans.fit(distinct, sample_weight=mass)
    return np.unique(kmeans.cluster_centers_, axis=0)


def independent_landmarks(
    landmarks: NDArray[Any], gamma: float, least: float
) -> NDArray[Any]:
    """Landmarks (m, d) without those whose kernel columns follow from the others.

    The one that is told worst comes next, until all are told but for a variance of
    ``least``: a Cholesky factor with pivots.

    Parameters
    ----------
    landmarks : array of shape (m, d)
    gamma : float
        Of squared overlaps.
    least : float
    """
    centred = landmarks.astype(np.float64) - landmarks.mean(axis=0, dtype=np.float64)
    matrix = np.exp(-gamma / 2 * cdist(centred, centred, "sqeuclidean"))
    with small_algebra(len(matrix)):
        _, order, rank, _ = lapack.dpstrf(matrix, tol=least, lower=1)
    return np.ascontiguousarray(landmarks[np.sort(order[:rank] - 1)])


def _landmarks_by_group(
    rows: NDArray[Any],
    weights: NDArray[np.float64] | None,
    n_landmarks: int,
    selection: str,
    rng: np.random.Generator,
    groups: NDArray[Any],
) -> NDArray[Any]:
    mass = np.ones(len(rows)) if weights is None else weights
    names, codes = np.unique(groups[mass > 0], return_inverse=True)
    rows, mass = rows[mass > 0], mass[mass > 0]
    shares = np.bincount(codes, mass) / mass.sum()
    counts = np.maximum(1, np.floor(shares * n_landmarks)).astype(int)
    if len(names) > n_landmarks:
        return select_landmarks(rows, mass, n_landmarks, selection, rng)
    # What rounding down left over goes to those who lost most by it; what the
    # guaranteed one cost is taken from those who have most.
    while (left := n_landmarks - counts.sum()) > 0:
        counts[np.argsort(counts - shares * n_landmarks)[:left]] += 1
    while counts.sum() > n_landmarks:
        counts[counts.argmax()] -= 1
    parts = []
    for code, count in enumerate(counts.tolist()):
        own, own_mass = rows[codes == code], mass[codes == code]
        careful = count * rows.shape[1] <= _FEW_NUMBERS
        parts.append(
            select_landmarks(own, own_mass, count, selection, rng, careful=careful)
        )
    return np.unique(np.concatenate(parts), axis=0)
