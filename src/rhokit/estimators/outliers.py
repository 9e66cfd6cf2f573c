"""DMKDOutlierDetector: rows that are unlike the others."""

from copy import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from rhokit.estimators import answers
from rhokit.estimators.base import OnePassEstimator
from rhokit.estimators.parameters import MATRIX
from rhokit.readouts import OutlierReadOut
from rhokit.validation import Interval, StrOptions


class DMKDOutlierDetector(OutlierMixin, OnePassEstimator):
    r"""Outliers by what a density matrix, and a sample of rows, say of them.

    Several views of a row are turned into p-values, each by the rows that were learned
    when they are left out in turn: the density of the model, of three columns or more
    a mosaic; the distance to the nearest sampled rows, in scaled and in bent columns;
    and the distance from the mean in the metric of the covariance. The mean of the
    logarithms is compared with that of the rows left out once more, so that

    .. math:: p(x) = \frac{1 + \#\{i : s_{-i}(x_i) \ge s(x)\}}{n + 1}

    is a p-value: of rows like those that were learned, a share of p has p or less.

    Parameters
    ----------
    contamination : float in (0, 0.5] or "auto", default="auto"
        Share of the learned rows that :meth:`predict` calls outliers. ``"auto"`` calls
        those so whose p-value is at most 0.05, or 0.01 with ``training="clean"``.
    threshold : float in (0, 1), optional
        p-value up to which rows are outliers, instead: the contamination is then only
        what the model is cleaned of.
    training : {"contaminated", "clean"}, default="contaminated"
        Whether there may be outliers among the rows that are learned. If so, the model
        takes the tenth of them that is least likely when left out (or the
        contamination, if that is more) out of itself before it is asked, and looks at
        the nearest 2 % of the rows rather than at the nearest one, since outliers come
        in groups. They still count in p-values.
    gamma, n_components, feature_map, kernel, missing, unseen :
        As for :class:`DMKDE`. With ``missing="integrate"``, rows that lack values are
        compared with the others in the columns that they have.
    scale : str, array-like of shape (d,) or None, default="robust"
        As for :class:`DMKDE`.
    batch_size, dtype, random_state :
        As for :class:`DMKDE`.

    Attributes
    ----------
    offset_ : float
        Logarithm of the p-value up to which rows are outliers.
    feature_map_, scaling_, gamma_, state_ :
        As for :class:`DMKDE`.

    Notes
    -----
    A sample of at most 8,192 rows is kept, by hashes of their contents, so that models
    still add up and forget. Rows of it are recognised, wherever they come from, and
    left out when they are asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDOutlierDetector
    >>> X = np.random.default_rng(0).normal(size=(500, 3)) @ np.triu(np.ones((3, 3)))
    >>> X[7] = [2.0, -3.0, 3.0]
    >>> detector = DMKDOutlierDetector(random_state=0).fit(X)
    >>> int(detector.score_samples(X).argmin())
    7
    >>> detector.predict([[0.0, 0.0, 0.0], [2.0, -3.0, 3.1]])
    array([ 1, -1])
    >>> bool(detector.p_values([[2.0, -3.0, 3.1]])[0] < 0.003)
    True
    """

    _parameter_table: ClassVar[dict[str, Any]] = {
        name: MATRIX[name] for name in MATRIX if name != "rank"
    } | {
        "contamination": [
            Interval(Real, 0, 0.5, closed="right"),
            StrOptions({"auto"}),
        ],
        "threshold": [Interval(Real, 0, 1, closed="neither"), None],
        "training": [StrOptions({"contaminated", "clean"})],
    }

    def __init__(
        self,
        *,
        contamination: float | str = "auto",
        threshold: float | None = None,
        training: str = "contaminated",
        gamma: float | str | None = "loo",
        n_components: int = 1024,
        feature_map: Any = "auto",
        kernel: Any = "gaussian",
        scale: Any = "robust",
        missing: str = "raise",
        unseen: str = "allow",
        batch_size: int | None = None,
        dtype: Any = None,
        random_state: Any = None,
    ) -> None:
        self.contamination = contamination
        self.threshold = threshold
        self.training = training
        self.gamma = gamma
        self.n_components = n_components
        self.feature_map = feature_map
        self.kernel = kernel
        self.scale = scale
        self.missing = missing
        self.unseen = unseen
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    def make_readout(self, known: Any = None) -> OutlierReadOut:
        return (known or OutlierReadOut()).with_parameters(
            training=self.training,
            contamination=self.contamination,
            threshold=self.threshold,
        )

    def score_samples(  # type: ignore[override]
        self, X: Any
    ) -> NDArray[np.float64]:
        """Logarithm of each row's p-value, shape (n,): the lower, the odder.

        Beyond the last of the learned rows it is extrapolated, so that there are no
        ties. Rows that the sample holds are left out.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
        """
        model, rows = self.question(X)
        return np.asarray(-model.readout.surprise(model, rows))

    def p_values(self, X: Any) -> NDArray[np.float64]:
        """Share of the learned rows that are at least as odd as each row, shape (n,).

        At least :math:`1 / (n + 1)`, of n rows that are kept.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
        """
        model, rows = self.question(X)
        return np.asarray(model.readout.p_values(model, rows))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """:meth:`score_samples` less :attr:`offset_`: below zero for outliers."""
        model, rows = self.question(X)
        readout = model.readout
        return np.asarray(-readout.surprise(model, rows) - readout.offset(model))

    def predict(self, X: Any) -> NDArray[np.intp]:
        """-1 for outliers, 1 for others, shape (n,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    @property
    def offset_(self) -> float:
        """Logarithm of the p-value up to which rows are outliers."""
        model = self.fitted_model()
        return float(model.readout.offset(model))

    explain = answers.explain

    def compact(self) -> Self:
        """A copy: p-values need the rows that are kept."""
        self.fitted_model()
        return copy(self)
