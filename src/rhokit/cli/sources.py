"""Data as the command line names them: files, folders, standard input."""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rhokit.cli.failures import UsageError, UserError
from rhokit.errors import DataError

STANDARD_INPUT = "-"
_NAME_OF_STANDARD_INPUT = "standard input"
# What binary tables start with; a text starts with its columns' names.
_FIRST_LETTERS = {b"PAR1": ".parquet", b"ARROW1": ".arrow"}
_COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst"}
_FIRST_BYTES = 2**16
# Of larger files, pieces spread over the whole are digested.
_PIECE_BYTES, _PIECES = 2**20, 64


@dataclass(frozen=True)
class Source:
    """A source of rows.

    Parameters
    ----------
    paths : tuple of Path
        As given; standard input stands in a file of its own.
    files : tuple of Path
        All files of these, in the order in which they are read.
    is_standard_input : bool
    """

    paths: tuple[Path, ...]
    files: tuple[Path, ...]
    is_standard_input: bool = False

    @property
    def name(self) -> str:
        """The name that people know it by."""
        if self.is_standard_input:
            return _NAME_OF_STANDARD_INPUT
        first = str(self.paths[0])
        more = len(self.paths) - 1
        return f"{first} and {more:,} more" if more else first

    @property
    def argument(self) -> Path | list[Path]:
        """The paths, for functions that take one or a list of them."""
        return self.paths[0] if len(self.paths) == 1 else list(self.paths)

    def name_of(self, file: str | Path) -> str:
        """The name that people know one of the files by."""
        return _NAME_OF_STANDARD_INPUT if self.is_standard_input else str(file)

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Let errors of the library name the file that is wrong, or all of them.

        Those of reading and writing name their file themselves.
        """
        try:
            yield
        except UserError:
            raise
        except DataError as error:
            file = self.name if error.file is None else self.name_of(error.file)
            raise error.at(file=file) from error
        except (ValueError, TypeError) as error:
            raise UserError(f"{self.name}: {error}") from error


@contextmanager
def opened(given: list[str]) -> Iterator[Source]:
    """The source of some arguments, for as long as it is needed.

    Parameters
    ----------
    given : list of str
        Paths, or ``-``.
    """
    if STANDARD_INPUT not in given:
        paths = tuple(Path(path) for path in given)
        yield Source(paths, tuple(f for path in paths for f in _files(path)))
        return
    if len(given) > 1:
        raise UsageError("standard input (-) cannot be read together with files")
    with tempfile.TemporaryDirectory(prefix="rhokit-") as folder:
        file = _spooled(Path(folder))
        yield Source((file,), (file,), is_standard_input=True)


def _files(path: Path) -> list[Path]:
    """The files of a path, refused where they are not there, unreadable or empty."""
    from rhokit.streams.files import FORMATS, format_of

    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    if path.is_dir():
        found = [each for each in sorted(path.rglob("*")) if _is_table(each)]
    else:
        found = [path] if format_of(path) else []
    if not found:
        what = "holds no files that end in" if path.is_dir() else "must end in"
        raise UserError(f"{path}: {what} one of {', '.join(FORMATS)}")
    for file in found:
        _refuse_unreadable(file)
    return found


def _refuse_unreadable(file: Path) -> None:
    try:
        with open(file, "rb") as stream:
            first = stream.read(1)
    except OSError as error:
        raise UserError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    if not first:
        raise UserError(f"{file}: the file is empty")


def _is_table(path: Path) -> bool:
    from rhokit.streams.files import format_of

    hidden = path.name.startswith((".", "_"))
    return path.is_file() and not hidden and format_of(path) is not None


def _spooled(folder: Path) -> Path:
    """Standard input as a file, whose ending tells what it is."""
    stream = sys.stdin.buffer
    first = stream.read(_FIRST_BYTES)
    if not first:
        raise UserError("standard input: there is nothing to read")
    file = folder / f"input{ending_of(first)}"
    with open(file, "wb") as spool:
        spool.write(first)
        shutil.copyfileobj(stream, spool, 2**20)
    return file


def ending_of(first: bytes) -> str:
    """The ending of a file that starts with these bytes.

    Examples
    --------
    >>> from rhokit.cli.sources import ending_of
    >>> [ending_of(first) for first in (b"PAR1...", b"a,b\\n1,2", b"a\\tb\\n1\\t2")]
    ['.parquet', '.csv', '.tsv']
    """
    for magic, ending in _FIRST_LETTERS.items():
        if first.startswith(magic):
            return ending
    for magic, ending in _COMPRESSED.items():
        if first.startswith(magic):
            return f".csv{ending}"
    header = first.split(b"\n", 1)[0]
    return ".tsv" if header.count(b"\t") > header.count(b",") else ".csv"


def digest(path: Path) -> str:
    """SHA-256 of a file's size and bytes; of a large one, of 64 pieces of it."""
    size = path.stat().st_size
    found = hashlib.sha256(str(size).encode())
    with open(path, "rb") as file:
        if size <= _PIECE_BYTES * _PIECES:
            for part in iter(lambda: file.read(_PIECE_BYTES), b""):
                found.update(part)
            return found.hexdigest()
        for piece in range(_PIECES):
            file.seek(piece * (size - _PIECE_BYTES) // (_PIECES - 1))
            found.update(file.read(_PIECE_BYTES))
    return found.hexdigest()


def refuse_overwriting(option: str, output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that is one of the inputs, or another output."""
    for path in inputs:
        same = output.absolute() == path.absolute()
        if same or (output.exists() and path.exists() and output.samefile(path)):
            raise UsageError(f"{option} {output} is one of the inputs: name another")


def refuse_inside(output: Path, paths: Iterable[Path]) -> None:
    """Refuse to add a table to a folder that is read."""
    for path in paths:
        if path.is_dir() and path.resolve() in output.resolve().parents:
            raise UsageError(
                f"--output {output} lies in {path}, and would be read as a part of it"
            )


def check_output(
    output: Path, inputs: Iterable[Path], endings: tuple[str, ...] | None = None
) -> None:
    """Refuse an output that cannot be, before any work is done."""
    if endings is not None and not output.name.lower().endswith(endings):
        raise UsageError(f"--output {output} must end in one of {', '.join(endings)}")
    if output.is_dir():
        raise UsageError(f"--output {output} is a folder, not a file")
    if output.exists() and not output.is_file():
        raise UsageError(f"--output {output} is no regular file")
    if not output.absolute().parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {output.parent}")
    refuse_overwriting("--output", output, inputs)
