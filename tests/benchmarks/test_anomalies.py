"""Detectors of anomalies, how they are judged, and the table of it."""

import sys
from functools import partial
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks import anomalies, anomaly_verdicts, real_data
from benchmarks.contest import Contestant
from benchmarks.contest.elsewhere import Elsewhere, Failed, TooLong
from benchmarks.contestants.detectors import CONTESTANTS, Detector, PyOD
from benchmarks.records import Result, as_line
from benchmarks.runs import SECONDS

N = 40
SETTINGS = anomalies.SETTINGS
SIDES = ("rhokit", "others")


class Stub:
    """What a detector of PyOD is to us."""

    def __init__(self, **settings):
        self.settings = settings

    def fit(self, rows):
        self.decision_scores_ = rows.sum(axis=1)

    def decision_function(self, rows):
        return rows.max(axis=1)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(N, 2))


# ---- detectors -----------------------------------------------------------------------


def test_a_detector_of_pyod_has_scored_its_rows(rows, monkeypatch):
    module = ModuleType("pyod.models.stub")
    module.Stub = Stub
    monkeypatch.setitem(sys.modules, "pyod.models.stub", module)
    facts = {"threads": 3, "seed": 5}
    model = PyOD(facts, "stub", "Stub", threaded=True, seeded=True)
    model.fit(rows)
    assert model._model.settings == {"n_jobs": 3, "random_state": 5}
    assert_array_equal(model.answer(rows[:7]), rows[:7].sum(axis=1))
    clean = facts | {"setting": "clean"}
    plain = PyOD(clean, "stub", "Stub", threaded=False, seeded=False)
    plain.fit(rows)
    assert plain._model.settings == {}
    assert_array_equal(plain.answer(rows[:7]), rows[:7].max(axis=1))


def test_the_detector_is_told_the_setting(rows):
    for setting in anomalies.SETTINGS:
        model = Detector({"setting": setting, "seed": 4})
        assert model._model.training == setting
        assert model._model.random_state == 4
        model.fit(rows)
        assert (model.answer(rows) > 0).all()


@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda each: each.name)
@pytest.mark.filterwarnings("ignore")  # what others warn of is not our concern
def test_every_detector_finds_a_row_far_away(contestant):
    facts = {"threads": 1, "n": 200, "d": 3}
    reason = contestant.absence(facts)
    if reason is not None:
        assert "not installed" in reason
        pytest.skip(reason)
    cloud = np.random.default_rng(1).normal(size=(200, 3))
    cloud[17] = [6.0, -6.0, 6.0]
    model = contestant.build(facts)
    model.fit(cloud)
    scores = model.answer(cloud)
    assert scores.shape == (200,)
    assert scores.argmax() == 17


def test_quadratic_ones_stay_away_from_many_rows():
    contestant = next(each for each in CONTESTANTS if each.name == "PyOD KDE")
    assert contestant.takes({"n": 20_000, "d": 9}) is None
    assert "20,000 rows" in contestant.takes({"n": 20_001, "d": 9})


def test_cubic_ones_stay_away_from_many_columns():
    contestant = next(each for each in CONTESTANTS if each.name == "PyOD MCD")
    assert "500 columns" in contestant.takes({"n": 9, "d": 501})


# ---- how they are judged -------------------------------------------------------------


def test_area_counts_pairs_and_ties_as_halves():
    labels = np.array([0, 0, 0, 1, 1])
    scores = np.array([0.1, 0.5, np.inf, 0.5, np.inf])
    odd, even = scores[labels == 1], scores[labels == 0]
    pairs = [(a > b) + 0.5 * (a == b) for a in odd for b in even]
    area, precision = anomalies.quality(labels, scores)
    assert_allclose(area, np.mean(pairs))
    # One of two at the top; then two of four.
    assert_allclose(precision, 0.5 * 1 / 2 + 0.5 * 2 / 4)


@pytest.mark.parametrize("scores", [None, np.array([0.0, np.nan, 1.0])])
def test_without_a_ranking_there_is_no_area(scores):
    assert anomalies.quality(np.array([0, 1, 1]), scores) == (None, None)


class Here:
    """Calls in this process."""

    def call(self, function, *arguments):
        return function(*arguments)


class Broken:
    """Calls that come to nothing."""

    def __init__(self, error):
        self.error = error

    def call(self, function, *arguments):
        raise self.error


FACTS = {"setting": "clean", "seed": 3, "threads": 1, "n": N, "d": 2}


def test_the_line_of_a_detector(rows):
    labels = (np.arange(N) < 4).astype(int)
    ours = CONTESTANTS[0]
    area, own = anomalies.judged(ours, rows[10:], rows, labels, FACTS, Here())
    model = Detector(FACTS)
    model.fit(rows[10:])
    expected = anomalies.quality(labels, model.answer(rows))
    assert (area, own["average_precision"]) == expected
    assert own["reason"] is None
    assert own["total_seconds"].keys() == {str(N)}


@pytest.mark.parametrize("error", [TooLong("more than 1 s"), Failed("OSError: no")])
def test_the_line_of_a_detector_that_failed(rows, error):
    labels = (np.arange(N) < 4).astype(int)
    found = anomalies.judged(CONTESTANTS[0], rows, rows, labels, FACTS, Broken(error))
    assert found == (None, {"average_precision": None, "reason": str(error)})


def test_the_line_of_a_detector_that_stays_away(rows):
    away = Contestant("away", None, takes=lambda facts: f"{facts['n']} rows")
    found = anomalies.judged(away, rows, rows, None, FACTS, Broken(None))
    assert found == (None, {"average_precision": None, "reason": f"{N} rows"})


# ---- another process -----------------------------------------------------------------


def sleepy(seconds):
    import time

    time.sleep(seconds)
    return seconds


def failing():
    raise OSError("no /home/somebody/file\nat all")


def ending():
    import os

    os._exit(3)


def test_calls_in_another_process():
    elsewhere = Elsewhere(20)
    try:
        assert elsewhere.call(sleepy, 0) == 0
        process = elsewhere._process
        with pytest.raises(Failed, match=r"^OSError: no file$"):
            elsewhere.call(failing)
        assert elsewhere._process is process
        with pytest.raises(Failed, match="its process ended"):
            elsewhere.call(ending)
        elsewhere._patience = 0.1
        with pytest.raises(TooLong, match=r"more than 0\.1 s"):
            elsewhere.call(sleepy, 60)
        elsewhere._patience = 20
        assert elsewhere.call(partial(sleepy, 0)) == 0
    finally:
        elsewhere.close()


# ---- tasks and rows ------------------------------------------------------------------


def test_tasks_are_the_sets_that_are_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    (tmp_path / "adbench").mkdir()
    for name in ("letter", "shuttle"):
        file = tmp_path / "adbench" / f"{name}.npz"
        np.savez(file, X=np.zeros((2, 1)), y=[0, 1])
    names = [task.name for task in anomalies.tasks(quick=False)]
    assert len(set(names)) == len(names) == 2 * 2 * anomalies.N_SEEDS * 2
    assert names[:2] == [f"letter / contaminated / seed 0 / {s}" for s in SIDES]
    assert all("seed 0" in name for name in names[: len(names) // anomalies.N_SEEDS])
    quick = [task.name for task in anomalies.tasks(quick=True)]
    assert quick == [f"letter / {s} / seed 0 / {o}" for s in SETTINGS for o in SIDES]
    assert "adbench/musk left out" in capsys.readouterr().err


def arrays_of_900():
    """Rows, a third of them anomalies."""
    labels = np.arange(900) % 3 == 2
    rows = np.random.default_rng(0).normal(size=(900, 2)) * 5 + labels[:, None]
    return {"X": rows.astype(np.float32), "y": labels.astype(np.uint8)}


def test_all_rows_are_fitted_and_scored():
    rows, asked, labels = anomalies.case(arrays_of_900(), "contaminated", 0, 600)
    assert rows.shape == (600, 2)
    assert_array_equal(rows, asked)
    assert 150 < labels.sum() < 250
    other, _, _ = anomalies.case(arrays_of_900(), "contaminated", 1, 600)
    assert not np.isin(other, rows).all()


def test_half_of_the_normal_rows_are_fitted_and_the_others_scored():
    rows, asked, labels = anomalies.case(arrays_of_900(), "clean", 0, 10_000)
    assert rows.flags.c_contiguous
    assert_allclose(rows.mean(axis=0), 0, atol=1e-9)
    assert_allclose(rows.std(axis=0), 1)
    assert len(rows) == 300
    assert len(asked) == len(labels) == 600
    assert labels.sum() == 300
    assert len(np.unique(np.concatenate([rows, asked]), axis=0)) == 900


def test_sets_that_choices_were_made_on_are_every_second_one():
    assert list(anomalies.SETS) == sorted(anomalies.SETS)
    assert len(set(anomaly_verdicts.SEEN) & set(anomalies.SETS)) == 12


# ---- table ---------------------------------------------------------------------------


def lines_of(areas):
    """Lines of a run; None is a detector that has no figure."""
    for (name, detector, seed), area in areas.items():
        details = {
            "set": name,
            "setting": "clean",
            "contestant": detector,
            "ours": detector.startswith("rhokit"),
            "reason": "more than 1 s" if area is None else None,
            "average_precision": None if area is None else area / 2,
            "total_seconds": None if area is None else {str(N): 0.25},
        }
        text = f"{name}: {detector}"
        yield as_line(Result(text, "ROC AUC", area, seed=seed, details=details))
    yield as_line(Result("the last", SECONDS, 12.0))


def test_the_table_ranks_detectors():
    areas = {
        ("aloi", "rhokit detector", 0): 0.5,
        ("aloi", "rhokit detector", 1): 1.0,
        ("aloi", "fast", 0): 0.875,
        ("aloi", "slow", 0): 0.75,
        ("wpbc", "rhokit detector", 0): 0.625,
        ("wpbc", "fast", 0): 0.5,
        ("wpbc", "slow", 0): None,
    }
    text = anomalies.table(lines_of(areas))
    lines = [line.split() for line in text.splitlines()]
    # Differences of -.125 and .125, and of 0 and .125: errors of .125 and .0625.
    fast = ["fast", "0.688", "1.50", "+0.000", "±", "0.125", "0.344", "2", "0.25"]
    assert fast in lines
    slow = ["slow", "0.625", "2.75", "+0.062", "±", "0.062", "0.188", "1", "0.25"]
    assert slow in lines
    ours = ["*", "rhokit", "detector", "0.688", "1.75", "-", "0.344", "2", "0.25"]
    assert ours in lines
    # aloi is one that choices were made on: of the others there is one, without error.
    alone = ["fast", "0.500", "2.00", "+0.125", "0.250", "1", "0.25"]
    assert alone in lines
    assert "seeds: 1 to 2" in text
    assert text.endswith("slow on wpbc: more than 1 s")


def test_the_last_of_two_lines_counts():
    first = list(lines_of({("aloi", "fast", 0): 0.5}))
    again = list(lines_of({("aloi", "fast", 0): 0.75}))
    (outcomes,) = anomaly_verdicts.outcomes_by_setting(first + again).values()
    assert outcomes.areas("fast", ["aloi"]) == [0.75]
