"""DMKDC: classification with one density matrix per class."""

import zlib
from copy import copy
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
)

from rhokit.core import log_posterior, onehot_states
from rhokit.core.arrays import safe_log
from rhokit.estimators.outcomes import OutcomeEstimator
from rhokit.estimators.tasks import Classes
from rhokit.validation import Interval, StrOptions, all_or_nothing

# Of the likeliest class; what sums and factors leave below it is rounding.
LEAST_CHANCE = 1e-13
# A log-density is not below a threshold that it differs from by rounding.
DENSITY_SLACK = 1e-6


class ClassEstimator(ClassifierMixin, OutcomeEstimator):
    """What all classifiers share: labels, and a density matrix for each of them."""

    _landmarks_by_group = True

    @all_or_nothing
    def partial_fit(self, X, y, classes=None, sample_weight=None, *, decay=None):
        """Add a batch of rows.

        The first batch chooses scaling, γ and map as :meth:`prepare` does; later
        batches, in any order and split, give the same model as all at once.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Labels. One that was not seen before gets a place of its own.
        classes : array-like, optional
            All labels that may come, so that they have a place from the start.
        sample_weight : array-like of shape (n,), optional
        decay : float in (0, 1], optional
            Let all rows seen before count so many times as much as they did.

        Returns
        -------
        self
        """
        self._foreseen = classes
        self._add_batch(X, y, sample_weight, decay)
        del self._foreseen

    def predict(self, X):
        """The label with the largest probability for each row, shape (n,)."""
        chances = self.predict_log_proba(X)
        return self.classes_[chances.argmax(axis=1)]

    def predict_proba(self, X):
        """Probability of every class, shape (n, K), in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X):
        """Logarithms of :meth:`predict_proba`; ``-inf`` for classes without rows."""
        self._require_rows()
        return self._log_chances(self._checked(X))

    def decision_function(self, X):
        """Log-odds of the second class (n,); of several, log-probabilities (n, K)."""
        logs = self.predict_log_proba(X)
        if logs.shape[1] != 2:
            return logs
        return logs[:, 1] - logs[:, 0]

    @property
    def class_count_(self):
        """Total weight of the rows of each class, shape (K,)."""
        self._require_rows()
        return self.state_.weight

    # ---- labels ------------------------------------------------------------------

    def _check_target(self, y, rows, weights, *, reset):
        """Codes of the labels; labels that are new get a place."""
        self._require_target(y)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_consistent_length(rows, labels)
        check_classification_targets(labels)
        foreseen = getattr(self, "_foreseen", None)
        known = [labels] if foreseen is None else [column_or_1d(foreseen), labels]
        if not reset:
            known.append(self.classes_)
        self._set_classes(unique_labels(*known))
        if reset and len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs labels of at least two classes, got one "
                f"class: {self.classes_[0]!r}"
            )
        return np.searchsorted(self.classes_, labels)

    def _set_classes(self, classes):
        """Learn labels; a state gets empty places for those that are new."""
        old = getattr(self, "classes_", classes)
        if getattr(self, "state_", None) is not None and len(classes) > len(old):
            self._refuse_factor()
            places = np.searchsorted(classes, old)
            self._set_state(self.state_.spread(places.tolist(), len(classes)))
            if self.sample_ is not None:
                self.sample_ = self.sample_.with_target(places[self.sample_.target])
        self.classes_ = classes

    def _names(self, target):
        """Hashed labels: codes change when classes come to be known, these do not."""
        labels = self.classes_.tolist()
        return np.array([zlib.crc32(repr(label).encode()) for label in labels])[target]

    def _take_up(self, other):
        super()._take_up(self._align(other))

    def _give_back(self, other):
        super()._give_back(self._align(other))

    def _align(self, other):
        """The other model, once both know all labels of either."""
        self._set_classes(unique_labels(self.classes_, other.classes_))
        aligned = copy(other)
        aligned._set_classes(self.classes_)
        return aligned

    # ---- what is summed and measured -----------------------------------------------

    def _n_outcomes(self):
        return len(self.classes_) if hasattr(self, "classes_") else 2

    def _essential_targets(self, y):
        return unique_labels(y)

    def _sample_roots(self, sample):
        return onehot_states(sample.target, len(self.classes_))

    def _task(self, target, weights):
        return Classes(len(self.classes_))

    def _groups(self, target, weights):
        return target

    def _sum(self, rows, weights, target):
        n_classes = len(self.classes_)

        def roots_of(which):
            return onehot_states(target[which], n_classes)

        order = np.argsort(target, kind="stable")
        return self._sum_outcomes(rows, weights, roots_of, order, n_classes)

    def _log_priors(self):
        """Logarithm of the share of each class."""
        return self._log_shares(self.state_.weight)

    def _log_shares(self, weight):
        return safe_log(weight / weight.sum(axis=-1, keepdims=True))

    def _log_chances(self, rows):
        return log_posterior(self._log_measured(rows), self._log_priors(), LEAST_CHANCE)


class DMKDClassifier(ClassEstimator):
    r"""Classification with a density matrix per class (DMKDC).

    .. math:: \rho_k = \frac{1}{N_k} \sum_{i:\,y_i = k} \phi(x_i)\phi(x_i)^\top,
              \qquad
              P(k \mid x) = \frac{\pi_k\, \phi(x)^\top \rho_k\, \phi(x)}
                          {\sum_j \pi_j\, \phi(x)^\top \rho_j\, \phi(x)}

    (section 5.2 of the paper, whose denominator lacks the priors π). One pass, no
    optimiser; models add up (:meth:`merge`), forget (:meth:`unlearn`) and learn from
    streams (:meth:`partial_fit`), also when they know different labels.

    Parameters
    ----------
    gamma : float or {"loo", "median", "scott", "silverman"}, default="loo"
        γ of the kernel :math:`e^{-\gamma\|x-y\|^2}`. ``"loo"`` takes scaling, map and
        γ that classify most rows of a sample correctly when each is left out, in
        closed form. A number is in the units of the (scaled) rows.
    n_components : int, default=1024
        Landmarks, or random features; the most points of a grid that ``"auto"`` takes.
    rank : int, float, "elbow", "loo" or None, default=None
        Keep so many eigenvectors of each ρ for prediction: a count, a fraction of the
        dimension, those above the mean eigenvalue, or as many as classify rows left
        out best (which costs a decomposition per class). None keeps all.
    feature_map : str or FeatureMap, default="auto"
        ``"auto"`` compares landmarks with orthogonal Fourier features (one or two
        columns: takes a grid where it fits). ``"landmarks"``, which are chosen class
        by class and normalised; ``"fourier"``, the paper's; ``"grid"`` and
        ``"quadrature"``, for one to three columns, without and with a matrix; or an
        instance, which is cloned and given the model's γ.
    scale : {"auto", "std", "common", "within", "robust", "whiten"}, array or None
        Scaling of the columns, part of the model. ``"auto"`` with ``gamma="loo"``
        chooses between ``"std"`` (each column by its spread), ``"common"`` (all by
        one) and ``"within"`` (whitened by the covariance inside the classes); it is
        ``"std"`` for other rules and None when ``gamma`` is a number.
    priors : {"empirical", "uniform"} or array-like of shape (K,), default="empirical"
        π: the classes' shares of the rows, all equal, or given in the order of
        ``classes_``.
    reject : float, optional
        Let :meth:`predict` answer ``reject_label`` where the density is lower than
        for this share of the training rows, each left out of the model in turn.
    min_log_density : float, optional
        The same with a threshold on :meth:`score_samples` that you set yourself.
    reject_label : default="unknown"
        Where labels are not strings, give one of their type, or get an array of
        objects.
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
    classes_ : array of shape (K,)
    class_count_ : array of shape (K,)
    gamma_ : float
    feature_map_ : FeatureMap
    scaling_ : Scaling
    candidates_ : list of Candidate
        What leave-one-out compared, each with its score.
    state_ : DensityMatrix
        Sums per class, in the map's columns.
    threshold_ : float or None
        The log-density below which rows are rejected.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDClassifier
    >>> from rhokit.datasets import spirals
    >>> X, y = spirals(600, random_state=0)
    >>> model = DMKDClassifier(random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:])
    1.0
    """

    _parameter_table: ClassVar = ClassEstimator._parameter_table | {
        "priors": [StrOptions({"empirical", "uniform"}), "array-like"],
        "reject": [Interval(Real, 0, 1, closed="neither"), None],
        "min_log_density": [Real, None],
        "reject_label": "no_validation",
    }

    def __init__(
        self,
        *,
        gamma="loo",
        n_components=1024,
        rank=None,
        feature_map="auto",
        scale="auto",
        priors="empirical",
        reject=None,
        min_log_density=None,
        reject_label="unknown",
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
        self.priors = priors
        self.reject = reject
        self.min_log_density = min_log_density
        self.reject_label = reject_label
        self.missing = missing
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    def predict(self, X):
        """The likeliest label of each row, or ``reject_label``, shape (n,)."""
        self._require_rows()
        rows = self._checked(X)
        logs = self._log_measured(rows)
        chances = log_posterior(logs, self._log_priors(), LEAST_CHANCE)
        labels = self.classes_[chances.argmax(axis=1)]
        threshold = self.threshold_
        if threshold is None:
            return labels
        density = logsumexp(logs + self._log_priors(), axis=1) + self._log_norm()
        rejected = density < threshold - DENSITY_SLACK
        if self._lacks(rows):  # whose density is of fewer columns: not to be compared
            rejected &= ~np.isnan(rows).any(axis=1)
        if isinstance(self.reject_label, str) != (self.classes_.dtype.kind in "US"):
            labels = labels.astype(object)
        return np.where(rejected, np.asarray(self.reject_label), labels)

    @property
    def threshold_(self):
        """Log-density below which :meth:`predict` rejects, None if it never does."""
        self._require_rows()
        if self.min_log_density is not None:
            return float(self.min_log_density)
        if self.reject is None:
            return None
        return self._cache.get(
            "threshold", (self.reject, self._rank(), str(self.priors)), self._learned
        )

    def _learned(self):
        """The quantile of the sampled rows' densities, each without itself."""
        sample = self.sample_
        if sample is None:
            raise ValueError(
                "The 'reject' parameter was set after the model had seen its rows: "
                "set it before fit, or set min_log_density"
            )
        density = self._log_density_left_out(sample)
        order = np.argsort(density)
        reached = np.cumsum(sample.weight[order])
        return float(
            density[order[np.searchsorted(reached, self.reject * reached[-1])]]
        )

    def _needs_sample(self):
        return self.reject is not None

    def _needs_witnesses(self):
        return self.reject is not None  # landmarks lie closer to their own rows

    def _plan_readout(self, loo, sample):
        self._given_priors()  # so that fit refuses them, not the first prediction

    def _log_shares(self, weight):
        """Logarithms of π for classes of given weights (..., K).

        Classes without rows have none.
        """
        mass = weight if self._empirical() else self._given_priors() * (weight > 0)
        total = mass.sum(axis=-1, keepdims=True)
        if not (total > 0).all():
            raise ValueError(
                "The 'priors' parameter of DMKDClassifier must not be zero for all "
                f"classes that have rows. Got {self.priors!r} instead."
            )
        return safe_log(mass / total)

    def _empirical(self):
        return isinstance(self.priors, str) and self.priors == "empirical"

    def _given_priors(self):
        """Priors that do not depend on the weights, shape (K,)."""
        n_classes = len(self.classes_)
        if isinstance(self.priors, str):
            return np.ones(n_classes)
        priors = np.asarray(self.priors, dtype=float)
        if priors.shape != (n_classes,) or not (
            np.isfinite(priors).all() and (priors >= 0).all() and priors.any()
        ):
            raise ValueError(
                "The 'priors' parameter of DMKDClassifier must be 'empirical', "
                f"'uniform' or {n_classes} non-negative numbers, one per class. "
                f"Got {self.priors!r} instead."
            )
        return priors
