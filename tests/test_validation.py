"""Checks of parameters, rows, weights and seeds."""

from numbers import Real

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from rhokit.errors import DataError, DataTypeError
from rhokit.validation import (
    Interval,
    StrOptions,
    all_or_nothing,
    check_parameters,
    check_rows,
    check_weights,
    generator,
)

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
TABLE = {
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "rule": [StrOptions({"scott", "silverman"})],
}


class Model(BaseEstimator):
    """Something with parameters that takes rows."""

    def __init__(self, gamma=1.0, rule="scott"):
        self.gamma = gamma
        self.rule = rule

    @all_or_nothing
    def fit(self, rows, fail=False):
        self.rows_ = rows
        if fail:
            raise RuntimeError("too late")
        return "dropped"


def frame(rows):
    return pd.DataFrame(rows, columns=["a", "b"])


class TestParameters:
    @pytest.mark.parametrize(
        "given", [{}, {"gamma": None}, {"gamma": 3, "rule": "scott"}]
    )
    def test_inside_the_table(self, given):
        check_parameters(Model(**given), TABLE)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"gamma": -1}, r"'gamma' parameter of Model .* in the range \(0.*Got -1"),
            ({"gamma": "x"}, r"'gamma' parameter of Model .*Got 'x'"),
            ({"rule": "best"}, r"'rule' parameter of Model .*'scott'.*Got 'best'"),
        ],
    )
    def test_name_owner_requirement_and_value(self, given, message):
        with pytest.raises(ValueError, match=message):
            check_parameters(Model(**given), TABLE)

    def test_what_is_not_in_the_table_passes(self):
        check_parameters(Model(gamma="anything"), {"rule": TABLE["rule"]})


class TestRows:
    @pytest.mark.parametrize(
        "make",
        [
            np.ndarray.tolist,
            np.asfortranarray,
            lambda rows: rows.astype(int),
            lambda rows: rows.astype("float16"),
            lambda rows: rows.astype(object),
            lambda rows: rows.astype(str),
            frame,
            lambda rows: frame(rows).astype("Int64"),
            lambda rows: pl.DataFrame(rows, schema=["a", "b"], orient="row"),
        ],
    )
    def test_become_double_in_row_order(self, make):
        rows = check_rows(Model(), make(ROWS), reset=True)
        assert rows.dtype == np.float64
        assert rows.flags.c_contiguous
        assert_array_equal(rows, ROWS)

    @pytest.mark.parametrize(
        ("given", "wanted", "result"),
        [
            ("float32", None, "float32"),
            ("float32", np.float64, "float64"),
            ("float64", np.dtype("float32"), "float32"),
            ("int64", np.float32, "float32"),
        ],
    )
    def test_dtype(self, given, wanted, result):
        rows = check_rows(Model(), ROWS.astype(given), reset=True, dtype=wanted)
        assert rows.dtype == result

    def test_columns_are_remembered(self):
        model = Model()
        check_rows(model, frame(ROWS), reset=True)
        assert model.n_features_in_ == 2
        assert model.feature_names_in_.tolist() == ["a", "b"]
        check_rows(model, frame(ROWS), reset=False)
        with pytest.raises(ValueError, match="feature names"):
            check_rows(model, frame(ROWS)[["b", "a"]], reset=False)

    def test_columns_are_counted(self):
        model = Model()
        check_rows(model, ROWS, reset=True)
        with pytest.raises(ValueError, match="3 features, but Model is expecting 2"):
            check_rows(model, np.ones((2, 3)), reset=False)

    @pytest.mark.parametrize(
        ("value", "kind"),
        [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")],
    )
    @pytest.mark.parametrize(
        ("make", "name"), [(np.asarray, 1), (frame, "b")], ids=["array", "frame"]
    )
    def test_non_finite_column_is_named(self, value, kind, make, name):
        rows = ROWS.copy()
        rows[2, 1] = value
        message = f"row 2: column {name!r}: Input X contains {kind}; Model needs finite"
        with pytest.raises(DataError, match=message) as refused:
            check_rows(Model(), make(rows), reset=True)
        assert (refused.value.row, refused.value.column) == (2, name)
        assert_array_equal(refused.value.value, value)

    def test_names_of_rows_that_come_without_them(self):
        with pytest.raises(DataError) as refused:
            check_rows(Model(), [[1.0, np.nan]], reset=True, names=["a", "b"])
        assert refused.value.column == "b"

    def test_both_infinities_do_not_cancel(self):
        with pytest.raises(DataError, match=r"row 0: column 0: .* infinity"):
            check_rows(Model(), [[np.inf, 1.0], [-np.inf, 1.0]], reset=True)

    def test_large_numbers_are_finite_though_their_sum_is_not(self):
        rows = np.full((3, 2), 1e308)
        assert_array_equal(check_rows(Model(), rows, reset=True), rows)

    @pytest.mark.parametrize(
        ("rows", "name"),
        [
            ([["1", "2"], ["3", "four"]], 1),
            (np.array([[1, 2], [3, "four"]], object), 1),
            (frame([[1, "2"], [3, "four"]]), "b"),
            (pl.DataFrame({"a": [1, 2], "b": ["2", "four"]}), "b"),
        ],
        ids=["list", "array", "pandas", "polars"],
    )
    def test_column_of_text_is_named(self, rows, name):
        message = "Model needs numbers, but X holds 'four'"
        with pytest.raises(DataError, match=message) as refused:
            check_rows(Model(), rows, reset=True)
        error = refused.value
        assert (error.row, error.column, error.value) == (1, name, "four")

    def test_a_type_that_is_no_number(self):
        rows = np.array([[1.0, 2.0], [3.0, {"four": 4}]], object)
        with pytest.raises(
            DataTypeError, match="row 1: column 1: Model needs"
        ) as refused:
            check_rows(Model(), rows, reset=True)
        assert isinstance(refused.value, TypeError)
        assert refused.value.value == {"four": 4}

    @pytest.mark.parametrize("dtype", ["M8[D]", "M8[ns]", "m8[s]"])
    @pytest.mark.parametrize("make", [np.asarray, list, frame])
    def test_dates_and_durations_are_no_numbers(self, make, dtype):
        rows = np.arange(4).reshape(2, 2).astype(dtype)
        with pytest.raises(DataTypeError, match="dates and durations") as refused:
            check_rows(Model(), make(rows), reset=True)
        assert refused.value.column == ("a" if make is frame else 0)

    def test_a_date_beside_numbers(self):
        with pytest.raises(DataTypeError, match=r"durations .* datetime64") as refused:
            check_rows(Model(), [[1.0, np.datetime64("2020-01-01")]], reset=True)
        assert refused.value.column == 1

    @pytest.mark.parametrize(
        ("rows", "error", "message"),
        [
            (ROWS[0], ValueError, "Expected 2D array, got 1D"),
            (pd.Series(ROWS[0]), ValueError, "Expected a 2-dimensional"),
            (ROWS[:0], ValueError, r"0 sample\(s\)"),
            (ROWS[:, :0], ValueError, r"0 feature\(s\)"),
            (ROWS + 1j, ValueError, "Complex data not supported"),
            (csr_array(ROWS), TypeError, "[Ss]parse"),
        ],
        ids=["1-D", "series", "no rows", "no columns", "complex", "sparse"],
    )
    def test_other_errors_are_scikit_learns(self, rows, error, message):
        with pytest.raises(error, match=message):
            check_rows(Model(), rows, reset=True)

    def test_categories_may_be_anything(self):
        rows = np.array([["a", None], [np.nan, 3]], object)
        checked = check_rows(Model(), rows, reset=True, numeric=False)
        assert checked.dtype == object
        assert checked[0].tolist() == ["a", None]


class TestWeights:
    def test_none(self):
        assert check_weights(None, 3) is None

    @pytest.mark.parametrize("given", [[0, 1, 2], np.array([0, 1, 2], "float32")])
    def test_double(self, given):
        weights = check_weights(given, 3)
        assert weights.dtype == np.float64
        assert_array_equal(weights, [0, 1, 2])

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ([1, 1], r"sample_weight must have shape \(3,\), .* got \(2,\)"),
            ([[1], [1], [1]], r"sample_weight must have shape \(3,\), .* got \(3, 1\)"),
            ([1, -2, 1], "row 1: sample_weight must not be negative, got -2.0"),
            ([0, 0, 0], "sample_weight is zero for every row"),
            ([1, np.nan, 1], "row 1: Input sample_weight contains NaN"),
            ([1, np.inf, 1], "row 1: Input sample_weight contains infinity"),
        ],
    )
    def test_errors(self, given, message):
        with pytest.raises(ValueError, match=message):
            check_weights(given, 3)

    def test_durations(self):
        with pytest.raises(DataTypeError, match="sample_weight must be numbers"):
            check_weights(np.arange(3).astype("m8[s]"), 3)


class TestGenerator:
    @pytest.mark.parametrize(
        "seed", [lambda s: s, np.random.RandomState, np.random.default_rng]
    )
    def test_a_seed_means_the_same_numbers(self, seed):
        first, again, other = (generator(seed(s)).random(4) for s in (0, 0, 1))
        assert_array_equal(first, again)
        assert (first != other).all()

    def test_a_generator_is_used_itself(self):
        rng = np.random.default_rng(0)
        assert generator(rng) is rng

    def test_a_random_state_goes_on(self):
        state = np.random.RandomState(0)
        first, second = (generator(state).random() for _ in range(2))
        assert first != second

    def test_none_is_anew(self):
        assert generator(None).random() != generator(None).random()


class TestAllOrNothing:
    def test_the_object_is_returned(self):
        model = Model()
        assert model.fit("rows") is model
        assert model.rows_ == "rows"

    def test_a_failure_leaves_everything(self):
        model = Model().fit("rows")
        with pytest.raises(RuntimeError, match="too late"):
            model.fit("others", fail=True)
        assert model.rows_ == "rows"

    def test_the_method_keeps_its_name(self):
        assert Model.fit.__name__ == "fit"
