"""Tables larger than memory: files and folders, read in order with pyarrow."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from rhokit.batch import Columns
from rhokit.frame_form import FrameForm
from rhokit.frames import Schema
from rhokit.streams.arrow import checked_missing, skip_rows, value_type
from rhokit.streams.categories import CategorySearch
from rhokit.streams.files import open_table, tell
from rhokit.streams.idle_columns import without_idle
from rhokit.streams.pieces import BEGINNING, ReadPosition, TablePiece
from rhokit.streams.raw_batches import ArrayMaker, FileSection, Origin, RawBatch
from rhokit.streams.roles import TableRoles
from rhokit.streams.text_values import refuse_text
from rhokit.streams.timed_tables import timed, with_made


class TableReader:
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
    unseen : {"allow", "raise"}
        What to do with categories that the schema does not know.
    reading : dict, optional
        How text is read: :class:`~rhokit.streams.text_format.ReadingOptions`.
    keep_all : bool
        Whether columns that say nothing about a row are among "all", too.
    before_reading : function
        Of the number of columns; called before rows are looked at.
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
        unseen: str = "allow",
        reading: Mapping[str, Any] | None = None,
        keep_all: bool = True,
        before_reading: Callable[[int], Any] = lambda n_columns: None,
    ) -> None:
        self._missing, self._unseen = checked_missing(missing), unseen
        self.schema = schema
        opened = open_table(source, reading)
        tell(opened)
        known = columns if schema is None else schema.names
        table = timed(opened, [columns] if isinstance(columns, str) else known)
        if columns is not None:
            columns = with_made(
                table, [columns] if isinstance(columns, str) else columns
            )
        kinds = {"numeric": numeric, "numeric_target": numeric_target}
        roles = TableRoles.of(table.schema, columns, target, weight, **kinds)
        if columns is None and not keep_all:
            before_reading(len(roles.columns))
            kept = without_idle(table, list(roles.columns))
            roles = replace(roles, columns=tuple(kept))
        self._named = roles.checked_names(categories)
        self._given = table.schema
        if mixed:
            roles = roles.with_categories(table.schema, schema, self._named)
        self.roles = roles
        refuse_text(roles, table)
        self._table = table.typed(self._wanted_types())
        self.pieces = self._table.pieces(roles.used, roles.refuse_text)
        self.dtype = dtype or self._common_dtype()

    @property
    def columns(self) -> Columns:
        """Number, names and kinds of the columns of X."""
        names = self.roles.columns
        found = Columns(len(names), names, self.schema)
        if not self.roles.numeric:
            return found
        given = self._given.empty_table().select(names)
        return replace(found, form=FrameForm.of(given, found.categories))

    @property
    def n_rows(self) -> int | None:
        """Rows of the whole table, None where only reading it would tell."""
        counts = [piece.n_rows for piece in self.pieces]
        return None if None in counts else sum(count or 0 for count in counts)

    def batches(
        self, size: int, start: ReadPosition = BEGINNING
    ) -> Iterator[tuple[RawBatch, ReadPosition]]:
        """Batches of ``size`` rows from a place on, each with the place after it.

        The same rows make up the same batches, wherever reading starts from one of
        the places that came with a batch.
        """
        maker = ArrayMaker(
            self.roles, self.dtype, self._missing, self.schema, self._unseen
        )
        sections: list[FileSection] = []
        held = 0
        for section, position in self._sections(size, start):
            sections.append(section)
            held += section.record.num_rows
            if held == size:
                yield maker.batch(sections), position
                sections, held = [], 0
        if sections:
            yield maker.batch(sections), self.end

    def _sections(
        self, size: int, start: ReadPosition
    ) -> Iterator[tuple[FileSection, ReadPosition]]:
        """Records cut where batches of ``size`` rows end, with the place after each."""
        free = size
        for index in range(start.piece, len(self.pieces)):
            piece = self.pieces[index]
            offset = start.offset if index == start.piece else 0
            for record in skip_rows(piece.records(self.roles.used), offset):
                taken = 0
                while taken < record.num_rows:
                    part = record.slice(taken, free)
                    origin = Origin(piece.file, piece.first_row + offset, part.num_rows)
                    taken, offset = taken + part.num_rows, offset + part.num_rows
                    free = free - part.num_rows or size
                    yield FileSection(part, origin), ReadPosition(index, offset)

    def frames(self, size: int) -> Iterator[pa.Table]:
        """The columns of X as Arrow tables of at most ``size`` rows."""
        for piece in self.pieces:
            for record in piece.records(self.roles.used):
                table = pa.Table.from_batches([record]).select(self.roles.columns)
                for start in range(0, table.num_rows, size):
                    yield table.slice(start, size)

    def some_pieces(self, most: int) -> "TableReader":
        """The same table with few of its pieces, spread over the whole.

        Where pieces cannot be read by themselves, with all of them.
        """
        if self.n_rows is None or len(self.pieces) <= most:
            return self
        chosen = np.linspace(0, len(self.pieces) - 1, most).round().astype(int)
        other = copy(self)
        other.pieces = [self.pieces[i] for i in np.unique(chosen)]
        return other

    def only_targets(self) -> "TableReader":
        """The same table with no columns but its targets."""
        other = copy(self)
        other.roles = replace(self.roles, columns=(), weight=None, categories=())
        other.schema = None
        return other

    def fingerprint(self) -> str:
        """Digest of the files, by name and by all that they hold, and of the columns.

        They are read for it: sizes and times may be equal where the content is not.
        """
        digest = hashlib.sha256()
        for part in self._table.digests():
            digest.update(repr(part).encode())
        roles = self.roles.columns, self.roles.targets, self.roles.weight
        digest.update(repr((*roles, str(self.dtype))).encode())
        return digest.hexdigest()

    @property
    def end(self) -> ReadPosition:
        """The place after the last row."""
        return ReadPosition(len(self.pieces), 0)

    @property
    def has_files(self) -> bool:
        """Whether the table is made of files, and not of memory."""
        return bool(self._table.paths)

    def learn_schema(self) -> None:
        """Look all categories up, in a pass of their own, unless they are known."""
        if self.schema is None and self.roles.categories:
            search = CategorySearch(self._table, self.pieces, self._named)
            self.schema = search.schema(self.roles)

    # ---- opening -----------------------------------------------------------------

    def _wanted_types(self) -> dict[str, pa.DataType]:
        """Types that the roles ask for, where types are guessed."""
        types = dict.fromkeys(self.roles.numbers, pa.float64())
        return types | dict.fromkeys(self.roles.categories, pa.string())

    def _common_dtype(self) -> np.dtype[Any]:
        """float32 if all columns are, in all files."""
        schemas = [self._table.schema]
        schemas += [piece.schema for piece in self.pieces if piece.n_rows]
        narrow = all(
            value_type(schema.field(name).type) in (pa.float32(), pa.float16())
            for schema in {id(schema): schema for schema in schemas}.values()
            for name in self.roles.columns
            if name not in self.roles.categories
        )
        return np.dtype(np.float32 if narrow else np.float64)


__all__ = ["ReadPosition", "TablePiece", "TableReader"]
