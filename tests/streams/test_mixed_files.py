"""Files with columns of categories and with gaps, batch by batch."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import rhokit
from rhokit import DMKDE, DMKDClassifier, QMRegressor, Stream, fit_batches, fit_files
from rhokit.errors import DataError
from rhokit.streams import read_frames, typical_values
from tests.estimators.test_mixed import LEVELS, table

DENSITY = DMKDE(gamma=1.0, scale=None, n_components=24, random_state=0)
COLUMNS = ["x", "group", "y", "level"]
ENDINGS = pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])


def write(path, frame):
    if path.suffix in (".csv", ".tsv"):
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=50)
    else:
        frame.to_feather(path)
    return path


def plain(frame):
    """Text has no order: that of ordered categories is lost in a CSV file."""
    level = pd.Categorical(frame["level"].astype(str), sorted(LEVELS))
    return frame.assign(level=level)


class TestFitFiles:
    @ENDINGS
    def test_learns_what_a_frame_teaches(self, tmp_path, ending):
        frame = table()
        path = write(tmp_path / f"rows.{ending}", frame)
        model = fit_files(clone(DENSITY), path, batch_rows=37)
        expected = frame if ending in ("parquet", "feather") else plain(frame)
        whole = clone(DENSITY).fit(expected)
        assert model.schema_ == whole.schema_
        assert model.feature_names_in_.tolist() == COLUMNS
        assert model.n_features_in_ == 4
        assert_allclose(model.score_samples(expected), whole.score_samples(expected))

    def test_classes_and_values(self, tmp_path):
        frame = table(200)
        path = write(tmp_path / "rows.parquet", frame)
        classes = fit_files(
            DMKDClassifier(n_components=24, random_state=0), path, target="group"
        )
        assert classes.schema_.names == ("x", "y", "level")
        assert classes.score(frame.drop(columns="group"), frame["group"]) > 0.8
        values = fit_files(
            QMRegressor(n_components=24, random_state=0), path, target="x"
        )
        assert values.score(frame.drop(columns="x"), frame["x"]) > 0.7

    def test_categories_that_come_late(self, tmp_path):
        """Those of all files are known before the first row is learned."""
        frame = table(300).sort_values("group").astype({"group": str})
        paths = [
            write(tmp_path / f"{i}.csv", frame.iloc[100 * i : 100 * (i + 1)])
            for i in range(3)
        ]
        model = fit_files(clone(DENSITY), paths, columns=["x", "group"], batch_rows=50)
        assert model.schema_.categories[1] == ("a", "b", "c")
        assert_array_equal(model.state_.weight, [300])

    def test_numbers_that_are_codes(self, tmp_path):
        frame = pd.DataFrame({"x": np.arange(60.0), "code": np.arange(60) % 3})
        for ending, values in (("parquet", (0, 1, 2)), ("csv", ("0", "1", "2"))):
            path = write(tmp_path / f"rows.{ending}", frame)
            assert fit_files(clone(DENSITY), path).schema_ is None
            model = fit_files(clone(DENSITY), path, categories=["code"])
            assert model.schema_.categories == (None, values)
            rows = pa.concat_tables(read_frames(path, schema=model.schema_))
            assert model.score_samples(rows).shape == (60,)

    def test_truth_values(self, tmp_path):
        """Both are known, also where one is never seen."""
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table({"x": np.arange(9.0), "new": [True] * 9}), path)
        model = fit_files(clone(DENSITY), path)
        assert model.schema_.categories == (None, (False, True))

    def test_a_plan_is_followed(self, tmp_path):
        """As for two halves that are to be merged."""
        frame = table(200)
        first = write(tmp_path / "1.parquet", frame.iloc[:100])
        second = write(tmp_path / "2.parquet", frame.iloc[100:])
        left = fit_files(clone(DENSITY), first)
        right = fit_files(left.blank(), second)
        both = left.blank().partial_fit(frame)
        merged = left.merge(right)
        assert_allclose(merged.state_.total, both.state_.total, rtol=1e-12, atol=1e-12)

    def test_a_plan_takes_new_categories(self, tmp_path):
        frame = table(100)
        model = fit_files(clone(DENSITY), write(tmp_path / "1.csv", frame)).blank()
        more = frame.assign(group=["d"] * 50 + ["e"] * 50)
        file = write(tmp_path / "2.csv", more)
        fitted = fit_files(model, file)
        expected = model.blank().partial_fit(more)
        assert_allclose(fitted.score_samples(more), expected.score_samples(more))

    def test_a_plan_may_refuse_them(self, tmp_path):
        frame = table(100)
        model = fit_files(clone(DENSITY), write(tmp_path / "1.csv", frame)).blank()
        more = frame.assign(group=[*frame["group"][:60], *["d"] * 40])
        with pytest.raises(DataError, match=r"'group': .*not among") as refused:
            fit_files(model.set_params(unseen="raise"), write(tmp_path / "2.csv", more))
        assert place(refused) == (str(tmp_path / "2.csv"), 60, "group", "d")

    def test_goes_on_from_a_checkpoint(self, tmp_path):
        path = write(tmp_path / "rows.parquet", table())
        note = tmp_path / "fit.rhokit"
        whole = fit_files(clone(DENSITY), path, batch_rows=30, checkpoint=note)
        again = fit_files(clone(DENSITY), path, batch_rows=30, checkpoint=note)
        assert_array_equal(again.state_.total, whole.state_.total)
        assert again.schema_ == whole.schema_
        saved = rhokit.loads(rhokit.dumps(again))
        assert_array_equal(saved.score_samples(table()), again.score_samples(table()))


def place(refused):
    """File, row, column and value of an error."""
    error = refused.value
    return error.file, error.row, error.column, error.value


class TestMistakes:
    def test_text_among_numbers_of_a_short_file(self, tmp_path):
        """Which is read as a column of text."""
        path = tmp_path / "rows.csv"
        path.write_text("a,b\n1,2\n2,3\n3,4\nfive,5\n")
        with pytest.raises(DataError, match="holds numbers, but 'five'") as refused:
            fit_files(clone(DENSITY), path)
        assert place(refused) == (str(path), 3, "a", "five")

    def test_text_among_many_numbers(self, tmp_path):
        path = tmp_path / "rows.csv"
        lines = [f"{i},{i % 7}" for i in range(3000)]
        lines[2999] = "oops,3"
        path.write_text("a,b\n" + "\n".join(lines) + "\n")
        with pytest.raises(DataError, match="holds numbers, but 'oops'") as refused:
            fit_files(clone(DENSITY), path, columns=["a", "b"])
        assert place(refused) == (str(path), 2999, "a", "oops")

    def test_text_among_numbers_of_a_long_file(self, tmp_path):
        """Whose first part has numbers alone."""
        path = tmp_path / "rows.csv"
        lines = [f"{i},{i % 7}" for i in range(200_000)]
        lines[150_001] = "oops,3"
        path.write_text("a,b\n" + "\n".join(lines) + "\n")
        with pytest.raises(DataError, match="must be numbers, but holds") as refused:
            fit_files(clone(DENSITY), path, columns=["a", "b"])
        assert place(refused) == (str(path), 150_001, "a", "oops")

    def test_names_are_no_categories(self, tmp_path):
        frame = pd.DataFrame(
            {"x": np.arange(2000.0), "id": [f"n{i}" for i in range(2000)]}
        )
        path = write(tmp_path / "rows.csv", frame)
        with pytest.raises(ValueError, match="'id': has more than 1,000 different"):
            fit_files(clone(DENSITY), path, columns=["x", "id"])

    def test_a_column_without_values(self, tmp_path):
        frame = pd.DataFrame({"x": [1.0, 2.0], "c": pd.Series([None, None], dtype=str)})
        path = tmp_path / "rows.parquet"
        pq.write_table(
            pa.table({"x": frame["x"], "c": pa.array([None, None], pa.string())}), path
        )
        with pytest.raises(ValueError, match="'c': holds no value"):
            fit_files(clone(DENSITY), path)

    def test_categories_that_are_no_columns(self, tmp_path):
        path = write(tmp_path / "rows.csv", table())
        with pytest.raises(ValueError, match="categories: 'z' is not among"):
            fit_files(clone(DENSITY), path, categories=["z"])

    def test_bad_missing(self, tmp_path):
        path = write(tmp_path / "rows.csv", table())
        with pytest.raises(ValueError, match="missing must be 'raise', 'drop'"):
            fit_files(clone(DENSITY), path, missing="impute")


def with_gaps():
    frame = table().astype({"group": str, "level": str})
    frame.loc[3, "x"] = np.nan
    frame.loc[[5, 70], "group"] = None
    return frame


class TestGaps:
    def test_whole_batches_may_be_dropped(self, tmp_path):
        """Of rows, of the sample and of targets."""
        frame = table(200)
        frame.loc[40:130, "y"] = np.nan
        path = write(tmp_path / "rows.parquet", frame)
        model = fit_files(
            DMKDClassifier(gamma=1.0, scale=None, n_components=24, random_state=0),
            path,
            target="group",
            missing="drop",
            batch_rows=20,
        )
        assert_array_equal(model.class_count_.sum(), 200 - 91)

    def test_dictionaries_are_filled(self, tmp_path):
        path = tmp_path / "rows.parquet"
        words = pa.array(["u", None, "v", "v"] * 5).dictionary_encode()
        pq.write_table(pa.table({"x": np.arange(20.0), "word": words}), path)
        model = fit_files(clone(DENSITY), path, missing={"word": "u"})
        assert model.schema_.categories[1] == ("u", "v")
        assert_array_equal(model.state_.weight, [20])

    @ENDINGS
    def test_are_refused(self, tmp_path, ending):
        path = write(tmp_path / f"rows.{ending}", with_gaps())
        with pytest.raises(
            DataError, match=r"column '(x|group)': has . missing values"
        ) as refused:
            fit_files(clone(DENSITY), path)
        column = refused.value.column
        first = {"x": 3, "group": 5}[column]
        assert place(refused) == (str(path), first, column, None)

    @ENDINGS
    def test_are_dropped(self, tmp_path, ending):
        frame = with_gaps()
        path = write(tmp_path / f"rows.{ending}", frame)
        model = fit_files(clone(DENSITY), path, missing="drop", batch_rows=40)
        assert_array_equal(model.state_.weight, [117])
        kept = frame.dropna().astype({"group": "category", "level": "category"})
        whole = clone(DENSITY).fit(kept)
        assert_allclose(model.score_samples(kept), whole.score_samples(kept))

    @ENDINGS
    def test_are_filled(self, tmp_path, ending):
        frame = with_gaps()
        path = write(tmp_path / f"rows.{ending}", frame)
        values = typical_values(path)
        assert_allclose(values["x"], frame["x"].median())
        assert values["group"] == frame["group"].mode()[0]
        model = fit_files(clone(DENSITY), path, missing=values)
        filled = frame.fillna(values)
        filled = filled.astype({"group": "category", "level": "category"})
        assert_allclose(
            model.score_samples(filled),
            clone(DENSITY).fit(filled).score_samples(filled),
        )

    def test_nan_is_one_too(self, tmp_path):
        path = tmp_path / "rows.parquet"
        numbers = np.arange(50.0)
        numbers[7] = np.nan
        pq.write_table(pa.table({"x": pa.array(numbers, from_pandas=False)}), path)
        model = fit_files(clone(DENSITY), path, missing="drop")
        assert_array_equal(model.state_.weight, [49])
        model = fit_files(clone(DENSITY), path, missing={"x": 3.0})
        assert_array_equal(model.state_.weight, [50])

    def test_integers_are_filled_with_a_half(self, tmp_path):
        path = tmp_path / "rows.parquet"
        column = pa.array([1, None, 2, 1, 2] * 10, pa.int32())
        pq.write_table(pa.table({"x": column}), path)
        model = fit_files(clone(DENSITY), path, missing=typical_values(path))
        assert_array_equal(model.state_.weight, [50])

    def test_a_value_that_does_not_fit(self, tmp_path):
        path = write(tmp_path / "rows.parquet", with_gaps())
        with pytest.raises(ValueError, match="'x' of double cannot be filled with 'a'"):
            fit_files(clone(DENSITY), path, missing={"x": "a", "group": "a"})


class TestReading:
    @ENDINGS
    def test_frames_in_order(self, tmp_path, ending):
        frame = table()
        path = write(tmp_path / f"rows.{ending}", frame)
        parts = list(read_frames(path, ["y", "group"], batch_rows=32))
        assert max(part.num_rows for part in parts) == 32
        whole = pa.concat_tables(parts).to_pandas()
        assert_allclose(whole["y"], frame["y"])
        assert whole["group"].tolist() == frame["group"].tolist()

    def test_unknown_columns(self, tmp_path):
        path = write(tmp_path / "rows.csv", table())
        with pytest.raises(ValueError, match="column 'z' is not in the table"):
            list(read_frames(path, ["z"]))

    def test_gaps_stay(self, tmp_path):
        path = write(tmp_path / "rows.csv", with_gaps())
        (part,) = read_frames(path)
        assert part.column("x").null_count == 1
        assert part.column("group").null_count == 2

    def test_gaps_can_be_integrated_over(self, tmp_path):
        frame = with_gaps()
        path = write(tmp_path / "rows.csv", frame)
        model = clone(DENSITY).set_params(missing="integrate")
        model = fit_files(model, path, missing="drop")
        (part,) = read_frames(path, schema=model.schema_)
        assert np.isfinite(model.score_samples(part)).all()

    def test_typical_values_of_numbers_that_are_not_there(self, tmp_path):
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table({"x": pa.array([None] * 3, pa.float64())}), path)
        with pytest.raises(DataError, match="'x': holds no value at all"):
            typical_values(path)

    def test_typical_values_of_nothing(self, tmp_path):
        path = tmp_path / "rows.csv"
        path.write_text("a,b\n1,\n2,\n")
        with pytest.raises(ValueError, match="'b': holds no value at all"):
            typical_values(path)


class TestBatches:
    def test_frames(self):
        frame = table()
        parts = (frame.iloc[i : i + 25] for i in range(0, 120, 25))
        model = fit_batches(clone(DENSITY), parts)
        assert model.schema_.names == tuple(COLUMNS)
        whole = clone(DENSITY).fit(frame)
        assert_allclose(model.score_samples(frame), whole.score_samples(frame))

    def test_rows_one_by_one(self):
        frame = table()
        stream = Stream(clone(DENSITY).prepare(frame), buffer_rows=16)
        for row in frame.to_dict("records"):
            stream.learn_one(row)
        plan = clone(DENSITY).prepare(frame).partial_fit(frame)
        assert_allclose(stream.model.state_.total, plan.state_.total, rtol=1e-12)
        strange = frame.iloc[0].to_dict() | {"group": "z"}
        stream.learn_one(strange)
        plan.partial_fit(pd.DataFrame([strange]))
        assert_allclose(stream.model.state_.total, plan.state_.total, rtol=1e-12)
        closed = Stream(clone(DENSITY).set_params(unseen="raise").prepare(frame))
        with pytest.raises(ValueError, match="'group': holds 'z'"):
            closed.learn_one(strange)

    def test_a_stream_that_begins_with_frames(self):
        frame = table()
        stream = Stream(clone(DENSITY), window=60)
        stream.learn_many(frame.iloc[:100])
        stream.learn_one(frame.iloc[100].to_dict())
        model = stream.model
        assert_array_equal(model.state_.weight.round(9), [60])
        assert model.schema_.names == tuple(COLUMNS)
