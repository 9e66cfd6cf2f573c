"""Every section on a few rows: results come out, with the goals they should have."""

import sys

import numpy as np
import pytest

from benchmarks.goals import accuracy, memory, speed


def values(results):
    """All results by case and metric, each a finite number."""
    table = {(r.case, r.metric): r for r in results}
    assert table
    assert all(np.isfinite(r.value) for r in table.values())
    return table


def goals(results):
    """How many of them have a goal."""
    return sum(r.goal is not None for r in values(results).values())


def test_accuracy_in_few_dimensions():
    assert goals(accuracy.one_dimension(n=300, n_components=64)) == 1
    assert goals(accuracy.spirals(n=300, n_queries=50, n_components=64)) == 1


def test_accuracy_of_clusters():
    results = accuracy.clusters(5, 20.0, n=300, n_queries=50, n_components=64)
    assert goals(results) == 2


def test_share_of_the_feature_map():
    assert goals(speed.low_rank(1, 2, n=300, n_queries=300, dim=64)) == 2


def test_element_loops():
    assert goals(speed.element_loops(2, n=8, dim=16, calls=3)) == 2


@pytest.mark.parametrize("threads", [1, 2])
def test_against_the_exact_rival(threads):
    results = speed.against_exact(
        threads, 2, n=600, n_landmarks=32, n_timed=100, n_checked=50
    )
    assert goals(results) == 2


def test_mean_kernel_of_the_mixture_is_what_it_should_be():
    rows = speed.scaled_mixture(100_000, seed=0)
    assert speed.mean_kernel(rows, gamma=1.0) == pytest.approx(0.26, abs=0.015)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory():
    seen = []
    trace = memory.fit_stream(
        60_000, 3, 16, progress=lambda step, n: seen.append((step["rows"], n))
    )
    assert seen == [(50_000, 60_000), (60_000, 60_000)]
    assert memory.peak(trace) > 0
    assert memory.late_growth(trace) >= 0


@pytest.mark.slow
def test_memory_tells_of_a_process_that_failed(capfd):
    with pytest.raises(RuntimeError, match="ended with"):
        memory.fit_stream(100, 0, 16)
    assert "Error" in capfd.readouterr().err
