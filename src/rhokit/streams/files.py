"""Files that hold tables: finding and opening them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset

from rhokit.streams.mistakes import reading_error

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
_COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4"}
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def open_dataset(source: Any, types: dict[str, Any] | None = None) -> Any:
    """A pyarrow data set of a file, of a folder, or of several files.

    ``types`` are those of columns of text files, which otherwise are guessed from the
    first rows: a column that starts with integers would refuse a fraction.
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
    folder = str(paths[0]) if len(paths) == 1 and Path(paths[0]).is_dir() else None
    try:
        return _dataset(files, folder, types)
    except (pa.ArrowException, OSError) as error:
        raise reading_error(error, str(paths[0])) from error


def _dataset(files: list[Path], folder: str | None, types: Any) -> Any:
    (kind, *others) = sorted({str(format_of(file)) for file in files})
    if others:
        raise ValueError(
            f"files of one format can be read together, got {[kind, *others]}"
        )
    return pa_dataset.dataset(
        [str(file) for file in files],
        format=_text_format(kind, types) if kind in _DELIMITERS else kind,
        partitioning="hive" if folder else None,
        partition_base_dir=folder,
    )


def is_text(dataset: Any) -> bool:
    """Whether a data set is of text files, whose types are guessed."""
    return isinstance(getattr(dataset, "format", None), pa_dataset.CsvFileFormat)


def as_text(path: str) -> Iterator[Any]:
    """Records of a text file with all columns as text."""
    kind = str(format_of(Path(path)))
    plain = pa_dataset.dataset(path, format=_text_format(kind))
    types = dict.fromkeys(plain.schema.names, pa.string())
    dataset = pa_dataset.dataset(path, format=_text_format(kind, types))
    yield from dataset.to_batches()


def format_of(path: Path) -> str | None:
    """The format that a file's ending tells, None where it tells none."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def _text_format(kind: str, types: dict[str, Any] | None = None) -> Any:
    return pa_dataset.CsvFileFormat(
        parse_options=pa_csv.ParseOptions(delimiter=_DELIMITERS[kind]),
        convert_options=pa_csv.ConvertOptions(
            column_types=types, strings_can_be_null=True
        ),
    )


def _files(path: Path) -> list[Path]:
    """The file itself, or the files of a folder that hold tables."""
    if not path.exists():
        raise FileNotFoundError(f"{str(path)!r} does not exist")
    if path.is_file():
        if format_of(path) is None:
            raise ValueError(
                f"{str(path)!r} has no ending that tells its format: one of "
                f"{sorted(FORMATS)} is needed, or a pyarrow Dataset"
            )
        return [path]
    hidden = (".", "_")
    files = [p for p in sorted(path.rglob("*")) if p.is_file()]
    files = [p for p in files if not p.name.startswith(hidden) and format_of(p)]
    if not files:
        raise ValueError(
            f"the folder {str(path)!r} holds no files that end in {sorted(FORMATS)}"
        )
    return files
