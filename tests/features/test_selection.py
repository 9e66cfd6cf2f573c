"""Landmarks that are left out because others tell what they would."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rhokit.features.selection import independent_landmarks


@pytest.mark.parametrize("least", [1e-2, 1e-6])
def test_independent_landmarks_tell_the_others(least):
    """What they leave is the variance of a process of which they are known."""
    landmarks = np.random.default_rng(0).normal(size=(80, 2))
    kept = independent_landmarks(landmarks, 0.5, least)
    kernel = np.exp(-0.25 * cdist(landmarks, kept, "sqeuclidean"))
    among = np.exp(-0.25 * cdist(kept, kept, "sqeuclidean"))
    left = 1 - np.einsum("ij,ji->i", kernel, np.linalg.solve(among, kernel.T))
    assert 4 < len(kept) < 80
    assert left.max() <= least * (1 + 1e-6)
    assert (kept[:, None] == landmarks).all(axis=2).any(axis=1).all()
    fewer = independent_landmarks(landmarks, 0.5, 10 * least)
    assert len(fewer) < len(kept)
