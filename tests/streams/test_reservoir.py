"""The sample that a plan is chosen from: uniform among the rows that are there."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rhokit import DMKDE, fit_files
from rhokit.batch import Batch, Columns
from rhokit.streams.buffer import Reservoir

N_ROWS = 400
ROWS = np.arange(N_ROWS, dtype=float)[:, None]
PLAN = {
    "gamma": 0.7,
    "scale": None,
    "feature_map": "fourier",
    "n_components": 16,
    "random_state": 0,
}


def sampled(size, weights=None, seed=0, step=50):
    """Numbers of the rows that a reservoir keeps."""
    reservoir = Reservoir(size, np.random.default_rng(seed))
    whole = Batch(ROWS, Columns(1), None, weights)
    for start in range(0, N_ROWS, step):
        reservoir.add(whole.take(slice(start, start + step)))
    assert reservoir.n_passed == N_ROWS
    return reservoir.sample().rows[:, 0].astype(int)


@pytest.mark.parametrize("step", [7, 50, N_ROWS])
@pytest.mark.parametrize("size", [1, 30, 60, 399, 1000])
def test_rows_of_weight_zero_are_not_there(size, step):
    weights = np.where(np.arange(N_ROWS) % 8 == 3, 0.5, 0.0)
    there = np.flatnonzero(weights)
    kept = sampled(size, weights, step=step)
    assert len(kept) == min(size, len(there))
    assert np.isin(kept, there).all()


def test_rows_keep_their_order_and_come_once():
    kept = sampled(100)
    assert len(kept) == 100
    assert (np.diff(kept) > 0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_every_row_that_is_there_is_as_likely(weighted):
    """Weights above zero do not count: they are learned from later."""
    weights = np.where(np.arange(N_ROWS) % 2, 1.0, 5.0) if weighted else None
    counts = np.zeros(N_ROWS)
    for seed in range(600):
        counts[sampled(80, weights, seed)] += 1
    # Of 600 draws with probability 0.2: mean 120, standard deviation 9.8.
    assert_allclose(counts, 120, atol=6 * 9.8)
    for part in (counts[::2], counts[1::2], counts[:50], counts[-50:]):
        assert_allclose(part.mean(), 120, atol=6 * 9.8 / np.sqrt(len(part)))


def test_rows_of_weight_zero_choose_no_plan(tmp_path):
    """They would crowd out the others where the sample is smaller than the table."""
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(900, 2)), np.zeros(900)
    there = np.arange(5, 900, 15)
    weights[there] = 1.0
    rows[weights == 0] += 1e6
    path = tmp_path / "rows.parquet"
    table = pa.table({"a": rows[:, 0], "b": rows[:, 1], "w": weights})
    pq.write_table(table, path, row_group_size=100)
    model = DMKDE(**PLAN | {"scale": "std"})
    fitted = fit_files(clone(model), path, weight="w", sample_rows=len(there))
    expected = clone(model).prepare(rows[there])
    assert_array_equal(fitted.scaling_.centre, expected.scaling_.centre)
    assert fitted.fingerprint() == expected.fingerprint()


def test_no_rows_at_all_are_refused():
    with pytest.raises(ValueError, match="no rows of a weight above zero"):
        sampled(10, np.zeros(N_ROWS))
