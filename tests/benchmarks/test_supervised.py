"""Classifiers and regressors, how their settings are chosen, and the table of them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from benchmarks import real_data, supervised
from benchmarks.contest import Limits, Score
from benchmarks.contestants import learners
from benchmarks.contestants.learners import (
    CLASSIFIERS,
    REGRESSORS,
    TRAINING,
    Partitioned,
    Smoother,
    Tuned,
    best_settings,
)
from benchmarks.real_data import Split
from benchmarks.records import Result, as_line
from benchmarks.runs import SECONDS
from rhokit.features import gamma_by_rule

FACTS = {"features": 30, "threads": 1, "n": 120, "d": 2}


def waves(n, seed=0):
    """Rows, and a value that follows them closely."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-2, 2, size=(n, 2))
    return rows, np.sin(2 * rows[:, 0]) + rows[:, 1] + rng.normal(0, 0.05, n)


def quarters(n, seed=0):
    """Rows, and the quarter of the plane they are in."""
    rows = np.random.default_rng(seed).normal(size=(n, 2))
    return rows, 2 * (rows[:, 0] > 0) + (rows[:, 1] > 0)


# ---- settings ------------------------------------------------------------------------


def test_settings_are_chosen_one_after_the_other():
    asked = []

    def score(settings):
        asked.append(tuple(settings.values()))
        return -((settings["a"] - 3) ** 2) - (settings["b"] - 10) ** 2

    found = best_settings(score, {"a": (0, 2, 5), "b": (5, 9, 12)})
    assert found == {"a": 2, "b": 9}
    assert asked == [(0, 5), (2, 5), (5, 5), (2, 9), (2, 12)]


def test_the_first_settings_stay_if_nothing_is_better():
    found = best_settings(lambda settings: 0.0, {"a": (1, 2), "b": (3,)})
    assert found == {"a": 1, "b": 3}


class Recorder:
    """An estimator that notes what it is given, and likes one width."""

    made: list = []  # noqa: RUF012

    def __init__(self, settings):
        self.settings = settings
        self.made.append(self)

    def fit(self, rows, target):
        self.rows, self.target = rows, target

    def score(self, rows, target):
        self.judges = rows
        return -abs(self.settings["width"] - 2.0)

    def predict(self, rows):
        return rows.sum(axis=1)


def test_settings_are_judged_on_rows_that_were_held_out(monkeypatch):
    monkeypatch.setattr(learners, "_MOST_TUNING_ROWS", 50)
    monkeypatch.setattr(Recorder, "made", [])
    rows, target = waves(100)
    model = Tuned(StandardScaler(), Recorder, {"width": (1.0, 2.0)})
    model.fit(rows, target)
    *tried, final = Recorder.made
    assert [each.settings["width"] for each in Recorder.made] == [1.0, 2.0, 2.0]
    scaled = StandardScaler().fit_transform(rows)
    for each in tried:
        assert each.settings["n"] == len(each.rows) == 50
        assert len(each.judges) == 15
        both = np.concatenate([each.rows, each.judges])
        assert len(np.unique(both, axis=0)) == 65
    assert final.settings["n"] == 100
    assert_allclose(final.rows, scaled)
    median = gamma_by_rule("median", tried[0].rows)
    assert_allclose(final.settings["gamma"], 2 * median)
    assert_allclose(model.answer(rows), scaled.sum(axis=1))


def test_neighbours_are_chosen_from_the_rows():
    rows, labels = quarters(300)
    noisy = np.where(np.random.default_rng(1).random(300) < 0.35, 0, labels)
    chosen = {}
    for name, target in (("clean", labels), ("noisy", noisy)):
        model = contestant("KNeighborsClassifier").build(FACTS)
        model.fit(rows, target)
        chosen[name] = model.settings_["neighbours"]
    assert chosen["noisy"] > chosen["clean"]


# ---- learners ------------------------------------------------------------------------


def contestant(name):
    return next(each for each in learners.CONTESTANTS if each.name == name)


def test_names_are_unique_and_ours_have_a_training():
    names = [each.name for each in learners.CONTESTANTS]
    assert len(set(names)) == len(names)
    assert set(TRAINING) == {each.name for each in learners.CONTESTANTS if each.ours}
    assert TRAINING["rhokit QMRegressorSGD"] == "gradient"
    assert TRAINING["rhokit DMKDClassifier"] == "estimation"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "each", [c for c in CLASSIFIERS if c.package != "torch"], ids=lambda c: c.name
)
def test_every_classifier_learns_quarters(each):
    rows, labels = quarters(120)
    new, truth = quarters(80, seed=1)
    model = each.build(FACTS)
    model.fit(rows.astype(np.float32), labels)
    assert (model.answer(new.astype(np.float32)) == truth).mean() > 0.85
    assert len(pickle.dumps(model)) > 0


@pytest.mark.parametrize(
    "each", [c for c in REGRESSORS if c.package != "torch"], ids=lambda c: c.name
)
def test_every_regressor_learns_waves(each):
    rows, target = waves(240)
    tagged = np.insert(rows, 0, np.arange(240) % 2, axis=1)
    new, truth = waves(60, seed=1)
    model = each.build(FACTS)
    model.fit(tagged, target)
    answers = model.answer(np.insert(new, 0, 1, axis=1))
    error = np.abs(answers - truth).mean()
    constant = np.abs(truth - np.median(target)).mean()
    if each.name == "constant median":
        assert_allclose(answers, np.median(target[1::2]))
    else:
        assert error < 0.4 * constant
    assert len(pickle.dumps(model)) > 0


@pytest.mark.parametrize("name", ["DMKDClassifierSGD", "QMRegressorSGD"])
def test_trained_models_have_as_many_features(name):
    model = contestant(f"rhokit {name}").build(FACTS)
    if isinstance(model, Partitioned):
        model = model._make()
    assert type(model._estimator).__name__ == name
    assert model._estimator.n_components == 30


def test_exact_kernels_of_classes_stay_away_from_many_rows():
    takes = contestant("exact kernel classes").takes
    assert takes({"n": 20_000}) is None
    assert "20,000" in takes({"n": 60_000})


def test_the_smoother_is_a_weighted_mean(monkeypatch):
    monkeypatch.setattr(learners, "_BLOCK_QUERIES", 7)
    rows, target = waves(40)
    scaled = StandardScaler().fit_transform(rows)
    gammas = gamma_by_rule("median", scaled) * learners._EXACT_WIDTHS

    def mean(x, gamma, others):
        weights = [np.exp(-gamma * np.sum((x - scaled[j]) ** 2)) for j in others]
        return np.dot(weights, target[others]) / np.sum(weights)

    def error(gamma):
        left = [np.delete(np.arange(40), i) for i in range(40)]
        found = [mean(scaled[i], gamma, others) for i, others in enumerate(left)]
        return np.mean((np.array(found) - target) ** 2)

    # Where the kernels are so narrow that all weights vanish, only ours has a mean.
    with np.errstate(invalid="ignore"):
        errors = [error(gamma) for gamma in gammas]
    model = Smoother()
    model.fit(rows, target)
    assert_allclose(model.gamma_, gammas[np.nanargmin(errors)])
    expected = [mean(x, model.gamma_, np.arange(40)) for x in scaled]
    assert_allclose(model.answer(rows), expected)


class Shift:
    """Answers with the mean target, shifted by the queries."""

    def fit(self, rows, target):
        self._mean = target.mean()

    def answer(self, queries):
        return queries[:, 0] + self._mean


def test_partitions_have_models_of_their_own():
    rows = np.array([[0, 1.0], [0, 2.0], [1, 3.0]])
    model = Partitioned(Shift)
    model.fit(rows, np.array([10.0, 20.0, 300.0]))
    queries = np.array([[1, 0.5], [0, 0.25], [2, 0.0], [1, 0.0]])
    assert_allclose(model.answer(queries), [300.5, 15.25, np.nan, 300.0])


# ---- sets and results ----------------------------------------------------------------


@pytest.fixture
def values():
    """Two partitions of three rows and two queries."""
    rows = np.arange(10.0).reshape(5, 2)
    splits = [
        Split(rows[:3], np.arange(3.0), rows[3:], np.array([1.0, 2.0])),
        Split(rows[2:], np.arange(3.0) + 5, rows[:2], np.array([3.0, 5.0])),
    ]
    return supervised.Set("toy", supervised.VALUES, splits, features=7)


def test_partitions_are_one_case(values):
    case = values.case()
    assert_array_equal(case.rows[:, 0], [0, 0, 0, 1, 1, 1])
    assert_array_equal(case.queries[:, 0], [0, 0, 1, 1])
    assert_array_equal(case.rows[3:, 1:], values.splits[1].train_rows)
    assert_array_equal(case.target, [0, 1, 2, 5, 6, 7])
    assert_array_equal(values.truth, [1, 2, 3, 5])
    assert case.facts == {"features": 7}
    assert values.sizes == {"n": 3, "d": 2}


def test_errors_are_means_over_partitions(values):
    answers = np.array([1.0, 4.0, 3.0, 1.0])
    assert supervised.quality(values, answers) == np.mean([(0 + 2) / 2, (0 + 4) / 2])
    assert supervised.quality(values, None) is None


def test_classes_are_right_or_wrong():
    rows, labels = quarters(4)
    split = Split(rows, labels, rows, np.array([0, 1, 2, 3]))
    given = supervised.Set("toy", supervised.CLASSES, [split])
    assert supervised.quality(given, np.array([0, 1, 2, 0])) == 0.75
    assert_array_equal(given.case().rows, rows)
    assert given.case().facts == {"features": 1000}


def score_of(name, answers, *, ours=False, reason=None):
    taken = {
        "fit_seconds": 3.0,
        "answer_seconds": {"4": 1.0},
        "timed_queries": {"4": 4},
        "start_megabytes": 1.0,
        "peak_megabytes": 20.0,
    }
    size = {"model_bytes": 4_000_000, "columns": None}
    return Score(name, ours, reason, [] if reason else [taken], answers, size)


def test_lines_are_those_of_one_fit(values, monkeypatch):
    def compete(case, module, contestants, counts, checked, limits, threads):
        assert (counts, checked) == ([4], 4)
        name = "rhokit QMRegressor"
        away = score_of("away", None, reason="more than 1 s")
        return [score_of(name, np.array([1.0, 2.0, 3.0, 7.0]), ours=True), away]

    monkeypatch.setattr(supervised, "compete", compete)
    first, away = supervised.results(lambda: values, REGRESSORS, Limits())
    assert first.case == "toy: rhokit QMRegressor"
    assert (first.metric, first.value) == ("mean absolute error", 0.5)
    wanted = {
        "set": "toy",
        "kind": "values",
        "n": 3,
        "d": 2,
        "partitions": 2,
        "training": "estimation",
        "fit_seconds": 1.5,
        "answer_seconds": {"4": 0.5},
        "total_seconds": {"4": 2.0},
        "model_bytes": 2_000_000,
        "peak_megabytes": 20.0,
    }
    assert first.details.items() >= wanted.items()
    assert away.value is None
    assert away.details["reason"] == "more than 1 s"
    assert away.details["training"] is None


# ---- tasks and table -----------------------------------------------------------------


def test_tasks_are_sets_and_learners_of_a_large_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    for file in ("usps", "mnist", "ordinal_stocks"):
        np.savez(tmp_path / f"{file}.npz", X=np.zeros(1))
    names = [task.name for task in supervised.tasks(quick=False)]
    mnist = [f"mnist: {each.name}" for each in CLASSIFIERS]
    assert names == ["usps", *mnist, "stocks"]
    assert [task.name for task in supervised.tasks(quick=True)] == ["usps", "stocks"]
    assert "letters left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("load", "name", "n", "d"),
    [
        (supervised.class_set, "usps", 500, 256),
        (supervised.value_set, "stocks", 600, 9),
    ],
)
def test_real_sets(load, name, n, d):
    reason = real_data.missing(name)
    if reason:
        pytest.skip(reason)
    quick, full = load(name, quick=True), load(name)
    assert quick.sizes == {"n": n, "d": d}
    assert quick.features < full.features
    assert len(full.truth) == len(full.case().queries)
    for split in full.splits:  # nobody is judged by rows that it has seen
        known = {row.tobytes() for row in split.train_rows}
        assert not known & {row.tobytes() for row in split.test_rows}


def lines_of(metric, values):
    for name, value in values.items():
        reason = "no time" if value is None else None
        ours = name.startswith("rhokit")
        details = score_of(name, None, ours=ours, reason=reason).details()
        details |= {"set": "toy", "n": 1200, "d": 2, "partitions": 1}
        yield as_line(Result(f"toy: {name}", metric, value, details=details))
    yield as_line(Result("toy", SECONDS, 12.0))


@pytest.mark.parametrize(
    ("metric", "order", "shown"),
    [
        ("accuracy", ["good", "rhokit", "bad"], "0.7500"),
        ("mean absolute error", ["bad", "rhokit", "good"], "0.750"),
    ],
)
def test_the_table_begins_with_the_best(metric, order, shown):
    values = {"bad": 0.5, "rhokit": 0.75, "away": None, "good": 0.875}
    text = supervised.table(lines_of(metric, values))
    assert [name for name in text.split() if name in values] == order
    row = next(line for line in text.splitlines() if line.startswith("* rhokit"))
    assert row.split() == ["*", "rhokit", shown, "3", "1", "4", "20"]
    assert "1,200 training rows" in text
    assert text.endswith("away: no time")
