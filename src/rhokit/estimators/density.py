"""DMKDE: density estimation with a density matrix."""

from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin

from rhokit.core import GaussianKernel
from rhokit.estimators import answers, conditionals
from rhokit.estimators.base import OnePassEstimator
from rhokit.estimators.parameters import MATRIX
from rhokit.models import Model, draw_samples, measured_mass, series_of
from rhokit.readouts import DensityReadOut
from rhokit.validation import check_count, check_weights, generator


class DensityEstimator(DensityMixin, OnePassEstimator):
    """The base of density estimators, whatever their state is."""

    def make_readout(self, known: Any = None) -> DensityReadOut:
        return known or DensityReadOut()

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of the rows.

        Rows below :attr:`floor_` count as that: how far below they are, the model
        cannot tell.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
        """
        model, rows = self.question(X)
        logs = np.maximum(model.log_density(rows), _floor(model))
        return float(np.average(logs, weights=check_weights(sample_weight, len(logs))))

    def density(self, X: Any) -> NDArray[np.float64]:
        """Density at each row, in the user's units.

        In many dimensions this over- or underflows: :meth:`score_samples` does not.
        """
        return self._density(*self.question(X))

    def _density(self, model: Model, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Density at checked rows."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(model.log_density(rows)))

    def sample(
        self,
        n_samples: int = 1,
        random_state: Any = None,
        *,
        conditions: dict[Any, Any] | None = None,
    ) -> Any:
        """Rows drawn from the fitted density.

        Of categories, with their probabilities; on a grid, by inverse distribution
        functions, one column after the other; of a mosaic, a cell and then a row of
        it. Otherwise by Markov chains, one per row: each starts from importance
        resampling of a mixture of normal distributions about 256 rows that the model
        was prepared with, and then takes Metropolis steps, in turn from that mixture
        and by a random walk as wide as the kernel. What lies at or below twice the
        map's floor is not drawn: there random features have nothing but noise. Rows
        come in the user's units.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or Generator, optional
        conditions : dict, optional
            From columns, by name or place, to values that all rows have: these are
            drawn from :meth:`DMKDE.conditional`.

        Returns
        -------
        X : array or frame of shape (n_samples, d)
            The kind of frame that the model was fitted to, of pandas, polars or Arrow,
            with its types: whole numbers are whole, categories are categories. Only
            categories that were learned are drawn.
        """
        model, rng = self.fitted_model(), generator(random_state)
        given = conditionals.given_values(model, conditions) if conditions else None
        return draw_samples(model, n_samples, rng, given)

    def grid(self, n: int | None = None) -> tuple[NDArray[np.float64], ...]:
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
        model = self.fitted_model()
        check_count("n", n)
        _refuse_to_draw(model)
        d = model.plan.columns.n_features
        axes = list(np.linspace(*_extent(model), n or (512 if d == 1 else 128)).T)
        if model.plan.representation == "series" and model.plan.scaling.by_columns:
            return (*axes, series_of(model).on_axes(axes))
        points = np.stack(np.meshgrid(*axes), axis=-1)
        rows = points.reshape(-1, d).astype(model.plan.feature_map.dtype_)
        return (*axes, self._density(model, rows).reshape(points.shape[:-1]))

    def reach(self, X: Any) -> NDArray[Any]:
        """How well the map represents each row, in [0, 1]: see the map's ``reach``.

        With landmarks, rows that these do not reach have too small a density. NaN for
        rows that lack values.
        """
        model, rows = self.question(X)
        scaled = model.plan.scale(rows)
        if not model.lacks(rows):
            return model.plan.feature_map.reach(scaled)
        whole = ~np.isnan(rows).any(axis=1)
        found = np.full(len(rows), np.nan)
        if whole.any():
            found[whole] = model.plan.feature_map.reach(scaled[whole])
        return found

    @property
    def floor_(self) -> float:
        """Log-density below which the map cannot tell the density from zero.

        ``-inf`` for landmarks and categories, whose density falls to zero.
        """
        return _floor(self.fitted_model())

    @property
    def mass_(self) -> float:
        """What the density would integrate to, as the map alone makes it.

        How much of the rows' kernels the map holds: landmarks miss what lies far from
        all of them. Densities over landmarks, on grids and of categories are divided
        by it, so that they integrate to one. Random features are not: theirs is
        estimated by importance sampling, above what they cannot tell from zero, with
        a standard error of :attr:`mass_error_`. NaN where it cannot be estimated.
        """
        return measured_mass(self.fitted_model())[0]

    @property
    def mass_error_(self) -> float:
        """Standard error of :attr:`mass_`; zero where that is known in closed form."""
        return measured_mass(self.fitted_model())[1]


def _floor(model: Model) -> float:
    """Log-density below which the map cannot tell the density from zero."""
    floor = model.plan.feature_map.log_floor_ * model.representation.power / 2
    return float(floor + model.log_norm())


def _extent(model: Model) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest values (d,) between which the density is worth a look."""
    low, high = model.representation.extent(model.state)
    gamma = model.plan.gamma
    width = 0.0 if gamma is None else 3 * GaussianKernel(gamma).bandwidth
    ends = zip(low - width, high + width, strict=True)
    corners = model.plan.scaling.invert(np.array(list(product(*ends))))
    return corners.min(axis=0), corners.max(axis=0)


def _refuse_to_draw(model: Model) -> None:
    """Refuse what has no picture in one or two columns of numbers."""
    plan, d = model.plan, model.plan.columns.n_features
    if plan.gamma is None and plan.representation == "matrix":
        raise ValueError(
            "grid: only densities of numbers can be drawn, not those of "
            f"{type(plan.feature_map).__name__}"
        )
    if plan.columns.schema is not None:
        raise ValueError(
            "grid: only columns of numbers can be drawn, this model has "
            f"categories in {plan.columns.schema.names}: take marginal() of the others"
        )
    if d > 2:
        raise ValueError(
            "grid: densities of one or two columns can be drawn, this model has "
            f"{d}: take marginal() first"
        )


class DMKDE(DensityEstimator):
    r"""Kernel density estimation with a density matrix (DMKDE).

    The data are summed up in one matrix of fixed size, in one pass,

    .. math:: \rho = \frac1N \sum_i \phi(x_i)\phi(x_i)^\top,

    and the density at a row is one measurement of it (eq. f_hat_rho_train_normal),

    .. math:: \hat f(x) = \frac{1}{M_\gamma}\, \phi(x)^\top \rho\, \phi(x)
              \;\approx\; \frac{1}{N M_\gamma} \sum_i e^{-\gamma\|x - x_i\|^2},
              \qquad M_\gamma = (\pi/\gamma)^{d/2},

    whose cost does not depend on the number of rows. Models add up (:meth:`merge`),
    forget (:meth:`unlearn`) and learn from streams (:meth:`partial_fit`). Of three
    columns or more, the default is a *mosaic* of small density matrices, one in each of
    many cells (:class:`~rhokit.MosaicFeatures`). Densities integrate to one.

    Parameters
    ----------
    gamma : float, str or None, default="loo"
        γ of the kernel :math:`e^{-\gamma\|x-y\|^2}`, that is :math:`1/(2h^2)` for a
        bandwidth h. A number is in the units of the scaled rows, as :attr:`gamma_` is;
        with ``scale=None`` in those of the rows. ``"loo"`` climbs to
        the largest leave-one-out likelihood of the model itself, on a sample of
        6,000 rows (131,072 on a grid); ``"sheather-jones"`` is their plug-in rule, for
        one column; ``"median"``, ``"scott"`` and ``"silverman"`` are rules of thumb.
        For a mosaic, ``"loo"`` means no common kernel: cells have widths of their own,
        :attr:`gamma_` is None, and None stands for ``"loo"``, too.
    n_components : int, default=1024
        Landmarks, or random features.
    rank : int, float, "elbow" or None, default=None
        Keep so many eigenvectors of ρ for prediction: a count, a fraction of the
        dimension, or those above the mean eigenvalue. None keeps all. A grid has none.
    feature_map : str or FeatureMap, default="auto"
        ``"auto"`` takes ``"grid"`` for one or two columns, which is exact to 1e-8 of
        the peak and gives all answers of :meth:`series`; of 3 to 200 columns
        ``"mosaic"``, by held-out likelihood, or with a γ that landmarks are too few
        for; else ``"landmarks"``. ``"quadrature"`` is a grid with a matrix, which has a
        rank; ``"fourier"`` is the paper's map. An instance is cloned and given the
        model's γ.
    kernel : str, Kernel or tuple, default="gaussian"
        What overlaps of states follow: ``"gaussian"``, ``"laplacian"``, ``"matern"``,
        ``"cauchy"`` or an object of :mod:`rhokit.kernels`; the density is made of its
        square. ``"loo"``, or a tuple of kernels, lets rows that are left out choose.
        Grids, mosaics and categories are Gaussian: of another kernel, ``"auto"`` takes
        landmarks.
    scale : {"auto", "std", "robust", "whiten"}, array-like of shape (d,) or None
        Scaling of the columns, part of the model. ``"auto"`` is ``"std"``; None leaves
        rows as they are. Densities are always returned in the user's units, and change
        with these by their volume alone.
    missing : {"raise", "integrate"}, default="raise"
        What to do with missing values. ``"integrate"`` answers from the columns that a
        row has, the others integrated over in closed form (for whatever ``"auto"``
        takes); it learns from rows without gaps.
    unseen : {"allow", "raise"}, default="allow"
        What to do with categories that were not learned. They are an outcome of their
        own, whose probability the rows tell by leave-one-out; ``"raise"`` refuses them.
    batch_size : int, optional
        Rows per block; chosen for speed without it.
    dtype : {"float32", "float64"}, optional
        Of the features; sums are always float64. None follows the rows. float32
        halves time and memory.
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    gamma_ : float or None
    feature_map_ : FeatureMap
        The map that was chosen, fitted.
    scaling_ : Scaling
    state_ : ToeplitzDensityMatrix, CellSums or DensityMatrix
        On a grid, the coefficients of a Fourier series; of a mosaic, sums for every
        cell; else the sums, in the map's columns: see :attr:`density_matrix_`.
    floor_ : float
    mass_, mass_error_ : float
        What the map alone would have integrated to, before the density was divided by
        it; of random features, which are not, an estimate and its standard error.
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
    >>> model = DMKDE(gamma=4.0, scale=None).fit(X)
    >>> model.feature_map_
    GridFeatures(gamma=4.0)
    >>> model.density([[0.0], [2.5], [5.0]]).round(3)
    array([0.106, 0.019, 0.278])
    >>> half = DMKDE(gamma=4.0, scale=None).prepare(X)
    >>> other = half.blank().partial_fit(X[500:])
    >>> merged = half.partial_fit(X[:500]).merge(other)
    >>> merged.density([[0.0], [2.5], [5.0]]).round(3)
    array([0.106, 0.019, 0.278])
    """

    _parameter_table: ClassVar[dict[str, Any]] = MATRIX

    def __init__(
        self,
        *,
        gamma: float | str | None = "loo",
        n_components: int = 1024,
        rank: Any = None,
        feature_map: Any = "auto",
        kernel: Any = "gaussian",
        scale: Any = "auto",
        missing: str = "raise",
        unseen: str = "allow",
        batch_size: int | None = None,
        dtype: Any = None,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.rank = rank
        self.feature_map = feature_map
        self.kernel = kernel
        self.scale = scale
        self.missing = missing
        self.unseen = unseen
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    conditional = conditionals.conditional
    distribution = conditionals.distribution
    impute = conditionals.impute
    explain = answers.explain
    mosaic = answers.mosaic
