"""How databases write numbers, texts and functions, and what they can hold."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Exponentials of less do not count beside others, and powers of this one are numbers.
_LEAST_EXPONENT = -120.0


@dataclass(frozen=True)
class Dialect:
    """The words of a database.

    Parameters
    ----------
    name : str
    infinity : str
        The literal of infinity.
    most_columns : int
        That a query may have at any stage.
    deepest : int
        How deeply expressions are nested before a stage takes a part of them.
    fence : str
        What keeps stages apart: databases that join them would compute each value as
        often as it is used.
    extremes : dict
        Functions of the least and the greatest of several numbers.
    typed : str
        Goes behind numbers, where literals are none of double precision.
    round : str
        Rounds to whole numbers, halves to any side.
    exp : str
        The exponential function, where numbers that are too small are no error.
    """

    name: str
    infinity: str
    most_columns: int
    deepest: int = 40
    fence: str = ""
    extremes: dict[str, str] = field(
        default_factory=lambda: {"least": "LEAST", "greatest": "GREATEST"}
    )
    typed: str = ""
    round: str = "ROUND({0})"
    exp: str = "EXP({0})"

    def literal(self, value: Any) -> str:
        """A constant."""
        if isinstance(value, bool | np.bool_):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return text(value)
        if isinstance(value, int | np.integer):
            return str(int(value))
        return self._number(float(value))

    def _number(self, value: float) -> str:
        if math.isnan(value):
            return "CAST(NULL AS DOUBLE PRECISION)"
        if math.isinf(value):
            return self.infinity if value > 0 else f"(-{self.infinity})"
        digits = repr(value)
        if "e" not in digits:
            digits = digits.removesuffix(".0") + "e0"
        return f"({digits}{self.typed})" if value < 0 else digits + self.typed

    def function(self, name: str, argument: str) -> str:
        """A function of one number."""
        own = {"round": self.round, "exp": self.exp, "log": "LN({0})"}
        return own.get(name, name.upper() + "({0})").format(argument)


DIALECTS = {
    each.name: each
    for each in (
        Dialect("duckdb", "CAST('inf' AS DOUBLE)", 100_000),
        Dialect(
            "postgresql",
            "'Infinity'::float8",
            1600,
            fence="OFFSET 0",
            typed="::float8",
            # Numbers that are too small are errors there.
            exp=f"EXP(GREATEST({{0}}, {_LEAST_EXPONENT}::float8))",
        ),
        Dialect(
            "sqlite",
            "9e999",
            1900,
            deepest=10,  # its parser has a stack of a hundred
            fence="LIMIT -1",
            extremes={"least": "MIN", "greatest": "MAX"},
        ),
    )
}
"""Dialects by name."""


def text(value: str) -> str:
    """A text as a literal."""
    if "\0" in value:
        raise ValueError(f"export_sql: no text of SQL holds a zero byte: {value!r}")
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name of a column."""
    if "\0" in name:
        raise ValueError(f"export_sql: no name in SQL holds a zero byte: {name!r}")
    return '"' + name.replace('"', '""') + '"'
