"""DMKDE: density estimation with a density matrix."""

from copy import copy
from itertools import product

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from rhokit.core import leave_one_out
from rhokit.estimators.base import StateEstimator
from rhokit.estimators.corrected import CorrectedDensity
from rhokit.estimators.grid_answers import GridAnswers
from rhokit.estimators.matrix_state import MatrixState
from rhokit.estimators.sampler import MixedProposal, Proposal, draw_rows
from rhokit.fast import small_algebra
from rhokit.validation import check_count, check_weights, generator


class DensityEstimator(DensityMixin, StateEstimator):
    """What all density estimators answer, whatever their state is."""

    def score_samples(self, X, *, leave_one_out=False):
        """Log-density at each row, in the user's units.

        Parameters
        ----------
        X : array-like of shape (n, d)
        leave_one_out : bool, default=False
            For rows that the model was fitted to, with weight one: take each one's own
            contribution out, in closed form. What is left cannot be told from zero
            below about 1e-15 of that contribution (1e-6 in float32; on a grid, 1e-11
            of all rows), so rows far from all others get too high a value, or ``-inf``.

        Returns
        -------
        log_density : array of shape (n,), float64
            ``-inf`` where the density is exactly zero. Of rows that lack values, that
            of the columns they have (``missing="integrate"``).
        """
        self._require_rows()
        rows = self._checked(X)
        logs = self._log_measured(rows)[:, 0]
        if leave_one_out:
            self._refuse_gaps(rows)
            logs = self._without_own(rows, logs)
        return logs + self._log_norm_of(rows)

    def score(self, X, y=None, sample_weight=None):
        """Mean log-density of the rows.

        Rows below :attr:`floor_` count as that: how far below they are, the model
        cannot tell.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
        """
        logs = np.maximum(self.score_samples(X), self.floor_)
        return float(np.average(logs, weights=check_weights(sample_weight, len(logs))))

    def density(self, X):
        """Density at each row, in the user's units.

        In many dimensions this over- or underflows: :meth:`score_samples` does not.
        """
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(self.score_samples(X))

    def sample(self, n_samples=1, random_state=None):
        """Rows drawn from the fitted density.

        Of categories, with their probabilities; on a grid, by inverse
        distribution functions, one column after the other. Otherwise by Markov
        chains, one per row: each starts from importance resampling of a mixture of
        normal distributions about 256 rows that the model was prepared with, and then
        takes Metropolis steps, in turn from that mixture and by a random walk as wide
        as the kernel. What lies at or below twice the map's floor is not drawn: there
        random features have nothing but noise. Rows come in the user's units.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or Generator, optional

        Returns
        -------
        X : array of shape (n_samples, d)
            Where columns are categories, a dict of columns by name, as
            ``pandas.DataFrame`` and ``polars.DataFrame`` take it.
        """
        self._require_rows()
        if self._samples_on_grid():
            return self._sample_on_grid(n_samples, random_state)
        rng = generator(random_state)
        atoms = self.feature_map_.atoms()
        if atoms is not None:
            values = np.asarray(atoms, dtype=object)
            chances = np.exp(self._log_measured(values)[:, 0])
            return values[rng.choice(len(values), n_samples, p=chances / chances.sum())]
        if self.gamma_ is None:
            raise ValueError(
                "sample: rows can be drawn from maps of the Gaussian kernel and from "
                f"categories, not from {type(self.feature_map_).__name__}"
            )
        floor = np.log(2) + self.feature_map_.log_floor_ * self._power / 2

        def log_density(scaled):
            rows = self.scaling_.invert(scaled).astype(self.feature_map_.dtype_)
            logs = self._log_measured(rows)[:, 0]
            if np.isinf(floor):
                return logs
            above = logs > floor
            safe = np.where(above, logs, floor + 1.0)
            return np.where(above, safe + np.log1p(-np.exp(floor - safe)), -np.inf)

        proposal = self._proposal
        if self.schema_ is not None:
            proposal = MixedProposal(proposal, self.schema_)
        scaled = draw_rows(log_density, proposal, n_samples, self.gamma_, rng)
        rows = self.scaling_.invert(scaled)
        return rows if self.schema_ is None else self.schema_.decode(rows)

    def grid(self, n=None):
        """Regular points and the density at them, for a plot of one or two columns.

        Parameters
        ----------
        n : int, optional
            Points per column: 512 for one column, 128 for two.

        Returns
        -------
        x : array of shape (n,)
        y : array of shape (n,)
            Only of two columns.
        density : array of shape (n,) or (n, n)
            For two columns, ``density[j, i]`` is that at ``(x[i], y[j])``, as
            ``matplotlib.pyplot.contourf(x, y, density)`` takes it.

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> X = np.random.default_rng(0).normal(size=(2000, 1))
        >>> x, density = DMKDE(random_state=0).fit(X).grid(1000)
        >>> bool(abs(density.sum() * (x[1] - x[0]) - 1) < 1e-3)
        True
        """
        self._require_rows()
        check_count("n", n)
        d = self.n_features_in_
        if self.gamma_ is None:
            raise ValueError(
                "grid: only densities of numbers can be drawn, not those of "
                f"{type(self.feature_map_).__name__}"
            )
        if self.schema_ is not None:
            raise ValueError(
                "grid: only columns of numbers can be drawn, this model has "
                f"categories in {self.schema_.names}: take marginal() of the others"
            )
        if d > 2:
            raise ValueError(
                "grid: densities of one or two columns can be drawn, this model has "
                f"{d}; on a grid of three, take marginal() first"
            )
        n = n or (512 if d == 1 else 128)
        axes = list(np.linspace(*self._extent(), n).T)
        return (*axes, self._density_on(axes))

    def _extent(self):
        """Lowest and highest values (d,) between which the density is worth a look."""
        low, high = self._scaled_extent()
        width = 3 / np.sqrt(2 * self.gamma_)
        ends = zip(low - width, high + width, strict=True)
        corners = np.array(list(product(*ends)))
        rows = self.scaling_.invert(corners)
        return rows.min(axis=0), rows.max(axis=0)

    def _scaled_extent(self):
        """The same in scaled units, but for the kernel's width."""
        anchors, widths = self._proposal.anchors, self._proposal.widths
        return (anchors - 2 * widths).min(axis=0), (anchors + 2 * widths).max(axis=0)

    def _density_on(self, axes):
        """Density at all points of a grid, the last column's values first."""
        points = np.stack(np.meshgrid(*axes), axis=-1)
        nameless = copy(self)  # as points of a grid are
        vars(nameless).pop("feature_names_in_", None)
        density = nameless.density(points.reshape(-1, len(axes)))
        return density.reshape(points.shape[:-1])

    def coverage(self, X):
        """How well the map represents each row, in [0, 1]: see the map's ``coverage``.

        With landmarks, rows with little coverage have too small a density. NaN for
        rows that lack values.
        """
        check_is_fitted(self)
        rows = self._scaled(X)
        if not self._may_miss():
            return self.feature_map_.coverage(rows)
        whole = ~np.isnan(rows).any(axis=1)
        found = np.full(len(rows), np.nan)
        if whole.any():
            found[whole] = self.feature_map_.coverage(rows[whole])
        return found

    @property
    def floor_(self):
        """Log-density below which the map cannot tell the density from zero.

        ``-inf`` for landmarks and categories, whose density falls to zero.
        """
        check_is_fitted(self)
        return self.feature_map_.log_floor_ * self._power / 2 + self._log_norm()

    def _plan_sampling(self, scaled, weights, rng):
        if self.gamma_ is not None and not self._samples_on_grid():
            with small_algebra(scaled.shape[1]):
                self._proposal = Proposal.from_rows(scaled, weights, self.gamma_, rng)

    def _samples_on_grid(self):
        """Whether rows are drawn from a Fourier series."""
        return False

    def _log_norm_of(self, rows):
        """What turns logarithms of rows into log-densities, for all or each of them."""
        return self._log_norm()

    def _without_own(self, rows, logs):
        lengths = self.feature_map_.lengths(self._apply_scaling(rows))
        own = lengths.astype(np.float64) ** self._power
        total = float(self.state_.weight[0])
        rest = leave_one_out(np.exp(logs), own, np.ones(len(own)), total)
        with np.errstate(divide="ignore"):
            return np.log(rest)


class DMKDE(GridAnswers, MatrixState, DensityEstimator):
    r"""Kernel density estimation with a density matrix (DMKDE).

    The data are summed up in one matrix of fixed size, in one pass,

    .. math:: \rho = \frac1N \sum_i \phi(x_i)\phi(x_i)^\top,

    and the density at a row is one measurement of it (eq. f_hat_rho_train_normal),

    .. math:: \hat f(x) = \frac{1}{M_\gamma}\, \phi(x)^\top \rho\, \phi(x)
              \;\approx\; \frac{1}{N M_\gamma} \sum_i e^{-\gamma\|x - x_i\|^2},
              \qquad M_\gamma = (\pi/\gamma)^{d/2},

    whose cost does not depend on the number of rows. Models add up (:meth:`merge`),
    forget (:meth:`unlearn`) and learn from streams (:meth:`partial_fit`).

    Parameters
    ----------
    gamma : float or str, default="loo"
        γ of the kernel :math:`e^{-\gamma\|x-y\|^2}`, that is :math:`1/(2h^2)` for a
        bandwidth h. A number is in the units of the (scaled) rows. ``"loo"`` climbs to
        the largest leave-one-out likelihood of the model itself, on a sample of
        6,000 rows (131,072 on a grid); ``"sheather-jones"`` is their plug-in rule, for
        one column; ``"median"``, ``"scott"`` and ``"silverman"`` are rules of thumb.
    n_components : int, default=1024
        Landmarks, or random features.
    rank : int, float, "elbow" or None, default=None
        Keep so many eigenvectors of ρ for prediction: a count, a fraction of the
        dimension, or those above the mean eigenvalue. None keeps all. A grid has none.
    feature_map : str or FeatureMap, default="auto"
        ``"auto"`` takes ``"grid"`` for one or two columns (for three, where it is
        small), which is exact to 1e-8 of the peak and gives the answers of
        :class:`GridAnswers`; else ``"landmarks"``. ``"quadrature"`` is a grid with a
        matrix, which has a rank; ``"fourier"`` is the paper's map. An instance is
        cloned and given the model's γ.
    scale : {"auto", "std", "robust", "whiten"}, array-like of shape (d,) or None
        Scaling of the columns, part of the model. ``"auto"`` is ``"std"`` when
        ``gamma`` is a rule and None when it is a number. Densities are always returned
        in the user's units.
    missing : {"raise", "integrate"}, default="raise"
        What to do with missing values. ``"integrate"`` answers from the columns that a
        row has, the others integrated over in closed form (over landmarks, which
        ``"auto"`` takes, and on grids); it learns from rows without gaps.
    batch_size : int, optional
        Rows per block; chosen for speed without it.
    dtype : {"float32", "float64"}, optional
        Of the features; sums are always float64. None follows the rows. float32
        halves time and memory.
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    gamma_ : float
    feature_map_ : FeatureMap
        The map that was chosen, fitted.
    scaling_ : Scaling
    state_ : ToeplitzDensityMatrix or DensityMatrix
        On a grid, the coefficients of a Fourier series; else the sums, in the map's
        columns: see :attr:`density_matrix_`.
    floor_ : float
    n_features_in_, feature_names_in_ :
        As everywhere in scikit-learn.

    See Also
    --------
    MeanEmbeddingKDE : The linear variant: faster, but it may be negative.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, 300), rng.normal(5, 1, 700)])[:, None]
    >>> model = DMKDE(gamma=4.0).fit(X)
    >>> model.feature_map_
    GridFeatures(gamma=4.0)
    >>> model.density([[0.0], [2.5], [5.0]]).round(3)
    array([0.106, 0.019, 0.278])
    >>> half = DMKDE(gamma=4.0).prepare(X)
    >>> other = half.blank().partial_fit(X[500:])
    >>> merged = half.partial_fit(X[:500]).merge(other)
    >>> merged.density([[0.0], [2.5], [5.0]]).round(3)
    array([0.106, 0.019, 0.278])
    """

    def __init__(
        self,
        *,
        gamma="loo",
        n_components=1024,
        rank=None,
        feature_map="auto",
        scale="auto",
        missing="raise",
        batch_size=None,
        dtype=None,
        random_state=None,
    ):
        self.gamma = gamma
        self.n_components = n_components
        self.rank = rank
        self.feature_map = feature_map
        self.scale = scale
        self.missing = missing
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    def corrected(self, X, sample_weight=None):
        """This density less the error of its map, as far as some of its rows show it.

        Where the kernel is narrow for the number of columns, landmarks miss part of
        it: with a few thousand rows beside them the error is several times smaller, and
        each answer costs one exact kernel sum over these rows more.

        Parameters
        ----------
        X : array-like of shape (s, d)
            A random sample of the rows that the model was fitted to.
        sample_weight : array-like of shape (s,), optional
            Their weights in the fit.

        Returns
        -------
        density : CorrectedDensity
            With ``score_samples`` and ``density``.

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> from rhokit.datasets import clusters
        >>> X, _ = clusters(20_000, 10, random_state=0)
        >>> rows, queries = X[:-3], X[-3:]
        >>> model = DMKDE(gamma=40.0, n_components=256, random_state=0).fit(rows)
        >>> model.score_samples(queries).round(1)
        array([7.3, 7.1, 6. ])
        >>> model.corrected(rows[:4000]).score_samples(queries).round(1)
        array([7.4, 7.3, 6.1])
        >>> from sklearn.neighbors import KernelDensity
        >>> exact = KernelDensity(bandwidth=1 / np.sqrt(80)).fit(rows)
        >>> exact.score_samples(queries).round(1)
        array([7.4, 7.3, 6.2])
        """
        self._require_rows()
        self._refuse_factor()
        if self.gamma_ is None:
            raise ValueError(
                "corrected: only densities of numbers have a kernel that the map "
                f"approximates, not those of {type(self.feature_map_).__name__}"
            )
        rows, weights, _ = self._check(X, None, sample_weight, reset=False)
        return CorrectedDensity(self, rows, weights)

    def _sum(self, rows, weights, target):
        return self._sum_outcomes(rows, weights)

    def _prepare_measurement(self):
        return self._measure_outcomes(self.rank).born
