"""Checkpoints of a training: written whole or not at all, read as data alone."""

import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

# Raised when the contents change, so that an older file is refused, not misread.
PROTOCOL = 1


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
    fresh = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(fresh, "wb") as file:
            torch.save({"protocol": PROTOCOL, "fingerprint": digest, **state}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise OSError(
            f"checkpoint={str(path)!r} could not be written: {error}"
        ) from error


def read_checkpoint(
    path: str | Path, digest: str, n_rows: int
) -> dict[str, Any] | None:
    """What a checkpoint holds; None where there is none yet."""
    path = Path(path)
    if not path.exists():
        return None
    try:
        saved = torch.load(path, weights_only=True)  # runs no code of the file
        protocol, known = saved["protocol"], saved["fingerprint"]
    except (RuntimeError, EOFError, KeyError, TypeError, ValueError, OSError) as error:
        raise _refusal(path, f"is no checkpoint, or damaged ({error})") from error
    except pickle.UnpicklingError as error:
        raise _refusal(path, "holds something else than tensors") from error
    if protocol != PROTOCOL:
        raise _refusal(path, f"has protocol {protocol!r}, this version {PROTOCOL}")
    if known != digest:
        raise _refusal(
            path,
            f"belongs to another training: its data (here {n_rows:,} rows), parameters "
            "or starting model differ",
        )
    return dict(saved)


def _refusal(path: Path, reason: str) -> ValueError:
    return ValueError(
        f"checkpoint={str(path)!r} {reason}: delete it, or give another path"
    )
