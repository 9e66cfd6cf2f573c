"""Tasks that share the cores with others work in their own thread alone."""

import threading

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from numpy.testing import assert_array_equal
from threadpoolctl import ThreadpoolController, threadpool_info

from rhokit import DMKDE
from rhokit.fast import blas_threads, map_blocks, map_jobs
from rhokit.fast.blocks import one_worker


def blas_limits():
    """Numbers of threads that BLAS libraries may use now, where they have any."""
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas" and library["threading_layer"] != "disabled"
    }


def in_a_thread(function):
    """What a function returns, or raises, in a thread of its own."""
    results, errors = [], []

    def run():
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    if errors:
        raise errors[0]
    return results[0]


@pytest.fixture(autouse=True)
def two_threads():
    """BLAS has two threads, whatever the machine has; nobody owns that limit."""
    blas = ThreadpoolController().select(user_api="blas")
    limiter = in_a_thread(lambda: blas.limit(limits=2))
    assert blas_limits() == {2}
    yield
    assert blas_limits() == {2}
    assert blas_threads() == 2
    in_a_thread(limiter.restore_original_limits)


def look():
    """How many threads there are, and who does the work of four blocks."""

    def work(worker, block):
        return worker, threading.get_ident(), max(blas_limits())

    found = map_blocks(work, 4, 1)
    workers, threads, limits = (set(part) for part in zip(*found, strict=True))
    return blas_threads(), workers, threads, limits


def assert_alone(seen, thread=None):
    thread = threading.get_ident() if thread is None else thread
    assert seen == (1, {0}, {thread}, {1})


class Alone(threading.Thread):
    """Is inside ``one_worker`` in a thread of its own, and looks when asked to."""

    def __init__(self):
        super().__init__(daemon=True)
        self.wanted, self.answered = threading.Semaphore(0), threading.Semaphore(0)
        self.leaving, self.seen = False, None
        self.start()
        assert self.answered.acquire(timeout=30)

    def run(self):
        with one_worker():
            self.answered.release()
            while self.wanted.acquire(timeout=60) and not self.leaving:
                self.seen = look()
                self.answered.release()

    def look(self):
        self.wanted.release()
        assert self.answered.acquire(timeout=30)
        return self.seen

    def leave(self):
        self.leaving = True
        self.wanted.release()
        self.join(30)
        assert not self.is_alive()


class TestOneWorker:
    def test_works_in_the_calling_thread(self):
        with one_worker():
            assert_alone(look())
            assert blas_limits() == {1}

    def test_afterwards_all_is_as_before(self):
        with one_worker():
            pass
        threads, workers, *_ = look()
        assert threads == 2
        assert workers == {0, 1}
        assert blas_limits() == {2}

    def test_after_an_error_too(self):
        with pytest.raises(KeyError), one_worker():
            raise KeyError
        assert blas_threads() == 2
        assert blas_limits() == {2}

    def test_nested(self):
        with one_worker():
            with one_worker():
                assert_alone(look())
            assert_alone(look())
        assert blas_threads() == 2

    def test_in_a_thread(self):
        def alone():
            with one_worker():
                return look(), threading.get_ident()

        assert_alone(*in_a_thread(alone))

    def test_says_nothing_about_other_threads(self):
        with one_worker():
            threads, workers, *_ = in_a_thread(look)
        assert threads == 2
        assert workers == {0, 1}

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
    def test_several_that_leave_in_any_order(self, order):
        """Who stays is still alone, BLAS included, when the first one has left."""
        tasks = [Alone(), Alone(), Alone()]
        for task in tasks:
            assert_alone(task.look(), task.ident)
        for number in order:
            tasks[number].leave()
            for task in tasks:
                if task.is_alive():
                    assert_alone(task.look(), task.ident)
        assert blas_limits() == {2}

    def test_many_at_once(self):
        found = []  # list.append is atomic

        def task():
            for _ in range(20):
                with one_worker():
                    found.append((look(), threading.get_ident()))

        threads = [threading.Thread(target=task) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(found) == 80
        for seen, thread in found:
            assert_alone(seen, thread)

    def test_inside_workers(self):
        """A task that a worker runs starts no workers of its own."""

        def work(worker, block):
            with one_worker():
                return look(), threading.get_ident()

        for seen, thread in map_blocks(work, 4, 1):
            assert_alone(seen, thread)


class TestJoblib:
    def test_its_threads_are_alone(self):
        def task():
            return look(), threading.get_ident()

        found = Parallel(n_jobs=2, backend="threading")(
            delayed(task)() for _ in range(8)
        )
        for seen, thread in found:
            assert thread != threading.get_ident()
            assert_alone(seen, thread)

    def test_one_job_has_all_threads(self):
        (found,) = Parallel(n_jobs=1, backend="threading")([delayed(look)()])
        assert found[:2] == (2, {0, 1})

    def test_sequential(self):
        with parallel_config(backend="sequential"):
            found = Parallel(n_jobs=2)(delayed(look)() for _ in range(3))
        assert [seen[:2] for seen in found] == [(2, {0, 1})] * 3

    def test_sequential_in_a_thread(self):
        def sequential():
            return Parallel(n_jobs=1)([delayed(look)()])

        ((threads, workers, *_),) = in_a_thread(sequential)
        assert (threads, workers) == (2, {0, 1})

    def test_around_the_main_thread_changes_nothing(self):
        with parallel_config(backend="threading", n_jobs=2):
            assert look()[:2] == (2, {0, 1})


def test_a_plain_thread_has_all_threads():
    threads, workers, *_ = in_a_thread(look)
    assert (threads, workers) == (2, {0, 1})


class TestResults:
    """One worker adds up the same rows in the same order, wherever it runs."""

    def learn(self):
        X = np.random.default_rng(0).normal(size=(3000, 3))
        model = DMKDE(
            gamma=0.5,
            scale=None,
            feature_map="fourier",
            n_components=64,
            batch_size=500,
        )
        return model.set_params(random_state=0).partial_fit(X).state_.total

    def test_same_bits_as_with_one_thread(self):
        with ThreadpoolController().limit(limits=1, user_api="blas"):
            expected = self.learn()
        with one_worker():
            assert_array_equal(self.learn(), expected)
        totals = Parallel(n_jobs=2, backend="threading")(
            delayed(self.learn)() for _ in range(4)
        )
        for total in totals:
            assert_array_equal(total, expected)

    def test_same_sums_as_with_two(self):
        with one_worker():
            alone = self.learn()
        np.testing.assert_allclose(
            alone, self.learn(), atol=1e-12 * np.abs(alone).max()
        )


class TestJobs:
    def test_each_is_alone_and_answers_come_in_order(self):
        found = map_jobs(lambda job: (job, look()), list("abcd"))
        assert [job for job, _ in found] == list("abcd")
        for _, (threads, workers, idents, limits) in found:
            assert (threads, workers, limits) == (1, {0}, {1})
            assert threading.get_ident() not in idents
        assert blas_limits() == {2}

    def test_a_single_one_has_all_cores(self):
        ((threads, workers, *_),) = map_jobs(lambda job: look(), [None])
        assert (threads, workers) == (2, {0, 1})
