"""Rows that come one by one, and a past that fades or falls out of a window."""

import os
from copy import copy
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from rhokit.errors import RefusedRows
from rhokit.estimators.base import OnePassEstimator
from rhokit.streams.buffer import copied, joined
from rhokit.streams.clock import Clock
from rhokit.streams.history import History
from rhokit.streams.learning import (
    become,
    check_one_pass,
    learn_fading,
    prepared,
    usual_rows,
)
from rhokit.streams.options import check_level, check_memory, check_positive
from rhokit.streams.single_rows import RowChecker
from rhokit.streams.stream_files import read_stream, write_stream
from rhokit.streams.stream_state import StreamState, at_row, slide


class Stream:
    r"""A one-pass model that learns from an endless stream, row by row.

    Rows wait in a buffer and are learned together, which is some hundred times faster
    than one by one and gives the same model. What was seen can fade,

    .. math:: \rho_n \propto \sum_i 2^{-(n-i)/h}\, \phi(x_i)\phi(x_i)^\top,

    or be forgotten when it falls out of a window of the last rows.

    A row that cannot be learned is refused alone. What is wrong with the row itself is
    said when it comes; what only the model can judge, as a value outside its range, is
    said by a :class:`~rhokit.errors.RefusedRows` once the others have been learned.
    Whatever else goes wrong, also an interruption, rows that wait go on waiting.

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
        How many rows are learned together. Rows are scored by what was learned before
        the block that they are in.
    learn_above : float in (0, 1), optional
        Of detectors of outliers: learn only rows whose p-value is above this, and skip
        the others, once ``warm_up`` rows have been learned. Windows and half-lives
        count learned rows. A change that comes all at once is then never learned.
    history : int or History, optional
        Keep models of past periods, the shortest of so many rows, and watch for
        changes.

    Attributes
    ----------
    n_seen : int
        Rows that came so far and were not refused.
    n_skipped : int
        Those of them that were not learned, since they looked like outliers.
    model : one-pass model
        The estimator, with everything learned that came so far.
    history : History or None
        Its past, with everything learned that came so far.

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

    A row is scored before it is learned:

    >>> from rhokit import DMKDOutlierDetector
    >>> stream = Stream(DMKDOutlierDetector(), warm_up=200, buffer_rows=100)
    >>> for row in rng.normal(size=(500, 2)):
    ...     score = stream.score_one(row)
    ...     stream.learn_one(row)
    >>> stream.predict_one([0.0, 0.5]), stream.predict_one([9.0, 9.0])
    (1, -1)
    """

    def __init__(
        self,
        estimator: OnePassEstimator,
        *,
        half_life: float | None = None,
        window: int | None = None,
        warm_up: int = 1000,
        buffer_rows: int = 1024,
        learn_above: float | None = None,
        history: "int | History | None" = None,
    ) -> None:
        check_one_pass(estimator)
        check_memory(half_life, window)
        check_level(learn_above, estimator)
        for name, count in {"warm_up": warm_up, "buffer_rows": buffer_rows}.items():
            check_positive(name, count)
        self._estimator = estimator
        self._half_life, self._window = half_life, window
        self._warm_up, self._buffer_rows = warm_up, buffer_rows
        self._learn_above = learn_above
        fitted = estimator.is_prepared and estimator.state_ is not None
        self._trusted = 0 if fitted else warm_up
        known = estimator.plan_.columns if estimator.is_prepared else None
        self._state = StreamState(copy(estimator), history=History.of(history))
        self._rows = RowChecker(self._state.work, known)
        self._clock = Clock(self._state.history)

    def learn_one(
        self, x: Any, y: Any = None, weight: float = 1.0, *, time: Any = None
    ) -> None:
        """Learn a row.

        Errors tell its position: the number of rows that came before, without those
        that were refused at once.

        Parameters
        ----------
        x : mapping or sequence
            Values by the names of their columns, or in their order.
        y : optional
            Its target.
        weight : float, default=1.0
        time : float, date or ISO text, optional
            When it came, for the history: none before those that came.
        """
        single = self._state.single
        try:
            row, now = self._rows.single(x, y, weight), self._clock.of(time)
            single.append(row._replace(time=self._clock.tick(now)))
        except ValueError as error:
            raise at_row(error, self._state.next_position) from error
        if len(single) >= self._buffer_rows:
            self._learn_waiting()

    def learn_many(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, time: Any = None
    ) -> None:
        """Learn rows (n, d), with targets and weights if they have any.

        All of them, or none where one of them is refused: the error tells its row,
        counted from the first of these. ``time``, for the history, says when each came.
        """
        self._gather_single()
        batch = self._rows.batch(self._state.work, X, y, sample_weight)
        batch = self._clock.stamped(batch, time)
        self._state.waiting.add(batch)
        try:
            if self._state.waiting.n_rows >= self._buffer_rows:
                self._learn_waiting()
        finally:
            self._state.waiting.settle()

    def score_one(self, x: Any) -> float | None:
        """What ``score_samples`` says of a row, by what was learned before.

        For detectors of outliers that is the logarithm of its p-value, the lower the
        odder; for other models the log-density. Rows that wait in the buffer are not
        learned yet: with ``buffer_rows=1`` none do.

        Parameters
        ----------
        x : mapping or sequence
            Values by the names of their columns, or in their order.

        Returns
        -------
        score : float or None
            None while nothing has been learned.
        """
        answer = self._ask("score_samples", x)
        return None if answer is None else float(answer)

    def predict_one(self, x: Any) -> Any:
        """What ``predict`` says of a row, by what was learned before.

        Parameters
        ----------
        x : mapping or sequence
            As of :meth:`score_one`.

        Returns
        -------
        prediction : label, float, or -1 for outliers and 1 for others
            None while nothing has been learned.
        """
        return self._ask("predict", x)

    def predict_proba_one(self, x: Any) -> dict[Any, float] | None:
        """Probabilities of a row's labels, by what was learned before.

        Parameters
        ----------
        x : mapping or sequence
            As of :meth:`score_one`.

        Returns
        -------
        probabilities : dict or None
            By label; None while nothing has been learned.
        """
        probabilities = self._ask("predict_proba", x)
        if probabilities is None:
            return None
        labels = cast(Any, self._state.work).classes_.tolist()
        return dict(zip(labels, probabilities.tolist(), strict=True))

    def _ask(self, method: str, x: Any) -> Any:
        work = self._state.work
        if not hasattr(work, method):
            raise TypeError(
                f"a {type(work).__name__} has no {method}: score_one says how likely "
                "a row is"
            )
        if not work.is_prepared or not work.model_.has_rows:
            return None
        answer = getattr(work, method)(self._rows.question(work, x))[0]
        return answer.item() if isinstance(answer, np.generic) else answer

    @property
    def model(self) -> OnePassEstimator:
        """The estimator, with everything learned that came so far."""
        self._gather_single()
        self._learn_all()
        columns, work = self._rows.columns, self._state.work
        if columns is None or not work.is_prepared or work.state_ is None:
            return self._estimator  # no row has come yet
        return become(self._estimator, work, columns)

    @property
    def history(self) -> "History | None":
        """The past, with everything learned that came so far; None if none is kept."""
        self._gather_single()
        self._learn_all()
        return self._state.history

    @property
    def n_seen(self) -> int:
        """Rows that came so far and were not refused."""
        return self._state.n_seen

    @property
    def n_skipped(self) -> int:
        """Rows that were not learned, since they looked like outliers."""
        return self._state.n_skipped

    @property
    def n_held(self) -> int:
        """Rows that are kept to be unlearned when they fall out of the window."""
        return sum(map(len, self._state.held))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the stream to a file, whole or not at all: :meth:`load` goes on.

        Rows that wait are learned first. The file holds the model, the window and the
        history; numbers and names, no code.
        """
        model, state = self.model, self._state
        if not model.is_prepared:
            raise ValueError("the stream has learned nothing yet: save its estimator")
        options = {
            "half_life": self._half_life,
            "window": self._window,
            "warm_up": self._warm_up,
            "buffer_rows": self._buffer_rows,
            "learn_above": self._learn_above,
        }
        names = ("n_learned", "n_left", "n_skipped")
        counts = {name: getattr(state, name) for name in names}
        held = joined(list(state.held)) if state.held else None
        parts = {"options": options, "counts": counts}
        write_stream(path, model, parts, held, state.history)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, limit: float | None = None) -> Self:
        """Read a stream that :meth:`save` wrote, to go on learning.

        Parameters
        ----------
        path : str or path
        limit : float, optional
            Of each model in it, as of :func:`rhokit.load`.

        Returns
        -------
        stream : Stream

        Raises
        ------
        ModelFileError
            If the file is damaged, is no stream, or would cost too much.
        """
        estimator, parts, held, history = read_stream(path, limit)
        stream = cls(estimator, **parts["options"], history=history)
        window = () if held is None else (held,)
        stream._trusted = parts["options"]["warm_up"]
        stream._state = replace(stream._state, held=window, **parts["counts"])
        return stream

    # ---- rows that wait --------------------------------------------------------------

    def _gather_single(self) -> None:
        """Let rows that came one by one wait as one batch."""
        if self._state.single:
            self._gather_first(len(self._state.single))

    def _gather_first(self, n_rows: int) -> None:
        """Let the first single rows wait, or by halves those of them that can."""
        state = self._state
        try:
            batch = self._rows.gathered(state.work, state.single[:n_rows])
            self._state = state.gathered(batch)
        except ValueError as error:
            if n_rows == 1:
                self._state = state.without_single(error)
                return
            self._gather_first(n_rows // 2)
            self._gather_first(n_rows - n_rows // 2)

    def _learn_waiting(self) -> None:
        self._gather_single()
        if self._state.work.is_prepared or self._state.waiting.n_rows >= self._warm_up:
            self._learn_all()

    def _learn_all(self) -> None:
        n_rows = self._state.waiting.n_rows + len(self._state.refused)
        if self._state.waiting.n_rows and self._can_learn():
            while left := self._state.waiting.n_rows:
                self._learn_first(min(left, self._buffer_rows))
        refused = self._state.refused
        if refused:
            self._state = replace(self._state, refused=())
            raise RefusedRows(refused, n_rows) from refused[0]

    def _can_learn(self) -> bool:
        """Whether there is a plan, or rows to choose it from."""
        state = self._state
        if state.work.is_prepared:
            return True
        batch = state.waiting.peek().seen()
        if len(batch):
            self._state = replace(state, work=prepared(state.work, batch))
        return bool(len(batch))

    # ---- learning --------------------------------------------------------------------

    def _learn_first(self, n_rows: int) -> None:
        """Learn the rows that wait longest, or by halves those of them that can be.

        A row that is refused is refused alone; any other error leaves all that was not
        learned waiting.
        """
        state = self._state
        try:
            self._state = self._after(state, n_rows)
        except ValueError as error:
            if n_rows == 1:
                self._state = state.without_first(error)
                return
            self._learn_first(n_rows // 2)
            self._learn_first(n_rows - n_rows // 2)

    def _after(self, state: StreamState, n_rows: int) -> StreamState:
        """The state once the first rows have been learned."""
        work, whole = copy(state.work), state.waiting.peek().take(slice(n_rows))
        usual = None
        if self._learn_above is not None:
            trusted = max(self._trusted - state.n_learned, 0)
            usual = usual_rows(work, whole, self._learn_above, trusted)
        block = whole if usual is None else whole.take(usual)
        changes: dict[str, Any] = {"n_skipped": state.n_skipped + n_rows - len(block)}
        if len(block):
            learn_fading(work, block, self._half_life)
            if self._window is not None:
                held = slide(work, (*state.held, copied(block)), self._window)
                changes["held"] = held
        if state.history is not None:
            past = replace(state.history, are_dates=bool(self._clock.are_dates))
            changes["history"] = past.after(work, whole, usual)
        return state.learned(work, n_rows, **changes)
