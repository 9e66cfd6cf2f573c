"""Tables larger than memory: files and folders, read in order with pyarrow."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv
    import pyarrow.dataset as pa_dataset
    import pyarrow.parquet as pq
except ImportError as error:
    raise ImportError(
        "reading files needs pyarrow: pip install 'rhokit[files]'"
    ) from error

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
_COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4"}
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
    numeric : bool
        Whether the columns of X must be numbers.
    dtype : dtype, optional
        Of X; without it float32 where all columns are, else float64.
    """

    def __init__(
        self,
        source: Any,
        *,
        columns: list[str] | None = None,
        target: str | list[str] | None = None,
        weight: str | None = None,
        numeric: bool = True,
        dtype: Any = None,
    ) -> None:
        dataset = _open(source)
        self.targets = [target] if isinstance(target, str) else list(target or [])
        self._flat_target = isinstance(target, str)
        self.weight = weight
        taken = {*self.targets, *([] if weight is None else [weight])}
        names = dataset.schema.names
        wanted = [n for n in names if n not in taken] if columns is None else columns
        self.columns = [wanted] if isinstance(wanted, str) else list(wanted)
        self._used = [*self.columns, *self.targets, *([weight] if weight else [])]
        self._numeric = numeric
        self._check(dataset.schema)
        self._dataset = _with_types(dataset, self._numbers(dataset.schema))
        self.dtype = dtype or self._common_dtype(self._dataset.schema)
        self.pieces = list(self._pieces())

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
            for record in _skip(self._records(self.pieces[index]), offset):
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
            yield self._arrays(parts), Position(len(self.pieces), 0)

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
        return self._like(columns=[], weight=None)

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
    def has_files(self) -> bool:
        """Whether the table is made of files, and not of memory."""
        return isinstance(self._dataset, pa_dataset.FileSystemDataset)

    # ---- opening -----------------------------------------------------------------

    def _like(self, **changes: Any) -> "Table":
        other = object.__new__(Table)
        other.__dict__ = self.__dict__ | changes
        weight = [other.weight] if other.weight else []
        other._used = [*other.columns, *other.targets, *weight]
        return other

    def _check(self, schema: pa.Schema) -> None:
        """Refuse columns that are not there, or not numbers, before reading any."""
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
        for name in [*(self.columns if self._numeric else []), self.weight]:
            if name is None:
                continue
            kind = _value_type(schema.field(name).type)
            if not _is_number(kind):
                raise ValueError(
                    f"column {name!r} must be numbers, but the table holds {kind}: "
                    "choose others with columns=[...], or convert it"
                )

    def _numbers(self, schema: pa.Schema) -> list[str]:
        """Columns that are numbers, and so may be read as float64 from text."""
        names = [*(self.columns if self._numeric else []), self.weight]
        return [name for name in names if name is not None]

    def _common_dtype(self, schema: pa.Schema) -> np.dtype[Any]:
        narrow = all(
            _value_type(schema.field(name).type) in (pa.float32(), pa.float16())
            for name in self.columns
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
        missing = set(self._used) - set(fragment.physical_schema.names)
        in_path = [name for name in missing if f"{name}=" in fragment.path]
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
            raise OSError(f"{piece.name} could not be read: {error}") from error

    def _arrays(self, parts: list[pa.RecordBatch]) -> Arrays:
        """Records as X (n, d), y (n,) or (n, t), and weights (n,)."""
        rows = sum(part.num_rows for part in parts)
        dtype = self.dtype if self._numeric else object
        X = np.empty((rows, len(self.columns)), dtype)
        for index, name in enumerate(self.columns):
            stop = 0
            for part in parts:
                start, stop = stop, stop + part.num_rows
                X[start:stop, index] = self._values(
                    part, name, missing=not self._numeric
                )
        y = None
        if self.targets:
            columns = [self._joined(parts, name) for name in self.targets]
            y = columns[0] if self._flat_target else np.stack(columns, axis=1)
        weight = None if self.weight is None else self._joined(parts, self.weight)
        return X, y, weight

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
        if values.null_count and not missing:
            raise ValueError(
                f"column {name!r} has {values.null_count} missing values among "
                f"{len(values):,} rows that were read together: drop or fill such rows"
            )
        return np.asarray(values.to_numpy(zero_copy_only=False))


def _open(source: Any) -> Any:
    """A pyarrow data set of a file, of a folder, or of several files."""
    if isinstance(source, pa_dataset.Dataset):
        if getattr(source, "_scan_options", None):
            raise ValueError(
                "a filtered Dataset cannot be read piece by piece: write what the "
                "filter lets through to files, or give batches to fit_batches"
            )
        return source
    paths = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not paths:
        raise ValueError("source holds no files")
    found = [_files(Path(path)) for path in paths]
    files = [file for group in found for file in group]
    formats = {file: _format(file) for file in files}
    if len(set(formats.values())) > 1:
        raise ValueError(
            "files of one format can be read together, got "
            f"{sorted(set(formats.values()))}"
        )
    whole = paths[0] if len(paths) == 1 and Path(paths[0]).is_dir() else None
    given = [str(file) for file in files] if whole is None else str(whole)
    try:
        return pa_dataset.dataset(
            given, format=formats[files[0]], partitioning="hive" if whole else None
        )
    except (pa.ArrowException, OSError) as error:
        raise OSError(f"{_short(paths)} could not be read: {error}") from error


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise FileNotFoundError(f"{str(path)!r} does not exist")
    if path.is_file():
        return [path]
    hidden = (".", "_")  # as pyarrow leaves them out too
    files = [p for p in sorted(path.rglob("*")) if p.is_file()]
    files = [p for p in files if not p.name.startswith(hidden)]
    if not files:
        raise ValueError(f"the folder {str(path)!r} holds no files")
    return files


def _format(path: Path) -> str:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in _FORMATS:
        raise ValueError(
            f"{str(path)!r} has no ending that tells its format: one of "
            f"{sorted(_FORMATS)} is needed, or a pyarrow Dataset"
        )
    return _FORMATS[suffixes[-1]]


def _with_types(dataset: Any, numbers: list[str]) -> Any:
    """A data set of text files whose numbers are float64 in all of them.

    Otherwise a column that starts with integers would refuse the first fraction.
    """
    if not isinstance(getattr(dataset, "format", None), pa_dataset.CsvFileFormat):
        return dataset
    types = {name: pa.float64() for name in numbers}
    fields = [
        pa.field(field.name, types.get(field.name, field.type))
        for field in dataset.schema
    ]
    options = pa_csv.ConvertOptions(column_types=types)
    text = pa_dataset.CsvFileFormat(convert_options=options)
    return pa_dataset.dataset(
        dataset.files,
        format=text,
        schema=pa.schema(fields),
        filesystem=dataset.filesystem,
    )


def _skip(records: Iterable[pa.RecordBatch], n_rows: int) -> Iterator[pa.RecordBatch]:
    """Records without their first rows."""
    for record in records:
        passed = min(n_rows, record.num_rows)
        n_rows -= passed
        if passed < record.num_rows:
            yield record.slice(passed)


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_number(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_decimal,
        pa.types.is_null,
    )
    return any(test(kind) for test in tests)


def _short(paths: list[Any]) -> str:
    return repr(str(paths[0])) if len(paths) == 1 else f"{len(paths)} files"
