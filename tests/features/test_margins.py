"""Quantiles of columns that splines are made of: what they are where values repeat."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.features.cells import CellMixture
from rhokit.features.ends import ColumnEnds
from rhokit.features.margins import Margins
from rhokit.features.shape_fields import reading_of
from rhokit.features.shapes import ColumnShapes

N = 5000


def margins(x, mass=None):
    mass = np.ones(len(x)) if mass is None else mass
    ends = [ColumnEnds.of(x, mass, -np.inf, x.min(), x.max())]
    return Margins.of(x[:, None], mass, reading_of(ends))


COLUMNS = {
    "numbers": lambda rng: rng.lognormal(size=N),
    "whole numbers": lambda rng: rng.poisson(30, size=N).astype(float),
    "zeros": lambda rng: rng.exponential(size=N) * (rng.random(N) < 0.98),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_levels_are_shares_of_rows(name):
    x = COLUMNS[name](np.random.default_rng(0))
    found = margins(x)
    below = (x[:, None] < found.values[:, 0]).mean(axis=0)
    upto = (x[:, None] <= found.values[:, 0]).mean(axis=0)
    # Between values there is none; in the middle of one, half of it counts.
    assert_allclose(found.levels[:, 0], (below + upto) / 2, atol=1e-9)
    assert (np.diff(found.levels[:, 0]) >= 0).all()


def test_many_rows_of_one_value_have_its_middle_and_where_it_ends():
    x = COLUMNS["zeros"](np.random.default_rng(0))
    share = (x == 0).mean()
    found = margins(x)
    assert found.values[0, 0] == 0
    assert_allclose(found.levels[0, 0], share / 2)
    is_end = np.isclose(found.levels[:, 0], share)
    assert is_end.any()
    assert (found.values[is_end, 0] > 0).all()


def test_whole_numbers_end_half_a_step_after():
    found = margins(COLUMNS["whole numbers"](np.random.default_rng(0)))
    assert_allclose(np.remainder(found.values[3:-3], 1), 0.5, atol=1e-9)


def test_weights_are_copies():
    rng = np.random.default_rng(0)
    x, counts = rng.normal(size=N), rng.integers(1, 4, N)
    copies, weighed = margins(np.repeat(x, counts)), margins(x, counts.astype(float))
    assert_array_equal(copies.values, weighed.values)
    assert_allclose(copies.levels, weighed.levels)


def test_few_rows_know_no_tails():
    assert not len(margins(np.random.default_rng(0).normal(size=1000)).levels)
    assert not margins(np.random.default_rng(0).normal(size=3000)).has_tails


def test_masses_of_some_rows_get_the_shares_of_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 2)) @ [[1, 0.5], [0, 1]]
    every = Margins.of(X, np.ones(len(X)), reading_of([ColumnEnds(), ColumnEnds()]))
    some = X[:20_000]
    mass = every.raked(some, np.full(len(some), 2.0))
    assert_allclose(mass.sum(), 2.0 * len(some), rtol=1e-3)
    for x, levels, values in zip(some.T, every.levels.T, every.values.T, strict=True):
        known = np.minimum(levels, 1 - levels) > 9e-4
        own = [mass[x <= value].sum() / mass.sum() for value in values[known]]
        assert_allclose(own, levels[known], rtol=0.03)


def test_splines_bring_quantiles_to_those_of_the_mixture():
    x = np.random.default_rng(0).lognormal(size=N)
    found, shapes = margins(x), ColumnShapes.lines(1)
    mixture = CellMixture(
        np.zeros(1), np.full((1, 1), 2.0), np.full((1, 1, 1), 3.0), np.zeros((1, 0))
    )
    splines = found.splines(shapes, mixture, most_torn=1.0)
    z, _ = shapes.mended(splines).apply(found.values)
    assert_allclose(mixture.cdf(0, z[:, 0]), found.levels[:, 0], rtol=1e-9)
    assert_array_equal(
        found.splines(shapes, mixture, most_torn=0.02).knots,
        found.splines(shapes, mixture, most_torn=0.02).values,
    )  # so far that no row would be left in the cell
