"""Detectors of anomalies, how they are judged, and the table of it."""

import sys
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from benchmarks import anomalies, real_data
from benchmarks.contest import Case, Limits, Score
from benchmarks.contestants.detectors import CONTESTANTS, Density, Detector, PyOD
from benchmarks.records import Result, as_line
from benchmarks.runs import SECONDS

N = 40
SETTINGS = anomalies.SETTINGS


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


def score_of(name, answers, *, ours=False, reason=None):
    """What a contest would say of a detector that took a quarter of a second."""
    taken = {
        "fit_seconds": 0.25,
        "answer_seconds": {str(N): 0.0},
        "timed_queries": {str(N): N},
        "start_megabytes": 1.0,
        "peak_megabytes": 2.0,
    }
    return Score(name, ours, reason, [] if reason else [taken], answers)


# ---- detectors -----------------------------------------------------------------------


def test_no_row_vouches_for_itself(rows):
    gamma = 0.7
    model = Density({"threads": 1}, gamma=gamma, scale=None)
    model.fit(rows)
    kernels = np.exp(-gamma * cdist(rows, rows, "sqeuclidean"))
    np.fill_diagonal(kernels, 0)
    exact = -np.log(kernels.sum(axis=1) / (N - 1) * gamma / np.pi)
    assert_allclose(model.answer(rows), exact, atol=1e-5)
    assert_allclose(model.answer(rows[:5]), exact[:5], atol=1e-5)


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


@pytest.mark.parametrize("name", ["PyOD KDE", "PyOD OCSVM"])
def test_quadratic_ones_stay_away_from_many_rows(name):
    contestant = next(each for each in CONTESTANTS if each.name == name)
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


def test_lines_of_a_contest(rows, monkeypatch):
    labels = (np.arange(N) < 4).astype(int)
    answers = {
        "perfect": -np.arange(N, dtype=float),
        "no numbers": np.full(N, np.nan),
    }
    seen = {}

    def compete(case, module, contestants, counts, checked, limits, threads):
        seen.update(case=case, counts=counts, checked=checked)
        away = score_of("away", None, reason="more than 1 s")
        return [score_of(*each, ours=True) for each in answers.items()] + [away]

    monkeypatch.setattr(anomalies, "compete", compete)
    case = Case("toy", rows, rows, facts={"setting": "clean"})
    first, second, third = anomalies.contest(case, labels, Limits(), CONTESTANTS)
    assert seen["case"] is case
    assert seen["counts"] == [N]
    assert seen["checked"] == N
    assert (first.case, first.metric, first.value) == (
        "toy, clean: perfect",
        "ROC AUC",
        1.0,
    )
    wanted = {"set": "toy", "case": "toy", "n": N, "d": 2, "average_precision": 1.0}
    wanted["setting"] = "clean"
    assert first.details.items() >= wanted.items()
    assert second.value is None
    assert "no numbers" in second.details["reason"]
    assert third.value is None
    assert third.details["reason"] == "more than 1 s"


# ---- tasks and table -----------------------------------------------------------------


def test_tasks_are_the_sets_that_are_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    (tmp_path / "adbench").mkdir()
    for name in ("letter", "shuttle"):
        file = tmp_path / "adbench" / f"{name}.npz"
        np.savez(file, X=np.zeros((2, 1)), y=[0, 1])
    names = [task.name for task in anomalies.tasks(quick=False)]
    assert names == [f"{n}, {s}" for n in ("letter", "shuttle") for s in SETTINGS]
    quick = [task.name for task in anomalies.tasks(quick=True)]
    assert quick == [f"letter, {s}" for s in SETTINGS]
    assert "adbench/musk left out" in capsys.readouterr().err


def case_of(monkeypatch, setting, most):
    """The case of a set with 900 rows, a third of them anomalies, and its labels."""
    labels = np.arange(900) % 3 == 2
    rows = np.random.default_rng(0).normal(size=(900, 2)) * 5 + labels[:, None]
    arrays = {"X": rows.astype(np.float32), "y": labels.astype(np.uint8)}
    given = []
    monkeypatch.setattr(anomalies, "load_arrays", lambda name: arrays)
    monkeypatch.setattr(anomalies, "contest", lambda *args: given.append(args) or ())
    assert list(anomalies.results("toy", setting, most, Limits())) == []
    case, scored, *_ = given[0]
    assert case.facts == {"setting": setting}
    assert case.rows.flags.c_contiguous
    assert_allclose(case.rows.mean(axis=0), 0, atol=1e-9)
    assert_allclose(case.rows.std(axis=0), 1)
    return case, scored


def test_all_rows_are_fitted_and_scored(monkeypatch):
    case, labels = case_of(monkeypatch, "contaminated", 600)
    assert case.rows.shape == (600, 2)
    assert_array_equal(case.rows, case.queries)
    assert 150 < labels.sum() < 250


def test_half_of_the_normal_rows_are_fitted_and_the_others_scored(monkeypatch):
    case, labels = case_of(monkeypatch, "clean", 10_000)
    assert len(case.rows) == 300
    assert len(case.queries) == len(labels) == 600
    assert labels.sum() == 300
    both = np.concatenate([case.rows, case.queries])
    assert len(np.unique(both, axis=0)) == 900


def test_sets_that_were_looked_at_are_every_second_one():
    assert list(anomalies.SETS) == sorted(anomalies.SETS)
    assert len(set(anomalies.SEEN) & set(anomalies.SETS)) == 12


def lines_of(areas):
    """Lines of a run; None is a detector that has no figure."""
    for (name, detector), area in areas.items():
        reason = "more than 1 s" if area is None else None
        ours = detector.startswith("rhokit")
        details = score_of(detector, None, ours=ours, reason=reason).details()
        details |= {"set": name, "setting": "clean", "n": N, "d": 2}
        details["average_precision"] = None if area is None else area / 2
        yield as_line(Result(f"{name}: {detector}", "ROC AUC", area, details=details))
    yield as_line(Result("the last", SECONDS, 12.0))


def test_the_table_ranks_detectors():
    areas = {
        ("aloi", "rhokit detector"): 0.75,
        ("aloi", "fast"): 0.875,
        ("aloi", "slow"): 0.75,
        ("wpbc", "rhokit detector"): 0.625,
        ("wpbc", "fast"): 0.5,
        ("wpbc", "slow"): None,
    }
    text = anomalies.table(lines_of(areas))
    lines = [line.split() for line in text.splitlines()]
    # Differences of -.125 and .125, and of 0 and .125: errors of .125 and .0625.
    fast = ["fast", "0.688", "1.5", "+0.000", "±", "0.125", "0.344", "2", "0.5"]
    assert fast in lines
    slow = ["slow", "0.625", "2.8", "+0.062", "±", "0.062", "0.375", "1", "0.25"]
    assert slow in lines
    ours = ["*", "rhokit", "detector", "0.688", "1.8", "-", "0.344", "2", "0.5"]
    assert ours in lines
    assert text.index("fast") < text.index("rhokit detector") < text.index("slow")
    # aloi was looked at: of the others there is one set, without an error.
    alone = ["fast", "0.500", "2.0", "+0.125", "0.250", "1", "0.25"]
    assert alone in lines
    assert text.endswith("wpbc: slow: more than 1 s")
