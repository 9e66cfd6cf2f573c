"""What a density on a grid answers in closed form, in the user's units."""

import math
import warnings
from numbers import Integral

import numpy as np
from sklearn.base import clone

from rhokit.estimators.fourier_density import FourierDensity
from rhokit.estimators.grid_state import GridState
from rhokit.estimators.marginals import series_state, with_columns
from rhokit.estimators.sampler import Proposal
from rhokit.validation import check_share, generator, level_of_the_user

# What is measured at this many times the error is right to a tenth.
_TENFOLD = 10
_PROPOSAL_ROWS = 2048


class GridAnswers(GridState):
    """Distribution functions, parts, moments and shape of a density on a grid.

    All of them need a model on a grid (``feature_map="grid"``, or ``"auto"`` with one
    or two columns). Those that look at single columns also need a scaling that does
    not mix them.
    """

    # ---- probabilities -----------------------------------------------------------

    def cdf(self, X):
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
        >>> model = DMKDE(random_state=0).fit(X)
        >>> model.cdf([[-1.96], [0.0], [1.96]]).round(2)
        array([0.03, 0.51, 0.98])
        """
        density = self._density("cdf")
        rows = self._scaled(X).astype(float)
        return density.box_probability(np.full_like(rows, -np.inf), rows)

    def quantile(self, q):
        """Values of a single column below which it lies with given probabilities.

        Parameters
        ----------
        q : float or array-like, in [0, 1]

        Returns
        -------
        values : float or array, of the shape of ``q``

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> X = np.random.default_rng(0).normal(size=(2000, 1))
        >>> DMKDE(random_state=0).fit(X).quantile([0.025, 0.5, 0.975]).round() + 0
        array([-2.,  0.,  2.])
        """
        self._require_columns("quantile", 1)
        shares = np.asarray(q, dtype=float)
        if not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError(f"q must lie between 0 and 1, got {q!r}")
        found = self._density("quantile").quantile(shares.ravel())
        low, high = (float(end[0]) for end in self.feature_map_.box())
        found = np.where(shares.ravel() == 0, low, np.clip(found, low, high))
        found = np.where(shares.ravel() == 1, high, found)
        values = self.scaling_.invert(found[:, None]).reshape(shares.shape)
        return values if shares.ndim else float(values)

    def box_probability(self, low, high):
        """Probability of boxes, shape (n,).

        Parameters
        ----------
        low, high : array-like of shape (d,) or (n, d), or numbers for one column
            Corners; ``-inf`` and ``inf`` are allowed.

        Returns
        -------
        probability : float, or array of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> X = np.random.default_rng(0).normal(size=(2000, 2))
        >>> model = DMKDE(random_state=0).fit(X)
        >>> round(model.box_probability([0, 0], [np.inf, np.inf]), 2)
        0.24
        """
        density = self._density("box_probability")
        corners = [np.asarray(each, dtype=float) for each in (low, high)]
        low, high = _boxes(*corners, density.d)
        scaled = [self._scaled_columns(each) for each in (low, high)]
        share = density.box_probability(*scaled)
        return share if any(each.ndim == 2 for each in corners) else float(share[0])

    # ---- parts -------------------------------------------------------------------

    def conditional(self, given):
        """The model of the other columns where some have given values.

        Each row counts for as much as the kernel says it has these values; the
        model's weight is what they add up to.

        Parameters
        ----------
        given : dict
            Values by the places or names of their columns.

        Returns
        -------
        model : DMKDE

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> x, noise = np.random.default_rng(0).normal(size=(2, 2000))
        >>> model = DMKDE(random_state=0).fit(np.column_stack([x, 3 * x + noise]))
        >>> model.conditional({0: 1.0}).mean().round()
        array([3.])
        """
        axes = self._places("given", list(given))
        density = self._density("conditional")
        kept = [axis for axis in range(density.d) if axis not in axes]
        if not kept:
            raise ValueError("given must leave at least one column")
        values = np.array([float(value) for value in given.values()])
        scaling = self._part_of_scaling(axes)
        scaled = (values - scaling.centre) * scaling.matrix
        low, high = (end[axes] for end in self.feature_map_.box())
        share = 0.0
        if ((scaled >= low) & (scaled <= high)).all():
            part = density.sliced(dict(zip(axes, scaled.tolist(), strict=True)))
            # In kernel units, in which one row right there counts one.
            share = part.mass * math.exp(self._kernel_log_mass(len(axes)))
        if not share > self._least_answered():
            raise ValueError(
                f"conditional: the density is zero at {given!r}, nothing is known there"
            )
        return self._model_of(part, kept, self.state_.weight * share)

    # ---- moments -----------------------------------------------------------------

    def mean(self):
        """Mean of the density, shape (d,)."""
        mean, _ = self._density("mean", by_columns=False).mean_and_covariance()
        return self.scaling_.invert(mean[None])[0]

    def covariance(self):
        """Covariance of the density, shape (d, d): the rows' plus the kernel's."""
        density = self._density("covariance", by_columns=False)
        _, covariance = density.mean_and_covariance()
        back = self._inverse_matrix()
        return back.T @ covariance @ back

    def moment(self, order):
        """Mean of the order-th power of every column, shape (d,)."""
        if isinstance(order, bool) or not isinstance(order, Integral) or order < 0:
            raise ValueError(f"order must be an integer >= 0, got {order!r}")
        density = self._density("moment")
        # A column is a + bθ.
        a = self.scaling_.invert(density.middle[None])[0]
        b = density.period / (2 * math.pi) / self.scaling_.matrix
        moments = density.angle_moments(order)
        terms = [
            math.comb(order, k) * a ** (order - k) * b**k * moments[:, k]
            for k in range(order + 1)
        ]
        return np.sum(terms, axis=0)

    # ---- shape -------------------------------------------------------------------

    def entropy(self):
        """Differential entropy of the density in nats, by quadrature."""
        scaled = self._density("entropy", by_columns=False).entropy()
        return scaled - self.scaling_.log_volume

    def log_density_gradient(self, X):
        r"""Gradient :math:`\nabla\log\hat f` at each row, shape (n, d).

        NaN where the density is zero or below the model's error.

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> X = np.random.default_rng(0).normal(size=(2000, 1))
        >>> model = DMKDE(gamma="scott").fit(X)
        >>> model.log_density_gradient([[-1.0], [1.0]]).round()[:, 0]
        array([ 1., -1.])
        """
        density = self._density("log_density_gradient", by_columns=False)
        rows = self._scaled(X)
        value, slope = density.gradient(rows)
        angles, _ = self.feature_map_.columns(rows)
        least = self._least_answered() * math.exp(-self.feature_map_.log_mass())
        seen = np.isfinite(angles).all(axis=1) & (value > least)
        gradient = slope / np.where(seen, value, np.nan)[:, None]
        matrix = self.scaling_.matrix
        return gradient * matrix if matrix.ndim == 1 else gradient @ matrix.T

    def modes(self, least=1e-3):
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
        >>> model = DMKDE(gamma="scott").fit(rows.reshape(-1, 1))
        >>> np.sort(model.modes()[:, 0]).round() + 0
        array([0., 6.])
        """
        check_share("least", least)
        modes = self._density("modes", by_columns=False).modes(least)
        return self.scaling_.invert(modes)

    # ---- shared work -------------------------------------------------------------

    def _plan(self, rows, weights, target, *, bounded):
        super()._plan(rows, weights, target, bounded=bounded)
        automatic = isinstance(self.feature_map, str) and self.feature_map == "auto"
        expected = automatic and self._takes_grids() and rows.shape[1] <= 2
        if not expected or self._has_grid():
            return
        if self.feature_map_.n_columns_ >= self.n_components:  # else they are all rows
            warnings.warn(
                f"the rows span too many widths of a kernel of gamma={self.gamma_:.4g} "
                "for a grid: landmarks are taken, which are less exact. Leave out rows "
                "far away from all others, or give a smaller gamma",
                UserWarning,
                stacklevel=level_of_the_user(),
            )

    def _density(self, answer, by_columns=True):
        """The density in scaled units, for an answer that needs it."""
        self._require_rows()
        if not self._has_grid():
            raise ValueError(
                f"{answer} needs a model on a grid, of one to three columns: fit with "
                f'feature_map="grid" (this one has {self.feature_map_!r})'
            )
        if by_columns and self.scaling_.matrix.ndim != 1:
            raise ValueError(
                f"{answer} needs columns that are scaled one by one, which "
                f"scale={self.scale!r} does not do: take scale='std' or 'robust'"
            )
        return self._cache.get("fourier density", None, self._make_density)

    def _make_density(self):
        return FourierDensity.over(self.feature_map_, self.state_.normalized()[0])

    def _model_of(self, part, kept, weight):
        """A model of some columns whose density is ``part``, up to a factor."""
        other = with_columns(self, kept)
        other.scaling_ = self._part_of_scaling(kept)
        other.feature_map_ = self.feature_map_.restricted(kept)
        if not isinstance(self.feature_map, str):
            other.feature_map = clone(other.feature_map_)
        other._set_state(series_state(other.feature_map_, [part], weight))
        return other

    def _least_answered(self):
        """What is measured below this is too uncertain for ratios."""
        return _TENFOLD * math.exp(self.feature_map_.log_floor_)

    def _kernel_log_mass(self, d):
        return self.feature_map_.log_mass() * d / self.n_features_in_

    def _part_of_scaling(self, axes):
        scaling = self.scaling_
        return type(scaling)(scaling.centre[axes], scaling.matrix[axes])

    def _inverse_matrix(self):
        matrix = self.scaling_.matrix
        return np.diag(1 / matrix) if matrix.ndim == 1 else np.linalg.inv(matrix)

    def _scaled_columns(self, rows):
        return (rows - self.scaling_.centre) * self.scaling_.matrix

    def _require_columns(self, answer, d):
        self._require_rows()
        if self.n_features_in_ != d:
            raise ValueError(
                f"{answer} needs a model of one column, this one has "
                f"{self.n_features_in_}: take marginal() or conditional() first"
            )

    def _scaled_extent(self):
        if not self._has_grid():
            return super()._scaled_extent()
        return self.feature_map_.low_, self.feature_map_.high_

    def _density_on(self, axes):
        if not self._has_grid() or self.scaling_.matrix.ndim != 1:
            return super()._density_on(axes)
        density = self._density("grid")
        scaled = [
            (values - centre) * factor
            for values, centre, factor in zip(
                axes, self.scaling_.centre, self.scaling_.matrix, strict=True
            )
        ]
        values = density.on_axes(scaled) * math.exp(self.scaling_.log_volume)
        return np.maximum(values, 0).T

    def _with_matrix(self):
        other = super()._with_matrix()
        if self._has_grid():
            # What rows are drawn from where there is no series.
            rng = np.random.default_rng(0)
            density = self._density("rows", by_columns=False)
            rows = density.sample(_PROPOSAL_ROWS, rng)
            other._proposal = Proposal.from_rows(rows, None, self.gamma_, rng)
        return other

    def _samples_on_grid(self):
        return self._has_grid()

    def _sample_on_grid(self, n_samples, random_state):
        density = self._density("sample", by_columns=False)
        scaled = density.sample(n_samples, generator(random_state))
        return self.scaling_.invert(scaled)


def _boxes(low, high, d):
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
