"""The density of a mosaic, with what follows from its cells in closed form."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Columns
from rhokit.features.cells import CellMixture
from rhokit.features.reading import Reading
from rhokit.features.shapes import ColumnShapes
from rhokit.models.model import Model
from rhokit.plans import Scaling

Floats = NDArray[np.float64]


# Integrals over a normal variable go so far, in pieces of so many nodes: between whole
# numbers up to the first, and between the knots of splines. Terms of expansions; and
# cells that are worked on at once.
_GRID, _REACH, _NODES, _TERMS, _CELLS = 12.0, 16.0, 8, 64, 256


def _nodes(breaks: Floats) -> tuple[Floats, Floats]:
    """Nodes (C, N) of a normal variable, and their weights, by Gauss and Legendre.

    Parameters
    ----------
    breaks : array of shape (C, P)
        Where what is integrated is not smooth.
    """
    grid = np.concatenate([[-_REACH], np.arange(-_GRID, _GRID + 0.5), [_REACH]])
    grid = np.broadcast_to(grid, (len(breaks), len(grid)))
    inner = np.clip(breaks, -_REACH, _REACH)
    ends = np.sort(np.concatenate([grid, inner], axis=1), axis=1)
    at, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(ends, axis=1)[:, :, None] / 2
    nodes = ends[:, :-1, None] + half * (1 + at)
    density = half * weights * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    return nodes.reshape(len(breaks), -1), density.reshape(len(breaks), -1)


def _hermite(x: Floats, nodes: Floats) -> Floats:
    """Sums (C, K) of weighted values at nodes (C, N) times Hermite polynomials."""
    last, before = np.ones_like(nodes), np.zeros_like(nodes)
    sums = np.empty((len(x), _TERMS))
    for k in range(_TERMS):
        sums[:, k] = np.vecdot(x, last)
        last, before = (nodes * last - np.sqrt(k) * before) / np.sqrt(k + 1), last
    return sums


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
    reading : Reading
        How values are read: as whole steps, and within the ends.
    dtype : dtype
        Of the rows that it was fitted to.

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
    reading: Reading
    dtype: np.dtype[Any]

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
        return cls(
            mixture,
            mosaic.shapes_,
            scaling,
            plan.columns,
            mosaic.reading,
            mosaic.dtype_,
        )

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
        expansions, _ = self._expansions()
        return self.weights @ expansions[:, :, 0]

    def _second(self) -> Floats:
        r"""Means of products in scaled units, shape (d, d).

        Of two columns of a cell with correlation r, by Mehler's formula
        :math:`E f g = \sum_k r^k f_k g_k`; of a column with itself as an integral.
        """
        expansions, squares = self._expansions()
        covariance, d = self.mixture.covariance, self.mixture.d
        width = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        found = np.diag(self.weights @ squares)
        order = np.arange(_TERMS)
        for i in range(d):
            for j in range(i):
                r = covariance[:, i, j] / (width[:, i] * width[:, j])
                powers = np.clip(r, -1, 1)[:, None] ** order
                each = (powers * expansions[:, i] * expansions[:, j]).sum(axis=1)
                found[i, j] = found[j, i] = self.weights @ each
        return found

    def _expansions(self) -> tuple[Floats, Floats]:
        """Columns in Hermite polynomials of cells, (C, d, K), and mean squares."""
        mean, covariance = self.mixture.mean, self.mixture.covariance
        width = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        expansions = np.empty((*mean.shape, _TERMS))
        squares = np.empty(mean.shape)
        for j in range(mean.shape[1]):
            breaks = self.shapes.breaks(j)
            for start in range(0, len(mean), _CELLS):
                own = slice(start, start + _CELLS)
                middle, spread = mean[own, j, None], width[own, j, None]
                nodes, weights = _nodes((breaks - middle) / spread)
                z = middle + spread * nodes
                with np.errstate(over="ignore"):
                    x = self.shapes.invert_column(j, z.ravel()).reshape(z.shape)
                    expansions[own, j] = _hermite(x * weights, nodes)
                    squares[own, j] = np.vecdot(x**2, weights)
        return expansions, squares

    # ---- one column -----------------------------------------------------------------

    def cdf(self, x: Any) -> Floats:
        """Probability of values up to x, of a mosaic of one column.

        What lies within half a step of a whole number counts as that number.

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
        scaled = self.reading.reached(self.scaling.apply(rows))
        z, _ = self.shapes.apply(scaled)
        reached = self.mixture.cdf(0, z[:, 0])
        reached = np.where(scaled[:, 0] <= self.shapes.low, 0.0, reached)
        return np.where(scaled[:, 0] >= self.shapes.high, 1.0, reached)

    def quantile(self, q: Any) -> Floats:
        """Values up to which probabilities (n,) lie, of a mosaic of one column."""
        self._refuse_columns("quantile")
        levels = np.atleast_1d(np.asarray(q, dtype=float))
        if not ((levels >= 0) & (levels <= 1)).all():
            raise ValueError(f"q must be probabilities from 0 to 1, got {q!r}")
        z = self.mixture.quantiles([0], levels)
        scaled = self.shapes.invert(z)
        return self.reading.in_units(scaled, self.scaling, self.dtype)[:, 0]

    def _refuse_columns(self, what: str) -> None:
        if self.mixture.d != 1 or self.columns.n_features != 1:
            raise ValueError(
                f"{what}: for a mosaic of one column of numbers, this one has "
                f"{self.columns.n_features} columns: take marginal(column) or "
                "conditional(...) first"
            )
