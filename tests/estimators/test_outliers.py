"""Outliers: p-values, recognised rows, cleaning, thresholds, gaps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_spd_matrix
from sklearn.metrics import roc_auc_score

from benchmarks import real_data
from rhokit import DMKDOutlierDetector
from rhokit.batch import Batch
from rhokit.readouts.distances import Ellipsoid, NearestRows
from rhokit.readouts.evidence import DensityView
from rhokit.readouts.tails import Tail


def rows_of(n, d=4, seed=0):
    """Rows of correlated columns, some of them skewed."""
    rng = np.random.default_rng(seed)
    rows = rng.multivariate_normal(np.zeros(d), make_spd_matrix(d, random_state=0), n)
    rows[:, 0] = np.exp(rows[:, 0])
    return rows


def with_outliers(n, n_outliers, seed=0):
    """Rows of which the last ones are far from what the others are like."""
    rows = rows_of(n, seed=seed)
    rows[-n_outliers:, 1:] = np.random.default_rng(1).uniform(-8, 8, (n_outliers, 3))
    return rows


# ---- tails ---------------------------------------------------------------------------


def test_tail_is_the_share_of_rows_that_go_as_far():
    values, weights = np.array([3.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 1.0, 1.0])
    tail = Tail.of(values, weights)
    for value in values:
        reached = weights[values >= value].sum()
        assert_allclose(np.exp(-tail.surprise(np.array([value]))), reached / 6)
    assert tail.least == 1 / 6


def test_tail_rises_without_ties_beyond_the_last_value():
    tail = Tail.of(np.random.default_rng(0).normal(size=100), np.ones(100))
    far = tail.surprise(np.array([5.0, 6.0, 100.0]))
    assert (np.diff(far) > 0).all()
    assert far[0] > np.log(101)


@pytest.mark.parametrize("weight", [1e-300, 1.7e308])
def test_tail_of_rows_that_weigh_next_to_nothing_or_much(weight):
    values = np.arange(25.0)
    tail = Tail.of(values, np.full(25, weight))
    assert_allclose(tail.rate, Tail.of(values, np.ones(25)).rate)


# ---- distances -----------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 20])
def test_neighbours_are_those_of_a_loop(d):
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(60, d)), rng.choice([0.5, 1.0, 2.0], 60)
    near = NearestRows(points, weights, 3)

    def slowly(row, own):
        order = np.argsort(((points - row) ** 2).sum(axis=1))
        reached = 0.0
        for place in order:
            weight = weights[place]
            reached += weight - min(weight, 1) if place == own else weight
            if reached >= 3:
                return np.log(max(np.linalg.norm(points[place] - row), 1e-9))
        raise AssertionError

    rows = rng.normal(size=(7, d))
    assert_allclose(near.away(rows), [slowly(row, None) for row in rows], rtol=1e-9)
    expected = [slowly(row, own) for own, row in enumerate(points)]
    assert_allclose(near.away_left_out(), expected, rtol=1e-9)


def test_ellipsoid_leaves_rows_out_as_if_they_had_never_been():
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(40, 3)) * [1, 2, 3], np.ones(40)
    found = Ellipsoid(points, weights).away_left_out()
    whole, mean = Ellipsoid(points, weights), points.mean(axis=0)
    assert_allclose(np.exp(whole.away(mean[None])), 1e-9, rtol=1e-6)
    rest = [Ellipsoid(np.delete(points, i, 0), weights[1:]) for i in range(40)]
    expected = [each.away(points[[i]])[0] for i, each in enumerate(rest)]
    assert_allclose(found, expected, atol=0.02)  # but for the variances of the prior


def test_the_density_view_forgets_one_copy_of_each_row():
    rows = rows_of(200)
    twice = np.concatenate([rows, rows[:3]])
    detector = DMKDOutlierDetector(training="clean", random_state=0).fit(twice)
    model = detector.fitted_model()
    sample = model.sample
    held = np.arange(len(sample.keys)) != 7  # the model is taken to lack this row
    view, found = DensityView.of(model, sample, held)
    assert sample.weight.max() == 2
    for place in (*np.argsort(-sample.weight)[:3], 0, 1):
        one = Batch(sample.rows[[place]], model.plan.columns)
        without = model.subtract(one).log_density(one.rows)
        assert_allclose(found[place], view.bounded(-without)[0], rtol=1e-6)
    assert_allclose(found[7], view.away(sample.rows[[7]])[0])


# ---- p-values ------------------------------------------------------------------------


@pytest.mark.parametrize("training", ["contaminated", "clean"])
def test_p_values_of_clean_rows_are_uniform(training):
    shares = []
    for seed in range(6):
        rows = rows_of(4000, seed=seed)
        detector = DMKDOutlierDetector(training=training, random_state=0)
        p = detector.fit(rows[:2000]).p_values(rows[2000:])
        shares.append([(p <= level).mean() for level in (0.5, 0.1, 0.01)])
    assert_allclose(np.mean(shares, axis=0), [0.5, 0.1, 0.01], rtol=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("training", ["contaminated", "clean"])
@pytest.mark.parametrize("name", ["magic", "covtype"])
def test_p_values_of_real_rows_are_uniform(name, training):
    if real_data.missing(name):
        pytest.skip(real_data.missing(name))
    rows = real_data.load_arrays(name)["X"][:, :10].astype(float)
    shares = []
    for seed in range(12):
        some = rows[np.random.default_rng(seed).permutation(len(rows))]
        detector = DMKDOutlierDetector(training=training, random_state=0)
        p = detector.fit(some[:5000]).p_values(some[5000:15_000])
        shares.append([(p <= level).mean() for level in (0.1, 0.01, 0.001)])
    shares = np.mean(shares, axis=0)
    assert_allclose(shares[:2], [0.1, 0.01], rtol=0.2)
    assert_allclose(shares[2], 0.001, rtol=0.5)  # chance alone makes a tenth or two


def test_p_values_of_learned_rows_are_their_ranks():
    rows = rows_of(300)
    p = DMKDOutlierDetector(random_state=0).fit(rows).p_values(rows)
    assert_allclose(np.sort(p), np.arange(1, 301) / 301, atol=1.1 / 301)  # or ties


def test_rows_are_recognised_by_what_they_are():
    rows = rows_of(300)
    detector = DMKDOutlierDetector(random_state=0).fit(rows)
    some = np.random.default_rng(0).permutation(300)[:40]
    expected = detector.score_samples(rows)[some]
    assert_array_equal(detector.score_samples(rows[some].copy()), expected)
    near = detector.score_samples(rows[some] * (1 + 1e-9))  # these are not
    assert (near > expected).mean() > 0.5


def test_known_rows_in_a_sample_are_left_out_and_others_cannot_be(monkeypatch):
    monkeypatch.setattr("rhokit.readouts.outliers.OutlierReadOut.sample_rows", 100)
    rows = with_outliers(400, 20)
    detector = DMKDOutlierDetector(random_state=0).fit(rows)
    assert len(detector.sample_.keys) == 100
    scores = detector.score_samples(rows)
    assert scores[-20:].mean() < scores[:-20].mean() - 2


def test_without_any_rows_that_were_kept_there_is_nothing_to_compare_with(monkeypatch):
    monkeypatch.setattr("rhokit.readouts.outliers.OutlierReadOut.sample_rows", 20)
    rows = rows_of(100)
    detector = DMKDOutlierDetector(random_state=0).fit(rows)
    detector.unlearn(detector.sample_.rows)
    with pytest.raises(ValueError, match="have been unlearned: add rows, or fit again"):
        detector.score_samples(rows)


# ---- cleaning ------------------------------------------------------------------------


def test_a_model_is_cleaned_by_forgetting():
    rows = with_outliers(400, 30)
    detector = DMKDOutlierDetector(random_state=0).fit(rows)
    model = detector.fitted_model()
    reference, is_kept = model.readout.reference(model)
    assert 350 <= reference.total_weight <= 361
    assert len(reference.sample.keys) == is_kept.sum()
    is_left = np.isin(rows[:, 0], reference.sample.rows[:, 0])
    assert is_left[-30:].mean() < 0.2
    never = detector.blank().partial_fit(rows[is_left]).state_
    assert_allclose(reference.state.total, never.total, atol=1e-8)


def test_outliers_among_learned_rows_may_come_in_groups():
    rows = with_outliers(500, 20)
    twins = rows[-20:] + 0.01 * np.random.default_rng(0).normal(size=(20, 4))
    rows, labels = np.concatenate([rows, twins]), np.arange(520) >= 480
    areas = {}
    for training in ("contaminated", "clean"):
        detector = DMKDOutlierDetector(training=training, random_state=0).fit(rows)
        areas[training] = roc_auc_score(labels, -detector.score_samples(rows))
    assert areas["contaminated"] > 0.95
    assert areas["contaminated"] > areas["clean"] + 0.1


def test_clean_training_holds_all_rows():
    model = DMKDOutlierDetector(training="clean").fit(rows_of(100)).fitted_model()
    assert model.readout.reference(model)[0] is model


# ---- thresholds ----------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_contamination_is_the_share_of_learned_rows(share):
    rows = rows_of(200)
    found = DMKDOutlierDetector(contamination=share, random_state=0).fit_predict(rows)
    assert (found == -1).sum() == 200 * share


def test_threshold_is_a_p_value():
    rows, more = rows_of(500), rows_of(500, seed=1)
    detector = DMKDOutlierDetector(threshold=0.02, random_state=0).fit(rows)
    assert_allclose(detector.offset_, np.log(0.02), atol=1e-8)
    outlying = detector.predict(more) == -1
    assert_array_equal(outlying, detector.p_values(more) <= 0.02)
    decisions = detector.score_samples(more) - detector.offset_
    assert_allclose(detector.decision_function(more), decisions)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"contamination": 0.6}, "contamination"),
        ({"threshold": 0.0}, "threshold"),
        ({"training": "dirty"}, "training"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        DMKDOutlierDetector(**parameters).fit(rows_of(20))


def test_threshold_counts_before_contamination():
    rows = rows_of(100)
    detector = DMKDOutlierDetector(threshold=0.02, contamination=0.4, random_state=0)
    assert (detector.fit_predict(rows) == -1).sum() == 2
    assert detector.readout_.cleaned_share == 0.4


def test_parameters_of_today_count():
    rows = rows_of(100)
    detector = DMKDOutlierDetector(random_state=0).fit(rows)
    before = detector.predict(rows)
    detector.set_params(threshold=0.3)
    assert (detector.predict(rows) == -1).sum() > (before == -1).sum()


# ---- gaps ----------------------------------------------------------------------------


def test_rows_with_gaps_are_compared_in_the_columns_that_they_have():
    rows = rows_of(500)
    detector = DMKDOutlierDetector(missing="integrate", random_state=0).fit(rows)
    more = rows_of(2000, seed=1)
    more[:, 2] = np.nan
    p = detector.p_values(more)
    shares = [(p <= level).mean() for level in (0.5, 0.1, 0.02)]
    assert_allclose(shares, [0.5, 0.1, 0.02], rtol=0.4)
    more[:, 3] = 100
    assert detector.p_values(more).max() < 0.01
    assert detector.p_values(np.full((1, 4), np.nan)) == 1


# ---- other models --------------------------------------------------------------------


def test_a_few_rows_are_enough():
    for n in (1, 2, 3, 7):
        detector = DMKDOutlierDetector(random_state=0).fit(rows_of(n))
        assert np.isfinite(detector.score_samples(rows_of(5, seed=1))).all()


def test_impossible_rows_are_the_oddest():
    rows = np.abs(rows_of(500))
    detector = DMKDOutlierDetector(random_state=0).fit(rows)
    scores = detector.score_samples([[-5.0, 1, 1, 1], [1, 1, 1, 1]])
    assert np.isfinite(scores).all()
    assert scores[0] < scores[1]
    assert detector.p_values([[-5.0, 1, 1, 1]]) <= 1 / 400


def test_deterministic():
    rows = rows_of(200)
    first, second = (
        DMKDOutlierDetector(random_state=3).fit(rows).score_samples(rows)
        for _ in range(2)
    )
    assert_array_equal(first, second)
