"""Sums per outcome, filled by several workers, against the sums written out."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.fast import OutcomeSums
from rhokit.fast import gram as module
from rhokit.fast.gram import _STRIP, mirror_triangle
from tests.reference.core_oracles import outer_sums
from tests.support import random_array

TOLERANCE = {"float32": 1e-5, "complex64": 1e-5, "float64": 1e-12, "complex128": 1e-12}

every_dtype = pytest.mark.parametrize("dtype", TOLERANCE)


@pytest.fixture
def rng():
    return np.random.default_rng(21)


@pytest.fixture(params=["syrk", "product"], autouse=True)
def routine(request, monkeypatch):
    """BLAS's own routine, and what serves where NumPy's BLAS does not show it."""
    if request.param == "product":
        monkeypatch.setattr(module, "_syrk", lambda char: None)


def some_roots(rng, kind, n, n_outcomes):
    """Square roots of outcome weights (n, K) of one kind."""
    codes = np.sort(rng.integers(0, n_outcomes, n))
    roots = {
        "one of each": np.eye(n_outcomes)[codes],
        "neighbours": np.eye(n_outcomes)[codes]
        + 0.5 * np.eye(n_outcomes)[np.minimum(codes + 1, n_outcomes - 1)],
        "all": rng.uniform(0.1, 2, (n, n_outcomes)),
        "few": rng.uniform(size=(n, n_outcomes)) * (rng.random((n, n_outcomes)) < 0.2),
        "none": np.zeros((n, n_outcomes)),
    }
    return roots[kind]


def assert_sums(total, rows, roots, dtype):
    expected = outer_sums(rows, roots**2)
    assert total.dtype == np.result_type(dtype, np.float64)
    assert total.shape == expected.shape
    scale = max(np.abs(expected).max(), 1)
    assert_allclose(total / scale, expected / scale, atol=TOLERANCE[dtype])
    assert_array_equal(total, total.conj().transpose(0, 2, 1))


@every_dtype
@pytest.mark.parametrize("kind", ["one of each", "neighbours", "all", "few", "none"])
@pytest.mark.parametrize("workers", [1, 3])
def test_slow_sums(dtype, kind, workers, rng):
    rows, roots = random_array(rng, (60, 9), dtype), some_roots(rng, kind, 60, 4)
    kept = rows.copy(), roots.copy()
    sums = OutcomeSums(4, 9, dtype)
    for worker in range(workers):
        mine = np.array_split(np.arange(60), workers)[worker]
        for block in np.array_split(mine, 3):
            sums.add(worker, rows[block], roots[block])
    assert_sums(sums.total(), rows, roots, dtype)
    assert_array_equal(rows, kept[0])
    assert_array_equal(roots, kept[1])


@every_dtype
def test_without_roots_all_rows_have_the_first_outcome(dtype, rng):
    rows = random_array(rng, (20, 5), dtype)
    sums = OutcomeSums(2, 5, dtype)
    sums.add(0, rows[:8])
    sums.add(1, rows[8:])
    assert_sums(sums.total(), rows, np.tile([1.0, 0.0], (20, 1)), dtype)


@every_dtype
@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_blocks_from_any_worker(dtype, seed, rng):
    """An outcome that was left behind is taken up again."""
    rows, roots = random_array(rng, (48, 6), dtype), some_roots(rng, "few", 48, 5)
    order = np.random.default_rng(seed)
    sums = OutcomeSums(5, 6, dtype)
    for block in order.permutation(np.arange(48).reshape(12, 4)):
        sums.add(int(order.integers(3)), rows[block], roots[block])
    assert_sums(sums.total(), rows, roots, dtype)


@pytest.mark.parametrize("worker", [0, 2])
def test_no_worker_need_be_the_first(worker, rng):
    rows, roots = rng.normal(size=(20, 4)), some_roots(rng, "all", 20, 3)
    sums = OutcomeSums(3, 4, "float64")
    sums.add(worker, rows, roots)
    assert_sums(sums.total(), rows, roots, "float64")


def test_no_rows_at_all():
    assert_array_equal(OutcomeSums(2, 3, "float32").total(), np.zeros((2, 3, 3)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_workers_at_the_same_time_give_the_same_bits(dtype, rng):
    rows, roots = random_array(rng, (400, 16), dtype), some_roots(rng, "all", 400, 6)
    shares = np.array_split(np.arange(400), 4)

    def summed():
        sums = OutcomeSums(6, 16, dtype)

        def work(worker):
            for block in np.array_split(shares[worker], 5):
                sums.add(worker, rows[block], roots[block])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        return sums.total()

    first = summed()
    assert_sums(first, rows, roots, dtype)
    for _ in range(3):
        assert_array_equal(summed(), first)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_single_rows_are_summed_in_double(dtype, rng):
    """In single precision throughout, these sums are off by 1e-4."""
    block = (0.1 + 0.01 * random_array(rng, (4096, 3), dtype)).astype(dtype)
    sums = OutcomeSums(1, 3, dtype)
    for _ in range(40):
        sums.add(0, block, np.ones((4096, 1)))
    wide = block.astype(np.result_type(dtype, np.float64))
    assert_allclose(sums.total()[0] / 40, wide.T @ wide.conj(), rtol=1e-5)


def test_outcomes_left_behind_hold_no_memory_but_their_sum(rng):
    """Sorted single rows: one narrow sum at a time, not one per outcome."""
    n_outcomes, dim = 40, 64
    rows = rng.normal(size=(n_outcomes * 4, dim)).astype(np.float32)
    roots = np.repeat(np.eye(n_outcomes), 4, axis=0)
    tracemalloc.start()
    sums = OutcomeSums(n_outcomes, dim, np.float32)
    for start in range(0, len(rows), 4):
        sums.add(0, rows[start : start + 4], roots[start : start + 4])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    result = n_outcomes * dim * dim * 8
    one = dim * dim * 4
    # Ten, not one: temporaries. All narrow sums together would be forty.
    assert peak < result + 10 * one
    assert_sums(sums.total(), rows, roots, "float32")


def test_a_worker_keeps_only_the_outcomes_it_has_met(rng):
    """The second worker of sorted rows has a sum of its own where they meet."""
    n_outcomes, dim = 40, 64
    rows = rng.normal(size=(n_outcomes, dim))
    sums = OutcomeSums(n_outcomes, dim, "float64")
    sums.add(0, rows[:38], np.eye(n_outcomes)[:38])
    tracemalloc.start()
    sums.add(1, rows[37:], np.eye(n_outcomes)[37:])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * dim * dim * 8
    counts = np.ones(n_outcomes)
    counts[37] = np.sqrt(2)
    assert_sums(sums.total(), rows, np.diag(counts), "float64")


class TestMirrorTriangle:
    @pytest.mark.parametrize("dim", [1, 2, _STRIP, _STRIP + 1, 2 * _STRIP + 30])
    @every_dtype
    def test_from_the_upper_triangle_alone(self, dim, dtype, rng):
        whole = random_array(rng, (dim, dim), dtype)
        upper = np.triu(whole, 1)
        expected = upper + upper.conj().T + np.diag(whole.diagonal().real)
        mirror_triangle(whole)
        assert_array_equal(whole, expected)

    def test_writes_into_a_part_of_a_larger_array(self, rng):
        stack = rng.normal(size=(3, 4, 4))
        before = stack.copy()
        mirror_triangle(stack[1])
        assert_array_equal(stack[1], stack[1].T)
        assert_array_equal(stack[::2], before[::2])


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_more_rows_than_single_precision_may_sum(workers, dtype, monkeypatch):
    """Outcomes overflow into the result while others still add to them."""
    monkeypatch.setattr("rhokit.fast.gram._FLUSH_ROWS", 5)
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(120, 7)).astype(dtype)
    codes = np.sort(rng.choice(4, size=120, p=[0.6, 0.2, 0.15, 0.05]))
    roots = np.eye(5)[codes]
    sums = OutcomeSums(5, 7, dtype)
    for start in range(0, 120, 3):
        part = slice(start, start + 3)
        sums.add(start * workers // 120, rows[part], roots[part])
    exact = rows.astype("float64")
    expected = np.stack([exact.T @ (exact * root[:, None]) for root in roots.T])
    tol = 1e-5 if dtype == "float32" else 1e-12
    assert_allclose(sums.total(), expected, rtol=tol, atol=tol)
