"""Small models of real data that tests of inspection and reports share, made once."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import rhokit

SMALL = {"n_components": 48, "random_state": 0}
QUICK = {**SMALL, "rank": 6, "max_epochs": 4, "learning_rate": 1e-4}


class Case(NamedTuple):
    """A fitted model, rows to look at, and their targets."""

    model: Any
    X: Any
    y: Any
    training: bool = False


def tumours(n_columns):
    """Rows with names, of which pairs depend on each other."""
    return load_breast_cancer(as_frame=True).data.iloc[:, :n_columns]


def mixed_rows():
    """Numbers, categories, and categories with an order."""
    rng = np.random.default_rng(0)
    sizes = rng.choice(["S", "M", "L"], 240, p=[0.2, 0.5, 0.3])
    size = pd.Categorical(sizes, categories=["S", "M", "L"], ordered=True)
    price = rng.gamma(3, size=240)
    return pd.DataFrame({"price": price, "size": size, "new": rng.random(240) < 0.3})


def _density(name, n_columns, training=True, **parameters):
    X = tumours(n_columns)
    model = getattr(rhokit, name)(**parameters).fit(X)
    return Case(model, X, None, training)


def _classes(name, parameters=SMALL):
    wine = load_wine(as_frame=True)
    names = np.asarray(wine.target_names)[wine.target]
    model = getattr(rhokit, name)(**parameters).fit(wine.data[::2], names[::2])
    return Case(model, wine.data[1::2], names[1::2])


def _values(name, parameters=SMALL):
    X, y = load_diabetes(as_frame=True, scaled=False, return_X_y=True)
    model = getattr(rhokit, name)(**parameters).fit(X[:300], y[:300])
    return Case(model, X[300:], y[300:])


def _two_targets():
    X, y = load_diabetes(return_X_y=True)
    both = np.column_stack([y, X[:, 2]])
    return Case(
        rhokit.QMRegressor(**SMALL).fit(X[:300], both[:300]), X[300:], both[300:]
    )


def _ordered():
    X, y = load_diabetes(return_X_y=True)
    y = np.digitize(y, [100, 150, 200])
    settings = SMALL | {"feature_map": "landmarks"}
    model = rhokit.QMOrdinalClassifier(**settings).fit(X[:300], y[:300])
    return Case(model, X[300:], y[300:])


def _mixed(feature_map="landmarks"):
    X = mixed_rows()
    model = rhokit.DMKDE(feature_map=feature_map, **SMALL).fit(X)
    return Case(model, X, None, True)


MAKERS = {
    "one column": lambda: _density("DMKDE", 1, random_state=0),
    "two columns": lambda: _density("DMKDE", 2, random_state=0),
    "landmarks": lambda: _density("DMKDE", 4, feature_map="landmarks", **SMALL),
    "mosaic": lambda: _density("DMKDE", 4, **SMALL),
    "low rank": lambda: _density("DMKDE", 4, rank=8, **SMALL),
    "fourier": lambda: _density("DMKDE", 4, feature_map="fourier", **SMALL),
    "mean": lambda: _density("MeanEmbeddingKDE", 4, **SMALL),
    "trained density": lambda: _density("DMKDESGD", 4, **QUICK),
    "mixed": _mixed,
    "mixed mosaic": lambda: _mixed("auto"),
    "classes": lambda: _classes("DMKDClassifier"),
    "rejecting": lambda: _classes("DMKDClassifier", SMALL | {"reject": 0.05}),
    "joint classes": lambda: _classes("QMClassifier"),
    "ordered classes": _ordered,
    "trained classes": lambda: _classes("DMKDClassifierSGD", QUICK),
    "trained joint classes": lambda: _classes("QMClassifierSGD", QUICK),
    "values": lambda: _values("QMRegressor"),
    "two targets": _two_targets,
    "levels": lambda: _values("QMRegressor", SMALL | {"feature_map": "landmarks"}),
    "trained values": lambda: _values("QMRegressorSGD", QUICK),
}


@cache
def case(name):
    """One of the models, with its rows."""
    return MAKERS[name]()
