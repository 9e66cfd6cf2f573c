"""The sections of classes and of values on a few rows."""

import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from benchmarks import real_data
from benchmarks.goals import classes, values
from rhokit.datasets import clusters
from tests.benchmarks.test_sections import goals
from tests.benchmarks.test_sections import values as all_finite


@pytest.fixture(scope="module")
def split():
    """Rows of eight clusters; the nearest centre is the class."""
    rows, centres = clusters(400, 5, random_state=0)
    labels = cdist(rows, centres).argmin(axis=1)
    rows = rows.astype(np.float32)
    return real_data.Split(rows[:300], labels[:300], rows[300:], labels[300:])


def partitions(as_target, count=2, n=160):
    """Splits of rows whose target follows the first column."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(count, 2 * n, 3))
    targets = as_target(rows[..., 0] + 0.3 * rng.normal(size=(count, 2 * n)))
    return [
        real_data.Split(x[:n], y[:n], x[n:], y[n:])
        for x, y in zip(rows, targets, strict=True)
    ]


def test_accuracy_has_a_goal_where_it_is_asked_for(split):
    results = list(classes.over_features("usps", split, [16, classes.ASKED_FEATURES]))
    assert [result.goal is None for result in results] == [True, False]
    assert results[1].value > 0.9
    details = results[1].details
    assert details["scale"] in ("std", "common", "within", "learned")
    assert set(details) >= {"map", "gamma", "fit_seconds", "predict_seconds"}


def test_rivals_that_keep_all_rows(split):
    results = all_finite(classes.neighbours_of("letters", split))
    assert len(results) == 3
    assert all(result.value > 0.8 for result in results.values())


def test_probabilities_beside_those_of_others(split):
    results = all_finite(classes.probabilities("usps", split, n_components=64))
    assert len(results) == 2 * 4


def test_probabilities_of_many_rows_are_of_fewer(split, monkeypatch):
    monkeypatch.setattr(classes, "_MOST_PROBABILITY_ROWS", 200)
    monkeypatch.setattr(classes, "_FEWER_PROBABILITY_ROWS", 100)
    results = list(classes.probabilities("mnist", split, n_components=64))
    assert all("100 training rows" in result.case for result in results)


@pytest.mark.parametrize(("name", "has_goal"), [("stocks", True), ("diabetes", False)])
def test_ordinal_error(name, has_goal):
    splits = partitions(lambda noisy: np.digitize(noisy, [-1, 0, 1]))
    result = classes.ordinal_error(name, splits)
    assert 0 < result.value < 1
    assert (result.goal is not None) == has_goal
    assert sum(result.details["chosen"].values()) == len(splits)


def test_speed_of_classes():
    sizes = {"n": 600, "n_queries": 100, "dim": 32, "class_counts": (2, 3)}
    results = list(classes.speed(1, 1, **sizes))
    assert goals(results) == 2 * 2
    assert len(results) == 2 * (2 + 2 * 2)


def test_intervals():
    splits = partitions(lambda noisy: noisy)
    results = list(values.intervals("stocks", splits))
    assert goals(results) == len(values.COVERAGES)
    forest = list(values.forest_intervals("stocks", splits, n_trees=20))
    assert goals(forest) == 0
    assert [r.metric for r in forest] == [r.metric for r in results]
    for result in results + forest:
        if result.metric.startswith("coverage of 90%"):
            assert result.value == pytest.approx(0.9, abs=0.08)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_of_a_regressor():
    results = list(values.memory(n=300, d=3, n_components=16, n_levels=4))
    assert goals(results) == 1
    used = results[0].details
    assert used["peak_megabytes"] >= used["imported_megabytes"] > 0


@pytest.mark.slow
def test_memory_tells_of_a_process_that_failed(capfd):
    with pytest.raises(RuntimeError, match="ended with"):
        values.fit_apart(100, 0, 16, 4)
    assert "Error" in capfd.readouterr().err


def test_sections_without_data_say_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    monkeypatch.setattr(classes, "speed", lambda *args, **kwargs: iter(()))
    monkeypatch.setattr(values, "memory", lambda **kwargs: iter(()))
    assert list(classes.run(1)) == []
    assert list(values.run(1)) == []
    assert "letters left out" in capsys.readouterr().err
