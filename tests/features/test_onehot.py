"""Categories as unit vectors."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from rhokit.features import OneHotFeatures

# Rows, and their categories in order.
CASES = {
    "strings": ([["b"], ["a"], ["b"]], [("a",), ("b",)]),
    "ints": ([[3], [-1], [3]], [(-1,), (3,)]),
    "floats": ([[0.5], [np.nan], [np.nan]], [(None,), (0.5,)]),
    "several columns": (
        [["b", "x"], ["a", "y"], ["a", "x"], ["b", "x"]],
        [("a", "x"), ("a", "y"), ("b", "x")],
    ),
    "mixed": (
        np.array([["b", 1], ["a", 2.5], [3, None], ["b", 1]], object),
        [(3, None), ("a", 2.5), ("b", 1)],
    ),
    "booleans": (np.array([[True], [False]]), [(False,), (True,)]),
    "missing and its name": (
        np.array([["nan"], [np.nan], [None], ["None"]], object),
        [(None,), ("None",), ("nan",)],
    ),
    "pandas": (
        pd.DataFrame({"a": ["u", "v", "u"], "b": [2, 1, 2]}),
        [("u", 2), ("v", 1)],
    ),
    "pandas with gaps": (
        pd.DataFrame({"a": pd.array(["u", pd.NA], dtype="string")}),
        [(None,), ("u",)],
    ),
    "pandas categories": (
        pd.DataFrame({"a": pd.Categorical(["z", "y", None])}),
        [(None,), ("y",), ("z",)],
    ),
    "pandas dates": (
        pd.DataFrame({"a": pd.to_datetime(["2021-01-01", "2020-01-01"])}),
        [(datetime.datetime(2020, 1, 1),), (datetime.datetime(2021, 1, 1),)],
    ),
    "polars": (
        pl.DataFrame({"a": ["u", "v", None], "b": [2, 1, 2]}),
        [(None, 2), ("u", 2), ("v", 1)],
    ),
}

every_case = pytest.mark.parametrize(
    ("rows", "categories"), CASES.values(), ids=CASES.keys()
)


@every_case
class TestCategories:
    def test_in_order(self, rows, categories):
        onehot = OneHotFeatures().fit(rows)
        assert onehot.categories_ == categories
        assert onehot.atoms() == categories
        assert onehot.n_components_ == len(categories)

    def test_rows_of_one_category_share_a_unit_vector(self, rows, categories):
        onehot = OneHotFeatures().fit(rows)
        states = onehot.transform(rows)
        assert states.dtype == np.float64
        assert_array_equal(np.sort(states, axis=1)[:, -1], 1)
        assert_array_equal(states.sum(axis=1), 1)
        assert_array_equal(states.max(axis=0), 1)

    def test_a_category_is_the_row_it_came_from(self, rows, categories):
        onehot = OneHotFeatures().fit(rows)
        values = np.asarray(categories, object)
        onehot.refuse_outsiders(values)
        assert_array_equal(onehot.states(values), np.eye(len(categories)))

    def test_after_a_pickle(self, rows, categories):
        onehot = OneHotFeatures().fit(rows)
        copy = pickle.loads(pickle.dumps(onehot))
        assert copy.fingerprint() == onehot.fingerprint()
        assert_array_equal(copy.transform(rows), onehot.transform(rows))

    def test_names(self, rows, categories):
        names = OneHotFeatures().fit(rows).get_feature_names_out()
        assert names.tolist() == [",".join(map(str, key)) for key in categories]


class TestUnknown:
    def test_zero_vector(self):
        onehot = OneHotFeatures().fit([["a", "x"], ["b", "y"]])
        states = onehot.transform([["a", "y"], ["b", "y"], ["", ""]])
        assert_array_equal(states, [[0, 0], [0, 1], [0, 0]])
        assert_array_equal(onehot.reach([["a", "y"], ["b", "y"], ["", ""]]), [0, 1, 0])

    def test_a_number_is_not_its_name(self):
        onehot = OneHotFeatures().fit(np.array([[1], ["1"]], object))
        assert onehot.categories_ == [(1,), ("1",)]
        assert_array_equal(onehot.transform(np.array([["1"]], object)), [[0, 1]])

    def test_whole_floats_are_ints(self):
        onehot = OneHotFeatures().fit(np.array([[1], [2]]))
        assert_array_equal(onehot.transform(np.array([[2.0], [2.5]])), [[0, 1], [0, 0]])

    def test_refused_by_row_and_category(self):
        onehot = OneHotFeatures().fit([["a", "x"], ["b", "y"]])
        with pytest.raises(
            ValueError, match=r"row 1 .*\('a', 'y'\).*knows 2 categories"
        ):
            onehot.refuse_outsiders(np.array([["a", "x"], ["a", "y"]]))


def test_rows_of_no_weight_are_not_there():
    onehot = OneHotFeatures().fit([["a"], ["b"], ["c"]], sample_weight=[1, 0, 2])
    assert onehot.categories_ == [("a",), ("c",)]


def test_row_scale():
    onehot = OneHotFeatures().fit([["a"], ["b"]])
    columns, scale = onehot.columns(
        np.array([["b"], ["a"]]), row_scale=np.array([2, 3])
    )
    assert scale is None
    assert_array_equal(columns, [[0, 2], [3, 0]])


def test_nothing_is_lost_to_a_floor():
    onehot = OneHotFeatures().fit([["a"], ["b"]])
    assert onehot.log_floor_ == -np.inf
    assert onehot.log_mass() == 0
