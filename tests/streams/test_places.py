"""A value that is refused is named by file, row and column, wherever it stands."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from rhokit import DMKDE, fit_files
from rhokit.errors import DataError
from rhokit.streams import mistakes, typical_values

MODEL = DMKDE(
    gamma=0.7, scale=None, feature_map="fourier", n_components=8, random_state=0
)
N_ROWS = 90


def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.normal(size=N_ROWS),
            "b": rng.normal(size=N_ROWS),
            "kind": rng.choice(["x", "y", "z"], N_ROWS),
            "weight": rng.integers(1, 4, N_ROWS).astype(float),
        }
    )


# What is wrong: the column, the value that stands there, and what the error holds.
WRONG = {
    "infinity": ("b", np.inf, np.inf),
    "negative weight": ("weight", -2.0, -2.0),
    "gap in a number": ("a", None, None),
    "gap in a category": ("kind", None, None),
    "unknown category": ("kind", "new", "new"),
}


def write_parts(folder, frame, edges, ending, group):
    """Files of a table that is cut at these rows; which file and row each row is."""
    places = []
    for number, (start, stop) in enumerate(
        zip(edges, [*edges[1:], N_ROWS], strict=True)
    ):
        path, part = folder / f"{number}.{ending}", frame.iloc[start:stop]
        if ending == "csv":
            part.to_csv(path, index=False)
        else:
            whole = pa.Table.from_pandas(part, preserve_index=False)
            pq.write_table(whole, path, row_group_size=group)
        places += [(str(path), row) for row in range(stop - start)]
    return places


@pytest.mark.parametrize("what", WRONG)
@given(
    row=st.integers(0, N_ROWS - 1),
    cuts=st.sets(st.integers(1, N_ROWS - 1), max_size=3),
    ending=st.sampled_from(["csv", "parquet"]),
    group=st.integers(5, 60),
    batch=st.integers(1, 100),
)
@settings(max_examples=8)
def test_any_cut_of_any_table(tmp_path_factory, what, row, cuts, ending, group, batch):
    folder = tmp_path_factory.mktemp("parts")
    column, value, said = WRONG[what]
    good, frame = table(), table()
    frame.loc[row, column] = value
    places = write_parts(folder, frame, [0, *sorted(cuts)], ending, group)
    names = ["a", "b", "kind"]
    model = clone(MODEL).set_params(unseen="raise")
    plan = model.prepare(good[names].astype({"kind": "category"}))
    with pytest.raises(DataError) as refused:
        fit_files(plan, folder, columns=names, weight="weight", batch_rows=batch)
    error = refused.value
    assert (error.file, error.row) == places[row]
    assert error.value == said
    if column == "weight" and value is not None:
        assert "sample_weight" in error.reason  # which has no name of its own
    else:
        assert error.column == column


@given(row=st.integers(0, N_ROWS - 1), gaps=st.sets(st.integers(0, N_ROWS - 1)))
@settings(max_examples=15)
def test_rows_that_were_dropped_are_counted(tmp_path_factory, row, gaps):
    path = tmp_path_factory.mktemp("gaps") / "rows.parquet"
    frame = table()[["a", "b"]]
    frame.loc[sorted(gaps - {row}), "a"] = None
    frame.loc[row, "b"] = -np.inf
    pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=40)
    plan = clone(MODEL).prepare(table()[["a", "b"]])
    with pytest.raises(DataError, match="infinity") as refused:
        fit_files(plan, path, missing="drop", batch_rows=25)
    assert (refused.value.file, refused.value.row) == (str(path), row)


@pytest.mark.parametrize("row", [0, 40, N_ROWS - 1])
def test_rows_of_the_sample(tmp_path, row):
    """Which are looked at before the first is learned."""
    path, frame = tmp_path / "rows.csv", table()
    frame.loc[row, "b"] = np.inf
    frame.to_csv(path, index=False)
    with pytest.raises(DataError, match="infinity") as refused:
        fit_files(clone(MODEL), path, columns=["a", "b"], weight="weight")
    assert (refused.value.file, refused.value.row) == (str(path), row)


@pytest.mark.parametrize("missing", ["raise", "integrate"])
def test_tables_that_weigh_nothing(tmp_path, missing):
    path, model = tmp_path / "rows.parquet", clone(MODEL)
    frame = table()[["a", "b"]].assign(weight=0.0)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    with pytest.raises(ValueError, match="no rows of a weight above zero"):
        fit_files(model.set_params(missing=missing), path, weight="weight")


def test_rows_that_lack_numbers_are_left_out_of_the_sample(tmp_path):
    """As a model that integrates over them does in memory."""
    path, frame = tmp_path / "rows.parquet", table()[["a", "b"]]
    frame.loc[3:11, "a"] = np.nan
    columns = {name: pa.array(frame[name].to_numpy()) for name in frame}
    pq.write_table(pa.table(columns), path)
    model = clone(MODEL).set_params(missing="integrate", feature_map="landmarks")
    with pytest.warns(UserWarning, match="9 of 90 rows lack a value"):
        fit_files(model, path)
    assert model.state_.weight == [N_ROWS - 9]


def test_what_is_in_memory_has_no_file():
    import pyarrow.dataset as pa_dataset

    frame = table()[["a", "b"]]
    frame.loc[17, "b"] = np.nan
    source = pa_dataset.dataset(pa.Table.from_pandas(frame, preserve_index=False))
    with pytest.raises(DataError, match="row 17: column 'b'") as refused:
        fit_files(clone(MODEL), source)
    assert refused.value.file is None


def write_lines(path, *lines):
    path.write_text("\n".join(["a,b", *lines]) + "\n")
    return path


class TestTextFiles:
    """What pyarrow says of them, as fields."""

    def test_a_value_that_is_no_number(self, tmp_path):
        path = write_lines(tmp_path / "rows.csv", "1,2", "", "3,4", "5,red")
        with pytest.raises(DataError, match="must be numbers") as refused:
            fit_files(clone(MODEL).prepare(np.eye(2)), path)
        error = refused.value
        assert (error.file, error.row) == (str(path), 2)  # empty lines are no rows
        assert (error.column, error.value) == ("b", "red")

    def test_a_row_with_another_number_of_values(self, tmp_path):
        path = write_lines(tmp_path / "rows.csv", "1,2", "3,4,5")
        with pytest.raises(DataError, match="expected 2 columns, got 3") as refused:
            fit_files(clone(MODEL), path)
        assert (refused.value.file, refused.value.row) == (str(path), 1)

    def test_an_empty_file_among_others(self, tmp_path):
        write_lines(tmp_path / "1.csv", "1,2", "3,4")
        (tmp_path / "0.csv").write_text("")
        with pytest.raises(DataError, match="no readable CSV file") as refused:
            fit_files(clone(MODEL), tmp_path)
        assert refused.value.file == str(tmp_path / "0.csv")

    def test_a_column_in_the_names_of_folders(self, tmp_path):
        """Its text stands in no file."""
        folder = tmp_path / "colour=red"
        folder.mkdir()
        write_lines(folder / "rows.csv", "1,2", "3,4")
        with pytest.raises(DataError, match="'colour': must be numbers, but is string"):
            fit_files(clone(MODEL), tmp_path, columns=["a"], weight="colour")


@pytest.mark.parametrize(
    ("said", "row", "column", "value"),
    [
        ("In CSV column #1: Row #7: invalid value 'x'", 5, "b", "x"),
        ("In CSV column #1: CSV conversion error: invalid value 'x'", None, "b", "x"),
        ("In CSV column #9: Row #2: invalid value 'it's'", 0, 9, "it's"),
        ("CSV parse error: Expected 3 columns, got 2: a,b", None, None, None),
    ],
)
def test_messages_of_pyarrow(said, row, column, value):
    error = mistakes.reading_error(ValueError(said), "rows.csv", ["a", "b"])
    assert isinstance(error, DataError)
    assert (error.file, error.row) == ("rows.csv", row)
    assert (error.column, error.value) == (column, value)


def test_what_is_not_about_data_stays_an_error_of_the_system():
    error = mistakes.reading_error(OSError("disk is gone"), "rows.csv")
    assert not isinstance(error, DataError)
    assert str(error) == "rows.csv could not be read: disk is gone"


def test_typical_values_of_no_rows(tmp_path):
    path = write_lines(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match="holds no rows"):
        typical_values(path)
