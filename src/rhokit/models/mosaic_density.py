"""The density of a mosaic, with what follows from its cells in closed form."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Columns
from rhokit.features.cells import CellMixture
from rhokit.features.shapes import ColumnShapes
from rhokit.models.model import Model
from rhokit.plans import Scaling

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MosaicDensity:
    r"""A mixture of cells, each normal in bent columns: :math:`f = \sum_c \pi_c f_c`.

    A fitted mosaic hands it out (:meth:`rhokit.DMKDE.mosaic`). Columns of categories
    are not part of its moments.

    Parameters
    ----------
    mixture : CellMixture
        In bent and scaled units.
    shapes : ColumnShapes
    scaling : Scaling
        Of the columns of numbers.
    columns : Columns

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([1, 2, 3], [[2, 1, 0], [1, 2, 0], [0, 0, 1]], 4000)
    >>> mosaic = DMKDE(random_state=0).fit(X).mosaic()
    >>> mosaic.mean().round(1)
    array([1., 2., 3.])
    >>> mosaic.covariance().round()[:2] + 0
    array([[2., 1., 0.],
           [1., 2., 0.]])
    """

    mixture: CellMixture
    shapes: ColumnShapes
    scaling: Scaling
    columns: Columns

    @classmethod
    def of(cls, model: Model) -> "MosaicDensity":
        """The density of a model, whatever its outcome."""
        if model.plan.representation != "mosaic":
            raise ValueError(
                "mosaic: this model is none, its map is "
                f'{model.plan.feature_map!r}: fit with feature_map="mosaic"'
            )
        representation: Any = model.representation
        mixture = representation.mixture(model.state, model.probabilities)
        plan, schema = model.plan, model.plan.columns.schema
        scaling = plan.scaling
        if schema is not None:
            numbers = np.flatnonzero(schema.is_number).tolist()
            scaling = scaling.marginal(numbers)
        mosaic: Any = plan.feature_map
        return cls(mixture, mosaic.shapes_, scaling, plan.columns)

    @property
    def weights(self) -> Floats:
        """Of the cells, shape (C,)."""
        return np.exp(self.mixture.log_weight)

    @property
    def centres(self) -> Floats:
        """Of the cells, in the user's units, shape (C, d)."""
        return self.scaling.invert(self.shapes.invert(self.mixture.mean))

    def outlines(self, n: int = 64, radius: float = 1.0) -> Floats:
        """Ellipses of the cells of two columns, in the user's units, shape (C, n, 2).

        Bent columns bend them, too.

        Parameters
        ----------
        n : int, default=64
            Points of each.
        radius : float, default=1.0
            In standard deviations.
        """
        if self.mixture.d != 2:
            raise ValueError(
                f"outlines: cells of two columns have ellipses, these have "
                f"{self.mixture.d}: take marginal() of two first"
            )
        angles = np.linspace(0, 2 * np.pi, n)
        circle = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        roots = np.linalg.cholesky(self.mixture.covariance)
        z = self.mixture.mean[:, None] + circle @ roots.transpose(0, 2, 1)
        flat = self.scaling.invert(self.shapes.invert(z.reshape(-1, 2)))
        return flat.reshape(z.shape)

    # ---- moments --------------------------------------------------------------------

    def mean(self) -> Floats:
        """Expectation of every column, shape (d,)."""
        return self.scaling.invert(self._first()[None])[0]

    def covariance(self) -> Floats:
        """Covariance of the columns, shape (d, d)."""
        first = self._first()
        back = 1 / self.scaling.matrix
        return (self._second() - np.outer(first, first)) * np.outer(back, back)

    def _first(self) -> Floats:
        """Means in scaled units."""
        values = [
            sum(a * self._expectation({j: t}) for a, t in terms) + line
            for j, (terms, line) in enumerate(
                zip(self._terms(), self._lines(), strict=True)
            )
        ]
        return np.array([self.weights @ each for each in values])

    def _lines(self) -> list[Any]:
        """What of each column is linear in its cell: its mean (C,), or an offset."""
        shapes, mean = self.shapes, self.mixture.mean
        return [
            shapes.origin[j]
            if kind
            else shapes.centre[j] + shapes.width[j] * mean[:, j]
            for j, kind in enumerate(shapes.kind)
        ]

    def _terms(self) -> list[list[tuple[float, float]]]:
        """Factors and rates of the exponentials that bent columns are."""
        return [list(zip(a, t, strict=True)) for a, t in self.shapes.exponentials()]

    def _expectation(self, rates: dict[int, float]) -> Floats:
        """``E exp(Σ_j t_j z_j)`` in every cell, shape (C,)."""
        places, t = list(rates), np.array(list(rates.values()))
        mean = self.mixture.mean[:, places] @ t
        covariance = self.mixture.covariance[:, places][:, :, places]
        with np.errstate(over="ignore"):
            return np.exp(mean + np.einsum("i,cij,j->c", t, covariance, t) / 2)

    def _second(self) -> Floats:
        """Means of products in scaled units, shape (d, d)."""
        terms, lines, width = self._terms(), self._lines(), self.shapes.width
        covariance, d = self.mixture.covariance, self.mixture.d
        is_bent = self.shapes.kind > 0
        found = np.empty((d, d))
        for i in range(d):
            for j in range(i, d):
                value = lines[i] * lines[j] + np.zeros(len(covariance))
                if not is_bent[i] and not is_bent[j]:
                    value = value + width[i] * width[j] * covariance[:, i, j]
                for one, other in ((i, j), (j, i)):
                    for a, t in terms[other]:
                        # A line moves with its neighbour, which is weighed by exp.
                        moved = (
                            0
                            if is_bent[one]
                            else width[one] * t * covariance[:, one, other]
                        )
                        value = value + a * (lines[one] + moved) * self._expectation(
                            {other: t}
                        )
                for a, s in terms[i]:
                    for b, t in terms[j]:
                        rates = {i: s, j: t} if i != j else {i: s + t}
                        value = value + a * b * self._expectation(rates)
                found[i, j] = found[j, i] = self.weights @ value
        return found

    # ---- one column -----------------------------------------------------------------

    def cdf(self, x: Any) -> Floats:
        """Probability of values up to x, of a mosaic of one column.

        Parameters
        ----------
        x : array-like of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> X = np.random.default_rng(0).lognormal(size=(3000, 3))
        >>> model = DMKDE(random_state=0).fit(X).marginal(0)
        >>> model.mosaic().cdf([0.4, 1.0, 2.5]).round(1)
        array([0.2, 0.5, 0.8])
        >>> model.mosaic().quantile([0.5]).round(1)
        array([1.])
        """
        self._refuse_columns("cdf")
        rows = np.atleast_1d(np.asarray(x, dtype=float))[:, None]
        scaled = self.scaling.apply(rows)
        z, _ = self.shapes.apply(scaled)
        reached = self.mixture.cdf(0, z[:, 0])
        return np.where(self.shapes.outside(scaled)[:, 0], 0.0, reached)

    def quantile(self, q: Any) -> Floats:
        """Values below which probabilities (n,) lie, of a mosaic of one column."""
        self._refuse_columns("quantile")
        levels = np.atleast_1d(np.asarray(q, dtype=float))
        if not ((levels >= 0) & (levels <= 1)).all():
            raise ValueError(f"q must be probabilities from 0 to 1, got {q!r}")
        z = self.mixture.quantiles(0, levels)
        return self.scaling.invert(self.shapes.invert(z[:, None]))[:, 0]

    def _refuse_columns(self, what: str) -> None:
        if self.mixture.d != 1 or self.columns.n_features != 1:
            raise ValueError(
                f"{what}: for a mosaic of one column of numbers, this one has "
                f"{self.columns.n_features} columns: take marginal(column) or "
                "conditional(...) first"
            )
