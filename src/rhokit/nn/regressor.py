"""QMR-SGD: values by squared error and variance."""

from typing import Any

from sklearn.base import RegressorMixin

from rhokit.estimators import QMRegressor
from rhokit.nn.gradient import GradientEstimator
from rhokit.nn.tasks import ValueTask


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
    n_components, feature_map, kernel, scale, n_levels, beta, bounds, dtype :
        As for :class:`QMRegressor`, which chooses them before training.
    calibration : {"loo"} or None, default="loo"
        Correct quantiles and intervals by what they missed on rows that were held out
        (split-conformal prediction). Without such rows, or with None, these are the
        raw ones of the distributions.
    missing : {"raise", "integrate"}, default="raise"
        As for :class:`DMKDESGD`.
    unseen : {"allow", "raise"}, default="allow"
        As for :class:`DMKDE`.
    rank : "auto", int or float, default="auto"
        r, the rank of each level's matrix: a count, or a fraction of the dimension.
        ``"auto"`` leaves the model free to be a blend, where :class:`QMRegressor`
        takes one. Elsewhere it is 16.
    alpha : float, default=0.1
        How much the variance counts: the more, the narrower the distributions. It
        also keeps small data from being learned by heart. A blend has no use for it.
    train_features : bool, default=False
        Train landmarks or frequencies too.
    init, learning_rate, max_epochs, batch_size, weight_decay, early_stopping :
        As for :class:`DMKDESGD`.
    validation_fraction, patience, warm_start, checkpoint, device, random_state :
        As for :class:`DMKDESGD`.

    Attributes
    ----------
    levels_ : array of shape (m,)
    estimator_ : QMRegressor
        The one-pass model with the learned state, which answers.
    module_ : RegressorHead
        Over targets scaled to [0, 1]; none of a blend.
    history_ : dict of lists
    n_epochs_ : int
    improved_ : bool
        As for :class:`DMKDClassifierSGD`.

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

    one_pass_class = QMRegressor
    auto_rank = 16

    def __init__(
        self,
        *,
        gamma: float | str = "auto",
        n_components: int = 1024,
        rank: Any = "auto",
        feature_map: Any = "auto",
        kernel: Any = "gaussian",
        scale: Any = "auto",
        n_levels: Any = 32,
        beta: Any = "loo",
        bounds: Any = None,
        calibration: str | None = "loo",
        missing: str = "raise",
        unseen: str = "allow",
        alpha: float = 0.1,
        train_features: bool = False,
        init: str = "estimate",
        learning_rate: float = 3e-3,
        max_epochs: int | str = 15,
        batch_size: int = 128,
        weight_decay: float = 0.0,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        patience: int = 10,
        warm_start: bool = False,
        checkpoint: Any = None,
        device: Any = None,
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

    def training_task(self) -> ValueTask:
        """Squared error and variance."""
        return ValueTask(self.alpha)
