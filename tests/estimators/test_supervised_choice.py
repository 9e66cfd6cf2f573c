"""Choices by leave-one-out against models that are really made anew for each row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from rhokit import (
    DMKDClassifier,
    FourierFeatures,
    LandmarkFeatures,
    QMRegressor,
    QuadratureFeatures,
    SoftmaxFeatures,
)
from rhokit.batch import Batch, Columns
from rhokit.features import gamma_by_rule
from rhokit.plans import PlanRequest, leave_one_out, supervised
from rhokit.plans.bandwidth import climb
from rhokit.plans.leave_one_out import (
    LeaveOneOut,
    choose_rank_by_score,
    kernel_overlaps,
    map_overlaps,
    squared_distances,
)
from rhokit.plans.scaling import Scaling
from rhokit.plans.supervised import SupervisedChoice
from rhokit.readouts.tasks import (
    ClassScore,
    LevelScore,
    OrderedScore,
    ValueScore,
    probabilities,
)
from tests.reference.outcome_oracles import left_out_posteriors, left_out_smoother


def labelled(n=40, seed=0, d=2):
    """Rows of two classes, with copies among them, and their labels."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    rows[-5:] = rows[:5]
    return rows, (rows[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def left_out(rows, weights, target, task, rng=None):
    """Rows to be left out, as arrays."""
    batch = Batch(rows, Columns(rows.shape[1]), None, weights)
    return LeaveOneOut(batch, target, task, rng)


class Recorder:
    """A task that remembers what it was asked to score."""

    def __init__(self, task):
        self.evidence, self.strata = task.evidence, task.strata

    def score(self, gathered, target, weight):
        self.gathered, self.target, self.weight = gathered, target, weight
        return 0.0


def predictions(rows, target, task, overlaps_of, weights=None):
    """What each row is told by the others: evidence, target and weight."""
    recorder = Recorder(task)
    loo = left_out(rows, weights, target, recorder, np.random.default_rng(0))
    probes = loo.probes()
    loo.score(overlaps_of(loo.rows(rows), probes), probes)
    return recorder


def smoothing(rows, probes, gamma=0.7):
    """Squared overlaps under the kernel itself."""
    return kernel_overlaps(squared_distances(rows, probes), gamma)


class TestLeaveOneOut:
    @pytest.mark.parametrize("block", [3, 256])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_classes_are_those_of_a_model_made_anew(self, monkeypatch, weighted, block):
        monkeypatch.setattr(leave_one_out, "_PROBES_PER_BLOCK", block)
        rows, labels = labelled()
        weights = np.random.default_rng(1).integers(1, 4, 40) if weighted else None
        found = predictions(rows, labels, ClassScore(2), smoothing, weights)
        kernel = np.exp(-0.7 * cdist(rows, rows, "sqeuclidean"))
        expected = left_out_smoother(kernel, rows, np.eye(2)[labels], weights)
        assert_allclose(probabilities(found.gathered), expected, rtol=1e-10)
        assert_array_equal(found.target, labels)
        given = np.ones(40) if weights is None else weights
        assert_allclose(found.weight / found.weight.sum(), given / given.sum())

    @pytest.mark.parametrize("weighted", [False, True])
    def test_values_are_those_of_a_model_made_anew(self, weighted):
        rows, _ = labelled()
        weights = np.random.default_rng(1).integers(1, 4, 40) if weighted else None
        values = np.column_stack([rows.sum(axis=1), rows[:, 0] ** 2])
        values += np.random.default_rng(2).normal(size=values.shape)
        task = ValueScore(values, weights)
        found = predictions(rows, values, task, smoothing, weights)
        kernel = np.exp(-0.7 * cdist(rows, rows, "sqeuclidean"))
        expected = left_out_smoother(kernel, rows, values, weights)
        centre = np.average(values, axis=0, weights=weights)
        spread = np.sqrt(np.average((values - centre) ** 2, axis=0, weights=weights))
        mean = found.gathered[:, 1:] / found.gathered[:, :1]
        assert_allclose(mean * spread + centre, expected, rtol=1e-9)
        error = ((expected - values) / spread) ** 2
        score = task.score(found.gathered, found.target, found.weight)
        assert_allclose(score, -np.average(error.mean(axis=1), weights=weights))

    @pytest.mark.parametrize(
        "feature_map",
        [
            FourierFeatures(n_components=24, random_state=0),
            FourierFeatures(n_components=24, form="complex", random_state=0),
            LandmarkFeatures(n_components=12, normalize=True, random_state=0),
            QuadratureFeatures(tol=1e-2),
        ],
        ids=repr,
    )
    def test_is_the_classifier_fitted_without_the_row(self, feature_map):
        """With states of length one it is DMKDC, refitted for every row."""
        rows, labels = labelled()
        rows = rows + np.linspace(0, 1e-3, 40)[:, None]  # no copies
        feature_map.fit(rows)
        found = predictions(
            rows,
            labels,
            ClassScore(2),
            lambda distinct, probes: map_overlaps(feature_map, distinct, probes),
        )
        expected = left_out_posteriors(feature_map.transform(rows), labels)
        assert_allclose(probabilities(found.gathered), expected, rtol=1e-9, atol=1e-12)

    @given(seed=st.integers(0, 2**31), n=st.integers(5, 25))
    def test_weights_are_copies(self, seed, n):
        rng = np.random.default_rng(seed)
        rows, labels = rng.normal(size=(n, 2)), rng.integers(0, 3, n)
        counts = rng.integers(0, 4, n)
        counts[:2] = 1
        copies = rng.permutation(np.repeat(np.arange(n), counts))
        weighted = left_out(rows, counts.astype(float), labels, ClassScore(3), rng)
        copied = left_out(rows[copies], None, labels[copies], ClassScore(3), rng)
        assert weighted.n_distinct == copied.n_distinct
        distinct = weighted.rows(rows)
        assert_array_equal(distinct, copied.rows(rows[copies]))
        probes = weighted.probes()
        overlaps = smoothing(distinct, probes)
        assert_allclose(
            weighted.score(overlaps, probes), copied.score(overlaps, probes)
        )

    def test_signs_of_zero_do_not_matter(self):
        rows = np.array([[0.0], [-0.0], [1.0]])
        loo = left_out(rows, None, np.array([0, 1, 0]), ClassScore(2), None)
        assert loo.n_distinct == 2

    def test_categories_are_compared_as_they_are(self):
        rows = np.array([["a", 1], ["b", 2], ["a", 1]], dtype=object)
        loo = left_out(rows, None, np.array([0, 1, 1]), ClassScore(2), None)
        assert loo.n_distinct == 2

    @pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 1.0])
    def test_unprobed_rows_share_nothing_with_the_probes(self, share):
        rows, labels = labelled(60)
        loo = left_out(rows, None, labels, ClassScore(2), np.random.default_rng(0))
        probes = loo.probes(share)
        unprobed = loo.unprobed(probes)
        assert len(probes) == int(share * loo.n_distinct) == len(set(probes.tolist()))
        probed = {tuple(row) for row in loo.rows(rows)[probes]}
        assert_array_equal(unprobed, [tuple(row) not in probed for row in rows])

    @pytest.mark.parametrize("n", [1, 3, 60, 200, 400, 600])
    def test_of_few_rows_more_are_probed_in_turn(self, n):
        rows = np.arange(n)[:, None] + 0.5
        labels = (np.arange(n) % 10 == 0).astype(int)  # of which one is rare
        loo = left_out(rows, None, labels, ClassScore(2), np.random.default_rng(0))
        turns = loo.turns(0.25)
        probes = np.concatenate(turns)
        assert len(set(probes.tolist())) == len(probes) >= min(n, 128)
        assert max(map(len, turns)) <= n / 4 + 2
        if n >= 512:
            assert_array_equal(turns, [loo.probes(0.25)])
        elif n <= 128:
            assert_array_equal(np.sort(probes), np.arange(n))

    def test_turns_are_scored_together(self):
        rows, labels = labelled(60)
        loo = left_out(rows, None, labels, ClassScore(2), np.random.default_rng(0))
        distinct, turns = loo.rows(rows), loo.turns(0.25)
        overlaps = [smoothing(distinct, own) for own in turns]
        everything = np.concatenate(turns)
        expected = loo.score(smoothing(distinct, everything), everything)
        assert_allclose(loo.score_in_turns(overlaps, turns), expected)

    def test_rows_of_weight_zero_are_not_there(self):
        rows, labels = labelled(60)
        weights = np.arange(60) % 3.0
        loo = left_out(rows, weights, labels, ClassScore(2), np.random.default_rng(0))
        assert loo.n_distinct == len(np.unique(rows[weights > 0], axis=0))
        which, target, weight = loo.members(loo.probes())
        assert len(which) == len(target) == len(weight) == (weights > 0).sum()
        assert_allclose(weight / weight.sum(), weights[weights > 0] / weights.sum())

    def test_many_rows_are_sampled(self, monkeypatch):
        monkeypatch.setattr(leave_one_out, "MOST_ROWS", 30)
        monkeypatch.setattr(leave_one_out, "_MOST_PROBES", 10)
        rows, labels = labelled(80)
        loo = left_out(rows, None, labels, ClassScore(2), np.random.default_rng(0))
        assert loo.n_rows == 80
        assert loo.n_distinct <= 30
        assert len(loo.probes()) == 10

    def test_a_lone_row_tells_nothing(self):
        loo = left_out(np.ones((3, 1)), None, np.array([0, 1, 1]), ClassScore(2), None)
        probes = loo.probes()
        overlaps = smoothing(loo.rows(np.ones((3, 1))), probes)
        evidence = loo.evidence(loo.task.evidence)
        assert_array_equal(evidence, [[1, 2]])
        assert_array_equal(loo.gather(overlaps, probes, evidence), [[0, 0]])
        assert np.isfinite(loo.score(overlaps, probes))


class TestOverlaps:
    @given(seed=st.integers(0, 2**31), d=st.integers(1, 5))
    def test_distances_are_less_that_to_the_nearest_other(self, seed, d):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(12, d)) + 100  # far from the origin
        probes = np.array([0, 3, 11])
        expected = cdist(rows[probes], rows, "sqeuclidean")
        expected[np.arange(3), probes] = np.inf
        expected -= expected.min(axis=1, keepdims=True)
        found = squared_distances(rows, probes)
        assert_allclose(found, expected, atol=1e-10)
        assert_array_equal(found.min(axis=1), 0)

    @pytest.mark.parametrize(
        "feature_map",
        [
            FourierFeatures(n_components=10, random_state=0),
            FourierFeatures(n_components=10, form="complex", random_state=0),
            LandmarkFeatures(n_components=6, random_state=0),
        ],
        ids=repr,
    )
    def test_overlaps_are_squared_moduli(self, feature_map):
        rows, probes = labelled()[0][:15], np.array([1, 4, 14])
        states = feature_map.fit(rows).transform(rows)
        overlaps = map_overlaps(feature_map, rows, probes)
        found = np.concatenate([overlaps(slice(0, 2)), overlaps(slice(2, 3))])
        expected = [
            [abs(np.vdot(states[probe], state)) ** 2 for state in states]
            for probe in probes
        ]
        assert_allclose(found, expected, atol=1e-12)
        assert found.dtype == np.float64

    def test_kernel_is_that_of_the_distances(self):
        squares = np.arange(12.0).reshape(3, 4)
        overlaps = kernel_overlaps(squares, 0.3)
        assert_allclose(overlaps(slice(1, 3)), np.exp(-0.3 * squares[1:]))


class TestClimb:
    @given(peak=st.integers(-6, 6), start=st.floats(1e-3, 1e3))
    def test_finds_the_top_of_a_hill(self, peak, start):
        asked = []

        def height(gamma):
            asked.append(gamma)
            return -abs(np.log2(gamma / start) - peak)

        score, gamma = climb(height, start, 6)
        assert_allclose(gamma, start * 2.0**peak)
        assert score == max(map(height, list(asked)))
        assert len(set(asked)) * 2 == len(asked)  # no γ is tried twice

    @pytest.mark.parametrize(("slope", "end"), [(1, 8.0), (-1, 0.125)])
    def test_goes_so_far_and_no_further(self, slope, end):
        assert climb(lambda gamma: slope * gamma, 1.0, 3)[1] == end

    def test_no_steps_are_no_steps(self):
        asked = []
        assert climb(lambda gamma: asked.append(gamma) or 5.0, 0.3, 0) == (5.0, 0.3)
        assert asked == [0.3]

    def test_stays_on_a_plain(self):
        assert climb(lambda gamma: 1.0, 0.3, 6) == (1.0, 0.3)


class TestTasks:
    WEIGHT = np.array([1.0, 2.0, 3.0])

    def test_shares(self):
        evidence = np.array([[1.0, 3.0], [0.0, 0.0]])
        assert_array_equal(probabilities(evidence), [[0.25, 0.75], [0.5, 0.5]])

    @pytest.mark.parametrize(
        ("rows", "share"), [(1, 22.24222), (10, 0.242222), (1e6, 0.02)]
    )
    def test_classes_score_accuracy_first_where_it_says_enough(self, rows, share):
        """That is, where many rows are not of the commonest class."""
        gathered = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
        weight = rows * self.WEIGHT
        score = ClassScore(2).score(gathered, np.array([0, 0, 1]), weight)
        logs = np.log(0.999 * gathered + 0.001 * 0.5)
        doubted = 3 / (3 + 6 * rows)  # which are of any class
        own = (1 - doubted) * logs[[0, 1, 2], [0, 0, 1]] + doubted * logs.mean(axis=1)
        likelihood = np.average(own, weights=weight)
        assert_allclose(score, 4 / 6 + share * likelihood, rtol=1e-6)

    def test_of_equally_many_right_the_surer_are_better(self):
        target = np.tile([0, 1, 1], 20)
        sure = np.tile([[0.9, 0.1], [0.1, 0.9], [0.8, 0.2]], (20, 1))
        unsure = np.tile([[0.6, 0.4], [0.4, 0.6], [0.8, 0.2]], (20, 1))
        task = ClassScore(2)
        assert task.score(sure, target, None) > task.score(unsure, target, None)

    @pytest.mark.parametrize(("n", "surer"), [(30, False), (1000, True)])
    def test_but_not_surer_than_so_many_rows_can_tell(self, n, surer):
        """All are right, and three in n may yet be wrong."""
        target, task = np.arange(n) % 2, ClassScore(2)

        def score(chance):
            wrong = 1 - chance
            found = np.where(target[:, None] == np.arange(2), chance, wrong)
            return task.score(found, target, None)

        assert (score(0.999) > score(0.97)) == surer
        assert score(0.97) > score(0.8)

    def test_a_class_that_no_probe_has(self):
        found = np.array([[1.0, 0.0, 0.0], [0.2, 0.8, 0.0]])
        assert np.isfinite(ClassScore(3).score(found, np.array([0, 1]), None))

    def test_a_probability_of_zero_is_not_the_end(self):
        gathered = np.array([[1.0, 0.0]])
        assert np.isfinite(ClassScore(2).score(gathered, np.array([1]), None))

    def test_ordered_classes_score_cumulative_probabilities(self):
        gathered = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        target = np.array([2, 2, 1])
        errors = [0.2**2 + 0.5**2, 1 + 1, 0]
        score = OrderedScore(3).score(gathered, target, self.WEIGHT)
        assert_allclose(score, -np.average(errors, weights=self.WEIGHT))

    def test_ordered_classes_prefer_what_is_near(self):
        task, target = OrderedScore(3), np.array([0])
        near, far = np.array([[0.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
        assert task.score(near, target, None) > task.score(far, target, None)

    def test_values_are_scored_in_units_of_their_spread(self):
        target = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0]])
        task = ValueScore(target, None)
        evidence = task.evidence(target)
        spread = np.sqrt(8 / 3)
        assert_allclose(evidence[:, 0], 1)
        assert_allclose(evidence[:, 1] * spread + 3, target[:, 0])
        assert_array_equal(evidence[:, 2], 0)  # no spread: centred, and left there
        perfect = task.score(3 * evidence, target, self.WEIGHT)
        assert_allclose(perfect, 0, atol=1e-15)
        nothing = np.zeros((3, 3))  # then the mean of all is predicted
        expected = np.average(evidence[:, 1] ** 2 / 2, weights=self.WEIGHT)
        assert_allclose(task.score(nothing, target, self.WEIGHT), -expected)

    def test_levels_are_scored_in_units_of_their_range(self):
        target = np.array([[0.0, 1.0], [5.0, 3.0], [10.0, 5.0]])
        maps = [
            SoftmaxFeatures(n_components=5).fit(target[:, [column]])
            for column in range(2)
        ]
        task = LevelScore(maps)
        evidence = task.evidence(target)
        assert evidence.shape == (3, 10)
        assert_allclose(evidence.sum(axis=1), 2)
        means = [evidence[:, :5] @ np.linspace(0, 10, 5)]
        means.append(evidence[:, 5:] @ np.linspace(1, 5, 5))
        missed = (np.column_stack(means) - target) / [10, 4]
        expected = np.average((missed**2).mean(axis=1), weights=self.WEIGHT)
        assert_allclose(task.score(evidence, target, self.WEIGHT), -expected)

    @given(seed=st.integers(0, 2**31))
    def test_weights_are_copies(self, seed):
        rng = np.random.default_rng(seed)
        counts = rng.integers(0, 4, 9)
        counts[0] = 1
        labels, values = rng.integers(0, 3, 9), rng.normal(size=(9, 1))
        for task, again, target, width in (
            (ClassScore(3), ClassScore(3), labels, 3),
            (OrderedScore(3), OrderedScore(3), labels, 3),
            (
                ValueScore(values, counts.astype(float)),
                ValueScore(np.repeat(values, counts, axis=0), None),
                values,
                2,
            ),
        ):
            gathered = rng.random((9, width))
            assert_allclose(
                task.score(gathered, target, counts.astype(float)),
                again.score(
                    np.repeat(gathered, counts, axis=0),
                    np.repeat(target, counts, axis=0),
                    None,
                ),
            )


def choice(rows, labels, weights=None, witnesses=None, **parameters):
    """A choice that has run, and what it found."""
    shared = {
        "feature_map": "landmarks",
        "gamma": "loo",
        "n_components": 16,
        "scale": "std",
        "takes_series": True,
    }
    batch = Batch(rows, Columns(rows.shape[1]), labels, weights)
    task = ClassScore(len(np.unique(labels)))
    made = SupervisedChoice(
        PlanRequest(**{**shared, **parameters}),
        batch,
        LeaveOneOut(batch, labels, task, np.random.default_rng(0)),
        labels,
        landmarks_by_group=True,
        witnesses=witnesses,
    )
    plan = made.run()
    return made, plan.scaling, plan.feature_map, plan.gamma


class TestSupervisedChoice:
    def test_candidates_are_scored_as_they_say(self):
        """The exact kernel's scores, computed from distances one by one."""
        rows, labels = labelled()
        made, *_ = choice(rows, labels, scale="auto")
        exact = [each for each in made.candidates if each.feature_map == "exact"]
        assert len(exact) == 3 * (15 + 2)
        for candidate in exact:
            scaling = Scaling.from_rows(candidate.scale, rows, None, labels)
            scaled = scaling.apply(rows)
            distances = cdist(scaled, scaled, "sqeuclidean")
            distances -= np.where(distances > 0, distances, np.inf).min(1)[:, None]
            kernel = np.exp(-candidate.gamma * np.maximum(distances, 0))
            found = left_out_smoother(kernel, rows, np.eye(2)[labels])
            # 35 probes, five of them twice: worth 32 of one weight
            score = ClassScore(2).score(found, labels, np.full(40, 32 / 40))
            assert_allclose(candidate.score, score, atol=1e-3)
            assert candidate.n_probes == 35

    def test_where_nothing_is_approximated_the_best_kernel_wins(self):
        rows, labels = labelled(d=3)
        made, scaling, feature_map, gamma = choice(
            rows, labels, n_components=64, scale="auto"
        )
        best = max(made.candidates, key=lambda each: each.score)
        assert {each.feature_map for each in made.candidates} == {"exact"}
        assert gamma == best.gamma == feature_map.gamma
        expected = Scaling.from_rows(best.scale, rows, None, labels)
        assert_allclose(scaling.matrix, expected.matrix)
        assert len(feature_map.landmarks_) == 35

    def test_an_approximate_map_has_candidates_of_its_own(self):
        rows, labels = labelled(120)
        made, _, feature_map, gamma = choice(rows, labels)
        own = [each for each in made.candidates if each.feature_map != "exact"]
        assert {each.feature_map for each in own} == {"LandmarkFeatures"}
        assert gamma == max(own, key=lambda each: each.score).gamma
        assert feature_map.gamma == gamma
        assert {each.n_probes for each in own} == {115}  # all, in four turns

    @pytest.fixture
    def pools(self, monkeypatch):
        """Rows that maps are made from: those to try, then the final one."""
        seen = []

        class Spy(supervised.MapChooser):
            def __init__(self, request, rows, *args, **kwargs):
                seen.append(rows)
                super().__init__(request, rows, *args, **kwargs)

        monkeypatch.setattr(supervised, "MapChooser", Spy)
        return seen

    def test_landmarks_are_not_tried_on_the_rows_they_are_chosen_from(self, pools):
        rows, labels = labelled(120)
        made, *_ = choice(rows, labels, scale=None)
        _, *trials, final = pools
        turns = made.loo.turns(0.25)
        for trial, probes in zip(trials, turns, strict=True):
            assert_array_equal(trial, rows[made.loo.unprobed(probes)])
        assert_array_equal(final, rows)

    @pytest.mark.parametrize(("n_components", "spared"), [(16, True), (128, False)])
    def test_landmarks_are_not_chosen_from_witnesses(self, pools, n_components, spared):
        """Unless every row is a landmark, and nothing is approximated."""
        rows, labels = labelled(120)
        witnesses = np.arange(120) % 5 == 0
        choice(rows, labels, n_components=n_components, witnesses=witnesses, gamma=1.0)
        scaled = Scaling.from_rows("std", rows).apply(rows)
        assert_allclose(pools[-1], scaled[~witnesses] if spared else scaled)

    def test_two_maps_are_compared_where_neither_is_exact(self):
        rows, labels = labelled(120, d=3)
        made, _, feature_map, gamma = choice(rows, labels, feature_map="auto")
        tried = {each.feature_map for each in made.candidates}
        assert tried == {"exact", "LandmarkFeatures", "FourierFeatures"}
        chosen = type(feature_map).__name__
        full = [each for each in made.candidates if each.feature_map != "exact"]
        best = max(full, key=lambda each: each.score)
        assert (best.feature_map, best.gamma) == (chosen, gamma)

    def test_a_number_is_taken_as_it_is(self):
        rows, labels = labelled()
        made, scaling, feature_map, gamma = choice(rows, labels, gamma=0.3, scale=None)
        assert gamma == feature_map.gamma == 0.3
        assert scaling.is_identity
        assert made.candidates == []

    @pytest.mark.parametrize("rule", ["median", "scott", "silverman"])
    def test_a_rule_is_followed(self, rule):
        rows, labels = labelled()
        rows = rows[:35]  # no copies
        made, scaling, feature_map, gamma = choice(rows, labels[:35], gamma=rule)
        expected = gamma_by_rule(rule, scaling.apply(rows))
        assert_allclose(gamma, expected, rtol=1e-6)
        assert feature_map.gamma == gamma
        assert made.candidates == []

    @pytest.mark.parametrize("rule", ["median", "scott", "silverman"])
    def test_a_rule_counts_copies_as_weights(self, rule):
        rows, labels = labelled()
        counts = np.arange(40) % 4
        copied = np.repeat(rows, counts, axis=0), np.repeat(labels, counts)
        weighted = choice(rows, labels, counts.astype(float), gamma=rule)[3]
        assert_allclose(weighted, choice(*copied, gamma=rule)[3], rtol=1e-6)

    def test_landmarks_of_each_class(self):
        """A class of few rows far away gets a landmark of its own."""
        rows, _ = labelled(100)
        rows[:3] += 50
        labels = (np.arange(100) < 3).astype(int)
        _, scaling, feature_map, _ = choice(rows, labels, n_components=5)
        landmarks = scaling.invert(feature_map.landmarks_)
        assert (landmarks.sum(axis=1) > 50).sum() == 1
        assert feature_map.normalize

    def test_equal_rows_are_refused_unless_gamma_is_given(self):
        rows, labels = np.ones((6, 2)), np.arange(6) % 2
        with pytest.raises(ValueError, match="give gamma as a number"):
            choice(rows, labels)
        assert choice(rows, labels, gamma=2.0, scale=None)[3] == 2.0


class TestInModels:
    """What the models make of it."""

    def fit(self, rows, labels, **parameters):
        shared = {"n_components": 64, "random_state": 0}
        return DMKDClassifier(**{**shared, **parameters}).fit(rows, labels)

    def test_scalings_that_were_tried(self):
        rows, labels = labelled(60, d=3)

        def tried(**parameters):
            model = self.fit(rows, labels, **parameters)
            return {each.scale for each in model.candidates_}

        assert tried() == {"std", "common", "within"}
        assert tried(scale="robust") == {"robust"}
        assert tried(scale=None) == {None}
        assert tried(gamma=1.0, scale=None) == set()
        assert tried(gamma=1.0) == tried(gamma="scott") == tried()
        line = self.fit(rows[:, :1], labels)
        assert {each.scale for each in line.candidates_} == {"std"}

    def test_scale_without_a_choice(self):
        rows, labels = labelled(60)
        rows = rows * [1.0, 100.0]
        assert self.fit(rows, labels, gamma=0.3, scale=None).scaling_.is_identity
        chosen = self.fit(rows, labels).scaling_
        for gamma in ("scott", 0.3):
            found = self.fit(rows, labels, gamma=gamma).scaling_
            assert_allclose(found.matrix, chosen.matrix)
        given = self.fit(rows, labels, scale=[2.0, 4.0]).scaling_
        assert_allclose(given.matrix, [0.5, 0.25])

    def test_finds_the_direction_that_tells_classes_apart(self):
        """Two columns share a large noise; only their difference matters."""
        rng = np.random.default_rng(0)
        labels = np.arange(300) % 2
        shared, *noise = 2 * rng.normal(size=(4, 300))
        rows = np.column_stack([shared, shared + labels, *noise])
        rows += 0.1 * rng.normal(size=rows.shape)
        train, test = (rows[:200], labels[:200]), (rows[200:], labels[200:])
        model = self.fit(*train, n_components=256)
        assert model.score(*test) > 0.9
        rules = [each for each in model.candidates_ if each.scale != "learned"]
        assert max(rules, key=lambda each: each.score).scale == "within"
        by_rule = self.fit(*train, n_components=256, scale="within")
        assert by_rule.scaling_.matrix.shape == (5, 5)
        assert by_rule.score(*test) > 0.9
        assert self.fit(*train, n_components=256, scale="std").score(*test) < 0.8

    def test_gamma_is_near_the_best_of_a_grid(self):
        rng = np.random.default_rng(0)
        rows = rng.uniform(-1, 1, (200, 2))
        labels = (np.sin(9 * rows[:, 0]) > rows[:, 1]).astype(int)
        train, test = (rows[:120], labels[:120]), (rows[120:], labels[120:])
        chosen = self.fit(*train, feature_map="landmarks").score(*test)
        grid = [
            self.fit(*train, feature_map="landmarks", scale="std", gamma=gamma)
            for gamma in 2.0 ** np.arange(-4, 9)
        ]
        assert chosen > max(model.score(*test) for model in grid) - 0.05

    def test_an_instance_is_given_the_gamma(self):
        rows, labels = labelled(60)
        feature_map = FourierFeatures(n_components=16, form="complex")
        model = self.fit(rows, labels, feature_map=feature_map)
        assert model.feature_map_.form == "complex"
        assert model.feature_map_.gamma == model.gamma_
        assert not hasattr(feature_map, "frequencies_")

    def test_equal_seeds_choose_equally(self):
        rows, labels = labelled(120, d=3)
        first, second = (self.fit(rows, labels, n_components=16) for _ in range(2))
        assert first.fingerprint() == second.fingerprint()
        assert first.candidates_ == second.candidates_

    def test_values_choose_by_squared_error(self):
        rng = np.random.default_rng(0)
        rows = rng.uniform(-1, 1, (120, 1))
        values = np.sin(12 * rows[:, 0]) + 0.1 * rng.normal(size=120)
        model = QMRegressor(n_components=64, random_state=0).fit(rows, values)
        best = max(
            (each for each in model.candidates_ if each.feature_map == "exact"),
            key=lambda each: each.score,
        )
        assert best.score > -0.1
        assert {each.scale for each in model.candidates_} == {"std"}


class TestRankByScore:
    def brute_force(self, loo, task, states, rank):
        """Score of a rank, each row's own term taken out of what is kept."""
        evidence = loo.evidence(task.evidence)
        gathered = np.zeros(evidence.shape)
        for k, mass in enumerate(evidence.T):
            total = sum(
                m * np.outer(z, z.conj()) for m, z in zip(mass, states, strict=True)
            )
            top = np.linalg.eigh(total)[1][:, ::-1][:, :rank]
            keep = top @ top.conj().T
            for i, (m, z) in enumerate(zip(mass, states, strict=True)):
                without = keep @ (total - m * np.outer(z, z.conj())) @ keep
                gathered[i, k] = max(np.vdot(z, without @ z).real, 0)
        which, target, weight = loo.members(loo.probes())
        return task.score(gathered[which], target, weight)

    @pytest.mark.parametrize("form", ["phase", "complex"])
    @pytest.mark.parametrize("seed", range(4))
    def test_is_the_best_of_all_halvings(self, seed, form):
        rows, labels = labelled(60, seed)
        loo = left_out(rows, None, labels, ClassScore(2), np.random.default_rng(0))
        feature_map = FourierFeatures(n_components=16, form=form, random_state=0)
        states = feature_map.fit(rows).transform(loo.rows(rows))
        scores = {
            rank: self.brute_force(loo, loo.task, states, rank)
            for rank in (1, 2, 4, 8, 16)
        }
        chosen = choose_rank_by_score(loo, loo.task, states) or 16
        assert_allclose(scores[chosen], max(scores.values()), atol=1e-9)

    def test_model_measures_with_it(self):
        rows, labels = labelled(80, seed=1)
        shared = {
            "gamma": 5.0,
            "scale": None,
            "feature_map": "fourier",
            "random_state": 0,
        }
        model = DMKDClassifier(**shared, n_components=32, rank="loo").fit(rows, labels)
        by_hand = DMKDClassifier(**shared, n_components=32, rank=model.rank_)
        assert_array_equal(
            model.predict_proba(rows), by_hand.fit(rows, labels).predict_proba(rows)
        )
