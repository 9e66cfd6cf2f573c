"""Densities that a sample of their rows corrects."""

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KernelDensity

from rhokit import DMKDE, OneHotFeatures
from rhokit.datasets import clusters

GAMMA = 60.0


def rows_and_queries(n=4000, d=8):
    rows, _ = clusters(n + 200, d, random_state=0)
    return rows[:n], rows[n:]


def exact_logs(rows, queries, gamma=GAMMA):
    model = KernelDensity(bandwidth=1 / np.sqrt(2 * gamma), rtol=0).fit(rows)
    return model.score_samples(queries)


def relative_rmse(logs, expected):
    found, truth = np.exp(logs), np.exp(expected)
    return np.sqrt(np.mean((found - truth) ** 2) / np.mean(truth**2))


def model_of(rows, **parameters):
    given = {"gamma": GAMMA, "scale": None, "n_components": 64, "random_state": 0}
    return DMKDE(**given | parameters).fit(rows)


@pytest.mark.parametrize("feature_map", ["landmarks", "fourier"])
@pytest.mark.parametrize("rank", [None, 5])
def test_all_rows_as_the_sample_leave_no_error(feature_map, rank):
    rows, queries = rows_and_queries(600)
    model = model_of(rows, feature_map=feature_map, rank=rank)
    found = model.corrected(rows).score_samples(queries)
    assert_allclose(found, exact_logs(rows, queries), atol=1e-6)
    assert model.rank == rank


def test_the_formula_written_out():
    rows, queries = rows_and_queries(800, 5)
    model = model_of(rows, feature_map="landmarks")
    sample, weights = rows[:50], np.linspace(0.5, 1.5, 50)
    phi = model.feature_map_.transform
    represented = (phi(queries) @ phi(sample).T) ** 2
    kernels = np.exp(-GAMMA * cdist(queries, sample, "sqeuclidean"))
    mass = (np.pi / GAMMA) ** (5 / 2)
    shares = weights / weights.sum()
    undivided = model.density(queries) * model.mass_
    formula = undivided + (kernels - represented) @ shares / mass
    least = (kernels @ shares) * weights.sum() / 800 / mass
    states = phi(sample)
    held = shares @ np.vecdot(states @ model.feature_map_.mass_matrix(), states)
    expected = np.maximum(formula, least) / (model.mass_ + 1 - held)
    found = model.corrected(sample, sample_weight=weights).density(queries)
    assert_allclose(found, expected, rtol=1e-9)


def test_a_sample_makes_the_error_smaller_than_map_and_sample_alone():
    rows, queries = rows_and_queries()
    expected = exact_logs(rows, queries)
    model, sample = model_of(rows, n_components=256), rows[:1000]
    plain = relative_rmse(model.score_samples(queries), expected)
    alone = relative_rmse(exact_logs(sample, queries), expected)
    found = model.corrected(sample).score_samples(queries)
    assert relative_rmse(found, expected) < 0.9 * min(plain, alone)


def test_far_rows_have_finite_log_densities():
    rows, _ = rows_and_queries(500)
    far = np.array([rows[0] + 30.0, rows[1] - 100.0])
    found = model_of(rows).corrected(rows[:100]).score_samples(far)
    assert np.isfinite(found).all()


def test_scaled_columns_and_float32():
    rows, queries = rows_and_queries(600, 6)
    stretch = np.array([1, 10, 100, 1, 1, 0.1])
    model = DMKDE(gamma=5.0, n_components=32, scale="std", random_state=0)
    model.fit((rows * stretch).astype(np.float32))
    found = model.corrected((rows * stretch).astype(np.float32))
    deviations = (rows * stretch).std(axis=0)
    expected = exact_logs(
        rows * stretch / deviations, queries * stretch / deviations, 5
    )
    assert_allclose(
        found.score_samples(queries * stretch),
        expected - np.log(deviations).sum(),
        atol=2e-3,
    )


def test_categories_beside_numbers():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=300)})
    frame["kind"] = pandas.Categorical(rng.choice(["a", "b", "c"], 300))
    rich = DMKDE(gamma=3.0, scale=None, n_components=300, random_state=0).fit(frame)
    poor = DMKDE(gamma=3.0, scale=None, n_components=20, random_state=0).fit(frame)
    found = poor.corrected(frame).score_samples(frame[:50])
    assert_allclose(found, rich.score_samples(frame[:50]), atol=1e-5)


def test_what_cannot_be_corrected_is_refused():
    rows, queries = rows_and_queries(300)
    with pytest.raises(NotFittedError):
        DMKDE().corrected(rows)
    with pytest.raises(ValueError, match="8 features"):
        model_of(rows).corrected(rows[:, :3])
    words = DMKDE(feature_map=OneHotFeatures()).fit([["a"], ["b"]])
    with pytest.raises(ValueError, match="corrected: only densities of numbers"):
        words.corrected([["a"]])
    model = model_of(rows, missing="integrate")
    queries[0, 0] = np.nan
    with pytest.raises(ValueError, match="corrected is for rows without gaps"):
        model.corrected(rows[:50]).score_samples(queries)
    with pytest.raises(TypeError, match="holds only a factor"):
        model_of(rows).compact().corrected(rows[:50])
