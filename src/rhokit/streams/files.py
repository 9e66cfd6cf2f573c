"""Files that hold tables: finding, opening, and saying what is wrong with one."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset

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
    formats = {str(format_of(file)) for file in files}
    if len(formats) > 1:
        raise ValueError(
            f"files of one format can be read together, got {sorted(formats)}"
        )
    (kind,) = formats
    folder = str(paths[0]) if len(paths) == 1 and Path(paths[0]).is_dir() else None
    try:
        return pa_dataset.dataset(
            [str(file) for file in files],
            format=_text_format(kind, types) if kind in _DELIMITERS else kind,
            partitioning="hive" if folder else None,
            partition_base_dir=folder,
        )
    except (pa.ArrowException, OSError) as error:
        raise OSError(f"{_short(paths)} could not be read: {error}") from error


def is_text(dataset: Any) -> bool:
    """Whether a data set is of text files, whose types are guessed."""
    return isinstance(getattr(dataset, "format", None), pa_dataset.CsvFileFormat)


def reading_error(name: str, error: Exception, lines: Iterator[Any]) -> OSError:
    """What is wrong with a file, with the row and column of a value that is.

    ``lines`` are records of the file with all columns read as text.
    """
    found = re.search(r"In CSV column #(\d+): .*?invalid value '(.*?)'", str(error))
    if found is None:
        return OSError(f"{name} could not be read: {error}")
    row = 0
    for record in lines:
        values = record.column(int(found[1]))
        wrong = pc.index(values, found[2]).as_py()
        if wrong >= 0:
            column = record.schema.names[int(found[1])]
            return OSError(
                f"{name}: column {column!r} must be numbers, but holds {found[2]!r} in "
                f"row {row + wrong} (counted from 0, without the line of names)"
            )
        row += record.num_rows
    return OSError(f"{name} could not be read: {error}")


def refuse_numbers(name: str, values: list[str], paths: list[str]) -> None:
    """Refuse a column of text whose values are mostly numbers: some must be wrong."""
    texts = [value for value in values if not _is_number(value)]
    if 2 * len(texts) > len(values):
        return
    for path in paths:
        row = 0
        for record in as_text(path):
            wrong = pc.is_in(record.column(name), pa.array(texts))
            place = pc.index(wrong, True).as_py()
            if place >= 0:
                value = record.column(name)[place].as_py()
                raise ValueError(
                    f"{path}: column {name!r} holds numbers, but {value!r} in row "
                    f"{row + place} (counted from 0, without the line of names): mend "
                    f"it, or say that these are categories (categories=[{name!r}])"
                )
            row += record.num_rows


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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


def _short(paths: list[Any]) -> str:
    return repr(str(paths[0])) if len(paths) == 1 else f"{len(paths)} files"
