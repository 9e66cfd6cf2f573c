"""Text files: tables of cells, as records of values."""

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from rhokit.errors import DataError
from rhokit.streams.mistakes import READING_ERRORS, reading_error
from rhokit.streams.opened_bytes import Bytes
from rhokit.streams.text_columns import CellForm
from rhokit.streams.text_detection import HEAD_BYTES, decoded, detected, rows_of
from rhokit.streams.text_format import TextFormat

_BLOCK_BYTES = 2**20
_FIRST_ROWS = 50
_UNNAMED = "column_"


@dataclass(frozen=True)
class TextFile:
    """A file of delimited text; what it is like is told from its first megabyte.

    Parameters
    ----------
    source : Bytes
    options : mapping
        What need not be detected.
    """

    source: Bytes
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name that people know the file by."""
        return self.source.name

    @cached_property
    def _head(self) -> tuple[bytes, bool]:
        """The first bytes, and whether there are no more."""
        with naming(self.name):
            head = self.source.head(HEAD_BYTES + 1)
        if not head.strip(b" \t\r\n\xef\xbb\xbf\xff\xfe\0"):
            raise DataError("no readable CSV file: the file is empty", file=self.name)
        return head[:HEAD_BYTES], len(head) <= HEAD_BYTES

    @cached_property
    def format(self) -> TextFormat:
        """How the file is written."""
        with naming(self.name):
            return detected(*self._head, self.options)

    @cached_property
    def _beginning(self) -> tuple[list[list[str]], list[int]]:
        """The first rows as cells, and the lines up to the end of each."""
        text, (head, is_whole) = self.format, self._head
        lines = decoded(head, text.encoding, is_whole).splitlines(keepends=True)
        rest = "".join(lines[text.skipped_lines :])
        rows, ends = rows_of(rest, text, is_whole, _FIRST_ROWS)
        if not rows:
            raise DataError("no readable CSV file: it holds no row", file=self.name)
        return rows, ends

    @cached_property
    def names(self) -> list[str]:
        """Names of all columns, told apart where they are equal."""
        rows, _ = self._beginning
        if not self.format.header:
            return _told_apart([""] * len(rows[0]))
        given, body = rows[0], rows[1:]
        # A delimiter at the end of every row makes one more column.
        if body and {len(row) for row in body} == {len(given) + 1}:
            empty = not any(row[-1] for row in body)
            given = [*given, ""] if empty else given
        return _told_apart(given)

    @cached_property
    def _skipped(self) -> int:
        """Lines before the first row."""
        _, ends = self._beginning
        text = self.format
        above = int(text.header) + int(text.units)
        return text.skipped_lines + (ends[min(above, len(ends)) - 1] if above else 0)

    @cached_property
    def forms(self) -> dict[str, CellForm]:
        """What the cells of each column are; of columns that hold any."""
        head, is_whole = self._head
        text = decoded(head, self.format.encoding, is_whole)
        names = self.names
        with naming(self.name):
            options = self._options(dict.fromkeys(names, pa.string()), "utf-8")
            options["parse_options"].invalid_row_handler = lambda row: "skip"
            try:
                cells = pa_csv.read_csv(io.BytesIO(text.encode()), **options)
            except pa.ArrowException:  # such as a quote that is never closed
                return {name: CellForm(pa.string()) for name in names}
        last = cells.num_rows - self.format.n_last
        date_format = str(self.options.get("date_format", ""))
        found = {
            name: CellForm.of(column.combine_chunks()[:last], self.format, date_format)
            for name, column in zip(names, cells.columns, strict=True)
        }
        unnamed = _unnamed(names) if self.format.header else set()
        return {
            name: form
            for name, form in found.items()
            if name not in unnamed or form.type != pa.null()
        }

    @property
    def types(self) -> dict[str, pa.DataType]:
        """Types of the columns, as the first rows have them."""
        return {name: form.type for name, form in self.forms.items()}

    @property
    def _is_usual_delimiter(self) -> bool:
        """Whether the ending tells the delimiter."""
        is_tab = self.format.delimiter == "\t"
        return is_tab and Path(self.name.lower()).suffixes[:1] in ([".tsv"], [".tab"])

    def said(self) -> str:
        """What is unusual about the file, empty if nothing is."""
        usual = {"delimiter"} if self._is_usual_delimiter else set()
        told = [self.format.said({*self.options, *usual})]
        rows, _ = self._beginning
        twice = [name for name, n in Counter(rows[0]).items() if name and n > 1]
        if self.format.header and twice:
            told.append(f"its second {twice[0]!r} called {twice[0] + '_2'!r}")
        return ", ".join(filter(None, told))

    def records(
        self, columns: list[str], types: Mapping[str, pa.DataType]
    ) -> Iterator[pa.RecordBatch]:
        """Records of some columns, as values of these types."""
        wanted = {name: types.get(name, self.forms[name].type) for name in columns}
        try:
            yield from self._read(columns, wanted, in_background=True)
        except DataError as error:
            if error.row is not None:
                raise
            # One thread numbers rows in its errors, and takes longer.
            for _ in self._read(columns, wanted, in_background=False):
                pass
            raise

    def _read(
        self,
        columns: list[str],
        wanted: Mapping[str, pa.DataType],
        *,
        in_background: bool,
    ) -> Iterator[pa.RecordBatch]:
        raw = {name: self.forms[name].raw_type(kind) for name, kind in wanted.items()}
        options = self._options(raw, self.format.encoding)
        options["convert_options"].include_columns = columns
        options["read_options"].use_threads = in_background
        with naming(self.name, self.names, self._skipped), self.source.opened() as file:
            try:
                reader = pa_csv.open_csv(file, **options)
            except pa.ArrowInvalid as error:
                if "Empty CSV" in str(error):
                    return
                raise
            row = 0
            for record in _without_last(reader, self.format.n_last):
                yield self._converted(record, wanted, row)
                row += record.num_rows

    def _converted(
        self, record: pa.RecordBatch, wanted: Mapping[str, pa.DataType], row: int
    ) -> pa.RecordBatch:
        """A record of cells as values; ``row`` is that of its first one."""
        if not self.format.padded and record.schema.types == list(wanted.values()):
            return record
        columns = []
        for name, kind in wanted.items():
            cells = record.column(name)
            try:
                columns.append(self.forms[name].values(cells, kind, self.format))
            except DataError as error:
                place = None if error.row is None else row + error.row
                raise error.at(file=self.name, row=place, column=name) from None
        return pa.RecordBatch.from_arrays(columns, list(wanted))

    def _options(self, types: dict[str, pa.DataType], encoding: str) -> dict[str, Any]:
        """Options of pyarrow's readers."""
        text = self.format
        return {
            "read_options": pa_csv.ReadOptions(
                block_size=_BLOCK_BYTES,
                skip_rows=self._skipped,
                column_names=self.names,
                encoding=encoding,
            ),
            "parse_options": pa_csv.ParseOptions(
                delimiter=text.delimiter,
                quote_char=text.quote or False,
                escape_char=text.escape or False,
                newlines_in_values=bool(text.quote),
            ),
            "convert_options": pa_csv.ConvertOptions(
                column_types=types,
                null_values=["", *text.missing_marks],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                decimal_point=text.decimal,
            ),
        }


@contextmanager
def naming(file: str, names: Sequence[str] = (), skipped: int = 1) -> Iterator[None]:
    """Let errors of reading name the file, and what else they know."""
    try:
        yield
    except DataError as error:
        raise (error if error.file else error.at(file=file)) from error.__cause__
    except UnicodeDecodeError as error:
        raise DataError(
            f"is no {error.encoding} text: give the encoding, such as "
            "encoding='latin-1'",
            file=file,
        ) from error
    except READING_ERRORS as error:
        raise reading_error(error, file, names, skipped) from error


def _without_last(
    records: Iterable[pa.RecordBatch], count: int
) -> Iterator[pa.RecordBatch]:
    """Records without their last rows."""
    if not count:
        yield from records
        return
    waiting: pa.RecordBatch | None = None
    for record in records:
        if waiting is not None:
            yield waiting
        waiting = record
    if waiting is not None:
        yield waiting.slice(0, max(waiting.num_rows - count, 0))


def _told_apart(given: list[str]) -> list[str]:
    """Names that are all different, none of them empty."""
    made: list[str] = []
    for place, name in enumerate(given, start=1):
        own, again = name or f"{_UNNAMED}{place}", 2
        while own in made or (own != name and own in given):
            own, again = f"{name or _UNNAMED}_{again}", again + 1
        made.append(own)
    return made


def _unnamed(names: Iterable[str]) -> set[str]:
    """Columns that were given a name for want of one."""
    return {name for name in names if name.startswith(_UNNAMED)}
