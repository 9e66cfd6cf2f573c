"""Every map under every estimator: the file says what the model says."""

import numpy as np
import pytest

from rhokit import (
    DMKDE,
    CoherentFeatures,
    DMKDClassifier,
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    MeanEmbeddingKDE,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
    QuadratureFeatures,
    SoftmaxFeatures,
)
from tests.export.support import (
    assert_same_density,
    assert_same_probabilities,
    assert_same_values,
    run,
    wine,
)

# Every form and every sampling of random features, in pairs.
FOURIER = (
    ("phase", "iid"),
    ("phase", "structured"),
    ("pair", "orthogonal"),
    ("pair", "halton"),
    ("complex", "iid"),
    ("complex", "sobol"),
)


def fourier(form, sampling, normalize=True):
    return FourierFeatures(
        n_components=40,
        form=form,
        sampling=sampling,
        normalize=normalize,
        random_state=0,
    )


# Map and number of columns.
MAPS = {
    "landmarks": (LandmarkFeatures(n_components=40, random_state=0), 13),
    "few columns": (LandmarkFeatures(n_components=40, random_state=0), 2),
    "unit landmarks": (
        LandmarkFeatures(n_components=40, normalize=True, random_state=0),
        13,
    ),
    **{
        f"fourier {form} {sampling}": (fourier(form, sampling), 5)
        for form, sampling in FOURIER
    },
    "fourier of any length": (fourier("phase", "iid", normalize=False), 5),
    "quadrature 1": (QuadratureFeatures(), 1),
    "quadrature 2": (QuadratureFeatures(tol=1e-4), 2),
    "softmax": (SoftmaxFeatures(n_components=8), 3),
    "one landmark": (SoftmaxFeatures(n_components=1), 2),
}
GRIDS = {
    "grid 1": (GridFeatures(), 1),
    "grid 2": (GridFeatures(), 2),
    "grid 3": (GridFeatures(tol=1e-4), 3),
}

# Of these, no density.
SPINS = {
    f"spins {spin} {form}": (CoherentFeatures(spin=spin, form=form), d)
    for spin, d in ((0.5, 5), (1.5, 3), (64, 1))
    for form in ("real", "complex")
}


def names(maps):
    return pytest.mark.parametrize("name", maps)


def settings(name):
    """Parameters of a model, and columns of the wine."""
    feature_map, d = (MAPS | GRIDS | SPINS)[name]
    gamma = 1.0 if "1" in name else 0.3
    options = {"feature_map": feature_map, "gamma": gamma, "scale": "std"}
    return options | {"random_state": 0}, wine()[0][:, :d]


class TestDensities:
    @names(MAPS | GRIDS)
    def test_of_density_matrices(self, name, tmp_path):
        options, X = settings(name)
        model = DMKDE(**options).fit(X[:120])
        found = run(model, X, tmp_path)
        assert list(found) == ["log_density"]
        floor = model.floor_ if name in GRIDS else -np.inf
        assert_same_density(
            found["log_density"], model.score_samples(X), floor=floor, tolerance=1e-7
        )

    @names(MAPS)
    def test_of_means(self, name, tmp_path):
        options, X = settings(name)
        model = MeanEmbeddingKDE(**options).fit(X[:120])
        found = run(model, X, tmp_path)["log_density"]
        expected = model.score_samples(X)  # -inf where the mean is negative
        assert_same_density(found, expected, tolerance=1e-8)


class TestTargets:
    @names(MAPS | GRIDS)
    def test_classes(self, name, tmp_path):
        options, X = settings(name)
        model = DMKDClassifier(**options).fit(X[::2], wine()[1][::2])
        found = run(model, X, tmp_path)
        assert list(found) == ["label", "probabilities", "log_density"]
        assert_same_probabilities(found, model, X)
        floor = -12.0 if name in GRIDS else -np.inf
        assert_same_density(
            found["log_density"], model.score_samples(X), floor=floor, tolerance=1e-7
        )

    @names(MAPS | SPINS)
    def test_joint_classes(self, name, tmp_path):
        options, X = settings(name)
        y = wine()[1]
        for extra in ({}, {"output_map": "softmax"}, {"joint_rank": 9}):
            model = QMClassifier(**options, **extra).fit(X[::2], y[::2])
            found = run(model, X, tmp_path)
            assert list(found) == ["label", "probabilities"]
            assert_same_probabilities(found, model, X)

    @pytest.mark.parametrize(
        ("name", "decision", "joint_rank"),
        [
            ("landmarks", "mode", None),
            ("landmarks", "mean", 7),
            ("fourier complex iid", "median", None),
            ("fourier complex iid", "mode", 7),
            ("quadrature 2", "mean", None),
            ("quadrature 2", "median", 7),
        ],
    )
    def test_ordered_classes(self, name, decision, joint_rank, tmp_path):
        options, X = settings(name)
        model = QMOrdinalClassifier(
            **options, beta=3.0, decision=decision, joint_rank=joint_rank
        ).fit(X[::2], wine()[1][::2])
        assert_same_probabilities(run(model, X, tmp_path), model, X)

    @names(MAPS | GRIDS | SPINS)
    def test_values(self, name, tmp_path):
        options, X = settings(name)
        y = wine()[0][:, 12]
        model = QMRegressor(**options, n_levels=8, beta=60.0).fit(X[::2], y[::2])
        found = run(model, X, tmp_path)
        assert_same_values(found, model, X, y.std(), tolerance=1e-8)

    @pytest.mark.parametrize("kind", [DMKDClassifier, QMRegressor])
    @pytest.mark.parametrize("d", [1, 2])
    def test_what_a_grid_cannot_see_says_nothing(self, kind, d, tmp_path):
        """Towards the end of the box densities are noise; what is known stays."""
        X, y = wine()[0][:, :d], wine()[1]
        model = kind(gamma=30.0, scale="std", feature_map="grid").fit(X, y)
        low, high = model.scaling_.invert(np.stack(model.feature_map_.box()))
        rows = np.linspace(high - 0.2 * (high - low) / 2, high - 1e-3, 50)
        found = run(model, rows, tmp_path)
        rows = rows.astype(np.float32).astype(float)
        if kind is QMRegressor:
            assert_same_values(found, model, rows, y.std(), tolerance=1e-6)
        else:
            shares = np.bincount(y) / len(y)
            np.testing.assert_allclose(found["probabilities"][-1], shares, 1e-6)
            assert_same_probabilities(found, model, rows)
