"""Every estimator, map, state and representation, as small instances to try laws on.

Whoever adds one puts an instance here: the laws of :mod:`rhokit.testing` then hold for
it, too, or say which does not.
"""

import numpy as np
import pandas as pd

from rhokit import (
    DMKDE,
    DMKDESGD,
    CoherentFeatures,
    DMKDClassifier,
    DMKDClassifierSGD,
    DMKDOutlierDetector,
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    MeanEmbeddingKDE,
    OneHotFeatures,
    QMClassifier,
    QMClassifierSGD,
    QMOrdinalClassifier,
    QMRegressor,
    QMRegressorSGD,
    QuadratureFeatures,
    SoftmaxFeatures,
)
from rhokit.kernels import CoherentKernel, MaternKernel
from rhokit.testing import EstimatorCase, MapCase, RepresentationCase
from rhokit.testing.cases import labels_of, normal_rows, values_of

QUICK = {"gamma": 0.7, "n_components": 12, "random_state": 0}
FOURIER = {**QUICK, "feature_map": "fourier", "n_components": 24}
LANDMARKS = {**QUICK, "feature_map": "landmarks"}
LEARNED = {**LANDMARKS, "scale": "learned"}
GRID = {**QUICK, "feature_map": "grid"}
MOSAIC = {"feature_map": "mosaic", "random_state": 0}
BLEND = {"feature_map": "blend", "n_components": 12, "random_state": 0}
LEVELS = {"n_levels": 5, "beta": 4.0}
TRAINED = {"max_epochs": 2, "early_stopping": False}


# ---- rows ----------------------------------------------------------------------------


def line(n, seed):
    """Rows of one column."""
    return normal_rows(n, seed)[:, :1]


def wide(n, seed):
    """Rows of four columns, in other units."""
    rows = np.random.default_rng(seed).normal(size=(n, 4)).clip(-2, 2)
    return rows * [1, 100, 0.01, 3] + [0, 5, 0, -4]


def single(n, seed):
    """Rows in single precision."""
    return normal_rows(n, seed).astype(np.float32)


def mixed(n, seed):
    """A frame of numbers, categories and ordered ones."""
    rng = np.random.default_rng(seed)
    groups = pd.Categorical(rng.choice(["a", "b", "c"], n), ["a", "b", "c"])
    levels = ["low", "mid", "high"]
    return pd.DataFrame(
        {
            "x": rng.normal(size=n).clip(-2, 2),
            "group": groups,
            "y": rng.normal(size=n).clip(-2, 2),
            "level": pd.Categorical(rng.choice(levels, n), levels, ordered=True),
        }
    )


def words(n, seed):
    """Rows of text, of which all pairs come up."""
    rng = np.random.default_rng(seed)
    return rng.choice(np.array(["ant", "bee", "cow"], dtype=object), (n, 2))


def lattice(n, seed):
    """Whole numbers, so that rows repeat."""
    return np.random.default_rng(seed).integers(-3, 4, size=(n, 2)).astype(float)


# ---- targets -------------------------------------------------------------------------


def names_of(rows, seed):
    """Labels of text."""
    return np.array(["cat", "dog", "fox"])[labels_of(rows, seed)]


def labels_of_frame(rows, seed):
    return labels_of(rows[["x"]].to_numpy(), seed)


def values_of_frame(rows, seed):
    return values_of(rows[["x"]].to_numpy(), seed)


def two_values_of(rows, seed):
    """Two targets."""
    return np.column_stack([values_of(rows, seed), 10 * values_of(-rows, seed)])


# ---- estimators ----------------------------------------------------------------------

DENSITIES = {
    "density fourier": EstimatorCase(DMKDE(**FOURIER)),
    "density complex": EstimatorCase(
        DMKDE(
            gamma=0.7,
            feature_map=FourierFeatures(n_components=16, form="complex"),
            random_state=0,
        )
    ),
    "density landmarks": EstimatorCase(DMKDE(**LANDMARKS)),
    "density normalised": EstimatorCase(
        DMKDE(
            gamma=0.7,
            feature_map=LandmarkFeatures(n_components=12, normalize=True),
            random_state=0,
        )
    ),
    "density whitened": EstimatorCase(
        DMKDE(gamma="scott", scale="whiten", n_components=16, random_state=0), wide
    ),
    "density truncated": EstimatorCase(DMKDE(**FOURIER, rank=6)),
    "density single": EstimatorCase(
        DMKDE(**LANDMARKS),
        single,
        tolerance=1e-3,
        unlearned_tolerance=1e-2,
        state_tolerance=1e-6,
    ),
    "density line": EstimatorCase(DMKDE(gamma=0.7, random_state=0), line),
    "density grid": EstimatorCase(DMKDE(**GRID)),
    "density quadrature": EstimatorCase(
        DMKDE(gamma=0.7, feature_map=QuadratureFeatures(tol=1e-3), random_state=0)
    ),
    "density loo": EstimatorCase(DMKDE(n_components=12, random_state=0), wide),
    "density laplacian": EstimatorCase(DMKDE(**LANDMARKS, kernel="laplacian")),
    "density matern": EstimatorCase(
        DMKDE(**FOURIER, kernel=MaternKernel(nu=2.5), rank=6), wide
    ),
    "density cauchy": EstimatorCase(DMKDE(**LANDMARKS, kernel="cauchy")),
    "density missing": EstimatorCase(DMKDE(**LANDMARKS, missing="integrate")),
    "density mixed": EstimatorCase(DMKDE(**LANDMARKS), mixed),
    "density mosaic": EstimatorCase(DMKDE(**MOSAIC), wide),
    "density mosaic of a kernel": EstimatorCase(DMKDE(**MOSAIC, gamma=0.7)),
    "density mosaic missing": EstimatorCase(DMKDE(**MOSAIC, missing="integrate")),
    "density mosaic mixed": EstimatorCase(DMKDE(**MOSAIC), mixed),
    "density words": EstimatorCase(DMKDE(feature_map=OneHotFeatures()), words),
    "mean": EstimatorCase(MeanEmbeddingKDE(**LANDMARKS)),
    "mean cauchy": EstimatorCase(MeanEmbeddingKDE(**LANDMARKS, kernel="cauchy")),
    "mean fourier": EstimatorCase(MeanEmbeddingKDE(**FOURIER)),
}
DETECTORS = {
    "outliers": EstimatorCase(DMKDOutlierDetector(random_state=0)),
    "outliers clean": EstimatorCase(
        DMKDOutlierDetector(training="clean", random_state=0), wide
    ),
    "outliers mosaic": EstimatorCase(
        DMKDOutlierDetector(contamination=0.2, random_state=0), wide
    ),
    "outliers landmarks": EstimatorCase(DMKDOutlierDetector(**LANDMARKS)),
    "outliers missing": EstimatorCase(
        DMKDOutlierDetector(**MOSAIC, missing="integrate"), wide
    ),
    "outliers mixed": EstimatorCase(DMKDOutlierDetector(**MOSAIC), mixed),
    "outliers words": EstimatorCase(
        DMKDOutlierDetector(feature_map=OneHotFeatures(), scale=None, training="clean"),
        words,
    ),
}
CLASSES = {
    "classes fourier": EstimatorCase(DMKDClassifier(**FOURIER), target=names_of),
    "classes landmarks": EstimatorCase(DMKDClassifier(**LANDMARKS)),
    "classes coherent": EstimatorCase(
        DMKDClassifier(**FOURIER, kernel=CoherentKernel(spin=1.0))
    ),
    "classes by spins": EstimatorCase(
        DMKDClassifier(gamma=0.7, kernel="coherent", random_state=0)
    ),
    "values by complex spins": EstimatorCase(
        QMRegressor(
            gamma=0.7, feature_map=CoherentFeatures(spin=1.0, form="complex"), **LEVELS
        )
    ),
    "classes of any kernel": EstimatorCase(
        DMKDClassifier(**LANDMARKS, kernel=("gaussian", "laplacian"), scale="std")
    ),
    "classes complex": EstimatorCase(
        DMKDClassifier(
            gamma=0.7,
            feature_map=FourierFeatures(n_components=16, form="complex"),
            rank=9,
            random_state=0,
        )
    ),
    "classes grid": EstimatorCase(DMKDClassifier(**GRID, scale=None)),
    "classes rejecting": EstimatorCase(
        DMKDClassifier(**LANDMARKS, reject=0.1, reject_label=-1, priors="uniform")
    ),
    "classes truncated": EstimatorCase(DMKDClassifier(**FOURIER, rank="loo")),
    "classes mixed": EstimatorCase(DMKDClassifier(**LANDMARKS), mixed, labels_of_frame),
    "classes learned": EstimatorCase(DMKDClassifier(**LEARNED), wide),
    "classes learned mixed": EstimatorCase(
        DMKDClassifier(**LEARNED), mixed, labels_of_frame
    ),
    "classes blend": EstimatorCase(DMKDClassifier(**BLEND), wide),
    "classes blend mixed": EstimatorCase(
        DMKDClassifier(**BLEND), mixed, labels_of_frame
    ),
    "joint": EstimatorCase(QMClassifier(**LANDMARKS, output_map="softmax")),
    "joint rank": EstimatorCase(QMClassifier(**FOURIER, joint_rank=20)),
    "ordered": EstimatorCase(QMOrdinalClassifier(**LANDMARKS)),
    "ordered learned": EstimatorCase(QMOrdinalClassifier(**LEARNED)),
    "ordered blend": EstimatorCase(QMOrdinalClassifier(**BLEND), wide),
    "ordered mixed": EstimatorCase(
        QMOrdinalClassifier(**LANDMARKS, beta=4.0), mixed, labels_of_frame
    ),
}
VALUES = {
    "values": EstimatorCase(QMRegressor(**LANDMARKS, **LEVELS)),
    "values complex": EstimatorCase(
        QMRegressor(
            gamma=0.7,
            feature_map=FourierFeatures(n_components=16, form="complex"),
            random_state=0,
            **LEVELS,
        )
    ),
    "values learned": EstimatorCase(QMRegressor(**LEARNED, **LEVELS), wide),
    "values blend": EstimatorCase(QMRegressor(**BLEND), wide),
    "values blend mixed": EstimatorCase(QMRegressor(**BLEND), mixed, values_of_frame),
    "two values blend": EstimatorCase(
        QMRegressor(**BLEND, calibration=None), target=two_values_of
    ),
    "values fourier": EstimatorCase(
        QMRegressor(**FOURIER, **LEVELS, calibration=None), target=two_values_of
    ),
    "values grid": EstimatorCase(QMRegressor(**GRID, **LEVELS), line),
    "values mixed": EstimatorCase(
        QMRegressor(**LANDMARKS, **LEVELS), mixed, values_of_frame
    ),
}
TRAINED_MODELS = {
    "trained density": EstimatorCase(DMKDESGD(**LANDMARKS, **TRAINED)),
    "trained classes": EstimatorCase(
        DMKDClassifierSGD(**FOURIER, **TRAINED), target=names_of
    ),
    "trained complex": EstimatorCase(
        DMKDClassifierSGD(
            gamma=0.7,
            feature_map=FourierFeatures(
                n_components=16, form="complex", kernel="laplacian"
            ),
            train_features=True,
            random_state=0,
            **TRAINED,
        )
    ),
    "trained joint": EstimatorCase(QMClassifierSGD(**LANDMARKS, **TRAINED)),
    "trained classes blend": EstimatorCase(DMKDClassifierSGD(**BLEND, **TRAINED), wide),
    "trained values blend": EstimatorCase(QMRegressorSGD(**BLEND, **TRAINED), wide),
    "trained values": EstimatorCase(QMRegressorSGD(**LANDMARKS, **LEVELS, **TRAINED)),
}
ONE_PASS = DENSITIES | DETECTORS | CLASSES | VALUES
ESTIMATORS = ONE_PASS | TRAINED_MODELS


# ---- maps ----------------------------------------------------------------------------


def fourier(**options):
    return MapCase(FourierFeatures(n_components=16, random_state=0, **options), lattice)


def landmarks(**options):
    return MapCase(LandmarkFeatures(n_components=9, random_state=0, **options), lattice)


MAPS = {
    "fourier": fourier(),
    "fourier, not normalised": fourier(normalize=False),
    "orthogonal pairs": fourier(sampling="orthogonal", form="pair"),
    "sobol": fourier(sampling="sobol"),
    "halton": fourier(sampling="halton"),
    "adaptive": fourier(sampling="adaptive"),
    "adaptive pairs": fourier(sampling="adaptive", form="pair", kernel="laplacian"),
    "structured": fourier(sampling="structured"),
    "complex": fourier(form="complex"),
    "laplacian": fourier(kernel="laplacian"),
    "matern, sobol": fourier(kernel="matern", sampling="sobol", form="pair"),
    "matern, structured": fourier(kernel="matern", sampling="structured"),
    "cauchy, complex": fourier(kernel="cauchy", form="complex"),
    "coherent, orthogonal": fourier(kernel="coherent", sampling="orthogonal"),
    "quadrature": MapCase(QuadratureFeatures(tol=1e-3), lattice),
    "grid": MapCase(GridFeatures(tol=1e-4), lattice),
    "landmarks": landmarks(),
    "spins": MapCase(CoherentFeatures(spin=1.0), lattice),
    "spins, complex": MapCase(CoherentFeatures(form="complex"), lattice),
    "landmarks, laplacian": landmarks(kernel="laplacian"),
    "landmarks, cauchy": landmarks(kernel="cauchy", normalize=True),
    "landmarks, matern": landmarks(kernel=MaternKernel(nu=1.0)),
    "landmarks, coherent": landmarks(kernel=CoherentKernel(spin=1.5)),
    "landmarks++": landmarks(selection="kmeans++"),
    "landmarks, uniform": landmarks(selection="uniform"),
    "landmarks, normalised": landmarks(normalize=True),
    "softmax": MapCase(SoftmaxFeatures(n_components=5), lattice),
    "onehot": MapCase(OneHotFeatures(), lattice),
    "onehot words": MapCase(OneHotFeatures(), words),
}


# ---- representations -----------------------------------------------------------------


def represented(estimator, rows=normal_rows, **options):
    return RepresentationCase(
        estimator.prepare(rows(60, 1)).prepared_model(), rows, **options
    )


BLENDED = DMKDClassifier(**BLEND).fit(wide(60, 1), labels_of(wide(60, 1), 2))

REPRESENTATIONS = {
    "blend": RepresentationCase(BLENDED.blank().prepared_model(), wide),
    "mosaic": represented(DMKDE(**MOSAIC), wide),
    "matrix": represented(DMKDE(**FOURIER)),
    "matrix, whitened": represented(DMKDE(**LANDMARKS)),
    "matrix, truncated": represented(DMKDE(**LANDMARKS, rank=5)),
    "matrix, complex": represented(
        DMKDE(gamma=0.7, feature_map=FourierFeatures(n_components=9, form="complex"))
    ),
    "series": represented(DMKDE(**GRID)),
    "series, one column": represented(DMKDE(**GRID), line),
    "mean": represented(MeanEmbeddingKDE(**LANDMARKS)),
}
