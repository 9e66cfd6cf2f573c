"""Held-out likelihood: tables, contestants, what is kept, who is above whom."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KernelDensity

from benchmarks import likelihood, real_data
from benchmarks import likelihood_sets as sets
from benchmarks.contest import Case
from benchmarks.contestants import likelihoods
from benchmarks.contestants.exact_kde import ExactKDE
from benchmarks.contestants.likelihoods import (
    BAYES,
    CONTESTANTS,
    FLOW,
    KERNELS,
    MIXTURE,
    OURS,
    ChosenMixture,
)
from benchmarks.figures import likelihood as chapter
from benchmarks.likelihood_verdicts import (
    Outcome,
    counts,
    difference,
    outcomes,
    report,
    verdict,
)
from benchmarks.records import Result, as_line
from benchmarks.runs import SECONDS, Ledger, Task
from tests.benchmarks import page_lines

FACTS = {
    "threads": 1,
    "n": 120,
    "d": 2,
    "seed": 0,
    "flow_seconds": 1.0,
    "most_parts": 3,
}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(120, 2)) + np.array([[0.0, 0.0], [4.0, 2.0]]).repeat(60, 0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of data with one small table."""
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=100), rng.integers(3, size=100), np.ones(100)])
    np.savez(tmp_path / "regression_yacht.npz", X=X, y=rng.normal(size=100))
    sets.fold.cache_clear()
    yield tmp_path
    sets.fold.cache_clear()


# ---- tables --------------------------------------------------------------------------


def test_columns_are_standardised_by_the_training_rows(folder):
    (table,) = [t for t in sets.tables(quick=False) if t.name == "yacht"]
    fold = sets.fold(table, 0)
    assert (fold.train.shape, fold.test.shape) == ((80, 3), (20, 3))  # a constant less
    assert_allclose(fold.train.mean(axis=0), 0, atol=1e-12)
    assert_allclose(fold.train.std(axis=0), 1)
    assert abs(fold.test.mean(axis=0)).max() > 1e-3
    assert not np.array_equal(fold.test, sets.fold(table, 1).test)


def test_noise_fills_the_steps_of_a_lattice_and_nothing_else():
    rng = np.random.default_rng(2)
    whole, smooth = rng.integers(4, size=400) * 2.0, rng.normal(size=400)
    tenths = rng.integers(5, size=400) / 10
    rows = np.column_stack([whole, smooth, tenths])
    assert_allclose([sets.lattice_step(c) for c in rows.T], [2, 0, 0.1])
    noisy = sets.with_noise(rows, rng)
    added = noisy - rows
    assert_array_equal(added[:, 1], 0)
    assert_allclose(added[:, [0, 2]].max(axis=0), [2, 0.1], rtol=0.05)
    assert added.min() >= 0


def test_gaps_of_rounding_are_no_steps():
    column = np.array([0.1, 0.1 + 1e-9, 0.2, 0.3, 0.2, 0.1] * 40)
    assert_allclose(sets.lattice_step(column), 0.1)


def test_tables_are_in_the_order_of_their_cost():
    whole, quick = (sets.tables(quick=each) for each in (False, True))
    assert len(whole) == 25
    assert {t.name for t in quick} < {t.name for t in whole}
    for found in (whole, quick):
        assert [t.cost for t in found] == sorted(t.cost for t in found)


def test_digits_are_components_of_the_training_rows():
    rng = np.random.default_rng(3)
    train, test = rng.normal(size=(50, 6)) * np.arange(1, 7), rng.normal(size=(9, 6))
    made, asked = sets.principal(train, test, 2)
    spread = np.cov(made.T)
    assert_allclose(spread[0, 1], 0, atol=1e-9)
    assert spread[0, 0] > spread[1, 1] > np.var(train[:, 3])
    assert asked.shape == (9, 2)


# ---- contestants ---------------------------------------------------------------------


def test_exact_kernels_are_those_of_scikit_learn(rows):
    model = ExactKDE(n_choosing=50).fit(rows)
    theirs = KernelDensity(bandwidth=model.chosen["bandwidth"]).fit(rows)
    asked = np.vstack([rows[:5] + 0.3, [[90.0, 90.0]]])  # one that underflows
    assert_allclose(model.answer(asked), theirs.score_samples(asked), rtol=1e-9)


def test_the_width_is_the_best_by_leave_one_out(rows):
    model = ExactKDE().fit(rows)

    def left_out(gamma):
        logs = []
        for i in range(len(rows)):
            others = np.delete(rows, i, axis=0)
            kde = KernelDensity(bandwidth=(2 * gamma) ** -0.5).fit(others)
            logs.append(kde.score_samples(rows[i : i + 1])[0])
        return np.mean(logs)

    scores = [left_out(model.gamma_ * factor) for factor in (1, 0.5, 2)]
    assert scores[0] >= max(scores[1:])
    found = model._left_out(np.arange(len(rows)), model.gamma_ / 2, 3)
    assert_allclose(found[[1, 0, 2]], scores, rtol=1e-9)


def test_a_mixture_has_the_parts_that_validation_prefers(rows):
    many = np.concatenate([rows, rows[::-1] + 0.01])
    model = ChosenMixture(parts=(1, 2, 500)).fit(many)
    assert model.chosen["parts"] == 2
    assert list(model.tried_) == ["1", "2"]  # 500 are more than there are rows
    assert model.answer(many[:7]).shape == (7,)


def test_a_mixture_goes_up_until_it_is_clearly_worse():
    rows = np.random.default_rng(5).normal(size=(200, 3))
    model = ChosenMixture(parts=(1, 40, 60, 80)).fit(rows)
    assert model.chosen["parts"] == 1
    assert list(model.tried_) == ["1", "40"]


def test_a_mixture_goes_up_until_it_is_worse_twice(rows, monkeypatch):
    """Where the difference is not clear, for a row that is far away."""
    means = {1: 0.0, 2: 1.0, 3: 0.5, 4: 2.0, 5: 1.9, 6: 1.8, 7: 9.0}
    monkeypatch.setattr(likelihoods, "_clearly_below", lambda logs, best: False)
    model = ChosenMixture(parts=tuple(means))
    asked = []

    def attempt(parts, kept, held_out):
        asked.append(parts)
        return np.full(9, means[parts])

    monkeypatch.setattr(model, "_try", attempt)
    assert model.fit(rows).chosen["parts"] == 4
    assert asked == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda each: each.name)
def test_every_contestant_is_a_density(contestant, rows):
    """Its mass over a wide grid is one."""
    reason = contestant.absence(FACTS)
    if reason is not None:
        assert "not installed" in reason
        pytest.skip(reason)
    model = contestant.build(FACTS)
    if hasattr(model, "warm_up"):
        model.warm_up(rows, rows)
    model.fit(rows)
    axis = np.linspace(-8, 12, 201)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    mass = np.exp(model.answer(grid)).sum() * (axis[1] - axis[0]) ** 2
    assert_allclose(mass, 1, atol=0.03)
    json.dumps(getattr(model, "chosen", {}))


# ---- lines ---------------------------------------------------------------------------


def test_a_line_says_what_a_difference_needs(rows):
    case = Case("toy", rows[::2], rows[1::2], facts=FACTS)
    facts = {"set": "toy", "variant": "as they are", "split": 3}
    bayes = next(c for c in CONTESTANTS if c.name == BAYES)
    result = likelihood.judged(case, bayes, facts)
    found = result.details
    assert result.case == f"toy / as they are / split 3 / {BAYES}"
    assert (found["n"], found["n_test"], found["d"]) == (60, 60, 2)
    assert len(found["blocks"]) == 12
    assert_allclose(np.mean(found["blocks"]), result.value, atol=1e-4)
    assert found["fit_seconds"] > 0
    assert found["model_bytes"] > 0


def test_a_density_of_zero_has_no_mean():
    value, found = likelihood.quality(np.array([-1.0, -np.inf, -2.0]))
    assert value is None
    assert found == {"lost_rows": 1, "median": -2.0}
    assert likelihood.quality(None) == (None, {})


def test_tasks_are_cheap_first_and_flows_last(folder, monkeypatch):
    monkeypatch.setattr(likelihood, "find_spec", lambda name: True)
    names = [task.name for task in likelihood.tasks(quick=False)]
    assert len(names) == len(set(names)) == 2 * 5 * len(CONTESTANTS)
    assert names[0] == f"yacht / split 0 / {OURS}"
    assert names[4] == f"yacht, dequantised / split 0 / {OURS}"
    assert names[8] == f"yacht / split 1 / {OURS}"
    assert all((FLOW in name) == (i >= 40) for i, name in enumerate(names))


def test_who_is_not_installed_has_no_task(folder, monkeypatch, capsys):
    there = {"rhokit": True, "sklearn": True}
    monkeypatch.setattr(likelihood, "find_spec", there.get)
    names = [task.name for task in likelihood.tasks(quick=False)]
    assert len(names) == 40
    assert not [name for name in names if FLOW in name]
    assert "zuko is not installed" in capsys.readouterr().err


def test_flows_have_the_time_that_the_environment_says(monkeypatch):
    assert likelihood.facts_of(quick=False)["flow_seconds"] == 600
    monkeypatch.setenv("RHOKIT_FLOW_SECONDS", "12.5")
    assert likelihood.facts_of(quick=False)["flow_seconds"] == 12.5


def test_threads_are_those_that_are_allowed(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert likelihood.allowed_threads() == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert likelihood.allowed_threads() >= 1


# ---- ledger --------------------------------------------------------------------------


def test_a_ledger_goes_on_and_measures_afresh_what_it_is_asked_to(tmp_path):
    log = []

    def task(name):
        return Task(name, lambda: log.append(name) or [Result(name, "value", 1.0)])

    for fresh, asked in ((False, "ab"), (False, "abc"), (True, "b")):
        ledger = Ledger(tmp_path, "section", quick=False, fresh=fresh)
        for name in asked:
            ledger.do(task(name), lambda line: None)
    assert log == ["a", "b", "c", "b"]
    lines = ledger.finish()
    assert [line["task"] for line in lines] == ["a", "a", "c", "c", "b", "b"]
    assert [path.name for path in tmp_path.iterdir()] == ["section.jsonl"]


def test_a_ledger_keeps_lines_of_other_machines(tmp_path):
    ledger = Ledger(tmp_path, "section", quick=False)
    ledger.do(Task("a", lambda: [Result("a", "value", 1.0)]), lambda line: None)
    lines = [line | {"versions": {"numpy": "0.1"}} for line in ledger.lines()]
    ledger.path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert Ledger(tmp_path, "section", quick=False).ended().keys() == {"a"}


# ---- verdicts ------------------------------------------------------------------------


def outcome(mean, *, spread=0.0, seconds=1.0, threads=1):
    blocks = mean + spread * np.array([-1.0, 1.0, -1.0, 1.0])
    return Outcome(mean, tuple(blocks), seconds, 0.1, threads, None)


def test_a_difference_has_the_larger_of_two_errors():
    ours = {0: outcome(1.0, spread=1.0), 1: outcome(1.0, spread=1.0), 2: outcome(9.0)}
    others = {0: outcome(0.0), 1: outcome(0.0)}
    of_blocks = math.sqrt(4 / 3) / 2 / math.sqrt(2)
    found = difference(ours, others)
    assert (found.mean, found.splits) == (1.0, 2)
    assert_allclose(found.error, of_blocks)
    others[1] = outcome(-6.0)
    assert_allclose(difference(ours, others).error, 6 / math.sqrt(2) / math.sqrt(2))
    assert difference(ours, {7: outcome(0.0)}) is None


def test_zero_density_loses_and_its_absence_wins():
    lost, some = {0: outcome(-math.inf)}, {0: outcome(-3.0)}
    assert not difference(lost, some).not_below
    assert difference(some, lost).above


def test_a_verdict_takes_the_better_mixture_and_the_time_of_the_chosen_one():
    of_set = {
        OURS: {0: outcome(-1.0, spread=0.1, seconds=2.0)},
        KERNELS: {0: outcome(-2.0)},
        MIXTURE: {0: outcome(-1.5, seconds=8.0)},
        BAYES: {0: outcome(-0.95, seconds=1.0)},
        FLOW: {0: outcome(-0.5)},
    }
    found = verdict(of_set)
    assert found.mixture_name == BAYES
    assert found.not_below
    assert not found.above
    assert not found.flow.above
    assert found.time_ratio == 0.25
    of_set[MIXTURE][0] = outcome(-1.5, seconds=8.0, threads=2)
    assert verdict(of_set).time_ratio is None
    del of_set[BAYES]
    assert verdict(of_set).above
    sentences = " ".join(counts([verdict(of_set), None]))
    assert "on 1 of 1 sets; above both on 1." in sentences
    assert "Above the flow on 0 of 1." in sentences


def test_the_report_has_means_errors_and_absences():
    lines = page_lines.lines("likelihood", page_lines.likelihood(small=True))
    text = report(lines)
    assert "rows as they are" in text
    row = next(line for line in text.splitlines() if line.startswith("magic"))
    assert row.count("±") == 4  # the flow has one split
    assert "on 3 of 3 sets" in text
    line = as_line(Result("x", lines[0]["metric"], None, details=lines[0]["details"]))
    line["details"] |= {"reason": "more than 1 s"}
    assert "x: more than 1 s" in report([*lines, line])


def test_the_last_line_of_a_task_counts():
    rng = np.random.default_rng(0)
    made = [page_lines.likelihood_line("a", 0, OURS, rng, lower=k) for k in (0.0, 9.0)]
    found = outcomes([as_line(each) for each in made])
    assert found["as they are"]["a"][OURS][0].mean < -10


# ---- page ----------------------------------------------------------------------------


class NoAlbum:
    def add(self, name, figure, words):
        return f"![{words}]({name}.png)\n"


def test_the_chapter_says_what_the_lines_say():
    rng = np.random.default_rng(6)
    made = list(page_lines.likelihood(small=True))
    made.append(
        page_lines.likelihood_line("energy", 0, MIXTURE, rng, variant="dequantised")
    )
    text = chapter.chapter(page_lines.lines("likelihood", made), NoAlbum())
    assert "### Rows as they are" in text
    assert "### Rows dequantised" in text
    assert "likelihood.png" in text
    assert "likelihood-dequantised.png" not in text  # a single contestant: no gaps
    assert f"{OURS} was not measured yet." in text
    assert text.count("above both") == 4  # three sets and a sentence
    marks = [as_line(Result("the last", SECONDS, 1.0))]
    assert "No set" in chapter.chapter(marks, NoAlbum())
