"""The section of drift on few pairs, which is what the suite has of real rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from benchmarks import real_data
from benchmarks.goals import drift

SETS = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            real_data.missing(name) is not None, reason=str(real_data.missing(name))
        ),
    )
    for name in drift.SETS
]


def assert_keeps(result, n):
    """As many alarms as chance allows, of a dozen such checks."""
    level, count = result.goal.at_most / 1.2, round(result.value * n)
    assert binom.sf(count - 1, n, level) > 1e-4
    assert binom.cdf(count, n, level) > 1e-4


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_false_alarms_of_real_rows(name, kind):
    frame = drift.real_rows(name)[kind]
    for result in drift.false_alarms(name, frame, kind, seed=1, n_pairs=40):
        assert_keeps(result, 40)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_false_alarms_of_a_thousand_pairs(name, kind):
    """Within a fifth of the level, and two standard errors of the thousand pairs."""
    frame = drift.real_rows(name)[kind]
    for result in drift.false_alarms(name, frame, kind, seed=2):
        level = result.goal.at_most / 1.2
        assert abs(result.value - level) < 0.2 * level + 2 * result.details["error"]


@pytest.mark.parametrize("name", SETS[:1])
def test_power_is_that_of_others_at_least(name):
    X = drift.real_rows(name)["numbers"].to_numpy()
    found = list(drift.power(name, X, seed=1, n_pairs=30))
    power = {r.case: r.value for r in found if r.metric == "power at 0.05"}
    for case, value in power.items():
        ours = case.rpartition(":")[0] + ": compare"
        assert power[ours] >= value - 0.1
    first = [r.value for r in found if r.metric == "changed column first"]
    assert len(first) == 3
    assert min(first) >= 0.95


@pytest.mark.parametrize("name", SETS[:1])
def test_streams(name, monkeypatch):
    monkeypatch.setattr(drift, "_STREAM_ROWS", 3000)
    X = drift.real_rows(name)["numbers"].to_numpy()
    found = list(drift.streams(name, X, seed=0, n_streams=1))
    alarms = [r.value for r in found if "alarms" in r.metric]
    assert alarms == [0, 0, 0, 0]
    delays = [r.value for r in found if "delay" in r.metric]
    assert max(delays) < 0.25


def test_rivals_see_what_they_should():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(2, 200, 3))
    assert drift.ks_p(old, new) > 0.05
    assert drift.ks_p(old, new + 1) < 1e-6
    assert drift.mmd_p(old, new, rng) > 0.01
    assert drift.mmd_p(old, new + 1, rng) == 1 / 200
    tied = np.column_stack([old[:, 0], old[:, 1], old[:, 0] + 0.1 * old[:, 2]])
    assert drift.tied(tied, 0) in (0, 2)
    whole = drift.shifted(np.round(3 * old), "mean", 0, 0, rng)
    assert (whole % 1 == 0).all()
    assert (
        pd.Series(drift.shifted(old, "correlation", 1, 0, rng)[:, 1])
        .isin(old[:, 1])
        .all()
    )
