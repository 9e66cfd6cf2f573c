"""Prototypes for classes: which rows they are, and the metric that they are near in."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhokit.features.links import LEAST_VALUE, fitted_softmax
from rhokit.features.prototypes import Prototypes, placed_by
from rhokit.plans import Scaling

Floats = NDArray[np.float64]

# Prototypes for every landmark that may be, and how many numbers they have together.
_PER_LANDMARK, _MOST_NUMBERS = 8, 2**20
# A metric is chosen by so many rows, prototypes and rows left out.
_MOST_ROWS, _MOST_TRIED, _MOST_JUDGES = 2**13, 2**11, 2**10
# What is known inside classes is known from the rows' own labels: so there must be so
# many rows for every column, and no more columns than these.
_ROWS_PER_COLUMN, _MOST_COLUMNS = 50, 256
# γ in units of one over the median of the squared distances, then about the best one.
_COARSE, _FINE = 4.0 ** np.arange(0, 5), 2.0 ** np.array([-1, 1])
# So much of a row's weight is told of rows far from all prototypes.
_FLOOR = 1e-3


@dataclass(frozen=True, eq=False)
class PrototypeChoice:
    """Chooses a metric and a width in which near rows have the same class.

    Parameters
    ----------
    rows : array of shape (n, d)
        In the user's units.
    truth : array of shape (n, K)
    mass : array of shape (n,)
    kinds : array of shape (k,)
        Places of rows that differ; the first ones are a sample.
    scaling : Scaling
        Of the blend.
    is_number : array of shape (d,), bool, optional
    has_own_units : bool
        Whether the columns' own units may have a say.
    """

    rows: NDArray[np.floating]
    truth: Floats
    mass: Floats
    kinds: NDArray[np.intp]
    scaling: Scaling
    is_number: NDArray[np.bool_] | None
    has_own_units: bool

    def run(self, n_landmarks: int) -> Prototypes:
        """The prototypes whose posteriors tell rows left out best."""
        most = min(_PER_LANDMARK * n_landmarks, _MOST_NUMBERS // self.rows.shape[1])
        scaled = self.scaling.apply(self.rows[self.kinds[: max(most, _MOST_ROWS)]])
        first = min(most, _MOST_TRIED)
        tried = [self._judged(own, scaled, first) for own in self._matrices()]
        matrix = min(tried, key=lambda pair: pair[0])[1]
        return self._made(matrix, scaled[:most])

    def _made(self, matrix: Floats, scaled: NDArray[np.floating]) -> Prototypes:
        """Prototypes that are rows scaled by the blend."""
        points = placed_by(matrix, scaled.astype(np.float64, copy=False))
        share = float(1 / len(self.kinds))
        return Prototypes(matrix, points.astype(scaled.dtype), _FLOOR * share)

    def _matrices(self) -> Iterator[Floats]:
        """Metrics, as matrices of rows that the blend has scaled."""
        yield np.ones(self.rows.shape[1])
        rules = ["std", *(["common"] if self.has_own_units else [])]
        d, groups = self.rows.shape[1], self.truth.argmax(axis=1)
        if 1 < d <= _MOST_COLUMNS and len(self.kinds) >= _ROWS_PER_COLUMN * d:
            rules.append("within")
        some = self.kinds[:_MOST_ROWS]
        known = self.rows[some], self.mass[some], groups[some]
        for rule in rules:
            own = Scaling.from_rows(rule, *known, is_number=self.is_number).matrix
            back = 1 / self.scaling.matrix
            yield own * back if own.ndim == 1 else back[:, None] * own

    def _judged(
        self, matrix: Floats, scaled: NDArray[np.floating], count: int
    ) -> tuple[float, Floats]:
        """The least log-loss in a metric, and the metric times its width."""
        places = self.kinds[: min(len(scaled), _MOST_ROWS)]
        truth, mass = self.truth[places], self.mass[places]
        counted = truth * mass[:, None]
        made = self._made(matrix, scaled[:count])
        nearest = made.nearest(scaled[: len(places)])
        sums = np.zeros((len(made), truth.shape[1]))
        np.add.at(sums, nearest, counted)
        # Of many rows those judge that are no prototypes.
        judges = np.arange(len(places))[-_MOST_JUDGES:]
        squares = _squares(made, matrix, scaled[judges])
        own = nearest[judges]
        floor = made.floor * counted.sum(axis=0)

        def loss(gamma: float) -> float:
            kernel = np.exp(-gamma * squares)
            near = kernel @ sums
            itself = kernel[np.arange(len(judges)), own]
            near -= itself[:, None] * counted[judges]
            logs = np.log(np.maximum(np.maximum(near, 0) + floor, LEAST_VALUE))
            return fitted_softmax([logs], [1.0], truth[judges], mass[judges])[1]

        median = float(np.median(squares[::8])) or 1.0
        gammas = (_COARSE / median).tolist()
        losses = [loss(gamma) for gamma in gammas]
        best = gammas[int(np.argmin(losses))]
        around = (best * _FINE).tolist()
        found = [*zip(losses, gammas, strict=True)]
        found += [(loss(gamma), gamma) for gamma in around]
        least, gamma = min(found)
        return least, matrix * np.sqrt(gamma)


def _squares(
    made: Prototypes, matrix: Floats, scaled: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Squared distances (n, P) of rows and prototypes."""
    middle = made.points.mean(axis=0)
    rows = (placed_by(matrix, scaled.astype(np.float64, copy=False)) - middle).astype(
        np.float32
    )
    points = (made.points - middle).astype(np.float32)
    lengths = np.vecdot(rows, rows)[:, None] + np.vecdot(points, points)
    return np.asarray(np.maximum(lengths - 2 * (rows @ points.T), 0))
