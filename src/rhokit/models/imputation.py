"""Missing values of rows, filled in from those that are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.features.cell_rows import CellRows
from rhokit.models.column_distribution import NumberDistribution, distribution_of
from rhokit.models.gaps import kept_columns
from rhokit.models.model import Model
from rhokit.models.sampling import draw_wide

Floats = NDArray[np.float64]

# Cells that a row belongs to for less than this do not count for its expectations.
_LEAST_SHARE = 1e-4
# Nodes of Gauss and Hermite, with which expectations of bent columns are integrals.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)


@dataclass(frozen=True, eq=False)
class Filled:
    """Rows without gaps.

    Parameters
    ----------
    rows : array of shape (n, w)
        Wide ones, in the user's units.
    spread : array of shape (n, d)
        Standard deviations of numbers that were filled in; of categories, the
        probability of another one; zero of what was there.
    """

    rows: Floats
    spread: Floats


def fill_gaps(model: Model, rows: NDArray[Any], rng: Any = None) -> Filled:
    """Rows (n, w) whose gaps are filled in, given what each of them has.

    With expectations of numbers and the likeliest category; or, with a generator, with
    values drawn together from what is likely.
    """
    columns = model.plan.columns
    filled = Filled(rows.astype(np.float64), np.zeros((len(rows), columns.n_features)))
    patterns, which = kept_columns(columns, rows)
    for index, kept in enumerate(patterns):
        if len(kept) < columns.n_features:
            mine = np.flatnonzero(which == index)
            part = _fill(model, filled.rows[mine], kept, rng)
            filled.rows[mine], filled.spread[mine] = part.rows, part.spread
    return filled


def _fill(model: Model, rows: Floats, kept: list[int], rng: Any) -> Filled:
    if model.plan.representation == "mosaic":
        return _CellGaps(model, kept).filled(rows, rng)
    return _fill_one_by_one(model, rows, kept, rng)


# ---- by conditional models -----------------------------------------------------------


def _fill_one_by_one(model: Model, rows: Floats, kept: list[int], rng: Any) -> Filled:
    """Rows that have the same columns, by the model that is conditional on each."""
    columns = model.plan.columns
    spread = np.zeros((len(rows), columns.n_features))
    gone = [c for c in range(columns.n_features) if c not in kept]
    for i, row in enumerate(rows):
        given = {c: row[columns.places([c])] for c in kept}
        part = model.conditional(given) if given else model
        places = columns.places(gone)
        if rng is not None:
            row[places] = draw_wide(part, 1, rng)[0]
        for place, column in enumerate(gone):
            own = columns.places([column])
            value, spread[i, column] = _expectation(part, place)
            if rng is None:
                row[own] = value
    return Filled(rows, spread)


def _expectation(model: Model, column: int) -> tuple[Any, float]:
    """What to expect of a column as wide rows have it, and how far off it may be."""
    alone = model if model.plan.columns.n_features == 1 else model.marginal([column])
    found = distribution_of(alone)
    if isinstance(found, NumberDistribution):
        return found.mean, found.std
    assert alone.plan.columns.schema is not None
    likeliest = int(found.probabilities.argmax())
    state = alone.plan.columns.schema.states(0)[likeliest]
    return state, 1 - float(found.probabilities[likeliest])


# ---- of a mosaic, all rows at once ---------------------------------------------------


class _CellGaps:
    """Cells of a mosaic, given some of the columns.

    Parameters
    ----------
    model : Model
    kept : list of int
        The columns that rows have.
    """

    def __init__(self, model: Model, kept: list[int]) -> None:
        plan, self.model = model.plan, model
        self.mosaic: Any = plan.feature_map
        gone = [c for c in range(plan.columns.n_features) if c not in kept]
        representation: Any = model.representation
        self.mixture = representation.mixture(model.state, model.probabilities)
        self.kept, self.gone = kept, gone
        self.given, self.given_shares = self.mosaic.places(kept)
        self.numbers, self.shares = self.mosaic.places(gone)

    def filled(self, rows: Floats, rng: Any) -> Filled:
        """Rows (n, w) that have these columns, and lack the others."""
        plan = self.model.plan
        columns, schema = plan.columns, plan.columns.schema
        lacking = columns.places(self.gone)
        scaled = plan.scale(np.where(np.isnan(rows), 0.0, rows))
        seen = self.mosaic.columns(scaled)[0]
        d = self.mosaic.n_numbers
        z = seen[:, 1 : d + 1][:, self.given]
        onehot = seen[:, d + 1 :][:, self.given_shares]
        belongs = self._memberships(z, onehot)
        spread = np.zeros((len(rows), columns.n_features))
        made = scaled.copy()
        if rng is None:
            numbers, deviations = self._moments(z, belongs)
        else:
            cell = (rng.random(len(rows))[:, None] > np.cumsum(belongs, axis=1)).sum(1)
            cell = np.minimum(cell, belongs.shape[1] - 1)
            numbers = self._drawn(z, cell, rng)
            _, deviations = self._moments(z, belongs)
            belongs = np.eye(belongs.shape[1])[cell]
        kinds = [c for c in self.gone if columns.categories[c] is None]
        starts = columns.starts
        made[:, starts[kinds]] = numbers
        spread[:, kinds] = deviations / plan.scaling.matrix[starts[kinds]]
        if schema is not None:
            self._choose_categories(made, spread, belongs, rng)
        done = np.array(rows)
        back = self.model.representation.placed(made) if rng is not None else None
        whole = plan.scaling.invert(made) if back is None else back
        done[:, lacking] = whole[:, lacking]
        return Filled(done, spread)

    def _memberships(self, z: Floats, onehot: Floats) -> Floats:
        """How much rows belong to cells, given what they have, shape (n, C)."""
        part = self.mixture.part(self.given, self.given_shares)
        features = np.column_stack([np.ones(len(z)), z, onehot])
        logs = CellRows(features, len(self.given)).values(part.coefficients())
        logs -= logs.max(axis=1, keepdims=True)
        np.exp(logs, out=logs)
        return np.asarray(logs / logs.sum(axis=1, keepdims=True))

    def _cell(self, c: int, z: Floats) -> tuple[Floats, Floats]:
        """Means (n, r) and covariance (r, r) of missing numbers in a cell."""
        mixture, given, rest = self.mixture, self.given, self.numbers
        mean, covariance = mixture.mean[c], mixture.covariance[c]
        cross = covariance[np.ix_(given, rest)]
        gain = np.linalg.solve(covariance[np.ix_(given, given)], cross)
        left = covariance[np.ix_(rest, rest)] - cross.T @ gain
        return mean[rest] + (z - mean[given]) @ gain, (left + left.T) / 2

    def _moments(self, z: Floats, belongs: Floats) -> tuple[Floats, Floats]:
        """Means and standard deviations (n, r) of missing numbers, in scaled units."""
        first, second = np.zeros((2, len(z), len(self.numbers)))
        whole = np.zeros(len(z))
        for c in range(belongs.shape[1] if self.numbers else 0):
            some = np.flatnonzero(belongs[:, c] > _LEAST_SHARE)
            if not len(some):
                continue
            share = belongs[some, c]
            means, covariance = self._cell(c, z[some])
            width = np.sqrt(np.maximum(np.diag(covariance), 0))
            whole[some] += share
            for k, j in enumerate(self.numbers):
                nodes = means[:, k, None] + width[k] * _NODES
                x = self.mosaic.shapes_.invert_column(j, nodes.ravel())
                x = x.reshape(nodes.shape)
                weights = _WEIGHTS / _WEIGHTS.sum()
                first[some, k] += share * (x @ weights)
                second[some, k] += share * (x**2 @ weights)
        first /= np.maximum(whole, 1e-300)[:, None]
        second /= np.maximum(whole, 1e-300)[:, None]
        return first, np.sqrt(np.maximum(second - first**2, 0))

    def _drawn(self, z: Floats, cell: NDArray[Any], rng: Any) -> Floats:
        """Missing numbers (n, r) of rows that were sent to cells, in scaled units."""
        bent = np.zeros((len(z), self.mixture.d))
        noise = rng.normal(size=(len(z), len(self.numbers)))
        for c in np.unique(cell) if self.numbers else ():
            own = cell == c
            means, covariance = self._cell(int(c), z[own])
            values, vectors = np.linalg.eigh(covariance)
            root = vectors * np.sqrt(np.maximum(values, 0))
            bent[np.ix_(own, self.numbers)] = means + noise[own] @ root.T
        return np.asarray(self.mosaic.shapes_.invert(bent)[:, self.numbers])

    def _choose_categories(
        self, made: Floats, spread: Floats, belongs: Floats, rng: Any
    ) -> None:
        """Fill in missing categories (in place), of rows that belong to cells."""
        schema = self.model.plan.columns.schema
        assert schema is not None
        for column in schema.category_columns():
            if column not in self.gone:
                continue
            _, places = self.mosaic.places([column])
            shares = belongs @ np.exp(self.mixture.log_shares[:, places])
            codes = shares.argmax(axis=1)
            if rng is not None:
                reached = np.cumsum(shares, axis=1)[:, :-1]
                reached /= shares.sum(axis=1, keepdims=True)
                codes = (rng.random(len(made))[:, None] > reached).sum(axis=1)
            spread[:, column] = 1 - shares[np.arange(len(made)), codes]
            made[:, schema.blocks[column]] = schema.states(column)[codes]
