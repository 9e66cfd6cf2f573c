"""Detectors of anomalies, how they are judged, and the table of it."""

import sys
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from benchmarks import anomalies, real_data
from benchmarks.contest import Limits, Score
from benchmarks.contestants.detectors import CONTESTANTS, Density, PyOD
from benchmarks.records import Result, as_line
from benchmarks.runs import SECONDS

N = 40


class Stub:
    """What a detector of PyOD is to us."""

    def __init__(self, **settings):
        self.settings = settings

    def fit(self, rows):
        self.decision_scores_ = rows.sum(axis=1)


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
    plain = PyOD(facts, "stub", "Stub", threaded=False, seeded=False)
    assert plain._model.settings == {}


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
    assert contestant.takes({"n": 20_000}) is None
    assert "20,000" in contestant.takes({"n": 20_001})


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
    first, second, third = anomalies.contest("toy", rows, labels, Limits(), CONTESTANTS)
    assert_array_equal(seen["case"].rows, seen["case"].queries)
    assert seen["counts"] == [N]
    assert seen["checked"] == N
    assert (first.case, first.metric, first.value) == ("toy: perfect", "ROC AUC", 1.0)
    wanted = {"set": "toy", "case": "toy", "n": N, "d": 2, "average_precision": 1.0}
    assert first.details.items() >= wanted.items()
    assert second.value is None
    assert "no numbers" in second.details["reason"]
    assert third.value is None
    assert third.details["reason"] == "more than 1 s"


# ---- tasks and table -----------------------------------------------------------------


def test_tasks_are_the_sets_that_are_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    for name in ("letter", "shuttle"):
        np.savez(tmp_path / f"anomaly_{name}.npz", X=np.zeros((2, 1)), y=[0, 1])
    assert [task.name for task in anomalies.tasks(quick=False)] == ["letter", "shuttle"]
    assert [task.name for task in anomalies.tasks(quick=True)] == ["letter"]
    assert "anomaly_musk left out" in capsys.readouterr().err


def test_rows_are_standardised(monkeypatch):
    reason = real_data.missing("anomaly_breastw")
    if reason:
        pytest.skip(reason)
    given = []
    monkeypatch.setattr(anomalies, "contest", lambda *args: given.append(args) or ())
    assert list(anomalies.results("breastw", Limits())) == []
    name, rows, labels, *_ = given[0]
    assert (name, rows.shape, labels.sum()) == ("breastw", (683, 9), 239)
    assert rows.flags.c_contiguous
    assert_allclose(rows.mean(axis=0), 0, atol=1e-9)
    assert_allclose(rows.std(axis=0), 1)


def lines_of(areas):
    """Lines of a run; None is a detector that has no figure."""
    for (name, detector), area in areas.items():
        reason = "more than 1 s" if area is None else None
        ours = detector.startswith("rhokit")
        details = score_of(detector, None, ours=ours, reason=reason).details()
        details |= {"set": name, "n": N, "d": 2}
        yield as_line(Result(f"{name}: {detector}", "ROC AUC", area, details=details))
    yield as_line(Result("the last", SECONDS, 12.0))


def test_the_table_ranks_detectors():
    areas = {
        ("one", "rhokit auto"): 0.75,
        ("one", "fast"): 0.875,
        ("one", "slow"): 0.75,
        ("two", "rhokit auto"): 0.625,
        ("two", "fast"): 0.5,
        ("two", "slow"): None,
    }
    text = anomalies.table(lines_of(areas))
    lines = [line.split() for line in text.splitlines()]
    assert ["fast", "0.875", "0.500", "1.5", "2", "0.5"] in lines
    assert ["*", "rhokit", "auto", "0.750", "0.625", "1.8", "2", "0.5"] in lines
    assert ["slow", "0.750", "-", "2.8", "1", "0.25"] in lines
    assert text.index("fast") < text.index("rhokit auto") < text.index("slow")
    assert text.endswith("two: slow: more than 1 s")
