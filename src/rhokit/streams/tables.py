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
    numeric, numeric_target : bool
        Whether the columns of X, and the targets, must be numbers.
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
        numeric_target: bool = False,
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
        self._numbers = [
            *(self.columns if numeric else []),
            *(self.targets if numeric_target else []),
            *([weight] if weight else []),
        ]
        self._check(dataset.schema)
        # Columns of text files that start with integers would refuse a fraction.
        is_text = isinstance(getattr(dataset, "format", None), pa_dataset.CsvFileFormat)
        self._dataset = _open(source, self._numbers) if is_text else dataset
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
            yield self._arrays(parts), self.end

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
    def end(self) -> Position:
        """The place after the last row."""
        return Position(len(self.pieces), 0)

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
        self._refuse_text(schema, "the table")

    def _refuse_text(self, schema: pa.Schema, owner: str) -> None:
        for name in self._numbers:
            place = schema.get_field_index(name)
            kind = _value_type(schema.types[place]) if place >= 0 else pa.float64()
            if not _is_number(kind):
                raise ValueError(
                    f"column {name!r} must be numbers, but {owner} holds {kind}: "
                    "choose others with columns=[...], or convert it"
                )

    def _common_dtype(self) -> np.dtype[Any]:
        """float32 if all columns are, in all files."""
        schemas = [self._dataset.schema]
        schemas += [p.fragment.physical_schema for p in self.pieces if p.n_rows]
        narrow = all(
            _value_type(schema.field(name).type) in (pa.float32(), pa.float16())
            for schema in {id(schema): schema for schema in schemas}.values()
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


def _open(source: Any, numbers: list[str] | None = None) -> Any:
    """A pyarrow data set of a file, of a folder, or of several files.

    Columns of text files that are said to be numbers are read as float64.
    """
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
    files = [file for path in paths for file in _files(Path(path))]
    formats = {str(_format(file)) for file in files}
    if len(formats) > 1:
        raise ValueError(
            f"files of one format can be read together, got {sorted(formats)}"
        )
    (kind,) = formats
    if numbers is not None:
        types = {name: pa.float64() for name in numbers}
        options = pa_csv.ConvertOptions(column_types=types)
        kind = pa_dataset.CsvFileFormat(convert_options=options)
    folder = str(paths[0]) if len(paths) == 1 and Path(paths[0]).is_dir() else None
    try:
        return pa_dataset.dataset(
            [str(file) for file in files],
            format=kind,
            partitioning="hive" if folder else None,
            partition_base_dir=folder,
        )
    except (pa.ArrowException, OSError) as error:
        raise OSError(f"{_short(paths)} could not be read: {error}") from error


def _files(path: Path) -> list[Path]:
    """The file itself, or the files of a folder that hold tables."""
    if not path.exists():
        raise FileNotFoundError(f"{str(path)!r} does not exist")
    if path.is_file():
        if _format(path) is None:
            raise ValueError(
                f"{str(path)!r} has no ending that tells its format: one of "
                f"{sorted(_FORMATS)} is needed, or a pyarrow Dataset"
            )
        return [path]
    hidden = (".", "_")
    files = [p for p in sorted(path.rglob("*")) if p.is_file()]
    files = [p for p in files if not p.name.startswith(hidden) and _format(p)]
    if not files:
        raise ValueError(
            f"the folder {str(path)!r} holds no files that end in {sorted(_FORMATS)}"
        )
    return files


def _format(path: Path) -> str | None:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    return _FORMATS.get(suffixes[-1]) if suffixes else None


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
