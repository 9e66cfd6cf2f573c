"""What speaks against rows: several views of how far out they are, as one surprise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.features import row_keys
from rhokit.readouts.distances import Ellipsoid, NearestRows
from rhokit.readouts.tails import Tail

if TYPE_CHECKING:
    from rhokit.models import Model

Floats = NDArray[np.float64]

# Surprises that are infinite, where the density is zero.
_LARGEST = 1e300
# Distances between quantiles of log-densities that are rounding.
_LEAST = 1e-6
# Surprises that differ by no more are equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class DensityView:
    """How small the density of a model is.

    Far from all rows it falls by nats without end, which are taken as the logarithms
    that distances are.

    Parameters
    ----------
    model : Model
    middle, width : float
        Median of the rows, and how far above it their upper quartile is.
    """

    model: Model
    middle: float = 0.0
    width: float = 1.0

    @classmethod
    def of(
        cls, model: Model, sample: Any, is_kept: NDArray[np.bool_]
    ) -> tuple[DensityView, Floats]:
        """The view, and what it has of sampled rows without themselves, (m,)."""
        # A row that came several times vouches for its copies.
        own = np.where(is_kept, np.minimum(sample.weight, 1.0), 0.0)
        lacks = -model.log_density_left_out(replace(sample, weight=own))
        lacks = np.clip(lacks, -_LARGEST, _LARGEST)
        upper, middle = _quantiles(lacks, sample.weight, (0.75, 0.5))
        width = upper - middle if _LEAST < upper - middle < _LARGEST else 1.0
        view = cls(model, middle, width)
        return view, view.bounded(lacks)

    def away(self, rows: NDArray[Any]) -> Floats:
        """Of checked rows (n, w), shape (n,)."""
        return self.bounded(-self.model.log_density(rows))

    def bounded(self, lacks: Floats) -> Floats:
        """Minus log-densities as what grows like the logarithm of a distance."""
        lacks = np.clip(lacks, -_LARGEST, _LARGEST)
        return np.asarray(np.arcsinh((lacks - self.middle) / self.width))


@dataclass(frozen=True, eq=False)
class DistanceView:
    """How far rows are from those of a model, in one of its metrics.

    Parameters
    ----------
    model : Model
    places : list of int
        The numbers of a row that are looked at.
    which : int
        The metric, of those that the representation has.
    measure : NearestRows or Ellipsoid
    """

    model: Model
    places: list[int]
    which: int
    measure: Any

    def away(self, rows: NDArray[Any]) -> Floats:
        """Of checked rows (n, w), shape (n,)."""
        points = self.model.representation.coordinates(rows, self.places)
        return np.asarray(self.measure.away(points[self.which]))


@dataclass(frozen=True, eq=False)
class Evidence:
    """Several views of a model's rows, each as a surprise, and their mean.

    Parameters
    ----------
    views : list of (view, Tail)
    keys : array of shape (m,), uint64, ascending
        Of the rows that are known.
    means : array of shape (m,)
        Mean surprise of each of them, left out.
    tail : Tail
        Of these.
    """

    views: list[tuple[Any, Tail]]
    keys: NDArray[np.uint64]
    means: Floats
    tail: Tail

    @classmethod
    def of(
        cls,
        model: Model,
        sample: Any,
        is_kept: NDArray[np.bool_],
        places: list[int],
        near: float,
    ) -> Evidence:
        """What a model says of sampled rows.

        Parameters
        ----------
        model : Model
        sample : RowSample
            The rows that say how far out others are.
        is_kept : array of shape (m,), bool
            Which of them the model holds.
        places : list of int
            The numbers of a row that are looked at: all, or those that rows have.
        near : float
            Weight of the neighbours that are looked at.
        """
        views, surprises = [], []
        for view, values in _views(model, sample, is_kept, places, near):
            tail = Tail.of(values, sample.weight)
            views.append((view, tail))
            surprises.append(tail.surprise(values))
        means = np.mean(surprises, axis=0)
        return cls(views, sample.keys, means, Tail.of(means, sample.weight))

    def surprise(self, rows: NDArray[Any]) -> Floats:
        """Minus the logarithm of the p-value of checked rows (n, w), shape (n,).

        Rows that are known have been left out.
        """
        means = np.mean([t.surprise(view.away(rows)) for view, t in self.views], axis=0)
        return self.tail.surprise(np.where(*self._known(rows), means))

    def _known(self, rows: NDArray[Any]) -> tuple[NDArray[np.bool_], Floats]:
        """Which rows are known, and what is known of them."""
        keys = row_keys(rows, np.zeros(len(rows)))
        place = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return self.keys[place] == keys, self.means[place]


def _views(
    model: Model,
    sample: Any,
    is_kept: NDArray[np.bool_],
    places: list[int],
    near: float,
) -> Iterator[tuple[Any, Floats]]:
    """Every view, with what it has of sampled rows without themselves (m,)."""
    if len(places) == model.plan.columns.width:
        yield DensityView.of(model, sample, is_kept)
    metrics = model.representation.coordinates(sample.rows, places)
    weights = sample.weight[is_kept]
    measures: list[tuple[int, Any]] = [
        (which, NearestRows(points[is_kept], weights, near))
        for which, points in enumerate(metrics)
    ]
    if metrics:
        last = len(metrics) - 1
        measures.append((last, Ellipsoid(metrics[last][is_kept], weights)))
    for which, measure in measures:
        values = np.empty(len(is_kept))
        values[is_kept] = measure.away_left_out()
        if not is_kept.all():
            values[~is_kept] = measure.away(metrics[which][~is_kept])
        yield DistanceView(model, places, which, measure), values


def cleaned(
    model: Model, sample: Any, surprise: Floats, share: float
) -> tuple[Model, NDArray[np.bool_]]:
    """A model without a share of its most surprising rows, and which are left.

    A sample that holds all rows has these taken out of the state; otherwise what is
    left of the sample is summed up anew.

    Parameters
    ----------
    model : Model
    sample : RowSample
    surprise : array of shape (m,)
        Of the sampled rows.
    share : float
    """
    limit = _quantiles(surprise, sample.weight, (1 - share,))[0]
    is_kept = surprise <= limit + _ROUNDING  # rows that are alike stay together

    def batch(which: NDArray[np.bool_]) -> Batch:
        rows, weights = sample.rows[which], sample.weight[which]
        return Batch(rows, model.plan.columns, None, weights)

    if is_kept.all():
        return model, is_kept
    if sample.bound is None:
        return model.subtract(batch(~is_kept)), is_kept
    return model.blank().add(batch(is_kept)), is_kept


def _quantiles(values: Floats, weights: Floats, levels: Any) -> list[float]:
    """Values that shares of the weight stay below."""
    order = np.argsort(values)
    reached = weights[order].cumsum()
    places = np.searchsorted(reached, np.array(levels) * reached[-1])
    return [float(v) for v in values[order][places.clip(max=len(order) - 1)]]
