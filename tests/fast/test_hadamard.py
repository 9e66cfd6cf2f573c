"""Structured frequencies, against the matrices written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import hadamard

from rhokit.fast import HadamardFrequencies
from rhokit.fast.hadamard import hadamard_transform

TOLERANCE = {"float32": 1e-5, "float64": 1e-12}


@pytest.fixture
def rng():
    return np.random.default_rng(14)


def written_out(signs, lengths):
    """``D₁HD₂HD₃H`` of each block, side by side, columns scaled to their lengths."""
    width = signs.shape[2]
    blocks = []
    for diagonals in signs:
        block = np.eye(width)
        for diagonal in diagonals:
            block = block @ np.diag(diagonal) @ hadamard(width)
        blocks.append(block / width**1.5)
    return np.concatenate(blocks, axis=1)[:, : len(lengths)] * lengths


@pytest.mark.parametrize("width", [1, 2, 8, 64])
@pytest.mark.parametrize("n", [1, 5])
def test_transform(loops, real, width, n, rng):
    values = rng.normal(size=(n, width)).astype(real)
    transformed = hadamard_transform(values.copy())
    assert transformed.dtype == real
    assert_allclose(
        transformed, values @ hadamard(width), rtol=1e-4, atol=8 * TOLERANCE[real]
    )


@pytest.mark.parametrize(
    ("d", "width", "n_blocks", "count"),
    [(8, 8, 1, 8), (5, 8, 3, 20), (1, 2, 2, 3), (64, 64, 2, 100), (33, 64, 1, 1)],
)
def test_product(loops, real, d, width, n_blocks, count, rng):
    signs = rng.choice(np.array([-1, 1], np.int8), size=(n_blocks, 3, width))
    lengths = rng.uniform(1, 2, size=count)
    frequencies = HadamardFrequencies(signs, lengths)
    assert frequencies.shape == (width, count)
    rows = rng.normal(size=(7, d)).astype(real)
    copy = rows.copy()
    product = rows @ frequencies
    assert product.dtype == real
    expected = rows.astype(float) @ written_out(signs, lengths)[:d]
    assert_allclose(product, expected, atol=10 * TOLERANCE[real])
    assert_array_equal(rows, copy)


def test_blocks_are_rotations(rng):
    signs = rng.choice(np.array([-1, 1], np.int8), size=(1, 3, 16))
    rotation = np.eye(16) @ HadamardFrequencies(signs, np.ones(16))
    assert_allclose(rotation.T @ rotation, np.eye(16), atol=1e-14)
