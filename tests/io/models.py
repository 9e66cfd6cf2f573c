"""Small models of every kind that a file can hold, each with rows to ask about.

Nearly all have a fixed γ, few components and few rows, so that each takes
milliseconds. They are made when asked for, and once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import rhokit
from rhokit import (
    DMKDE,
    CoherentFeatures,
    DMKDClassifier,
    DMKDOutlierDetector,
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    MeanEmbeddingKDE,
    MosaicFeatures,
    OneHotFeatures,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
    QuadratureFeatures,
    SoftmaxFeatures,
)

SMALL = {"gamma": 1.0, "scale": None, "n_components": 12, "random_state": 0}
TRAINED = {
    "gamma": 1.0,
    "scale": None,
    "n_components": 10,
    "rank": 4,
    "max_epochs": 2,
    "random_state": 0,
}


@dataclass(frozen=True)
class Data:
    """Rows and targets; the first half is for fitting, the second for going on."""

    rows: Any
    target: Any = None

    def half(self, which: int) -> tuple[Any, ...]:
        part = slice(0, len(self.rows) // 2) if not which else slice(-20, None)
        rows = self.rows.iloc[part] if hasattr(self.rows, "iloc") else self.rows[part]
        return (rows,) if self.target is None else (rows, self.target[part])


@dataclass(frozen=True)
class Case:
    """A model, the rows it was made from, and what else is known of it."""

    name: str
    make: Callable[[Data], Any]
    data: Data

    @property
    def model(self) -> Any:
        """The model; always the same object, so nobody may change it."""
        return _made(self.name)

    @property
    def queries(self) -> Any:
        """Rows to predict: among the data and between them."""
        rows = self.data.half(1)[0]
        return rows[:8]

    def fresh(self) -> Any:
        """The model, made anew."""
        return self.make(self.data)


def plane(dtype="float64", n=80):
    """Two clouds in the plane."""
    rng = np.random.default_rng(0)
    half = n // 2
    parts = [rng.normal(0, 1, (half, 2)), rng.normal([3, 1], 0.6, (half, 2))]
    return rng.permutation(np.concatenate(parts)).astype(dtype)


def wide(dtype="float64", n=80):
    """Clouds in six dimensions, so that distances come from a product."""
    rng = np.random.default_rng(1)
    return (rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6)) / 2).astype(dtype)


def line(n=80):
    return np.random.default_rng(2).normal(size=(n, 1))


def spanning(rows):
    """The same rows, those at the ends of their box first."""
    ends = np.unique([rows.argmin(axis=0), rows.argmax(axis=0)])
    return np.concatenate([rows[ends], np.delete(rows, ends, axis=0)])


def space(n=80):
    """Three columns."""
    return spanning(wide(n=n)[:, :3] / 2)


def parts(rows, names):
    """Labels that follow the first column, some of them wrong."""
    rng = np.random.default_rng(3)
    score = rows[:, 0] + 0.4 * rng.normal(size=len(rows))
    cuts = np.quantile(score, np.arange(1, len(names)) / len(names))
    return np.array(names)[np.searchsorted(cuts, score)]


def values(rows):
    """A value that follows the rows, with the extremes in the first half."""
    rng = np.random.default_rng(4)
    target = np.sin(rows[:, 0]) + rows[:, -1] / 3 + 0.1 * rng.normal(size=len(rows))
    target[0], target[1] = target.min() - 0.1, target.max() + 0.1
    return target


def words(n=80):
    """Two columns of text with gaps; both halves hold every category."""
    kinds = [("red", "big"), ("red", "small"), ("blue", None), (None, "big")]
    chosen = np.random.default_rng(5).integers(len(kinds), size=n)
    chosen[:4] = chosen[-4:] = np.arange(4)
    rows = np.empty((n, 2), dtype=object)
    for row, code in enumerate(chosen):
        rows[row] = kinds[code]
    return rows


def frame(n=80):
    return pd.DataFrame(plane(n=n), columns=["length", "width"])


def mixed(n=80):
    """Numbers, categories of text and of integers, an order, and truth values."""
    rng = np.random.default_rng(6)
    levels = ["low", "middle", "high"]
    return pd.DataFrame(
        {
            "length": plane(n=n)[:, 0],
            "colour": pd.Categorical.from_codes(
                rng.integers(2, size=n), ["ash", "red"]
            ),
            "code": pd.Categorical(rng.choice([4, 7, 9], n), [4, 7, 9]),
            "level": pd.Categorical.from_codes(
                rng.integers(3, size=n), levels, ordered=True
            ),
            "new": rng.random(n) < 0.5,
            "width": plane(n=n)[:, 1],
        }
    )


TEXT = ("aphid", "bee", "cicada")

PLANE = Data(plane())
SINGLE = Data(plane("float32"))
WIDE = Data(wide())
LINE = Data(line())
WORDS = Data(words())
CLASSES = Data(plane(), parts(plane(), TEXT))
SINGLE_CLASSES = Data(plane("float32"), parts(plane(), TEXT))
INTS = Data(plane(), parts(plane(), (-2, 5, 40)))
BOOLS = Data(plane(), parts(plane(), (False, True)))
OBJECTS = Data(plane(), parts(plane(), TEXT).astype(object))
GRADES = Data(wide(), parts(wide(), (1, 2, 3, 4)))
VALUES = Data(plane(), values(plane()))
SINGLE_VALUES = Data(plane("float32"), values(plane()))
PAIRS = Data(wide(), np.column_stack([values(wide()), -2 * values(wide()[:, ::-1])]))
FRAME = Data(frame(), parts(plane(), TEXT))
MIXED = Data(mixed())
MIXED_CLASSES = Data(mixed(), parts(plane(), TEXT))
MIXED_VALUES = Data(mixed(), values(plane()))
FEW_CLASSES = Data(space(28), parts(space(28), (-2, 5)))
FEW_VALUES = Data(space(28), values(space(28)))
# Their first halves span the box of a grid.
SPAN_LINE = Data(spanning(line()))
SPAN_PLANE = Data(spanning(plane()))
SPAN_SINGLE = Data(spanning(plane("float32")))
SPACE = Data(space())
SKEWED = Data(np.exp(4 * space()))
SPAN_FRAME = Data(pd.DataFrame(spanning(plane()), columns=["length", "width"]))
SPAN_CLASSES = Data(SPAN_PLANE.rows, parts(SPAN_PLANE.rows, TEXT))
SPAN_LINE_CLASSES = Data(SPAN_LINE.rows, parts(SPAN_LINE.rows, (False, True)))
SPAN_VALUES = Data(SPAN_PLANE.rows, values(SPAN_PLANE.rows))
SPAN_LINE_VALUES = Data(SPAN_LINE.rows, values(SPAN_LINE.rows))
WORD_CLASSES = Data(words(), np.array(["no", "yes"])[(words()[:, 0] == "red") * 1])


def fitted(model):
    """Fit to the first half of the data."""
    return lambda data: model().fit(*data.half(0))


def prepared(model):
    return lambda data: model().prepare(*data.half(0))


def unfitted(model):
    return lambda data: model()


def fitted_map(model):
    return lambda data: model().fit(data.half(0)[0])


def estimator(kind, **parameters):
    return lambda: kind(**(SMALL | {"feature_map": "landmarks"} | parameters))


def trained(kind, **parameters):
    """A model of rhokit.nn, which is not imported before it is asked for."""
    return lambda: getattr(rhokit, kind)(**(TRAINED | parameters))


def fourier(**parameters):
    return FourierFeatures(**({"n_components": 12, "random_state": 1} | parameters))


def landmarks(**parameters):
    return LandmarkFeatures(**({"n_components": 12, "random_state": 1} | parameters))


def grid(**parameters):
    return QuadratureFeatures(**({"tol": 1e-2, "bounds": [[-4.0], [4.0]]} | parameters))


def series(**parameters):
    return GridFeatures(**({"tol": 1e-2} | parameters))


def _density_cases():
    maps = {
        "phase-double": (fourier(), PLANE),
        "unnormalized-single": (fourier(normalize=False), SINGLE),
        "pair-single": (fourier(form="pair", sampling="orthogonal"), SINGLE),
        "complex-double": (fourier(form="complex", sampling="sobol"), PLANE),
        "complex-single": (fourier(form="complex"), SINGLE),
        "structured-double": (fourier(sampling="structured"), PLANE),
        "landmarks-double": (landmarks(), PLANE),
        "normalized-single": (
            landmarks(normalize=True, selection="uniform"),
            SINGLE,
        ),
        "given": (landmarks(landmarks=plane()[:6]), PLANE),
        "grid": (grid(), LINE),
        "words": (OneHotFeatures(), WORDS),
    }
    for name, (feature_map, data) in maps.items():
        yield f"density-{name}", fitted(estimator(DMKDE, feature_map=feature_map)), data
    settings = {
        "wide": ({"scale": "whiten", "gamma": 0.3}, WIDE),
        "robust": ({"scale": "robust"}, PLANE),
        "widths": ({"scale": [0.5, 2], "dtype": np.float32}, PLANE),
        "frame": ({}, Data(frame())),
        "rank": ({"rank": 4}, PLANE),
        "share": ({"rank": 0.5}, SINGLE),
        "loo": ({"gamma": "loo"}, PLANE),
    }
    for name, (parameters, data) in settings.items():
        yield f"density-{name}", fitted(estimator(DMKDE, **parameters)), data
    yield "density-prepared", prepared(estimator(DMKDE)), PLANE
    unfit = estimator(DMKDE, feature_map=landmarks())
    yield "density-unfitted", unfitted(unfit), PLANE


def _mean_cases():
    def mean(**parameters):
        return fitted(estimator(MeanEmbeddingKDE, **parameters))

    yield "mean-phase-double", mean(feature_map=fourier()), PLANE
    yield "mean-complex-single", mean(feature_map=fourier(form="complex")), SINGLE
    yield "mean-landmarks-double", mean(feature_map=landmarks()), PLANE
    yield "mean-words", mean(feature_map=OneHotFeatures()), WORDS
    yield "mean-frame", mean(scale="whiten"), Data(frame())
    yield "mean-prepared", prepared(estimator(MeanEmbeddingKDE)), PLANE


def _class_cases():
    def model(**parameters):
        return fitted(estimator(DMKDClassifier, **parameters))

    words = OneHotFeatures()
    yield "classes-text", model(), CLASSES
    yield "classes-single", model(feature_map="fourier"), SINGLE_CLASSES
    yield "classes-ints", model(feature_map=fourier(form="complex")), INTS
    yield "classes-bools", model(feature_map=fourier()), BOOLS
    yield "classes-objects", model(), OBJECTS
    yield "classes-within", model(scale="within", rank=5), CLASSES
    yield "classes-learned", model(scale="learned"), CLASSES
    yield "classes-words", model(feature_map=words), WORD_CLASSES
    yield "classes-loo-rank", model(rank="loo"), GRADES
    yield "classes-frame", model(), FRAME
    yield "classes-reject", model(reject=0.1), CLASSES
    yield "classes-reject-single", model(reject=0.1, rank=6), SINGLE_CLASSES
    yield "classes-reject-words", model(reject=0.1, feature_map=words), WORD_CLASSES
    yield "classes-priors", model(priors=[0.2, 0.3, 0.5], reject_label=-1), INTS
    threshold = {"min_log_density": -3.0, "priors": "uniform"}
    yield "classes-threshold", model(**threshold), CLASSES
    yield "classes-prepared", prepared(estimator(DMKDClassifier)), CLASSES
    yield "classes-unfitted", unfitted(estimator(DMKDClassifier)), CLASSES


def _joint_cases():
    def joint(**parameters):
        return fitted(estimator(QMClassifier, **parameters))

    def ordinal(**parameters):
        return fitted(estimator(QMOrdinalClassifier, **parameters))

    yield "joint-text", joint(), CLASSES
    yield "joint-ints", joint(feature_map=fourier(form="complex")), INTS
    yield "joint-rank", joint(joint_rank=5), CLASSES
    yield "joint-softmax", joint(output_map="softmax"), INTS
    yield "joint-map", joint(output_map=SoftmaxFeatures(n_components=5)), INTS
    random_map = FourierFeatures(n_components=4)
    yield "joint-random-map", joint(output_map=random_map), INTS
    yield "joint-prepared", prepared(estimator(QMClassifier)), CLASSES
    yield "ordinal-text", ordinal(), CLASSES
    yield "ordinal-single", ordinal(feature_map="fourier"), SINGLE_CLASSES
    yield "ordinal-chosen", ordinal(beta=9.0, decision="median"), GRADES
    yield "ordinal-rank", ordinal(joint_rank=6), GRADES


def _value_cases():
    few = {"n_levels": 6, "beta": 30.0}

    def model(**parameters):
        return fitted(estimator(QMRegressor, **(few | parameters)))

    words_and_values = Data(words(), values(plane()))
    yield "values-one", model(), VALUES
    yield "values-single", model(feature_map="fourier"), SINGLE_VALUES
    yield "values-two", model(), PAIRS
    yield "values-raw", model(calibration=None), VALUES
    yield "values-complex", model(feature_map=fourier(form="complex")), VALUES
    yield "values-within", model(scale="within", rank=4), VALUES
    yield "values-elbow", model(rank="elbow"), VALUES
    yield "values-loo", model(beta="loo", rank="loo"), PAIRS
    yield "values-bounds", model(bounds=(-9, 9)), VALUES
    yield "values-words", model(feature_map=OneHotFeatures()), words_and_values
    yield "values-prepared", prepared(estimator(QMRegressor, **few)), VALUES
    yield "values-unfitted", unfitted(estimator(QMRegressor, **few)), VALUES


def _series_cases():
    """Models on grids, of one, two and three columns."""

    def density(feature_map, **parameters):
        return estimator(DMKDE, feature_map=feature_map, **parameters)

    yield "density-series-auto", fitted(density("auto", gamma="loo")), SPAN_LINE
    yield "density-series-line", fitted(density("grid")), SPAN_LINE
    yield "density-series-plane", fitted(density(series())), SPAN_PLANE
    yield "density-series-space", fitted(density(series(tol=0.3), gamma=0.03)), SPACE
    yield "density-series-single", fitted(density(series())), SPAN_SINGLE
    whitened = density(series(margin=0.5), gamma=0.5, scale="whiten")
    yield "density-series-whitened", fitted(whitened), SPAN_FRAME
    fixed = series(outside="refuse", bounds=[[-5, -4], [6, 4]], max_modes=2**12)
    yield "density-series-bounds", fitted(density(fixed)), PLANE
    yield "density-series-prepared", prepared(density(series(margin=0.75))), PLANE
    yield "density-series-unfitted", unfitted(density(fixed)), PLANE

    def classes(**parameters):
        few = {"feature_map": series(), "gamma": 0.3, "scale": None}
        return estimator(DMKDClassifier, **(few | parameters))

    yield "classes-series", fitted(classes()), SPAN_CLASSES
    yield "classes-series-reject", fitted(classes(reject=0.1)), SPAN_CLASSES
    yield "classes-series-line", fitted(classes(feature_map="grid")), SPAN_LINE_CLASSES

    def numbers(**parameters):
        few = {
            "feature_map": series(),
            "gamma": 0.3,
            "scale": None,
            "n_levels": 6,
            "beta": 30.0,
        }
        return estimator(QMRegressor, **(few | parameters))

    yield "values-series", fitted(numbers()), SPAN_VALUES
    yield "values-series-line", fitted(numbers(feature_map="grid")), SPAN_LINE_VALUES


def _mixed_cases():
    """Models of frames with categories."""
    yield "density-mixed", fitted(estimator(DMKDE, missing="integrate")), MIXED
    waves = estimator(DMKDE, feature_map="fourier", dtype="float32")
    yield "density-mixed-fourier", fitted(waves), MIXED
    yield "density-mixed-whitened", fitted(estimator(DMKDE, scale="whiten")), MIXED
    yield "density-mixed-prepared", prepared(estimator(DMKDE)), MIXED
    yield "mean-mixed", fitted(estimator(MeanEmbeddingKDE)), MIXED
    yield "classes-mixed", fitted(estimator(DMKDClassifier, rank=5)), MIXED_CLASSES
    rejects = estimator(DMKDClassifier, reject=0.1)
    yield "classes-mixed-reject", fitted(rejects), MIXED_CLASSES
    few = {"n_levels": 6, "beta": 30.0}
    yield "values-mixed", fitted(estimator(QMRegressor, **few)), MIXED_VALUES


def mosaic(**parameters):
    return MosaicFeatures(**({"n_cells": 3} | parameters))


def _mosaic_cases():
    """Mosaics of numbers, of bent columns, of a kernel, and of mixed columns."""
    chosen = {"feature_map": mosaic(), "gamma": "loo", "scale": "auto"}
    yield "density-mosaic", fitted(estimator(DMKDE, **chosen)), WIDE
    yield "density-mosaic-bent", fitted(estimator(DMKDE, **chosen)), SKEWED
    single = estimator(DMKDE, **chosen, dtype="float32")
    yield "density-mosaic-single", fitted(single), WIDE
    kernel = chosen | {"gamma": 2.0}
    yield "density-mosaic-kernel", fitted(estimator(DMKDE, **kernel)), SPACE
    gaps = estimator(DMKDE, **chosen, missing="integrate")
    yield "density-mosaic-mixed", fitted(gaps), MIXED
    yield "density-mosaic-prepared", prepared(estimator(DMKDE, **chosen)), WIDE


def _outlier_cases():
    """Detectors over every representation that can be, and with every setting."""
    chosen = {"feature_map": mosaic(), "gamma": "loo", "scale": "robust"}
    yield "outliers-mosaic", fitted(estimator(DMKDOutlierDetector, **chosen)), WIDE
    gaps = chosen | {"missing": "integrate", "contamination": 0.2}
    yield "outliers-mixed", fitted(estimator(DMKDOutlierDetector, **gaps)), MIXED
    clean = {"training": "clean", "threshold": 0.05, "dtype": "float32"}
    yield "outliers-clean", fitted(estimator(DMKDOutlierDetector, **clean)), PLANE
    landmarks = {"feature_map": "landmarks"}
    yield "outliers-matrix", fitted(estimator(DMKDOutlierDetector, **landmarks)), WIDE
    grid = {"feature_map": series(bounds=[(-5, -5), (15, 15)])}
    yield "outliers-grid", fitted(estimator(DMKDOutlierDetector, **grid)), PLANE
    yield "outliers-prepared", prepared(estimator(DMKDOutlierDetector)), PLANE


def blended(kind, **parameters):
    few = {"n_components": 6, "gamma": "loo", "scale": "auto"}
    return estimator(kind, **few | {"feature_map": "blend"} | parameters)


def _blend_cases():
    """Blends of few rows, whose trees are small."""
    yield "classes-blend", fitted(blended(DMKDClassifier)), FEW_CLASSES
    rejects = blended(DMKDClassifier, reject=0.1, dtype="float32")
    yield "classes-blend-reject", fitted(rejects), FEW_CLASSES
    yield "classes-blend-mixed", fitted(blended(DMKDClassifier)), MIXED_CLASSES
    yield "classes-blend-prepared", prepared(blended(DMKDClassifier)), FEW_CLASSES
    ordered = blended(QMOrdinalClassifier)
    yield "ordinal-blend", fitted(ordered), FEW_CLASSES
    given = blended(QMOrdinalClassifier, decision="median")
    yield "ordinal-blend-mixed", fitted(given), MIXED_CLASSES
    yield "values-blend", fitted(blended(QMRegressor)), FEW_VALUES
    yield "values-blend-two", fitted(blended(QMRegressor, calibration=None)), PAIRS
    yield "values-blend-mixed", fitted(blended(QMRegressor)), MIXED_VALUES
    yield "values-blend-prepared", prepared(blended(QMRegressor)), FEW_VALUES


def _trained_cases():
    yield "trained-density", fitted(trained("DMKDESGD")), Data(frame())
    moved = {"train_features": True, "feature_map": "landmarks"}
    yield "trained-density-moved", fitted(trained("DMKDESGD", **moved)), SINGLE
    yield "trained-density-start", _started, PLANE
    yield "trained-classes", fitted(trained("DMKDClassifierSGD")), MIXED_CLASSES
    waves = {"train_features": True, "feature_map": "fourier"}
    yield "trained-classes-moved", fitted(trained("DMKDClassifierSGD", **waves)), INTS
    yield "trained-joint", fitted(trained("QMClassifierSGD")), CLASSES
    judged = {"n_levels": 6, "early_stopping": True, "validation_fraction": 0.3}
    yield "trained-values", fitted(trained("QMRegressorSGD", **judged)), VALUES
    yield "trained-unfitted", unfitted(trained("QMRegressorSGD")), VALUES


def _all_cases():
    yield from _density_cases()
    yield from _series_cases()
    yield from _mixed_cases()
    yield from _mosaic_cases()
    yield from _outlier_cases()
    yield from _blend_cases()
    yield from _mean_cases()
    yield from _class_cases()
    yield from _joint_cases()
    yield from _value_cases()
    yield from _trained_cases()


def _started(data):
    model = DMKDE(**SMALL, feature_map="landmarks")
    return rhokit.DMKDESGD.from_estimator(model.fit(*data.half(0)), rank=4)


CASES = {name: Case(name, make, data) for name, make, data in _all_cases()}

_MAPS = {
    "phase-double": (fourier, PLANE),
    "pair-single": (lambda: fourier(form="pair", sampling="halton"), SINGLE),
    "complex-single": (lambda: fourier(form="complex"), SINGLE),
    "structured-single": (
        lambda: fourier(sampling="structured", form="pair"),
        SINGLE,
    ),
    "laplacian-double": (lambda: fourier(kernel="laplacian"), PLANE),
    "coherent-double": (lambda: CoherentFeatures(spin=1.0), PLANE),
    "landmarks-single": (landmarks, SINGLE),
    "normalized-double": (lambda: landmarks(normalize=True), PLANE),
    "softmax-double": (lambda: SoftmaxFeatures(n_components=4), PLANE),
    "grid-double": (lambda: QuadratureFeatures(tol=1e-2, gamma=0.1), PLANE),
    "series-single": (lambda: series(gamma=0.1, margin=0.25), SINGLE),
    "series-line": (GridFeatures, SPAN_LINE),
    "series-space": (lambda: series(tol=0.3, gamma=0.03), SPACE),
    "mosaic-double": (lambda: mosaic(random_state=1), WIDE),
    "mosaic-of-mixed": (lambda: mosaic(random_state=1), MIXED),
    "words": (OneHotFeatures, WORDS),
    "numbers": (OneHotFeatures, Data(np.array([[1, 2], [3, 4]] * 30))),
    "map-of-a-frame": (landmarks, Data(frame())),
    "map-of-mixed": (landmarks, MIXED),
    "waves-of-mixed": (fourier, MIXED),
}
MAPS = {
    name: Case(name, fitted_map(make), data) for name, (make, data) in _MAPS.items()
}


def _blend_of(data):
    """The map, which is made for a target only."""
    return fitted(blended(DMKDClassifier))(data).feature_map_


MAPS["blend"] = Case("blend", _blend_of, FEW_CLASSES)


def is_fitted(model):
    return getattr(model, "__sklearn_is_fitted__", lambda: False)()


FITTED = [name for name in CASES if not name.endswith(("prepared", "unfitted"))]


@cache
def _made(name: str) -> Any:
    case = CASES.get(name) or MAPS[name]
    return case.fresh()


def answers(model, queries):
    """Everything that a fitted model says about rows, by name."""
    said = {}
    for method in (
        "score_samples",
        "density",
        "predict",
        "predict_proba",
        "predict_log_proba",
        "decision_function",
        "predict_state",
        "predict_distribution",
        "predict_quantiles",
        "transform",
    ):
        if hasattr(model, method):
            said[method] = getattr(model, method)(queries)
    if hasattr(model, "predict_interval"):
        said["predict_interval"] = model.predict_interval(queries, 0.8)
        said["std"] = model.predict(queries, return_std=True)[1]
    if hasattr(model, "sample"):
        said["sample"] = _drawn(model)
    if hasattr(model, "reach") and not _without_reach(model):
        said["reach"] = model.reach(queries)
    for name in ("threshold_", "floor_", "levels_", "classes_", "class_count_"):
        value = getattr(model, name, None)
        if value is not None:
            said[name] = np.asarray(value)
    return said


def _drawn(model):
    """Rows drawn from the density, or why that cannot be."""
    try:
        rows = model.sample(5, random_state=7)
        return pd.DataFrame(rows).to_numpy() if isinstance(rows, dict) else rows
    except ValueError as error:  # few random features have no density but noise
        return np.array(str(error))


def _without_reach(model):
    """Normalised landmarks have none."""
    inner = getattr(model, "estimator_", model)
    return getattr(getattr(inner, "feature_map_", inner), "normalize", False)
