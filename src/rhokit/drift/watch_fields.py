"""What a file holds of a watch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhokit.drift.sequential import N_BETS, Capital, SequentialRanks
from rhokit.drift.tables import Column, Table
from rhokit.drift.watch import ChangePoint, Segment, Watch
from rhokit.drift.watched_scores import ColumnScale, WatchedScores
from rhokit.records import (
    ArrayField,
    Build,
    Field,
    Maybe,
    Number,
    Reader,
    Record,
    Values,
    Word,
    Writer,
    built,
    refusal,
    require,
)

_COUNT = Number(0, 2**62, integer=True)
_ROLES = ("column", "target", "prediction")
_MOST = 100_000


@dataclass(frozen=True)
class Many:
    """A tuple of values of one kind."""

    field: Field

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """A list."""
        return [
            self.field.write(each, f"{path}.{k}", writer)
            for k, each in enumerate(value)
        ]

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The values, to be built together."""
        if not isinstance(given, list) or len(given) > _MOST:
            raise refusal(path, f"a list of at most {_MOST:,}", given)
        parts = {
            str(k): self.field.read(each, f"{path}.{k}", reader)
            for k, each in enumerate(given)
        }
        return Build(_tuple, parts)


def _tuple(**parts: Any) -> tuple[Any, ...]:
    return tuple(parts.values())


class Text:
    """A text."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The text."""
        return str(value)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The text."""
        if not isinstance(given, str):
            raise refusal(path, "a text", given)
        return given


class NumbersByName:
    """Finite numbers by texts."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """An object."""
        return {str(name): float(number) for name, number in value.items()}

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The numbers."""
        is_fine = isinstance(given, dict) and all(
            isinstance(x, float) and math.isfinite(x) for x in given.values()
        )
        if not is_fine:
            raise refusal(path, "numbers by names", given)
        return given


class Time:
    """A time as users know it: a number, or a date."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """A number, or seconds since 1970 in a list."""
        if isinstance(value, np.datetime64):
            return [int(value.astype("datetime64[s]").astype(np.int64))]
        return float(value)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The time."""
        if isinstance(given, list) and len(given) == 1:
            seconds = Number(-1e14, 1e14, integer=True).read(given[0], path, reader)
            date = np.datetime64(seconds, "s")
            day = date.astype("datetime64[D]")
            return day if day == date else date
        return Number().read(given, path, reader)


class Values1D:
    """Numbers (n,), of which some may be missing."""

    _field = ArrayField((None,))

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The numbers, and which are missing."""
        gaps = np.flatnonzero(np.isnan(value)).tolist()
        return {
            "known": self._field.write(np.nan_to_num(value), path, writer),
            "gaps": gaps,
        }

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The numbers."""
        if not isinstance(given, dict) or given.keys() != {"known", "gaps"}:
            raise refusal(path, "known values and gaps", given)
        values = np.array(self._field.read(given["known"], path, reader))
        place = Number(0, len(values) - 1, integer=True)
        if not isinstance(given["gaps"], list):
            raise refusal(path, "a list of gaps", given["gaps"])
        values[[place.read(k, path, reader) for k in given["gaps"]]] = np.nan
        return values


def _check_column(values: Values, reader: Reader) -> None:
    labels = built(values["labels"])
    if labels is not None:
        codes = values["values"][~np.isnan(values["values"])]
        fine = (codes == codes.astype(np.intp)).all() and (codes >= 0).all()
        require(fine and (codes < len(labels)).all(), "codes must be those of labels")


def _check_table(values: Values, reader: Reader) -> None:
    lengths = {
        len(column.parts["values"]) for column in values["columns"].parts.values()
    }
    require(len(lengths) == 1, "columns of rows that wait must be of one length")


def _check_scale(values: Values, reader: Reader) -> None:
    labels = built(values["labels"])
    n = 1 if labels is None else len(labels)
    sizes = [len(built(values[name])) for name in ("centers", "scales")]
    require(sizes == [n, n], "a column has a center and a scale for each score")


def _check_scores(values: Values, reader: Reader) -> None:
    columns = built(values["columns"])
    require(columns, "scores are about columns")
    for i, j, a, b in built(values["pairs"]):
        fine = i < len(columns) and j < len(columns) and i != j
        require(fine, "pairs are of two columns")
        fine = a < columns[i].n_parts and b < columns[j].n_parts
        require(fine, "pairs are of parts of columns")


def _check_segment(values: Values, reader: Reader) -> None:
    begun = {name: built(values[name]) for name in _BEGUN}
    waits = values["waiting"] is not None or begun["scores"] is None
    missing = {name for name, value in begun.items() if value is None}
    if waits:
        require(missing == set(_BEGUN), "a segment waits, or its scores are fixed")
        return
    ranked = begun["ranks"] is not None
    wanted = {"reference"} if ranked else {"ranks", "evidence"}
    require(missing == wanted, "ranks begin when there are blocks enough")
    n = len(begun["scores"].about)
    shapes = [begun["rest"].shape[1]]
    if ranked:
        ranks, evidence = begun["ranks"], begun["evidence"]
        m = ranks.edges.shape[1]
        require(ranks.tags.shape == (n, m), "each edge has a tag")
        require(ranks.counts.shape == (n, m + 1), "each gap has a count")
        require((np.diff(ranks.edges) >= 0).all(), "edges ascend")
        shapes += [len(ranks.edges), evidence.sums.shape[1], len(evidence.peaks)]
        require(evidence.starts.shape == evidence.sums.shape, "sums have starts")
    else:
        shapes.append(begun["reference"].shape[1])
    require(set(shapes) == {n}, "a segment has numbers for each of its scores")


_BEGUN = ("scores", "rest", "reference", "ranks", "evidence")
_ROWS = ArrayField((None, None))
_POSITIVE_ROWS = ArrayField((None, None), low=0.0)

_COLUMN = Record(
    Column,
    _check_column,
    name=Text(),
    values=Values1D(),
    labels=Maybe(Many(Text())),
    role=Word(_ROLES),
)


def _table(columns: tuple[Column, ...], total: float) -> Table:
    return Table(columns, True, total, {})


_TABLE = Record(_table, _check_table, columns=Many(_COLUMN), total=Number(0.0))
_SCALE = Record(
    ColumnScale,
    _check_scale,
    name=Text(),
    labels=Maybe(Many(Text())),
    centers=Many(Number()),
    scales=Many(Number(np.finfo(float).tiny)),
)
_SCORES = Record(
    WatchedScores, _check_scores, columns=Many(_SCALE), pairs=Many(Many(_COUNT))
)
_RANKS = Record(
    SequentialRanks,
    edges=_ROWS,
    tags=_POSITIVE_ROWS,
    counts=ArrayField((None, None), low=1.0),
)
_CAPITAL = Record(
    Capital,
    sums=ArrayField((N_BETS, None), low=0.0),
    starts=ArrayField((N_BETS, None), low=0.0),
    peaks=ArrayField((None,), low=0.0),
)
_SEGMENT = Record(
    Segment,
    _check_segment,
    start=_COUNT,
    block_rows=Number(1, 2**40, integer=True),
    seed=Number(0, 2**63, integer=True),
    waiting=Maybe(_TABLE),
    scores=Maybe(_SCORES),
    rest=Maybe(_ROWS),
    reference=Maybe(_ROWS),
    ranks=Maybe(_RANKS),
    evidence=Maybe(_CAPITAL),
    n_blocks=_COUNT,
)
_CHANGE = Record(
    ChangePoint,
    began=_COUNT,
    noticed=_COUNT,
    columns=Many(Text()),
    pairs=Many(Many(Text())),
    evidence=NumbersByName(),
    began_time=Maybe(Time()),
    noticed_time=Maybe(Time()),
)


def _check_watch(values: Values, reader: Reader) -> None:
    has_changes = bool(values["changes"].parts)
    require(values["settling"] is None or has_changes, "what settles is a change")


WATCH = Record(
    Watch,
    _check_watch,
    rate=Number(np.finfo(float).tiny, 1.0),
    block_rows=Number(1, 2**40, integer=True),
    seed=Number(0, 2**63, integer=True),
    n_rows=_COUNT,
    changes=Many(_CHANGE),
    current=Maybe(_SEGMENT),
    settling=Maybe(_SEGMENT),
)
"""A watch in a file."""
