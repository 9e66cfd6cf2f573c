"""DMKDC-SGD and QMC-SGD: classes by cross-entropy."""

from typing import Any

from sklearn.base import ClassifierMixin

from rhokit.estimators import DMKDClassifier, QMClassifier
from rhokit.nn.gradient import GradientEstimator
from rhokit.nn.tasks import ClassTask, JointClassTask


class DMKDClassifierSGD(ClassifierMixin, GradientEstimator):
    r"""Classification with a density matrix per class, trained by gradient (DMKDC-SGD).

    .. math:: P(k \mid x) = \frac{\pi_k \|A_k\phi(x)\|^2}{\sum_j \pi_j\|A_j\phi(x)\|^2},
              \qquad \mathrm{tr}\,A_k^\top A_k = 1, \qquad
              \max_A \frac1N\sum_i \log P(y_i \mid x_i)

    Parameters
    ----------
    gamma : "auto", float or rule, default="auto"
        γ of the kernel, as for :class:`DMKDClassifier`. ``"auto"`` takes a sixteenth of
        what ``"loo"`` chooses there: trained states make sharp edges of wide kernels.
    n_components, feature_map, kernel, scale, priors, dtype :
        As for :class:`DMKDClassifier`, which chooses them before training.
    reject : float, optional
        Let :meth:`predict` answer ``reject_label`` where the density is lower than
        for this share of the rows that were held out; where there are none, of rows
        trained on.
    min_log_density, reject_label, missing, unseen :
        As for :class:`DMKDClassifier`; with ``missing="integrate"``, ``"auto"`` takes
        landmarks.
    rank : "auto", int or float, default="auto"
        r, the rank of each class's state: a count, or a fraction of the dimension.
        ``"auto"`` leaves the model free to be a blend, where :class:`DMKDClassifier`
        takes one. Elsewhere it is 32.
    label_smoothing : float, default=0.0
        Train as if so large a share of the rows had a label at random. Up to 0.3 it
        often gives better labels, and always worse probabilities.
    train_features : bool, default=False
        Train landmarks or frequencies too.
    max_epochs : int or "auto", default="auto"
        Ten, or as many as make 400 steps of few rows.
    weight_decay : float, default=1.0
        How fast directions that no row asks for fade, per unit of the learning rate.
    init, learning_rate, batch_size, early_stopping :
        As for :class:`DMKDESGD`.
    validation_fraction, patience, warm_start, checkpoint, device, random_state :
        As for :class:`DMKDESGD`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    estimator_ : DMKDClassifier
        The one-pass model with the learned state, which answers.
    module_ : ClassifierHead
        A blend has none.
    history_ : dict of lists
    n_epochs_ : int
    improved_ : bool
        Whether training was better than its start for the rows that judge (without
        any, for rows trained on). If not, the model is the start.

    Examples
    --------
    >>> from rhokit import DMKDClassifierSGD
    >>> from rhokit.datasets import spirals
    >>> X, y = spirals(600, random_state=0)
    >>> model = DMKDClassifierSGD(random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:])
    1.0
    """

    one_pass_class = DMKDClassifier

    def __init__(
        self,
        *,
        gamma: float | str = "auto",
        n_components: int = 1024,
        rank: Any = "auto",
        feature_map: Any = "auto",
        kernel: Any = "gaussian",
        scale: Any = "auto",
        priors: Any = "empirical",
        reject: float | None = None,
        min_log_density: float | None = None,
        reject_label: Any = "unknown",
        missing: str = "raise",
        unseen: str = "allow",
        train_features: bool = False,
        init: str = "estimate",
        learning_rate: float = 5e-3,
        max_epochs: int | str = "auto",
        batch_size: int = 128,
        label_smoothing: float = 0.0,
        weight_decay: float = 1.0,
        early_stopping: bool | str = False,
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
        self.priors = priors
        self.reject = reject
        self.min_log_density = min_log_density
        self.reject_label = reject_label
        self.missing = missing
        self.unseen = unseen
        self.train_features = train_features
        self.init = init
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.label_smoothing = label_smoothing
        self.weight_decay = weight_decay
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def training_task(self) -> ClassTask:
        """Cross-entropy of labels, each with a state of its own."""
        return ClassTask(self.label_smoothing)


class QMClassifierSGD(ClassifierMixin, GradientEstimator):
    r"""Classification by a joint state of inputs and labels, by gradient (QMC-SGD).

    .. math:: \rho = \sum_k A_k^\top A_k \otimes \psi(k)\psi(k)^\top, \qquad
              \mathrm{tr}\,\rho = 1, \qquad
              P(k \mid x) \propto \psi(k)^\top \rho_Y(x)\, \psi(k)

    with :math:`\rho_Y(x)` as for :class:`QMClassifier`. With one-hot outputs the
    diagonal of :math:`\rho_Y` is all that counts, and any joint factor of the paper's
    shape :math:`r \times D D_Y` gives it.

    Parameters
    ----------
    gamma : "auto", float or rule, default="auto"
        As for :class:`DMKDClassifierSGD`.
    n_components, feature_map, kernel, scale, output_map, dtype :
        As for :class:`QMClassifier`, which chooses them before training.
    missing : {"raise", "integrate"}, default="raise"
        As for :class:`DMKDESGD`.
    unseen : {"allow", "raise"}, default="allow"
        As for :class:`DMKDE`.
    rank : int or float, default=32
        r, the rank of each label's matrix: a count, or a fraction of the dimension.
    label_smoothing : float, default=0.0
        Train as if so large a share of the rows had a label at random. Up to 0.3 it
        often gives better labels, and always worse probabilities.
    train_features : bool, default=False
        Train landmarks or frequencies too.
    max_epochs : int or "auto", default="auto"
        Ten, or as many as make 400 steps of few rows.
    weight_decay : float, default=1.0
        How fast directions that no row asks for fade, per unit of the learning rate.
    init, learning_rate, batch_size, early_stopping :
        As for :class:`DMKDESGD`.
    validation_fraction, patience, warm_start, checkpoint, device, random_state :
        As for :class:`DMKDESGD`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    estimator_ : QMClassifier
        The one-pass model with the learned state, which answers.
    module_ : ClassifierHead
    history_ : dict of lists
    n_epochs_ : int

    Examples
    --------
    >>> from rhokit import QMClassifierSGD
    >>> from rhokit.datasets import spirals
    >>> X, y = spirals(600, random_state=0)
    >>> model = QMClassifierSGD(random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:])
    1.0
    """

    one_pass_class = QMClassifier

    def __init__(
        self,
        *,
        gamma: float | str = "auto",
        n_components: int = 1024,
        rank: Any = 32,
        feature_map: Any = "auto",
        kernel: Any = "gaussian",
        scale: Any = "auto",
        output_map: Any = "onehot",
        missing: str = "raise",
        unseen: str = "allow",
        train_features: bool = False,
        init: str = "estimate",
        learning_rate: float = 5e-3,
        max_epochs: int | str = "auto",
        batch_size: int = 128,
        label_smoothing: float = 0.0,
        weight_decay: float = 1.0,
        early_stopping: bool | str = False,
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
        self.output_map = output_map
        self.missing = missing
        self.unseen = unseen
        self.train_features = train_features
        self.init = init
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.label_smoothing = label_smoothing
        self.weight_decay = weight_decay
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def training_task(self) -> JointClassTask:
        """Cross-entropy of labels in one joint state."""
        return JointClassTask(self.label_smoothing)
