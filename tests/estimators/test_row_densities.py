"""Densities of rows under models with a target: that of all rows together."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rhokit import (
    DMKDE,
    DMKDClassifier,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)

GIVEN = {
    "gamma": 0.8,
    "scale": "std",
    "feature_map": "landmarks",
    "n_components": 200,
    "random_state": 0,
}
MODELS = [
    DMKDClassifier(**GIVEN),
    QMClassifier(**GIVEN),
    QMOrdinalClassifier(**GIVEN),
    QMRegressor(**GIVEN, n_levels=8),
    QMRegressor(**GIVEN, n_levels=8, bounds=[[-9, -9], [9, 9]]),
]
EVERY_MODEL = pytest.mark.parametrize(
    "model", MODELS, ids=["classes", "joint", "ordinal", "values", "two targets"]
)


def data(model, n=90):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    if isinstance(model, QMRegressor):
        two = model.bounds is not None
        return X, X[:, :2] if two else X[:, 0] + X[:, 1]
    return X, np.digitize(X[:, 0], [-0.5, 0.5])


@EVERY_MODEL
def test_is_kernel_density_estimation(model):
    """All rows are landmarks, and states of length one are all but those themselves."""
    X, y = data(model)
    density = DMKDE(**GIVEN).fit(X)
    model = clone(model).fit(X, y)
    found, expected = (each.score_samples(X[:40] + 0.1) for each in (model, density))
    assert_allclose(found, expected, atol=1e-6)


@EVERY_MODEL
def test_leave_one_out_is_unlearning(model):
    X, y = data(model)
    model = clone(model).fit(X, y)
    found = model.score_samples(X[:4], y[:4], leave_one_out=True)
    for i in range(4):
        rest = model.blank().merge(model).unlearn(X[[i]], y[[i]])
        assert_allclose(found[i], rest.score_samples(X[[i]])[0], atol=1e-6)


@EVERY_MODEL
def test_leaving_out_changes_nothing(model):
    X, y = data(model)
    model = clone(model).fit(X, y)
    before = model.score_samples(X)
    model.score_samples(X, y, leave_one_out=True)
    assert_array_equal(model.score_samples(X), before)


def test_new_labels_get_no_place():
    X, y = data(MODELS[0])
    model = clone(MODELS[0]).fit(X, y)
    with pytest.raises(ValueError, match="cannot forget more"):
        model.score_samples(X[:1], [7], leave_one_out=True)
    assert_array_equal(model.classes_, [0, 1, 2])


@EVERY_MODEL
def test_leaving_out_needs_the_targets_and_the_sums(model):
    X, y = data(model)
    model = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="requires y"):
        model.score_samples(X, leave_one_out=True)
    with pytest.raises(ValueError, match="holds only a factor"):
        model.compact().score_samples(X, y, leave_one_out=True)


def test_rows_that_lack_values_were_not_learned():
    X, _ = data(MODELS[0])
    for model in (DMKDE(**GIVEN), *MODELS[:4]):
        target = data(model)[1] if hasattr(model, "predict") else None
        rest = [] if target is None else [target]
        model = clone(model).set_params(missing="integrate").fit(X, *rest)
        holes = X.copy()
        holes[0, 1] = np.nan
        options = {} if target is None else {"y": target}
        with pytest.raises(ValueError, match="leave_one_out is for rows without gaps"):
            model.score_samples(holes, leave_one_out=True, **options)
        assert np.isfinite(model.score_samples(holes)).all()


def test_of_frames():
    X, y = data(MODELS[0])
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))
    model = DMKDClassifier(**GIVEN).fit(frame, y)
    density = DMKDE(**GIVEN).fit(frame)
    assert_allclose(model.score_samples(frame), density.score_samples(frame), atol=1e-6)


def test_given_priors_count():
    X, y = data(MODELS[0])
    model = DMKDClassifier(**GIVEN, priors=[0.0, 0.0, 1.0]).fit(X, y)
    alone = DMKDE(**GIVEN | {"scale": None})
    scaled = model.scaling_.apply(X)
    expected = alone.fit(scaled[y == 2]).score_samples(scaled + 0.01)
    found = model.score_samples(model.scaling_.invert(scaled + 0.01))
    assert_allclose(found - model.scaling_.log_volume, expected, atol=1e-4)
