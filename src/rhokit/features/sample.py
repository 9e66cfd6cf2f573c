"""A sample of distinct rows with their weights, for choices made from the data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def distinct_rows(
    rows: NDArray[Any],
    weights: NDArray[np.float64] | None,
    max_rows: int,
    rng: np.random.Generator,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """At most ``max_rows`` rows without repetition, sorted, with summed weights.

    Up to ``max_rows`` rows, the answer depends on the weighted set of rows alone: not
    on their order, nor on whether a row is there twice or has weight two.
    """
    if weights is None:
        weights = np.ones(len(rows))
    seen = np.flatnonzero(weights)
    if len(seen) > max_rows:
        seen = np.sort(rng.choice(seen, max_rows, replace=False))
    rows, weights = rows[seen], weights[seen]
    # 0.0 and -0.0 are one value to arithmetic but two to a sort by bytes.
    distinct, inverse = np.unique(rows + 0, axis=0, return_inverse=True)
    mass = np.zeros(len(distinct))
    np.add.at(mass, inverse.ravel(), weights)
    return distinct, mass
