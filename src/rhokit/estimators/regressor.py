"""QMR: values with their distributions, by measuring a joint state."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin

from rhokit.estimators import answers
from rhokit.estimators.base import OnePassEstimator
from rhokit.estimators.parameters import TARGET
from rhokit.features import SoftmaxFeatures
from rhokit.readouts import LevelReadOut
from rhokit.validation import Interval, StrOptions, check_levels


class QMRegressor(RegressorMixin, MultiOutputMixin, OnePassEstimator):
    r"""Regression by measuring a joint state of inputs and targets (QMR).

    Targets become states over equally spaced levels (eq. phi_sm), and measuring the
    joint density matrix with a new input leaves a distribution over the levels
    (section 5.4 of the paper), the diagonal of :math:`\rho_Y(x)`:

    .. math:: p_j(x) \propto \phi(x)^\top \Big(\sum_i \psi_j(y_i)^2\,
              \phi(x_i)\phi(x_i)^\top\Big) \phi(x), \qquad
              \hat y(x) = \sum_j p_j(x)\, a_j

    with the levels :math:`a_j`. One density matrix per level is all that is kept; the
    Kronecker product is never formed. One pass, no optimiser; models add up, forget
    and learn from streams as all others do.

    Parameters
    ----------
    gamma : float or {"loo", "median", "scott", "silverman"}, default="loo"
        γ of the kernel :math:`e^{-\gamma\|x-y\|^2}`. ``"loo"`` takes scaling, map and
        γ with the smallest squared error on rows of a sample that are left out in
        turn, in closed form. A number is in the units of the (scaled) rows.
    n_components : int, default=1024
        Landmarks, or random features; the most points of a grid that ``"auto"`` takes.
    rank : int, float, "elbow", "loo" or None, default=None
        Keep so many eigenvectors of each level's matrix for prediction.
    feature_map, kernel, scale, missing, unseen :
        As for :class:`DMKDClassifier`; ``scale="within"`` whitens by the covariance
        of rows with similar targets.
    n_levels : int or "loo", default=32
        m, the number of levels of a target.
    beta : float or "loo", default="loo"
        Sharpness of the targets' states, for targets scaled to [0, 1]; ``"loo"``
        takes what gives the best distributions (mean quantile loss) to rows left out.
    bounds : array-like of shape (2,) or (2, t), optional
        Lowest and highest value of the targets, for streams; learned from the rows of
        :meth:`fit`, or of the first batch, without it. Values outside are an error.
    calibration : {"loo"} or None, default="loo"
        Correct quantiles and intervals by what they missed on rows left out of the
        model in turn (conformal prediction). A sample of at most 2,000 rows is kept
        for it. Once it was full, rows that are unlearned leave it smaller than it would
        be had they never been seen, and as fair.
    batch_size : int, optional
        Rows per block; chosen for speed without it.
    dtype : {"float32", "float64"}, optional
        Of the features; sums are always float64. None follows the rows.
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    levels_ : array of shape (m,), or (m, t) for several targets
    beta_ : float
    gamma_, feature_map_, scaling_, feature_importances_, candidates_, state_ :
        As for :class:`DMKDClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(1000, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(0, 0.1 + 0.1 * np.abs(X[:, 0]))
    >>> model = QMRegressor(random_state=0).fit(X[:800], y[:800])
    >>> model.predict([[1.5]]).round(1)
    array([1.])
    >>> low, high = model.predict_interval(X[800:], coverage=0.9).T
    >>> bool(0.86 < np.mean((low <= y[800:]) & (y[800:] <= high)) < 0.94)
    True
    """

    _parameter_table: ClassVar[dict[str, Any]] = TARGET | {
        "n_levels": [Interval(Integral, 2, None, closed="left"), StrOptions({"loo"})],
        "beta": [Interval(Real, 0, None, closed="neither"), StrOptions({"loo"})],
        "bounds": ["array-like", None],
        "calibration": [StrOptions({"loo"}), None],
    }

    def __init__(
        self,
        *,
        gamma: float | str = "loo",
        n_components: int = 1024,
        rank: Any = None,
        feature_map: Any = "auto",
        kernel: Any = "gaussian",
        scale: Any = "auto",
        n_levels: Any = 32,
        beta: Any = "loo",
        bounds: Any = None,
        calibration: str | None = "loo",
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
        self.n_levels = n_levels
        self.beta = beta
        self.bounds = bounds
        self.calibration = calibration
        self.missing = missing
        self.unseen = unseen
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    def make_readout(self, known: Any = None) -> LevelReadOut:
        return (known or LevelReadOut()).with_parameters(
            wanted_levels=self.n_levels,
            wanted_beta=self.beta,
            bounds=self.bounds,
            calibration=self.calibration,
        )

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of each row's distribution, shape (n,) or (n, t).

        With ``return_std``, also its standard deviation, of the same shape.
        """
        model, rows = self.question(X)
        answer = model.readout.moments if return_std else model.readout.predict
        return answer(model, rows)

    def predict_distribution(self, X: Any) -> NDArray[np.float64]:
        """Probability of every level of ``levels_``, shape (n, m) or (n, t, m)."""
        model, rows = self.question(X)
        pairs = model.readout.distributions(model, rows)
        return np.asarray(model.readout.by_target([found for found, _ in pairs]))

    def predict_quantiles(
        self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)
    ) -> NDArray[np.float64]:
        """Values below which the target lies with given probabilities.

        Parameters
        ----------
        X : array-like of shape (n, d)
        quantiles : array-like of shape (q,), in (0, 1)

        Returns
        -------
        values : array of shape (n, q) or (n, t, q)
            Never falling as the probability rises.
        """
        levels = check_levels("quantiles", quantiles)
        model, rows = self.question(X)
        return np.asarray(model.readout.quantiles(model, rows, levels))

    def predict_interval(self, X: Any, coverage: Any = 0.9) -> NDArray[np.float64]:
        """Interval that holds the target with a given probability.

        Between two quantiles of each row's distribution, widened or narrowed by what
        such intervals missed on rows left out of the model: over many rows, the share
        of targets inside is ``coverage``.

        Parameters
        ----------
        X : array-like of shape (n, d)
        coverage : float or array-like of shape (c,), default=0.9
            Several together cost little more than one.

        Returns
        -------
        interval : array of shape (n, 2) or (n, t, 2); of several, (..., c, 2)
        """
        coverages = check_levels("coverage", coverage)
        model, rows = self.question(X)
        found = model.readout.intervals(model, rows, coverages)
        if np.ndim(coverage) == 0:
            return np.asarray(found[0])
        return np.stack(found, axis=-2)

    def log_density(self, X: Any, y: Any) -> NDArray[np.float64]:
        r"""Log-density of each row's own target, :math:`\log p(y_i \mid x_i)`.

        In the units of the target; its mean over rows that were kept aside, with the
        sign turned, is the negative log-likelihood.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or (n, t)

        Returns
        -------
        log_density : array of shape (n,) or (n, t)
            Of levels, ``-inf`` beyond their range.
        """
        model, rows = self.question(X)
        readout = model.readout
        target = readout.check(y, len(rows), type(self).__name__)
        values = target.reshape(len(target), -1)
        if values.shape[1] != len(readout.low):
            raise ValueError(
                f"y must have {len(readout.low)} targets, as before, got "
                f"{values.shape[1]}"
            )
        return np.asarray(readout.log_density(model, rows, values))

    @property
    def levels_(self) -> NDArray[np.float64]:
        """The levels in the units of the targets, shape (m,) or (m, t)."""
        return np.asarray(self.readout_.levels())

    @property
    def n_levels_(self) -> int:
        """Number of levels of a target."""
        return int(self.readout_.n_levels)

    @property
    def beta_(self) -> float:
        """Sharpness of the targets' states."""
        return float(self.readout_.beta)

    @property
    def output_maps_(self) -> list[SoftmaxFeatures]:
        """The map of every target."""
        return list(self.readout_.output_maps)

    feature_importances_ = property(answers.feature_importances)
