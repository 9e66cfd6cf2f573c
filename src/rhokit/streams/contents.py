"""What files hold, as digests."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Bytes of a file that one thread digests, and those that it reads at once.
_SEGMENT_BYTES, _READ_BYTES = 2**26, 2**20
_THREADS = 4


def content_digests(
    filesystem: Any, paths: list[str]
) -> Iterator[tuple[str, int, str]]:
    """Path, place and digest of every segment of files, read by several threads.

    Parameters
    ----------
    filesystem : pyarrow FileSystem
    paths : list of str
    """
    segments = [
        (path, start)
        for path in paths
        for start in range(0, _size(filesystem, path) + 1, _SEGMENT_BYTES)
    ]
    with ThreadPoolExecutor(_THREADS) as pool:
        digests = pool.map(lambda segment: _digest(filesystem, *segment), segments)
        for (path, start), digest in zip(segments, digests, strict=True):
            yield path, start, digest


def _size(filesystem: Any, path: str) -> int:
    return int(filesystem.get_file_info(path).size)


def _digest(filesystem: Any, path: str, start: int) -> str:
    digest = hashlib.sha256()
    with filesystem.open_input_file(path) as file:
        file.seek(start)
        for _ in range(0, _SEGMENT_BYTES, _READ_BYTES):
            digest.update(file.read(_READ_BYTES))
    return digest.hexdigest()
