"""``rhokit.find_changes``: when rows changed, and in which columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

import rhokit
from benchmarks.real_data import load_arrays, missing
from rhokit.drift.tables import stacked, table_of
from rhokit.drift.watch import Watch

KINDS = ("mean", "variance", "correlation")
SETS = {"density_magic": 10, "letters": 16, "covtype": 10}
N = 8000


def real_rows(name, seed, n=N):
    if reason := missing(name):
        pytest.skip(reason)
    X = load_arrays(name)["X"][:, : SETS[name]].astype(float)
    rng = np.random.default_rng(seed)
    return X[rng.permutation(len(X))[:n]], rng


def planted(X, kind, column, at, rng):
    """Rows of which one column is another from a row on."""
    X, spread, middle = X.copy(), X[:, column].std(), np.median(X[:, column])
    if kind == "mean":  # whole numbers stay whole
        whole = (X[:, column] % 1 == 0).all()
        X[at:, column] += np.ceil(0.5 * spread) if whole else 0.5 * spread
    elif kind == "variance":
        X[at:, column] = middle + 1.7 * (X[at:, column] - middle)
    else:
        X[at:, column] = rng.permutation(X[at:, column])
    return X


def tied(X):
    """The column that goes together most with another one."""
    ranks = pd.DataFrame(X).rank().to_numpy()
    together = np.abs(np.corrcoef(ranks.T)) - np.eye(X.shape[1])
    return int(np.unravel_index(together.argmax(), together.shape)[0])


class TestRealRows:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("name", SETS)
    def test_planted_changes_are_found_soon(self, name, kind):
        """Within 5 % of the rows, at one false alarm in a million, in the column."""
        X, rng = real_rows(name, KINDS.index(kind))
        column = tied(X) if kind == "correlation" else KINDS.index(kind)
        at = N // 2
        watch = Watch().after(table_of(planted(X, kind, column, at, rng)))
        (change,) = watch.changes
        assert 0 < change.noticed - at <= 0.05 * N
        assert abs(change.began - at) < 0.03 * N
        if kind == "correlation":
            assert not change.columns
            assert all(f"column {column}" in pair for pair in change.pairs)
        else:
            assert change.columns == (f"column {column}",)

    @pytest.mark.parametrize("name", SETS)
    def test_no_false_alarm(self, name):
        X, _ = real_rows(name, 0, 12_000)
        assert not Watch().after(table_of(X)).changes


def normal(n, seed=0, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


class TestWatch:
    def test_any_split_finds_the_same(self):
        X = normal(3000)
        X[1000:, 1] += 1
        X[2000:, 2] *= 3
        table = table_of(X)
        whole = Watch().after(table)
        assert [c.columns for c in whole.changes] == [("column 1",), ("column 2",)]
        for cuts in ([1, 150, 1034, 1500], range(7, 3000, 31)):
            watch = Watch()
            for start, stop in zip([0, *cuts], [*cuts, 3000], strict=True):
                watch = watch.after(table.take(slice(start, stop)))
            assert watch.changes == whole.changes
            assert watch.watches_from == whole.watches_from
        early = Watch().after(table.take(slice(1500)))
        assert early.changes == whole.changes[:1]

    def test_false_alarms_are_as_rare_as_said(self):
        """Of streams of t rows, at most a share of t times the rate has one."""
        rate, alarms = 1e-3, 0
        for seed in range(40):
            X = np.random.default_rng(seed).poisson(2.0, (400, 2)) + 0.0
            alarms += Watch(rate, seed=seed).after(table_of(X)).changes != ()
        assert alarms / 40 <= 0.2 + 0.2  # 200 rows after the warm-up; three errors

    def test_blocks_allow_for_dependence(self):
        noise = np.random.default_rng(0).normal(size=(21_000, 2))
        X = lfilter([1], [1, -0.9], noise, axis=0)[1000:]
        careless = rhokit.find_changes(X[:2000])
        assert len(careless.changes) > 1
        assert "depend on those before" in str(careless)
        careful = rhokit.find_changes(X, block_rows="auto")
        assert 100 < careful.block_rows < 350
        assert not careful.changed
        X[15_000:, 1] += 3
        (change,) = rhokit.find_changes(X, block_rows=190).changes
        assert change.columns == ("column 1",)
        assert abs(change.began - 15_000) < 600

    def test_categories_and_gaps(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {
                "x": rng.normal(size=3000),
                "y": rng.normal(size=3000),
                "colour": rng.choice(["red", "green", "blue"], 3000),
                "same": 1.0,
            }
        )
        frame.loc[800:, "colour"] = rng.choice(["red", "green"], 2200)
        frame.loc[1400:, "x"] = frame.x[1400:].where(rng.random(1600) > 0.2)
        frame.loc[2000:, "colour"] = rng.choice(["red", "green", "new"], 1000)
        found = rhokit.find_changes(frame)
        names = [change.columns for change in found.changes]
        assert names == [("colour",), ("x",), ("colour",)]
        near = [change.began for change in found.changes]
        assert np.abs(np.array(near) - [800, 1400, 2000]).max() < 60
        twice = stacked([table_of(frame[:1000]), table_of(frame[1000:])])
        assert Watch().after(twice).changes == Watch().after(table_of(frame)).changes


class TestTimes:
    def test_dates(self):
        X = normal(2000)
        X[1200:, 0] += 1.5
        frame = pd.DataFrame(X, columns=list("abc"))
        frame["day"] = pd.date_range("2020-01-01", periods=2000, freq="h")
        given = {
            "dates": frame,
            "texts": frame.assign(day=frame.day.astype(str)),
            "shuffled": frame.sample(frac=1, random_state=0),
        }
        for rows in given.values():
            found = rhokit.find_changes(rows, time="day")
            (change,) = found.changes
            assert change.columns == ("a",)
            assert abs(
                change.began_time - np.datetime64("2020-02-20")
            ) < np.timedelta64(24, "h")
            assert "2020-02-" in str(found)
            assert ("put in order" in str(found)) == (rows is given["shuffled"])

    def test_numbers_and_arrays(self):
        X = normal(1000)
        X[600:, 0] += 2
        found = rhokit.find_changes(X, time=np.arange(1000) / 10)
        assert found.changes[0].began_time == found.changes[0].began / 10

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"time": "no"}, "must name a column of"),
            ({"time": [1.0, 2.0]}, "for each of the 30 rows, got 2"),
            ({"time": [np.nan] * 30}, "row 0: has no time"),
            ({"time": ["soon"] * 30}, "times must be numbers, dates or texts"),
            ({"block_rows": 0}, "block_rows must be an integer >= 1"),
            ({"false_alarms": 0}, "false_alarms must be between 0 and 1"),
        ],
    )
    def test_refusals(self, options, words):
        frame = pd.DataFrame({"a": np.arange(30.0)})
        with pytest.raises(ValueError, match=words):
            rhokit.find_changes(frame, **options)


@pytest.fixture(scope="module")
def found():
    """A time line with a column that changes, and then two that go together."""
    X = normal(2000, 1)
    X[900:, 1] += 1
    X[1500:, 2] = X[1500:, 0] + 0.3 * X[1500:, 2]
    return rhokit.find_changes(X)


class TestTimeline:
    def test_words(self, found):
        assert found.verdict == "the data have changed twice"
        assert "one false alarm in 1,000,000 rows" in str(found)
        assert "column 0 and column 2" in str(found)
        assert "<td>" in found._repr_html_()
        frame = found.to_frame()
        assert list(frame["changed"]) == ["column 1", "column 0 and column 2"]
        assert not rhokit.find_changes(normal(300)).to_frame().size

    def test_before_and_after(self, found):
        first, second = found.comparisons
        assert first.columns[0].name == "column 1"
        assert second.changed_pairs[0].names == ("column 0", "column 2")

    def test_tracks(self, found):
        assert found.tracks_by_change[0].name == "column 1"
        medians = np.array(found.tracks[1].values["median"])
        edges = np.array(found.edges)
        assert medians[edges[:-1] > 920].mean() > medians[edges[1:] < 900].mean() + 0.8

    def test_picture_and_page(self, found, tmp_path):
        pytest.importorskip("matplotlib").use("agg")
        display = found.plot(k=2)
        assert len(display.axes_) == 2
        page = rhokit.report.write_timeline(found, tmp_path / "page.html")
        text = page.read_text()
        assert "Before and after change 2" in text
        assert "column 1" in text

    def test_few_rows(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = rhokit.find_changes(normal(12))
        assert not found.changed
        assert "from row 200 on" in str(found)

    def test_all_rows_before_and_after_are_compared(self, found):
        first, _ = found.comparisons
        change, later = found.changes
        assert first.rows_text == (
            f"{change.began:,} rows against {later.began - change.noticed - 1:,} rows"
        )
