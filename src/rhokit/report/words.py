"""Numbers and values as a colleague reads them: aligned, short, never ``nan``."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rhokit.inspection.rows import is_number
from rhokit.validation import is_missing

MISSING = "missing"
_NOT_KNOWN = "not known"
_INFINITE = {True: "infinity", False: "minus infinity"}
# Outside these sizes a number is written with a power of ten.
_SMALL, _LARGE = 1e-4, 1e7


def number(value: float, digits: int = 4) -> str:
    """A number to some significant digits; what is no number, as a word.

    Examples
    --------
    >>> number(1234.5678), number(0.00012), number(float("-inf"))
    ('1,235', '0.00012', 'minus infinity')
    """
    value = float(value)
    if not math.isfinite(value):
        return _as_word(value)
    if value != 0 and not _SMALL <= abs(value) < _LARGE:
        return _with_power(value, digits)
    text = f"{value:,.{_decimals(abs(value), digits)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def plain_number(value: float, digits: int = 4) -> str:
    """A value of a column, which may be a year: no marks between thousands.

    Examples
    --------
    >>> plain_number(2013.0)
    '2013'
    """
    return number(value, digits).replace(",", "")


def fixed(value: float, decimals: int) -> str:
    """A number to some decimals; what is no number, as a word."""
    value = float(value)
    if not math.isfinite(value):
        return _as_word(value)
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def percent(fraction: float, decimals: int = 1) -> str:
    r"""A fraction in hundredths.

    Examples
    --------
    >>> percent(0.1234) == "12.3\u00a0%"
    True
    """
    if not math.isfinite(fraction):
        return _as_word(fraction)
    return f"{fixed(100 * fraction, decimals)}\u00a0%"  # not to be parted


def count(value: float, one: str, many: str | None = None) -> str:
    """A count with its noun.

    Examples
    --------
    >>> count(1, "row"), count(14_265, "row"), count(2, "class", "classes")
    ('1 row', '14,265 rows', '2 classes')
    """
    noun = one if value == 1 else many or f"{one}s"
    return f"{number(value, 12)} {noun}"


def size(n_bytes: float) -> str:
    """Bytes in the unit that suits them."""
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{number(n_bytes, 3)} {unit}"
        n_bytes /= 1000
    return f"{number(n_bytes, 3)} GB"


def shortened(text: str, length: int = 32) -> str:
    """A text that fits a label, with its middle left out where it is too long."""
    if len(text) <= length:
        return text
    half = (length - 1) // 2
    return f"{text[: length - 1 - half]}…{text[len(text) - half :]}"


def column_writer(values: Iterable[Any], digits: int = 4) -> Callable[[Any], str]:
    """A function that writes the values of one column alike, so that they align.

    All numbers get as many decimals as the largest one needs for ``digits``
    significant digits, whole numbers none. They stand as they do in the table, without
    marks between thousands: they may be years, or numbers that name something.
    """
    values = list(values)
    numbers = np.array([float(value) for value in values if is_number(value)])
    finite = numbers[np.isfinite(numbers)]
    largest = float(np.abs(finite).max(initial=0.0))
    if (finite == np.rint(finite)).all() and largest < _LARGE:
        decimals = 0
    elif _SMALL <= largest < _LARGE:
        decimals = min(_decimals(largest, digits), 6)
    else:
        decimals = None

    def write(value: Any) -> str:
        if is_missing(value):
            return MISSING
        if not is_number(value):
            return str(value)
        found = number(value, digits) if decimals is None else fixed(value, decimals)
        return found.replace(",", "")

    return write


def _as_word(value: float) -> str:
    return _NOT_KNOWN if math.isnan(value) else _INFINITE[value > 0]


def _with_power(value: float, digits: int) -> str:
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(power)}"


def _decimals(magnitude: float, digits: int) -> int:
    """Decimals that give a number of this size so many significant digits."""
    if magnitude == 0:
        return 0
    return max(0, digits - 1 - math.floor(math.log10(magnitude)))
