"""A sample of rows that does not depend on how the rows came."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare

from rhokit import DMKDClassifier, QMRegressor
from rhokit.features import row_keys
from rhokit.io import dumps, loads
from rhokit.models.row_sample import RowSample
from tests.estimators.support import with_sample_of

seeds = st.integers(0, 2**31)
sizes = st.integers(1, 12)
splits = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def some_rows(seed, n, distinct=6):
    """Rows (n, 2), targets (n, 1) and weights (n,); many rows come up twice."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, distinct, (n, 2)) / 3
    return rows, rng.integers(0, 2, (n, 1)) / 7, rng.integers(1, 4, n) / 2


def sample(rows, target, weights=None, size=100):
    return RowSample.of(rows, target, weights, size)


def assert_same_sample(left, right):
    assert left.size == right.size
    assert_array_equal(left.keys, right.keys)
    assert_array_equal(left.rows, right.rows)
    assert_array_equal(left.target, right.target)
    assert_allclose(left.weight, right.weight, rtol=1e-12)
    assert left.bound == right.bound


def parts_of(arrays, lengths):
    cuts = np.cumsum(lengths)[:-1]
    return list(zip(*(np.split(array, cuts) for array in arrays), strict=True))


class TestDefinition:
    @given(seed=seeds, n=st.integers(1, 40), size=sizes)
    def test_distinct_rows_with_the_smallest_keys(self, seed, n, size):
        rows, target, weights = some_rows(seed, n)
        mass = {}
        for row, value, weight in zip(rows, target, weights, strict=True):
            mass[*row, *value] = mass.get((*row, *value), 0) + weight
        table = np.array(list(mass)).reshape(-1, 3)
        keys = row_keys(table[:, :2], table[:, 2:])
        kept = np.argsort(keys)[:size]
        found = sample(rows, target, weights, size)
        assert_array_equal(found.keys, keys[kept])
        assert_array_equal(np.column_stack([found.rows, found.target]), table[kept])
        assert_allclose(found.weight, np.array(list(mass.values()))[kept])

    @pytest.mark.parametrize("size", [1, 7, 50, 60])
    def test_never_more_rows_than_there_is_room_for(self, size):
        rows = np.random.default_rng(0).normal(size=(50, 2))
        whole = sample(rows, rows[:, 0], size=size)
        assert len(whole.keys) == len(whole.rows) == len(whole.weight) == min(size, 50)
        more = whole + sample(rows + 1, rows[:, 0], size=size)
        assert len(more.keys) == min(size, 100)

    def test_rows_of_no_weight_are_not_there(self):
        rows, target, _ = some_rows(0, 20)
        seen = np.arange(20) % 2
        assert_same_sample(
            sample(rows, target, seen.astype(float)),
            sample(rows[seen == 1], target[seen == 1]),
        )

    def test_rows_that_faded_to_nothing_are_not_there(self):
        rows, target, _ = some_rows(0, 20)
        faded = sample(rows, target).scale(1e-200).scale(1e-200)
        assert_same_sample(faded, sample(rows, target, np.zeros(20)))

    @given(seed=seeds, counts=st.lists(st.integers(0, 4), min_size=1, max_size=20))
    def test_weight_k_is_k_copies(self, seed, counts):
        counts[0] = max(counts[0], 1)
        rows, target, _ = some_rows(seed, len(counts))
        weighted = RowSample.of(rows, target, np.array(counts, float), 5)
        copies = np.repeat(rows, counts, axis=0), np.repeat(target, counts, axis=0)
        assert_same_sample(weighted, RowSample.of(*copies, None, 5))

    def test_what_was_given_stays_as_it_is(self):
        rows, target, weights = some_rows(0, 30)
        copies = rows.copy(), target.copy(), weights.copy()
        first = sample(rows, target, weights, 5)
        weight = first.weight.copy()
        first + first
        first - first
        for now, before in zip((rows, target, weights), copies, strict=True):
            assert_array_equal(now, before)
        assert_array_equal(first.weight, weight)


class TestSums:
    @given(
        seed=seeds, lengths=splits, size=sizes, order=st.randoms(use_true_random=False)
    )
    def test_any_split_in_any_order_is_all_at_once(self, seed, lengths, size, order):
        arrays = some_rows(seed, sum(lengths))
        parts = parts_of(arrays, lengths)
        order.shuffle(parts)
        total = sample(*parts[0], size)
        for part in parts[1:]:
            total += sample(*part, size)
        assert_same_sample(total, sample(*arrays, size))

    @given(seed=seeds, size=sizes)
    def test_brackets_and_sides_do_not_matter(self, seed, size):
        a, b, c = (sample(*some_rows(seed + i, 15), size) for i in range(3))
        assert_same_sample((a + b) + c, a + (b + c))
        assert_same_sample(a + b, b + a)


class TestForgetting:
    @given(seed=seeds, n=st.integers(1, 20), gone=st.integers(1, 20))
    def test_forgotten_is_never_seen(self, seed, n, gone):
        kept = sample(*some_rows(seed, n))
        lost = sample(*some_rows(seed + 1, gone))
        assert_same_sample((kept + lost) - lost, kept)

    @given(seed=seeds, size=sizes, steps=st.lists(st.booleans(), max_size=12))
    def test_all_rows_below_the_bound_are_there(self, seed, size, steps):
        """Whatever comes and goes: so the sample is fair to all rows that there are."""
        batches, held = [some_rows(seed + i, 9) for i in range(len(steps) + 1)], [0]
        found = sample(*batches[0], size)
        for step, learns in enumerate(steps, 1):
            if learns or len(held) == 1:
                found += sample(*batches[step], size)
                held.append(step)
            else:
                gone = held.pop(seed % len(held))
                found -= sample(*batches[gone])
            parts = zip(*(batches[i] for i in held), strict=True)
            there = sample(*(np.concatenate(part) for part in parts))
            found = found.whole(there.weight.sum())
            if not len(found.keys):
                return  # from here on it is a sample of the rows that come
            assert len(found.keys) <= size
            expected = there.below(found.bound)
            assert_same_sample(found, replace(expected, size=size))

    def test_what_remains_is_no_more_new_than_old(self):
        """Half of the rows are forgotten, and half as many come: a third is new."""
        rows = np.random.default_rng(0).normal(size=(20_000, 1))
        old, gone, new = rows[:8_000], rows[8_000:16_000], rows[16_000:]
        found = sample(rows[:16_000], rows[:16_000, 0], size=1000)
        found -= sample(gone, gone[:, 0], size=8_000)
        found += sample(new, new[:, 0], size=1000)
        assert abs(np.isin(found.rows, new).mean() - 1 / 3) < 0.06
        kept = np.concatenate([old, new])
        never = sample(kept, kept[:, 0], size=1000)
        assert_array_equal(found.keys, never.keys[: len(found.keys)])
        assert 600 < len(found.keys) < 900

    def test_when_all_who_made_room_are_gone_there_is_room_again(self):
        rows, target, weights = some_rows(0, 30, 50)
        order = np.argsort(row_keys(rows, target))
        first = [each[order] for each in (rows, target, weights)]
        kept, gone = ([each[part] for each in first] for part in np.s_[:8, 8:])
        found = sample(*first, 10) - sample(*gone)
        assert found.whole(99.0).bound is not None
        assert_same_sample(found.whole(kept[2].sum()), sample(*kept, 10))

    def test_a_sample_of_which_nothing_is_left_begins_anew(self):
        first, second = some_rows(0, 30, 50), sample(*some_rows(1, 30, 50), 10)
        found = sample(*first, 10)
        assert_same_sample((found - found).whole(99.0) + second, second)

    def test_one_of_two_copies(self):
        rows, target = np.ones((2, 1)), np.zeros(2)
        left = sample(rows, target) - sample(rows[:1], target[:1])
        assert_array_equal(left.weight, [1.0])

    def test_strangers_change_nothing(self):
        mine, other = (
            sample(*some_rows(0, 9), 5),
            sample(np.full((3, 2), 99.0), np.ones((3, 1))),
        )
        assert_same_sample(mine - other, mine)

    def test_when_all_is_forgotten_one_may_start_again(self):
        first, second = sample(*some_rows(0, 9)), sample(*some_rows(1, 9))
        empty = first - first
        assert len(empty.keys) == len(empty.rows) == 0
        assert_same_sample(empty + second, second)
        assert_same_sample(empty - second, empty)


class TestKeys:
    @pytest.mark.parametrize(
        "rows",
        [
            np.random.default_rng(0).normal(size=(100_000, 3)),
            np.random.default_rng(0).normal(size=(100_000, 3)).astype(np.float32),
            np.stack(np.meshgrid(*[np.arange(47)] * 3), -1).reshape(-1, 3),
            1 + np.arange(100_000)[:, None] * np.finfo(float).eps,
            np.ldexp(1.0, np.arange(-1000, 1000))[:, None],
        ],
        ids=["normal", "single", "integers", "last bits", "powers of two"],
    )
    def test_different_rows_have_different_keys(self, rows):
        keys = row_keys(rows, np.zeros(len(rows)))
        assert len(np.unique(keys)) == len(np.unique(rows, axis=0)) == len(rows)

    @pytest.mark.parametrize(
        "rows",
        [
            np.linspace(0, 1, 40_000)[:, None],
            np.stack(np.meshgrid(*[np.arange(200)] * 2), -1).reshape(-1, 2),
            np.sort(np.random.default_rng(0).normal(size=(40_000, 1)), axis=0),
        ],
        ids=["line", "integers", "normal"],
    )
    def test_the_choice_is_uniform(self, rows):
        """Of 40,000 rows in order, each twentieth gives its share of 2,000."""
        chosen = sample(rows, np.zeros(len(rows)), size=2000)
        place = {tuple(row): i for i, row in enumerate(rows.tolist())}
        order = np.array([place[tuple(row)] for row in chosen.rows.tolist()])
        counts = np.bincount(order // 2000, minlength=20)
        assert chisquare(counts).pvalue > 1e-3

    def test_choice_does_not_depend_on_the_target(self):
        """Equal rows with targets in order: their mean is that of all."""
        target = np.linspace(0, 1, 20_000)
        chosen = sample(np.zeros((20_000, 1)), target, size=2000)
        assert abs(chosen.target.mean() - 0.5) < 4 / np.sqrt(12 * 2000)

    def test_target_and_place_of_a_number_matter(self):
        rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
        target = np.array([3.0, 3.0, 4.0, 2.0])
        assert len(np.unique(row_keys(rows, target))) == 4

    def test_one_zero_only(self):
        keys = row_keys(np.array([[0.0], [-0.0]]), np.array([-0.0, 0.0]))
        assert keys[0] == keys[1]

    def test_precision_and_layout_do_not_matter(self):
        rows = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
        target = np.random.default_rng(1).normal(size=(20, 2))
        keys = row_keys(rows, target)
        assert keys.dtype == np.uint64
        wide = np.asfortranarray(rows.astype(np.float64))
        assert_array_equal(row_keys(wide, np.asfortranarray(target)), keys)
        assert_array_equal(row_keys(rows[::-1], target[::-1]), keys[::-1])


class TestNames:
    """Rows of text, and targets that are called something else later."""

    COLOURS = np.array([["red", "big"], ["blue", "big"], ["red", "small"]] * 4)

    @pytest.mark.parametrize("dtype", [str, object])
    def test_text_rows(self, dtype):
        rows, target = self.COLOURS.astype(dtype), np.repeat([0.0, 1.0], 6)
        whole = sample(rows, target)
        assert len(whole.keys) == 6
        assert_array_equal(whole.weight, np.full(6, 2.0))
        halves = sample(rows[:5], target[:5]) + sample(rows[5:], target[5:])
        assert_same_sample(halves, whole)

    def test_text_keys_do_not_depend_on_the_width_of_the_strings(self):
        wide = np.append(self.COLOURS, [["ultramarine", "enormous"]], axis=0)
        target = np.zeros(13)
        keys = row_keys(self.COLOURS, target[:12])
        assert_array_equal(row_keys(wide, target)[:12], keys)

    def test_text_rows_with_commas_stay_apart(self):
        rows = np.array([["a, b", "c"], ["a", "b, c"], ["a', 'b", "c"]], object)
        assert len(np.unique(row_keys(rows, np.zeros(3)))) == 3

    def test_targets_may_be_named_anew(self):
        rows, names = np.arange(6.0)[:, None], np.array([5, 7, 5, 7, 5, 7])
        codes, other = np.array([0, 1] * 3), np.array([2, 0] * 3)
        first = RowSample.of(rows, codes, None, 4, names)
        second = RowSample.of(rows, other, None, 4, names)
        assert_array_equal(first.keys, second.keys)
        assert_same_sample(first.with_target(second.target), second)

    def test_holds_what_it_kept(self):
        rows, target, weights = some_rows(0, 40)
        kept = sample(rows, target, weights, 5)
        expected = np.isin(row_keys(rows, target), kept.keys)
        assert_array_equal(kept.holds(rows, target), expected)
        assert 5 <= expected.sum() < 40
        assert not kept.holds(rows + 99, target).any()


@pytest.mark.parametrize("through", ["rows", "models"])
@pytest.mark.parametrize(
    "model",
    [
        QMRegressor(
            gamma=1.0, scale=None, n_levels=5, beta=4.0, bounds=(-9, 9), random_state=0
        ),
        DMKDClassifier(
            gamma=1.0, scale=None, reject=0.1, reject_label=-1, random_state=0
        ),
    ],
    ids=["values", "classes"],
)
def test_models_that_forget_keep_a_fair_sample(model, through):
    """Rows that were never seen leave the first rows of the sample, and no others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X[:, 0] if isinstance(model, QMRegressor) else (X[:, 0] > 0) + 0
    empty = with_sample_of(60, model.prepare(X, y))

    def learned(*parts):
        made = empty.blank()
        for part in parts:
            made.partial_fit(X[part], y[part])
        return made

    old, gone, new = np.split(np.arange(500), [200, 400])
    found = learned(old, gone)
    if through == "rows":
        found.unlearn(X[gone], y[gone])
    else:
        found.unmerge(learned(gone))
    found.partial_fit(X[new], y[new])
    never = learned(old, new)
    kept = len(found.sample_.keys)
    assert 20 < kept < 60
    assert_array_equal(found.sample_.keys, never.sample_.keys[:kept])
    again = loads(dumps(found))
    assert again.sample_.bound == found.sample_.bound
    # Down to as many rows as there is room for, all is as it would be.
    few = np.isin(X[:, 0], found.sample_.rows[:, 0])
    for part in (old, new):
        again.unlearn(X[part[~few[part]]], y[part[~few[part]]])
    again.partial_fit(X[gone[:9]], y[gone[:9]])
    exact = learned(np.flatnonzero(few), gone[:9])
    assert_array_equal(again.sample_.keys, exact.sample_.keys)
    assert again.sample_.bound == exact.sample_.bound
    assert_allclose(again.score_samples(X), exact.score_samples(X), atol=1e-6)
    if isinstance(model, QMRegressor):
        intervals = again.predict_interval(X), exact.predict_interval(X)
        assert_allclose(*intervals, atol=1e-6)
    else:
        assert_allclose(again.threshold_, exact.threshold_, atol=1e-6)
