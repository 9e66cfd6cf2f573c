"""Frames with columns of categories: kinds, wide rows, and refusals by name."""

from copy import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rhokit import DMKDE, DMKDClassifier, LandmarkFeatures, QuadratureFeatures
from rhokit.errors import DataError
from rhokit.frame_rows import check_table
from rhokit.frames import MOST_CATEGORIES, Schema
from rhokit.streams import Stream, fit_batches

SIZES = ["S", "M", "L", "XL"]


def frame(n=6):
    """A number, categories, ordered categories and truth values."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "price": rng.normal(size=n),
            "colour": pd.Categorical.from_codes(np.arange(n) % 2, ["blue", "red"]),
            "size": pd.Categorical(rng.choice(SIZES, n), SIZES, ordered=True),
            "new": rng.random(n) < 0.5,
        }
    )


def as_polars(table):
    columns = {name: pl.Series(table[name].tolist()) for name in table.columns}
    columns["colour"] = columns["colour"].cast(pl.Categorical)
    columns["size"] = columns["size"].cast(pl.Enum(SIZES))
    return pl.DataFrame(columns)


def as_arrow(table):
    return pa.Table.from_pandas(table)


LIBRARIES = pytest.mark.parametrize(
    "convert", [lambda t: t, as_polars, as_arrow], ids=["pandas", "polars", "arrow"]
)


class TestKinds:
    @LIBRARIES
    def test_are_seen_in_every_library(self, convert):
        schema = Schema.of(convert(frame()))
        assert schema.names == ("price", "colour", "size", "new")
        assert schema.kinds == ("number", "category", "ordered", "category")
        assert schema.categories[1:] == (("blue", "red"), tuple(SIZES), (False, True))

    def test_numbers_alone_have_none(self):
        assert Schema.of(frame()[["price"]]) is None
        assert Schema.of(np.zeros((3, 2))) is None
        assert Schema.of([[1, 2]]) is None

    def test_pandas_lists_categories_that_do_not_occur(self):
        values = pd.Categorical(["b", "b"], ["c", "b", "a"])
        assert Schema.of(pd.DataFrame({"x": values})).categories == (("c", "b", "a"),)

    def test_names_and_texts_are_no_categories(self):
        values = pd.Categorical([f"name {i}" for i in range(MOST_CATEGORIES + 1)])
        with pytest.raises(
            ValueError, match=r"'x': has 1,001 categories.*leave it out"
        ):
            Schema.of(pd.DataFrame({"x": values}))

    def test_a_column_without_any(self):
        values = pd.Series([None, None], dtype="category")
        with pytest.raises(ValueError, match="'x': holds no category"):
            Schema.of(pd.DataFrame({"x": values}))

    def test_names_that_are_numbers(self):
        values = pd.Categorical(["b", "a", "b"])
        schema = Schema.of(pd.DataFrame({0: [1.0, 2.0, 3.0], 1: values}))
        assert schema.names == ("0", "1")
        assert Schema.of(pd.DataFrame(np.zeros((3, 2)))) is None

    def test_names_that_repeat(self):
        """Are for scikit-learn's own check of numbers."""
        twice = pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"])
        assert Schema.of(twice) is None

    def test_part(self):
        part = Schema.of(frame()).part([2, 0])
        assert part.names == ("size", "price")
        assert part.kinds == ("ordered", "number")


class TestWideRows:
    @LIBRARIES
    def test_are_the_same_from_every_library(self, convert):
        table = frame()
        schema = Schema.of(table)
        assert_allclose(schema.encode(convert(table)), schema.encode(table))

    def test_written_out(self):
        table = frame()
        schema = Schema.of(table)
        wide = schema.encode(table)
        assert wide.shape == (6, schema.width) == (6, 1 + 2 + 4 + 2)
        assert_array_equal(wide[:, 0], table["price"])
        assert_array_equal(wide[:, 1:3], pd.get_dummies(table["colour"]))
        assert_array_equal(wide[:, 7:], np.eye(2)[table["new"].astype(int)])
        assert_allclose((wide[:, 3:7] ** 2).sum(axis=1), 1)

    def test_ordered_neighbours_are_nearer(self):
        kernel = Schema.of(frame()).category_kernel(2, gamma=1.0)
        assert_allclose(kernel.diagonal(), 1)
        assert kernel[0, 1] > kernel[0, 2] > kernel[0, 3]
        assert_allclose(kernel, kernel.T)

    def test_categories_are_as_far_apart_as_rows_of_variance_one(self):
        states = Schema.of(frame()).states(1)
        assert_allclose(((states[0] - states[1]) ** 2).sum(), 2)

    def test_decode_undoes_encode(self):
        table = frame(50)
        schema = Schema.of(table)
        columns = schema.decode(schema.encode(table))
        for name in table.columns:
            assert columns[name].tolist() == table[name].tolist()

    def test_gaps_are_nan_in_the_whole_block(self):
        table = frame()
        table.loc[0, ["price", "colour"]] = np.nan
        wide = Schema.of(table).encode(table)
        assert np.isnan(wide[0, :3]).all()
        assert np.isfinite(wide[0, 3:]).all()
        assert np.isfinite(wide[1:]).all()

    def test_a_single_row(self):
        table = frame()
        schema = Schema.of(table)
        row = schema.encode_row(table.iloc[2].tolist())
        assert_allclose(row, schema.encode(table)[2])

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ([1.0, "green", "S", True], "'colour': holds 'green'.*'blue', 'red'"),
            (["a", "red", "S", True], "'price': must be a number, got 'a'"),
            ([1.0, None, "S", True], "'colour': Input X contains NaN"),
        ],
    )
    def test_a_bad_single_row(self, row, message):
        with pytest.raises(ValueError, match=message):
            Schema.of(frame()).encode_row(row, is_closed=True)

    @given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=30))
    def test_any_categories_survive(self, values):
        table = pd.DataFrame({"x": pd.Categorical(values)})
        schema = Schema.of(table)
        assert schema.decode(schema.encode(table))["x"].tolist() == values


class TestMass:
    """The integral of the kernel, over numbers and sums over categories."""

    def test_numbers_and_categories(self):
        table = frame()[["price", "colour", "new"]]
        gamma = 0.7
        each = 1 + np.exp(-2 * gamma)
        expected = 0.5 * np.log(np.pi / gamma) + 2 * np.log(each)
        assert_allclose(Schema.of(table).log_mass(gamma), expected)

    def test_map_of_a_frame_has_it(self):
        table = frame(40)
        feature_map = LandmarkFeatures(gamma=0.7, n_components=64).fit(table)
        assert_allclose(feature_map.log_mass(), Schema.of(table).log_mass(0.7))


class TestMapsOfFrames:
    """Squared overlaps are the product of the columns' kernels."""

    def test_product_kernel(self):
        table = frame(40)
        schema, gamma = Schema.of(table), 0.7
        states = LandmarkFeatures(gamma=gamma, n_components=64).fit_transform(table)
        expected = np.exp(
            -gamma * np.subtract.outer(*[table["price"].to_numpy()] * 2) ** 2
        )
        for column in schema.category_columns():
            codes = schema.nearest(column, schema.encode(table))
            expected *= schema.category_kernel(column, gamma)[np.ix_(codes, codes)]
        assert_allclose((states @ states.T) ** 2, expected, atol=1e-7)

    def test_maps_of_numbers_refuse(self):
        with pytest.raises(ValueError, match="QuadratureFeatures takes numbers alone"):
            QuadratureFeatures().fit(frame()[["price", "colour"]])

    def test_names_are_remembered(self):
        feature_map = LandmarkFeatures(n_components=8).fit(frame(20))
        assert feature_map.n_features_in_ == 4
        assert feature_map.feature_names_in_.tolist() == list(frame().columns)


@pytest.fixture(scope="module")
def model():
    return DMKDE(n_components=16, gamma=1.0, scale=None, random_state=0).fit(frame(40))


def place(refused):
    """Row, column and value of an error."""
    return refused.value.row, refused.value.column, refused.value.value


class TestRefusals:
    """Of an estimator, by the name of the column."""

    def test_text_where_numbers_belong(self):
        table = frame().assign(price=list("abcdef"))
        with pytest.raises(
            DataError, match="must be numbers, but holds 'a'"
        ) as refused:
            DMKDE().fit(table)
        assert place(refused) == (0, "price", "a")

    def test_text_without_any_categories(self):
        table = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
        with pytest.raises(DataError, match="X holds 'x'") as refused:
            DMKDE().fit(table)
        assert place(refused) == (0, "b", "x")

    @pytest.mark.parametrize(
        "convert",
        [lambda t: t, pl.from_pandas, as_arrow],
        ids=["pandas", "polars", "arrow"],
    )
    @pytest.mark.parametrize("kept", [["price", "new"], ["price"], []])
    def test_durations(self, kept, convert):
        """With categories or without, whatever numbers a frame makes of them."""
        values = pd.timedelta_range("1 day", periods=6)
        table = frame().assign(day=values)[[*kept, "day"]]
        with pytest.raises((ValueError, TypeError), match="numbers") as refused:
            DMKDE(gamma=1.0, scale=None).fit(convert(table))
        assert refused.value.column == "day"

    def test_unknown_category(self, model):
        table, model = frame(40), copy(model).set_params(unseen="raise")
        table["colour"] = table["colour"].cat.rename_categories({"red": "green"})
        with pytest.raises(
            DataError, match=r"'colour': holds .*'blue', 'red'"
        ) as refused:
            model.score_samples(table)
        row = (table["colour"] == "green").to_numpy().argmax()
        assert place(refused) == (row, "colour", "green")

    def test_plain_text_is_a_category_that_is_known(self, model):
        table = frame(40)
        text = table.assign(colour=table["colour"].astype(str))
        assert_array_equal(model.score_samples(text), model.score_samples(table))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda t: t.drop(columns="new"), r"lacks \['new'\]"),
            (lambda t: t.assign(more=1), r"also has \['more'\]"),
            (lambda t: t[t.columns[::-1]], "another order"),
        ],
    )
    def test_other_columns(self, model, change, message):
        with pytest.raises(ValueError, match=message):
            model.score_samples(change(frame()))

    def test_no_frame(self, model):
        with pytest.raises(TypeError, match="must come as a frame too, got list"):
            model.score_samples([[1.0, "red", "S", True]])

    def test_missing_value(self, model):
        table = frame()
        table.loc[3, "size"] = np.nan
        with pytest.raises(DataError, match=r"row 3: column 'size': .* contains NaN"):
            model.score_samples(table)

    def test_infinity(self, model):
        table = frame()
        table.loc[2, "price"] = np.inf
        with pytest.raises(DataError, match="contains infinity") as refused:
            model.score_samples(table)
        assert place(refused) == (2, "price", np.inf)

    def test_empty(self, model):
        with pytest.raises(ValueError, match="0 sample"):
            model.score_samples(frame().iloc[:0])

    @pytest.mark.parametrize(
        "feature_map", ["grid", "quadrature", QuadratureFeatures()]
    )
    def test_maps_of_numbers(self, feature_map):
        with pytest.raises(
            ValueError, match=r"categories, of which there are .*colour"
        ):
            DMKDE(feature_map=feature_map).fit(frame()[["price", "colour"]])

    def test_a_failed_fit_leaves_the_model(self, model):
        before = model.score_samples(frame())
        bad = frame().assign(price=list("abcdef"))
        with pytest.raises(ValueError, match="price"):
            model.partial_fit(bad)
        assert_array_equal(model.score_samples(frame()), before)


class TestWideArrays:
    """An array as wide as encoded rows does not say what its columns are."""

    def refused(self):
        return pytest.raises(TypeError, match="must come as a frame too, got ndarray")

    def wide(self):
        return Schema.of(frame(40)).encode(frame(40))

    @pytest.mark.parametrize("ask", ["score_samples", "partial_fit", "unlearn"])
    def test_of_a_model(self, model, ask):
        before = model.score_samples(frame())
        with self.refused():
            getattr(model, ask)(self.wide())
        assert_array_equal(model.score_samples(frame()), before)

    def test_of_a_map(self):
        feature_map = LandmarkFeatures(n_components=8, random_state=0).fit(frame(40))
        with self.refused():
            feature_map.transform(self.wide())

    @pytest.mark.parametrize("warm_up", [10, 1000])
    def test_of_a_stream(self, warm_up):
        model = DMKDE(n_components=8, gamma=1.0, scale=None, random_state=0)
        stream = Stream(model, warm_up=warm_up)
        stream.learn_many(frame(40))
        with self.refused():
            stream.learn_many(self.wide())

    def test_of_batches(self):
        model = DMKDE(n_components=8, gamma=1.0, scale=None, random_state=0)
        with self.refused():
            fit_batches(model, [frame(40), self.wide()])


class TestNamesThatAreOneAsText:
    @pytest.mark.parametrize("names", [(1, "1"), (True, "True"), (1.5, "1.5")])
    def test_are_refused(self, names):
        table = frame(6).rename(columns=dict(zip(["price", "new"], names, strict=True)))
        with pytest.raises(ValueError, match=f"both .*'{names[1]}'.* rename"):
            DMKDE().fit(table)

    def test_are_refused_in_questions(self):
        table = frame(40).rename(columns={"price": "1"})
        model = DMKDE(n_components=16, gamma=1.0, scale=None, random_state=0).fit(table)
        table.insert(0, 1, 0.0)
        with pytest.raises(ValueError, match="both"):
            model.score_samples(table)

    def test_numbers_alone_are_names(self):
        table = frame(40).rename(columns={"price": 1})
        model = DMKDE(n_components=16, gamma=1.0, scale=None, random_state=0).fit(table)
        assert model.schema_.names[0] == "1"


def test_a_refit_to_numbers_forgets_the_categories():
    model = DMKDClassifier(n_components=16, gamma=1.0, scale=None, random_state=0)
    labels = np.arange(40) % 2
    model.fit(frame(40), labels)
    model.fit(np.random.default_rng(0).normal(size=(40, 3)), labels)
    assert model.schema_ is None
    assert not hasattr(model, "feature_names_in_")


def test_check_table_of_numbers_is_check_rows():
    model = DMKDE()
    rows = check_table(model, [[1, 2], [3, 4]], reset=True)
    assert_array_equal(rows, [[1.0, 2.0], [3.0, 4.0]])
    assert model.schema_ is None
    assert model.n_features_in_ == 2
