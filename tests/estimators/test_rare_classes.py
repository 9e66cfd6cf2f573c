"""Choices for classes of which few rows are there: samples that keep them, scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rhokit import DMKDClassifier
from rhokit.batch import Batch, Columns
from rhokit.plans import leave_one_out
from rhokit.plans.leave_one_out import LeaveOneOut, allotted
from rhokit.readouts.tasks import ClassScore, OrderedScore, ValueScore

GAP = 2.5


def two_gaussians(n, share, seed):
    """Rows in two columns, few of them of a class that lies 2.5 away in each."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 2)) + GAP * labels[:, None], labels


def log_loss(log_odds, labels):
    return np.logaddexp(0, np.where(labels == 1, -log_odds, log_odds)).mean()


def left_out(rows, target, task, weights=None):
    batch = Batch(rows, Columns(rows.shape[1]), None, weights)
    return LeaveOneOut(batch, target, task, np.random.default_rng(0))


def few_of_many(n=4000, n_rare=40, seed=0):
    """Rows with copies, labels of two common classes and a rare one, and weights."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2))
    rows[-n // 10 :] = rows[: n // 10]
    labels = rng.integers(0, 2, n)
    labels[rng.choice(n, n_rare, replace=False)] = 2
    return rows, labels, rng.uniform(0.5, 2, n)


class TestAllotted:
    @given(
        sizes=st.lists(st.integers(0, 10_000), min_size=1, max_size=9).filter(any),
        most=st.integers(1, 5000),
    )
    def test_law(self, sizes, most):
        sizes = np.array(sizes)
        counts = allotted(sizes, most)
        assert counts.sum() == min(most, sizes.sum())
        assert (counts <= sizes).all()
        assert (counts >= np.minimum(sizes, most // (2 * (sizes > 0).sum()))).all()
        # What is not rare is taken in proportion.
        shares = sizes * most / sizes.sum()
        common = counts > np.ceil(most / (2 * (sizes > 0).sum()))
        assert (counts[common] <= np.ceil(shares[common])).all()

    def test_proportional_without_rare_ones(self):
        assert_array_equal(
            allotted(np.array([3000, 5000, 2000]), 1000), [300, 500, 200]
        )

    def test_a_rare_one_is_taken_whole(self):
        assert_array_equal(allotted(np.array([49_950, 50]), 5000), [4950, 50])

    def test_half_of_an_equal_part(self):
        assert_array_equal(allotted(np.array([900_000, 9000]), 1000), [750, 250])


class TestSample:
    @pytest.fixture(autouse=True)
    def _few(self, monkeypatch):
        monkeypatch.setattr(leave_one_out, "MOST_ROWS", 600)
        monkeypatch.setattr(leave_one_out, "_MOST_PROBES", 120)

    @pytest.mark.parametrize("task", [ClassScore(3), OrderedScore(3)], ids=type)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_keeps_the_rare_class_and_all_shares(self, task, weighted):
        rows, labels, weights = few_of_many()
        loo = left_out(rows, labels, task, weights if weighted else None)
        mass = loo.evidence(task.evidence).sum(axis=0)
        whole = np.bincount(labels, weights if weighted else None)
        assert_allclose(mass / mass.sum(), whole / whole.sum())
        everything = np.arange(loo.n_distinct)
        assert (loo.members(everything)[1] == 2).sum() == 40

    @pytest.mark.parametrize("share", [0.25, 1.0])
    def test_probes_keep_the_rare_class_and_all_shares(self, share):
        rows, labels, weights = few_of_many()
        rows += np.linspace(0, 1e-3, len(rows))[:, None]  # no copies
        loo = left_out(rows, labels, ClassScore(3), weights)
        probes = loo.probes(share)
        few = loo.some_of(probes, 60)
        assert np.isin(few, probes).all()
        assert 40 <= len(few) < len(probes) == 120
        whole = np.bincount(labels, weights)
        for some, least in ((probes, min(20, 40 * share)), (few, 10)):
            _, target, weight = loo.members(some)
            assert least <= (target == 2).sum() <= max(1, 40 * share)
            assert_allclose(
                np.bincount(target, weight) / weight.sum(), whole / whole.sum()
            )

    def test_a_rare_class_is_left_to_choose_landmarks_from(self):
        rows, labels, _ = few_of_many(n_rare=4)
        loo = left_out(rows, labels, ClassScore(3))
        probed = labels[~loo.unprobed(loo.probes(0.25))]
        assert 1 <= (probed == 2).sum() < 4

    def test_without_a_rare_class_all_rows_are_alike(self):
        labels = np.repeat([0, 1, 5], [60, 40, 20])
        assert_array_equal(ClassScore(6).strata(labels), np.zeros(120))
        assert_array_equal(ClassScore(6).strata(labels[:-1]), labels[:-1])

    def test_a_group_of_copies_counts_as_its_rarest_class(self):
        """So that the copies of a rare row are probed, whatever their labels."""
        rows = np.arange(2000.0)[:, None]
        rows[:10] = rows[1000:1010]
        labels = np.zeros(2000, int)
        labels[:10] = 1
        loo = left_out(rows, labels, ClassScore(2))
        _, target, _ = loo.members(loo.probes())
        assert (target == 1).sum() == 10

    @pytest.mark.parametrize("unit", [1e-250, 1.0, 1e250])
    def test_weights_add_up_to_the_rows_that_they_are_worth(self, unit):
        rows = np.arange(4.0)[:, None]
        labels, weights = np.array([0, 1, 0, 1]), np.array([1.0, 1, 2, 0]) * unit
        loo = left_out(rows, labels, ClassScore(2), weights)
        weight = loo.members(loo.probes())[2]
        assert_allclose(weight, np.array([1, 1, 2]) * 16 / 6 / 4)

    def test_values_are_sampled_evenly(self):
        """Of values, every row has the same chance, and its own weight."""
        rows, _, weights = few_of_many()
        values = np.arange(4000.0)[:, None]
        loo = left_out(rows, values, ValueScore(values, weights), weights)
        kept = np.random.default_rng(0).choice(len(rows), 600, replace=False)
        assert_allclose(loo.mass.sum(), weights[kept].sum())
        probes = loo.probes()
        assert_array_equal(probes, np.linspace(0, loo.n_distinct - 1, 120).astype(int))
        _, target, weight = loo.members(probes)
        ratio = weight / weights[target[:, 0].astype(int)]
        assert_allclose(ratio, ratio[0])
        assert_array_equal(loo.some_of(probes, 50), probes[::2])


class TestScore:
    def gathered(self, probability, n):
        return np.tile([1 - probability, probability], (n, 1))

    def test_few_to_be_told_apart_are_scored_by_likelihood(self):
        """A wrong answer less does not make up for probabilities that are worse."""
        labels = np.repeat([0, 1], [999, 1])
        fair = self.gathered(0.001, 1000)
        lucky = self.gathered(1e-9, 1000)
        lucky[-1] = 0.49, 0.51
        lucky[:50] = 0.6, 0.4
        score = ClassScore(2).score
        ones = np.ones(1000)
        assert score(lucky, labels, ones) < score(fair, labels, ones)
        # Had the class as many rows as the other, it would.
        even = np.where(labels == 1, 999.0, 1.0)
        assert score(lucky, labels, even) > score(fair, labels, even)

    def test_an_impossible_class_costs_the_more_the_rarer_it_is(self):
        labels = np.repeat([0, 1], [90, 10])
        score = ClassScore(2).score
        sure = np.eye(2)[labels]
        best = score(sure, labels, np.ones(100))
        rare, common = sure.copy(), sure.copy()
        rare[-1], common[0] = (1, 0), (0, 1)
        losses = [best - score(each, labels, np.ones(100)) for each in (rare, common)]
        assert np.isfinite(losses).all()
        assert losses[0] > losses[1] > 0.01


def test_gamma_of_a_rare_class_does_not_depend_on_luck():
    draws = [two_gaussians(12_000, 1 / 400, seed) for seed in range(4)]
    check(draws, n_components=128, scale="std", excess=1.4)


@pytest.mark.slow
def test_gamma_of_a_class_of_one_in_a_thousand():
    draws = [two_gaussians(50_000, 1 / 1000, seed) for seed in range(6)]
    check(draws, excess=1.25)


def check(draws, excess, **parameters):
    share = np.mean([labels.mean() for _, labels in draws])
    rows, labels = two_gaussians(100_000, share, 1000)
    true = np.log(share / (1 - share)) + (GAP * rows - GAP**2 / 2).sum(axis=1)
    least = log_loss(true, labels)
    fitted = [DMKDClassifier(random_state=0, **parameters).fit(*draw) for draw in draws]
    gammas = [each.gamma_ for each in fitted]
    losses = [log_loss(each.decision_function(rows), labels) for each in fitted]
    assert max(gammas) < 10 * min(gammas)
    assert max(losses) < excess * least
