"""Which code a process runs: states of two codes are not added up."""

import hashlib
from functools import cache
from pathlib import Path

import rhokit


def code_version() -> str:
    """The version, with a digest of the package's source: ``"0.1.0+5f2a90c1d3e4"``.

    So that workers with altered code under the same version number are told apart.
    """
    return f"{rhokit.__version__}+{_source_digest(Path(rhokit.__file__).parent)}"


@cache
def _source_digest(folder: Path) -> str:
    """Twelve digits of the digest of all modules below a folder, by their names."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        name = path.relative_to(folder).as_posix()
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:12]
