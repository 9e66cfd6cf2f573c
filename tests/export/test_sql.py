"""Queries of SQL, asked of real databases: they say what the model says."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rhokit import (
    DMKDE,
    DMKDClassifier,
    DMKDOutlierDetector,
    MeanEmbeddingKDE,
    MosaicFeatures,
    OneHotFeatures,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)
from rhokit.export import export_sql
from rhokit.export.sql_dialects import DIALECTS
from rhokit.export.sql_expressions import Pool
from tests.export.databases import DuckDB, PostgreSQL, SQLite
from tests.export.support import frame, frame_columns

TOLERANCE = 1e-6
LANDMARKS = {"feature_map": "landmarks", "n_components": 12, "random_state": 0}

BLEND = {"feature_map": "blend", "n_components": 12, "random_state": 0}


@pytest.fixture(scope="module", params=[DuckDB, PostgreSQL, SQLite])
def database(request):
    with request.param() as found:
        yield found


# ---- rows and models -----------------------------------------------------------------


def table(n=300, seed=0):
    """Columns that are bent, bounded, or neither, and targets."""
    rng = np.random.default_rng(seed)
    near = rng.normal(size=n)
    return pd.DataFrame(
        {
            "income": np.exp(near + rng.normal(size=n) / 2),
            "share": rng.beta(2, 5, n),
            "height": 1e4 + near * 3,
        }
    )


ROWS = table()
CLASS = np.where(ROWS["income"] > 1, "rich", np.where(ROWS["share"] > 0.3, "it's", "o"))
VALUE = np.log(ROWS["income"]) * 10 + ROWS["share"]
FEW = pd.DataFrame(np.random.default_rng(1).integers(0, 3, (300, 3)).astype(float))
FEW.columns = ["a", "b", "c"]
FEW_CLASS = (FEW["a"] + FEW["b"] > 2).astype(int) + (FEW["c"] == 1)
RANK = np.searchsorted([0.5, 1, 2], ROWS["income"])

CASES = {
    "cells": (DMKDE(random_state=0), ROWS, None),
    "one layer": (DMKDE(feature_map=MosaicFeatures(n_cells=3)), ROWS, None),
    "kernels": (DMKDE(**LANDMARKS, rank=5), ROWS, None),
    "mixed cells": (DMKDE(random_state=0), frame(), None),
    "mixed kernels": (DMKDE(**LANDMARKS), frame(), None),
    "waves": (DMKDE(n_components=12, feature_map="fourier"), ROWS, None),
    "mean": (MeanEmbeddingKDE(n_components=12, random_state=0), ROWS, None),
    "classes": (DMKDClassifier(**LANDMARKS, rank=3), ROWS, CLASS),
    "rejected": (DMKDClassifier(**LANDMARKS, reject=0.1), ROWS, RANK),
    "classes of cells": (DMKDClassifier(feature_map="mosaic"), ROWS, CLASS),
    "joint": (QMClassifier(**LANDMARKS), ROWS, CLASS),
    "joint rank": (QMClassifier(**LANDMARKS, joint_rank=5), ROWS, CLASS),
    "ordered": (QMOrdinalClassifier(**LANDMARKS), ROWS, RANK),
    "values": (QMRegressor(**LANDMARKS, n_levels=6), ROWS, VALUE),
    "two values": (
        QMRegressor(**LANDMARKS, n_levels=4),
        ROWS,
        np.stack([VALUE, -(VALUE**2)], axis=1),
    ),
    "blend of classes": (DMKDClassifier(**BLEND), FEW, FEW_CLASS),
    "blend of values": (QMRegressor(**BLEND), FEW, FEW.sum(axis=1) ** 2),
}
SEVERAL = {"values": [0.9, 0.1], "two values": [0.5], "blend of values": [0.25]}


def expected_answers(model, rows, quantiles):
    """What a query should give, by its columns."""
    found = {}
    if isinstance(model, DMKDE | MeanEmbeddingKDE | DMKDClassifier):
        found["log_density"] = model.score_samples(rows)
    if hasattr(model, "predict_proba"):
        found["prediction"] = model.predict(rows)
        pairs = zip(model.classes_.tolist(), model.predict_proba(rows).T, strict=True)
        found |= {f"probability_{label}": each for label, each in pairs}
    if hasattr(model, "predict_interval"):
        mean, std = model.predict(rows, return_std=True)
        ends = model.predict_interval(rows, 0.8)
        levels = model.predict_quantiles(rows, quantiles)
        several = mean.ndim == 2
        for target in range(mean.shape[1] if several else 1):
            own = np.s_[:, target] if several else np.s_[:]
            name = f"_{target + 1}" * several
            found[f"prediction{name}"], found[f"std{name}"] = mean[own], std[own]
            found[f"low{name}"], found[f"high{name}"] = ends[own].T
            for level, column in zip(quantiles, levels[own].T, strict=True):
                found[f"quantile_{level}{name}"] = column
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_query_says_what_the_model_says(case, database, fitted_cases):
    model, rows = fitted_cases(case)
    quantiles = SEVERAL.get(case)
    options = {"quantiles": quantiles, "coverage": 0.8} if quantiles else {}
    found = database.ask(rows, export_sql(model, database.name, **options))
    assert len(found) == len(rows)
    expected = expected_answers(model, rows, quantiles)
    assert set(found) == set(expected)
    for name, values in expected.items():
        if values.dtype.kind in "OU":
            assert found[name].astype(str).tolist() == values.astype(str).tolist()
        else:
            scale = np.maximum(1, np.abs(values))
            got = found[name].to_numpy(float)
            assert_allclose(got / scale, values / scale, 0, TOLERANCE, err_msg=name)


@pytest.fixture(scope="module")
def fitted_cases():
    """Models of the cases, fitted when first asked for."""
    known = {}

    def fitted(case):
        if case not in known:
            model, rows, target = CASES[case]
            known[case] = model.fit(rows, target), rows[:40]
        return known[case]

    return fitted


# ---- what rows may be like -----------------------------------------------------------


def test_rows_that_lack_something_have_no_answer(database):
    model = DMKDClassifier(**LANDMARKS).fit(ROWS, CLASS)
    rows = ROWS[:5].copy()
    rows["id"] = [3, 1, 4, 15, 9]
    rows.iloc[1, 0] = np.nan
    rows.iloc[2, 1] = np.inf
    rows.iloc[3, 2] = 1e150
    query = export_sql(model, database.name, keep=["id"])
    found = database.ask(rows, query).set_index("id")
    answered = found.drop([1, 4, 15])
    assert (
        answered["prediction"].tolist() == model.predict(rows.iloc[[0, 4], :3]).tolist()
    )
    assert found.loc[[1, 4, 15]].isna().all(axis=None)


def test_rows_far_away_have_answers(database):
    model = DMKDE(random_state=0).fit(ROWS)
    factors = np.array([[1e6, 1, 1], [1, 1, -1e9], [1e-9, 1, 1], [1, 1, 1]])
    rows = ROWS[:4] * factors
    found = database.ask(rows, export_sql(model, database.name))["log_density"]
    values = model.score_samples(rows)
    assert values[1] < -1e3
    assert_allclose(found.to_numpy(float), values, TOLERANCE)


def test_unseen_and_missing_categories(database):
    rows = frame().drop(columns=["doors", "new", "tax"])
    rows["colour"] = rows["colour"].cat.add_categories(["o'pal"])
    model = DMKDE(random_state=0).fit(rows)
    asked = rows[:6].copy()
    asked["colour"] = ["o'pal", "never seen", "red", "blue", "red", "blue"]
    found = database.ask(asked, export_sql(model, database.name))["log_density"]
    asked["colour"] = pd.Categorical(asked["colour"])
    assert_allclose(found.to_numpy(float), model.score_samples(asked), TOLERANCE)


def test_columns_of_any_name(database):
    names = ['say "x"', "v0", "SELECT", "größe; DROP TABLE data; --"]
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=names)
    model = DMKDE(**LANDMARKS).fit(rows)
    query = export_sql(model, database.name, keep=["v0"])
    found = database.ask(rows, query)
    assert_allclose(found["log_density"].astype(float), model.score_samples(rows))
    assert_allclose(found["v0"].astype(float), rows["v0"])


def test_rows_of_text(database):
    rng = np.random.default_rng(0)
    words = rng.choice(np.array(["ant", "bee", "it's"], dtype=object), (80, 2))
    model = DMKDE(feature_map=OneHotFeatures()).fit(words)
    rows = pd.DataFrame(words[:20], columns=["x0", "x1"])
    found = database.ask(rows, export_sql(model, database.name))["log_density"]
    assert_allclose(found.astype(float), model.score_samples(words[:20]), TOLERANCE)


# ---- what is refused -----------------------------------------------------------------


def test_what_no_query_can_follow_is_refused():
    grid = DMKDE(random_state=0).fit(ROWS[["share"]])
    assert grid.feature_map_.name == "grid"
    with pytest.raises(ValueError, match=r"waves of a grid .* feature_map='mosaic'"):
        export_sql(grid)
    with pytest.raises(ValueError, match="compare rows with those that it keeps"):
        export_sql(DMKDOutlierDetector(random_state=0).fit(ROWS))
    with pytest.raises(ValueError, match=r"cells of trees, at most 10 .* max_cells"):
        export_sql(DMKDClassifier(**BLEND).fit(FEW, FEW_CLASS), max_cells=10)
    kernels = DMKDE(**LANDMARKS).fit(ROWS)
    with pytest.raises(ValueError, match=r"query would have .* bytes, and at most 99"):
        export_sql(kernels, max_bytes=99)
    with pytest.raises(ValueError, match="dialect must be one of duckdb"):
        export_sql(kernels, "oracle")
    with pytest.raises(ValueError, match="quantiles must be None for a DMKDE"):
        export_sql(kernels, quantiles=[0.5])
    with pytest.raises(TypeError, match="export_sql takes a fitted estimator"):
        export_sql(object())


def test_stages_are_no_wider_than_databases_allow(monkeypatch):
    narrow = replace(DIALECTS["sqlite"], most_columns=5)
    monkeypatch.setitem(DIALECTS, "sqlite", narrow)
    with pytest.raises(ValueError, match=r"sqlite has at most 5: fit with fewer"):
        export_sql(DMKDE(**LANDMARKS).fit(ROWS), "sqlite")


# ---- expressions ---------------------------------------------------------------------


def test_constants_are_folded_and_equal_expressions_are_one():
    pool = Pool()
    x = pool.column("x")
    assert x + 1.0 + 2.0 is x + 3.0
    assert (x * 2.0) * 0.5 is x
    assert x * 0.0 == 0.0
    assert x - x * 1.0 is not x
    assert pool.extreme("least", [x, np.inf, x]) is x
    assert pool.choice([(True, x)], 1.0) is x
    assert pool.choice([(x > 0.0, 2.0)], 2.0) == 2.0
    assert pool.picked(pool.choice([(x > 0.0, 1.0)], 0.0), ["a", "a"]) == "a"
    assert pool.function("exp", 0.0) == 1.0


def test_the_columns_of_a_frame_are_there():
    """Else tests of categories would test fewer kinds of them than they say."""
    kinds = {type(values.tolist()[0]) for values in frame_columns()[0].values()}
    assert kinds == {str, int, float, bool}
