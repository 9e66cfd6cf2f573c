"""Fitting from files: the same model as from the same rows in memory."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rhokit import (
    DMKDE,
    DMKDClassifier,
    MeanEmbeddingKDE,
    OneHotFeatures,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
    fit_files,
)
from rhokit.errors import DataError
from rhokit.streams.learning import with_names
from rhokit.streams.pieces import TablePiece
from rhokit.streams.tables import TableReader

PLAN = {
    "gamma": 0.7,
    "scale": None,
    "feature_map": "fourier",
    "n_components": 16,
    "random_state": 0,
}
DENSITY = DMKDE(**PLAN | {"scale": "std"})
REGRESSION = QMRegressor(**PLAN, n_levels=5, beta=4.0)
MODELS = {
    "DMKDE": (DENSITY, None),
    "MeanEmbeddingKDE": (MeanEmbeddingKDE(**PLAN), None),
    "DMKDClassifier": (DMKDClassifier(**PLAN), "label"),
    "QMClassifier": (QMClassifier(**PLAN), "label"),
    "QMOrdinalClassifier": (QMOrdinalClassifier(**PLAN), "label"),
    "QMRegressor": (REGRESSION, "value"),
}
N_ROWS = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 2))
COLUMNS = {
    "a": X[:, 0],
    "b": X[:, 1],
    "label": RNG.integers(3, size=N_ROWS),
    "value": X[:, 0] * 3 + RNG.normal(size=N_ROWS),
    "weight": RNG.integers(1, 4, N_ROWS) / 2,
}
TABLE = pa.table(COLUMNS)


def in_memory(model, fitted, rows=X, y=None, weight=None):
    """The rows, added to a model of the same plan in one go."""
    return (
        fitted.blank()
        .set_params(**model.get_params(deep=False))
        .partial_fit(
            np.asarray(rows, fitted.feature_map_.dtype_), y, sample_weight=weight
        )
    )


def assert_same_state(actual, expected, rtol=1e-12):
    scale = np.abs(expected.state_.total).max()
    assert_allclose(actual.state_.total, expected.state_.total, atol=rtol * scale)
    assert_allclose(actual.state_.weight, expected.state_.weight, rtol=rtol)


def fit_and_compare(source, rows=X, model=DENSITY, rtol=1e-12, **options):
    """Fit from files, and compare with a fit of the same rows from memory."""
    fitted = fit_files(clone(model), source, **{"columns": ["a", "b"], **options})
    expected = in_memory(model, without_names(fitted), rows)
    assert_same_state(fitted, expected, rtol)
    return fitted


def without_names(model):
    """The same model, which takes arrays without a warning."""
    return with_names(model, None)


def write_csv(path, table):
    text = [",".join(table.column_names)]
    columns = [column.to_pylist() for column in table.columns]
    text += [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(text) + "\n")


WRITERS = {
    "parquet": pq.write_table,
    "csv": lambda table, path: write_csv(path, table),
    "arrow": lambda table, path, **options: pa_feather.write_feather(
        table, path, compression="uncompressed", **options
    ),
    "feather": pa_feather.write_feather,
}


def write(path, table=TABLE, **options):
    WRITERS[path.suffix[1:]](table, path, **options)
    return path


@pytest.fixture(params=WRITERS)
def ending(request):
    return request.param


class TestFormats:
    def test_a_file(self, tmp_path, ending):
        fit_and_compare(write(tmp_path / f"rows.{ending}"))

    def test_a_path_as_text(self, tmp_path):
        fit_and_compare(str(write(tmp_path / "rows.parquet")))

    def test_a_folder_in_the_order_of_names(self, tmp_path, ending):
        (tmp_path / "deep").mkdir()
        for name, start in (("1", 0), ("2", 100), ("deep/3", 200)):
            write(tmp_path / f"{name}.{ending}", TABLE.slice(start, 100))
        # What pyarrow leaves out is left out: marks of finished jobs, hidden files.
        (tmp_path / "_SUCCESS").write_text("")
        (tmp_path / ".hidden.parquet").write_text("")
        fit_and_compare(tmp_path)

    def test_a_list_of_files(self, tmp_path, ending):
        parts = {"x": TABLE[:120], "y": TABLE[120:]}
        paths = [write(tmp_path / f"{n}.{ending}", part) for n, part in parts.items()]
        write(tmp_path / f"other.{ending}")
        fit_and_compare(paths)

    def test_a_pyarrow_dataset(self, tmp_path, ending):
        path = write(tmp_path / f"rows.{ending}")
        kind = {"arrow": "feather"}.get(ending, ending)
        fit_and_compare(pa_dataset.dataset(path, format=kind))

    def test_a_dataset_in_memory(self):
        fit_and_compare(pa_dataset.dataset(TABLE))

    def test_compressed_text(self, tmp_path):
        plain = write(tmp_path / "rows.csv").read_bytes()
        path = tmp_path / "zipped.csv.gz"
        path.write_bytes(gzip.compress(plain))
        fit_and_compare(path)

    def test_endings_in_capitals(self, tmp_path):
        fit_and_compare(write(tmp_path / "rows.parquet").rename(tmp_path / "A.PARQUET"))


class TestBatches:
    """Rows are the same wherever batches, row groups and files end."""

    @given(
        group=st.integers(20, 350),
        batch=st.integers(1, 350),
        places=st.sets(st.integers(1, N_ROWS - 1), max_size=4),
    )
    @settings(max_examples=15)
    def test_parquet_of_any_shape(self, tmp_path_factory, group, batch, places):
        folder = tmp_path_factory.mktemp("parts")
        edges = [0, *sorted(places), N_ROWS]
        for number, start in enumerate(edges[:-1]):
            part = TABLE[start : edges[number + 1]]
            write(folder / f"{number}.parquet", part, row_group_size=group)
        fit_and_compare(folder, batch_rows=batch)

    @given(size=st.integers(1, 150), start=st.integers(0, 10))
    def test_reading_goes_on_from_any_place(self, tmp_path_factory, size, start):
        folder = tmp_path_factory.mktemp("parts")
        write(folder / "0.parquet", TABLE[:170], row_group_size=60)
        write(folder / "1.parquet", TABLE[170:], row_group_size=1000)
        table = TableReader(folder, columns=["a", "b"])
        whole = list(table.batches(size))
        sizes = {len(batch) for batch, _ in whole[:-1]}
        assert sizes <= {size}
        assert_array_equal(np.concatenate([batch.rows for batch, _ in whole]), X)
        place = min(start, len(whole) - 1)
        rest = list(table.batches(size, whole[place][1]))
        assert len(rest) == len(whole) - place - 1
        for (again, after), (first, before) in zip(
            rest, whole[place + 1 :], strict=True
        ):
            assert_array_equal(again.rows, first.rows)
            assert after == before

    @pytest.mark.parametrize("batch_rows", [1, 7, 299, 300, 301])
    def test_text(self, tmp_path, batch_rows):
        fit_and_compare(write(tmp_path / "rows.csv"), batch_rows=batch_rows)

    def test_records_smaller_than_a_batch(self, tmp_path):
        write(tmp_path / "rows.arrow", TABLE, chunksize=7)
        fit_and_compare(tmp_path / "rows.arrow", batch_rows=50)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_all_models(tmp_path, name, weight):
    model, target = MODELS[name]
    fitted = fit_files(
        clone(model),
        write(tmp_path / "rows.parquet", TABLE, row_group_size=70),
        columns=["b", "a"],
        target=target,
        weight=weight,
        batch_rows=64,
    )
    assert fitted.feature_names_in_.tolist() == ["b", "a"]
    y, w = COLUMNS.get(target), COLUMNS.get(weight)
    expected = in_memory(model, without_names(fitted), X[:, ::-1], y, w)
    assert_same_state(fitted, expected)
    assert_allclose(fitted.state_.weight.sum(), N_ROWS if w is None else w.sum())
    # And its answers are those of a model in memory.
    answer = "predict" if target else "score_samples"
    queries = X[:20]
    assert_allclose(
        getattr(without_names(fitted), answer)(queries),
        getattr(expected, answer)(queries),
        rtol=1e-6,
    )


def test_a_batch_may_weigh_nothing(tmp_path):
    """Rows that do not count are no error, as long as others do."""
    weights = np.repeat([1.0, 0.0, 2.0], 100)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "w": weights})
    path = write(tmp_path / "rows.parquet", table)
    model = fit_files(clone(DENSITY), path, weight="w", batch_rows=50)
    expected = in_memory(DENSITY, without_names(model), X, weight=weights)
    assert_same_state(model, expected)


class TestColumns:
    def test_all_but_target_and_weight(self, tmp_path):
        path = write(tmp_path / "rows.parquet")
        model = fit_files(clone(DENSITY), path, target="label", weight="weight")
        assert model.feature_names_in_.tolist() == ["a", "b", "value"]

    def test_only_what_is_needed_is_read(self, tmp_path, monkeypatch, ending):
        path = write(tmp_path / f"rows.{ending}")
        seen = set()
        records = TablePiece.records

        def spy(self, columns):
            for record in records(self, columns):
                seen.update(record.schema.names)
                yield record

        monkeypatch.setattr(TablePiece, "records", spy)
        fit_files(clone(DENSITY), path, columns=["b"], weight="weight")
        assert seen == {"b", "weight"}

    def test_numbers_of_any_kind(self, tmp_path):
        whole = np.arange(N_ROWS) % 7
        kinds = {
            "bytes": pa.array(whole, pa.int8()),
            "single": pa.array(X[:, 0].astype("f4")),
            "money": pa.array(whole).cast(pa.decimal128(30, 2)),
        }
        path = write(tmp_path / "rows.parquet", pa.table(kinds))
        rows = np.stack([whole, X[:, 0].astype("f4"), whole], axis=1)
        fit_and_compare(path, rows, columns=None)

    def test_prepared_names_are_compared(self, tmp_path):
        path = write(tmp_path / "rows.parquet")
        model = fit_files(clone(DENSITY), path, columns=["a", "b"]).blank()
        plan = model.fingerprint()
        with pytest.raises(ValueError, match=r"prepared for the columns \['a', 'b'\]"):
            fit_files(model, path, columns=["b", "a"])
        with pytest.raises(ValueError, match="prepared for the columns"):
            fit_files(model, path, columns=["a"])
        assert fit_files(model, path, columns=["a", "b"]).fingerprint() == plan

    def test_prepared_numbers_are_compared(self, tmp_path):
        path = write(tmp_path / "rows.parquet")
        model = clone(DENSITY).prepare(X)
        with pytest.raises(ValueError, match="prepared for 2 columns, got 3"):
            fit_files(model, path, columns=["a", "b", "value"])
        fit_files(model, path, columns=["a", "b"])
        assert_same_state(model, clone(DENSITY).prepare(X).partial_fit(X))


class TestSinglePrecision:
    @pytest.fixture
    def path(self, tmp_path):
        narrow = pa.table({name: X[:, i].astype("f4") for i, name in enumerate("ab")})
        return write(tmp_path / "rows.parquet", narrow)

    def test_columns_make_the_map(self, path):
        model = fit_and_compare(path, X.astype("f4"), rtol=1e-6)
        assert model.feature_map_.dtype_ == np.float32

    def test_the_parameter_wins(self, path):
        model = clone(DENSITY).set_params(dtype="float64")
        assert fit_files(model, path).feature_map_.dtype_ == np.float64

    def test_one_wide_column_makes_all_wide(self, path):
        table = pq.read_table(path).append_column("c", pa.array(X[:, 0]))
        model = fit_files(clone(DENSITY), write(path, table))
        assert model.feature_map_.dtype_ == np.float64

    def test_an_earlier_fit_is_forgotten(self, path):
        model = fit_files(clone(DENSITY), path)
        fit_files(model, write(path), columns=["a", "b"])
        assert model.feature_map_.dtype_ == np.float64

    def test_a_plan_is_kept(self, path):
        model = clone(DENSITY).prepare(X)
        assert fit_files(model, path).feature_map_.dtype_ == np.float64


class TestTargets:
    def labels_of(self, tmp_path, labels, ending="parquet"):
        table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": labels})
        path = write(tmp_path / f"rows.{ending}", table)
        return fit_files(DMKDClassifier(**PLAN), path, target="y")

    @pytest.mark.parametrize("ending", WRITERS)
    def test_text(self, tmp_path, ending):
        labels = np.array(["red", "green", "blue"])[COLUMNS["label"]]
        model = self.labels_of(tmp_path, labels, ending)
        assert model.classes_.tolist() == ["blue", "green", "red"]
        counts = np.bincount(COLUMNS["label"])[::-1]
        assert_array_equal(model.class_count_, counts)
        expected = in_memory(model, without_names(model), X, labels)
        assert_same_state(model, expected)

    @pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.bool_(), pa.string()])
    def test_kinds(self, tmp_path, kind):
        labels = COLUMNS["label"] % 2
        column = pa.array(labels).cast(kind)
        model = self.labels_of(tmp_path, column)
        assert model.classes_.tolist() == sorted(set(column.to_pylist()))
        assert_array_equal(model.class_count_, np.bincount(labels))

    def test_dictionary(self, tmp_path):
        words = pa.array(np.array(["b", "c", "a"])[COLUMNS["label"]])
        model = self.labels_of(tmp_path, words.dictionary_encode())
        assert model.classes_.tolist() == ["a", "b", "c"]

    def test_several(self, tmp_path):
        table = TABLE.append_column("other", pa.array(X[:, 1] ** 2))
        path = write(tmp_path / "rows.parquet", table, row_group_size=90)
        names = ["value", "other"]
        model = fit_files(clone(REGRESSION), path, columns=["a", "b"], target=names)
        y = np.stack([COLUMNS["value"], X[:, 1] ** 2], axis=1)
        expected = in_memory(REGRESSION, without_names(model), X, y)
        assert_same_state(model, expected)
        assert without_names(model).predict(X[:5]).shape == (5, 2)

    def test_one_in_a_list_keeps_its_axis(self, tmp_path):
        path = write(tmp_path / "rows.parquet")
        model = fit_files(clone(REGRESSION), path, columns=["a", "b"], target=["value"])
        assert without_names(model).predict(X[:5]).shape == (5, 1)

    def test_whole_numbers_are_values_too(self, tmp_path, ending):
        path = write(tmp_path / f"rows.{ending}")
        fit_files(clone(REGRESSION), path, columns=["a"], target="label")

    @pytest.mark.parametrize("ending", ["parquet", "csv"])
    def test_a_label_that_the_sample_lacks(self, tmp_path, ending):
        labels = np.array(["often"] * 150 + ["rare"] + ["also"] * 149)
        table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": labels})
        path = write(tmp_path / f"rows.{ending}", table)
        model = DMKDClassifier(**PLAN, priors=[0.2, 0.5, 0.3])
        fit_files(model, path, target="y", sample_rows=20, batch_rows=50)
        assert model.classes_.tolist() == ["also", "often", "rare"]
        assert_array_equal(model.class_count_, [149, 150, 1])

    @pytest.mark.parametrize("ending", ["parquet", "csv"])
    def test_values_beyond_the_sample(self, tmp_path, ending):
        y = np.zeros(N_ROWS)
        y[[170, 290]] = -50, 80
        y[:100] = 1
        table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": y})
        path = write(tmp_path / f"rows.{ending}", table)
        model = fit_files(clone(REGRESSION), path, target="y", sample_rows=20)
        assert_allclose(model.levels_[[0, -1]], [-50, 80])
        assert_allclose(model.state_.weight.sum(), N_ROWS, rtol=1e-9)

    def test_given_bounds_hold(self, tmp_path):
        path = write(tmp_path / "rows.parquet")
        model = clone(REGRESSION).set_params(bounds=(-1, 1))
        with pytest.raises(ValueError, match=r"outside the range \[-1"):
            fit_files(model, path, columns=["a"], target="value")


class TestText:
    """Text files say nothing about types."""

    def csv(self, path, name, first, later, n_first=70_000):
        """A column whose first block (of a megabyte) differs from what follows."""
        values = [first] * n_first + [later] * 10
        lines = [f"{i % 13},{value},{i % 2}" for i, value in enumerate(values)]
        padding = "," + "0" * 16  # so that the block ends before the later values
        text = "\n".join(line + padding for line in lines)
        path.write_text(f"a,{name},label,padding\n{text}\n")
        return path

    def test_whole_numbers_then_fractions(self, tmp_path):
        path = self.csv(tmp_path / "rows.csv", "b", "3", "3.5")
        model = fit_files(clone(DENSITY), path, columns=["a", "b"], sample_rows=100)
        assert model.state_.weight[0] == 70_010

    def test_whole_numbers_then_fractions_in_another_file(self, tmp_path):
        write(tmp_path / "1.csv", pa.table({"a": np.arange(50), "b": np.arange(50)}))
        write(tmp_path / "2.csv", TABLE.select(["a", "b"]))
        rows = np.concatenate([np.stack([np.arange(50.0)] * 2, axis=1), X])
        fit_and_compare(tmp_path, rows)

    def test_weights_too(self, tmp_path):
        path = self.csv(tmp_path / "rows.csv", "b", "1", "0.5")
        model = fit_files(
            clone(DENSITY), path, columns=["a"], weight="b", sample_rows=100
        )
        assert model.state_.weight[0] == 70_005

    def test_targets_too(self, tmp_path):
        path = self.csv(tmp_path / "rows.csv", "b", "1", "0.5")
        model = fit_files(
            clone(REGRESSION), path, columns=["a"], target="b", sample_rows=100
        )
        assert_allclose(model.levels_[[0, -1]], [0.5, 1])

    def test_labels_stay_whole(self, tmp_path):
        path = write(tmp_path / "rows.csv")
        model = fit_files(
            DMKDClassifier(**PLAN), path, columns=["a", "b"], target="label"
        )
        assert model.classes_.dtype.kind == "i"


class TestFoldersThatNameAColumn:
    """Values of a column may stand in the names of folders: year=2024/..."""

    @pytest.fixture
    def folder(self, tmp_path, ending):
        for year, start in ((2023, 0), (2024, 120)):
            folder = tmp_path / f"year={year}"
            folder.mkdir()
            stop = 120 if year == 2023 else N_ROWS
            write(folder / f"rows.{ending}", TABLE.select(["a", "b"])[start:stop])
        return tmp_path

    def test_it_is_a_feature(self, folder):
        years = np.repeat([2023.0, 2024.0], [120, 180])
        rows = np.column_stack([X, years])
        fit_and_compare(folder, rows, columns=["a", "b", "year"])

    def test_it_is_one_of_all_columns(self, folder):
        model = fit_files(clone(DENSITY), folder)
        assert model.feature_names_in_.tolist() == ["a", "b", "year"]

    def test_it_is_a_target(self, folder):
        model = fit_files(
            DMKDClassifier(**PLAN), folder, columns=["a", "b"], target="year"
        )
        assert model.classes_.tolist() == [2023, 2024]
        assert_array_equal(model.class_count_, [120, 180])

    def test_it_can_be_left_out(self, folder):
        fit_and_compare(folder)


class TestSample:
    def test_a_sorted_file_is_sampled_all_over(self, tmp_path):
        values = np.arange(100_000.0)
        table = pa.table({"a": values, "b": -values})
        path = write(tmp_path / "rows.parquet", table, row_group_size=500)
        model = fit_files(clone(DENSITY), path, sample_rows=2000)
        middle = model.scaling_.centre[0]
        assert abs(middle - values.mean()) < 0.05 * len(values)

    def test_of_parquet_few_row_groups_are_read(self, tmp_path, monkeypatch):
        values = np.arange(10_000.0)
        path = tmp_path / "rows.parquet"
        write(path, pa.table({"a": values}), row_group_size=20)
        read = []
        records = TablePiece.records

        def spy(self, columns):
            read.append(self.first_row // 20)
            return records(self, columns)

        monkeypatch.setattr(TablePiece, "records", spy)
        fit_files(clone(DENSITY), path, columns=["a"])
        sampled = read[:-500]
        assert len(sampled) <= 64
        assert (min(sampled), max(sampled)) == (0, 499)
        assert read[-500:] == list(range(500))

    def test_of_text_in_one_pass_over_all(self, tmp_path):
        values = np.arange(20_000)
        write(tmp_path / "rows.csv", pa.table({"a": values}))
        model = fit_files(clone(DENSITY), tmp_path / "rows.csv", sample_rows=2000)
        assert abs(model.scaling_.centre[0] - values.mean()) < 0.05 * len(values)

    def test_same_seed_same_bits(self, tmp_path):
        path = write(tmp_path / "rows.parquet")
        options = {"columns": ["a", "b"], "sample_rows": 50}
        first, second = (fit_files(clone(DENSITY), path, **options) for _ in range(2))
        assert first.fingerprint() == second.fingerprint()
        assert_array_equal(first.state_.total, second.state_.total)


def test_categories(tmp_path, ending):
    rows = np.array([["red", "up"], ["blue", "up"], ["red", "down"]] * 10, dtype=object)
    table = pa.table({"colour": rows[:, 0], "way": rows[:, 1]})
    path = write(tmp_path / f"rows.{ending}", table)
    model = DMKDE(feature_map=OneHotFeatures(), random_state=0)
    fit_files(model, path, batch_rows=7)
    expected = clone(model).fit(rows)
    assert_same_state(model, expected)
    assert_allclose(
        without_names(model).score_samples(rows[:3]), expected.score_samples(rows[:3])
    )


def place(refused):
    """File, row and column of an error."""
    return refused.value.file, refused.value.row, refused.value.column


class TestErrors:
    """Each says what is wrong and where, and leaves the model as it was."""

    @pytest.fixture(params=["new", "prepared", "fitted"])
    def model(self, request):
        model = clone(DENSITY)
        if request.param != "new":
            getattr(model, {"prepared": "prepare"}.get(request.param, "fit"))(X)
        before = dict(vars(model))
        yield model
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[key] is value for key, value in before.items())

    def test_missing_path(self, model, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"nowhere.parquet' does not exist"):
            fit_files(model, tmp_path / "nowhere.parquet")

    def test_no_files(self, model, tmp_path):
        with pytest.raises(ValueError, match="holds no files"):
            fit_files(model, tmp_path)
        with pytest.raises(ValueError, match="holds no files"):
            fit_files(model, [])

    def test_no_workbook(self, model, tmp_path):
        path = tmp_path / "rows.xlsx"
        path.write_bytes(bytes(range(256)))
        with pytest.raises(DataError, match="no readable Excel file") as refused:
            fit_files(model, path)
        assert refused.value.file == str(path)

    def test_mixed_formats(self, model, tmp_path):
        paths = [write(tmp_path / name) for name in ("1.parquet", "2.csv")]
        for source in (tmp_path, paths):
            with pytest.raises(ValueError, match=r"one format.*\['csv', 'parquet'\]"):
                fit_files(model, source)

    @pytest.mark.parametrize("role", ["columns", "target", "weight"])
    def test_missing_column(self, model, tmp_path, role):
        path = write(tmp_path / "rows.parquet")
        options = {
            "columns": ["a", "b"],
            role: ["a", "z"] if role == "columns" else "z",
        }
        with pytest.raises(ValueError, match=r"column 'z' is not in.*which has \['a'"):
            fit_files(model, path, **options)

    def test_a_column_in_two_roles(self, model, tmp_path):
        path = write(tmp_path / "rows.parquet")
        with pytest.raises(ValueError, match="must be different columns"):
            fit_files(model, path, columns=["a", "b"], weight="b")

    def test_no_columns_left(self, model, tmp_path):
        path = write(tmp_path / "rows.parquet", TABLE.select(["label"]))
        with pytest.raises(ValueError, match="no columns to learn from"):
            fit_files(model, path, target="label")

    def test_text_is_named_before_reading(self, model, tmp_path, ending, monkeypatch):
        table = TABLE.append_column("colour", pa.array(["red"] * N_ROWS))
        path = write(tmp_path / f"rows.{ending}", table)
        monkeypatch.setattr(TablePiece, "records", None)  # reading would fail
        with pytest.raises(DataError, match="'colour': must be numbers") as refused:
            fit_files(model, path, columns=["a", "b"], weight="colour")
        assert refused.value.column == "colour"
        if ending == "csv":  # whose types were guessed from values
            error = refused.value
            assert (error.file, error.row, error.value) == (str(path), 0, "red")

    def test_text_in_a_later_file(self, model, tmp_path):
        write(tmp_path / "1.parquet", TABLE.select(["a", "b"]))
        other = pa.table({"a": X[:, 0], "b": ["red"] * N_ROWS})
        write(tmp_path / "2.parquet", other)
        with pytest.raises((ValueError, OSError), match=r"'b'|2\.parquet"):
            fit_files(model, tmp_path)

    @pytest.mark.parametrize("role", ["columns", "target", "weight"])
    def test_missing_values(self, tmp_path, ending, role):
        holes = pa.array([None if i == 170 else i % 5 for i in range(N_ROWS)])
        table = pa.table({"a": X[:, 0], "b": X[:, 1], "h": holes})
        if ending == "csv":
            write(tmp_path / "rows.csv", table)
            text = (tmp_path / "rows.csv").read_text().replace("None", "")
            (tmp_path / "rows.csv").write_text(text)
        path = tmp_path / f"rows.{ending}"
        if ending != "csv":
            write(path, table)
        columns = ["a", "h"] if role == "columns" else ["a", "b"]
        options = {} if role == "columns" else {role: "h"}
        model = clone(REGRESSION if role == "target" else DENSITY)
        with pytest.raises(DataError, match="'h': has 1 missing values") as refused:
            fit_files(model, path, columns=columns, **options)
        assert place(refused) == (str(path), 170, "h")

    def test_nan_is_named(self, model, tmp_path):
        values = X[:, 1].copy()
        values[170] = np.nan
        path = write(tmp_path / "rows.parquet", pa.table({"a": X[:, 0], "b": values}))
        with pytest.raises(DataError, match="NaN") as refused:
            fit_files(model, path, batch_rows=50)
        assert place(refused) == (str(path), 170, "b")

    @pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
    def test_a_file_that_lacks_a_column(self, model, tmp_path, kind):
        write(tmp_path / f"1.{kind}")
        write(tmp_path / f"2.{kind}", TABLE.select(["a", "label"]))
        said = r"2.parquet lacks the columns \['b'\]" if kind == "parquet" else "'b'"
        with pytest.raises(ValueError, match=said):
            fit_files(model, tmp_path, columns=["a", "b"])

    def test_no_rows(self, model, tmp_path, ending):
        path = write(tmp_path / f"rows.{ending}", TABLE[:0])
        if ending == "csv":
            path.write_text("a,b\n")  # what such a column would be, nobody can tell
        with pytest.raises(ValueError, match="holds no rows"):
            fit_files(model, path, columns=["a", "b"])

    def test_files_without_rows_are_passed_over(self, tmp_path):
        write(tmp_path / "0.parquet", TABLE[:0])
        write(tmp_path / "1.parquet")
        write(tmp_path / "2.parquet", TABLE[:0])
        fit_and_compare(tmp_path)

    @pytest.mark.parametrize("size", [0, 50, -50])
    @pytest.mark.parametrize("kind", ["parquet", "feather"])
    def test_a_file_that_was_cut_off(self, model, tmp_path, kind, size):
        whole = write(tmp_path / f"rows.{kind}").read_bytes()
        path = tmp_path / f"cut.{kind}"
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match="no readable") as refused:
            fit_files(model, path, columns=["a", "b"])
        assert refused.value.file == str(path)

    def test_a_later_file_that_was_cut_off(self, model, tmp_path):
        whole = write(tmp_path / "1.parquet").read_bytes()
        (tmp_path / "2.parquet").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(OSError, match=r"2\.parquet"):
            fit_files(model, tmp_path, columns=["a", "b"])

    def test_damaged_pages(self, model, tmp_path):
        path = write(tmp_path / "rows.parquet", row_group_size=100)
        group = pq.ParquetFile(path).metadata.row_group(1).column(0)
        start = group.dictionary_page_offset or group.data_page_offset
        data = bytearray(path.read_bytes())
        data[start : start + 40] = b"\xff" * 40
        path.write_bytes(data)
        with pytest.raises(OSError, match=r"rows.parquet could not be read"):
            fit_files(model, path, columns=["a", "b"])

    def test_filtered_data_sets(self, model, tmp_path):
        data = pa_dataset.dataset(write(tmp_path / "rows.parquet"))
        with pytest.raises(ValueError, match=r"filtered Dataset.*fit_batches"):
            fit_files(model, data.filter(pa_dataset.field("a") > 0))

    def test_a_classifier_without_target(self, tmp_path):
        path = write(tmp_path / "rows.parquet")
        with pytest.raises(ValueError, match="requires y"):
            fit_files(DMKDClassifier(**PLAN), path, columns=["a", "b"])

    def test_rows_that_the_model_refuses(self, tmp_path):
        path = write(tmp_path / "rows.parquet")
        model = clone(DENSITY).set_params(feature_map="quadrature", n_components=400)
        model.prepare(X[np.abs(X).max(axis=1) < 1])
        with pytest.raises(ValueError, match="outside the box"):
            fit_files(model, path, columns=["a", "b"])
        assert model.state_ is None

    @pytest.mark.parametrize("option", ["batch_rows", "sample_rows"])
    @pytest.mark.parametrize("value", [0, -1, 2.5, "all"])
    def test_bad_numbers_of_rows(self, tmp_path, option, value):
        path = write(tmp_path / "rows.parquet")
        with pytest.raises((TypeError, ValueError), match=option):
            fit_files(clone(DENSITY), path, columns=["a"], **{option: value})
