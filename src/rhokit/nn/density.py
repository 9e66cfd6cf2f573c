"""DMKDE-SGD: densities by maximum likelihood."""

import warnings
from typing import ClassVar

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from rhokit.core import negative_log_likelihood
from rhokit.estimators import DMKDE
from rhokit.nn.features import FourierLayer
from rhokit.nn.gradient import GradientEstimator, total_weight
from rhokit.nn.heads import DensityHead
from rhokit.nn.training import TrainingWarning


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
    n_components, feature_map, scale, dtype :
        As for :class:`DMKDE`, which chooses them before training.
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
        none for long. ``"auto"`` does so if at least 20 rows can be held out.
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

    _one_pass_class = DMKDE
    _parameter_table: ClassVar = GradientEstimator._parameter_table | {
        name: DMKDE._parameter_table[name]
        for name in ("n_components", "scale", "dtype")
    }

    def __init__(
        self,
        *,
        gamma="auto",
        n_components=1024,
        rank=32,
        feature_map="auto",
        scale="auto",
        train_features=False,
        init="estimate",
        learning_rate=0.01,
        max_epochs=30,
        batch_size=512,
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

    def score_samples(self, X):
        """Log-density at each row, in the user's units, shape (n,)."""
        return self._ask("score_samples", X)

    def score(self, X, y=None, sample_weight=None):
        """Mean log-density of the rows."""
        return self._ask("score", X, None, sample_weight)

    def density(self, X):
        """Density at each row, in the user's units, shape (n,)."""
        return self._ask("density", X)

    def sample(self, n_samples=1, random_state=None):
        """Rows drawn from the fitted density: see :meth:`DMKDE.sample`."""
        check_is_fitted(self)
        return self.estimator_.sample(n_samples, random_state)

    def coverage(self, X):
        """How well the map represents each row: see :meth:`DMKDE.coverage`."""
        return self._ask("coverage", X)

    @property
    def floor_(self):
        """Log-density below which the map cannot tell the density from zero."""
        return self.estimator_.floor_

    def _make_module(self, model, features, rank, weight, options):
        if isinstance(features, FourierLayer) and not features.frozen:
            warnings.warn(
                "train_features=True with random features: the likelihood has "
                "singularities, so watch validation rows; trained landmarks have none",
                TrainingWarning,
                stacklevel=2,
            )
        return DensityHead(features, rank, log_norm=-model._log_norm(), **options)

    def _loss(self, output, target, weight):
        return negative_log_likelihood(output, weight)

    def _learned(self, model, head, checked):
        mass = (head.log_mass() / 2).exp()
        factor = head.measurement.scaled_factor() / mass
        return factor, np.array([total_weight(checked)])

    def _exact_module(self, estimator):
        head = super()._exact_module(estimator)
        # A one-pass state is not scaled to mass one: what rank and map lose stays lost.
        trace, log_mass = head.measurement.traces()[0], head.log_mass()
        head.log_norm.copy_((head.log_norm - trace.log() - log_mass).detach())
        return head
