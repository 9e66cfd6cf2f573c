"""Blocks of rows over worker threads, with BLAS held at one thread each.

One worker per core that multiplies small matrices on its own beats a threaded BLAS,
whose threads wait for each other at every call, and lets the element-wise loops run
in parallel too.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

# A block holds about this many numbers: large enough for full BLAS speed, small
# enough that no n×D array is ever whole in memory.
_BLOCK_NUMBERS = 2**20


def block_rows(dim: int, batch_size: int | None = None) -> int:
    """Rows per block for states of dimension ``dim``."""
    return batch_size or max(256, min(16384, _BLOCK_NUMBERS // max(dim, 1)))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """How many threads BLAS may use now, which is how many workers we start.

    So ``threadpool_limits``, ``OMP_NUM_THREADS`` and the likes govern rhokit as they
    govern NumPy, and nothing is oversubscribed inside joblib or Dask.
    """
    return _LIMIT.threads_wanted()


class _SharedLimit:
    """Holds BLAS at one thread while anybody needs it; counts who does.

    The limit is the process's, so two overlapping users must not restore each
    other's values: the first one in sets it, the last one out restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._wanted = 1
        self._limiter: object = None

    def threads_wanted(self) -> int:
        with self._lock:
            return self._wanted if self._users else _threads_now()

    @contextmanager
    def hold(self) -> Iterator[None]:
        with self._lock:
            if self._users == 0:
                self._wanted = _threads_now()
                self._limiter = _controller().limit(limits=1)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limiter.restore_original_limits()  # type: ignore[attr-defined]
                    self._limiter = None


def _threads_now() -> int:
    counts = [library["num_threads"] for library in _controller().info()]
    return max(counts, default=1)


_LIMIT = _SharedLimit()


def map_blocks(
    work: Callable[[int, slice], Result], n_rows: int, rows_per_block: int
) -> list[Result]:
    """Call ``work(worker, block)`` for every block of rows; results in row order.

    Worker ``w`` of ``W`` takes the blocks ``w, w + W, …`` in order, so that what it
    adds up does not depend on who happened to be faster.
    """
    starts = range(0, n_rows, rows_per_block)
    blocks = [slice(start, min(start + rows_per_block, n_rows)) for start in starts]
    workers = min(blas_threads(), len(blocks))
    if workers <= 1:
        return [work(0, block) for block in blocks]

    def share(worker: int) -> list[Result]:
        return [work(worker, block) for block in blocks[worker::workers]]

    results: list[Result | None] = [None] * len(blocks)
    with _LIMIT.hold(), ThreadPoolExecutor(workers) as pool:
        for worker, part in enumerate(pool.map(share, range(workers))):
            results[worker::workers] = part
    return results  # type: ignore[return-value]
