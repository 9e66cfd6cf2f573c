"""Work that is left undone where the answer does not need it."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rhokit import DMKDE, DMKDClassifier
from rhokit.core import DensityMatrix
from rhokit.fast import Series
from rhokit.features import GridFeatures, LandmarkFeatures
from rhokit.plans import bandwidth, maps
from rhokit.representations import fourier_density, matrix
from rhokit.representations.fourier_points import derivative_orders, derivatives


def forbidden(*arguments, **options):
    raise AssertionError("this is not needed")


def counting(monkeypatch, owner, name):
    """Objects and arguments of all calls of a method from now on."""
    calls, method = [], getattr(owner, name)

    def counted(self, *arguments, **options):
        calls.append((self, *arguments))
        return method(self, *arguments, **options)

    monkeypatch.setattr(owner, name, counted)
    return calls


class TestOutlier:
    """A grid between few rows that are far apart is large, their kernels are few."""

    @pytest.fixture
    def rows(self):
        rows = np.random.default_rng(0).normal(size=(100, 2))
        rows[0] = 100
        return rows

    def test_takes_no_series_to_choose_gamma(self, rows, monkeypatch):
        made = counting(monkeypatch, GridFeatures, "sums")
        model = DMKDE(random_state=0, n_components=50).fit(rows)
        assert model.feature_map_.name == "grid"
        sizes = [each.grid_.n_modes for each, _ in made]
        assert sum(size > len(rows) ** 2 for size in sizes if size > 2**16) == 1

    @pytest.mark.parametrize("weighted", [False, True])
    def test_gamma_is_that_of_the_series(self, rows, weighted, monkeypatch):
        weights = np.arange(1, 101) if weighted else None
        few = DMKDE(random_state=0).fit(rows, sample_weight=weights)
        monkeypatch.setattr(bandwidth, "_LARGE_GRID", np.inf)
        many = DMKDE(random_state=0).fit(rows, sample_weight=weights)
        assert_allclose(few.gamma_, many.gamma_, rtol=1e-8)

    def test_takes_little_memory_and_answers_as_the_grid_does(self, monkeypatch):
        """One row at 300 standard deviations among 300."""
        rows = np.random.default_rng(0).normal(size=(300, 2))
        rows[0] = 300
        tracemalloc.start()
        try:
            model = DMKDE(random_state=0).fit(rows)
            found = model.score_samples(rows)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 1e8
        monkeypatch.setattr(maps, "_MOST_FOR_FEW_ROWS", np.inf)
        grid = DMKDE(random_state=0).fit(rows)
        assert grid.feature_map_.name == "grid"
        assert_allclose(found, grid.score_samples(rows), atol=1e-6)


class TestFewPoints:
    @pytest.mark.parametrize("shape", [(6,), (5, 4), (3, 5, 4)])
    def test_derivatives_are_those_of_the_waves(self, shape):
        """By a plain sum over all waves."""
        rng = np.random.default_rng(0)
        c = rng.normal(size=shape) + 1j * rng.normal(size=shape)
        angles = rng.uniform(-3, 3, (7, len(shape)))
        expected = np.zeros((7, len(derivative_orders(len(shape)))))
        for place in np.ndindex(*shape):
            half = np.array([*(size // 2 for size in shape[:-1]), 0])
            step = np.array(place) - half
            wave = c[place] * np.exp(-1j * angles @ step) * (1 + (step[-1] > 0))
            for column, order in enumerate(derivative_orders(len(shape))):
                expected[:, column] += (wave * np.prod((-1j * step) ** order)).real
        assert_allclose(derivatives(c, angles), expected, atol=1e-12)
        assert derivatives(c, angles[:0]).shape == (0, expected.shape[1])

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_modes_need_no_transforms(self, d, monkeypatch):
        rows = np.random.default_rng(0).normal(size=(8, d))
        grid = GridFeatures(tol=1e-4)
        series = DMKDE(gamma=40.0 / d, scale=None, feature_map=grid).fit(rows).series()
        with monkeypatch.context() as patch:
            patch.setattr(Series, "values", forbidden)
            few = series.modes()
        monkeypatch.setattr(fourier_density, "pays", lambda *given: False)
        assert len(few) > 1
        assert_allclose(series.modes(), few, atol=1e-4)


class TestFewRowsOfAClass:
    """Fewer than the map has columns: no matrix of all columns is whitened."""

    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(0)
        labels = np.arange(120) % 6
        return rng.normal(size=(120, 5)) + labels[:, None] / 3, labels

    @pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0])
    def test_predictions_are_those_of_the_whole_matrix(self, data, gamma, monkeypatch):
        options = {
            "gamma": gamma,
            "scale": None,
            "feature_map": "landmarks",
            "random_state": 0,
        }
        with monkeypatch.context() as patch:
            patch.setattr(DensityMatrix, "change_basis", forbidden)
            few = DMKDClassifier(**options).fit(*data).predict_proba(data[0])
        monkeypatch.setattr(matrix, "_few_rows", lambda state: None)
        whole = DMKDClassifier(**options).fit(*data).predict_proba(data[0])
        assert_allclose(few, whole, atol=1e-10)


def test_a_map_is_made_once_for_a_gamma(monkeypatch):
    rng = np.random.default_rng(0)
    made = counting(monkeypatch, LandmarkFeatures, "with_gamma")
    X, y = rng.normal(size=(150, 6)), np.arange(150) % 3
    DMKDClassifier(random_state=0, feature_map="landmarks").fit(X, y)
    gammas = [gamma for _, gamma, *_ in made]
    assert all(a != b for a, b in pairwise(gammas))
