"""DMKDC-SGD and QMC-SGD: classes by cross-entropy."""

from copy import copy
from numbers import Real
from typing import ClassVar

import numpy as np
import torch
from sklearn.base import ClassifierMixin

from rhokit.core import cross_entropy
from rhokit.core.arrays import safe_log
from rhokit.estimators import DMKDClassifier, QMClassifier
from rhokit.nn.gradient import GradientEstimator
from rhokit.nn.heads import ClassifierHead
from rhokit.validation import Interval


class ClassGradient(ClassifierMixin, GradientEstimator):
    """What both classifiers share: labels, and answers about them."""

    _widening = 16.0
    _parameter_table: ClassVar = GradientEstimator._parameter_table | {
        "label_smoothing": [Interval(Real, 0, 1, closed="left")],
    }

    def predict(self, X):
        """The label with the largest probability for each row, shape (n,)."""
        return self._ask("predict", X)

    def predict_proba(self, X):
        """Probability of every class, shape (n, K), in the order of ``classes_``."""
        return self._ask("predict_proba", X)

    def predict_log_proba(self, X):
        """Logarithms of :meth:`predict_proba`."""
        return self._ask("predict_log_proba", X)

    def decision_function(self, X):
        """Log-odds of the second class (n,); of several, log-probabilities (n, K)."""
        return self._ask("decision_function", X)

    @property
    def classes_(self):
        """The labels, shape (K,)."""
        return self.estimator_.classes_

    def _check(self, model, X, y, sample_weight, *, reset):
        if reset:
            return super()._check(model, X, y, sample_weight, reset=True)
        known, attempt = model.classes_, copy(model)
        attempt.state_ = None  # labels that are new would change it
        checked = super()._check(attempt, X, y, sample_weight, reset=False)
        new = np.setdiff1d(attempt.classes_, known)
        if len(new):
            raise ValueError(
                f"y holds labels that this {type(self).__name__} was not fitted to: "
                f"{new.tolist()}; it knows {known.tolist()}"
            )
        return checked

    def _loss(self, output, target, weight):
        return cross_entropy(output, target, weight, smoothing=self.label_smoothing)

    def _targets(self, model, target):
        return target

    def _groups(self, target, n_rows):
        return target


class DMKDClassifierSGD(ClassGradient):
    r"""Classification with a density matrix per class, trained by gradient (DMKDC-SGD).

    .. math:: P(k \mid x) = \frac{\pi_k \|A_k\phi(x)\|^2}{\sum_j \pi_j\|A_j\phi(x)\|^2},
              \qquad \mathrm{tr}\,A_k^\top A_k = 1, \qquad
              \max_A \frac1N\sum_i \log P(y_i \mid x_i)

    Parameters
    ----------
    gamma : "auto", float or rule, default="auto"
        γ of the kernel, as for :class:`DMKDClassifier`. ``"auto"`` takes a sixteenth of
        what ``"loo"`` chooses there: trained states make sharp edges of wide kernels.
    n_components, feature_map, scale, priors, dtype :
        As for :class:`DMKDClassifier`, which chooses them before training.
    rank : int or float, default=32
        r, the rank of each class's state: a count, or a fraction of the dimension.
    label_smoothing : float, default=0.0
        Train as if so large a share of the rows had a label at random. Up to 0.3 it
        often gives better labels, and always worse probabilities.
    train_features : bool, default=False
        Train landmarks or frequencies too.
    max_epochs : int or "auto", default="auto"
        Ten, or as many as make 400 steps of few rows.
    weight_decay : float, default=1.0
        How fast directions that no row asks for fade, per unit of the learning rate.
    init, learning_rate, batch_size, early_stopping, \
validation_fraction, patience, warm_start, checkpoint, device, random_state :
        As for :class:`DMKDESGD`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    estimator_ : DMKDClassifier
        The one-pass model with the learned state, which answers.
    module_ : ClassifierHead
    history_ : dict of lists
    n_epochs_ : int

    Examples
    --------
    >>> from rhokit import DMKDClassifierSGD
    >>> from rhokit.datasets import spirals
    >>> X, y = spirals(600, random_state=0)
    >>> model = DMKDClassifierSGD(random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:])
    1.0
    """

    _one_pass_class = DMKDClassifier
    _passed_on = (*GradientEstimator._passed_on, "priors")
    _parameter_table: ClassVar = ClassGradient._parameter_table | {
        name: DMKDClassifier._parameter_table[name]
        for name in ("n_components", "scale", "dtype", "priors")
    }

    def __init__(
        self,
        *,
        gamma="auto",
        n_components=1024,
        rank=32,
        feature_map="auto",
        scale="auto",
        priors="empirical",
        train_features=False,
        init="estimate",
        learning_rate=5e-3,
        max_epochs="auto",
        batch_size=128,
        label_smoothing=0.0,
        weight_decay=1.0,
        early_stopping=False,
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
        self.priors = priors
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

    def _make_module(self, model, features, rank, weight, options):
        priors = np.exp(model._log_shares(weight))
        return ClassifierHead(
            features, len(model.classes_), rank, priors=priors, **options
        )

    def _learned(self, model, head, checked):
        return head.measurement.scaled_factor(), self._weights(model, checked)

    def _update_head(self, head, model, checked):
        logs = model._log_shares(self._weights(model, checked))
        head.log_priors.copy_(torch.from_numpy(logs))

    def _exact_module(self, estimator):
        head = super()._exact_module(estimator)
        # One-pass states are not scaled to trace one: what a rank loses stays lost.
        head.log_priors += safe_log(head.measurement.traces()).detach()
        return head

    def _weights(self, model, checked):
        """Weight of each class."""
        _, weights, target = checked
        return np.bincount(target, weights, len(model.classes_)).astype(float)


class QMClassifierSGD(ClassGradient):
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
    n_components, feature_map, scale, output_map, dtype :
        As for :class:`QMClassifier`, which chooses them before training.
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
    init, learning_rate, batch_size, early_stopping, \
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

    _one_pass_class = QMClassifier
    _passed_on = (*GradientEstimator._passed_on, "output_map")
    _parameter_table: ClassVar = ClassGradient._parameter_table | {
        name: QMClassifier._parameter_table[name]
        for name in ("n_components", "scale", "dtype", "output_map")
    }

    def __init__(
        self,
        *,
        gamma="auto",
        n_components=1024,
        rank=32,
        feature_map="auto",
        scale="auto",
        output_map="onehot",
        train_features=False,
        init="estimate",
        learning_rate=5e-3,
        max_epochs="auto",
        batch_size=128,
        label_smoothing=0.0,
        weight_decay=1.0,
        early_stopping=False,
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
        self.output_map = output_map
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

    def predict_state(self, X):
        """Density matrix of the label of each row, shape (n, D_Y, D_Y), trace one."""
        return self._ask("predict_state", X)

    @property
    def output_states_(self):
        """States of the labels, shape (K, D_Y), in the order of ``classes_``."""
        return self.estimator_.output_states_

    def _make_module(self, model, features, rank, weight, options):
        outputs = model.output_states_
        return ClassifierHead(
            features,
            len(model.classes_),
            rank,
            joint=True,
            overlaps=(outputs @ outputs.T) ** 2,
            **options,
        )

    def _trained(self, model, head, checked):
        trained = super()._trained(model, head, checked)
        trained.joint_rank = None
        return trained

    def _exact_module(self, estimator):
        if estimator.joint_rank is not None:
            raise ValueError(
                "to_module: a joint_rank truncates the joint state, which no module "
                "of one factor per label computes: train first, or take rank"
            )
        return super()._exact_module(estimator)
