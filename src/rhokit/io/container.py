"""The outer layer of a model file: named tensors and one JSON text, with a digest.

A file is in the safetensors format: the length of a JSON header, the header, the
tensors' bytes. Its metadata hold two texts: ``rhokit``, a JSON tree that says what the
tensors mean, and ``sha256``, the digest of that text and of all tensors.
"""

import hashlib
import json
from typing import Any

import numpy as np
import safetensors
from numpy.typing import NDArray
from safetensors.numpy import load as load_tensors

from rhokit.errors import ModelFileError
from rhokit.records import Tensors

_TREE, _DIGEST = "rhokit", "sha256"
_DTYPES = (
    *("float32", "float64"),
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint64"),
)
_KINDS = {"f": "F", "i": "I", "u": "U"}
_LENGTH_BYTES = 8  # of the header, little-endian, at the start of the file


def pack(tree: dict[str, Any], tensors: Tensors) -> bytes:
    """A JSON tree and tensors as the bytes of a file; the same give the same bytes."""
    text = json.dumps(tree, allow_nan=False, separators=(",", ":"))
    plain = {name: _little_endian(tensors[name]) for name in sorted(tensors)}
    header: dict[str, Any] = {
        "__metadata__": {_TREE: text, _DIGEST: digest(text, plain)}
    }
    end = 0
    for name, array in plain.items():
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _dtype_name(array.dtype),
            "shape": array.shape,
            "data_offsets": (start, end),
        }
    # By hand, since safetensors' own writer orders the metadata at random.
    start_of_file = json.dumps(header, separators=(",", ":")).encode()
    start_of_file += b" " * (-len(start_of_file) % _LENGTH_BYTES)
    length = len(start_of_file).to_bytes(_LENGTH_BYTES, "little")
    return b"".join([length, start_of_file, *(a.tobytes() for a in plain.values())])


def _dtype_name(dtype: np.dtype[Any]) -> str:
    """How safetensors names a dtype, such as ``F64``."""
    return "BOOL" if dtype.kind == "b" else f"{_KINDS[dtype.kind]}{8 * dtype.itemsize}"


def _little_endian(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def unpack(data: bytes) -> tuple[dict[str, Any], Tensors]:
    """The tree and the tensors of a file; nothing that it says is believed yet.

    Tensors are never larger than the file: safetensors checks that their shapes and
    places cover its bytes exactly.
    """
    try:
        tensors = load_tensors(data)
    except safetensors.SafetensorError as error:
        raise ModelFileError(f"damaged, or no model file: {error}") from error
    except Exception as error:  # a dtype that NumPy lacks, say
        raise ModelFileError(f"holds tensors that no model has: {error}") from error
    metadata = _metadata(data)
    if _TREE not in metadata:
        raise ModelFileError("is a safetensors file, but holds no rhokit model")
    for name, array in tensors.items():
        if array.dtype.name not in _DTYPES:
            raise ModelFileError(f"tensor {name!r} has the dtype {array.dtype.name}")
    text = metadata[_TREE]
    if metadata.get(_DIGEST) != digest(text, tensors):
        raise ModelFileError("damaged: its content does not have the digest it states")
    tree = _parse(text)
    if not isinstance(tree, dict):
        raise ModelFileError("its description is no JSON object")
    return tree, tensors


def _metadata(data: bytes) -> dict[str, str]:
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    header = _parse(data[_LENGTH_BYTES : _LENGTH_BYTES + length])
    return dict(header.get("__metadata__") or {})


def _parse(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its description is no readable JSON: {error}") from error


def digest(text: str, tensors: Tensors) -> str:
    """SHA-256 of a description and of all tensors, with names, dtypes and shapes."""
    sha = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name in sorted(tensors):
        array = tensors[name]
        sha.update(repr((name, array.dtype.str, array.shape)).encode())
        sha.update(np.ascontiguousarray(array).data)
    return sha.hexdigest()
