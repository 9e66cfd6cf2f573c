"""Gradient training of models of frames with categories."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import rhokit
from rhokit import DMKDE, DMKDESGD, DMKDClassifierSGD, QMClassifierSGD, QMRegressorSGD
from rhokit.errors import DataError
from tests.estimators.test_mixed import table

FEW = {"n_components": 24, "rank": 8, "max_epochs": 3, "random_state": 0}


@pytest.mark.parametrize("kind", [DMKDClassifierSGD, QMClassifierSGD])
def test_classes(kind):
    frame = table(200)
    labels = np.where(frame["group"] == "b", "yes", "no")
    model = kind(**FEW, gamma=1.0).fit(frame[["y", "group"]], labels)
    assert model.score(frame[["y", "group"]], labels) > 0.95
    assert model.schema_.kinds == ("number", "category")
    assert model.n_features_in_ == 2


def test_values():
    frame = table(200)
    rows = frame[["y", "group"]]
    model = QMRegressorSGD(**FEW, n_levels=8).fit(rows, frame["x"])
    assert model.score(rows, frame["x"]) > 0.5


def test_densities_integrate_to_one():
    frame = table(200)[["x", "group"]]
    model = DMKDESGD(**FEW).fit(frame)
    x = np.linspace(-10, 16, 2001)
    points = [
        pd.DataFrame({"x": x, "group": pd.Categorical([g] * len(x), ["a", "b", "c"])})
        for g in "abc"
    ]
    total = sum(np.exp(model.score_samples(part)).sum() for part in points)
    assert_allclose(total * (x[1] - x[0]), 1, rtol=0.05)


def test_of_an_order_from_a_random_start():
    frame = table(200)
    model = DMKDESGD(**FEW, init="random").fit(frame)
    assert np.isfinite(model.score_samples(frame)).all()


def test_from_a_one_pass_model_and_back():
    frame = table(100)
    start = DMKDE(n_components=24, random_state=0).fit(frame)
    model = DMKDESGD.from_estimator(start, rank=24)
    assert_allclose(model.score_samples(frame), start.score_samples(frame), atol=1e-6)
    back = model.to_estimator()
    assert back.schema_ == start.schema_
    assert_allclose(back.score_samples(frame), model.score_samples(frame), atol=1e-6)


def test_other_columns_are_refused_by_name():
    frame = table(100)
    model = DMKDESGD(**FEW, unseen="raise").fit(frame)
    with pytest.raises(ValueError, match=r"lacks \['level'\]"):
        model.score_samples(frame.drop(columns="level"))
    saved = rhokit.loads(rhokit.dumps(model))
    with pytest.raises(DataError, match="among the categories") as caught:
        saved.score_samples(frame.assign(group="z"))
    assert (caught.value.column, caught.value.value) == ("group", "z")
