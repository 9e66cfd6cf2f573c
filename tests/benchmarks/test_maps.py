"""Errors of maps: against sums written out, for every map, with reasons for gaps."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.maps import (
    FAMILIES,
    METRIC,
    PANELS,
    PAPER,
    Problem,
    Way,
    curve,
    family,
    paper_curve,
    slope,
    table,
    tasks,
    trial,
)
from benchmarks.records import Result, as_line
from benchmarks.runs import SECONDS
from rhokit import DMKDE

LINE, SPIRALS, CLUSTERS, _ = PANELS
QUADRATURE, GRID = FAMILIES["regular"]


def ways():
    return [way for group in FAMILIES.values() for way in group]


def errors_by_size(way, problem, sizes, seeds=1):
    results = list(curve(way, problem, sizes, lambda size: range(seeds)))
    return {r.details["size"]: r for r in results}


def test_error_is_that_of_the_densities_written_out():
    problem = Problem(LINE, 300)
    model = DMKDE(
        gamma=16.0, scale=None, n_components=32, feature_map="fourier", random_state=3
    )
    found = model.fit(problem.rows).density(problem.queries)
    squares = (problem.queries - problem.rows[:, 0]) ** 2
    exact = np.exp(-16 * squares).mean(axis=1) * np.sqrt(16 / np.pi)
    error = np.sqrt(np.mean((found - exact) ** 2) / np.mean(exact**2))
    noted = trial(PAPER, problem, 32, 3)
    assert_allclose(noted["error"], error, rtol=1e-10)
    assert_allclose(noted["nats"], np.median(np.abs(np.log(found / exact))), rtol=1e-9)
    assert noted["columns"] == 32


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_every_map_has_an_error_or_a_reason(panel):
    for name, group in FAMILIES.items():
        results = list(family(panel, group, True, n=300, sizes=(16, 64)))
        for result in results:
            details = result.details
            assert result.metric == METRIC
            assert details["panel"] == panel.name
            if result.value is None:
                assert name == "regular"
                assert details["reason"]
            else:
                assert 0 < result.value < 10
                assert_allclose(result.value, np.median(details["errors"]))
                assert result.case.endswith(f"D = {details['size']}")
        assert {r.details["map"] for r in results} == {way.map for way in group}


def test_median_of_the_seeds_is_the_value():
    result = errors_by_size(PAPER, Problem(SPIRALS, 300), (16,), seeds=3)[16]
    errors = result.details["errors"]
    assert len(set(errors)) == 3
    assert result.value == sorted(errors)[1]


def test_quadrature_takes_the_smallest_tolerance_that_fits():
    results = errors_by_size(QUADRATURE, Problem(LINE, 300), (8, 64, 128))
    assert "max_components=8" in results[None].details["reason"]
    assert results[64].details["columns"] <= 64
    assert 64 < results[128].details["columns"] <= 128
    assert results[128].value < 1e-3 * results[64].value


def test_grid_has_a_size_of_its_own():
    problem = Problem(SPIRALS, 300)
    ((size, result),) = errors_by_size(GRID, problem, (16, 64)).items()
    model = DMKDE(gamma=problem.gamma, scale=None).fit(problem.rows)
    assert size == result.details["columns"] == model.state_.total.size
    assert result.value < 1e-8


def test_grid_says_why_it_stays_away():
    results = errors_by_size(GRID, Problem(CLUSTERS, 300), (16,))
    assert "1 to 3 columns" in results[None].details["reason"]


def test_errors_of_maps_that_serve_everywhere_are_not_hidden():
    def build(problem, size, seed):
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        errors_by_size(Way("broken", None, build), Problem(LINE, 30), (16,))


def test_sizes_above_the_most_are_left_out():
    complex_form = next(way for way in ways() if way.map == "fourier complex")
    sizes = (16, 2 * complex_form.most)
    assert list(errors_by_size(complex_form, Problem(LINE, 100), sizes)) == [16]


def test_large_sizes_have_fewer_seeds_and_quick_runs_one():
    counts = [len(PAPER.seeds(2**power, quick=False)) for power in range(4, 12)]
    assert counts == [5, 5, 5, 5, 5, 4, 2, 1]
    assert len(PAPER.seeds(16, quick=True)) == 1
    assert len(GRID.seeds(16, quick=False)) == 1


def test_powers_of_the_paper_map_follow_from_its_errors():
    sizes = (16, 64)
    *points, mean, spread = paper_curve(Problem(LINE, 300), sizes, count=4)
    first, last = (point.details["errors"] for point in points)
    assert len(first) == 4
    ratio = np.log([np.mean(last) / np.mean(first), np.std(last) / np.std(first)])
    assert_allclose([mean.value, spread.value], ratio / np.log(4), rtol=1e-9)
    assert mean.goal.at_most == spread.goal.at_most == -0.35


def test_full_run_has_the_goals_once():
    results = family(LINE, (PAPER,), False, n=100, sizes=(16, 32))
    assert sum(result.goal is not None for result in results) == 2
    results = family(SPIRALS, (PAPER,), False, n=100, sizes=(16, 32))
    assert not any(result.goal for result in results)


def test_slope_is_the_power_of_a_power_law():
    sizes = np.array([1.0, 10.0, 100.0])
    assert slope(sizes, 3 * sizes**-0.5) == pytest.approx(-0.5)


def test_tasks_and_maps_are_told_apart():
    names = [task.name for task in tasks(True)]
    assert len(set(names)) == len(names) == len(PANELS) * len(FAMILIES)
    assert len({way.name for way in ways()}) == len(ways())


def test_table_has_maps_down_and_sizes_across():
    results = [
        *family(LINE, (PAPER,), False, n=100, sizes=(16, 32)),
        *family(LINE, (QUADRATURE, GRID), True, n=100, sizes=(16, 128)),
        Result("a", SECONDS, 1.0),
    ]
    lines = [json.loads(json.dumps(as_line(result))) for result in results]
    lines[0]["value"], lines[1]["value"], lines[1]["details"]["nats"] = 0.5, 0.25, 0.125
    rows = table(lines).splitlines()
    assert rows[0].startswith("1-D, 100 rows, γ = 16")
    assert rows[2].split()[:6] == ["map", "16", "32", "128", "nats", "seconds"]
    assert rows[4].split()[:6] == ["fourier", "phase,", "iid", "0.5", "0.25", "0.125"]
    assert rows[5].split()[0] == "quadrature"
    assert rows[7].startswith("quadrature: ")
    assert rows[8].startswith("grid, ")
    assert rows[-1].endswith("of 2 goals met.")
