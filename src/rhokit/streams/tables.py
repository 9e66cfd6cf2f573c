"""Tables larger than memory: files and folders, read in order with pyarrow."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rhokit.frames import MOST_CATEGORIES, Schema
from rhokit.streams.arrow import (
    checked_missing,
    distinct_values,
    filled,
    is_category,
    is_number,
    skip_rows,
    value_type,
)
from rhokit.streams.files import (
    as_text,
    is_text,
    open_dataset,
    reading_error,
    refuse_numbers,
)

# Rows that are decoded at once, and bytes that are read at once: small, so that what
# pyarrow holds stays small beside a batch.
_RECORD_ROWS = 65_536
_BUFFER_BYTES = 2**20

Arrays = tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]


class Position(NamedTuple):
    """A place between two rows: a piece of the table, and rows of it that are past."""

    piece: int
    offset: int


BEGINNING = Position(0, 0)


@dataclass(frozen=True)
class Piece:
    """A part of a table that can be read by itself: a row group, or a file."""

    fragment: Any
    row_group: int | None
    n_rows: int | None

    @property
    def name(self) -> str:
        return str(getattr(self.fragment, "path", "the table"))


class Table:
    """Columns of a data set of Parquet, CSV or Arrow files, in a fixed order of rows.

    Parameters
    ----------
    source : path, list of paths or pyarrow Dataset
        A file, a folder of files of one format, or several files.
    columns : list of str, optional
        The columns of X; without it all but target and weight.
    target : str or list of str, optional
        The column of y, or the columns of several targets.
    weight : str, optional
        The column of the rows' weights.
    numeric, numeric_target : bool
        Whether the columns of X, and the targets, must be numbers.
    dtype : dtype, optional
        Of X; without it float32 where all columns are, else float64.
    mixed : bool
        Whether columns of X that are text, truth values or dictionaries are
        categories, and X is wide (see :mod:`rhokit.frames`).
    categories : list of str
        Columns that are categories whatever they look like.
    missing : "raise", "drop" or mapping
        What to do with rows that lack a value: refuse them, leave them out, or fill in
        the values of this mapping by column.
    schema : Schema, optional
        Kinds of the columns, where they are known.
    """

    def __init__(
        self,
        source: Any,
        *,
        columns: list[str] | None = None,
        target: str | list[str] | None = None,
        weight: str | None = None,
        numeric: bool = True,
        numeric_target: bool = False,
        dtype: Any = None,
        mixed: bool = False,
        categories: Iterable[str] = (),
        missing: str | Mapping[str, Any] = "raise",
        schema: Schema | None = None,
    ) -> None:
        dataset = open_dataset(source)
        self._missing = checked_missing(missing)
        self.schema = schema
        self.targets = [target] if isinstance(target, str) else list(target or [])
        self._flat_target = isinstance(target, str)
        self.weight = weight
        taken = {*self.targets, *([] if weight is None else [weight])}
        names = dataset.schema.names
        wanted = [n for n in names if n not in taken] if columns is None else columns
        self.columns = [wanted] if isinstance(wanted, str) else list(wanted)
        self._used = [*self.columns, *self.targets, *([weight] if weight else [])]
        self._numeric = numeric
        self._require(dataset.schema)
        self._named = self._checked_names(categories)
        self.categories = self._categories(dataset.schema) if mixed else []
        self._numbers = [
            *([n for n in self.columns if n not in self.categories] if numeric else []),
            *(self.targets if numeric_target else []),
            *([weight] if weight else []),
        ]
        self._refuse_text(dataset.schema, "the table")
        if is_text(dataset):
            types = dict.fromkeys(self._numbers, pa.float64())
            types |= dict.fromkeys(self.categories, pa.string())
            dataset = open_dataset(source, types)
        self._dataset = dataset
        try:
            self.pieces = list(self._pieces())
        except (pa.ArrowException, OSError) as error:
            raise OSError(f"the files could not be read: {error}") from error
        self.dtype = dtype or self._common_dtype()

    @property
    def n_rows(self) -> int | None:
        """Rows of the whole table, None where only reading it would tell."""
        counts = [piece.n_rows for piece in self.pieces]
        return None if None in counts else sum(count or 0 for count in counts)

    def batches(
        self, size: int, start: Position = BEGINNING
    ) -> Iterator[tuple[Arrays, Position]]:
        """Batches of ``size`` rows from a place on, each with the place after it.

        The same rows make up the same batches, wherever reading starts from one of
        the places that came with a batch.
        """
        parts: list[pa.RecordBatch] = []
        held = 0
        for index in range(start.piece, len(self.pieces)):
            offset = start.offset if index == start.piece else 0
            for record in skip_rows(self._records(self.pieces[index]), offset):
                taken = 0
                while taken < record.num_rows:
                    part = record.slice(taken, size - held)
                    parts.append(part)
                    taken, held = taken + part.num_rows, held + part.num_rows
                    offset += part.num_rows
                    if held == size:
                        yield self._arrays(parts), Position(index, offset)
                        parts, held = [], 0
        if held:
            yield self._arrays(parts), self.end

    def frames(self, size: int) -> Iterator[pa.Table]:
        """The columns of X as Arrow tables of at most ``size`` rows."""
        for piece in self.pieces:
            for record in self._records(piece):
                table = pa.Table.from_batches([record]).select(self.columns)
                for start in range(0, table.num_rows, size):
                    yield table.slice(start, size)

    def some_pieces(self, most: int) -> "Table":
        """The same table with few of its pieces, spread over the whole.

        Where pieces cannot be read by themselves, with all of them.
        """
        if self.n_rows is None or len(self.pieces) <= most:
            return self
        chosen = np.linspace(0, len(self.pieces) - 1, most).round().astype(int)
        return self._like(pieces=[self.pieces[i] for i in np.unique(chosen)])

    def only_targets(self) -> "Table":
        """The same table with no columns but its targets."""
        return self._like(columns=[], weight=None, schema=None)

    def fingerprint(self) -> str:
        """Digest of the files, by name, size and time, and of the columns."""
        digest = hashlib.sha256()
        for path in dict.fromkeys(piece.name for piece in self.pieces):
            info = self._dataset.filesystem.get_file_info(path)
            digest.update(repr((path, info.size, info.mtime_ns)).encode())
        roles = self.columns, self.targets, self.weight, str(self.dtype)
        digest.update(repr(roles).encode())
        return digest.hexdigest()

    @property
    def end(self) -> Position:
        """The place after the last row."""
        return Position(len(self.pieces), 0)

    @property
    def has_files(self) -> bool:
        """Whether the table is made of files, and not of memory."""
        return isinstance(self._dataset, pa_dataset.FileSystemDataset)

    # ---- opening -----------------------------------------------------------------

    def _categories(self, schema: pa.Schema) -> list[str]:
        """Columns of X that are categories: as is known, or by their type."""
        if self.schema is not None:
            kinds = dict(zip(self.schema.names, self.schema.kinds, strict=True))
            return [n for n in self.columns if kinds.get(n, "number") != "number"]
        return [
            name
            for name in self.columns
            if name in self._named or is_category(schema.field(name).type)
        ]

    def _checked_names(self, categories: Iterable[str]) -> list[str]:
        names = [categories] if isinstance(categories, str) else list(categories)
        for name in names:
            if name not in self.columns:
                raise ValueError(
                    f"categories: {name!r} is not among the columns {self.columns}"
                )
        return names

    def _like(self, **changes: Any) -> "Table":
        other = object.__new__(Table)
        other.__dict__ = self.__dict__ | changes
        weight = [other.weight] if other.weight else []
        other._used = [*other.columns, *other.targets, *weight]
        return other

    def _require(self, schema: pa.Schema) -> None:
        """Refuse columns that are not there, before reading any."""
        if not self.columns:
            raise ValueError(f"no columns to learn from: the table has {schema.names}")
        if len(set(self._used)) < len(self._used):
            raise ValueError(
                "columns, target and weight must be different columns, got "
                f"{self._used}"
            )
        for name in self._used:
            if schema.get_field_index(name) < 0:
                raise ValueError(
                    f"column {name!r} is not in the table, which has {schema.names}"
                )

    def _refuse_text(self, schema: pa.Schema, owner: str) -> None:
        for name in self._numbers:
            place = schema.get_field_index(name)
            kind = value_type(schema.types[place]) if place >= 0 else pa.float64()
            if not is_number(kind):
                raise ValueError(
                    f"column {name!r} must be numbers, but {owner} holds {kind}: "
                    "choose others with columns=[...], or convert it"
                )

    def _common_dtype(self) -> np.dtype[Any]:
        """float32 if all columns are, in all files."""
        schemas = [self._dataset.schema]
        schemas += [p.fragment.physical_schema for p in self.pieces if p.n_rows]
        narrow = all(
            value_type(schema.field(name).type) in (pa.float32(), pa.float16())
            for schema in {id(schema): schema for schema in schemas}.values()
            for name in self.columns
            if name not in self.categories
        )
        return np.dtype(np.float32 if narrow else np.float64)

    def _pieces(self) -> Iterator[Piece]:
        fragments = sorted(
            self._dataset.get_fragments(), key=lambda f: getattr(f, "path", "")
        )
        for fragment in fragments:
            if not self._by_row_group(fragment):
                yield Piece(fragment, None, None)
                continue
            for group in fragment.row_groups:
                yield Piece(fragment, group.id, group.num_rows)

    def _by_row_group(self, fragment: Any) -> bool:
        """Whether a fragment is Parquet that holds all columns itself.

        Columns that stand in the names of folders do not; pyarrow adds those.
        """
        if not isinstance(fragment, pa_dataset.ParquetFileFragment):
            return False
        schema = fragment.physical_schema
        self._refuse_text(schema, fragment.path)
        missing = set(self._used) - set(schema.names)
        folders = [part.split("=")[0] for part in Path(fragment.path).parts]
        in_path = [name for name in missing if name in folders]
        if len(in_path) < len(missing):
            raise ValueError(
                f"{fragment.path} lacks the columns {sorted(missing)}, which other "
                "files of the table have"
            )
        return not missing

    # ---- reading -----------------------------------------------------------------

    def _records(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        try:
            if piece.row_group is None:
                yield from piece.fragment.to_batches(
                    schema=self._dataset.schema,
                    columns=self._used,
                    batch_size=_RECORD_ROWS,
                    batch_readahead=2,
                    fragment_readahead=1,
                )
                return
            # The dataset's own reader holds whole row groups; this one streams.
            with piece.fragment.open() as file:
                reader = pq.ParquetFile(
                    file,
                    metadata=piece.fragment.metadata,
                    buffer_size=_BUFFER_BYTES,
                    pre_buffer=False,
                )
                yield from reader.iter_batches(
                    _RECORD_ROWS, row_groups=[piece.row_group], columns=self._used
                )
        except (pa.ArrowException, OSError) as error:
            lines = as_text(piece.name) if is_text(self._dataset) else iter(())
            raise reading_error(piece.name, error, lines) from error

    def _arrays(self, parts: list[pa.RecordBatch]) -> Arrays:
        """Records as X (n, d), y (n,) or (n, t), and weights (n,)."""
        parts = [self._without_gaps(part) for part in parts]
        rows = sum(part.num_rows for part in parts)
        y = None
        if self.targets:
            columns = [self._joined(parts, name) for name in self.targets]
            y = columns[0] if self._flat_target else np.stack(columns, axis=1)
        weight = None if self.weight is None else self._joined(parts, self.weight)
        return self._rows(parts, rows), y, weight

    def _rows(self, parts: list[pa.RecordBatch], rows: int) -> NDArray[Any]:
        """The columns of X, (n, d), or wide."""
        if self.schema is not None:
            for name in self.columns:
                for part in parts:
                    self._refuse_gaps(part.column(name), name)
            table = pa.Table.from_batches(parts).select(self.columns)
            return self.schema.encode(table, self.dtype)
        dtype = self.dtype if self._numeric else object
        X = np.empty((rows, len(self.columns)), dtype)
        for index, name in enumerate(self.columns):
            stop = 0
            for part in parts:
                start, stop = stop, stop + part.num_rows
                X[start:stop, index] = self._values(
                    part, name, missing=not self._numeric
                )
        return X

    def _joined(self, parts: list[pa.RecordBatch], name: str) -> NDArray[Any]:
        values = np.concatenate([self._values(part, name) for part in parts])
        return values.astype(str) if values.dtype == object else values

    def _values(
        self, part: pa.RecordBatch, name: str, *, missing: bool = False
    ) -> NDArray[Any]:
        values = part.column(name)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if pa.types.is_decimal(values.type):
            values = pc.cast(values, pa.float64())
        if not missing:
            self._refuse_gaps(values, name)
        return np.asarray(values.to_numpy(zero_copy_only=False))

    def _refuse_gaps(self, values: Any, name: str) -> None:
        if values.null_count:
            raise ValueError(
                f"column {name!r} has {values.null_count} missing values among "
                f"{len(values):,} rows that were read together: drop or fill such rows"
            )

    def _without_gaps(self, part: pa.RecordBatch) -> pa.RecordBatch:
        """A record whose rows lack nothing, if that is what is wanted."""
        if self._missing == "raise":
            return part
        if self._missing == "drop":
            whole = np.ones(part.num_rows, bool)
            for name in self._used:
                gaps = pc.is_null(part.column(name), nan_is_null=True)
                whole &= ~gaps.to_numpy(zero_copy_only=False)
            return part if whole.all() else part.filter(pa.array(whole))
        columns = {name: part.column(name) for name in part.schema.names}
        for name in columns.keys() & dict(self._missing).keys():
            columns[name] = filled(columns[name], dict(self._missing)[name], name)
        return pa.RecordBatch.from_pydict(columns)

    def learn_schema(self) -> None:
        """Look all categories up, in a pass of their own, unless they are known."""
        if self.schema is not None or not self.categories:
            return
        types = [self._dataset.schema.field(name).type for name in self.columns]
        self.schema = Schema(
            tuple(self.columns),
            tuple(map(self._values_of, self.columns)),
            tuple(bool(getattr(kind, "ordered", False)) for kind in types),
        )

    def _refuse_numbers(self, name: str, seen: Iterable[Any]) -> None:
        """Of text files, whose types are guessed."""
        if is_text(self._dataset) and name not in self._named:
            values = [value for value in seen if value is not None]
            refuse_numbers(name, values, [piece.name for piece in self.pieces])

    def _values_of(self, name: str) -> tuple[Any, ...] | None:
        """All categories of a column, None of numbers."""
        if name not in self.categories:
            return None
        if pa.types.is_boolean(self._dataset.schema.field(name).type):
            return False, True
        seen: dict[Any, None] = {}  # in the order of an ordered dictionary
        only = self._like(columns=[name], targets=[], weight=None)
        for index in range(len(self.pieces)):
            for record in only._records(self.pieces[index]):
                seen |= dict.fromkeys(distinct_values(record.column(name)))
                if len(seen) > MOST_CATEGORIES + 1:
                    self._refuse_numbers(name, seen)
                    raise ValueError(
                        f"column {name!r} has more than {MOST_CATEGORIES:,} different "
                        "values: names or texts are no categories, leave it out"
                    )
        seen.pop(None, None)
        if not seen:
            raise ValueError(f"column {name!r} holds no value at all: leave it out")
        if getattr(self._dataset.schema.field(name).type, "ordered", False):
            return tuple(seen)
        self._refuse_numbers(name, seen)
        return tuple(sorted(seen, key=lambda value: (str(type(value)), value)))
