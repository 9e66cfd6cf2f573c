"""Shares of the peak: flops as they are said to be counted, goals where promised."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import hardware, timing
from benchmarks.hardware import (
    METRIC,
    Subject,
    matrix_product,
    share_of_peak,
    table,
    tasks,
)
from benchmarks.records import Result, as_line
from benchmarks.runs import SECONDS
from rhokit.features import FourierFeatures
from rhokit.features.sampling import SAMPLING_RULES

PAPER = Subject("fourier phase, iid", "fourier", d=3, n=400, has_goals=True)


def measured(*subjects, threads=1, dim=16):
    """Results of one round by label and step: medians are then plain quotients."""
    results = share_of_peak(subjects, threads, 1, dim=dim)
    return {(r.details["map"], r.details["step"]): r for r in results}


@pytest.mark.parametrize(("step", "flops"), [("fit", 400), ("predict", 200)])
def test_value_is_the_share_of_the_flops_that_are_counted(step, flops):
    result = measured(PAPER)[PAPER.label, step]
    details = result.details
    assert result.case == f"{step}, fourier phase, iid, d = 3"
    assert result.metric == METRIC
    assert details["columns"] == 16
    assert details["flops"] == flops * 16**2
    own = details["flops"] / details["seconds"]
    assert_allclose(result.value, own / details["peak_flops"])


def test_complex_columns_count_four_times():
    waves = FourierFeatures(n_components=16, form="complex")
    subject = Subject("fourier complex, iid", waves, n=400)
    results = measured(subject)
    assert results[subject.label, "fit"].details["flops"] == 4 * 400 * 16**2
    assert results[subject.label, "predict"].details["flops"] == 8 * 100 * 16**2


def test_rank_is_less_where_columns_are_alike():
    many, one = (
        measured(Subject("fourier phase, iid", "fourier", d=d, n=800), dim=64)
        for d in (10, 1)
    )
    assert {result.details["rank"] for result in many.values()} == {64}
    assert all(0 < result.details["rank"] < 32 for result in one.values())


def test_peak_is_that_of_a_product_of_so_many_flops():
    job, flops = matrix_product(dim=8, n=4, times=3)
    job()
    assert flops == 3 * 2 * 4 * 8 * 8


def test_part_of_the_columns_is_that_of_the_rows_of_the_step(monkeypatch):
    """A fit has four times the rows of a prediction."""
    spent = {"product": 1.0, "fit": 8.0, "predict": 4.0, "map": 1.0}
    monkeypatch.setattr(hardware, "interleaved", lambda jobs, repeats: _spent(jobs))

    def _spent(jobs):
        names = [name if isinstance(name, str) else name[1] for name in jobs]
        times = [timing.Times(np.array([spent[name]])) for name in names]
        return dict(zip(jobs, times, strict=True))

    results = measured(PAPER)
    assert results[PAPER.label, "predict"].details["map_share"] == 1 / 4
    assert results[PAPER.label, "fit"].details["map_share"] == 4 / 8


@pytest.mark.parametrize(("threads", "fit"), [(1, 0.8), (2, 0.7)])
def test_goals_are_those_of_the_paper_map_alone(threads, fit):
    others = Subject("landmarks, kmeans", "landmarks", d=3, n=400)
    results = measured(PAPER, others, threads=threads)
    assert results[PAPER.label, "fit"].goal.at_least == fit
    assert results[PAPER.label, "predict"].goal.at_least == 1.4
    assert results[others.label, "fit"].goal is None
    assert all(result.threads == threads for result in results.values())


def test_grid_has_a_pace_and_no_share():
    subject = Subject("grid", "grid", d=1, n=400)
    for step in ("fit", "predict"):
        result = measured(subject)[subject.label, step]
        assert result.value is None
        assert "no matrix" in result.details["reason"]
        assert result.details["rows_per_second"] > 0


def test_every_map_is_measured():
    groups = hardware._all().values()
    subjects = [subject for group, _ in groups for subject in group]
    names = {subject.name for subject in subjects}
    assert names >= {f"fourier phase, {rule}" for rule in SAMPLING_RULES}
    assert names >= {f"fourier {form}, iid" for form in ("phase", "pair", "complex")}
    assert names >= {"landmarks, kmeans", "quadrature", "grid"}
    assert [s.d for s in subjects if s.has_goals] == [4, 10]
    assert len({subject.label for subject in subjects}) == len(subjects)


@pytest.mark.parametrize("quick", [True, False])
def test_tasks_are_told_apart(quick):
    names = [task.name for task in tasks(quick)]
    assert len(set(names)) == len(names) > 0


def test_quadrature_has_about_as_many_columns_as_the_others():
    group, _ = hardware._all()["few columns"]
    rows = np.random.default_rng(0).random((2_000, 2), np.float32)
    model = hardware._Run(group[0], 16, 0)._model(16).prepare(rows)
    assert_allclose(model.feature_map_.n_columns_, 1024, rtol=0.05)


def test_table_has_maps_down_and_steps_across():
    grid = Subject("grid", "grid", d=1, n=400)
    results = [*measured(PAPER, grid).values(), Result("a", SECONDS, 1.0)]
    lines = [as_line(result) for result in results]
    for line in lines[:-1]:
        line["details"] |= {"map_share": 0.25, "choosing_share": 0.5}
        line["details"]["rows_per_second"] = 250_000
        line["value"] = None if line["details"]["map"] == grid.label else 0.875
    rows = table(lines).splitlines()
    assert rows[0].split("  ")[0] == "map"
    assert "fit, 1 core" in rows[0]
    assert "predict, 1 core" in rows[0]
    assert rows[2].split()[-4:] == ["0.88", "0.88", "50%", "25%"]
    assert rows[2].split()[6:8] == ["16", "16"]
    assert rows[3].count("250,000 rows/s") == 2
    assert rows[-1] == "1 of 2 goals met."
