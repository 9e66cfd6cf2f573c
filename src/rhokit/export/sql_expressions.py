"""Expressions of SQL, of which equal ones are one object, and constants are folded."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Operand = Any
"""An :class:`Expression`, a number, a truth value or a text."""


class Expression:
    """What one cell of a row is computed by.

    Parameters
    ----------
    pool : Pool
        Makes expressions of it and others.
    kind : str
        The operator.
    parts : tuple
        Expressions and constants.
    """

    __slots__ = ("kind", "parts", "pool")

    def __init__(self, pool: Pool, kind: str, parts: tuple[Operand, ...]) -> None:
        self.pool, self.kind, self.parts = pool, kind, parts

    def __add__(self, other: Operand) -> Operand:
        return self.pool.sum([self, other])

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Operand:
        return self.pool.sum([self, self.pool.product(other, -1.0)])

    def __rsub__(self, other: Operand) -> Operand:
        return self.pool.sum([other, self.pool.product(self, -1.0)])

    def __mul__(self, other: Operand) -> Operand:
        return self.pool.product(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Operand:
        return self.pool.ratio(self, other)

    def __rtruediv__(self, other: Operand) -> Operand:
        return self.pool.ratio(other, self)

    def __lt__(self, other: Operand) -> Operand:
        return self.pool.compare("<", self, other)

    def __gt__(self, other: Operand) -> Operand:
        return self.pool.compare(">", self, other)

    def __le__(self, other: Operand) -> Operand:
        return self.pool.compare("<=", self, other)

    def __ge__(self, other: Operand) -> Operand:
        return self.pool.compare(">=", self, other)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
}
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "cos": math.cos,
    "exp": math.exp,
    "log": math.log,
    "round": round,
    "sign": lambda x: (x > 0) - (x < 0),
    "sqrt": math.sqrt,
}


class Pool:
    """Makes expressions; the same one twice is the same object.

    Examples
    --------
    >>> from rhokit.export.sql_expressions import Pool
    >>> pool = Pool()
    >>> x = pool.column("x")
    >>> (x + 1.0) * 2.0 is (x + 1.0) * 2.0, x * 0.0 + 1.0
    (True, 1.0)
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Expression] = {}

    def make(self, kind: str, *parts: Operand) -> Expression:
        """An expression as it is, nothing folded."""
        parts = tuple(
            part.item() if isinstance(part, np.generic) else part for part in parts
        )
        key = (kind, *(_key(part) for part in parts))
        if key not in self._known:
            self._known[key] = Expression(self, kind, parts)
        return self._known[key]

    def column(self, name: str) -> Expression:
        """A column of the table, as it is."""
        return self.make("column", name)

    def sum(self, terms: Sequence[Operand]) -> Operand:
        """The sum of terms; constants among them are added up."""
        constant, rest = 0.0, []
        for term in terms:
            if not is_expression(term):
                constant += float(term)
            elif term.kind == "sum" and not is_expression(term.parts[0]):
                constant += term.parts[0]
                rest += [term.parts[1:]]
            else:
                rest += [(term,)]
        flat = [each for some in rest for each in some]
        if not flat:
            return constant
        if constant == 0 and len(flat) == 1:
            return flat[0]
        return self.make("sum", constant, *flat)

    def product(self, a: Operand, b: Operand) -> Operand:
        """A product; what is multiplied by zero is zero."""
        if not is_expression(a):
            a, b = b, a
        if not is_expression(a):
            return float(a) * float(b)
        if is_expression(b):
            return self.make("product", a, b)
        factor = float(b)
        if a.kind == "product" and not is_expression(a.parts[1]):
            a, factor = a.parts[0], factor * a.parts[1]
        if factor == 0:
            return 0.0
        return a if factor == 1 else self.make("product", a, factor)

    def ratio(self, a: Operand, b: Operand) -> Operand:
        """A quotient."""
        if is_expression(a) and not is_expression(b) and float(b) == 1:
            return a
        if is_expression(a) or is_expression(b):
            return self.make("ratio", a, b)
        return float(a) / float(b)

    def compare(self, sign: str, a: Operand, b: Operand) -> Operand:
        """Whether a comparison holds."""
        if is_expression(a) or is_expression(b):
            return self.make("compare", sign, a, b)
        return _COMPARISONS[sign](a, b)

    def function(self, name: str, a: Operand) -> Operand:
        """A function of one number."""
        if is_expression(a):
            return self.make("function", name, a)
        return float(_FUNCTIONS[name](float(a)))

    def extreme(self, name: str, terms: Sequence[Operand]) -> Operand:
        """The ``"least"`` or the ``"greatest"`` of terms."""
        choose = min if name == "least" else max
        known = [float(term) for term in terms if not is_expression(term)]
        rest = list(dict.fromkeys(term for term in terms if is_expression(term)))
        bounds = [choose(known)] if known else []
        if known and bounds[0] == (math.inf if name == "least" else -math.inf):
            bounds = [] if rest else bounds
        if not rest:
            return bounds[0]
        return (
            self.make("extreme", name, *rest, *bounds)
            if rest[1:] or bounds
            else rest[0]
        )

    def every(self, a: Operand, b: Operand) -> Operand:
        """Whether both hold."""
        if not is_expression(a):
            a, b = b, a
        if not is_expression(b):
            return a if b else False
        return self.make("and", a, b)

    def either(self, a: Operand, b: Operand) -> Operand:
        """Whether one of two holds."""
        if not is_expression(a):
            a, b = b, a
        if not is_expression(b):
            return True if b else a
        return self.make("or", a, b)

    def negation(self, a: Operand) -> Operand:
        """Whether something does not hold, or is not known."""
        return self.choice([(a, False)], True)

    def choice(
        self, cases: Sequence[tuple[Operand, Operand]], other: Operand
    ) -> Operand:
        """The value of the first condition that holds, or another one."""
        kept = []
        for condition, value in cases:
            if is_expression(condition):
                kept.append((condition, value))
            elif condition:
                other = value
                break
        if all(_key(value) == _key(other) for _, value in kept):
            return other
        flat = [each for case in kept for each in case]
        return self.make("choice", *flat, other)

    def picked(self, place: Operand, values: Sequence[Operand]) -> Operand:
        """The value at a place among those that come into question."""
        if not is_expression(place):
            return values[int(place)]
        if place.kind == "choice":  # whose ends are places, or choices of such
            *cases, other = place.parts
            return self.choice(
                [
                    (condition, self.picked(each, values))
                    for condition, each in zip(cases[::2], cases[1::2], strict=True)
                ],
                self.picked(other, values),
            )
        return self._halved(place, values, 0)

    def _halved(self, place: Operand, values: Sequence[Operand], first: int) -> Operand:
        """The value at a place, which is looked for by halves."""
        if len(values) == 1:
            return values[0]
        half = len(values) // 2
        below = self.compare("<", place, first + half - 0.5)
        left = self._halved(place, values[:half], first)
        return self.choice(
            [(below, left)], self._halved(place, values[half:], first + half)
        )


def is_expression(what: Operand) -> bool:
    """Whether this is no constant."""
    return isinstance(what, Expression)


def _key(part: Operand) -> Any:
    """What tells parts apart: 1 and True are not the same, nor are 0.0 and -0.0."""
    if isinstance(part, Expression):
        return id(part)
    return type(part).__name__, repr(part)
