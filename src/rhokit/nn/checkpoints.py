"""Checkpoints of a training: written whole or not at all, read as data alone."""

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rhokit.io.atomic import write_atomically
from rhokit.nn.checkpoint_form import FormError

# A file is this line, the digest of the rest, and the rest. The number is raised when
# the contents change, so that an older file is refused, not misread.
_MAGIC = b"rhokit checkpoint 1\n"


def fingerprint(*parts: Any) -> str:
    """Digest of everything that a training depends on."""
    digest = hashlib.sha256()
    for part in parts:
        _add(digest, part)
    return digest.hexdigest()


def _add(digest: Any, part: Any) -> None:
    if isinstance(part, nn.Module):
        _add(digest, repr(part))
        _add(digest, list(part.state_dict().items()))
    elif isinstance(part, Tensor):
        array = part.detach().cpu().numpy()
        digest.update(repr((array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    elif isinstance(part, list | tuple):
        for each in part:
            _add(digest, each)
    elif hasattr(part, "tensors"):
        _add(digest, part.tensors())
    else:
        digest.update(repr(part).encode())


def write_checkpoint(path: str | Path, digest: str, state: dict[str, Any]) -> None:
    """Write a checkpoint beside the old one, then put it in its place."""
    path = Path(path)
    content = io.BytesIO()
    torch.save({"fingerprint": digest, **state}, content)
    payload = content.getvalue()
    try:
        write_atomically(path, _MAGIC + hashlib.sha256(payload).digest() + payload)
    except OSError as error:
        raise OSError(
            f"checkpoint={str(path)!r} could not be written: {error}"
        ) from error


def read_checkpoint(
    path: str | Path, digest: str, n_rows: int, check: Callable[[Any], None]
) -> dict[str, Any] | None:
    """What a checkpoint holds; None where there is none yet.

    Parameters
    ----------
    path : path
    digest : str
        The training's fingerprint.
    n_rows : int
        Rows of the training, to be said where it is another.
    check : callable
        Raises a ``FormError`` where the file's content is not what it must be.
    """
    path = Path(path)
    if not path.exists():
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise OSError(f"checkpoint={str(path)!r} could not be read: {error}") from error
    if not content.startswith(_MAGIC):
        raise _refusal(path, "is no checkpoint of this version")
    start = len(_MAGIC) + hashlib.sha256().digest_size
    payload = content[start:]
    if hashlib.sha256(payload).digest() != content[len(_MAGIC) : start]:
        raise _refusal(path, "is damaged")
    try:
        saved = torch.load(io.BytesIO(payload), weights_only=True)  # runs no code
        known = saved.pop("fingerprint")
    except Exception as error:  # whatever a hostile file makes torch raise
        raise _refusal(path, "holds something else than a training") from error
    if known != digest:
        raise _refusal(
            path,
            f"belongs to another training: its data (here {n_rows:,} rows), parameters "
            "or starting model differ",
        )
    try:
        check(saved)
    except FormError as error:
        raise _refusal(path, f"does not fit together ({error})") from error
    return dict(_own_memory(saved))


def _refusal(path: Path, reason: str) -> ValueError:
    return ValueError(
        f"checkpoint={str(path)!r} {reason}: delete it, or give another path"
    )


def _own_memory(tree: Any) -> Any:
    """The same with tensors of their own: those of a file may share their memory."""
    if isinstance(tree, Tensor):
        return tree.clone(memory_format=torch.contiguous_format)
    if isinstance(tree, dict):
        return {name: _own_memory(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_own_memory(value) for value in tree]
    return tree
