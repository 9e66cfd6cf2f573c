"""A density of one to three columns as a Fourier series, in the user's units."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from rhokit.batch import Columns
from rhokit.models.mass import log_excess
from rhokit.models.model import Model
from rhokit.plans import Scaling
from rhokit.representations import FourierDensity
from rhokit.validation import check_rows, check_share, generator

Floats = NDArray[np.float64]
# What is measured at this many times the error is right to a tenth.
_TENFOLD = 10
_MOST_COLUMNS = 3


@dataclass(frozen=True, eq=False)
class DensitySeries:
    """Distribution functions, quantiles, parts, moments and shape of a density.

    Handed out by :meth:`rhokit.DMKDE.series`, for models of one to three columns of
    numbers and for such marginals of any other. Answers in closed form, in the user's
    units.

    Parameters
    ----------
    scaled : FourierDensity
        Of scaled rows.
    scaling : Scaling
    columns : Columns
    box : pair of arrays of shape (d,)
        Outside of which the scaled density is zero.
    kernel_log_mass : float
        Of one column, by which a density there is measured against a single row.
    log_floor : float
        Logarithm of the smallest measured value that is told from zero.
    weight : float
        Of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> series = DMKDE(gamma="scott", random_state=0).fit(X[:, :1]).series()
    >>> series.quantile([0.025, 0.5, 0.975]).round() + 0
    array([-2.,  0.,  2.])
    """

    scaled: FourierDensity
    scaling: Scaling
    columns: Columns
    box: tuple[Floats, Floats]
    kernel_log_mass: float
    log_floor: float
    weight: float

    def _rows(self, X: Any) -> Floats:
        """Checked rows in scaled units."""
        rows = check_rows(_Density(self.columns), X, reset=False, dtype=np.float64)
        return np.asarray(self.scaling.apply(rows))

    def _refuse_mixed(self, answer: str) -> None:
        if not self.scaling.by_columns:
            raise ValueError(
                f"{answer} needs columns that are scaled one by one, which "
                "scale='whiten' does not do: take scale='std' or 'robust'"
            )

    # ---- densities ------------------------------------------------------------------

    def density(self, X: Any) -> Floats:
        """Density at each row, shape (n,)."""
        rows = self._rows(X)
        low, high = self.box
        inside = ((rows >= low) & (rows <= high)).all(axis=1)
        values = np.where(inside, self.scaled.values(rows), 0.0)
        return self._in_units(values)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Rows drawn by inverse distribution functions, one column after the other."""
        scaled = self.scaled.sample(n_samples, generator(random_state))
        return self.scaling.invert(scaled)

    def on_axes(self, axes: list[Floats]) -> Floats:
        """Density at all points of a regular grid, the last column's values first."""
        self._refuse_mixed("on_axes")
        scaled = [
            self.scaling.marginal([place]).apply(np.asarray(values, float)[:, None])
            for place, values in enumerate(axes)
        ]
        return self._in_units(self.scaled.on_axes([each[:, 0] for each in scaled]).T)

    def _in_units(self, values: Floats) -> Floats:
        """A density of scaled rows in the user's units, in which it may be infinite."""
        with np.errstate(over="ignore", under="ignore"):
            volume = np.exp(self.scaling.log_volume)
            return np.where(values > 0, values, 0) * np.where(values > 0, volume, 1)

    # ---- probabilities --------------------------------------------------------------

    def cdf(self, X: Any) -> Floats:
        r"""Probability of values at or below each row, in all columns, shape (n,).

        .. math:: F(x) = \int_{-\infty}^{x} \hat f = \sum_l c_l
                  \int_{-\pi}^{\theta(x)} e^{-il\theta}\, d\theta

        Parameters
        ----------
        X : array-like of shape (n, d)

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> X = np.random.default_rng(0).normal(size=(2000, 1))
        >>> DMKDE(random_state=0).fit(X).series().cdf([[-1.96], [0], [1.96]]).round(2)
        array([0.03, 0.51, 0.98])
        """
        self._refuse_mixed("cdf")
        rows = self._rows(X)
        return self.scaled.box_probability(np.full_like(rows, -np.inf), rows)

    def quantile(self, q: Any) -> Any:
        """Values of a single column below which it lies with given probabilities.

        Parameters
        ----------
        q : float or array-like, in [0, 1]

        Returns
        -------
        values : float or array, of the shape of ``q``
        """
        if self.columns.n_features != 1:
            raise ValueError(
                "quantile is of one column, this density has "
                f"{self.columns.n_features}: take marginal() or conditional() first"
            )
        levels = np.asarray(q, dtype=float)
        if not ((levels >= 0) & (levels <= 1)).all():
            raise ValueError(f"q must lie between 0 and 1, got {q!r}")
        flat, (low, high) = levels.ravel(), (float(end[0]) for end in self.box)
        found = np.clip(self.scaled.quantile(flat), low, high)
        found = np.where(flat == 0, low, np.where(flat == 1, high, found))
        values = self.scaling.invert(found[:, None]).reshape(levels.shape)
        return values if levels.ndim else float(values)

    def box_probability(self, low: Any, high: Any) -> Any:
        """Probability of boxes, shape (n,).

        Parameters
        ----------
        low, high : array-like of shape (d,) or (n, d), or numbers for one column
            Corners; ``-inf`` and ``inf`` are allowed.

        Returns
        -------
        probability : float, or array of shape (n,)
        """
        self._refuse_mixed("box_probability")
        corners = [np.asarray(each, dtype=float) for each in (low, high)]
        boxes = _boxes(corners[0], corners[1], self.columns.n_features)
        ends = [self.scaling.apply(each) for each in boxes]
        found = self.scaled.box_probability(*ends)
        return found if any(each.ndim == 2 for each in corners) else float(found[0])

    # ---- parts ----------------------------------------------------------------------

    def marginal(self, columns: Any) -> "DensitySeries":
        """The density of some of the columns, by place or name."""
        self._refuse_mixed("marginal")
        kept = sorted(self.columns.find("columns", columns))
        return self._part(self.scaled.marginal(kept), kept, self.weight)

    def conditional(self, given: Mapping[Any, float]) -> "DensitySeries":
        """The density of the other columns where some have given values.

        Each row counts for as much as the kernel says it has these values; the
        weight is what they add up to.

        Parameters
        ----------
        given : dict
            Values by the places or names of their columns.

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> x, noise = np.random.default_rng(0).normal(size=(2, 2000))
        >>> model = DMKDE(random_state=0).fit(np.column_stack([x, 3 * x + noise]))
        >>> model.series().conditional({0: 1.0}).mean().round()
        array([3.])
        """
        axes = self.columns.find("given", list(given))
        self._refuse_mixed("conditional")
        kept = [i for i in range(self.columns.n_features) if i not in axes]
        if not kept:
            raise ValueError("given must leave at least one column")
        values = np.array([float(value) for value in given.values()])
        scaled = self.scaling.marginal(axes).apply(values[None])[0]
        low, high = (end[axes] for end in self.box)
        share = 0.0
        if ((scaled >= low) & (scaled <= high)).all():
            part = self.scaled.sliced(dict(zip(axes, scaled.tolist(), strict=True)))
            # In kernel units, in which one row right there counts one.
            share = part.mass * math.exp(self.kernel_log_mass * len(axes))
        if not share > self._least_answered:
            raise ValueError(
                f"conditional: the density is zero at {dict(given)!r}, nothing is "
                "known there"
            )
        whole = part.scaled_to(1.0)
        return self._part(whole, kept, self.weight * share)

    def _part(
        self, density: FourierDensity, kept: list[int], weight: float
    ) -> "DensitySeries":
        low, high = (end[kept] for end in self.box)
        return DensitySeries(
            density,
            self.scaling.marginal(kept),
            self.columns.part(kept),
            (low, high),
            self.kernel_log_mass,
            self.log_floor,
            weight,
        )

    # ---- moments --------------------------------------------------------------------

    def mean(self) -> Floats:
        """Mean of the density, shape (d,)."""
        mean, _ = self.scaled.mean_and_covariance()
        return self.scaling.invert(mean[None])[0]

    def covariance(self) -> Floats:
        """Covariance of the density, shape (d, d): the rows' plus the kernel's."""
        _, covariance = self.scaled.mean_and_covariance()
        back = self.scaling.inverse
        return np.asarray(back.T @ covariance @ back)

    def moment(self, order: int) -> Floats:
        """Mean of the order-th power of every column, shape (d,)."""
        if isinstance(order, bool) or not isinstance(order, Integral) or order < 0:
            raise ValueError(f"order must be an integer >= 0, got {order!r}")
        self._refuse_mixed("moment")
        # A column is a + bθ.
        a = self.scaling.invert(self.scaled.middle[None])[0]
        b = self.scaled.period / (2 * math.pi) / self.scaling.matrix
        moments = self.scaled.angle_moments(order)
        terms = [
            math.comb(order, k) * a ** (order - k) * b**k * moments[:, k]
            for k in range(order + 1)
        ]
        return np.asarray(np.sum(terms, axis=0))

    # ---- shape ----------------------------------------------------------------------

    def entropy(self) -> float:
        """Differential entropy of the density in nats, by quadrature."""
        return self.scaled.entropy() - self.scaling.log_volume

    def log_density_gradient(self, X: Any) -> Floats:
        r"""Gradient :math:`\nabla\log\hat f` at each row, shape (n, d).

        NaN where the density is zero or below its error.

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> X = np.random.default_rng(0).normal(size=(2000, 1))
        >>> series = DMKDE(gamma="scott").fit(X).series()
        >>> series.log_density_gradient([[-1.0], [1.0]]).round()[:, 0]
        array([ 1., -1.])
        """
        rows = self._rows(X)
        value, slope = self.scaled.gradient(rows)
        d, (low, high) = self.columns.n_features, self.box
        least = self._least_answered * math.exp(-self.kernel_log_mass * d)
        inside = ((rows >= low) & (rows <= high)).all(axis=1)
        seen = inside & (value > least)
        gradient = slope / np.where(seen, value, np.nan)[:, None]
        matrix = self.scaling.matrix
        return np.asarray(
            gradient * matrix if matrix.ndim == 1 else gradient @ matrix.T
        )

    def modes(self, least: float = 1e-3) -> Floats:
        """Local maxima of the density, the highest first, shape (m, d).

        Parameters
        ----------
        least : float, default=1e-3
            Leave out those below this share of the highest.

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> rows = np.random.default_rng(0).normal([0, 6], size=(1000, 2))
        >>> series = DMKDE(gamma="scott").fit(rows.reshape(-1, 1)).series()
        >>> np.sort(series.modes()[:, 0]).round() + 0
        array([0., 6.])
        """
        check_share("least", least)
        return self.scaling.invert(self.scaled.modes(least))

    @property
    def _least_answered(self) -> float:
        """Bound below which a value is too uncertain for ratios."""
        return _TENFOLD * math.exp(self.log_floor)


def series_of(model: Model) -> DensitySeries:
    """The density of a model of one to three columns of numbers as a series."""
    model = model.inputs() or model
    plan = model.plan
    d, scaling = plan.columns.n_features, plan.scaling
    if plan.representation == "mosaic":
        raise ValueError(
            "series: a mosaic is no Fourier series. mosaic() has its moments, "
            "distribution functions and quantiles; or fit the columns that you want, "
            'or with feature_map="landmarks"'
        )
    if plan.columns.schema is not None or plan.gamma is None or d > _MOST_COLUMNS:
        raise ValueError(
            "series: a Fourier series is of one to three columns of numbers, this "
            f"model has {d} columns{'' if plan.gamma else ' of discrete values'}"
            f"{' and categories' if plan.columns.schema else ''}: take "
            "marginal(columns) of some numbers first"
        )
    grid, density = model.representation.series(
        model.state, model.rank, model.probabilities
    )
    density = density.scaled_to(density.mass * math.exp(-log_excess(model)))
    if d == 1 and not scaling.by_columns:
        scaling = Scaling(scaling.centre, scaling.matrix[0])
    return DensitySeries(
        density,
        scaling,
        plan.columns,
        grid.box(),
        grid.log_mass() / d,
        grid.log_floor_,
        model.total_weight,
    )


class _Density(BaseEstimator):
    """Columns under the names by which scikit-learn compares them."""

    def __init__(self, columns: Columns) -> None:
        columns.give_to(self)


def _boxes(low: Floats, high: Floats, d: int) -> tuple[Floats, Floats]:
    """Corners of boxes, both of shape (n, d)."""
    shapes = low.shape, high.shape
    try:
        low, high = np.broadcast_arrays(np.atleast_2d(low), np.atleast_2d(high))
    except ValueError:
        low = np.empty((0, 0, 0))
    if low.ndim != 2 or low.shape[1] != d or np.isnan([low, high]).any():
        raise ValueError(
            f"low and high must be numbers of shape ({d},) or (n, {d}), got shapes "
            f"{shapes[0]} and {shapes[1]}"
        )
    if (low > high).any():
        raise ValueError("low must not exceed high")
    return low, high
