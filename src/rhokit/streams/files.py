"""Files that hold tables: finding and opening them."""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pa_dataset

from rhokit.errors import DataError, DataNote
from rhokit.streams.excel_files import SheetSource
from rhokit.streams.guessed_tables import GuessedTable, RowFile
from rhokit.streams.json_files import JsonFile
from rhokit.streams.mistakes import reading_error
from rhokit.streams.opened_bytes import ByteSource, is_archive, is_spreadsheet, members
from rhokit.streams.pieces import DeclaredTable
from rhokit.streams.text_files import TextFile, naming
from rhokit.streams.text_format import check_reading
from rhokit.validation import level_of_the_user

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".zip": "zip",
}
"""Formats of files by their endings; what files hold overrules these."""
_COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4", ".xz"}
_DECLARED = {b"PAR1": "parquet", b"ARROW1": "ipc", b"FEA1": "ipc"}
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_WILD = frozenset("*?[")

OpenTable = DeclaredTable | GuessedTable


def open_table(source: Any, options: Mapping[str, Any] | None = None) -> OpenTable:
    """The rows of a file, of a folder, of several files, or of a pyarrow Dataset.

    Parameters
    ----------
    source : path, list of paths or pyarrow Dataset
    options : dict, optional
        Of reading text: :class:`~rhokit.streams.text_format.ReadingOptions`.
    """
    given = check_reading(options or {})
    if isinstance(source, pa_dataset.Dataset):
        if getattr(source, "_scan_options", None):
            raise ValueError(
                "a filtered Dataset cannot be read piece by piece: write what the "
                "filter lets through to files, or give batches to fit_batches"
            )
        return DeclaredTable(source)
    paths = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not paths:
        raise ValueError("source holds no files")
    files = [file for path in paths for file in found_files(path)]
    alone = len(paths) == 1 and Path(paths[0]).is_dir()
    return _opened(files, Path(paths[0]) if alone else None, given)


def tell(table: OpenTable, name_of: Callable[[str], str] = str) -> None:
    """Say how files are read, where that was guessed and is unusual.

    ``name_of`` gives the name that people know a file by.
    """
    for note in table.notes(name_of):
        warnings.warn(note, DataNote, stacklevel=level_of_the_user())


def _opened(
    files: Sequence[Path], folder: Path | None, options: Mapping[str, Any]
) -> OpenTable:
    kinds = [_kind_of(file) for file in files]
    (kind, *others) = sorted(set(kinds))
    if others:
        raise ValueError(
            f"files of one format can be read together, got {[kind, *others]}"
        )
    if kind in _DECLARED.values():
        return DeclaredTable(_dataset(files, folder, kind))
    opened: list[RowFile] = []
    for file in files:
        opened += _row_files(file, kind, options)
    return GuessedTable(tuple(opened), folder, tuple(map(str, files)), {})


def _row_files(
    file: Path, kind: str, options: Mapping[str, Any]
) -> Iterable[TextFile | JsonFile]:
    if kind == "excel":
        sheet = SheetSource(file, options.get("sheet"))
        return [TextFile(sheet, {"delimiter": "\t", **options})]
    if kind == "zip":
        return [_row_file(member, options) for member in members(file)]
    return [_row_file(ByteSource(file), options)]


def _row_file(source: ByteSource, options: Mapping[str, Any]) -> TextFile | JsonFile:
    with naming(source.name):
        first = source.head(4096)
    for magic, kind in _DECLARED.items():
        if first.startswith(magic):
            raise DataError(
                f"is a packed file of the format {kind}: unpack it first",
                file=source.name,
            )
    return JsonFile(source) if _is_json(first) else TextFile(source, options)


def _is_json(first: bytes) -> bool:
    """Whether a text starts as JSON objects do, alone or in an array."""
    start = b"".join(first.removeprefix(b"\xef\xbb\xbf").split())
    return start.startswith((b'{"', b'[{"'))


def _dataset(files: Sequence[Path], folder: Path | None, kind: str) -> Any:
    try:
        return pa_dataset.dataset(
            [str(file) for file in files],
            format=kind,
            partitioning="hive" if folder else None,
            partition_base_dir=folder and str(folder),
        )
    except (pa.ArrowException, OSError) as error:
        raise reading_error(error, str(folder or files[0])) from error


def format_of(path: Path) -> str | None:
    """The format that a file's ending tells, None where it tells none."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def _kind_of(path: Path) -> str:
    """The format of a file: what it starts with tells more than its ending."""
    with open(path, "rb") as file:
        first = file.read(8)
    for magic, kind in _DECLARED.items():
        if first.startswith(magic):
            return kind
    if first.startswith(_OLD_EXCEL):
        raise DataError(
            "is an Excel file of before 2007: save it as .xlsx", file=str(path)
        )
    if is_archive(path):
        return "zip"
    if is_spreadsheet(path):
        return "excel"
    told = format_of(path)
    if told in ("excel", "zip", *_DECLARED.values()) and not _is_text(first):
        return str(told)
    return "csv"


def _is_text(first: bytes) -> bool:
    """Whether a file may be text, whatever its ending says."""
    return bool(first) and all(byte >= 32 or byte in b"\t\r\n" for byte in first)


def found_files(path: str | os.PathLike[str]) -> list[Path]:
    """The file itself, those that a pattern stands for, or a folder's tables."""
    path = Path(path)
    if not path.exists() and _WILD & set(str(path)):
        return _matching(path)
    if not path.exists():
        raise FileNotFoundError(f"{str(path)!r} does not exist")
    if path.is_file():
        return [path]
    files = [each for each in sorted(path.rglob("*")) if _is_table(each)]
    if not files:
        raise ValueError(
            f"the folder {str(path)!r} holds no files that end in {sorted(FORMATS)}"
        )
    return files


def _matching(pattern: Path) -> list[Path]:
    """Files that a pattern such as ``data/2024-*.csv`` stands for."""
    import glob

    found = [Path(each) for each in sorted(glob.glob(str(pattern), recursive=True))]
    files = [each for each in found if each.is_file()]
    if not files:
        raise FileNotFoundError(f"no file is called like {str(pattern)!r}")
    return files


def _is_table(path: Path) -> bool:
    hidden = path.name.startswith((".", "_"))
    return path.is_file() and not hidden and format_of(path) is not None
