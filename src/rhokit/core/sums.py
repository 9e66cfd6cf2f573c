"""Exact states: sums over rows, one per outcome, that add up."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from array_api_compat import array_namespace, device

from rhokit.core.arrays import Array, real
from rhokit.core.html import state_html

# Weights that should cancel exactly may differ by rounding; a larger shortfall
# means that rows are being forgotten which were never seen.
_WEIGHT_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over weighted rows, one per outcome, and the weights.

    ``a + b`` is the state of both data sets, ``a - b`` forgets ``b``'s rows, and
    ``sum(parts)`` merges any number of them.

    Parameters
    ----------
    total : array of shape (K, ...)
    weight : array of shape (K,)
        Total weight of the rows in each sum.
    """

    takes_rows: ClassVar[bool] = True
    """Whether rows can be added and taken out."""
    is_square: ClassVar[bool] = False
    """Whether sums are matrices (D, D)."""

    total: Array  # (K, ...)
    weight: Array  # (K,)

    def __post_init__(self) -> None:
        shape = tuple(self.total.shape)
        if self.is_square and (len(shape) != 3 or shape[1] != shape[2]):
            raise ValueError(f"total must have shape (K, D, D), got {shape}")
        if tuple(self.weight.shape) != shape[:1]:
            raise ValueError(
                f"weight must have shape {shape[:1]} to match total, "
                f"got {tuple(self.weight.shape)}"
            )

    @property
    def n_outcomes(self) -> int:
        """K, the number of outcomes."""
        return int(self.total.shape[0])

    def __add__(self, other: Self | int) -> Self:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if type(other) is not type(self):
            return NotImplemented
        check_alike(self, other)
        return self._like(self.total + other.total, self.weight + other.weight)

    __radd__ = __add__

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        check_alike(self, other)
        weight = remaining_weight(self.weight, other.weight)
        return self._like(self.total - other.total, weight)

    def scale(self, factor: float) -> Self:
        """All rows count ``factor`` times as much (0 < factor < 1: decay)."""
        check_factor(factor)
        return self._like(self.total * factor, self.weight * factor)

    def spread(self, places: list[int], n_outcomes: int) -> Self:
        """These sums as outcomes ``places`` among ``n_outcomes``; no row elsewhere.

        So states that know different outcomes are brought to the same ones.
        """
        xp = array_namespace(self.total)
        empty = xp.zeros_like(self.total[0, ...]), xp.zeros_like(self.weight[0])
        parts = [empty] * n_outcomes
        for k, place in enumerate(places):
            parts[place] = self.total[k, ...], self.weight[k]
        totals, weights = zip(*parts, strict=True)
        return self._like(xp.stack(totals), xp.stack(weights))

    def outcome(self, k: int) -> Self:
        """The state of one outcome."""
        return self._like(self.total[k : k + 1, ...], self.weight[k : k + 1])

    def beside(self, *others: Self) -> Self:
        """The outcomes of several states, one after the other."""
        if not others:
            return self
        xp = array_namespace(self.total)
        totals = [each.total for each in (self, *others)]
        weights = [each.weight for each in (self, *others)]
        return self._like(xp.concat(totals), xp.concat(weights))

    def mix(self, shares: Array) -> Self:
        """Weighted sums over the outcomes, for non-negative ``shares`` (J, K)."""
        xp = array_namespace(self.total)
        factors = xp.astype(shares, self.total.dtype)
        return self._like(
            xp.tensordot(factors, self.total, axes=1), shares @ self.weight
        )

    def normalized(self) -> Array:
        """The means, ``total / weight``, of the same shape as ``total``."""
        xp = array_namespace(self.total)
        shape = (-1, *[1] * (self.total.ndim - 1))
        return self.total * xp.reshape(inverse_weight(self.weight), shape)

    def _like(self, total: Array, weight: Array) -> Self:
        return replace(self, total=total, weight=weight)

    @property
    def numbers(self) -> Array:
        """The sums, which are what is held."""
        return self.total

    def _repr_html_(self) -> str:
        return state_html(self)


def inverse_weight(weight: Array) -> Array:
    """``1/weight``, and 0 where nothing was seen."""
    xp = array_namespace(weight)
    seen = weight > 0
    return xp.where(seen, 1 / xp.where(seen, weight, xp.ones_like(weight)), 0.0)


def remaining_weight(weight: Array, forgotten: Array) -> Array:
    """``weight - forgotten``, refused where that is below zero."""
    xp = array_namespace(weight)
    left = weight - forgotten
    if bool(xp.any(left < -_WEIGHT_SLACK * xp.clip(weight, 1.0, None))):
        raise ValueError(
            f"cannot forget more than was seen: the weights are {weight}, "
            f"to be forgotten are {forgotten}"
        )
    # What is left of a cancelled weight is rounding, not rows.
    return xp.where(left > _WEIGHT_SLACK * weight, left, xp.zeros_like(left))


def checked_outcomes(states: Array, outcomes: Array | None) -> Array:
    """Weights (n, K) of the rows of ``states`` (n, D): ones where none are given."""
    xp = array_namespace(states)
    if len(states.shape) != 2:
        raise ValueError(f"states must have shape (n, D), got {tuple(states.shape)}")
    n = int(states.shape[0])
    if outcomes is None:
        return xp.ones((n, 1), dtype=real(states).dtype, device=device(states))
    shape = tuple(outcomes.shape)
    if len(shape) != 2 or shape[0] != n:
        raise ValueError(f"outcomes must have shape ({n}, K), got {shape}")
    if bool(xp.any(outcomes < 0)):
        raise ValueError("weights of rows must not be negative")
    return outcomes


def check_factor(factor: float) -> None:
    """Refuse a scale that is not a positive number."""
    if not 0 < factor < float("inf"):
        raise ValueError(f"factor must be a positive number, got {factor!r}")


def check_alike(left: Sums, right: Sums) -> None:
    """Refuse to combine states of different shapes."""
    if left.total.shape != right.total.shape:
        raise ValueError(
            "states of different shapes do not combine: the totals are "
            f"{tuple(left.total.shape)} and {tuple(right.total.shape)}"
        )
