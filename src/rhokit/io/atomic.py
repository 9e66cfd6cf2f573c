"""Files that are written whole or not at all, however many write them at once."""

import errno
import math
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # pragma: no cover (Windows)
    flock = None  # type: ignore[assignment]

# Names of files that are not finished: short, since names have a limit, and no two
# writers have the same, whichever process or thread they are.
_UNFINISHED = ".rhokit-{}.tmp"
_ORPHAN = re.compile(re.escape(_UNFINISHED).replace(r"\{\}", "[0-9a-f]{16}"))
_OLD = 3600.0  # seconds after which a file that nobody writes is an orphan
# Folders that were looked through for orphans, and when; not more than a few.
_LOOKED_THROUGH: dict[Path, float] = {}
_MOST_FOLDERS = 1000
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
# What systems say that cannot sync folders.
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write beside the old file, then put the new one in its place.

    See :func:`replacing` for what holds of the file.
    """
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file, which takes the place of the old one when all went well.

    Whatever happens in between, a kill or a full disk, the old file stays whole, and
    whoever reads meets one of the two. In the end both the file and its name have
    reached the disk. The new file has the mode of the old one and, as far as the system
    allows it, its owner and group; links are followed. What is there and no regular
    file, such as a device, is refused. Files that killed writers left behind in the
    folder are removed when they are an hour old.

    Parameters
    ----------
    path : str or path

    Yields
    ------
    file : binary file
        To be written to, and not closed.

    Raises
    ------
    OSError
        With ``path`` as its file name, if there can be no such file.
    """
    with errors_of(path):
        old, target = _regular_file(path), Path(os.path.realpath(path))
        fresh = target.with_name(_UNFINISHED.format(secrets.token_hex(8)))
        file = _opened(fresh, old)
    try:
        with file:
            yield file
            with errors_of(path):
                file.flush()
                os.fsync(file.fileno())
            now = os.fstat(file.fileno()).st_mtime
        with errors_of(path):
            os.replace(fresh, target)
            _sync_folder(target.parent)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    _clear_orphans(target.parent, now)


@contextmanager
def errors_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of files have this file's name."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _regular_file(path: str | os.PathLike[str]) -> os.stat_result | None:
    """What is known of the file that is there, if there is one."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file")
    return found


def _opened(path: Path, old: os.stat_result | None) -> BinaryIO:
    """A new file that nobody else has, locked for as long as it is open."""
    mode = 0o666 if old is None else 0o600  # of the first, the process's mask takes off
    descriptor = os.open(path, _NEW, mode)
    _lock(descriptor)
    if old is not None:
        keep_access(descriptor, old)
    return os.fdopen(descriptor, "wb")


def keep_access(descriptor: int, old: os.stat_result) -> None:
    """Give a file the mode of another and, as far as possible, owner and group.

    Where the group cannot be kept, the new one may do what everybody may, not more.

    Parameters
    ----------
    descriptor : int
        Of the open file.
    old : os.stat_result
        Of the other.
    """
    mode = old.st_mode & 0o777
    if hasattr(os, "fchown"):
        for owner in (old.st_uid, -1):
            with suppress(OSError):
                os.fchown(descriptor, owner, old.st_gid)
                break
        if os.fstat(descriptor).st_gid != old.st_gid:
            mode &= ~0o070 | (mode & 0o007) << 3
        with suppress(OSError):
            os.fchmod(descriptor, mode)


def _lock(descriptor: int) -> bool:
    """Lock an open file, if nobody else has; a killed process has no more locks."""
    if flock is None:  # pragma: no cover (Windows)
        return True
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Let the names in a folder reach the disk, where the system can do that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # may be written to, but not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(descriptor)


def _clear_orphans(folder: Path, now: float) -> None:
    """Remove what killed writers left, looking into a folder once an hour at most."""
    if now - _LOOKED_THROUGH.get(folder, -math.inf) < _OLD:
        return
    if len(_LOOKED_THROUGH) >= _MOST_FOLDERS:
        _LOOKED_THROUGH.clear()
    _LOOKED_THROUGH[folder] = now
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _ORPHAN.fullmatch(entry.name) and _is_orphan(entry, now):
                with suppress(OSError):
                    os.unlink(entry)


def _is_orphan(entry: os.DirEntry[str], now: float) -> bool:
    """Whether a file is old, and nobody writes it."""
    try:
        found = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode) or now - found.st_mtime < _OLD:
            return False
        with open(entry, "rb", opener=_open_without_waiting) as file:
            return _lock(file.fileno())
    except OSError:
        return False


def _open_without_waiting(name: str, flags: int) -> int:
    """Open no link, and wait for no pipe."""
    careful = (getattr(os, each, 0) for each in ("O_NOFOLLOW", "O_NONBLOCK"))
    return os.open(name, flags | sum(careful))
