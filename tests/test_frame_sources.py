"""What people have in place of frames: the same answers, or what to call."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pytest
from numpy.testing import assert_allclose

from rhokit import DMKDE, DMKDClassifier, LandmarkFeatures, QMRegressor

RNG = np.random.default_rng(0)
N_ROWS = 80
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=N_ROWS),
        "kind": pd.Categorical(RNG.choice(["a", "b"], N_ROWS)),
        "when": pd.date_range("2024-01-01", periods=N_ROWS, freq="D").astype(
            "datetime64[us]"
        ),
    }
)
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)


def relation():
    connection = duckdb.connect()
    connection.register("rows", TABLE)
    query = "select x, kind::enum('a', 'b') as kind, \"when\" from rows"
    return connection.sql(query)


# Each is made anew: some can be read only once.
SOURCES = {
    "lazy frame of polars": lambda: pl.from_arrow(TABLE).lazy(),
    "relation of DuckDB": relation,
    "reader of record batches": lambda: TABLE.to_reader(max_chunksize=7),
    "record batch": lambda: TABLE.combine_chunks().to_batches()[0],
    "data set": lambda: pa_dataset.dataset(TABLE),
    "filtered data set": lambda: pa_dataset.dataset(TABLE).filter(
        pa_dataset.field("x") > -99
    ),
}
SMALL = {"n_components": 16, "feature_map": "landmarks", "random_state": 0}


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_as_of_a_frame(source):
    make = SOURCES[source]
    expected = DMKDE(**SMALL).fit(TABLE)
    model = DMKDE(**SMALL).fit(make())
    assert model.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    logs = expected.score_samples(TABLE)
    assert_allclose(model.score_samples(make()), logs)
    assert_allclose(expected.blank().partial_fit(make()).score_samples(TABLE), logs)
    states = LandmarkFeatures(gamma=1.0, n_components=8, random_state=0).fit(make())
    assert states.transform(make()).shape == (N_ROWS, states.n_components_)


@pytest.mark.parametrize("source", SOURCES)
def test_of_models_with_a_target(source):
    y = FRAME["kind"].astype(str)
    rows = TABLE.drop_columns(["kind"])
    classes = DMKDClassifier(**SMALL).fit(rows, y)
    values = QMRegressor(**SMALL).fit(SOURCES[source](), FRAME["x"])
    assert values.predict(SOURCES[source]()).shape == (N_ROWS,)
    assert set(classes.predict(rows)) <= {"a", "b"}


@pytest.mark.parametrize(
    ("column", "call"),
    [
        (pd.Series([1.0, 2.0]), r"X.to_frame\(\)"),
        (pl.Series("x", [1.0, 2.0]), r"X.to_frame\(\)"),
        (pa.chunked_array([[1.0, 2.0]]), r"pyarrow.table\(\{'name': X\}\)"),
    ],
)
def test_a_single_column_says_what_to_call(column, call):
    with pytest.raises(TypeError, match=f"is a single column: give {call}"):
        DMKDE().fit(column)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_text_says_what_to_call(make):
    rows = make({"x": [1.0, 2.0, 3.0], "town": ["Ulm", "Bonn", "Ulm"]})
    with pytest.raises(ValueError, match=r"'town'.*astype\('category'\)"):
        DMKDE().fit(rows)
