"""Splits of real data: read where they are, and told of where they are not."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from benchmarks import real_data


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of data that holds a few rows of each kind."""
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    images = np.arange(4 * 4, dtype=np.uint16).reshape(4, 2, 2)
    labels = np.array([0, 1, 0, 1], np.uint8)
    both = {"X_train": images, "X_test": images[:1]}
    both |= {"y_train": labels, "y_test": labels[:1]}
    np.savez(tmp_path / "usps.npz", **both)
    rows = np.arange(20_000, dtype=np.uint8).reshape(-1, 1)
    np.savez(tmp_path / "letters.npz", X=rows, y=rows[:, 0] % 26)
    np.savez(
        tmp_path / "ordinal_stocks.npz",
        X=np.arange(10.0)[:, None],
        y_ordinal=np.arange(10) // 2,
        y_continuous=np.arange(10) / 10,
        train_index=np.array([np.arange(7), np.arange(3, 10)]),
        test_index=np.array([np.arange(7, 10), np.arange(3)]),
    )
    return tmp_path


def test_images_become_flat_rows_of_small_numbers(folder):
    split = real_data.load_classes("usps")
    assert split.train_rows.shape == (4, 4)
    assert split.train_rows.dtype == np.float32
    assert split.train_rows.max() == np.float32(15 / 2000)
    assert_array_equal(split.test_target, [0])


def test_letters_are_split_by_a_seed(folder):
    split = real_data.load_classes("letters")
    assert len(split.train_rows) == 14_000
    assert len(split.test_rows) == 6_000
    first = np.random.default_rng(0).permutation(20_000)[0]
    assert split.train_rows[0, 0] == first % 256
    assert_array_equal(split.test_target, split.test_rows[:, 0] % 26)


def test_partitions_are_the_given_ones_in_another_order(folder):
    splits = real_data.load_partitions("stocks", "y_continuous")
    assert len(splits) == 2
    assert_array_equal(splits[0].test_target, [0.7, 0.8, 0.9])
    assert_array_equal(np.sort(splits[1].train_target), np.arange(3, 10) / 10)
    assert not np.array_equal(splits[0].train_target, np.arange(7) / 10)
    for split in splits:
        assert_array_equal(split.train_rows[:, 0] / 10, split.train_target)


def test_fewer_rows_keep_their_targets(folder):
    fewer = real_data.load_classes("letters").fewer(50)
    assert len(fewer.train_rows) == 50
    assert len(fewer.test_rows) == 6_000
    assert_array_equal(fewer.train_target, fewer.train_rows[:, 0] % 26)


def test_what_is_missing_is_named(folder, capsys):
    assert list(real_data.readable(["usps", "mnist", "abalone"])) == ["usps"]
    told = capsys.readouterr().err
    assert "mnist.npz is not there" in told
    assert "ordinal_abalone.npz is not there" in told
    with pytest.raises(FileNotFoundError, match=r"mnist\.npz"):
        real_data.load_classes("mnist")


def test_no_folder_is_no_data(tmp_path, monkeypatch):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path / "nowhere"))
    assert real_data.data_folder() is None
    assert real_data.VARIABLE in real_data.missing("usps")
