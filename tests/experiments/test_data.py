"""Splits of the experiments: sizes, classes, seeds, and the box they are scaled to."""

from dataclasses import replace
from urllib.error import URLError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import MinMaxScaler

from benchmarks import openml, real_data
from experiments import data

# Training rows, test rows, columns, classes.
SHAPES = {
    "letters": (14_000, 6_000, 16, 26),
    "usps": (7_291, 2_007, 256, 10),
    "usps_random": (7_291, 2_007, 256, 10),
    "mnist": (60_000, 10_000, 784, 10),
    "mnist_4_9": (11_791, 1_991, 784, 2),
    "cifar10": (20_000, 10_000, 3_072, 10),
    "forest_100": (67, 33, 54, 3),
    "covtype": (406_708, 174_304, 54, 7),
    "gisette": (6_000, 1_000, 5_000, 2),
}
SEEDED = ("letters", "usps_random", "forest_100")
LARGE = ("mnist", "cifar10", "covtype")


def load_or_skip(name, seed=0):
    reason = real_data.missing(data.SPLITS[name][0])
    if reason:
        pytest.skip(reason)
    return data.load_split(name, seed)


def small_split(rows, seed=0):
    """A split of made-up rows, the last third to be judged by."""
    n = 2 * len(rows) // 3
    labels = np.random.default_rng(seed).integers(2, size=len(rows))
    return real_data.Split(rows[:n], labels[:n], rows[n:], labels[n:])


# ---- real sets -----------------------------------------------------------------------


def test_every_split_has_its_shape_here():
    assert SHAPES.keys() == data.SPLITS.keys()


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in LARGE else n for n in SHAPES],
)
def test_sizes_and_classes(name):
    split = load_or_skip(name)
    n_train, n_test, d, n_classes = SHAPES[name]
    assert split.train_rows.shape == (n_train, d)
    assert split.test_rows.shape == (n_test, d)
    assert split.train_rows.dtype == split.test_rows.dtype == np.float32
    assert len(split.train_target) == n_train
    assert len(split.test_target) == n_test
    classes = np.unique(split.train_target)
    assert len(classes) == n_classes
    assert np.isin(split.test_target, classes).all()


@pytest.mark.parametrize("name", ["letters", "usps"])
def test_splits_of_the_benchmarks_are_the_same(name):
    split = load_or_skip(name)
    known = real_data.load_classes(name)
    assert_array_equal(split.train_rows, known.train_rows)
    assert_array_equal(split.test_target, known.test_target)


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_changes_the_split_and_not_the_rows(name):
    one, again, other = (load_or_skip(name, seed) for seed in (1, 1, 2))
    assert_array_equal(one.train_rows, again.train_rows)
    assert not np.array_equal(one.test_rows, other.test_rows)
    assert_array_equal(sorted_pairs(one), sorted_pairs(other))


def sorted_pairs(split):
    """All rows with their targets, in an order of their own."""
    rows = np.concatenate([split.train_rows, split.test_rows])
    target = np.concatenate([split.train_target, split.test_target])
    pairs = np.column_stack([rows, target])
    return pairs[np.lexsort(pairs.T)]


def test_random_usps_rows_come_from_both_official_parts():
    official, mixed = load_or_skip("usps"), load_or_skip("usps_random")
    assert_array_equal(sorted_pairs(official), sorted_pairs(mixed))
    known = {row.tobytes() for row in official.test_rows}
    share = np.mean([row.tobytes() in known for row in mixed.train_rows])
    assert 0.15 < share < 0.3  # 2,007 of 9,298 rows are 0.216


def test_four_against_nine_leaves_the_other_digits_out():
    split, whole = load_or_skip("mnist_4_9"), data.load("mnist")
    kept = (whole["y_test"] == 4) | (whole["y_test"] == 9)
    assert_allclose(split.test_rows, whole["X_test"][kept] / 255, rtol=1e-6)
    assert_array_equal(split.test_target, whole["y_test"][kept])


def test_forest_is_the_beginning_of_covtype():
    split = load_or_skip("forest_100")
    labels = np.concatenate([split.train_target, split.test_target])
    assert_array_equal(np.bincount(labels), [11, 39, 0, 0, 50])


# ---- a folder of one's own -----------------------------------------------------------


def test_gisette_from_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    values = np.array([[0, 999], [333, 0], [999, 666]], np.int16)
    labels = np.array([-1, 1, -1], np.int8)
    parts = {"X_train": values, "y_train": labels}
    parts |= {"X_test": values[:1], "y_test": labels[:1]}
    np.savez(tmp_path / "gisette.npz", **parts)
    split = data.load_split("gisette")
    assert_allclose(split.train_rows, values / 999, rtol=1e-6)
    assert_array_equal(split.test_target, [-1])


def test_an_unknown_split_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"letters.*gisette; got 'iris'"):
        data.load_split("iris")


def test_forest_in_another_order_is_refused(monkeypatch):
    reason = real_data.missing("covtype")
    if reason:
        pytest.skip(reason)
    arrays = {key: values[1:101] for key, values in data.load("covtype").items()}
    monkeypatch.setattr(data, "load_arrays", lambda name, fetch: arrays)
    with pytest.raises(data.DataNotAvailable, match="order of UCI"):
        data.load_split("forest_100")


def test_what_cannot_be_had_says_so(tmp_path, monkeypatch):
    def unreachable(**arguments):
        raise URLError("no route")

    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path / "nowhere"))
    monkeypatch.setenv(openml.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    for name in data.SPLITS:
        with pytest.raises(data.DataNotAvailable, match=r"no route.*RHOKIT_DATA"):
            data.load_split(name)
    with pytest.raises(data.DataNotAvailable, match="prepared folder"):
        data.load("stocks")


# ---- the box -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["letters", "forest_100", "usps"])
def test_the_box_is_that_of_scikit_learn(name):
    split = load_or_skip(name)
    scaler = MinMaxScaler().fit(split.train_rows.astype(float))
    varies = np.ptp(split.train_rows, axis=0) > 0
    boxed = data.unit_box(split)
    for rows, before in (
        (boxed.train_rows, split.train_rows),
        (boxed.test_rows, split.test_rows),
    ):
        expected = np.where(varies, scaler.transform(before), 0)
        assert_allclose(rows, expected, atol=1e-6)
        assert rows.dtype == np.float32


def test_the_box_is_known_from_the_training_rows_alone():
    rows = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    split = small_split(rows)
    far = replace(split, test_rows=split.test_rows + 100)
    one, other = data.unit_box(split), data.unit_box(far)
    assert_array_equal(one.train_rows, other.train_rows)
    assert other.test_rows.min() > 1  # not clipped
    assert_array_equal(other.test_target, split.test_target)


def test_a_constant_column_becomes_zero():
    rows = np.arange(18, dtype=np.float32).reshape(9, 2)
    rows[:6, 1] = 7  # constant among the six training rows alone
    boxed = data.unit_box(small_split(rows))
    assert_array_equal(boxed.train_rows[:, 1], 0)
    assert_array_equal(boxed.test_rows[:, 1], 0)
    assert_allclose(boxed.train_rows[:, 0], np.arange(6) / 5, rtol=1e-6)


def test_a_box_twice_is_a_box():
    rows = np.random.default_rng(1).normal(size=(30, 4)).astype(np.float32)
    once = data.unit_box(small_split(rows))
    twice = data.unit_box(once)
    assert_allclose(twice.train_rows, once.train_rows, atol=1e-6)
    assert_allclose(twice.test_rows, once.test_rows, atol=1e-6)
