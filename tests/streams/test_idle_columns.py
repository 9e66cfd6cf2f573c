"""Columns that say nothing about a row are left out, with a word."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rhokit
from rhokit import DMKDE, fit_files
from rhokit.errors import DataNote

N_ROWS = 60
RNG = np.random.default_rng(0)


def frame():
    return pd.DataFrame(
        {
            "x": RNG.normal(size=N_ROWS),
            "town": RNG.choice(["Ulm", "Bonn"], N_ROWS),
            "year": np.arange(1950, 1950 + N_ROWS),
        }
    )


# Names of columns, what they hold, and what is said of them.
IDLE = {
    "name": ([f"n{i}" for i in range(N_ROWS)], r"name \(different in all rows\)"),
    "row": (np.arange(N_ROWS), r"row \(counts the rows\)"),
    "z": (np.arange(1, N_ROWS + 1), r"z \(counts the rows\)"),
    "userId": (RNG.permutation(N_ROWS) + 7000, r"userId \(different in all rows\)"),
    "unit": (["kg"] * N_ROWS, r"unit \('kg' in all rows\)"),
    "const": (np.full(N_ROWS, 2.5), r"const \(2\.5 in all rows\)"),
    "none": ([None] * N_ROWS, r"none \(empty\)"),
}


def write(path, table):
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", IDLE)
def test_left_out_and_said(tmp_path, name, ending):
    values, said = IDLE[name]
    path = write(tmp_path / f"t.{ending}", frame().assign(**{name: values}))
    with pytest.warns(DataNote, match=said):
        table = rhokit.read_table(path)
    assert list(table) == ["x", "town", "year"]
    assert name in rhokit.read_table(path, keep_all=True)
    assert list(rhokit.read_table(path, ["x", name])) == ["x", name]


def test_of_a_fit(tmp_path):
    path = write(tmp_path / "t.csv", frame().assign(id=np.arange(N_ROWS)))
    model = DMKDE(n_components=16, feature_map="landmarks", random_state=0)
    with pytest.warns(DataNote, match="left out columns that say nothing"):
        fit_files(model, path)
    assert model.feature_names_in_.tolist() == ["x", "town", "year"]
    fit_files(model, path, keep_all=True)
    assert "id" in model.feature_names_in_


def test_what_only_begins_alike_stays(tmp_path):
    """A column may be the same for a long time."""
    column = np.r_[np.zeros(150_000), 1.0]
    table = pd.DataFrame({"x": RNG.normal(size=150_001), "late": column})
    assert list(rhokit.read_table(write(tmp_path / "t.csv", table))) == ["x", "late"]


def test_numbers_with_a_mistake_are_no_names(tmp_path):
    table = frame().assign(code=[*map(str, RNG.normal(size=N_ROWS - 1)), "oops"])
    with pytest.raises(rhokit.DataError, match="holds numbers, but 'oops'"):
        rhokit.read_table(write(tmp_path / "t.csv", table))


def test_a_table_of_nothing_else_is_kept(tmp_path):
    table = pd.DataFrame({"id": np.arange(N_ROWS)})
    assert list(rhokit.read_table(write(tmp_path / "t.csv", table))) == ["id"]
