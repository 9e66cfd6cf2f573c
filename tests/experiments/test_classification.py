"""The table of accuracies: searches that see training rows alone, and its pieces."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from benchmarks.real_data import missing
from experiments.__main__ import main
from experiments.classification import run as runs
from experiments.classification.config import SIZES, Size
from experiments.classification.families import FAMILIES, draw
from experiments.classification.linear_svm import SquaredHingeSVM
from experiments.classification.search import search, with_gamma
from experiments.data import Split
from experiments.registry import FULL, TINY
from experiments.runs import perform

SMALL = Size((), seeds=1, configurations=9, tuning_rows=150, n_components=32, epochs=1)


@pytest.fixture(scope="module")
def split():
    rows, labels = load_digits(return_X_y=True)
    rows = (rows / 16).astype(np.float32)
    return Split(rows[:400], labels[:400], rows[400:600], labels[400:600])


@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_the_svm_is_that_of_scikit_learn(split, penalty, n_classes):
    kept = split.train_target < n_classes
    rows, labels = split.train_rows[kept].astype(np.float64), split.train_target[kept]
    ours = SquaredHingeSVM(penalty, tol=1e-9).fit(rows, labels)
    theirs = LinearSVC(C=penalty, dual=False, tol=1e-8).fit(rows, labels)
    weights = np.column_stack([theirs.coef_, theirs.intercept_]).T  # (D + 1, K)
    wanted = theirs.classes_[-weights.shape[1] :]
    least = svm_objective(weights, rows, labels, wanted, penalty)
    found = svm_objective(ours.weights_, rows, labels, wanted, penalty)
    assert_allclose(found, least, rtol=1e-4)
    values = theirs.decision_function(rows)
    scale = np.abs(values).max()
    assert_allclose(ours.decision_function(rows) / scale, values / scale, atol=0.02)
    assert (ours.predict(rows) == theirs.predict(rows)).mean() > 0.995


def svm_objective(weights, rows, labels, classes, penalty):
    """What LinearSVC minimises, summed over the classes, written out."""
    total = 0.0
    for (*slope, offset), label in zip(weights.T, classes, strict=True):
        total += (np.dot(slope, slope) + offset**2) / 2
        for row, own in zip(rows, labels, strict=True):
            margin = (1 if own == label else -1) * (row @ slope + offset)
            total += penalty * max(0.0, 1 - margin) ** 2
    return total


@pytest.mark.parametrize("name", [n for n, family in FAMILIES.items() if family.space])
def test_a_search_sees_nothing_but_training_rows(name, split, monkeypatch):
    """Test rows that are no numbers, and labels that do not exist, change nothing."""
    poisoned = replace(
        split,
        test_rows=np.full_like(split.test_rows, np.nan),
        test_target=np.full_like(split.test_target, 77),
    )
    found = []
    for each in (split, poisoned):
        monkeypatch.setattr(runs, "scaled_split", lambda name, each=each: each)
        size = runs._as_dict(replace(SMALL, configurations=3))
        (result,) = runs.choose(dataset="digits", family=name, size=size)
        found.append((result.value, result.details))
    assert found[0] == found[1]


def test_a_search_would_notice_poison_among_training_rows(split):
    rows = np.where(np.arange(400)[:, None] < 390, split.train_rows, np.nan)
    with pytest.raises(ValueError, match="NaN"):
        search("SVM-RFF", rows, split.train_target, replace(SMALL, tuning_rows=400))


def test_the_race_ends_with_the_best_of_those_that_ran_to_the_end(split):
    best, tried = search("SVM-RFF", split.train_rows, split.train_target, SMALL)
    folds = sorted((each["folds"] for each in tried), reverse=True)
    assert folds == [5, 5, 3, 3, 3, 3, 1, 1, 1]
    finalists = [each for each in tried if each["folds"] == 5]
    assert best == max(finalists, key=lambda each: each["accuracy"])
    assert best["accuracy"] > 0.8


def test_draws_differ_and_stay_in_their_space():
    space = FAMILIES["DMKDC-SGD"].space
    drawn = draw(space, 25, seed=0)
    assert len(drawn) == 25
    assert drawn == draw(space, 25, seed=0)
    assert all(0.25 <= each["width"] <= 32 for each in drawn)
    assert len(draw(FAMILIES["k nearest neighbours"].space, 25, seed=0)) == 4


def test_gamma_is_a_multiple_of_the_median_rule():
    assert with_gamma({"width": 4.0, "rank": 3}, 0.5) == {"gamma": 2.0, "rank": 3}
    assert with_gamma({"neighbours": 3}, 0.5) == {"neighbours": 3}


def test_settings_that_were_found_go_into_the_fits():
    searches = runs.tasks(TINY)
    best = {"settings": {"gamma": 1.5}, "folds": 5, "accuracy": 0.5}
    details = {"dataset": "letters", "family": "DMKDC", "best": best}
    lines = [{"metric": runs.CHOSEN, "details": details}]
    fits = {task.name: task for task in runs.then(TINY, lines)}
    for name in ("DMKDC", "QMC"):
        chosen = fits[f"letters: {name}, seed 0"].settings["settings"]
        assert chosen == {"gamma": 1.5}
    assert "letters: DMKDC-SGD, seed 0" not in fits  # not searched yet
    assert "letters: DMKDC, default, seed 0" in fits
    assert len(searches) == 2 * sum(bool(f.space) for f in FAMILIES.values())


def test_epochs_of_large_sets_are_no_rounds_of_boosting():
    fits = {task.name: task.settings for task in runs.then(FULL, [])}
    assert fits["mnist: DMKDC-SGD, default, seed 0"]["epochs"] == 6
    assert fits["letters: DMKDC-SGD, default, seed 0"]["epochs"] == "auto"
    assert fits["mnist: gradient boosting, seed 0"]["epochs"] == "auto"


def test_ten_seeds_one_after_the_other_and_the_largest_set_last():
    fits = [task.settings for task in runs.then(FULL, [])]
    large = [each["dataset"] == "covtype" for each in fits]
    assert large == sorted(large)
    others = [each["seed"] for each in fits if each["dataset"] != "covtype"]
    assert others == sorted(others)
    assert set(others) == set(range(10))


@pytest.mark.skipif(missing("letters") is not None, reason=str(missing("letters")))
def test_a_fit_is_judged_by_test_rows():
    task = next(
        task
        for task in runs.then(TINY, [])
        if task.name == "letters: DMKDC, default, seed 0"
    )
    accuracy, loss, mark = perform(task)
    assert accuracy["metric"] == runs.ACCURACY
    assert 0.3 < accuracy["value"] < 1
    assert loss["value"] > 0
    assert mark["value"] > accuracy["details"]["fit_seconds"]


@pytest.mark.skipif(missing("covtype") is not None, reason=str(missing("covtype")))
def test_from_the_command_to_the_figure(tmp_path, monkeypatch, capsys):
    small = replace(SIZES[TINY], sets=("forest_100",))
    monkeypatch.setitem(SIZES, TINY, small)
    folders = ["--results", str(tmp_path), "--pages", str(tmp_path)]
    assert main(["classification", "--tiny", "--jobs", "0", *folders]) == 0
    page = (tmp_path / "classification.md").read_text()
    assert "| Forest (first 100 rows) | 0.697 | 0.727 | 0.876 | " in page
    assert (tmp_path / "images" / "classification.png").stat().st_size > 10_000
    assert "not measured" in page  # goals of sets that are not in the tiny form
