"""The few array helpers that the array API itself lacks."""

from typing import Any, TypeAlias

from array_api_compat import array_namespace, device

Array: TypeAlias = Any


def adjoint(matrix: Array) -> Array:
    """Conjugate transpose of the last two axes."""
    return conj(matrix.mT)


def conj(array: Array) -> Array:
    """Complex conjugate; real arrays are returned as they are."""
    xp = array_namespace(array)
    return xp.conj(array) if is_complex(array) else array


def real(array: Array) -> Array:
    """Real part; real arrays are returned as they are."""
    xp = array_namespace(array)
    return xp.real(array) if is_complex(array) else array


def is_complex(array: Array) -> bool:
    """Whether the array holds complex numbers."""
    return array_namespace(array).isdtype(array.dtype, "complex floating")


def squared_modulus(array: Array) -> Array:
    """``|z|²``, real."""
    if not is_complex(array):
        return array_namespace(array).square(array)  # of half the work in reverse
    return real(conj(array) * array)


def eps(array: Array) -> float:
    """Machine epsilon of the array's dtype."""
    return float(array_namespace(array).finfo(array.dtype).eps)


def wide(array: Array) -> Array:
    """The array in double precision, for sums that must not lose digits."""
    xp = array_namespace(array)
    return xp.astype(array, xp.complex128 if is_complex(array) else xp.float64)


def wide_sum_dtype(array: Array) -> Any:
    """The real double-precision dtype of the array's namespace."""
    return array_namespace(array).float64


def safe_log(values: Array) -> Array:
    """Logarithm of non-negative numbers: exactly zero gives ``-inf``, silently."""
    xp = array_namespace(values)
    positive = values > 0
    ones = xp.ones_like(values)
    logs = xp.log(xp.where(positive, values, ones))
    return xp.where(positive, logs, xp.full_like(values, -xp.inf))


def arange_like(stop: int, array: Array) -> Array:
    """``0 .. stop-1`` with the dtype and on the device of ``array``."""
    xp = array_namespace(array)
    return xp.arange(stop, dtype=array.dtype, device=device(array))
