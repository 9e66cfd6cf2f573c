"""Frequencies have the law that the kernel asks for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi, kstest, norm, qmc, uniform

from rhokit.fast import HadamardFrequencies
from rhokit.features.sampling import SAMPLING_RULES, draw_frequencies, draw_signs

DENSE = [rule for rule in SAMPLING_RULES if rule != "structured"]
CONFIDENCE = 1e-3  # seeds are fixed: a red test means a changed law, not bad luck

every_dense = pytest.mark.parametrize("sampling", DENSE)


def draw(sampling, d, count, seed):
    """Frequencies (d, count) as a matrix, and phases."""
    rng = np.random.default_rng(seed)
    if sampling != "structured":
        return draw_frequencies(sampling, d, count, rng)[:2]
    signs, lengths = draw_signs(d, count, rng)
    return np.eye(d) @ HadamardFrequencies(signs, lengths), rng.random(count)


def off_diagonal(matrix):
    return matrix - np.diag(np.diag(matrix))


def draw_many(sampling, d, count, seeds=60):
    return [draw(sampling, d, count, seed)[0] for seed in range(seeds)]


@pytest.mark.parametrize("sampling", SAMPLING_RULES)
@pytest.mark.parametrize(("d", "count"), [(1, 1), (1, 5), (3, 2), (5, 13), (64, 70)])
def test_shapes(sampling, d, count):
    frequencies, phases = draw(sampling, d, count, 0)
    assert frequencies.shape == (d, count)
    assert phases.shape == (count,)
    assert np.isfinite(frequencies).all()
    assert ((phases >= 0) & (phases < 1)).all()


@pytest.mark.parametrize(
    ("sampling", "d"),
    [
        ("iid", 3),
        ("iid", 64),
        ("orthogonal", 3),
        ("orthogonal", 64),
        ("structured", 64),
    ],
)
def test_lengths_are_chi_distributed(sampling, d):
    drawn = np.concatenate(draw_many(sampling, d, 2 * d), axis=1)
    lengths = np.linalg.norm(drawn, axis=0)
    assert kstest(lengths, chi(d).cdf).pvalue > CONFIDENCE


@pytest.mark.parametrize("sampling", SAMPLING_RULES)
@pytest.mark.parametrize("d", [1, 3, 8])
def test_coordinates_are_normal(sampling, d):
    drawn = np.concatenate(draw_many(sampling, d, 64), axis=1)
    for coordinate in drawn:
        assert kstest(coordinate, norm.cdf).statistic < 0.04
    covariance = drawn @ drawn.T / drawn.shape[1]
    assert_allclose(covariance, np.eye(d), atol=0.1)


@every_dense
def test_phases_are_uniform(sampling):
    phases = np.concatenate([draw(sampling, 2, 32, seed)[1] for seed in range(60)])
    assert kstest(phases, uniform.cdf).pvalue > CONFIDENCE


@pytest.mark.parametrize(("sampling", "d"), [("orthogonal", 7), ("structured", 64)])
def test_a_block_is_orthogonal(sampling, d):
    frequencies, _ = draw(sampling, d, 2 * d + 3, 5)
    blocks = [frequencies[:, start : start + d] for start in range(0, 2 * d + 3, d)]
    for block in blocks:
        assert_allclose(off_diagonal(block.T @ block), 0, atol=1e-11)
    lengths = np.linalg.norm(frequencies, axis=0)
    assert len(np.unique(lengths.round(9))) == len(lengths)
    between = blocks[0].T @ blocks[1]
    assert np.abs(between).max() > 0.1  # blocks are independent of each other


@pytest.mark.parametrize(("d", "count"), [(9, 4), (9, 9), (9, 13), (1, 3)])
def test_orthogonal_ones_are_the_first_of_whole_rotations(d, count):
    rng = np.random.default_rng(5)
    rotations = []
    for _ in range(-(-count // d)):
        q, r = np.linalg.qr(rng.normal(size=(d, d)))
        rotations.append(q * np.sign(np.diag(r)))
    expected = np.hstack(rotations)[:, :count] * chi(d).rvs(count, random_state=rng)
    assert_allclose(draw("orthogonal", d, count, 5)[0], expected, atol=1e-12)


def test_independent_ones_are_not_orthogonal():
    frequencies, _ = draw("iid", 7, 7, 5)
    assert np.abs(off_diagonal(frequencies.T @ frequencies)).max() > 0.1


@pytest.mark.parametrize("sampling", ["sobol", "halton"])
def test_low_discrepancy(sampling):
    points, _ = draw(sampling, 2, 256, 0)
    independent, _ = draw("iid", 2, 256, 0)
    even, uneven = (
        qmc.discrepancy(norm.cdf(drawn.T)) for drawn in (points, independent)
    )
    assert even < uneven / 5


@pytest.mark.parametrize("sampling", SAMPLING_RULES)
def test_seeds(sampling):
    first, again, other = (draw(sampling, 3, 20, seed) for seed in (1, 1, 2))
    for part, same, different in zip(first, again, other, strict=True):
        assert_array_equal(part, same)
        assert (part != different).any()


@pytest.mark.parametrize(
    ("d", "count", "shape"),
    [(1, 5, (1, 3, 64)), (64, 65, (2, 3, 64)), (65, 1, (1, 3, 128))],
)
def test_signs(d, count, shape):
    signs, lengths = draw_signs(d, count, np.random.default_rng(0))
    assert signs.shape == shape
    assert set(np.unique(signs)) == {-1, 1}
    assert lengths.shape == (count,)


def test_sobol_points_have_a_most_dimension():
    most = qmc.Sobol.MAXDIM
    with pytest.raises(ValueError, match=rf"up to {most - 1} columns, got {most}"):
        draw("sobol", most, 1, 0)
