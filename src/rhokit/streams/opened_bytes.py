"""The bytes of files: compressed, in zip archives, or as they are."""

import lzma
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from rhokit.errors import DataError

_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_ZIPPED, _XZ = b"PK\x03\x04", b"\xfd7zXZ"
_IN_ARCHIVES_OF_MACS = "__MACOSX/"


class Bytes(Protocol):
    """The bytes of a file, unpacked."""

    @property
    def name(self) -> str:
        """The name that people know the file by."""

    def opened(self) -> AbstractContextManager[Any]:
        """A pyarrow file to read from."""

    def head(self, size: int) -> bytes:
        """The first bytes."""


@dataclass(frozen=True)
class ByteSource:
    """A file, or a member of a zip archive; what is compressed is unpacked.

    Parameters
    ----------
    path : Path
    member : str, optional
        Of an archive.
    """

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """Path, and member if there is one."""
        return str(self.path if self.member is None else self.path / self.member)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """A pyarrow file to read unpacked bytes from."""
        if self.member is not None:
            with zipfile.ZipFile(self.path) as archive:
                with archive.open(self.member) as first:
                    packing = _packing(first.read(8))
                with archive.open(self.member) as file:
                    yield _unpacked(file, packing)
            return
        with open(self.path, "rb") as file:
            packing = _packing(file.read(8))
            file.seek(0)
            if packing is not None:
                yield _unpacked(file, packing)
                return
        with pa.OSFile(str(self.path)) as plain:
            yield plain

    def head(self, size: int) -> bytes:
        """The first bytes, unpacked."""
        with self.opened() as file:
            return bytes(file.read(size))

    @property
    def is_plain(self) -> bool:
        """Whether bytes are read as they stand in a file of their own."""
        if self.member is not None:
            return False
        with open(self.path, "rb") as file:
            return _packing(file.read(8)) is None


def _unpacked(file: Any, packing: str | None) -> Any:
    """What a binary file holds, unpacked."""
    if packing == "xz":
        return pa.PythonFile(lzma.open(file), "r")
    plain = pa.PythonFile(file, "r")
    return plain if packing is None else pa.CompressedInputStream(plain, packing)


def _packing(first: bytes) -> str | None:
    if first.startswith(_XZ):
        return "xz"
    for magic, name in _COMPRESSED.items():
        if first.startswith(magic):
            return name
    return None


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive of files, and no spreadsheet."""
    with open(path, "rb") as file:
        if file.read(4) != _ZIPPED:
            return False
    return not is_spreadsheet(path)


def is_spreadsheet(path: Path) -> bool:
    """Whether a file is an Excel workbook, which is a zip archive, too."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False


def members(path: Path) -> list[ByteSource]:
    """The files of a zip archive, in the order of their names."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = sorted(archive.infolist(), key=lambda info: info.filename)
    except zipfile.BadZipFile as error:
        raise DataError(
            f"no readable zip archive ({error}): it may be cut off", file=str(path)
        ) from error
    kept = []
    for info in infos:
        hidden = Path(info.filename).name.startswith((".", "_"))
        if info.is_dir() or hidden or info.filename.startswith(_IN_ARCHIVES_OF_MACS):
            continue
        if info.flag_bits & 1:
            raise DataError(
                f"{info.filename!r} is encrypted: unpack it first", file=str(path)
            )
        kept.append(ByteSource(path, info.filename))
    if not kept:
        raise DataError("the archive holds no files", file=str(path))
    return kept
