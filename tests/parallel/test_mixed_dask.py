"""Dask dataframes with columns of categories."""

import dask.dataframe as dd
import numpy as np
import pytest
from numpy.testing import assert_allclose

from rhokit import DMKDE, DMKDClassifier
from rhokit.parallel.dask import fit, predict, score_samples
from tests.estimators.test_mixed import table


def test_adds_up_what_partitions_hold():
    frame = table(150)
    model = DMKDE(gamma=1.0, scale=None, n_components=200, random_state=0)
    found = fit(model, dd.from_pandas(frame, npartitions=4))
    whole = DMKDE(gamma=1.0, scale=None, n_components=200, random_state=0).fit(frame)
    assert found.schema_ == whole.schema_
    assert_allclose(found.score_samples(frame), whole.score_samples(frame), rtol=1e-9)
    lazy = score_samples(found, dd.from_pandas(frame, npartitions=3))
    assert_allclose(lazy.compute(), found.score_samples(frame))


def test_classes():
    frame = table(150)
    frame["label"] = np.where(frame["group"] == "b", "yes", "no")
    data = dd.from_pandas(frame.drop(columns="x"), npartitions=3)
    model = fit(DMKDClassifier(n_components=24, random_state=0), data, y="label")
    answers = predict(model, data.drop(columns="label")).compute()
    assert (np.asarray(answers) == frame["label"].to_numpy()).mean() > 0.95


def test_categories_must_be_known():
    frame = table(50).astype({"group": str})
    data = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(
        ValueError, match=r"'group': X must be numbers.*known categorical"
    ):
        fit(DMKDE(gamma=1.0, scale=None, n_components=8), data)
