"""Pictures without a screen, closed after each test, and never shown."""

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_iris

from rhokit import DMKDE, DMKDClassifier, QMRegressor


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    def show(*args, **kwargs):
        raise AssertionError("a display opened a window")

    monkeypatch.setattr(plt, "show", show)
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.figure().subplots()


@pytest.fixture(scope="session")
def iris():
    return load_iris(as_frame=True).data


@pytest.fixture(scope="session")
def density(iris):
    """A density of four columns over landmarks."""
    return DMKDE(n_components=32, gamma="scott", random_state=0).fit(iris)


@pytest.fixture(scope="session")
def flowers(iris):
    """Classes as text, and a model of a half of the rows."""
    bunch = load_iris()
    labels = bunch.target_names[bunch.target]
    model = DMKDClassifier(
        n_components=32, gamma=0.5, scale=None, rank=6, random_state=0
    )
    return model.fit(iris[::2], labels[::2]), iris[1::2], labels[1::2]


@pytest.fixture(scope="session")
def patients():
    """Values, and a model of a part of the rows."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = QMRegressor(n_components=32, n_levels=16, gamma="scott", random_state=0)
    return model.fit(X[:200], y[:200]), X[200:], y[200:]


@pytest.fixture(scope="session")
def mixed(iris):
    """Rows with a column of categories, and their density."""
    kinds = np.array(["a", "b", "c"])[np.arange(150) // 50]
    frame = pd.DataFrame({"kind": pd.Categorical(kinds)}).join(iris.iloc[:, :3])
    model = DMKDE(n_components=32, gamma=1.0, scale=None, random_state=0).fit(frame)
    return model, frame
