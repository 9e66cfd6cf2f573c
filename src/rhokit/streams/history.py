"""What a stream was like before: states of past periods, and when it changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.drift import ChangePoint, Comparison, Timeline, Watch, compare
from rhokit.drift.finding import check_block_rows, check_rate
from rhokit.drift.sides import fair_places, outcome_columns
from rhokit.drift.tables import Table, stacked, table_of_rows
from rhokit.drift.timeline import Track
from rhokit.drift.times import shown_time, times_of
from rhokit.estimators.base import OnePassEstimator
from rhokit.models import Model
from rhokit.models.kept import rows_kept
from rhokit.validation import check_count

_N_PERMUTATIONS = 199


@dataclass(frozen=True, eq=False)
class Period:
    """Consecutive rows of a stream, and the model of them.

    Parameters
    ----------
    start, stop : int
        Numbers of its first row, and of the row after its last one.
    model : Model
    start_time, stop_time : float, optional
        When its first and its last row came.
    """

    start: int
    stop: int
    model: Model
    start_time: float | None = None
    stop_time: float | None = None

    def __len__(self) -> int:
        return self.stop - self.start

    def joined_by(self, later: Period, estimator: OnePassEstimator) -> Period:
        """This period and the next one as one."""
        model = estimator.with_model(self.model)
        model = model.merge(estimator.with_model(later.model))
        return replace(
            self, stop=later.stop, model=model.model_, stop_time=later.stop_time
        )


@dataclass(frozen=True, eq=False)
class History:
    """The past of a stream: models of its periods, and when it changed.

    Recent periods are short and old ones long: whenever there are more than ``detail``
    of one length, the two oldest of them become one, so that n rows take room for
    ``detail`` · log₂(n / period_rows) models. Rows are also watched for changes as
    :func:`rhokit.find_changes` does.

    Parameters
    ----------
    period_rows : int, default=1000
        Rows of the shortest periods.
    detail : int, default=8
        Periods of each length: one is at most about 2 / ``detail`` of its age long.
    false_alarms : float, default=1e-6
        How many changes may be said per row though there are none.
    block_rows : int, default=1
        Rows that come one after the other and may depend on each other.
    n_rows, periods, watch, estimator, are_dates : optional
        What has been learned so far: filled in by the stream.

    Attributes
    ----------
    n_rows : int
    changes : tuple of ChangePoint
    periods : tuple of Period
        Oldest first.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE, Stream
    >>> X = np.random.default_rng(0).normal(size=(20_000, 2))
    >>> X[12_000:, 1] += 1
    >>> stream = Stream(DMKDE(n_components=64, random_state=0), history=500)
    >>> stream.learn_many(X)
    >>> history = stream.history
    >>> [(change.columns, change.noticed < 12_100) for change in history.changes]
    [(('column 1',), True)]
    >>> then, now = history.model(2_000, 8_000), history.model(14_000)
    >>> means = [each.sample(2000, random_state=0)[:, 1].mean() for each in (then, now)]
    >>> np.round(means).tolist()
    [0.0, 1.0]
    >>> len(history.periods) < 26
    True
    """

    period_rows: int = 1000
    detail: int = 8
    false_alarms: float = 1e-6
    block_rows: int = 1
    n_rows: int = field(default=0, kw_only=True)
    periods: tuple[Period, ...] = field(default=(), kw_only=True)
    watch: Watch | None = field(default=None, kw_only=True, repr=False)
    estimator: OnePassEstimator | None = field(default=None, kw_only=True, repr=False)
    are_dates: bool = field(default=False, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        check_count("period_rows", self.period_rows)
        check_count("detail", self.detail)
        check_rate(self.false_alarms)
        check_block_rows(self.block_rows)

    @classmethod
    def of(cls, given: Any) -> Self | None:
        """A history as a stream is given it: rows of a period, or a history."""
        if given is None or isinstance(given, cls):
            return given
        return cls(period_rows=given)

    # ---- rows -----------------------------------------------------------------------

    def after(
        self, work: OnePassEstimator, batch: Batch, learned: NDArray[np.bool_] | None
    ) -> History:
        """The history with further rows.

        Parameters
        ----------
        work : one-pass model
            That knows these rows' columns and targets.
        batch : Batch
        learned : array of shape (n,), optional
            Which of them the stream has learned; None for all.
        """
        if batch.weights is not None:  # rows of no weight are not there
            learned = None if learned is None else learned[batch.weights > 0]
            batch = batch.seen()
        known = replace(self, estimator=work.blank(), n_rows=self.n_rows + len(batch))
        known = replace(known, watch=self._watched(batch))
        start = self.n_rows
        for place in self._cuts(len(batch)):
            part = batch.take(place)
            kept = part if learned is None else part.take(learned[place])
            known = known.with_part(start + place.start, part, kept)
        return known

    def _cuts(self, n: int) -> list[slice]:
        """Pieces of the next n rows that do not reach beyond a period."""
        first = -self.n_rows % self.period_rows
        inner = range(first, n, self.period_rows)
        places = sorted({0, *(p for p in inner if p < n), n})
        return [slice(a, b) for a, b in pairwise(places)]

    def with_part(self, start: int, part: Batch, kept: Batch) -> History:
        """With rows of one period; those that were learned are in its model."""
        assert self.estimator is not None
        times = None if part.times is None else part.times[[0, -1]].tolist()
        begins = start % self.period_rows == 0
        fresh = Period(start, start, self.estimator.model_, times and times[0])
        last = fresh if begins or not self.periods else self.periods[-1]
        model = self.estimator.with_model(last.model)
        if kept.total_weight > 0:
            model = model.partial_fit(kept)
        grown = replace(
            last,
            stop=start + len(part),
            model=model.model_,
            stop_time=times and times[1],
        )
        older = self.periods if last is fresh else self.periods[:-1]
        return replace(self, periods=self._coarser((*older, grown)))

    def _coarser(self, periods: tuple[Period, ...]) -> tuple[Period, ...]:
        """With the oldest two of a length as one, where there are too many of it."""
        assert self.estimator is not None
        if len(periods[-1]) < self.period_rows:
            return periods
        length = self.period_rows
        while True:
            alike = [k for k, each in enumerate(periods) if len(each) == length]
            if len(alike) <= self.detail:
                return periods
            k = alike[0]
            both = periods[k].joined_by(periods[k + 1], self.estimator)
            periods = (*periods[:k], both, *periods[k + 2 :])
            length *= 2

    def _watched(self, batch: Batch) -> Watch:
        watch = self.watch or Watch(float(self.false_alarms), int(self.block_rows))
        grown = watch.after(_table(batch))
        if batch.times is None:
            return grown
        changes = tuple(self._timed(each, batch, watch) for each in grown.changes)
        return replace(grown, changes=changes)

    def _timed(self, change: ChangePoint, batch: Batch, before: Watch) -> ChangePoint:
        """A change with the times of its rows, if it has none."""
        if change.noticed_time is not None:
            return change
        assert batch.times is not None
        rows = np.arange(before.n_rows, before.n_rows + len(batch))
        starts = [(p.start, p.start_time) for p in self.periods]
        ends = [(p.stop - 1, p.stop_time) for p in self.periods]
        known = sorted({(a, b) for a, b in [*starts, *ends] if b is not None})
        places = np.concatenate([[a for a, _ in known], rows])
        times = np.concatenate([[b for _, b in known], batch.times])
        at = np.interp([change.began, change.noticed], places, times)
        began, noticed = (shown_time(t, self.are_dates) for t in at.tolist())
        return replace(change, began_time=began, noticed_time=noticed)

    # ---- answers --------------------------------------------------------------------

    @property
    def changes(self) -> tuple[ChangePoint, ...]:
        """When rows changed, and in which columns."""
        return () if self.watch is None else self.watch.changes

    def model(self, start: Any = None, stop: Any = None) -> Any:
        """The model of the rows of a span of time: an estimator that answers.

        It is merged from the periods whose middle lies in the span, or is that of the
        one period that the span lies in: see :meth:`span`.

        Parameters
        ----------
        start, stop : int, float, date or ISO text, optional
            From when, and until when (not included): times, where rows came with some,
            else numbers of rows. The beginning and the end without them.
        """
        found = self._within(start, stop)
        assert self.estimator is not None
        models = [self.estimator.with_model(period.model) for period in found]
        models = [model for model in models if model.state_ is not None]
        if not models:
            raise ValueError("no row was learned in this span")
        first, *others = models
        return first.merge(*others)

    def span(self, start: Any = None, stop: Any = None) -> tuple[Any, Any]:
        """First and last time, or row, of those that :meth:`model` answers from.

        Parameters
        ----------
        start, stop : int, float, date or ISO text, optional
            As of :meth:`model`.
        """
        found = self._within(start, stop)
        return self._shown(found[0], first=True), self._shown(found[-1], first=False)

    def _shown(self, period: Period, *, first: bool) -> Any:
        time = period.start_time if first else period.stop_time
        if time is not None:
            return shown_time(time, self.are_dates)
        return period.start if first else period.stop - 1

    def _ends(self, period: Period) -> tuple[float, float]:
        if period.start_time is not None and period.stop_time is not None:
            return period.start_time, period.stop_time
        return float(period.start), float(period.stop)

    def _within(self, start: Any, stop: Any) -> list[Period]:
        """The periods that make up a span."""
        if not self.periods:
            raise ValueError("the history is empty: nothing has been learned yet")
        low, high = self._bound(start, -np.inf), self._bound(stop, np.inf)
        if not low < high:
            raise ValueError(f"start must be before stop, got {start!r} and {stop!r}")
        ends = [self._ends(period) for period in self.periods]
        inside = [
            period
            for period, (a, b) in zip(self.periods, ends, strict=True)
            if low <= (a + b) / 2 < high
        ]
        if not inside:
            inside = [
                period
                for period, (a, b) in zip(self.periods, ends, strict=True)
                if a <= low and high <= b
            ][:1]
        if not inside:
            whole = [self._shown(self.periods[k], first=not k) for k in (0, -1)]
            raise ValueError(
                f"the history goes from {whole[0]} to {whole[1]}, got {start!r} to "
                f"{stop!r}"
            )
        return inside

    def _bound(self, given: Any, otherwise: float) -> float:
        if given is None:
            return otherwise
        found = times_of([given])
        if found.are_dates != self.are_dates:
            wanted = "dates" if self.are_dates else "numbers"
            raise ValueError(f"start and stop must be {wanted}, got {given!r}")
        return float(found.values[0])

    # ---- a picture ------------------------------------------------------------------

    def timeline(self) -> Timeline:
        """Changes, what columns were like in each period, and comparisons.

        Columns are told from the rows that models keep.
        """
        watch = self.watch or Watch(float(self.false_alarms), int(self.block_rows))
        tables = [(period, _kept_table(period.model)) for period in self.periods]
        known = [(period, table) for period, table in tables if table is not None]
        return Timeline(
            changes=self.changes,
            n_rows=self.n_rows,
            false_alarms=float(self.false_alarms),
            block_rows=int(self.block_rows),
            watches_from=watch.watches_from,
            edges=_edges([period for period, _ in known]),
            edge_times=self._edge_times([period for period, _ in known]),
            tracks=_tracks([table for _, table in known]),
            comparisons=self._comparisons(),
        )

    def plot(self, **kwargs: Any) -> Any:
        """Draw it: see :class:`rhokit.plots.TimelineDisplay`."""
        return self.timeline().plot(**kwargs)

    def _edge_times(self, periods: list[Period]) -> tuple[Any, ...] | None:
        if not periods or any(period.start_time is None for period in periods):
            return None
        found = [self._shown(period, first=True) for period in periods]
        return (*found, self._shown(periods[-1], first=False))

    def _comparisons(self) -> tuple[Comparison | None, ...]:
        """Of the models of the periods wholly before and wholly after each change."""
        starts = [0, *(change.noticed + 1 for change in self.changes)]
        stops = [*(change.began for change in self.changes), self.n_rows]
        models = [self._between(*span) for span in zip(starts, stops, strict=True)]
        return tuple(
            None
            if before is None or after is None
            else compare(before, after, n_permutations=_N_PERMUTATIONS)
            for before, after in pairwise(models)
        )

    def _between(self, start: int, stop: int) -> Any:
        """The model of periods that lie between two rows; None where there is none."""
        whole = [p for p in self.periods if start <= p.start and p.stop <= stop]
        whole = [p for p in whole if rows_kept(p.model) is not None]
        if not whole or self.estimator is None:
            return None
        first, *others = (self.estimator.with_model(p.model) for p in whole)
        return first.merge(*others)


def _table(batch: Batch) -> Table:
    """Rows and targets as columns to watch."""
    table = table_of_rows(batch.rows, batch.columns, float(len(batch)))
    if batch.target is None:
        return table
    for column in outcome_columns(batch.target, "target", None):
        table = table.with_column(column)
    return table


def _kept_table(model: Model) -> Table | None:
    """The rows that a model keeps, as columns."""
    sample = rows_kept(model)
    if sample is None or not len(sample.keys):
        return None
    table = table_of_rows(sample.rows, model.plan.columns, model.total_weight)
    return table.take(fair_places(sample))


def _edges(periods: list[Period]) -> tuple[int, ...]:
    starts = [period.start for period in periods]
    return (*starts, periods[-1].stop) if periods else ()


def _tracks(tables: list[Table]) -> tuple[Track, ...]:
    """Tracks of columns over tables, whose categories may differ."""
    if not tables:
        return ()
    ends = np.cumsum([len(table) for table in tables]).tolist()
    spans = list(pairwise([0, *ends]))
    return tuple(
        Track.of([column.take(slice(*span)) for span in spans])
        for column in stacked(tables).columns
    )
