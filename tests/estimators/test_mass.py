"""Densities that integrate to one, and what their maps alone would have had."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

import rhokit
from rhokit import (
    DMKDE,
    DMKDClassifier,
    LandmarkFeatures,
    MeanEmbeddingKDE,
    OneHotFeatures,
    QMRegressor,
    SoftmaxFeatures,
)
from rhokit.datasets import clusters

FEW = {"feature_map": "landmarks", "n_components": 20, "random_state": 0}


def normal(n=400, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * (1 + np.arange(d)) + 5


def lattice(rows, n):
    """Nodes around rows, and the volume of the cell of a node."""
    middle, width = rows.mean(axis=0), rows.std(axis=0)
    axes = [
        np.linspace(m - 9 * w, m + 9 * w, n) for m, w in zip(middle, width, strict=True)
    ]
    nodes = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))
    return nodes, np.prod([axis[1] - axis[0] for axis in axes])


def integral(model, rows):
    nodes, volume = lattice(rows, {1: 4001, 2: 301, 3: 81}[rows.shape[1]])
    return np.exp(model.score_samples(nodes)).sum() * volume


class TestQuadrature:
    """Against sums over a lattice."""

    @pytest.mark.parametrize("d", [1, 2, 3])
    @pytest.mark.parametrize("rank", [None, 5, 0.3, "elbow"])
    def test_ranks(self, d, rank):
        rows = normal(d=d)
        model = DMKDE(**FEW, rank=rank).fit(rows)
        assert_allclose(integral(model, rows), 1, rtol=0, atol=1e-6)
        assert 0.1 < model.mass_ < 1
        assert model.mass_error_ == 0
        assert_allclose(integral(model.compact(), rows), 1, rtol=0, atol=1e-6)

    @pytest.mark.parametrize("d", [1, 2])  # mosaics have tests of their own
    def test_default(self, d):
        rows = normal(d=d)
        model = DMKDE(random_state=0).fit(rows)
        assert_allclose(integral(model, rows), 1, rtol=0, atol=1e-6)
        assert_allclose(model.mass_, 1, atol=1e-6)

    @pytest.mark.parametrize("feature_map", ["landmarks", "quadrature"])
    @pytest.mark.parametrize("d", [1, 2])
    def test_means(self, d, feature_map):
        rows = normal(d=d)
        model = MeanEmbeddingKDE(**FEW | {"feature_map": feature_map}, gamma=1.0)
        model.fit(rows)
        nodes, volume = lattice(rows, {1: 4001, 2: 301}[d])
        assert_allclose(model.density(nodes).sum() * volume, 1, rtol=0, atol=1e-6)

    @pytest.mark.parametrize("priors", ["empirical", "uniform", [0.1, 0.9]])
    def test_classes(self, priors):
        rows = normal(d=2)
        labels = rows[:, 0] > 5.7
        model = DMKDClassifier(**FEW, gamma=1.0, priors=priors).fit(rows, labels)
        assert_allclose(integral(model, rows), 1, rtol=0, atol=1e-6)
        model.priors = "empirical"  # which is looked at when asked
        assert_allclose(integral(model, rows), 1, rtol=0, atol=1e-6)

    def test_two_targets(self):
        rows = normal(d=2)
        model = QMRegressor(**FEW, gamma=1.0).fit(rows, rows[:, ::-1] ** 2)
        assert_allclose(integral(model, rows), 1, rtol=0, atol=1e-6)

    def test_whitened_rows_and_their_marginals(self):
        rows = normal(d=3) @ np.array([[1.0, 0.9, 0], [0, 1, 0.5], [0, 0, 1]])
        model = DMKDE(**FEW, scale="whiten").fit(rows)
        assert_allclose(integral(model, rows), 1, rtol=0, atol=1e-6)
        for kept in ([0], [2], [0, 2]):
            part = model.marginal(kept)
            assert_allclose(integral(part, rows[:, kept]), 1, rtol=0, atol=1e-6)
            assert_allclose(part.mass_, model.mass_)

    def test_missing_values_are_marginals(self):
        rows = normal(d=3)
        model = DMKDE(**FEW, missing="integrate").fit(rows)
        holes = rows[:5].copy()
        holes[:, 1] = np.nan
        found = model.score_samples(holes)
        expected = model.marginal([0, 2]).score_samples(rows[:5, [0, 2]])
        assert_allclose(found, expected, rtol=1e-8)
        assert_allclose(model.score_samples(np.full((1, 3), np.nan)), 0, atol=1e-8)

    def test_series_of_landmarks(self):
        rows = normal(d=2)
        series = DMKDE(**FEW).fit(rows).series()
        assert_allclose(series.box_probability([-99, -99], [99, 99]), 1, atol=1e-6)

    def test_categories_of_all_kinds(self):
        rng = np.random.default_rng(0)
        level = pd.Categorical(
            rng.choice(["a", "b", "c", "d"], 300, p=[0.7, 0.1, 0.1, 0.1]), ordered=True
        )
        group = pd.Categorical(rng.choice(["x", "y"], 300))
        frame = pd.DataFrame({"v": normal(300, 1)[:, 0], "l": level, "g": group})
        nodes, volume = lattice(frame[["v"]].to_numpy(), 2001)
        for kind in (DMKDE, MeanEmbeddingKDE):
            model = kind(**FEW | {"n_components": 12}, gamma=0.5).fit(frame)
            total = sum(
                model.density(pd.DataFrame({"v": nodes[:, 0]}).assign(l=a, g=b)).sum()
                for a in "abcde"
                for b in "xyz"
            )
            assert_allclose(total * volume, 1, rtol=0, atol=1e-6)

    def test_saved(self, tmp_path):
        rows = normal(d=2)
        model = DMKDE(**FEW, rank=6).fit(rows)
        rhokit.save(model, tmp_path / "m.rho", state="factor")
        again = rhokit.load(tmp_path / "m.rho")
        assert_allclose(integral(again, rows), 1, rtol=0, atol=1e-6)
        assert_allclose(again.mass_, model.mass_)


class TestSampling:
    """In many columns, by importance sampling from the clusters themselves."""

    @pytest.mark.parametrize(("d", "gamma"), [(10, 20.0), (40, 4.0)])
    def test_many_columns(self, d, gamma):
        rows, centres = clusters(3000, d, random_state=0)
        which = cdist(rows, centres).argmin(axis=1)
        model = DMKDE(gamma=gamma, scale=None, n_components=256, random_state=0).fit(
            rows
        )
        parts = []
        for label in np.unique(which):
            own = rows[which == label]
            # As wide as the rows and their kernels, and a little more.
            cov = np.cov(own.T) + np.eye(d) / (2 * gamma)
            parts.append((len(own) / len(rows), own.mean(axis=0), 1.05 * cov))
        rng = np.random.default_rng(1)
        counts = rng.multinomial(40_000, [part[0] for part in parts])
        drawn = np.concatenate(
            [
                rng.multivariate_normal(mean, cov, count)
                for count, (_, mean, cov) in zip(counts, parts, strict=True)
            ]
        )
        proposal = sum(
            share * multivariate_normal(mean, cov).pdf(drawn)
            for share, mean, cov in parts
        )
        ratios = np.exp(model.score_samples(drawn) - np.log(proposal))
        assert_allclose(ratios.mean(), 1, atol=0.01)

    def test_the_papers_map_is_not_divided(self):
        rows = normal(d=2)
        model = DMKDE(feature_map="fourier", random_state=0).fit(rows)
        phi = model.feature_map_.transform(model.scaling_.apply(rows))
        measured = np.einsum("nd,de,ne->n", phi, phi.T @ phi / len(phi), phi)
        norm = model.scaling_.log_volume - model.feature_map_.log_mass(2)
        assert_allclose(model.score_samples(rows), np.log(measured) + norm)
        assert np.isfinite(model.floor_)
        assert abs(model.mass_ - 1) < 0.1
        assert 0 < model.mass_error_ < 0.02

    def test_unknown(self):
        model = DMKDE(feature_map=SoftmaxFeatures(n_components=4)).fit(normal(d=1))
        assert np.isnan(model.mass_)
        assert np.isnan(model.mass_error_)

    def test_unit_states_are_estimated(self):
        rows = normal(d=2)
        landmarks = LandmarkFeatures(n_components=30, normalize=True)
        model = DMKDE(feature_map=landmarks, random_state=0).fit(rows)
        assert model.mass_error_ > 0


class TestLeaveOneOut:
    """The model without a row, with the mass that it has without it."""

    @pytest.mark.parametrize("kind", [DMKDE, MeanEmbeddingKDE])
    def test_is_the_model_without_the_row(self, kind):
        rows = normal(30, 2)
        model = kind(**FEW | {"n_components": 6}, gamma=1.0).fit(rows)
        left = model.score_samples(rows, leave_one_out=True)
        for row, expected in zip(rows[:6, None], left[:6], strict=True):
            without = model.blank().merge(model).unlearn(row)
            assert_allclose(without.score_samples(row)[0], expected, rtol=1e-8)

    @pytest.mark.parametrize("priors", ["empirical", "uniform"])
    def test_classes(self, priors):
        rows = normal(40, 2)
        labels = np.arange(40) % 3 == 0
        model = DMKDClassifier(
            **FEW | {"n_components": 6}, gamma=1.0, priors=priors
        ).fit(rows, labels)
        left = model.score_samples(rows, labels, leave_one_out=True)
        for i in range(6):
            row, label = rows[i : i + 1], labels[i : i + 1]
            without = model.blank().merge(model).unlearn(row, label)
            assert_allclose(without.score_samples(row)[0], left[i], rtol=1e-8)

    def test_thresholds_stay_when_sums_are_gone(self):
        rows = normal(60, 2)
        labels = np.arange(60) % 2
        model = DMKDClassifier(**FEW | {"n_components": 8}, gamma=1.0, reject=0.2)
        model.fit(rows, labels)
        assert_allclose(model.compact().threshold_, model.threshold_, rtol=1e-9)


class TestWarning:
    def test_once_for_a_model_that_misses_much(self):
        model = DMKDE(**FEW).fit(normal(d=3))
        with pytest.warns(UserWarning, match="the map misses .*more components"):
            model.score_samples(normal(5))
        assert model.mass_ < 0.9
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.score(normal(5))
            model.density(normal(5))
            model.sample(2, random_state=0)
            model.marginal(0).density(normal(5, 1))

    def test_none_where_little_is_missed(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = DMKDE(random_state=0).fit(normal(d=3))
            model.score_samples(normal(5))
            words = np.array([["a"], ["b"], ["a"]])
            DMKDE(feature_map=OneHotFeatures()).fit(words).density(words)

    def test_rows_beyond_all_landmarks_have_no_density(self):
        model = DMKDE(**FEW, gamma=1.0).fit(normal(d=2))
        away = model.blank().partial_fit([[1e9, 1e9], [-1e9, 1e9]])
        assert away.mass_ == 0
        assert_allclose(away.score_samples(normal(3, 2)), -np.inf)
