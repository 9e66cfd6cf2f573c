"""Dates and times: a number since a start, and parts that come round."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit import DMKDE, QMRegressor, fit_files
from rhokit.cli.console import preview, rich_console
from rhokit.frame_times import (
    CYCLES,
    TimeSpan,
    cycle_states,
    made_of,
    time_writer,
    with_parts,
    with_times,
)
from tests.cli.support import SMALL, run

RNG = np.random.default_rng(0)
TIMES = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2250, 1, 1))
N_ROWS = 400
WHEN = pd.Timestamp("2022-01-01") + pd.to_timedelta(
    RNG.integers(0, 3 * 365 * 24, N_ROWS), unit="h"
)
NAMES = [
    *("when (days since 2000)", "when (hour)", "when (weekday)", "when (month)"),
]


def frame():
    return pd.DataFrame({"when": WHEN, "x": RNG.normal(size=N_ROWS)})


def as_array(times):
    return np.array(times, dtype="datetime64[us]")


@given(st.lists(TIMES, min_size=1, max_size=5))
def test_parts_are_those_of_the_calendar(times):
    array = as_array(times)
    hours, days, months = (made_of(array, f"t ({part})") for part in CYCLES)
    assert hours.tolist() == [t.hour for t in times]
    assert days.tolist() == [t.weekday() for t in times]
    assert months.tolist() == [t.month - 1 for t in times]
    passed = [(t - datetime.datetime(2000, 1, 1)).total_seconds() for t in times]
    assert_allclose(made_of(array, "t (days since 2000)"), np.divide(passed, 86_400))
    assert_allclose(made_of(array, "t (hours since 2000)"), np.divide(passed, 3600))
    assert_allclose(made_of(array, "t (seconds since 2000)"), passed)


@given(st.lists(TIMES, min_size=1, max_size=5), st.sampled_from(["days", "hours"]))
@settings(max_examples=30)
def test_times_are_found_again(times, unit):
    array = as_array(times).astype("datetime64[s]").astype("datetime64[us]")
    names = [f"t ({unit} since 2000)", "t (hour)", "t (weekday)"]
    columns = {}
    for name in names:
        made = made_of(array, name)
        part = name[3:-1]
        columns[name] = np.array(CYCLES[part])[made] if part in CYCLES else made
    found = with_times(columns)
    assert list(found) == ["t"]
    # A double holds days of this era to less than a tenth of a second.
    assert (abs(found["t"] - array) < np.timedelta64(100, "ms")).all()


@pytest.mark.parametrize(
    ("step", "count", "names"),
    [
        ("1s", 60, ["t (seconds since 2000)"]),
        ("1min", 1200, ["t (hours since 2000)"]),
        ("1h", 24 * 10, ["t (days since 2000)", "t (hour)"]),
        ("1D", 30, ["t (days since 2000)", "t (weekday)"]),
        ("7D", 30, ["t (days since 2000)"]),
        ("1D", 900, ["t (days since 2000)", "t (weekday)", "t (month)"]),
    ],
)
def test_parts_are_chosen_by_the_span(step, count, names):
    times = pd.date_range("2024-03-01", periods=count, freq=step).to_numpy()
    halves = TimeSpan.of(times[: count // 3]) + TimeSpan.of(times[count // 3 :])
    assert halves == TimeSpan.of(times)
    assert halves.names("t") == names


def test_neighbours_on_a_circle_are_alike():
    states = cycle_states(12)
    assert_allclose((states**2).sum(axis=1), 1)
    overlaps = states @ states.T
    assert_allclose(overlaps[0, 11], overlaps[5, 6])
    assert overlaps[0, 11] > 0.4 > 0.1 > overlaps[0, 6]


LIBRARIES = {
    "pandas": lambda table: table,
    "polars": pl.from_pandas,
    "arrow": lambda table: pa.Table.from_pandas(table, preserve_index=False),
    "zones": lambda table: table.assign(when=table["when"].dt.tz_localize("UTC")),
}


@pytest.mark.parametrize("library", LIBRARIES)
class TestFrames:
    def test_all_libraries_teach_the_same(self, library):
        rows = frame()
        made = LIBRARIES[library](rows)
        model = DMKDE(n_components=32, feature_map="landmarks", random_state=0)
        model.fit(made)
        assert model.feature_names_in_.tolist() == [*NAMES, "x"]
        parts = DMKDE(**model.get_params()).fit(with_parts(rows))
        assert_allclose(model.score_samples(made), parts.score_samples(rows))

    def test_a_row_by_itself_is_treated_alike(self, library):
        made = LIBRARIES[library](frame())
        model = DMKDE(n_components=32, feature_map="landmarks", random_state=0)
        logs = model.fit(made).score_samples(made)
        assert_allclose(model.score_samples(made[7:8]), logs[7:8])
        again = rhokit.loads(rhokit.dumps(model))
        assert_array_equal(again.score_samples(made), logs)

    def test_samples_have_times(self, library):
        made = LIBRARIES[library](frame())
        model = DMKDE(random_state=0).fit(made)
        drawn = model.sample(50, random_state=0)
        assert type(drawn) is type(made)
        drawn = drawn.to_pandas() if hasattr(drawn, "to_pandas") else drawn
        assert list(drawn) == ["when", "x"]
        assert drawn["when"].dtype.kind == "M"
        assert drawn["when"].dt.year.between(2021, 2025).mean() > 0.95


def test_gaps_are_gaps():
    rows = frame()
    rows.loc[3, "when"] = pd.NaT
    model = DMKDE(n_components=32, feature_map="landmarks", random_state=0)
    with pytest.raises(rhokit.DataError, match="row 3: column 'when"):
        model.fit(rows)


def test_what_comes_round_is_learned():
    rows = frame()
    values = np.cos(2 * np.pi * WHEN.hour / 24)
    model = QMRegressor(random_state=0).fit(rows[:300], values[:300])
    assert model.score(rows[300:], values[300:]) > 0.9


class TestFiles:
    @pytest.fixture(params=["iso.csv", "german.csv", "t.parquet", "t.jsonl"])
    def path(self, request, tmp_path):
        rows, path = frame(), tmp_path / request.param
        if path.suffix == ".parquet":
            rows.to_parquet(path)
        elif path.suffix == ".jsonl":
            rows.to_json(path, orient="records", lines=True, date_format="iso")
        else:
            form = "%d.%m.%Y %H:%M" if "german" in path.name else None
            rows.to_csv(path, index=False, date_format=form)
        return path

    def test_as_of_a_frame(self, path):
        model = DMKDE(
            gamma=1.0, scale="std", n_components=32, feature_map="landmarks"
        ).set_params(random_state=0)
        fit_files(model, path)
        assert model.feature_names_in_.tolist() == [*NAMES, "x"]
        table = rhokit.read_table(path)
        assert table["when"].dtype.kind == "M"
        blank = model.blank().partial_fit(table)
        assert_allclose(model.score_samples(table), blank.score_samples(table))

    def test_the_program(self, path, tmp_path):
        model = tmp_path / "m.rho"
        run("fit", path, *SMALL, "-o", model).fine()
        run("score", model, path, "-o", tmp_path / "s.csv").fine()
        scores = rhokit.read_table(tmp_path / "s.csv", keep_all=True)["log_density"]
        table = rhokit.read_table(path)
        assert_allclose(rhokit.load(model).score_samples(table), scores)

    def test_columns_by_their_own_names(self, path, tmp_path):
        call = ("fit", path, *SMALL, "--json", "-o", tmp_path / "m.rho")
        assert run(*call, "--drop", "when").fine().json["columns"] == ["x"]
        assert run(*call, "--columns", "when").fine().json["columns"] == NAMES


class TestShown:
    @pytest.mark.parametrize(
        ("unit", "value", "text"),
        [
            ("days", 8771.0, "2024-01-06"),
            ("days", -0.5, "1999-12-31 12:00"),
            ("hours", 24.0, "2000-01-02 00:00"),
            ("seconds", 61.0, "2000-01-01 00:01:01"),
            ("days", 1e30, "1e+30"),
            ("days", float("inf"), "inf"),
            ("days", float("nan"), "nan"),
        ],
    )
    def test_numbers_as_times(self, unit, value, text):
        heading, write = time_writer(f"sold ({unit} since 2000)")
        assert (heading, write(value)) == ("sold", text)

    def test_other_columns_stay(self):
        assert time_writer("sold") is time_writer("sold (hour)") is None

    def test_in_the_terminal(self, capsys):
        table = pa.table({"Datum (days since 2000)": [8771.0, None], "x": [1.5, 2.5]})
        rich_console().print(preview(table))
        shown = capsys.readouterr().out
        assert "2024-01-06" in shown
        assert "1.5" in shown
        assert "since 2000" not in shown
