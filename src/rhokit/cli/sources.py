"""Data as the command line names them: files, folders, standard input."""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rhokit.cli.failures import UsageError, UserError
from rhokit.errors import DataError

STANDARD_INPUT = "-"
_NAME_OF_STANDARD_INPUT = "standard input"
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
    reading : dict
        How text is read, where somebody said so.
    """

    paths: tuple[Path, ...]
    files: tuple[Path, ...]
    is_standard_input: bool = False
    reading: Mapping[str, Any] = field(default_factory=dict)

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
def opened(
    given: list[str], reading: Mapping[str, Any] | None = None
) -> Iterator[Source]:
    """The source of some arguments, for as long as it is needed.

    Parameters
    ----------
    given : list of str
        Paths, patterns, or ``-``.
    reading : dict, optional
        How text is read.
    """
    reading = reading or {}
    if STANDARD_INPUT not in given:
        paths = tuple(Path(path) for path in given)
        files = tuple(file for path in paths for file in _files(path))
        yield Source(paths, files, reading=reading)
        return
    if len(given) > 1:
        raise UsageError("standard input (-) cannot be read together with files")
    with tempfile.TemporaryDirectory(prefix="rhokit-") as folder:
        file = _spooled(Path(folder))
        yield Source((file,), (file,), True, reading)


def _files(path: Path) -> list[Path]:
    """The files of a path, refused where they are not there, unreadable or empty."""
    from rhokit.streams.files import FORMATS, found_files

    try:
        found = found_files(path)
    except FileNotFoundError as error:
        pattern = str(error) if "called like" in str(error) else ""
        raise UserError(f"{path}: {pattern or 'no such file or folder'}") from error
    except ValueError as error:
        endings = ", ".join(FORMATS)
        raise UserError(f"{path}: holds no files that end in {endings}") from error
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


def _spooled(folder: Path) -> Path:
    """Standard input as a file; what it is, it tells itself."""
    file = folder / "input"
    with open(file, "wb") as spool:
        shutil.copyfileobj(sys.stdin.buffer, spool, 2**20)
    if not file.stat().st_size:
        raise UserError("standard input: there is nothing to read")
    return file


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
