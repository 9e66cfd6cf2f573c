"""DMKDE-SGD: densities by maximum likelihood."""

from typing import Any

from sklearn.base import DensityMixin

from rhokit.estimators import DMKDE
from rhokit.nn.gradient import GradientEstimator
from rhokit.nn.tasks import DensityTask


class DMKDESGD(DensityMixin, GradientEstimator):
    r"""Density estimation with a density matrix trained by gradient (DMKDE-SGD).

    .. math:: \hat f(x) = \frac{\|A\phi(x)\|^2}{\int \|A\phi(x)\|^2 dx}, \qquad
              \max_A \frac1N\sum_i \log \hat f(x_i)

    with a factor :math:`A` of given rank, which starts from that of the one-pass
    :class:`DMKDE`. With landmarks or a grid the integral is known in closed form, so
    the density always integrates to one and likelihoods can be compared. With the
    paper's random features it is not, and the trace stands in its place: what training
    gains then may be mass, up to a factor of :math:`2^{d/2}`.

    Parameters
    ----------
    gamma : "auto", float or rule, default="auto"
        γ of the kernel, as for :class:`DMKDE`; ``"auto"`` is ``"loo"``.
    n_components, feature_map, kernel, scale, dtype :
        As for :class:`DMKDE`, which chooses them before training.
    missing : {"raise", "integrate"}, default="raise"
        What to do with missing values. ``"integrate"`` answers from the columns that a
        row has, the others integrated over in closed form (over landmarks, which
        ``"auto"`` then takes); it trains on rows without gaps.
    unseen : {"allow", "raise"}, default="allow"
        What to do with categories that were not learned. They are an outcome of their
        own, whose probability the rows tell by leave-one-out; ``"raise"`` refuses them.
    rank : int or float, default=32
        r, the rank of the state: a count, or a fraction of the dimension.
    train_features : bool, default=False
        Train landmarks or frequencies too. With random features the likelihood has
        singularities then, as the paper warns.
    init : {"estimate", "random"}, default="estimate"
        Start from the one-pass state, or at random.
    learning_rate : float, default=0.01
        The highest one of a cycle that rises quickly and falls to zero.
    max_epochs : int or "auto", default=30
        ``"auto"``: ten, or as many as make 400 steps of few rows.
    batch_size : int, default=512
    weight_decay : float, default=0.0
    early_stopping : bool or "auto", default="auto"
        Keep the epoch that is best for rows held out, and stop when there has been
        none for long. ``"auto"`` does so if at least 20 rows can be held out. Of
        blends, which some classifiers and regressors are, rows are always held out.
    validation_fraction : float, default=0.1
        Share of the rows that is held out; copies of a row stay together.
    patience : int, default=10
        Epochs without improvement before training stops.
    warm_start : bool, default=False
        Let :meth:`fit` go on from where the model is.
    checkpoint : str or path, optional
        File to write after every epoch; :meth:`fit` goes on from it if it is there.
    device : str or torch.device, optional
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    estimator_ : DMKDE
        The one-pass model with the learned state, which answers.
    module_ : DensityHead
    history_ : dict of lists
        Loss, learning rate and validation loss of every epoch.
    n_epochs_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE, DMKDESGD
    >>> from rhokit.datasets import bimodal
    >>> X, new = (bimodal(2000, random_state=seed) for seed in (0, 1))
    >>> trained = DMKDESGD(rank=8, random_state=0).fit(X)
    >>> bool(trained.score(new) > DMKDE(rank=8, random_state=0).fit(X).score(new))
    True
    """

    one_pass_class = DMKDE

    def __init__(
        self,
        *,
        gamma: float | str = "auto",
        n_components: int = 1024,
        rank: Any = 32,
        feature_map: Any = "auto",
        kernel: Any = "gaussian",
        scale: Any = "auto",
        missing: str = "raise",
        unseen: str = "allow",
        train_features: bool = False,
        init: str = "estimate",
        learning_rate: float = 0.01,
        max_epochs: int | str = 30,
        batch_size: int = 512,
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
        self.missing = missing
        self.unseen = unseen
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

    def training_task(self) -> DensityTask:
        """Maximum likelihood."""
        return DensityTask()
