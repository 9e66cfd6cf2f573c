"""Fields that are tensors: arrays, triangles of matrices, factors, series, rows."""

import math
from typing import Any

import numpy as np
from numpy.linalg import qr
from numpy.typing import NDArray

from rhokit.errors import ModelFileError
from rhokit.fast.gram import mirror_triangle
from rhokit.records.field import (
    Build,
    Reader,
    Size,
    Writer,
    are_scalars,
    may_be_padded,
    members,
    refusal,
)
from rhokit.records.scalars import Number
from rhokit.validation import is_missing

FLOATS = ("float32", "float64")
_TENSOR, _COMPLEX = "tensor", "complex tensor"


class ArrayField:
    """A tensor of one of some shapes, finite and not below ``low``.

    Parameters
    ----------
    *shapes : tuples of names of sizes, numbers, or None for any size
    dtypes : names
    low : float
        The least value.
    minus_infinity : bool
        Whether values may be ``-inf``.
    may_be_complex : bool
    """

    def __init__(
        self,
        *shapes: tuple[Size, ...],
        dtypes: tuple[str, ...] = ("float64",),
        low: float = -math.inf,
        minus_infinity: bool = False,
        may_be_complex: bool = False,
    ) -> None:
        self._may_be_complex = may_be_complex
        self._shapes = {len(shape): shape for shape in shapes}
        self._dtypes = dtypes
        self._low = low
        self._minus_infinity = minus_infinity

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The tensor; complex numbers are pairs of real ones."""
        array = np.asarray(value)
        is_complex = np.iscomplexobj(array)
        if is_complex:
            array = np.stack([array.real, array.imag], axis=-1)
        if array.dtype.name not in self._dtypes:
            wide = self._dtypes[-1]
            if not np.can_cast(array.dtype, wide):
                raise TypeError(f"{path} of dtype {array.dtype} cannot be saved")
            array = array.astype(wide)
        writer.put(path, array)
        return _COMPLEX if is_complex else _TENSOR

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The array, of an expected shape and dtype."""
        kinds = [_TENSOR, *([_COMPLEX] if self._may_be_complex else [])]
        if given not in kinds:
            raise refusal(path, " or ".join(map(repr, kinds)), given)
        array = reader.take(path)
        if array.dtype.name not in self._dtypes:
            raise refusal(path, f"of dtype {self._dtypes}", array.dtype.name)
        if given == _COMPLEX:
            array = self._complex(array, path)
        shape = self._shapes.get(array.ndim)
        if shape is None:
            raise refusal(path, f"of shape {list(self._shapes.values())}", array.shape)
        for size, value in zip(shape, array.shape, strict=True):
            reader.bind(size, value, path)
        self._check_values(array, path)
        return array

    def _complex(self, array: NDArray[Any], path: str) -> NDArray[Any]:
        if not array.ndim or array.shape[-1] != 2:
            raise refusal(path, "pairs of real and imaginary parts", array.shape)
        # Not a sum of both parts, in which zeros would lose their signs.
        whole = np.result_type(array.dtype, np.complex64)
        return np.ascontiguousarray(array).view(whole)[..., 0]

    def _check_values(self, array: NDArray[Any], path: str) -> None:
        fine = np.isfinite(array)
        if self._minus_infinity:
            fine |= array == -np.inf
        if not fine.all():
            raise ModelFileError(f"{path} holds values that are not finite")
        if self._low > -math.inf and array.size and array.min() < self._low:
            raise refusal(path, f"{self._low} or more everywhere", array.min())


class TriangleField:
    """Hermitian matrices (K, m, m), kept as their upper triangles, row by row."""

    def __init__(self, count: str, dim: str) -> None:
        self._field = ArrayField((count, None), may_be_complex=True)
        self._dim = dim

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The triangles."""
        total = np.asarray(value)
        upper = np.triu_indices(total.shape[1])
        return self._field.write(total[:, *upper], path, writer)

    def read(self, given: Any, path: str, reader: Reader) -> Build:
        """Matrices to be made of triangles."""
        triangles = self._field.read(given, path, reader)  # (K, m (m + 1) / 2)
        length = triangles.shape[1]
        dim = (math.isqrt(8 * length + 1) - 1) // 2
        if dim * (dim + 1) // 2 != length:
            raise refusal(path, "triangles of matrices", triangles.shape)
        reader.bind(self._dim, dim, path)
        return Build(_hermitian, {"triangles": triangles, "dim": dim})

    @staticmethod
    def diagonals(read: Build) -> NDArray[np.float64]:
        """Diagonals (K, m) of matrices that were read and are not built yet."""
        dim = read.parts["dim"]
        places = np.cumsum(np.arange(dim + 1, 1, -1)) - dim - 1
        return np.asarray(read.parts["triangles"][:, places].real)


def _hermitian(triangles: NDArray[Any], dim: int) -> NDArray[Any]:
    total = np.zeros((len(triangles), dim, dim), triangles.dtype)
    total[:, *np.triu_indices(dim)] = triangles
    for matrix in total:
        mirror_triangle(matrix)
    return total


class FactorField:
    """Factors ``A`` (K, r, m) that matter through ``A†A`` alone.

    Each is turned until it is zero below its diagonal, and the rest is kept, row by
    row: never more than the triangle of the matrix that it stands for.
    """

    def __init__(self, count: str, dim: str) -> None:
        self._field = ArrayField((count, None), dtypes=FLOATS, may_be_complex=True)
        self._dim = Number(1, integer=True, size=dim)

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """Rank, dimension and trapezoids."""
        turned = np.stack([qr(np.asarray(factor))[1] for factor in value])
        _, rank, dim = turned.shape
        upper = np.triu_indices(rank, m=dim)
        numbers = self._field.write(turned[:, *upper], path, writer)
        return {"rank": rank, "dim": dim, "numbers": numbers}

    def read(self, given: Any, path: str, reader: Reader) -> Build:
        """Factors to be made of trapezoids."""
        rank, dim, numbers = members(given, path, "rank", "dim", "numbers")
        dim = self._dim.read(dim, f"{path}.dim", reader)
        rank = Number(1, dim, integer=True).read(rank, f"{path}.rank", reader)
        numbers = self._field.read(numbers, path, reader)
        if numbers.shape[1] != rank * dim - rank * (rank - 1) // 2:
            raise refusal(path, f"factors of rank {rank}", numbers.shape)
        with np.errstate(over="ignore"):
            # Parts by themselves: the modulus may be infinite of finite parts.
            length = np.square(numbers.real).sum() + np.square(numbers.imag).sum()
        if not np.isfinite(length):
            raise refusal(path, "factors of numbers that can be squared", numbers.max())
        return Build(_trapezoids, {"numbers": numbers, "rank": rank, "dim": dim})


def _trapezoids(numbers: NDArray[Any], rank: int, dim: int) -> NDArray[Any]:
    factor = np.zeros((len(numbers), rank, dim), numbers.dtype)
    factor[:, *np.triu_indices(rank, m=dim)] = numbers
    return factor


class CoefficientField(ArrayField):
    """Complex coefficients of Fourier series (K, 2 M_1 + 1, ..., M_d + 1)."""

    def __init__(self, count: str) -> None:
        shapes = [(count, *[None] * d) for d in (1, 2, 3)]
        super().__init__(*shapes, may_be_complex=True)

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The coefficients, of odd numbers of frequencies but for the last column."""
        total = super().read(given, path, reader)
        odd = all(size % 2 for size in total.shape[1:-1])
        if not np.iscomplexobj(total) or not odd:
            raise refusal(path, "complex coefficients of series", total.shape)
        return total


# Dtypes of rows that are not plain numbers, by the kinds that NumPy names them with.
_ROW_KINDS = {"O": "O", "U": "U", "f": "f8", "i": "i8", "u": "u8", "b": "?"}


class RowsField:
    """Rows (n, d) of numbers, or of categories."""

    def __init__(self, count: str, length: str) -> None:
        self._numbers = ArrayField((count, length), dtypes=FLOATS)
        self._count, self._length = count, length

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """A tensor of numbers, or lists of categories."""
        if value.dtype.kind == "f" and np.isfinite(value).all():
            return self._numbers.write(value, path, writer)
        plain = [[_plain(item) for item in row] for row in value]
        if not all(are_scalars(row, missing=True) for row in plain):
            raise TypeError(f"{path} holds values of a kind that cannot be saved")
        return {"dtype": value.dtype.kind, "values": plain}

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """The rows, as many and as long as elsewhere."""
        if isinstance(given, str):
            return self._numbers.read(given, path, reader)
        dtype, values = members(given, path, "dtype", "values")
        if not isinstance(dtype, str) or dtype not in _ROW_KINDS:
            raise refusal(path, "rows of text or of plain values", dtype)
        if not isinstance(values, list):
            raise refusal(path, "a list of rows", values)
        reader.bind(self._count, len(values), path)
        for row in values:
            if not isinstance(row, list) or not are_scalars(row, missing=True):
                raise refusal(path, "rows of plain values", row)
            reader.bind(self._length, len(row), path)
        if dtype == "U" and not may_be_padded([x for row in values for x in row]):
            raise refusal(path, "text of similar length", values)
        shape = len(values), reader.sizes[self._length]
        return np.array(values, dtype=_ROW_KINDS[dtype]).reshape(shape)


def _plain(item: Any) -> Any:
    if is_missing(item):
        return None
    return item.item() if isinstance(item, np.generic) else item
