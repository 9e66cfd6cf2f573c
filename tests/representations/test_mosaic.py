"""States of mosaics: sums by cells, written out; they add, subtract, scale."""

import functools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from rhokit import DMKDE
from rhokit.features import MosaicFeatures
from tests.representations.mosaic_oracle import (
    slow_cells,
    slow_log_density,
    slow_memberships,
)


def numbers(n=240, seed=0):
    """Three clusters; one column is skewed, another has heavy tails."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 3 * rng.integers(3, size=(n, 1))
    X[:, 1] = np.exp(X[:, 1] / 2)
    X[:, 2] = rng.standard_t(3, size=n) * 10
    return X


def frame(n=240, seed=0):
    """Numbers and two columns of categories that follow them."""
    X, rng = numbers(n, seed), np.random.default_rng(seed + 1)
    colour = np.digitize(X[:, 0] + rng.normal(size=n), [1.0, 4.0])
    size = (X[:, 1] > 3).astype(int)
    return pd.DataFrame(
        {
            "a": X[:, 0],
            "colour": pd.Categorical.from_codes(colour, ["red", "green", "blue"]),
            "b": X[:, 1],
            "size": pd.Categorical.from_codes(size, ["S", "L"]),
        }
    )


DATA = {"numbers": numbers, "mixed": frame}
EVERY_KIND = pytest.mark.parametrize("kind", list(DATA))


@functools.cache
def fitted(kind):
    few = MosaicFeatures(n_cells=10)
    return DMKDE(feature_map=few, random_state=0).fit(DATA[kind]())


def total(model):
    return model.model_.state.total


@EVERY_KIND
class TestSums:
    def test_are_a_slow_loop_of_responsibilities(self, kind):
        model, rows = fitted(kind), DATA[kind](40, seed=5)
        found = total(model.blank().partial_fit(rows))[0]
        expected = np.zeros_like(found)
        columns, members = slow_memberships(model, rows)
        for features, member in zip(columns, members, strict=True):
            expected += np.outer(member, features)
        assert_allclose(found, expected, 1e-9, 1e-9)

    def test_merge(self, kind):
        model, rows = fitted(kind), DATA[kind]()
        parts = [model.blank().partial_fit(rows[i::3]) for i in range(3)]
        merged = parts[2].merge(parts[0]).merge(parts[1])
        scale = np.abs(total(model)).max()
        assert_allclose(total(merged) / scale, total(model) / scale, 0, 1e-12)
        found, expected = merged.score_samples(rows), model.score_samples(rows)
        assert_allclose(found, expected, 1e-10)

    def test_unlearn(self, kind):
        model, rows = fitted(kind), DATA[kind]()
        less = model.blank().partial_fit(rows).unlearn(rows[:100])
        never = model.blank().partial_fit(rows[100:])
        scale = np.abs(total(model)).max()
        assert_allclose(total(less) / scale, total(never) / scale, 0, 1e-12)
        found, expected = less.score_samples(rows), never.score_samples(rows)
        assert_allclose(found, expected, 1e-8)

    def test_weights_are_copies(self, kind):
        model, rows = fitted(kind), DATA[kind](50)
        counts = np.arange(50) % 4
        weighed = model.blank().partial_fit(rows, sample_weight=counts)
        places = np.repeat(np.arange(50), counts)
        copies = rows.iloc[places] if kind == "mixed" else rows[places]
        copied = model.blank().partial_fit(copies)
        assert_allclose(total(weighed), total(copied), 1e-12, 1e-10)

    def test_order_and_batches_change_nothing(self, kind):
        model, rows = fitted(kind), DATA[kind]()
        other = model.blank()
        for start in range(0, 240, 70):
            batch = rows[::-1][start : start + 70]
            other.partial_fit(batch)
        scale = np.abs(total(model)).max()
        assert_allclose(total(other) / scale, total(model) / scale, 0, 1e-12)

    def test_fading_leaves_the_density(self, kind):
        model, rows = fitted(kind), DATA[kind]()
        faded = model.blank().partial_fit(rows).fade(0.01)
        assert_allclose(total(faded), 0.01 * total(model), 1e-12)
        found, expected = faded.score_samples(rows), model.score_samples(rows)
        assert_allclose(found, expected, 1e-9)


@EVERY_KIND
def test_density_is_a_slow_loop_over_cells(kind):
    model, rows = fitted(kind), DATA[kind](60, seed=7)
    expected = slow_log_density(model, rows)
    assert_allclose(model.score_samples(rows), expected, 1e-6, 1e-6)


@EVERY_KIND
def test_cells_weigh_one_in_every_layer(kind):
    weights = [np.exp(log) for log, *_ in slow_cells(fitted(kind))]
    assert_allclose(sum(weights), 1, 1e-12)


def unlearned(model, rows, i):
    """Log-density of a row by the model without it."""
    own = rows[i : i + 1]
    return model.blank().partial_fit(rows).unlearn(own).score_samples(own)[0]


@EVERY_KIND
def test_rows_left_out_are_unlearned_and_asked(kind):
    model, rows = fitted(kind), DATA[kind]()
    found = model.score_samples(rows, leave_one_out=True)[:30]
    assert_allclose(found, [unlearned(model, rows, i) for i in range(30)], 1e-8)
    assert (found < model.score_samples(rows)[:30]).all()


def test_a_row_left_out_of_its_own_cell():
    """A cell that held one row alone is gone without it."""
    X = np.concatenate([numbers(), [[40.0, 900.0, -80.0]]])
    few = MosaicFeatures(n_cells=30)
    model = DMKDE(feature_map=few, random_state=0).fit(X)
    found = model.score_samples(X, leave_one_out=True)[-1]
    assert_allclose(found, unlearned(model, X, len(X) - 1), 1e-8)


def test_rows_of_a_cell_as_narrow_as_can_be_are_left_out():
    """Where copies make a cell, its least variance is all that it has."""
    few = np.repeat([[3.0, -3.0], [4.0, 4.0]], 3, axis=0)
    X = np.concatenate([np.random.default_rng(0).normal(size=(60, 2)), few])
    model = DMKDE(feature_map="mosaic", random_state=0).fit(X)
    found = model.score_samples(X, leave_one_out=True)
    wanted = [unlearned(model, X, i) for i in range(len(X))]
    assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_cells_that_forgot_all_their_rows_are_gone():
    apart = np.random.default_rng(0).normal(size=(80, 2)) * 1e-3 + [50.0, -50.0]
    X = np.concatenate([np.random.default_rng(1).normal(size=(200, 2)), apart])
    model = DMKDE(feature_map="mosaic", random_state=0).fit(X).unlearn(apart)
    alone = model.blank().partial_fit(X[:200])
    queries = X[::7]
    wanted = np.exp(alone.score_samples(queries))
    found = np.exp(model.score_samples(queries))
    assert_allclose(found, wanted, rtol=0, atol=1e-6 * wanted.max())


def test_classes_of_rows_are_sums_of_their_own():
    """Two halves of the rows measure what the mixture of both does."""
    model, X = fitted("numbers"), numbers()
    halves = [model.blank().partial_fit(part) for part in (X[:80], X[80:])]
    member = slow_memberships(model, X)[1]
    assert_allclose(total(halves[0])[0, :, 0], member[:80].sum(axis=0), 1e-9, 1e-9)
    assert_allclose(total(halves[1])[0, :, 0], member[80:].sum(axis=0), 1e-9, 1e-9)


@functools.cache
def fitted_straight():
    """Rows of straight columns, two of which are all but equal, and their mosaic."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    X[:, 3] = X[:, 0] + 1e-4 * rng.normal(size=1000)
    few = MosaicFeatures(n_cells=10)
    return X, DMKDE(feature_map=few, random_state=0).fit(X)


@pytest.mark.parametrize("far", [1e3, 1e5, 1e7, 1e9, 1e20])
def test_far_rows_are_no_end(far):
    """A row at any distance leaves a density that can be asked for the others."""
    X, model = fitted_straight()
    row = np.full((1, 4), far)
    more = model.blank().partial_fit(X).partial_fit(row)
    found = more.score_samples(np.concatenate([X, row]))
    assert np.isfinite(found).all()
    assert np.median(np.abs(found[:-1] - model.score_samples(X))) < 0.5
    assert np.isfinite(more.unlearn(row).score_samples(X)).all()


def test_overlap_is_at_most_one():
    model, X = fitted("numbers"), numbers()
    representation = model.model_.representation
    alone = model.blank().partial_fit(X[:1])
    vector = representation.overlap_vector(alone.model_.state)
    assert vector @ vector <= 1 + 1e-12
    whole = representation.overlap_vector(model.model_.state)
    assert 0 < vector @ whole <= 1


def test_final_moments_say_the_same_and_learn_no_more():
    model, X = fitted("numbers"), numbers()
    compact = model.compact()
    assert_allclose(compact.score_samples(X), model.score_samples(X), 1e-7)
    with pytest.raises((ValueError, TypeError)):
        compact.partial_fit(X)


def test_logarithms_of_classes_add_up():
    """Memberships by the router's logarithms are those of a slow softmax."""
    model, X = fitted("numbers"), numbers(20, seed=3)
    columns, _ = model.feature_map_.columns(model.scaling_.apply(X))
    rows = model.feature_map_.cell_rows(columns)
    logits = rows.features @ model.feature_map_.router_
    start, parts = 0, []
    for stop in model.feature_map_.stops_:
        own = logits[:, start:stop]
        parts.append(np.exp(own - logsumexp(own, axis=1, keepdims=True)))
        start = stop
    found = model.feature_map_.memberships(rows)
    assert_allclose(found, np.concatenate(parts, axis=1), 1e-12, 1e-300)
    assert_array_equal(found.shape, (20, model.feature_map_.n_cells_))
