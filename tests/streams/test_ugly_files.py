"""Files as people have them: the right table, or one line that says what is wrong."""

import pandas as pd
import pytest

import rhokit
from rhokit.errors import DataNote
from tests.streams.ugly import ALL

READ = {name: ugly for name, ugly in ALL.items() if not ugly.refused}
REFUSED = {name: ugly for name, ugly in ALL.items() if ugly.refused}


def write(folder, ugly):
    path = folder / ugly.name
    path.write_bytes(ugly.data)
    return path


def plain(values):
    """Values of a column as Python has them; days without times as ISO dates."""
    if values.dtype.kind == "M":
        return [str(day.date()) for day in values]
    return [None if _is_gap(value) else value for value in values.tolist()]


def _is_gap(value):
    return value is None or value is pd.NA or (value != value)


def test_there_are_many_kinds():
    assert len(ALL) >= 60
    assert len(REFUSED) >= 15


@pytest.mark.filterwarnings("ignore::rhokit.errors.DataNote")
@pytest.mark.parametrize("kind", READ)
def test_the_right_table(tmp_path, kind):
    ugly = READ[kind]
    found = rhokit.read_table(write(tmp_path, ugly), **ugly.options)
    for name, values in ugly.table.items():
        column = plain(found[name])[: len(values)]
        if values and isinstance(values[0], float):
            assert column == pytest.approx(values, nan_ok=True)
        else:
            assert column == values, name
    if ugly.table.keys() >= {"a", "b"}:
        lengths = {len(values) for values in ugly.table.values()}
        assert len(found) in lengths


@pytest.mark.filterwarnings("ignore::rhokit.errors.DataNote")
@pytest.mark.parametrize("kind", REFUSED)
def test_one_line_that_says_what_is_wrong(tmp_path, kind):
    ugly = REFUSED[kind]
    with pytest.raises((ValueError, OSError)) as refusal:
        rhokit.read_table(write(tmp_path, ugly), **ugly.options)
    said = str(refusal.value)
    assert ugly.name in said
    assert len(said.splitlines()) == 1
    for word in ugly.refused:
        assert word in said, said


def test_what_is_unusual_is_said(tmp_path):
    path = write(tmp_path, ALL["semicolons and decimal commas"])
    with pytest.warns(DataNote, match=r"t.csv: read with delimiter=';', decimal=','"):
        rhokit.read_table(path)
    rhokit.read_table(path, delimiter=";", decimal=",")  # as was said: no note
