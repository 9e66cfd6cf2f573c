"""Rows that come one by one, and a past that fades or falls out of a window."""

import math
import warnings
from collections import deque
from collections.abc import Mapping
from copy import copy
from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import check_consistent_length

from rhokit.frames import check_table
from rhokit.streams.buffer import RowBuffer
from rhokit.streams.columns import become, check_one_pass, learn, without_names
from rhokit.validation import check_rows, check_weights

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
        estimator,
        *,
        half_life=None,
        window=None,
        warm_up=1000,
        buffer_rows=1024,
    ):
        check_one_pass(estimator)
        if half_life is not None and window is not None:
            raise ValueError("give either half_life or window, not both")
        if half_life is not None and not _is_positive(half_life, Real):
            raise ValueError(f"half_life must be a positive number, got {half_life!r}")
        counts = {"window": window, "warm_up": warm_up, "buffer_rows": buffer_rows}
        for name, count in counts.items():
            if not _is_positive(count, Integral) and (name, count) != ("window", None):
                raise ValueError(f"{name} must be an integer >= 1, got {count!r}")
        self._estimator = estimator
        self._half_life, self._window = half_life, window
        self._warm_up, self._buffer_rows = warm_up, buffer_rows
        self._columns = copy(estimator)  # remembers and compares the columns
        self._work = without_names(estimator)  # learns from rows without names
        self._single: list[tuple] = []  # rows that came one by one
        self._waiting = RowBuffer()
        self._held: deque = deque()  # what is in the window, oldest first
        self.n_seen = 0

    def learn_one(self, x, y=None, weight=1.0):
        """Learn a row.

        Parameters
        ----------
        x : mapping or sequence
            Values by the names of their columns, or in their order.
        y : optional
            Its target.
        weight : float, default=1.0
        """
        row = self._checked_row(x)
        self._single.append((row, self._checked_target(y), weight))
        self.n_seen += 1
        if len(self._single) >= self._buffer_rows:
            self._learn_waiting()

    def learn_many(self, X, y=None, sample_weight=None):
        """Learn rows (n, d), with targets and weights if they have any."""
        self._gather_single()
        columns = copy(self._columns)
        rows = check_table(
            columns,
            X,
            reset=not hasattr(columns, "n_features_in_"),
            dtype=columns._row_dtype(),
            numeric=columns._numeric_rows(),
        )
        targets = self._checked_target(y)
        targets = None if targets is None else np.asarray(targets)
        check_consistent_length(rows, targets)
        weights = check_weights(sample_weight, len(rows), may_vanish=True)
        self._columns, self._work._row_schema = columns, columns.schema_
        self._waiting.add(rows, targets, weights)
        self.n_seen += len(rows)
        if self._waiting.n_rows >= self._buffer_rows:
            self._learn_waiting()
        self._waiting.settle()

    @property
    def model(self):
        """The estimator, with everything learned that came so far."""
        self._gather_single()
        if self._waiting.n_rows:
            self._learn_all()
        names = getattr(self._columns, "feature_names_in_", None)
        if getattr(self._work, "state_", None) is None:
            return self._estimator  # no row has come yet
        return become(self._estimator, self._work, names)

    # ---- rows as they come ---------------------------------------------------------

    def _checked_target(self, y):
        """The target, if the model learns one."""
        if not hasattr(self._estimator, "_essential_targets"):
            return None
        self._estimator._require_target(y)
        return y

    def _checked_row(self, x):
        """The values of a row in the order of the columns, which the first one sets."""
        columns = self._columns
        if isinstance(x, Mapping):
            names = getattr(columns, "feature_names_in_", None)
            if names is None:
                columns = copy(columns)  # so that a bad first row leaves no trace
                _learn_names(columns, list(x))
                names = columns.feature_names_in_
            if len(x) != len(names) or not all(name in x for name in names):
                raise ValueError(
                    f"a row must have the columns {list(names)}, got {list(x)}"
                )
            x = [x[name] for name in names]
        if not hasattr(columns, "n_features_in_"):
            columns = copy(columns)
            columns.n_features_in_ = len(x)
        if len(x) != columns.n_features_in_:
            raise ValueError(
                f"a row must have {columns.n_features_in_} values, got {len(x)}"
            )
        mixed = columns.schema_ is not None
        if columns._numeric_rows() and not mixed:
            _refuse_non_numbers(columns, x)
        row = columns.schema_.encode_row(x) if mixed else x
        self._columns = columns
        return tuple(row)  # a list may be filled with the next row

    def _gather_single(self):
        """Move rows that came one by one to the buffer, as one batch."""
        if not self._single:
            return
        rows, targets, weights = zip(*self._single, strict=True)
        self._single = []
        weights = None if set(weights) == {1.0} else np.array(weights, dtype=float)
        targets = None if targets[0] is None else np.array(targets)
        self._waiting.add(np.array(rows), targets, weights)

    # ---- learning ------------------------------------------------------------------

    def _learn_waiting(self):
        self._gather_single()
        if self._work._is_prepared() or self._waiting.n_rows >= self._warm_up:
            self._learn_all()

    def _learn_all(self):
        if not self._work._is_prepared():
            self._work.prepare(*self._waiting.peek())
        batch = self._waiting.take()
        refused: list[ValueError] = []
        for start in range(0, len(batch[0]), self._buffer_rows):
            block = _part(batch, slice(start, start + self._buffer_rows))
            self._learn_block(block, refused)
        if refused:
            self.n_seen -= len(refused)
            raise ValueError(
                f"{len(refused)} of {len(batch[0])} rows were refused, the others have "
                f"been learned: {refused[0]}"
            ) from refused[0]

    def _learn_block(self, block, refused):
        """Learn a block, or those rows of it that can be learned."""
        try:
            self._add(*block)
        except ValueError as error:
            n_rows = len(block[0])
            if n_rows == 1:
                refused.append(error)
                return
            for half in (slice(n_rows // 2), slice(n_rows // 2, None)):
                self._learn_block(_part(block, half), refused)
        else:
            if self._window is not None:
                self._slide(block)

    def _add(self, X, y, weight):
        if self._half_life is None:
            learn(self._work, X, y, weight)
            return
        ages = np.arange(len(X) - 1, -1, -1)
        fading = np.exp2(-ages / self._half_life)
        kept = max(2.0 ** (-len(X) / self._half_life), _LEAST_DECAY)
        weight = fading if weight is None else fading * weight
        if weight.any():
            self._work.partial_fit(X, y, sample_weight=weight, decay=kept)
        elif self._work.state_ is not None:
            self._work._fade(kept)  # time passes all the same

    def _slide(self, block):
        """Unlearn what falls out of the window."""
        self._held.append(
            tuple(None if part is None else part.copy() for part in block)
        )
        surplus = sum(len(held[0]) for held in self._held) - self._window
        while surplus > 0:
            oldest = self._held.popleft()
            count = min(surplus, len(oldest[0]))
            gone = _part(oldest, slice(count))
            if gone[2] is None or gone[2].any():
                self._work.unlearn(*gone)
            if count < len(oldest[0]):
                self._held.appendleft(_part(oldest, slice(count, None)))
            surplus -= count


def _learn_names(columns, names):
    known = getattr(columns, "n_features_in_", len(names))
    if known != len(names):
        raise ValueError(f"a row must have {known} values, got {len(names)}")
    columns.n_features_in_ = len(names)
    columns.feature_names_in_ = np.array(names, dtype=object)


def _refuse_non_numbers(columns, x):
    try:
        if math.isfinite(sum(x)):
            return
    except (TypeError, OverflowError):
        pass
    with warnings.catch_warnings():
        # The row has no names of its own; the error is to say the column's.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        check_rows(columns, [list(x)], reset=False)


def _part(batch, which):
    return tuple(None if part is None else part[which] for part in batch)


def _is_positive(value, kind):
    return isinstance(value, kind) and not isinstance(value, bool) and value > 0
