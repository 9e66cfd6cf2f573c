"""Files of JSON: an object in each line, or one array of objects."""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from rhokit.errors import DataError
from rhokit.streams.arrow import first_refused
from rhokit.streams.opened_bytes import Bytes
from rhokit.streams.text_files import naming
from rhokit.streams.times import ISO, time_format_of, times_of

_HEAD_BYTES = 2**20
_BLOCK_BYTES = 2**22


@dataclass(frozen=True)
class JsonFile:
    """A file of JSON objects; types are told from its first megabyte.

    Parameters
    ----------
    source : Bytes
    """

    source: Bytes

    @property
    def name(self) -> str:
        """The name that people know the file by."""
        return self.source.name

    @cached_property
    def types(self) -> dict[str, pa.DataType]:
        """Types of the columns, as the first rows have them."""
        with naming(self.name):
            first = next(self._blocks(_HEAD_BYTES), b"")
            table = self._parsed(first, 0)
        columns = zip(table.column_names, table.columns, strict=True)
        return {name: _plain(column) for name, column in columns}

    def said(self) -> str:
        """Nothing is unusual."""
        return ""

    def records(
        self, columns: list[str], types: Mapping[str, pa.DataType]
    ) -> Iterator[pa.RecordBatch]:
        """Records of some columns, as values of these types."""
        row = 0
        with naming(self.name):
            for block in self._blocks(_BLOCK_BYTES):
                table = self._parsed(block, row)
                arrays = [self._column(table, n, types[n], row) for n in columns]
                row += table.num_rows
                if table.num_rows:
                    yield pa.RecordBatch.from_arrays(arrays, columns)

    def _column(self, table: pa.Table, name: str, kind: pa.DataType, row: int) -> Any:
        if name not in table.column_names:
            return pa.nulls(table.num_rows, kind)
        values = table.column(name).combine_chunks()
        try:
            if pa.types.is_timestamp(kind) and pa.types.is_string(values.type):
                return times_of(values, ISO)
            return pc.cast(values, kind)
        except DataError as error:
            place = row + (error.row or 0)
            raise error.at(file=self.name, row=place, column=name) from None
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            texts = values if pa.types.is_string(values.type) else None
            place = 0 if texts is None else first_refused(texts, kind)
            raise DataError(
                f"must be {kind}, but holds {values[place].as_py()!r}",
                file=self.name,
                row=row + place,
                column=name,
                value=values[place].as_py(),
            ) from None

    def _blocks(self, size: int) -> Iterator[bytes]:
        """Whole lines of about so many bytes; of an array, its objects as lines."""
        with self.source.opened() as file:
            rest = bytes(file.read(size)).removeprefix(b"\xef\xbb\xbf")
            if rest.lstrip().startswith(b"["):
                yield _as_lines(rest + bytes(file.read()))
                return
            while chunk := bytes(file.read(size)):
                rest += chunk
                end = rest.rfind(b"\n") + 1
                if end:
                    yield rest[:end]
                    rest = rest[end:]
            if rest.strip():
                yield rest

    def _parsed(self, block: bytes, row: int) -> pa.Table:
        """The objects of some lines as a table; ``row`` is that of the first one."""
        if not block.strip():
            raise DataError("no readable JSON file: the file is empty", file=self.name)
        options = pa_json.ReadOptions(use_threads=False, block_size=2 * len(block))
        try:
            return pa_json.read_json(io.BytesIO(block), read_options=options)
        except pa.ArrowInvalid as error:
            raise self._mistake(block, row) or error from error

    def _mistake(self, block: bytes, row: int) -> DataError | None:
        """What is wrong with some lines, and in which of them."""
        kinds: dict[str, type] = {}
        lines = [line for line in block.split(b"\n") if line.strip()]
        for place, line in enumerate(lines, start=row):
            try:
                found = json.loads(line)
            except ValueError as error:
                reason = f"is no JSON object: {error}"
                return DataError(reason, file=self.name, row=place)
            if not isinstance(found, dict):
                reason = f"must be a JSON object, but is {line[:40]!r}"
                return DataError(reason, file=self.name, row=place)
            for name, value in found.items():
                kind = float if type(value) is int else type(value)
                if value is not None and kinds.setdefault(name, kind) is not kind:
                    return DataError(
                        f"holds {value!r}, where rows before hold another type",
                        file=self.name,
                        row=place,
                        column=name,
                        value=value,
                    )
        return None


def _plain(column: pa.ChunkedArray) -> pa.DataType:
    """The type of a column: times all in one unit, those in texts, too."""
    kind, known = column.type, column.drop_null().combine_chunks()
    if pa.types.is_string(kind) and len(known) and time_format_of(known, ISO):
        return pa.timestamp("us")
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind


def _as_lines(text: bytes) -> bytes:
    """An array of objects as lines."""
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise DataError(f"no readable JSON file: {error}") from error
    return "\n".join(map(json.dumps, rows)).encode()
