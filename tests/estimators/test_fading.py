"""A past that fades, models that are taken out again, and models that only predict."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rhokit import (
    DMKDE,
    DMKDClassifier,
    MeanEmbeddingKDE,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)
from tests.one_pass import assert_same_model

PLAN = {
    "gamma": 0.7,
    "scale": None,
    "feature_map": "fourier",
    "n_components": 24,
    "random_state": 0,
}
LEVELS = {"n_levels": 5, "beta": 4.0, "bounds": (-9, 9)}
MODELS = {
    "DMKDE": DMKDE(**PLAN),
    "landmarks": DMKDE(**PLAN | {"feature_map": "landmarks"}),
    "MeanEmbeddingKDE": MeanEmbeddingKDE(**PLAN),
    "DMKDClassifier": DMKDClassifier(**PLAN),
    "rejecting": DMKDClassifier(**PLAN, reject=0.1),
    "QMClassifier": QMClassifier(**PLAN),
    "joint": QMClassifier(**PLAN, output_map="softmax", joint_rank=9),
    "QMOrdinalClassifier": QMOrdinalClassifier(**PLAN),
    "QMRegressor": QMRegressor(**PLAN, **LEVELS),
    "uncalibrated": QMRegressor(**PLAN, **LEVELS, calibration=None),
    "truncated": QMRegressor(**PLAN, **LEVELS, rank=6),
}
WITH_SAMPLE = ["rejecting", "QMRegressor", "truncated"]
WITH_MATRIX = [name for name in MODELS if name != "MeanEmbeddingKDE"]
CLASSIFIERS = ["DMKDClassifier", "rejecting", "QMClassifier", "QMOrdinalClassifier"]
N_ROWS = 90
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 2))
LABELS = np.arange(N_ROWS) % 3
OLD, NEW, REST = slice(0, 40), slice(40, 60), slice(60, None)


def target_of(name, which=slice(None)):
    if name in ("DMKDE", "landmarks", "MeanEmbeddingKDE"):
        return None
    y = X[:, 0] * 2 if isinstance(MODELS[name], QMRegressor) else LABELS
    return y[which]


def prepared(name):
    return clone(MODELS[name]).prepare(X, target_of(name))


def learned(name, which, model=None, **options):
    model = prepared(name) if model is None else model
    return model.partial_fit(X[which], target_of(name, which), **options)


def answers(model, rows=X[:20]):
    """All that a model says about rows."""
    names = ("score_samples", "predict", "predict_proba", "predict_distribution")
    names += ("predict_quantiles", "predict_interval", "predict_state")
    found = {n: getattr(model, n)(rows) for n in names if hasattr(model, n)}
    if getattr(model, "reject", None) is not None:
        found["threshold_"] = np.array(model.threshold_)
    return found


def assert_same_answers(actual, expected, rtol):
    left, right = answers(actual), answers(expected)
    assert left.keys() == right.keys()
    for name in right:
        if right[name].dtype.kind in "fc":
            scale = np.abs(right[name]).max()
            assert_allclose(left[name], right[name], rtol=rtol, atol=rtol * scale)
        else:
            assert_array_equal(left[name], right[name])


class Unchanged:
    """A model that is to be after an error what it was before."""

    def __init__(self, model):
        self.model, self.before = model, dict(vars(model))

    def __enter__(self):
        return self.model

    def __exit__(self, *error):
        now = vars(self.model)
        assert now.keys() == self.before.keys()
        assert all(now[key] is value for key, value in self.before.items())


@pytest.mark.parametrize("name", MODELS)
class TestDecay:
    def test_goes_with_weights_of_the_batch(self, name):
        model = learned(name, OLD, sample_weight=np.full(40, 2.0))
        learned(name, NEW, model, decay=0.5, sample_weight=np.full(20, 3.0))
        weights = np.repeat([1.0, 3.0, 0.0], [40, 20, 30])
        expected = learned(name, slice(None), sample_weight=weights)
        assert_same_model(model, expected)

    def test_one_keeps_all(self, name):
        faded = learned(name, NEW, learned(name, OLD), decay=1)
        plain = learned(name, NEW, learned(name, OLD))
        assert_array_equal(faded.state_.total, plain.state_.total)

    def test_of_a_first_batch_says_nothing(self, name):
        assert_same_model(learned(name, OLD, decay=0.25), learned(name, OLD))
        fresh = clone(MODELS[name])
        fresh.partial_fit(X, target_of(name), decay=0.25)
        assert_allclose(fresh.state_.weight.sum(), N_ROWS, rtol=1e-9)

    def test_answers_stay_finite(self, name):
        """What is left of the first batch is less than the smallest number."""
        model = learned(name, OLD)
        for _ in range(60):
            learned(name, REST, model, decay=0.05)
        for value in answers(model).values():
            if value.dtype.kind == "f":
                assert np.isfinite(value).all()

    def test_bad_values_are_refused(self, name):
        models = (clone(MODELS[name]), prepared(name), learned(name, OLD))
        for decay in (0, -0.5, 1.5, np.nan, np.inf, "half", True):
            model = models[0 if decay in (0, "half") else 1 if decay == 1.5 else 2]
            with (
                Unchanged(model),
                pytest.raises(ValueError, match=r"decay must be a number in \(0, 1\]"),
            ):
                learned(name, NEW, model, decay=decay)

    def test_a_batch_that_is_refused_does_not_age_the_past(self, name):
        model = learned(name, OLD)
        bad = X[NEW].copy()
        bad[3, 1] = np.nan
        with Unchanged(model), pytest.raises(ValueError, match=r"column 1: .*NaN"):
            model.partial_fit(bad, target_of(name, NEW), decay=0.5)

    def test_fades_without_touching_copies(self, name):
        model = learned(name, OLD)
        state = model.state_.total.copy()
        other = model.blank().merge(model)
        learned(name, NEW, model, decay=0.5)
        assert_array_equal(other.state_.total, state)


def test_a_new_label_comes_while_others_fade():
    model = learned("rejecting", OLD)
    counts = model.class_count_.copy()
    model.partial_fit(X[NEW], np.full(20, -1), decay=0.5)
    assert model.classes_.tolist() == [-1, 0, 1, 2]
    assert_allclose(model.class_count_, [20, *counts / 2], rtol=1e-12)
    assert np.isfinite(model.threshold_)


def test_intervals_follow_what_did_not_fade():
    """Noise that grew tenfold: intervals are as wide as it is now."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2, 2, size=(600, 1))
    noise = rng.normal(size=600)
    model = QMRegressor(
        gamma=2.0,
        scale=None,
        feature_map="fourier",
        n_components=64,
        bounds=(-12, 12),
        random_state=0,
    ).prepare(rows, rows[:, 0] + noise)
    model.partial_fit(rows[:300], rows[:300, 0] + 0.1 * noise[:300])
    model.partial_fit(rows[300:], rows[300:, 0] + noise[300:], decay=1e-6)
    fresh = model.blank().partial_fit(rows[300:], rows[300:, 0] + noise[300:])
    assert_allclose(
        model.predict_interval(rows[:20]), fresh.predict_interval(rows[:20]), atol=0.02
    )


def test_a_sample_stands_for_what_still_counts():
    """Rows are kept by chance, whatever their age; most must not be long gone."""
    rng = np.random.default_rng(0)
    model = QMRegressor(**PLAN, **LEVELS)
    rows = rng.normal(size=(2000, 2))
    model.prepare(rows, rows[:, 0])
    for _ in range(60):
        rows = rng.normal(size=(2000, 2))
        model.partial_fit(rows, rows[:, 0], decay=0.5)
    weight = model.sample_.weight
    # Intervals of 90 % need a few hundred rows to be right to a percent or two.
    effective = weight.sum() ** 2 / (weight**2).sum()
    assert effective > 300


@pytest.mark.parametrize("name", MODELS)
class TestUnmerge:
    @given(order=st.permutations(range(4)), width=st.integers(1, 3))
    @settings(max_examples=8)
    def test_windows_of_days(self, name, order, width):
        empty = prepared(name)
        parts = [slice(20 * day, 20 * day + 20) for day in order]
        days = [learned(name, part, empty.blank()) for part in parts]
        model = empty.blank()
        for number, day in enumerate(days):
            model.merge(day)
            if number >= width:
                model.unmerge(days[number - width])
        expected = empty.blank().merge(*days[-width:])
        assert_same_model(model, expected, rtol=1e-10)

    def test_several_at_once(self, name):
        empty = prepared(name)
        one, two = (learned(name, part, empty.blank()) for part in (OLD, NEW))
        rest = learned(name, REST, empty.blank())
        model = empty.blank().merge(one, two, rest).unmerge(one, rest)
        assert_same_model(model, two, rtol=1e-10)

    def test_an_empty_model_takes_nothing(self, name):
        model = learned(name, OLD)
        before = model.state_.total
        model.unmerge(model.blank())
        assert_array_equal(model.state_.total, before)

    def test_is_unlearn_of_its_rows(self, name):
        model = learned(name, NEW, learned(name, OLD))
        other = learned(name, NEW, model.blank())
        forgotten = model.blank().merge(model).unlearn(X[NEW], target_of(name, NEW))
        assert_same_model(model.unmerge(other), forgotten, rtol=1e-10)

    def test_everything(self, name):
        model = learned(name, OLD)
        model.unmerge(learned(name, OLD))
        assert_allclose(model.state_.weight, 0, atol=1e-12)
        with pytest.raises(NotFittedError, match="no rows any more"):
            model.unmerge(learned(name, OLD))

    def test_more_than_was_seen_is_refused(self, name):
        model, other = learned(name, NEW), learned(name, OLD)
        with Unchanged(model), pytest.raises(ValueError, match="cannot forget more"):
            model.unmerge(other)

    def test_all_or_none_of_several(self, name):
        model = learned(name, OLD)
        good, bad = learned(name, NEW, model.blank()), learned(name, OLD, model.blank())
        model.merge(good)
        with Unchanged(model), pytest.raises(ValueError, match="cannot forget more"):
            model.unmerge(good, bad, bad)

    def test_other_plans_are_refused(self, name):
        model = learned(name, OLD)
        other = clone(MODELS[name]).set_params(random_state=1, gamma=0.3)
        other.fit(X, target_of(name))
        with Unchanged(model), pytest.raises(ValueError, match="differ in scaling"):
            model.unmerge(other)

    def test_other_classes_are_refused(self, name):
        model = learned(name, OLD)
        other = "DMKDE" if name == "MeanEmbeddingKDE" else "MeanEmbeddingKDE"
        with Unchanged(model), pytest.raises(TypeError, match="its own class"):
            model.unmerge(learned(other, OLD))

    def test_a_model_without_rows_is_refused(self, name):
        for model in (clone(MODELS[name]), prepared(name)):
            with Unchanged(model), pytest.raises(NotFittedError):
                model.unmerge(learned(name, OLD))


@pytest.mark.parametrize("name", CLASSIFIERS)
class TestUnmergeLabels:
    def test_that_only_the_other_knew(self, name):
        model = learned(name, OLD)
        other = model.blank().partial_fit(X[NEW], np.full(20, 7))
        merged = model.blank().merge(model, other)
        assert merged.classes_.tolist() == [0, 1, 2, 7]
        merged.unmerge(other)
        assert_allclose(merged.class_count_, [*model.class_count_, 0], atol=1e-9)
        assert_allclose(merged.state_.total[:3], model.state_.total, atol=1e-10)
        if name != "QMOrdinalClassifier":  # whose labels' states depend on all labels
            chances = merged.predict_proba(X)[:, :3]
            assert_allclose(chances, model.predict_proba(X), rtol=1e-6)

    def test_that_only_the_other_knows_without_rows(self, name):
        model = learned(name, NEW, learned(name, OLD))
        other = learned(name, NEW, model.blank(), classes=[0, 1, 2, 7])
        model.unmerge(other)
        assert_allclose(model.class_count_[:3], learned(name, OLD).class_count_)
        assert_allclose(model.class_count_.sum(), 40)

    def test_that_only_this_one_knows(self, name):
        model = learned(name, OLD)
        other = learned(name, NEW, model.blank())
        model.merge(other)
        model.partial_fit(X[REST], np.full(30, -5))
        model.unmerge(other)
        counts = learned(name, OLD).class_count_
        assert_allclose(model.class_count_, [30, *counts], atol=1e-9)

    def test_rows_of_a_label_that_was_never_seen(self, name):
        model = learned(name, OLD)
        other = model.blank().partial_fit(X[:5], np.full(5, 7))
        with Unchanged(model), pytest.raises(ValueError, match="cannot forget more"):
            model.unmerge(other)


@pytest.mark.parametrize("name", WITH_MATRIX)
class TestCompact:
    @pytest.mark.parametrize("rank", [3, 0.5])
    def test_of_a_lower_rank_is_smaller(self, name, rank):
        model = clone(MODELS[name]).set_params(rank=rank)
        if name == "joint":  # it can have one rank only
            model.set_params(joint_rank=None)
        model.fit(X, target_of(name))
        compact = model.compact()
        assert_same_answers(compact, model, rtol=1e-6)
        assert compact.state_.factor.size < model.state_.total.size

    def test_leaves_the_model_alone(self, name):
        model = learned(name, OLD)
        with Unchanged(model):
            compact = model.compact()
        assert compact is not model
        learned(name, NEW, model)
        assert model.state_.weight.sum() > compact.state_.weight.sum()

    def test_keeps_no_rows(self, name):
        compact = learned(name, OLD).compact()
        assert not hasattr(getattr(compact, "sample_", None), "rows")

    def test_of_a_compact_one_is_the_same(self, name):
        compact = learned(name, OLD).compact()
        assert_same_answers(compact.compact(), compact, rtol=1e-9)

    def test_learns_no_more(self, name):
        model = learned(name, OLD)
        other = learned(name, NEW, model.blank())
        compact = model.compact()
        y = target_of(name, NEW)
        tries = (
            lambda: compact.partial_fit(X[NEW], y),
            lambda: compact.partial_fit(X[NEW], y, decay=0.5),
            lambda: compact.unlearn(X[NEW], y),
            lambda: compact.merge(other),
            lambda: compact.unmerge(other),
        )
        for attempt in tries:
            with Unchanged(compact), pytest.raises(TypeError, match="only a factor"):
                attempt()

    def test_is_no_part_of_others(self, name):
        model = learned(name, OLD)
        compact = model.compact()
        for attempt in (model.merge, model.unmerge):
            with Unchanged(model), pytest.raises(TypeError, match="only a factor"):
                attempt(compact)

    def test_needs_rows(self, name):
        for model in (clone(MODELS[name]), prepared(name)):
            with pytest.raises(NotFittedError):
                model.compact()


class TestForeseenTargets:
    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_labels_get_a_place(self, name):
        model = clone(MODELS[name]).prepare(X, LABELS, targets=[7, 0, 1, 2, 7])
        assert model.classes_.tolist() == [0, 1, 2, 7]
        learned(name, OLD, model)
        assert model.class_count_[3] == 0
        assert_allclose(model.class_count_[:3], learned(name, OLD).class_count_)

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_labels_of_the_sample_need_not_be_listed(self, name):
        model = clone(MODELS[name]).prepare(X, LABELS, targets=[7])
        assert model.classes_.tolist() == [0, 1, 2, 7]

    def test_a_sample_of_one_class_is_enough(self):
        model = DMKDClassifier(**PLAN).prepare(X, np.zeros(N_ROWS), targets=[0, 1])
        assert model.classes_.tolist() == [0, 1]

    def test_text(self):
        words = np.array(["a", "c"])[LABELS % 2]
        model = DMKDClassifier(**PLAN).prepare(X, words, targets=["a", "b", "c"])
        assert model.classes_.tolist() == ["a", "b", "c"]

    def test_values_widen_the_range(self):
        model = QMRegressor(**PLAN, n_levels=5, beta=4.0)
        model.prepare(X, X[:, 0], targets=[-50, 80])
        assert_allclose(model.levels_[[0, -1]], [-50, 80])
        model.partial_fit(X[:2], [-50, 80])
        with pytest.raises(ValueError, match="outside the range"):
            model.partial_fit(X[:1], [81])

    def test_values_inside_change_nothing(self):
        model = QMRegressor(**PLAN, n_levels=5, beta=4.0)
        expected = clone(model).prepare(X, X[:, 0])
        model.prepare(X, X[:, 0], targets=[0.0])
        assert model.fingerprint() == expected.fingerprint()

    def test_given_bounds_win(self):
        model = QMRegressor(**PLAN, **LEVELS).prepare(X, X[:, 0], targets=[-50, 80])
        assert_allclose(model.levels_[[0, -1]], [-9, 9])

    def test_several_targets(self):
        model = QMRegressor(**PLAN, n_levels=5, beta=4.0)
        model.prepare(X, X, targets=[[-50, -1], [80, 1]])
        assert_allclose(model.levels_[0], [-50, X[:, 1].min()])
        assert_allclose(model.levels_[-1], [80, X[:, 1].max()])

    @pytest.mark.parametrize("name", [*CLASSIFIERS, "QMRegressor"])
    def test_leave_nothing_behind(self, name):
        model = clone(MODELS[name]).prepare(X, target_of(name), targets=[0, 1, 2])
        assert not hasattr(model, "_foreseen")
        before = dict(vars(model))
        with pytest.raises(ValueError, match="NaN"):
            model.prepare(X * np.nan, target_of(name), targets=[5])
        assert vars(model).keys() == before.keys()

    @pytest.mark.parametrize("targets", [[np.nan, 1.0], [np.inf]])
    def test_values_that_are_none(self, targets):
        model = QMRegressor(**PLAN, n_levels=5, beta=4.0)
        with pytest.raises(ValueError, match=r"NaN|inf|finite"):
            model.prepare(X, X[:, 0], targets=targets)
