"""Columns in any units, anywhere: answers as they were.

That every estimator keeps to this is a law of :mod:`rhokit.testing`; here are what the
law does not reach, and what was once wrong.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit import DMKDE, DMKDClassifier, QMRegressor
from rhokit.errors import DataError
from rhokit.io import dumps, loads

QUICK = {"n_components": 40, "random_state": 0}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=500)
    return rng.normal(size=500), 4 * label + rng.normal(size=500), label


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    return rng.normal(size=(120, 3)) @ rng.normal(size=(3, 3))


def accuracy(columns, label, **options):
    rows = np.column_stack(columns)
    model = DMKDClassifier(**QUICK, **options).fit(rows[:300], label[:300])
    return model.score(rows[300:], label[300:])


@pytest.mark.parametrize("options", [{}, {"scale": "std"}], ids=str)
def test_a_column_that_tells_all_is_not_lost(data, options):
    """Small units, and beside a column of timestamps."""
    noise, signal, label = data
    usual = accuracy([noise, signal], label, **options)
    assert usual > 0.9
    assert accuracy([noise, 1e-19 * signal], label, **options) > usual - 0.03
    times = 1.7e12 + 1e9 * np.random.default_rng(2).random(500)
    assert accuracy([times, 1e-3 * signal], label, **options) > usual - 0.03


def test_a_regressor_sees_a_column_of_small_units(rows):
    target = rows[:, 0] + np.sin(rows[:, 1])
    plain, small = (
        QMRegressor(**QUICK, scale="std").fit(rows * [unit, 1, 1], target)
        for unit in (1, 1e-16)
    )
    assert_allclose(small.predict(rows * [1e-16, 1, 1]), plain.predict(rows), atol=1e-8)


@pytest.mark.parametrize("feature_map", ["landmarks", "mosaic"])
@pytest.mark.parametrize("scale", ["std", "robust", "common"])
def test_what_is_chosen_does_not_depend_on_units(rows, scale, feature_map):
    """γ and map of a density, whose rows are all in other units."""
    options = {**QUICK, "feature_map": feature_map, "scale": scale}
    plain, large = (DMKDE(**options).fit(unit * rows) for unit in (1, 1e250))
    if feature_map == "mosaic":
        assert plain.gamma_ is large.gamma_ is None
        assert_array_equal(large.feature_map_.stops_, plain.feature_map_.stops_)
    else:
        assert_allclose(large.gamma_, plain.gamma_, rtol=1e-9)
    shift = 3 * np.log(1e250)
    found = large.score_samples(1e250 * rows) + shift
    assert_allclose(found, plain.score_samples(rows), atol=1e-8)


def test_bent_columns_do_not_depend_on_units():
    """Nor where columns are positive, so that logarithms begin at the user's zero."""
    skewed = np.random.default_rng(0).lognormal(size=(300, 3))
    units = np.array([1e-200, 3.7, 1e90])
    plain, other = (DMKDE(**QUICK).fit(skewed * each) for each in (np.ones(3), units))
    assert plain.feature_map_.kinds_.any()
    assert_array_equal(other.feature_map_.kinds_, plain.feature_map_.kinds_)
    assert_array_equal(other.feature_map_.stops_, plain.feature_map_.stops_)
    found = other.score_samples(skewed * units) + np.log(units).sum()
    assert_allclose(found, plain.score_samples(skewed), atol=1e-8)


@pytest.mark.parametrize("scale", ["std", "whiten"])
class TestExtremes:
    """Columns of 1e-300 and of 1e300 beside each other, or 1e15 spreads away."""

    units = np.array([1e-300, 1e300, 1.0])
    away = np.array([2.0**50, -(2.0**45), 2.0**40])

    def pair(self, rows, scale, change):
        options = {"gamma": 2.0, "feature_map": "landmarks", "scale": scale, **QUICK}
        return [DMKDE(**options).fit(each) for each in (rows, change(rows))]

    def test_parts_and_samples_in_other_units(self, rows, scale):
        plain, other = self.pair(rows, scale, lambda rows: rows * self.units)
        for kept in ([0, 2], [1]):
            left, right = (
                model.marginal(kept).score_samples(each[:, kept])
                for model, each in ((plain, rows), (other, rows * self.units))
            )
            shift = np.log(self.units[kept]).sum()
            assert_allclose(right + shift, left, atol=1e-9)
        drawn = (model.sample(20, random_state=0) for model in (plain, other))
        assert_allclose(next(drawn), next(drawn) / self.units, atol=1e-12)

    def test_parts_far_away(self, rows, scale):
        near = np.round(4 * rows) / 4
        plain, other = self.pair(near, scale, lambda rows: rows + self.away)
        assert other.scaling_.centre.shape == (2, 3)
        for kept in ([0, 2], [1]):
            left, right = (
                model.marginal(kept).score_samples(each[:, kept])
                for model, each in ((plain, near), (other, near + self.away))
            )
            assert_allclose(right, left, atol=1e-9)

    def test_files(self, rows, scale):
        for change in (lambda rows: rows * self.units, lambda rows: rows + self.away):
            _, other = self.pair(rows, scale, change)
            again = loads(dumps(other))
            assert again.fingerprint() == other.fingerprint()
            asked = change(rows)
            assert_array_equal(again.score_samples(asked), other.score_samples(asked))

    def test_what_is_far_from_all_rows_has_no_density(self, rows, scale):
        _, other = self.pair(rows, scale, lambda rows: rows * self.units)
        far = [[1.0, 0, 0], [1e300, 1e300, 0], [-1e308, 1e308, 1e308]]
        assert (other.score_samples(far) < -1e100).all()


def test_answers_of_series_in_other_units(rows):
    rows, unit = rows[:, :2], 1e-300
    options = {"gamma": 4.0, "scale": "std", "feature_map": "grid"}
    plain, small = (DMKDE(**options).fit(u * rows).series() for u in (1, unit))
    asked = rows[:5]
    assert_allclose(small.cdf(unit * asked), plain.cdf(asked), rtol=1e-9)
    assert_allclose(small.mean() / unit, plain.mean(), rtol=1e-9)
    given = plain.conditional({0: 0.5}), small.conditional({0: 0.5 * unit})
    assert_allclose(given[1].mean() / unit, given[0].mean(), rtol=1e-9)
    ends = np.array([-1.0, -1.0]), np.array([1.0, 0.5])
    inside = small.box_probability(*(unit * end for end in ends))
    assert_allclose(inside, plain.box_probability(*ends), rtol=1e-9)
    assert_allclose(small.entropy() - 2 * np.log(unit), plain.entropy(), rtol=1e-9)
    # No number is as large as this density; outside of its box it is zero.
    values = small.density(np.array([asked[0] * unit, [1e9, 1e9]]))
    assert_array_equal(values, [np.inf, 0])
    grid = small.on_axes([np.array([asked[0, 0] * unit, 1e9])] * 2)
    assert grid.shape == (2, 2)
    assert not np.isnan(grid).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_too_far_for_squares_are_refused_by_column(rows, dtype):
    """Where nothing is scaled there is nothing else to be done."""
    far = (rows * [1, 1e30 if dtype == np.float32 else 1e200, 1]).astype(dtype)
    label = (rows[:, 0] > 0).astype(int)
    for model in (
        DMKDE(gamma=1.0, scale=None, **QUICK),
        DMKDE(gamma="scott", scale=None, **QUICK),
        DMKDClassifier(gamma=1.0, scale=None, **QUICK),
        DMKDClassifier(scale=[1, 1, 1], **QUICK),
    ):
        with pytest.raises(DataError, match="scale='std'") as refused:
            model.fit(far, label)
        assert refused.value.column == 1
    seen = np.where(np.arange(len(rows)) == 3, 0.0, 1.0)
    rows[3] *= 1e200
    for model in (
        DMKDE(gamma=1.0, scale=None, **QUICK),
        DMKDClassifier(gamma=1.0, scale=None, **QUICK),
    ):
        model.fit(rows, label, sample_weight=seen)  # a row that is not there


def test_targets_in_extreme_units(rows):
    """Choice of γ and levels, moments and intervals follow the units."""
    target = rows[:, 0] + np.sin(rows[:, 1])
    options = {**QUICK, "scale": "std"}
    plain = QMRegressor(**options).fit(rows, target)
    mean, std = plain.predict(rows, return_std=True)
    for unit in (1e-300, 1e300):
        other = QMRegressor(**options).fit(rows, unit * target)
        assert_allclose(other.gamma_, plain.gamma_)
        found, spread = other.predict(rows, return_std=True)
        assert_allclose(found / unit, mean, atol=1e-9)
        assert_allclose(spread / unit, std, atol=1e-9)
        ends = other.predict_interval(rows) / unit
        assert_allclose(ends, plain.predict_interval(rows), atol=1e-8)
