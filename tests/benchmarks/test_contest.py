"""Contests: who takes part, what is noted, and what happens when one of them fails."""

import math
import os
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.contest import Case, Contestant, Limits, compete
from benchmarks.contest.contestants import find
from benchmarks.contest.worker import Worker

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)
LIMITS = Limits(rounds=2, budget=0.5, patience=20.0)


class Mean:
    """Answers with the mean of the rows, plus what the case says."""

    def __init__(self, facts):
        self.columns = facts["d"]
        self._shift = facts.get("shift", 0.0)

    def fit(self, rows, target=None):
        self._mean = rows.mean() + self._shift

    def answer(self, queries):
        print("packages may print")
        return np.full(len(queries), self._mean)


class Slow(Mean):
    """Takes four thousandths of a second for every query."""

    def answer(self, queries):
        time.sleep(0.004 * len(queries))
        return super().answer(queries)


class Lazy(Mean):
    """Leaves its work to the first answer after a fit."""

    def fit(self, rows, target=None):
        super().fit(rows)
        self._waits = True

    def answer(self, queries):
        if self._waits:
            time.sleep(0.3)
            self._waits = False
        return super().answer(queries)


class Judged(Mean):
    """Is judged by more than its answers."""

    def judged(self, queries):
        return np.column_stack([queries, self.answer(queries)])


class Given(Mean):
    """Answers with the seconds that it was given."""

    def __init__(self, facts):
        super().__init__(facts)
        self._seconds = facts.get("seconds", math.nan)

    def answer(self, queries):
        return np.full(len(queries), self._seconds)


class Failing(Mean):
    """Fails on more than a few rows, so that warming up goes well."""

    def fit(self, rows, target=None):
        if len(rows) > 1200:
            raise ValueError("too many rows in /some/folder/rows.npy\nmore words")
        super().fit(rows)


class Stuck(Mean):
    """Never comes to an end, once it is warm."""

    def fit(self, rows, target=None):
        time.sleep(0.2 if len(rows) <= 1200 else 1000)
        super().fit(rows)


class Dying(Mean):
    """Takes the process along."""

    def fit(self, rows, target=None):
        os._exit(3)


CONTESTANTS = (
    Contestant("mean", Mean, "numpy", ours=True),
    Contestant("slow", Slow, "numpy"),
    Contestant("lazy", Lazy, "numpy"),
    Contestant("judged", Judged, "numpy"),
    Contestant("given", Given, "numpy", after="slow"),
    Contestant("failing", Failing, "numpy"),
    Contestant("stuck", Stuck, "numpy"),
    Contestant("dying", Dying, "numpy"),
    Contestant("missing", Mean, "no_such_package"),
    Contestant("away", Mean, "numpy", takes=lambda facts: f"not in {facts['d']}-D"),
    Contestant("after a missing one", Given, "numpy", after="missing"),
)


def case(n=1300, n_queries=200, **facts):
    rows = np.random.default_rng(0).normal(size=(n + n_queries, 3))
    return Case("a case", rows[:n], rows[n:], facts=facts)


def scores(*names, limits=LIMITS, counts=(10, 200), the_case=None):
    chosen = [contestant for contestant in CONTESTANTS if contestant.name in names]
    found = compete(the_case or case(), __name__, chosen, counts, 5, limits, 1)
    assert [score.name for score in found] == [c.name for c in chosen]
    return {score.name: score for score in found}


def test_answers_times_and_memory_of_a_model():
    the_case = case(shift=2.0)
    score = scores("mean", the_case=the_case)["mean"]
    assert_allclose(score.answers, the_case.rows.mean() + 2.0)
    details = score.details()
    assert details["ours"]
    assert details["reason"] is None
    assert details["rounds"] == 2
    assert details["columns"] == 3
    assert details["model_bytes"] > 0
    assert details["timed_queries"] == {"10": 10, "200": 200}
    assert details["peak_megabytes"] >= details["start_megabytes"] > 1
    assert details["fit_seconds"] > 0
    assert details["total_seconds"]["200"] >= details["best_seconds"]["200"]


def test_a_slow_model_is_timed_on_fewer_queries_and_scaled_up():
    limits = Limits(rounds=1, budget=0.2, patience=20.0)
    details = scores("slow", limits=limits, counts=(200,))["slow"].details()
    assert details["timed_queries"]["200"] < 200
    # So long for each of them: never less, whatever the machine does.
    assert details["answer_seconds"]["200"] >= 0.8
    # Asleep: the processor has next to nothing to do.
    assert details["answer_processor_seconds"]["200"] < 0.8


def test_what_is_judged_takes_the_place_of_answers():
    the_case = case()
    answers = scores("judged", the_case=the_case, counts=(10,))["judged"].answers
    assert_allclose(answers[:, :3], the_case.queries[:5])
    assert_allclose(answers[:, 3], the_case.rows.mean())


def test_what_is_left_to_the_first_answer_counts_once():
    limits = Limits(rounds=1, budget=0.1, patience=20.0)
    details = scores("lazy", limits=limits, counts=(200,))["lazy"].details()
    assert details["fit_seconds"] >= 0.25
    assert details["timed_queries"]["200"] == 200  # not scaled up by the wait


def test_a_slow_model_has_one_round():
    limits = Limits(rounds=3, budget=0.2, patience=20.0, slow=0.1)
    found = scores("mean", "slow", limits=limits, counts=(20,))
    assert len(found["slow"].rounds) == 1
    assert len(found["mean"].rounds) == 3


def test_seconds_of_another_are_handed_on():
    found = scores("slow", "given", counts=(10,))
    first = found["slow"].rounds[0]
    seconds = first["fit_seconds"] + first["answer_seconds"]["10"]
    assert_allclose(found["given"].answers, seconds)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("failing", "ValueError: too many rows in rows.npy"),
        ("dying", "ended with code 3"),
        ("away", "not in 3-D"),
        ("missing", "no_such_package is not installed"),
    ],
)
def test_one_that_cannot_leaves_the_others_alone(name, reason):
    found = scores("mean", name)
    assert found[name].details() == {
        "contestant": name,
        "ours": False,
        "reason": reason,
    }
    assert found["mean"].reason is None


def test_one_that_does_not_end_is_out():
    limits = Limits(rounds=1, budget=0.1, patience=2.0)
    found = scores("mean", "stuck", limits=limits)
    assert found["stuck"].reason == "more than 2 s"
    assert found["mean"].reason is None


def test_who_waits_for_a_missing_one_is_missing_too():
    found = scores("missing", "after a missing one")
    expected = "missing: no_such_package is not installed"
    assert found["after a missing one"].reason == expected


def test_a_target_reaches_the_model(tmp_path):
    rows = np.arange(6.0).reshape(3, 2)
    Case("t", rows, rows, target=np.array([1, 2, 3])).write(tmp_path)
    worker = Worker(__name__, "mean", str(tmp_path), {"d": 2})
    assert_allclose(worker._target, [1, 2, 3])
    assert find(__name__, "mean") is CONTESTANTS[0]
