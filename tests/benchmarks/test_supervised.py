"""Values and classes: the splits, the contestants, what is measured, the tasks."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.metrics import root_mean_squared_error

from benchmarks import real_data, supervised
from benchmarks import supervised_sets as sets
from benchmarks.contestants import learners
from benchmarks.contestants.learners import CLASSIFIERS, CONTESTANTS, REGRESSORS, SLOW
from benchmarks.contestants.learners_answers import (
    Classes,
    Partitioned,
    Predicted,
    WithDistribution,
    normal,
)

FACTS = {"classes": 4, "n_fit": 240, "threads": 1}


def waves(n, seed=0):
    """Rows, and a value that follows them with noise of spread 0.2."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-2, 2, size=(n, 2))
    return rows, np.sin(2 * rows[:, 0]) + rows[:, 1] + rng.normal(0, 0.2, n)


def quarters(n, seed=0):
    """Rows, and the quarter of the plane that they are in."""
    rows = np.random.default_rng(seed).normal(size=(n, 2))
    return rows, 2 * (rows[:, 0] > 0) + (rows[:, 1] > 0)


def tagged(rows, numbers):
    return np.insert(rows, 0, numbers, axis=1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of data with a small set of values and one of classes."""
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    rows, target = waves(60)
    order = [np.random.default_rng(i).permutation(60) for i in range(20)]
    train, test = (
        np.array([o[part] for o in order]) for part in (slice(48), slice(48, 60))
    )
    np.savez(
        tmp_path / "regression_yacht.npz",
        X=rows,
        y=target,
        train_index=train,
        test_index=test,
    )
    (tmp_path / "adbench").mkdir()
    labels = np.arange(100) % 10 == 0
    np.savez(
        tmp_path / "adbench" / "wilt.npz", X=waves(100)[0], y=labels.astype(np.uint8)
    )
    return tmp_path


def set_of(name):
    return next(each for each in sets.sets(quick=False) if each.name == name)


# ---- sets ----------------------------------------------------------------------------


def test_values_have_their_published_splits(folder):
    group = sets.load(set_of("yacht"), [2, 7])
    with np.load(folder / "regression_yacht.npz") as file:
        for split, number in zip(group.splits, (2, 7), strict=True):
            assert_array_equal(split.train_rows, file["X"][file["train_index"][number]])
            assert_array_equal(split.test_target, file["y"][file["test_index"][number]])
    assert group.sizes == {"n": 48, "d": 2, "n_test": 12}


def test_splits_are_one_case_with_targets_behind_queries_of_values(folder):
    group = sets.load(set_of("yacht"), [2, 7])
    case = group.case()
    assert_array_equal(case.rows[:, 0], np.repeat([2, 7], 48))
    assert_array_equal(case.rows[48:, 1:], group.splits[1].train_rows)
    assert_array_equal(case.queries[:, 0], np.repeat([2, 7], 12))
    assert_array_equal(case.queries[12:, 1:-1], group.splits[1].test_rows)
    assert_array_equal(case.queries[:12, -1], group.splits[0].test_target)
    assert_array_equal(case.target[:48], group.splits[0].train_target)
    assert case.facts == {"n_fit": 48}


def test_rare_classes_are_in_both_parts_and_queries_have_none(folder):
    group = sets.load(set_of("adbench wilt"), [0, 1])
    for split in group.splits:
        assert (split.train_target.sum(), split.test_target.sum()) == (7, 3)
    assert not np.array_equal(*(split.test_rows for split in group.splits))
    case = group.case()
    assert case.queries.shape == (60, 3)
    assert case.facts == {"n_fit": 70, "classes": 2}


def test_labels_become_their_places():
    arrays = {"X": np.arange(8.0)[:, None], "y": np.array([7, 3, 9, 3, 7, 9, 3, 7])}
    split = real_data.Split(
        arrays["X"][:5], arrays["y"][:5], arrays["X"][5:], arrays["y"][5:]
    )
    found = sets._coded(split, np.unique(arrays["y"]))
    assert_array_equal(found.train_target, [1, 0, 2, 0, 1])
    assert_array_equal(found.test_target, [2, 0, 1])


def test_cover_types_are_judged_by_others(monkeypatch):
    monkeypatch.setattr(sets, "COVER_ROWS", 40)
    monkeypatch.setattr(sets, "COVER_JUDGES", 20)
    arrays = {"X": np.arange(90)[:, None], "y": np.arange(90) % 7}
    some, everything = sets._some_cover(arrays, 0), sets._all_cover(arrays, 0)
    assert [len(s.train_rows) for s in (some, everything)] == [40, 81]
    assert [len(s.test_rows) for s in (some, everything)] == [20, 9]
    for split in (some, everything):
        seen = np.concatenate([split.train_rows, split.test_rows])[:, 0]
        assert len(np.unique(seen)) == len(seen)
        assert_array_equal(split.test_target, split.test_rows[:, 0] % 7)


def test_names_are_unique_and_the_late_one_is_last():
    whole, quick = (sets.sets(quick=each) for each in (False, True))
    names = [each.name for each in whole]
    assert len(set(names)) == len(names) == 27
    assert [each.name for each in whole if each.late] == [names[-1]]
    assert {each.name for each in quick} < set(names)
    assert {each.kind for each in quick} == {sets.VALUES, sets.CLASSES}


@pytest.mark.parametrize("given", sets.sets(quick=True), ids=lambda each: each.name)
def test_real_sets(given):
    reason = real_data.missing(given.file)
    if reason:
        pytest.skip(reason)
    group = sets.load(given, [0], quick=True)
    assert 0 < group.sizes["n"] <= 2_000
    assert len(group.case().queries) == group.sizes["n_test"] > 0
    if given.kind == sets.VALUES:
        arrays = real_data.load_arrays(given.file)
        for train, test in zip(
            arrays["train_index"], arrays["test_index"], strict=True
        ):
            both = np.sort(np.concatenate([train, test]))
            assert_array_equal(both, np.arange(len(arrays["X"])))


# ---- contestants ---------------------------------------------------------------------


def built(contestant):
    reason = contestant.absence(FACTS)
    if reason is not None:
        assert "not installed" in reason
        pytest.skip(reason)
    return contestant.build(FACTS)


def test_names_of_contestants_are_unique():
    names = [each.name for each in CONTESTANTS]
    assert len(set(names)) == len(names)
    assert set(names) > SLOW
    assert [each.name for each in CONTESTANTS if each.ours] == [
        learners.OUR_VALUES,
        learners.OUR_CLASSES,
    ]


@pytest.mark.parametrize("contestant", REGRESSORS, ids=lambda each: each.name)
def test_every_regressor_learns_waves(contestant):
    model = built(contestant)
    rows, target = waves(600)
    new, truth = waves(200, seed=1)
    model.fit(tagged(rows, np.arange(600) % 2), target)
    queries = tagged(np.column_stack([new, truth]), np.arange(200) % 2)
    found = model.answer(queries)
    error = root_mean_squared_error(truth, found)
    least = 0.9 if contestant.name == "Ridge" else 0.6
    assert error < least * truth.std()
    judged = model.judged(queries)
    assert_allclose(judged[:, 0], found)
    if judged.shape[1] > 1:
        check_distribution(contestant.name, judged, truth)
    assert len(pickle.dumps(model)) > 0


def check_distribution(name, judged, truth):
    predicted = Predicted.of(judged)
    assert (np.diff(predicted.quantiles, axis=1) >= 0).all()
    held = (predicted.interval[:, 0] <= truth) & (truth <= predicted.interval[:, 1])
    assert 0.5 < held.mean() <= 1  # NGBoost's are too narrow for so few rows
    has_density = np.isfinite(predicted.log_density).all()
    assert has_density or name in {learners.QUANTILES, learners.OUR_VALUES}
    if has_density:
        assert predicted.log_density.mean() > norm.logpdf(truth, 0, truth.std()).mean()


@pytest.mark.parametrize("contestant", CLASSIFIERS, ids=lambda each: each.name)
def test_every_classifier_learns_quarters(contestant):
    model = built(contestant)
    rows, labels = quarters(240)
    new, truth = quarters(80, seed=1)
    model.fit(tagged(rows, 3).astype(np.float32), labels)
    queries = tagged(new, 3).astype(np.float32)
    found = model.judged(queries)
    assert_array_equal(found[:, 0], model.answer(queries))
    assert (found[:, 0] == truth).mean() > 0.85
    assert_allclose(found[:, 1:].sum(axis=1), 1, rtol=1e-5)
    assert (found[:, 1:].argmax(axis=1) == truth).mean() > 0.85


def test_models_are_as_they_are_by_default():
    """Nobody has a setting but the seed, which is the number of the split."""
    for contestant in CONTESTANTS:
        if contestant.absence(FACTS) is None and contestant.ours:
            estimator = contestant.build(FACTS)._make(5)._estimator
            assert (
                estimator.get_params() == type(estimator)(random_state=5).get_params()
            )


def test_kernels_of_all_pairs_stay_away_from_many_rows():
    takes = {each.name: each.takes for each in CONTESTANTS}
    assert takes["SVC"]({"n_fit": 15_000}) is None
    assert "15,000" in takes["SVC"]({"n_fit": 15_001})
    assert "2,000" in takes["GaussianProcessRegressor"]({"n_fit": 7_373})


def test_classes_that_were_not_seen_have_no_chance():
    class Constant:
        classes_ = np.array([0, 2])

        def predict(self, rows):
            return np.full(len(rows), 2)

        def predict_proba(self, rows):
            return np.tile([0.25, 0.75], (len(rows), 1))

    found = Classes(Constant, 4).judged(np.zeros((2, 1)))
    assert_array_equal(found, np.tile([2, 0.25, 0, 0.75, 0], (2, 1)))


class Shift:
    """Answers with the mean target, shifted by the queries."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, rows, target):
        self._mean = target.mean()

    def answer(self, queries):
        return queries[:, 0] + self._mean

    def judged(self, queries):
        return np.column_stack([self.answer(queries), np.full(len(queries), self.seed)])


def test_splits_have_models_of_their_own():
    rows = np.array([[0, 1.0], [0, 2.0], [1, 3.0]])
    model = Partitioned(Shift)
    model.fit(rows, np.array([10.0, 20.0, 300.0]))
    queries = np.array([[1, 0.5], [0, 0.25], [2, 0.0], [1, 0.0]])
    assert_allclose(model.answer(queries), [300.5, 15.25, np.nan, 300.0])
    assert_allclose(model.judged(queries)[:, 1], [1, 0, np.nan, 1])


def test_densities_are_asked_for_at_the_true_values():
    class Known:
        def predict(self, rows):
            return rows[:, 0]

        def log_density(self, rows, truth):
            return norm.logpdf(truth, rows[:, 0])

        def predict_interval(self, rows, coverage):
            return rows[:, :1] + norm.ppf([(1 - coverage) / 2, (1 + coverage) / 2])

        def predict_quantiles(self, rows, levels):
            return rows[:, :1] + norm.ppf(levels)

    mean, truth = np.array([0.0, 1.0, 5.0]), np.array([0.5, 0.0, 5.0])
    found = WithDistribution(Known).judged(np.column_stack([mean, truth]))
    assert_allclose(found, normal(mean, np.ones(3), truth))


# ---- lines and tasks -----------------------------------------------------------------


def contestant_of(name):
    return next(each for each in CONTESTANTS if each.name == name)


def test_there_is_a_line_for_every_split(folder):
    group = sets.load(set_of("yacht"), [0, 3])
    lines = list(supervised.results(lambda: group, contestant_of("Ridge")))
    assert [line.case for line in lines] == [
        "yacht / split 0 / Ridge",
        "yacht / split 3 / Ridge",
    ]
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    for line, split in zip(lines, group.splits, strict=True):
        model = make_pipeline(StandardScaler(), Ridge())
        model.fit(split.train_rows, split.train_target)
        error = root_mean_squared_error(
            split.test_target, model.predict(split.test_rows)
        )
        assert_allclose(line.value, error)
        assert (line.metric, line.details["kind"], line.details["n"]) == (
            "RMSE",
            "values",
            48,
        )
        assert line.details["fit_seconds"] > 0
        assert line.details["model_bytes"] > 0
        assert list(line.details["answer_seconds"]) == ["12"]


def test_seconds_and_bytes_are_those_of_one_split(folder):
    group = sets.load(set_of("yacht"), [0, 3])
    details = {"contestant": "a", "ours": False, "reason": None, "model_bytes": 400}
    details |= {"fit_seconds": 4.0, "fit_processor_seconds": 3.0}
    for key in ("answer_seconds", "answer_processor_seconds", "total_seconds"):
        details[key] = {"24": 6.0}
    found = supervised.per_split(details | {"rounds": 1}, group)
    assert found == {"contestant": "a", "ours": False, "reason": None} | {
        "model_bytes": 200,
        "fit_seconds": 2.0,
        "fit_processor_seconds": 1.5,
        "answer_seconds": {"12": 3.0},
        "answer_processor_seconds": {"12": 3.0},
        "total_seconds": {"12": 3.0},
    }


def test_who_stays_away_has_one_line_with_the_reason(folder, monkeypatch):
    group = sets.load(set_of("yacht"), [0, 3])
    away = learners.Contestant(
        "SVR", lambda facts: None, takes=lambda facts: "too many"
    )
    (line,) = supervised.results(lambda: group, away)
    assert line.value is None
    assert line.details["reason"] == "too many"
    assert line.details["set"] == "yacht"


def test_tasks_are_first_splits_then_others_then_slow_ones(folder, monkeypatch):
    np.savez(folder / "covtype.npz", X=np.zeros(1))
    monkeypatch.setattr(supervised, "find_spec", lambda name: True)
    names = [task.name for task in supervised.tasks(quick=False)]
    assert len(set(names)) == len(names)
    quick_values = len(REGRESSORS) - len(SLOW)
    start = [f"yacht / splits 0-4 / {learners.OUR_VALUES}"]
    assert names[:1] == start
    assert names[quick_values] == f"adbench wilt / splits 0-2 / {learners.OUR_CLASSES}"
    where = [name.partition(" / ")[0] for name in names]
    late = where.index("covtype, all rows")
    assert all("splits 5-19" in name for name in names[late - quick_values : late])
    assert {name.rpartition(" / ")[2] for name in names[-len(SLOW) :]} == SLOW
    quick = [task.name for task in supervised.tasks(quick=True)]
    assert f"yacht / splits 0-1 / {learners.PROCESS}" in quick
    assert not [name for name in quick if name.startswith("covtype")]


def test_who_is_not_installed_has_no_task(folder, monkeypatch, capsys):
    monkeypatch.setattr(supervised, "find_spec", lambda name: name != "ngboost" or None)
    names = [task.name for task in supervised.tasks(quick=True)]
    assert names
    assert not [name for name in names if learners.NGBOOST in name]
    assert "ngboost is not installed" in capsys.readouterr().err
