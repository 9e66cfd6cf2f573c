"""Blocks of rows over threads, and the BLAS limit around them."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from rhokit.fast import blas_threads, block_rows, map_blocks
from rhokit.fast.blocks import _SMALL_DIM, small_algebra


def blas_limits():
    """Threads that each BLAS library may use now, where it has any."""
    return {
        library["filepath"]: library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas" and library["threading_layer"] != "disabled"
    }


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    """A number of threads granted to BLAS, whatever the machine has."""
    with threadpool_limits(limits=request.param, user_api="blas"):
        yield request.param


def in_a_thread(function):
    """Call it in a thread that ends: later limits are then anybody's to set."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


@pytest.fixture
def two_threads():
    """BLAS has two threads, whatever the machine has; nobody owns that limit."""
    blas = ThreadpoolController().select(user_api="blas")
    limiter = in_a_thread(lambda: blas.limit(limits=2))
    assert set(blas_limits().values()) == {2}
    yield
    in_a_thread(limiter.restore_original_limits)


class User(threading.Thread):
    """Uses ``map_blocks`` in a thread of its own from ``enter`` to ``leave``."""

    def __init__(self):
        super().__init__(target=map_blocks, args=(self.work, 2, 1), daemon=True)
        self.inside, self.finish = threading.Event(), threading.Event()
        self.limits = None

    def work(self, worker, block):
        self.limits = blas_limits()
        self.inside.set()
        assert self.finish.wait(30)

    def enter(self):
        self.start()
        assert self.inside.wait(30)

    def leave(self):
        self.finish.set()
        self.join(30)
        assert not self.is_alive()


class TestBlockRows:
    @given(st.integers(0, 10**9))
    def test_blocks_are_neither_tiny_nor_whole(self, dim):
        rows = block_rows(dim)
        assert 1 <= rows <= 16384
        # Below 256 where so many would take more than 32 MB alone.
        assert rows >= 256 or rows == 1 or 2**21 < rows * dim <= 2**22

    @given(st.integers(1, 10**5))
    def test_wider_states_mean_fewer_rows(self, dim):
        assert block_rows(dim) >= block_rows(dim + 1)

    def test_about_a_million_numbers(self):
        assert block_rows(1024) == 1024

    def test_a_given_size_is_taken(self):
        assert block_rows(1024, batch_size=7) == 7


class TestMapBlocks:
    @pytest.mark.parametrize(
        ("n", "size"), [(0, 3), (1, 3), (3, 3), (4, 3), (10, 3), (10, 1), (5, 100)]
    )
    def test_results_in_row_order(self, threads, n, size):
        rows = np.arange(n)
        parts = map_blocks(lambda worker, block: rows[block], n, size)
        assert [len(part) for part in parts[:-1]] == [size] * (len(parts) - 1)
        assert np.concatenate([[], *parts]).tolist() == rows.tolist()

    def test_who_does_what_is_fixed(self, threads):
        done = []  # list.append is atomic
        map_blocks(lambda worker, block: done.append((worker, block.start)), 10, 1)
        for worker in range(threads):
            own = [start for who, start in done if who == worker]
            first, last = 10 * worker // threads, 10 * (worker + 1) // threads
            assert own == list(range(first, last))

    def test_no_more_workers_than_blocks(self, threads):
        workers = map_blocks(lambda worker, block: worker, 4, 2)
        assert workers == [0, min(1, threads - 1)]

    def test_workers_run_at_the_same_time(self, two_threads):
        meet = threading.Barrier(2, timeout=30)
        assert sorted(map_blocks(lambda worker, block: meet.wait(), 2, 1)) == [0, 1]


class TestLimit:
    """BLAS has one thread while workers run, and its own number before and after."""

    def test_inside_and_after(self, two_threads):
        before = blas_limits()
        inside = map_blocks(lambda worker, block: blas_limits(), 4, 1)
        assert {count for seen in inside for count in seen.values()} == {1}
        assert blas_limits() == before
        assert set(before.values()) == {2}

    def test_one_block_leaves_blas_its_threads(self, two_threads):
        (inside,) = map_blocks(lambda worker, block: blas_limits(), 1, 1)
        assert set(inside.values()) == {2}

    @pytest.mark.parametrize("bad", [0, 3])
    def test_an_error_comes_out_and_the_limit_comes_back(self, two_threads, bad):
        def work(worker, block):
            if block.start == bad:
                raise KeyError("block")

        with pytest.raises(KeyError, match="block"):
            map_blocks(work, 4, 1)
        assert set(blas_limits().values()) == {2}
        assert blas_threads() == 2

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["fifo", "lifo"])
    def test_overlapping_users(self, two_threads, order):
        users = [User(), User()]
        for user in users:
            user.enter()
            assert set(user.limits.values()) == {1}
            assert blas_threads() == 2
        for index in order:
            users[index].leave()
            assert blas_threads() == 2
        assert set(blas_limits().values()) == {2}

    def test_one_leaves_while_another_comes(self, two_threads):
        first, second, third = User(), User(), User()
        first.enter()
        second.enter()
        first.leave()
        third.enter()
        assert set(third.limits.values()) == {1}
        second.leave()
        assert set(blas_limits().values()) == {1}
        third.leave()
        assert set(blas_limits().values()) == {2}

    def test_many_users_at_once(self, two_threads):
        def fail_sometimes(worker, block):
            if block.start == 2:
                raise KeyError

        def use(index):
            for _ in range(20):
                if index % 2:
                    map_blocks(lambda worker, block: None, 3, 1)
                else:
                    with pytest.raises(KeyError):
                        map_blocks(fail_sometimes, 3, 1)

        users = [threading.Thread(target=use, args=(index,)) for index in range(4)]
        for user in users:
            user.start()
        for user in users:
            user.join(60)
        assert set(blas_limits().values()) == {2}

    def test_other_threads_may_set_limits_afterwards(self, two_threads):
        map_blocks(lambda worker, block: None, 2, 1)

        def limited():
            with threadpool_limits(limits=1, user_api="blas"):
                return blas_limits()

        assert set(in_a_thread(limited).values()) == {1}

    def test_nested(self, two_threads):
        def outer(worker, block):
            return map_blocks(lambda worker, inner: inner.start, 3, 1)

        assert map_blocks(outer, 2, 1) == [[0, 1, 2]] * 2
        assert set(blas_limits().values()) == {2}


class TestSmallAlgebra:
    def limits(self):
        return {library["num_threads"] for library in threadpool_info()}

    def test_one_thread_inside(self, two_threads):
        before = self.limits()
        with small_algebra(_SMALL_DIM):
            assert self.limits() == {1}
            assert blas_threads() == 2
        assert self.limits() == before

    def test_large_matrices_keep_their_threads(self, two_threads):
        with small_algebra(_SMALL_DIM + 1):
            assert set(blas_limits().values()) == {2}

    def test_an_error_gives_the_threads_back(self, two_threads):
        with pytest.raises(KeyError), small_algebra(1):
            raise KeyError
        assert set(blas_limits().values()) == {2}

    def test_inside_a_worker(self, two_threads):
        def work(worker, block):
            with small_algebra(1):
                return set(blas_limits().values())

        assert map_blocks(work, 3, 1) == [{1}] * 3
        assert set(blas_limits().values()) == {2}


def test_inside_the_callers_own_limit():
    with threadpool_limits(limits=2, user_api="blas"):
        inside = map_blocks(lambda worker, block: blas_limits(), 4, 1)
        assert {count for seen in inside for count in seen.values()} == {1}
        assert set(blas_limits().values()) == {2}


def test_blas_threads_follows_the_limits(threads):
    assert blas_threads() == threads
    with threadpool_limits(limits=1, user_api="blas"):
        assert blas_threads() == 1
    assert blas_threads() == threads
