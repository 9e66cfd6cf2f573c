"""QMR-SGD: values by squared error and variance."""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from rhokit.core import squared_error_and_variance
from rhokit.estimators import QMRegressor
from rhokit.estimators.outcomes import SAMPLE_ROWS
from rhokit.estimators.row_sample import RowSample
from rhokit.nn.gradient import GradientEstimator
from rhokit.nn.heads import RegressorHead
from rhokit.validation import Interval


class QMRegressorSGD(RegressorMixin, GradientEstimator):
    r"""Regression by a joint state of inputs and targets, by gradient (QMR-SGD).

    .. math:: p_j(x) = \frac{\|A_j\phi(x)\|^2}{\sum_l\|A_l\phi(x)\|^2}, \qquad
              \min_A \frac1N\sum_i (y_i - \hat y_i)^2 + \alpha \sum_j p_j(x_i)
              (a_j - \hat y_i)^2

    (section 5.4 of the paper) for targets scaled to [0, 1], with the levels
    :math:`a_j` and the mean :math:`\hat y = \sum_j p_j a_j`.

    Parameters
    ----------
    gamma : "auto", float or rule, default="auto"
        γ of the kernel, as for :class:`QMRegressor`.
    n_components, feature_map, scale, n_levels, beta, bounds, dtype :
        As for :class:`QMRegressor`, which chooses them before training.
    rank : int or float, default=16
        r, the rank of each level's matrix: a count, or a fraction of the dimension.
    alpha : float, default=0.1
        How much the variance counts: the more, the narrower the distributions. It
        also keeps small data from being learned by heart.
    train_features : bool, default=False
        Train landmarks or frequencies too.
    init, learning_rate, max_epochs, batch_size, weight_decay, early_stopping, \
validation_fraction, patience, warm_start, checkpoint, device, random_state :
        As for :class:`DMKDESGD`. Rows that are held out also correct intervals and
        quantiles (split-conformal prediction); without them these are the raw ones of
        the distributions.

    Attributes
    ----------
    levels_ : array of shape (m,)
    estimator_ : QMRegressor
        The one-pass model with the learned state, which answers.
    module_ : RegressorHead
        Over targets scaled to [0, 1].
    history_ : dict of lists
    n_epochs_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMRegressorSGD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(1000, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(0, 0.1, 1000)
    >>> model = QMRegressorSGD(random_state=0).fit(X[:800], y[:800])
    >>> model.predict([[1.5]]).round(1)
    array([1.])
    """

    _one_pass_class = QMRegressor
    _passed_on = (*GradientEstimator._passed_on, "n_levels", "beta", "bounds")
    _parameter_table: ClassVar = (
        GradientEstimator._parameter_table
        | {
            name: QMRegressor._parameter_table[name]
            for name in (
                "n_components",
                "scale",
                "dtype",
                "n_levels",
                "beta",
                "bounds",
            )
        }
        | {"alpha": [Interval(Real, 0, None, closed="left")]}
    )

    def __init__(
        self,
        *,
        gamma="auto",
        n_components=1024,
        rank=16,
        feature_map="auto",
        scale="auto",
        n_levels=32,
        beta="loo",
        bounds=None,
        alpha=0.1,
        train_features=False,
        init="estimate",
        learning_rate=3e-3,
        max_epochs=15,
        batch_size=128,
        weight_decay=0.0,
        early_stopping="auto",
        validation_fraction=0.1,
        patience=10,
        warm_start=False,
        checkpoint=None,
        device=None,
        dtype=None,
        random_state=None,
    ):
        self.gamma = gamma
        self.n_components = n_components
        self.rank = rank
        self.feature_map = feature_map
        self.scale = scale
        self.n_levels = n_levels
        self.beta = beta
        self.bounds = bounds
        self.alpha = alpha
        self.train_features = train_features
        self.init = init
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def predict(self, X, return_std=False):
        """Mean of each row's distribution, shape (n,).

        With ``return_std``, also its standard deviation, of the same shape.
        """
        return self._ask("predict", X, return_std)

    def predict_distribution(self, X):
        """Probability of every level of ``levels_``, shape (n, m)."""
        return self._ask("predict_distribution", X)

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
        """Values below which the target lies with given probabilities, (n, q)."""
        return self._ask("predict_quantiles", X, quantiles)

    def predict_interval(self, X, coverage=0.9):
        """Interval that holds the target with a given probability, shape (n, 2)."""
        return self._ask("predict_interval", X, coverage)

    @property
    def levels_(self):
        """The levels in the units of the target."""
        return self.estimator_.levels_

    def _one_pass(self):
        return super()._one_pass().set_params(calibration=None)

    def _check(self, model, X, y, sample_weight, *, reset):
        model._require_target(y)
        target = column_or_1d(y, warn=True)
        return super()._check(model, X, target, sample_weight, reset=reset)

    def _make_module(self, model, features, rank, weight, options):
        return RegressorHead(features, model.n_levels_, rank, **options)

    def _loss(self, output, target, weight):
        return squared_error_and_variance(*output, target, self.alpha, weight)

    def _targets(self, model, target):
        width = model._high - model._low
        unit = (target - model._low) / np.where(width > 0, width, 1)
        return unit[:, 0].astype(model.feature_map_.dtype_)

    def _finish(self, model, held_out):
        """Rows that were held out make quantiles and intervals honest."""
        model.calibration, model.sample_ = None, None
        if held_out is not None:
            rows, weights, target = held_out
            model.calibration = "loo"
            model.sample_ = RowSample.of(rows, target, weights, SAMPLE_ROWS)

    @classmethod
    def from_estimator(cls, estimator, **parameters):
        """A model that predicts exactly what a one-pass model of one target does.

        See :meth:`DMKDESGD.from_estimator`.
        """
        model = super().from_estimator(estimator, **parameters)
        if not estimator._one_target:
            raise ValueError(
                "QMRegressorSGD.from_estimator takes models of one target, given as y "
                f"of shape (n,); this one has {len(estimator.output_maps_)} target(s) "
                "in columns"
            )
        return model

    def to_estimator(self):
        """A :class:`QMRegressor` with the learned state, which predicts the same.

        Its quantiles and intervals are the raw ones: the rows that corrected this
        model's are no part of the state, as those of a one-pass model are.
        """
        model = super().to_estimator()
        if hasattr(self, "module_"):
            model.calibration, model.sample_ = None, None
        return model
