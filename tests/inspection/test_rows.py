"""Frames and arrays give the same rows, and a sample of many is a sample."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.inspection import inspect_rows
from rhokit.inspection.rows import number_rows, row_labels, some_places, take_rows
from tests.inspection.models import case, mixed_rows


def frames(frame):
    return {
        "pandas": frame,
        "polars": pl.from_pandas(frame.reset_index(drop=True)),
        "pyarrow": pa.Table.from_pandas(frame, preserve_index=False),
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_agree(kind):
    plain = mixed_rows()
    rows = inspect_rows(frames(plain)[kind], None, case("mixed").model, 50)
    assert rows.names == ("price", "size", "new")
    which = list(rows.labels)
    assert_allclose(rows.numbers(0), plain["price"].to_numpy()[which])
    assert (
        rows.columns[1].tolist() == plain["size"].astype(str).to_numpy()[which].tolist()
    )
    assert rows.columns[2].tolist() == plain["new"].to_numpy()[which].tolist()


def test_a_sample_is_fixed_ordered_and_without_repeats():
    X, y = np.arange(1000.0)[:, None], np.arange(1000)
    rows = inspect_rows(X, y, None, 100)
    again = inspect_rows(X, y, None, 100)
    assert rows.is_sample
    assert rows.n_given == 1000
    assert len(set(rows.labels)) == 100
    assert (np.diff(rows.labels) > 0).all()
    assert_array_equal(rows.X[:, 0], rows.labels)
    assert_array_equal(rows.y, rows.labels)
    assert rows.labels == again.labels


def test_few_rows_are_all_taken():
    rows = inspect_rows([[1.0, 2.0], [3.0, 4.0]], None, None, 2)
    assert not rows.is_sample
    assert rows.names == ("column 0", "column 1")
    assert_array_equal(rows.X, [[1, 2], [3, 4]])


def test_names_come_from_the_model_where_rows_have_none():
    model, X, *_ = case("landmarks")
    rows = inspect_rows(X.to_numpy(), None, model, 10)
    assert rows.names == tuple(X.columns)


def test_rows_are_called_by_their_index():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["first", "second"])
    assert inspect_rows(frame, None, None, 10).labels == ("first", "second")
    frame.index = [10, 20]
    assert inspect_rows(frame, None, None, 10).labels == (10, 20)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_gaps_are_nan_and_can_be_left_out(kind):
    frame = pd.DataFrame({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 3.0]})
    table = frames(frame)[kind]
    if kind == "polars":
        table = table.with_columns(pl.col("a").fill_nan(None))
    rows = inspect_rows(table, None, None, 10)
    assert_array_equal(rows.numbers(0), [1, np.nan, 3])
    assert len(rows.without_gaps()) == 2


def test_columns_may_be_called_by_numbers():
    rows = inspect_rows(pd.DataFrame(np.eye(3)), None, None, 10)
    assert rows.names == ("0", "1", "2")
    assert_array_equal(rows.numbers(1), [0, 1, 0])


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.zeros((0, 2)), None, "X must have at least one row"),
        (np.zeros(3), None, r"shape \(n, d\), got an array of shape \(3,\)"),
        (np.zeros((3, 1)), [1, 2], r"each of the 3 rows of X, got shape \(2,\)"),
        (np.zeros((3, 1)), 5, r"each of the 3 rows of X, got shape \(\)"),
    ],
)
def test_what_does_not_fit_is_refused(X, y, words):
    with pytest.raises(ValueError, match=words):
        inspect_rows(X, y, None, 10)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "array"])
def test_some_rows_are_of_the_same_kind(kind):
    plain = mixed_rows()[["price"]]
    X = plain.to_numpy() if kind == "array" else frames(plain)[kind]
    part = take_rows(X, np.array([3, 7, 7]))
    assert type(part) is type(X)
    values = part[:, 0] if kind == "array" else np.asarray(part["price"])
    assert_allclose(values, plain["price"].to_numpy()[[3, 7, 7]])


def test_places_are_some_of_all_and_the_same_every_time():
    found = some_places(1000, 10)
    assert_array_equal(found, some_places(1000, 10))
    assert len(set(found)) == 10
    assert (np.diff(found) > 0).all()
    assert_array_equal(some_places(5, None), np.arange(5))


def test_labels_are_the_index_or_places():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    assert row_labels(frame, 2).tolist() == ["x", "y"]
    assert row_labels([[1.0], [2.0]], 2).tolist() == [0, 1]


def test_categories_are_no_numbers():
    model, X, *_ = case("mixed")
    found = number_rows(model, X)
    assert_allclose(found[:, 0], X["price"])
    assert np.isnan(found[:, 1:]).all()
