"""Rows that come one by one, and a past that fades or falls out of a window."""

from collections import deque
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from rhokit.batch import Batch
from rhokit.estimators.base import OnePassEstimator
from rhokit.streams.buffer import BatchBuffer, copied
from rhokit.streams.learning import become, check_one_pass, learn
from rhokit.streams.single_rows import RowChecker, SingleRow, as_arrays

# The least share of the past that is kept by one block: below it, it is gone.
_LEAST_DECAY = 1e-300


class Stream:
    r"""A one-pass model that learns from an endless stream, row by row.

    Rows wait in a buffer and are learned together, which is some hundred times faster
    than one by one and gives the same model. What was seen can fade,

    .. math:: \rho_n \propto \sum_i 2^{-(n-i)/h}\, \phi(x_i)\phi(x_i)^\top,

    or be forgotten when it falls out of a window of the last rows.

    Parameters
    ----------
    estimator : one-pass model
        It learns in place. If it is not prepared, the first rows choose its scaling, γ
        and map.
    half_life : float, optional
        h: after so many further rows, a row counts half.
    window : int, optional
        Keep only so many rows, the last ones. They are held in memory, to be unlearned
        when their time has come.
    warm_up : int, default=1000
        How many first rows choose scaling, γ and map.
    buffer_rows : int, default=1024
        How many rows are learned together.

    Attributes
    ----------
    n_seen : int
        Rows that came so far.
    model : one-pass model
        The estimator, with everything learned that came so far.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE, Stream
    >>> rng = np.random.default_rng(0)
    >>> stream = Stream(DMKDE(n_components=64, random_state=0), window=500)
    >>> for _ in range(2000):
    ...     stream.learn_one({"speed": rng.normal(), "load": rng.normal()})
    >>> stream.model.state_.weight
    array([500.])
    >>> stream.model.feature_names_in_
    array(['speed', 'load'], dtype=object)
    """

    def __init__(
        self,
        estimator: OnePassEstimator,
        *,
        half_life: float | None = None,
        window: int | None = None,
        warm_up: int = 1000,
        buffer_rows: int = 1024,
    ) -> None:
        check_one_pass(estimator)
        _check_memory(half_life, window)
        for name, count in {"warm_up": warm_up, "buffer_rows": buffer_rows}.items():
            _check_count(name, count)
        self._estimator = estimator
        self._half_life, self._window = half_life, window
        self._warm_up, self._buffer_rows = warm_up, buffer_rows
        self._work = copy(estimator)
        known = estimator.plan_.columns if estimator.is_prepared else None
        self._rows = RowChecker(self._work, known)
        self._single: list[SingleRow] = []  # rows that came one by one
        self._waiting = BatchBuffer()
        self._refused: list[ValueError] = []
        self._held: deque[Batch] = deque()  # what is in the window, oldest first
        self.n_seen = 0

    def learn_one(self, x: Any, y: Any = None, weight: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x : mapping or sequence
            Values by the names of their columns, or in their order.
        y : optional
            Its target.
        weight : float, default=1.0
        """
        self._single.append(self._rows.single(x, y, weight))
        self.n_seen += 1
        if len(self._single) >= self._buffer_rows:
            self._learn_waiting()

    def learn_many(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        """Learn rows (n, d), with targets and weights if they have any."""
        self._gather_single()
        batch = self._rows.batch(X, y, sample_weight)
        self._waiting.add(batch)
        self.n_seen += len(batch)
        if self._waiting.n_rows >= self._buffer_rows:
            self._learn_waiting()
        self._waiting.settle()

    @property
    def model(self) -> OnePassEstimator:
        """The estimator, with everything learned that came so far."""
        self._gather_single()
        self._learn_all()
        columns = self._rows.columns
        if columns is None or not self._work.is_prepared or self._work.state_ is None:
            return self._estimator  # no row has come yet
        return become(self._estimator, self._work, columns)

    @property
    def n_held(self) -> int:
        """Rows that are kept to be unlearned when they fall out of the window."""
        return sum(map(len, self._held))

    # ---- rows that wait --------------------------------------------------------------

    def _gather_single(self) -> None:
        """Move rows that came one by one to the buffer, as one batch."""
        single, self._single = self._single, []
        if single:
            self._in_parts(single, list.__getitem__, self._buffer_single)

    def _buffer_single(self, single: list[SingleRow]) -> None:
        self._waiting.add(self._rows.batch(*as_arrays(single), encoded=True))

    def _learn_waiting(self) -> None:
        self._gather_single()
        if self._work.is_prepared or self._waiting.n_rows >= self._warm_up:
            self._learn_all()

    def _learn_all(self) -> None:
        n_rows = self._waiting.n_rows + len(self._refused)
        if self._waiting.n_rows and self._can_learn():
            batch = self._waiting.take()
            for start in range(0, len(batch), self._buffer_rows):
                block = batch.take(slice(start, start + self._buffer_rows))
                self._in_parts(block, Batch.take, self._learn_block)
        refused, self._refused = self._refused, []
        if refused:
            self.n_seen -= len(refused)
            raise ValueError(
                f"{len(refused)} of {n_rows} rows were refused, the others have "
                f"been learned: {refused[0]}"
            ) from refused[0]

    def _can_learn(self) -> bool:
        """Whether there is a plan, or rows to choose it from."""
        if not self._work.is_prepared and self._waiting.peek().total_weight > 0:
            self._work.prepare(self._waiting.peek())
        return self._work.is_prepared

    def _in_parts(
        self,
        rows: Any,
        take: Callable[[Any, slice], Any],
        use: Callable[[Any], None],
    ) -> None:
        """Use rows together, or by halves those of them that can be used."""
        try:
            use(rows)
        except ValueError as error:
            half = len(rows) // 2
            if not half:
                self._refused.append(error)
                return
            for part in (slice(half), slice(half, None)):
                self._in_parts(take(rows, part), take, use)

    # ---- learning --------------------------------------------------------------------

    def _learn_block(self, block: Batch) -> None:
        self._add(block)
        if self._window is not None:
            self._slide(block, self._window)

    def _add(self, block: Batch) -> None:
        if self._half_life is None:
            learn(self._work, block)
            return
        ages = np.arange(len(block) - 1, -1, -1)
        weights = np.exp2(-ages / self._half_life) * block.mass
        kept = max(2.0 ** (-len(block) / self._half_life), _LEAST_DECAY)
        if weights.any():
            self._work.partial_fit(replace(block, weights=weights), decay=kept)
        elif self._work.state_ is not None:
            self._work.fade(kept)  # time passes all the same

    def _slide(self, block: Batch, window: int) -> None:
        """Unlearn what falls out of the window."""
        self._held.append(copied(block))
        surplus = self.n_held - window
        while surplus > 0:
            oldest = self._held.popleft()
            gone = oldest.take(slice(surplus))
            if gone.total_weight > 0:
                self._work.unlearn(gone)
            if len(gone) < len(oldest):
                self._held.appendleft(oldest.take(slice(surplus, None)))
            surplus -= len(gone)


def _check_memory(half_life: Any, window: Any) -> None:
    """Refuse what says nothing about how the past is to be kept."""
    if half_life is not None and window is not None:
        raise ValueError("give either half_life or window, not both")
    if half_life is not None and not _is_positive(half_life, Real):
        raise ValueError(f"half_life must be a positive number, got {half_life!r}")
    if window is not None:
        _check_count("window", window)


def _check_count(name: str, count: Any) -> None:
    if not _is_positive(count, Integral):
        raise ValueError(f"{name} must be an integer >= 1, got {count!r}")


def _is_positive(value: Any, kind: type) -> bool:
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    return is_number and bool(value > 0)
