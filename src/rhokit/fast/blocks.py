"""Blocks of rows over worker threads, with BLAS held at one thread each.

One worker per core that multiplies small matrices on its own beats a threaded BLAS,
whose threads wait for each other at every call, and lets the element-wise loops run
in parallel too.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import TypeVar

from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

Job = TypeVar("Job")
Result = TypeVar("Result")

# A block holds about this many numbers: large enough for full BLAS speed, small
# enough that no n×D array is ever whole in memory.
_BLOCK_NUMBERS = 2**20
# Fewer rows than these make products slow; more numbers than these take memory.
_LEAST_ROWS, _MOST_BLOCK_NUMBERS = 256, 2**22
# Decompositions of larger matrices gain from several threads.
_SMALL_DIM = 1024


def block_rows(dim: int, batch_size: int | None = None) -> int:
    """Rows per block for states of dimension ``dim``."""
    dim = max(dim, 1)
    least = max(1, min(_LEAST_ROWS, _MOST_BLOCK_NUMBERS // dim))
    return batch_size or max(least, min(16384, _BLOCK_NUMBERS // dim))


@cache
def _controller(user_api: str = "blas") -> ThreadpoolController:
    return ThreadpoolController().select(user_api=user_api)


def blas_threads() -> int:
    """How many threads BLAS may use now, which is how many workers we start.

    So ``threadpool_limits``, ``OMP_NUM_THREADS`` and the likes govern rhokit as they
    govern NumPy, also in the processes of joblib and of a Dask cluster, which set
    them. In a thread that shares the cores with others of its kind it is one: see
    :func:`one_worker`.
    """
    return 1 if _shares_cores() else _LIMIT.threads_wanted()


def _shares_cores() -> bool:
    """Whether others that do the same run next to this thread, by joblib or by us."""
    if getattr(_THREAD, "alone", False):
        return True
    if threading.current_thread() is threading.main_thread():
        return False
    return bool(getattr(get_active_backend()[0], "nesting_level", 0))


class _SharedLimit:
    """Holds BLAS at one thread while anyone works.

    The limit is the process's, so overlapping users must not restore each other's
    values: the first one in sets it, the last one out restores it. threadpoolctl
    listens to one thread at a time, so whoever leaves lets go of that, too.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before: list[int] = []

    def threads_wanted(self) -> int:
        with self._lock:
            libraries = _controller().lib_controllers
            counts = self._before or [each.get_num_threads() for each in libraries]
            return max((count or 1 for count in counts), default=1)

    @contextmanager
    def hold(self) -> Iterator[None]:
        libraries = _controller().lib_controllers
        with self._lock:
            if not self._users:
                self._before = [each.get_num_threads() or 1 for each in libraries]
                for library in libraries:
                    library.set_num_threads(1)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    for library, count in zip(libraries, self._before, strict=True):
                        library.set_num_threads(count)
                    self._before = []
                for library in libraries:
                    # From threadpoolctl 3.7 on: let other threads change the limit.
                    getattr(library, "clear_controlling_thread", _nothing)()


def _nothing() -> None:
    """Stand in for what an older threadpoolctl lacks."""


@contextmanager
def one_worker() -> Iterator[None]:
    """Work in this thread alone, BLAS included: others fill the other cores.

    For tasks that a scheduler runs side by side in threads of one process.
    """
    before = getattr(_THREAD, "alone", False)
    _THREAD.alone = True
    try:
        with _LIMIT.hold():
            yield
    finally:
        _THREAD.alone = before


_LIMIT = _SharedLimit()
_THREAD = threading.local()


@contextmanager
def small_algebra(dim: int) -> Iterator[None]:
    """One thread for decompositions and clusterings of small matrices.

    They call BLAS and OpenMP many times for little work each. Threads gain little
    there; where another process has the core, each call waits for it, up to a hundred
    times longer; and when all is done, BLAS's threads go on spinning for a tenth of a
    second, in the way of the workers of :func:`map_blocks`.
    """
    if dim > _SMALL_DIM:
        yield
        return
    with _LIMIT.hold(), _controller("openmp").limit(limits=1):
        yield


def map_jobs(work: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """Call ``work(job)`` for jobs that are large and know nothing of each other.

    They run side by side, each in one thread, BLAS included; what takes longest should
    come first. Results are in the order of the jobs.
    """
    workers = min(blas_threads(), len(jobs))
    if workers <= 1:
        return [work(job) for job in jobs]

    def alone(job: Job) -> Result:
        with one_worker():
            return work(job)

    with _LIMIT.hold(), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(alone, jobs))


def map_blocks(
    work: Callable[[int, slice], Result], n_rows: int, rows_per_block: int
) -> list[Result]:
    """Call ``work(worker, block)`` for every block of rows; results in row order.

    Each worker takes a run of neighbouring blocks, in order: what it adds up does not
    depend on who happened to be faster, and rows that were sorted stay together.
    """
    starts = range(0, n_rows, rows_per_block)
    blocks = [slice(start, min(start + rows_per_block, n_rows)) for start in starts]
    workers = min(blas_threads(), len(blocks)) if len(blocks) > 1 else 1
    if workers == 1:
        with _LIMIT.hold() if _shares_cores() else nullcontext():
            return [work(0, block) for block in blocks]

    def share(worker: int) -> list[Result]:
        first, last = (len(blocks) * w // workers for w in (worker, worker + 1))
        return [work(worker, block) for block in blocks[first:last]]

    with _LIMIT.hold(), ThreadPoolExecutor(workers) as pool:
        shares = pool.map(share, range(workers))
        return [result for part in shares for result in part]
