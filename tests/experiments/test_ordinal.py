"""The ordinal sets: from command to figure, and nothing is chosen by test rows."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

from benchmarks import real_data
from benchmarks.figures.style import Album
from benchmarks.goals.ordinal import Task
from experiments import __main__ as command
from experiments import reports
from experiments.ordinal import (
    config,
    cumulative,
    gradient,
    metric,
    report,
    rivals,
    run,
)
from experiments.runs import Notebook

pytestmark = pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
SEARCH = config.SIZES["tiny"]["search"]


def ordered_rows(n=60, d=3, seed=0):
    """Rows whose first column gives their code, but for noise."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    codes = np.digitize(rows[:, 0] + 0.3 * rng.normal(size=n), [-1, -0.3, 0.3, 1])
    return rows, codes


@pytest.fixture(scope="module")
def splits():
    """Two partitions of the same rows."""
    rows, codes = ordered_rows(90)
    orders = [np.random.default_rng(seed).permutation(90) for seed in (0, 1)]
    return [
        real_data.Split(rows[o[:50]], codes[o[:50]], rows[o[50:]], codes[o[50:]])
        for o in orders
    ]


@dataclass(frozen=True)
class TrainingPart:
    """A split that has no test part to be looked at."""

    train_rows: np.ndarray
    train_target: np.ndarray


# ---- from command to figure ----------------------------------------------------------


def test_tiny_run(tmp_path, monkeypatch, capsys):
    reason = real_data.missing("diabetes")
    if reason:
        pytest.skip(reason)
    for module in (command, reports):
        monkeypatch.setattr(module, "EXPERIMENTS", ("ordinal",))
    places = ["--results", str(tmp_path / "lines"), "--pages", str(tmp_path / "pages")]
    assert command.main(["ordinal", "--tiny", "--jobs", "0", *places]) == 0
    page = (tmp_path / "pages" / "ordinal.md").read_text(encoding="utf-8")
    assert "2 of the 20 partitions" in page
    picture = tmp_path / "pages" / "images" / "ordinal-relative.png"
    assert picture.stat().st_size > 5000
    tasks = run.tasks("tiny")
    lines = Notebook(tmp_path / "lines" / "ordinal.jsonl").lines(tasks)
    errors = report.errors_by_set(lines)
    assert {model for _, model in errors} == set(config.SIZES["tiny"]["models"])
    assert all(values.shape == (2,) for values in errors.values())
    assert max(values.mean() for values in errors.values()) < 1.2


def test_what_is_not_there_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    monkeypatch.setattr(run, "load_partitions", _nothing)
    with pytest.raises(run.DataNotAvailable, match="Diabetes: no data"):
        list(run.by_itself("diabetes", "constant", [0, 2]))


def _nothing(name, target):
    raise FileNotFoundError("no data: set a folder")


@pytest.mark.parametrize("size", config.SIZES)
def test_every_model_meets_every_partition_once(size):
    settings = config.SIZES[size]
    met = []
    for task in run.tasks(size):
        of = [task.settings["model"]] if "model" in task.settings else gradient.FORMS
        for place in range(*task.settings["block"]):
            met += [(task.settings["name"], model, place) for model in of]
    assert len(met) == len(set(met))
    expected = len(settings["sets"]) * len(settings["models"]) * settings["partitions"]
    assert len(met) == expected


# ---- test rows -----------------------------------------------------------------------


def test_the_search_does_without_test_rows(splits):
    """A split that raises when its test part is touched gives the same weights."""
    closed = [TrainingPart(each.train_rows, each.train_target) for each in splits]
    known, found = (gradient.choose(part, SEARCH) for part in (splits, closed))
    for model, choice in known.items():
        assert_array_equal(found[model].weights, choice.weights)
        assert_array_equal(found[model].inner_errors, choice.inner_errors)


def test_predictions_do_not_depend_on_test_codes(splits):
    """Nor a row's answer on the other test rows."""
    fewer = [
        replace(each, test_rows=each.test_rows[:5], test_target=each.test_target[:5])
        for each in splits
    ]
    whole, part = (gradient.final_candidates(each, SEARCH) for each in (splits, fewer))
    for family, found in whole.items():
        assert_allclose(part[family], found[:, :, :5], atol=1e-5)


def test_folds_judge_what_they_did_not_weigh():
    """Of many answers at random, the best on a fold are no better on the next."""
    rng = np.random.default_rng(0)
    truth = rng.integers(5, size=(20, 5, 10))  # (P, folds, k)
    each = np.eye(5)[rng.integers(5, size=(300, *truth.shape))]
    squares = np.square(each @ np.arange(5) - truth).mean(axis=-1)
    error = gradient._judged(each, squares, truth, (gradient.expected,)).mean()
    assert error > 1.15  # the least there is, that of the constant, is 1.2


def test_gradient_learns(splits):
    choices = gradient.choose(splits, SEARCH)
    errors = gradient.final_errors(splits, choices, SEARCH)
    assert errors.keys() == set(config.BY_GRADIENT)
    for model, choice in choices.items():
        assert_allclose(choice.weights.sum(axis=0), 1)
        assert_allclose(sum(choice.shares(0).values()), 1, atol=1e-3)
        assert errors[model].mean() < 0.8


@pytest.mark.parametrize("model", rivals.MODELS)
def test_rivals_learn(model, splits):
    split = splits[0]
    fitted = rivals.MODELS[model](split.train_rows, split.train_target, 0)
    found = fitted.predict(split.test_rows).astype(float)
    error = rivals.absolute_error(found, split.test_target)
    assert error < (1.6 if model == "constant" else 0.75)


def test_nearest_codes():
    values = [-0.7, 0.4, 1.6, 3.2, 4.9]
    assert_array_equal(rivals.nearest_codes(values), [0, 0, 2, 3, 4])


# ---- proportional odds ---------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_proportional_odds(penalty, seed):
    rng = np.random.default_rng(seed)
    rows, codes = ordered_rows(40, 4, seed)
    parameters = rng.normal(size=4 + 4)
    arguments = rows, codes, penalty, 5
    value, slope = cumulative.loss_and_gradient(parameters, *arguments)
    numeric = approx_fprime(
        parameters, lambda p: cumulative.loss_and_gradient(p, *arguments)[0], 1e-7
    )
    assert_allclose(slope, numeric, atol=1e-5)
    assert_allclose(value, slow_loss(parameters, *arguments), rtol=1e-10)


def slow_loss(parameters, rows, codes, penalty, n_levels):
    """Row by row, from differences of the distribution function."""
    weights, first, steps = parameters[:4], parameters[4], parameters[5:]
    bounds = [first]
    for step in steps:
        bounds.append(bounds[-1] + np.exp(step))
    total = 0.0
    for row, code in zip(rows, codes, strict=True):
        below = [1 / (1 + np.exp(row @ weights - bound)) for bound in bounds]
        probabilities = np.diff([0, *below, 1])
        assert_allclose(probabilities.sum(), 1)
        total -= np.log(probabilities[code])
    return total / len(rows) + penalty / 2 * weights @ weights


def test_two_classes_are_logistic_regression():
    rows, codes = ordered_rows(200)
    codes = (codes > 2).astype(int)
    model = cumulative.OrdinalLogistic(2, penalty=0.05).fit(rows, codes)
    known = LogisticRegression(C=1 / (200 * 0.05), tol=1e-8).fit(rows, codes)
    assert_allclose(model.weights_, known.coef_[0], atol=1e-3)
    assert_allclose(-model.thresholds_, known.intercept_, atol=1e-3)
    assert_array_equal(model.predict(rows), known.predict(rows))


def test_a_class_without_rows():
    rows, codes = ordered_rows(80)
    model = cumulative.OrdinalLogistic(5).fit(rows[codes != 2], codes[codes != 2])
    assert np.isfinite(model.thresholds_).all()
    assert (np.diff(model.thresholds_) >= 0).all()
    assert np.mean(model.predict(rows) == 2) < 0.1


# ---- learned widths ------------------------------------------------------------------


def small_task(n=30, k=6, models=2):
    parts = []
    for seed in range(models):
        rows, codes = ordered_rows(n + k, 3, seed)
        parts.append((rows[:n], codes[:n], rows[n:]))
    return Task.of(parts)


def test_smoothed_is_the_sum_over_rows():
    task = small_task()
    shares = torch.nn.functional.one_hot(task.codes, 5).double()
    logs = torch.tensor([[0.3, -1.0, 0.1], [0.0, 0.5, -2.0]], dtype=torch.float64)
    found = metric.smoothed(task.queries, task.rows, shares, logs).numpy()
    for b in range(2):
        for q, query in enumerate(task.queries[b].numpy()):
            gaps = np.square(task.rows[b].numpy() - query)
            overlaps = np.exp(-(gaps @ np.exp(logs[b].numpy())))
            expected = overlaps @ shares[b].numpy() / overlaps.sum()
            assert_allclose(found[b, q], expected, atol=1e-10)


def test_a_row_left_out_does_not_see_its_own_code():
    task = small_task()
    left, logs = torch.tensor([4]), torch.zeros(2, 3, dtype=torch.float64)
    found = []
    for code in (0, 4):
        codes = task.codes.clone()
        codes[:, 4] = code
        shares = torch.nn.functional.one_hot(codes, 5).double()
        found.append(metric.smoothed(task.rows[:, left], task.rows, shares, logs, left))
    assert_array_equal(*found)


def test_widths_find_the_column_that_matters():
    """Noise in the others: fewer errors after some steps."""
    parts = []
    for seed in range(4):
        rows, codes = ordered_rows(200, 8, seed)
        parts.append((rows[:120], codes[:120], rows[120:]))
    truth = np.stack([ordered_rows(200, 8, seed)[1][120:] for seed in range(4)])
    before, after = metric.learned_widths(Task.of(parts), 8.0, [0, 60])
    errors = [np.abs(gradient.expected(p) - truth).mean() for p in (before, after)]
    assert errors[1] < 0.8 * errors[0]


def test_frequencies_are_trained():
    task = small_task()
    found = gradient.trained_fourier(task, 0.5, [0, 40], 32)
    assert found[0].shape == (2, 6, 5)
    assert_allclose(np.sum(found, axis=-1), 1, atol=1e-5)
    assert np.abs(found[1] - found[0]).max() > 0.01


# ---- the report ----------------------------------------------------------------------


def line(name, model, place, value):
    return {
        "case": f"{name}: {model}",
        "metric": run.METRIC,
        "value": value,
        "seed": place,
        "details": {"set": name, "model": model, "partition": place},
    }


def lines_of(models, sets=config.SETS, scale=1.0, partitions=20):
    """Every model at the paper's Gaussian process, times a scale."""
    known = config.PAPER["GP"]
    return [
        line(name, model, place, scale * known[name] * (1 + 0.01 * (-1) ** place))
        for name in sets
        for model in models
        for place in range(partitions)
    ]


def test_report_of_nothing(tmp_path):
    made = report.report([], Album(tmp_path, "images"))
    assert "Diabetes" in made.text
    assert all(verdict.met is None for verdict in made.verdicts)


def test_report_of_some_lines(tmp_path):
    """A set without most models, a model without most sets, few partitions."""
    lines = [
        *lines_of([config.TRAINED], ["stocks"], partitions=1),
        *lines_of(["constant"], ["stocks", "abalone"], partitions=3),
    ]
    made = report.report(lines, Album(tmp_path, "images"))
    assert "**1 to 3 of the 20 partitions**" in made.text
    assert "–" in made.text
    assert made.verdicts[0].met is None


def test_goals_count_sets(tmp_path):
    lines = lines_of(config.MODELS)
    made = report.report(lines, Album(tmp_path, "images"))
    process, paper = made.verdicts[:2]
    assert (process.value, process.met) == (9, True)
    # The Gaussian process is at or below the paper's QMR-SGD in three sets.
    assert (paper.value, paper.met) == (3, True)
    worse = report.report(lines_of([config.TRAINED], scale=1.05), Album(tmp_path))
    assert worse.verdicts[0].value == 0
    assert "partitions**" not in made.text


def test_goals_leave_constants_out():
    expected = ["pyrimidines", "wisconsin", "machine_cpu", "auto_mpg", "boston_housing"]
    assert expected == config.UNLIKE_CONSTANT


def test_ranks_share_ties():
    numbers = [0.3, 0.1, 0.3, 0.2]
    assert_allclose(report._ranks_of(numbers), rankdata(numbers))


def test_verdicts_of_figures():
    near = np.array([0.9, 1.1, 1.0, 1.05])
    assert report._verdict(near, 1.0) == "not distinguishable"
    assert report._verdict(near, 0.5) == "higher here"
    assert report._verdict(near, 1.5) == "lower here"
    assert report._verdict(near[:1], 1.5) == "–"


def test_median_and_mean():
    distributions = np.array(
        [[0.6, 0, 0, 0, 0.4], [0, 0.5, 0.5, 0, 0], [0, 0, 0, 0, 1]]
    )
    assert_array_equal(gradient.median(distributions), [0, 1, 4])
    assert_array_equal(gradient.expected(distributions), [2, 2, 4])
