"""Fields of a particular shape: triangles of matrices, rows, histories."""

import math
from typing import Any

import numpy as np
from numpy.linalg import qr
from numpy.typing import NDArray

from rhokit.fast.gram import mirror_triangle
from rhokit.frames import MOST_CATEGORIES, Schema
from rhokit.io.errors import ModelFileError
from rhokit.io.fields import (
    Array,
    Build,
    Number,
    Reader,
    Record,
    Writer,
    are_scalars,
    may_be_padded,
    members,
    refusal,
)
from rhokit.validation import is_missing


class ColumnKinds:
    """The schema of a frame with categories; its wide rows have ``size`` numbers."""

    def __init__(self, size: str) -> None:
        self._size = size

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        known = [values for values in value.categories if values is not None]
        if not all(are_scalars(values) for values in known):
            raise TypeError(
                "categories that are not text, numbers or truth values cannot be saved"
            )
        columns = zip(value.names, value.categories, value.ordered, strict=True)
        return [
            {"name": str(name), "categories": values and list(values), "ordered": order}
            for name, values, order in columns
        ]

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if not isinstance(given, list) or not given:
            raise refusal(path, "a list of columns", given)
        columns = [self._column(each, path) for each in given]
        names, categories, ordered = zip(*columns, strict=True)
        if len(set(names)) < len(names) or not any(categories):
            raise refusal(path, "different columns, some of categories", names)
        widths = [1 if values is None else len(values) for values in categories]
        reader.bind(self._size, sum(widths), path)
        parts = {"names": names, "categories": categories, "ordered": ordered}
        return Build(Schema, parts)

    def _column(self, given: Any, path: str) -> tuple[Any, ...]:
        name, values, ordered = members(given, path, "name", "categories", "ordered")
        if type(name) is not str or type(ordered) is not bool:
            raise refusal(path, "a name and whether there is an order", given)
        if values is None:
            return name, None, ordered
        fits = isinstance(values, list) and are_scalars(values)
        if not fits or not 1 <= len(values) <= MOST_CATEGORIES:
            raise refusal(path, "a list of categories", values)
        if len(set(values)) < len(values):
            raise refusal(path, "different categories", values)
        return name, tuple(values), ordered


class Triangles:
    """Hermitian matrices (K, m, m), kept as their upper triangles, row by row."""

    def __init__(self, count: str, dim: str) -> None:
        self._field = Array((count, None), may_be_complex=True)
        self._dim = dim

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        total = np.asarray(value)
        upper = np.triu_indices(total.shape[1])
        return self._field.write(total[:, *upper], path, writer)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        triangles = self._field.read(given, path, reader)  # (K, m (m + 1) / 2)
        length = triangles.shape[1]
        dim = (math.isqrt(8 * length + 1) - 1) // 2
        if dim * (dim + 1) // 2 != length:
            raise refusal(path, "triangles of matrices", triangles.shape)
        reader.bind(self._dim, dim, path)
        return Build(_hermitian, {"triangles": triangles, "dim": dim})


def _hermitian(triangles: NDArray[Any], dim: int) -> NDArray[Any]:
    total = np.zeros((len(triangles), dim, dim), triangles.dtype)
    total[:, *np.triu_indices(dim)] = triangles
    for matrix in total:
        mirror_triangle(matrix)
    return total


class Sums(Record):
    """A density matrix as sums: nothing on their diagonals is negative but rounding."""

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        state = super().read(given, path, reader)
        weight, total = state.parts["weight"], state.parts["total"].parts
        places = np.cumsum(np.arange(total["dim"] + 1, 1, -1)) - total["dim"] - 1
        diagonal = total["triangles"][:, places].real  # (K, m)
        rounding = 1e-6 * np.maximum(diagonal.max(axis=1), weight)
        if (diagonal.min(axis=1) < -rounding)[weight > 0].any():
            raise ModelFileError(
                f"{path}.total has a negative diagonal: it is no state"
            )
        return state


class Coefficients(Array):
    """Complex coefficients of Fourier series (K, 2 M_1 + 1, ..., M_d + 1)."""

    def __init__(self, count: str) -> None:
        shapes = [(count, *[None] * d) for d in (1, 2, 3)]
        super().__init__(*shapes, may_be_complex=True)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        total = super().read(given, path, reader)
        odd = all(size % 2 for size in total.shape[1:-1])
        if not np.iscomplexobj(total) or not odd:
            raise refusal(path, "complex coefficients of series", total.shape)
        return total


class Factors:
    """Factors ``A`` (K, r, D) that matter through ``A†A`` alone.

    Each is turned until it is zero below its diagonal, and the rest is kept, row by
    row: never more than the triangle of the matrix that it stands for.
    """

    def __init__(self, count: str, dim: str) -> None:
        floats = ("float32", "float64")
        self._field = Array((count, None), dtypes=floats, may_be_complex=True)
        self._dim = Number(1, integer=True, size=dim)

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        turned = np.stack([qr(np.asarray(factor))[1] for factor in value])
        _, rank, dim = turned.shape
        upper = np.triu_indices(rank, m=dim)
        numbers = self._field.write(turned[:, *upper], path, writer)
        return {"rank": rank, "dim": dim, "numbers": numbers}

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if not isinstance(given, dict) or given.keys() != {"rank", "dim", "numbers"}:
            raise refusal(path, "a factor", given)
        dim = self._dim.read(given["dim"], f"{path}.dim", reader)
        rank = Number(1, dim, integer=True).read(given["rank"], f"{path}.rank", reader)
        numbers = self._field.read(given["numbers"], path, reader)
        if numbers.shape[1] != rank * dim - rank * (rank - 1) // 2:
            raise refusal(path, f"factors of rank {rank}", numbers.shape)
        return Build(_trapezoids, {"numbers": numbers, "rank": rank, "dim": dim})


def _trapezoids(numbers: NDArray[Any], rank: int, dim: int) -> NDArray[Any]:
    factor = np.zeros((len(numbers), rank, dim), numbers.dtype)
    factor[:, *np.triu_indices(rank, m=dim)] = numbers
    return factor


# Dtypes of rows that are not plain numbers, by the kinds that NumPy names them with.
_ROW_KINDS = {"O": "O", "U": "U", "f": "f8", "i": "i8", "u": "u8", "b": "?"}


class Rows:
    """Rows (n, d) of numbers, or of categories."""

    def __init__(self, count: str, length: str) -> None:
        self._numbers = Array((count, length), dtypes=("float32", "float64"))
        self._count, self._length = count, length

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        if value.dtype.kind == "f" and np.isfinite(value).all():
            return self._numbers.write(value, path, writer)
        values = [[None if is_missing(item) else item for item in row] for row in value]
        plain = [
            [item.item() if isinstance(item, np.generic) else item for item in row]
            for row in values
        ]
        if not all(are_scalars(row, missing=True) for row in plain):
            raise TypeError(f"{path} holds values of a kind that cannot be saved")
        return {"dtype": value.dtype.kind, "values": plain}

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if isinstance(given, str):
            return self._numbers.read(given, path, reader)
        if not isinstance(given, dict) or given.keys() != {"dtype", "values"}:
            raise refusal(path, "rows", given)
        dtype, values = given["dtype"], given["values"]
        if dtype not in _ROW_KINDS or not isinstance(values, list):
            raise refusal(path, "rows of text or of plain values", dtype)
        reader.bind(self._count, len(values), path)
        for row in values:
            if not isinstance(row, list) or not are_scalars(row, missing=True):
                raise refusal(path, "rows of plain values", row)
            reader.bind(self._length, len(row), path)
        if dtype == "U" and not may_be_padded([x for row in values for x in row]):
            raise refusal(path, "text of similar length", values)
        shape = len(values), reader.sizes[self._length]
        return np.array(values, dtype=_ROW_KINDS[dtype]).reshape(shape)


class History:
    """Numbers of every epoch, by name; None where there was no number."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        return {
            str(name): [float(x) if math.isfinite(x) else None for x in numbers]
            for name, numbers in value.items()
        }

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if not isinstance(given, dict):
            raise refusal(path, "lists of numbers by name", given)
        for numbers in given.values():
            if not isinstance(numbers, list) or not all(
                x is None or type(x) in (int, float) for x in numbers
            ):
                raise refusal(path, "lists of numbers", numbers)
        return {
            name: [math.nan if x is None else float(x) for x in numbers]
            for name, numbers in given.items()
        }
