"""The distribution of one column, of numbers or of categories, given others or not."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Columns
from rhokit.column_support import ColumnSupport
from rhokit.models.density_series import series_of
from rhokit.models.model import Model
from rhokit.models.mosaic_density import MosaicDensity

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]

# Levels between which the mode is looked for, and how often about the best of them.
_LEVELS, _ROUNDS = 513, 6


@dataclass(frozen=True, eq=False)
class NumberDistribution:
    """What a column of numbers is likely to be.

    Parameters
    ----------
    density, below, at_level : callable
        Density, probability of values up to some, and values of such probabilities,
        from arrays (n,) to arrays (n,).
    mean, std : float
    support : ColumnSupport, optional
        The values that the column takes.
    """

    density: Function
    below: Function
    at_level: Function
    mean: float
    std: float
    support: ColumnSupport | None = None

    def cdf(self, x: Any) -> Any:
        """Probability of values up to x, of the shape of x.

        Of a column that takes few values, of those up to x.
        """
        values = np.asarray(x, dtype=float)
        flat = values.ravel()
        if self._values is not None:
            place = np.searchsorted(self._values, flat, side="right")
            found = np.append(0.0, np.cumsum(self._shares))[place]
        else:
            found = np.clip(self.below(flat), 0, 1)
        return _shaped(found, values)

    def quantile(self, q: Any) -> Any:
        """Values up to which probabilities lie, of the shape of q."""
        levels = _levels(q)
        found = self.at_level(levels.ravel())
        if self.support is not None:
            found = self.support.settled(found)
        return _shaped(found, levels)

    def mode(self) -> float:
        """The likeliest value, or where the density is highest."""
        if self._values is not None:
            return float(self._values[self._shares.argmax()])
        nodes = self.at_level(np.linspace(0.001, 0.999, _LEVELS))
        for _ in range(_ROUNDS):
            best = int(self.density(nodes).argmax())
            low, high = nodes[max(best - 1, 0)], nodes[min(best + 1, len(nodes) - 1)]
            nodes = np.linspace(low, high, 33)
        found = nodes[[int(self.density(nodes).argmax())]]
        return float(
            (found if self.support is None else self.support.settled(found))[0]
        )

    @cached_property
    def _values(self) -> Floats | None:
        """The values of a column that takes few."""
        if self.support is None or not self.support.is_complete:
            return None
        return np.array(self.support.values)

    @cached_property
    def _shares(self) -> Floats:
        """Probabilities of these: of what lies nearest to each."""
        assert self._values is not None
        middles = (self._values[1:] + self._values[:-1]) / 2
        reached = np.concatenate([[0.0], np.clip(self.below(middles), 0, 1), [1.0]])
        return np.maximum(np.diff(reached), 0)


@dataclass(frozen=True, eq=False)
class CategoryDistribution:
    """What a column of categories is likely to be.

    Parameters
    ----------
    categories : tuple
    probabilities : array of shape (C,)
    unseen : float
        Probability of what is none of them.
    ordered : bool
        Whether categories have an order, and so quantiles.
    """

    categories: tuple[Any, ...]
    probabilities: Floats
    unseen: float
    ordered: bool

    def probability(self, category: Any) -> float:
        """Of a category; that of unseen ones together, for any that is not known."""
        if category in self.categories:
            return float(self.probabilities[self.categories.index(category)])
        return self.unseen

    def mode(self) -> Any:
        """The likeliest category that is known."""
        return self.categories[int(self.probabilities.argmax())]

    def cdf(self, category: Any) -> float:
        """Probability of known categories up to this one, where they have an order."""
        self._refuse_unordered("cdf")
        if category not in self.categories:
            raise ValueError(
                f"cdf: {category!r} is none of the categories {list(self.categories)}"
            )
        return float(self._reached[self.categories.index(category)])

    def quantile(self, q: float) -> Any:
        """The first category up to which probability q lies, where they are ordered."""
        self._refuse_unordered("quantile")
        level = float(_levels(q))
        place = int(np.searchsorted(self._reached, level - 1e-12))
        return self.categories[min(place, len(self.categories) - 1)]

    @property
    def _reached(self) -> Floats:
        return np.cumsum(self.probabilities / self.probabilities.sum())

    def _refuse_unordered(self, what: str) -> None:
        if not self.ordered:
            raise ValueError(
                f"{what}: the categories {list(self.categories)} have no order; they "
                "have probabilities and a mode"
            )


def distribution_of(model: Model) -> NumberDistribution | CategoryDistribution:
    """The distribution of the one column of a model."""
    schema = model.plan.columns.schema
    if schema is not None:
        found = np.exp(model.log_density(schema.outcomes(0)))
        known = schema.categories[0] or ()
        unseen = float(found[len(known) :].sum())
        return CategoryDistribution(
            known, found[: len(known)], unseen, schema.ordered[0]
        )
    supports = model.plan.columns.supports
    answering: Any
    if model.plan.representation == "mosaic":
        answering = MosaicDensity.of(model)
        below, at_level = answering.cdf, answering.quantile
    else:
        answering = replace(series_of(model), columns=Columns(1))  # of arrays
        below, at_level = (lambda x: answering.cdf(x[:, None])), answering.quantile
    return NumberDistribution(
        lambda x: np.exp(model.log_density(_rows(model, x))),
        below,
        at_level,
        float(answering.mean()[0]),
        float(np.sqrt(max(answering.covariance()[0, 0], 0.0))),
        None if supports is None else supports[0],
    )


def _rows(model: Model, x: Floats) -> NDArray[Any]:
    return np.asarray(x, dtype=model.plan.feature_map.dtype_)[:, None]


def _levels(q: Any) -> Floats:
    """Probabilities from zero to one."""
    levels = np.asarray(q, dtype=float)
    if not ((levels >= 0) & (levels <= 1)).all():
        raise ValueError(f"q must be probabilities from 0 to 1, got {q!r}")
    return levels


def _shaped(found: Floats, like: NDArray[Any]) -> Any:
    return found.reshape(like.shape) if like.ndim else float(found[0])
