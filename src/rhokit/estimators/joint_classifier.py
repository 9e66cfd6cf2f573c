"""QMC: classification by measuring the joint state of inputs and labels."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import clone

from rhokit.core import log_posterior
from rhokit.core.arrays import safe_log
from rhokit.estimators.classifier import LEAST_CHANCE, ClassEstimator
from rhokit.estimators.supervised_choice import map_overlaps
from rhokit.estimators.tasks import OrderedClasses, shares
from rhokit.fast import joint_factor, small_algebra
from rhokit.features import FeatureMap, SoftmaxFeatures
from rhokit.validation import Interval, StrOptions, check_weights

OUTPUT_MAPS = ("onehot", "softmax")
# How a distribution over ordered labels becomes one of them.
DECISIONS = ("mode", "median", "mean")


class QMClassifier(ClassEstimator):
    r"""Classification by measuring a joint state of inputs and labels (QMC).

    Each row is the product of an input state and an output state, and the data are
    their joint density matrix (section 5.3 of the paper),

    .. math:: \rho = \frac1N \sum_i \phi(x_i)\phi(x_i)^\top \otimes
              \psi(y_i)\psi(y_i)^\top.

    Measuring it with the state of a new input leaves a density matrix of the label,

    .. math:: \rho_Y(x) = \frac{\mathrm{Tr}_X[\pi_x \rho\, \pi_x]}
              {\mathrm{Tr}[\pi_x \rho\, \pi_x]}, \qquad
              \pi_x = \phi(x)\phi(x)^\top \otimes I,

    and a label's probability is proportional to
    :math:`\psi(k)^\top \rho_Y(x)\, \psi(k)`. Since labels are few, the joint matrix is
    a sum over them, :math:`\rho = \sum_k S_k \otimes \psi(k)\psi(k)^\top`, and only the
    :math:`S_k` are kept: the Kronecker product is never formed, and any output map is
    exact. With one-hot outputs the model is :class:`DMKDClassifier` with empirical
    priors.

    Parameters
    ----------
    gamma, n_components, rank, feature_map, scale, missing, batch_size, dtype, \
random_state :
        As for :class:`DMKDClassifier`.
    output_map : {"onehot", "softmax"} or FeatureMap, default="onehot"
        States of the labels: orthogonal; ``"softmax"`` for labels that have an order,
        as overlapping states over their ranks; or a map of one column, fitted to the
        labels.
    joint_rank : int, optional
        Keep so many eigenvectors of the joint matrix. Not the same as ``rank``, which
        truncates each label's matrix by itself; only one of them can be given.

    Attributes
    ----------
    classes_, class_count_, gamma_, feature_map_, scaling_, candidates_, state_ :
        As for :class:`DMKDClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMClassifier
    >>> from rhokit.datasets import spirals
    >>> X, y = spirals(600, random_state=0)
    >>> model = QMClassifier(random_state=0).fit(X[:400], y[:400])
    >>> rho = model.predict_state(X[400:402])
    >>> rho.shape
    (2, 3, 3)
    >>> np.trace(rho, axis1=1, axis2=2).round(6)
    array([1., 1.])
    """

    _on_grid = False  # blocks of a joint matrix are no densities
    _parameter_table: ClassVar = ClassEstimator._parameter_table | {
        "output_map": [StrOptions(set(OUTPUT_MAPS)), FeatureMap],
        "joint_rank": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        gamma="loo",
        n_components=1024,
        rank=None,
        feature_map="auto",
        scale="auto",
        output_map="onehot",
        joint_rank=None,
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
        self.output_map = output_map
        self.joint_rank = joint_rank
        self.missing = missing
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    def predict_state(self, X):
        """Density matrix of the label of each row, shape (n, D_Y, D_Y), trace one.

        In the basis of the output states: see :attr:`output_states_`.
        """
        self._require_rows()
        rows = self._checked(X)
        if self._joint_rank() is not None:
            return self._joint_states(rows)
        return self._mixture(np.exp(self._log_mixture(rows)))

    @property
    def output_states_(self):
        """States of the labels, shape (K, D_Y), in the order of ``classes_``."""
        n_classes = len(self.classes_)
        if isinstance(self.output_map, str):
            if self.output_map == "onehot":
                return np.eye(n_classes)
            return self._softmax_states(self._beta())
        labels = self.classes_[:, None]
        output_map = clone(self.output_map)
        if output_map.get_params().get("random_state", 0) is None:
            output_map.set_params(random_state=self._output_seed)
        states = output_map.fit(labels).transform(labels)
        if np.iscomplexobj(states):
            raise ValueError(
                "The 'output_map' parameter of QMClassifier must give real states. "
                f"Got {self.output_map!r} instead, whose states are complex."
            )
        return states.astype(np.float64)

    def _plan_readout(self, loo, sample):
        self._output_seed = self._draw_seed()
        # So that fit refuses what does not fit together, not the first prediction.
        self._joint_rank()

    def _softmax_states(self, beta):
        ranks = np.arange(len(self.classes_), dtype=float)[:, None]
        softmax = SoftmaxFeatures(n_components=len(self.classes_), beta=beta)
        return softmax.fit(ranks).transform(ranks)

    def _beta(self):
        return None

    def _log_chances(self, rows):
        outputs = self.output_states_
        if self._joint_rank() is None and np.array_equal(outputs, np.eye(len(outputs))):
            return self._log_mixture(rows)
        if self._joint_rank() is None:
            # ψ_kᵀ ρ_Y ψ_k, without ρ_Y: labels mix by their squared overlaps.
            mixture = np.exp(self._log_mixture(rows))
            measured = mixture @ (outputs @ outputs.T) ** 2
        else:
            states = self._joint_states(rows)
            measured = np.einsum("nab,ka,kb->nk", states, outputs, outputs)
        even = np.zeros(len(outputs))
        return log_posterior(safe_log(np.clip(measured, 0, None)), even, LEAST_CHANCE)

    def _log_mixture(self, rows):
        """Logarithms of the labels' weights in ρ_Y, shape (n, K)."""
        return super()._log_chances(rows)

    def _mixture(self, chances):
        """ρ_Y as the mixture of the labels' states, shape (n, D_Y, D_Y)."""
        outputs = self.output_states_
        projections = outputs[:, :, None] * outputs[:, None, :]  # (K, D_Y, D_Y)
        return np.tensordot(chances, projections, axes=1)

    # ---- the joint matrix, truncated as one ----------------------------------------

    def _joint_rank(self):
        """The rank of the joint matrix, None where it keeps everything."""
        n_outputs = self.output_states_.shape[1]
        if self.joint_rank is None:
            return None
        if self.rank is not None:
            raise ValueError(
                "The 'rank' and 'joint_rank' parameters of "
                f"{type(self).__name__} exclude each other. Got rank={self.rank!r} "
                f"and joint_rank={self.joint_rank!r}."
            )
        size = self.feature_map_.n_components_ * n_outputs
        return self.joint_rank if self.joint_rank < size - 1 else None

    def _joint_states(self, rows):
        """ρ_Y of checked rows from the truncated joint matrix."""
        if self._lacks(rows):
            raise ValueError(
                "missing values cannot be integrated over with a joint_rank: set it to "
                "None, or fill them"
            )
        key = self.joint_rank, self.output_states_.tobytes()
        factor = self._cache.get("joint", key, self._joint_factor)  # (r, m, D_Y)
        rank, n_columns, n_outputs = factor.shape
        weights = factor.transpose(1, 0, 2).reshape(n_columns, rank * n_outputs)

        def use(worker, which, columns, log_scale):
            amplitudes = (columns @ weights).reshape(len(columns), rank, n_outputs)
            return np.einsum("nra,nrb->nab", amplitudes.conj(), amplitudes)

        states = np.concatenate(self._for_blocks(rows, use, relative=True)).real
        states = states.astype(np.float64)
        trace = np.trace(states, axis1=1, axis2=2)[:, None, None]
        prior = self._mixture(np.exp(self._log_priors())[None])
        return np.where(trace > 0, states / np.where(trace > 0, trace, 1), prior)

    def _joint_factor(self):
        """The truncated factor over the map's columns, shape (r, m, D_Y)."""
        state = self.density_matrix_
        shares = self.state_.weight / self.state_.weight.sum()
        sums = state.normalized() * shares[:, None, None]
        whitening = self._measured_map().whitening_
        with small_algebra(len(sums[0])):
            factor = joint_factor(sums, self.output_states_, self._joint_rank())
        if whitening is not None:
            folded = np.tensordot(whitening.astype(np.float64), factor, axes=(1, 1))
            factor = folded.transpose(1, 0, 2)
        return factor.conj().astype(self.feature_map_.column_dtype_)


class QMOrdinalClassifier(QMClassifier):
    r"""Labels with an order, by measuring a joint state (QMC with softmax outputs).

    A :class:`QMClassifier` whose output states are the paper's softmax states over
    the labels' ranks. The diagonal of :math:`\rho_Y(x)` is a distribution over the
    labels, and the prediction is the one of least absolute error under it. That need
    not be the likeliest label, so scikit-learn does not count the model among the
    classifiers: for folds with equal shares of the labels, say ``StratifiedKFold``.

    Parameters
    ----------
    gamma : float or {"loo", "median", "scott", "silverman"}, default="loo"
        As for :class:`DMKDClassifier`; ``"loo"`` minimises the ranked probability
        score, the squared error of cumulative probabilities.
    n_components, rank, feature_map, scale, joint_rank, missing, batch_size, dtype, \
random_state :
        As for :class:`QMClassifier`.
    beta : float or "loo", default="loo"
        Sharpness of the output states, for ranks scaled to [0, 1]: the larger, the
        less neighbouring labels overlap.
    decision : {"loo", "mean", "median", "mode"}, default="loo"
        Predict the rounded mean of the labels' ranks, their median, or the likeliest
        label; ``"loo"`` takes what has the smallest absolute error on rows left out.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Labels, in their order.
    beta_ : float
    decision_ : {"mean", "median", "mode"}

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=400), [-1, 0, 1])
    >>> model = QMOrdinalClassifier(random_state=0).fit(X[:300], y[:300])
    >>> bool(np.abs(model.predict(X[300:]) - y[300:]).mean() < 0.4)
    True
    """

    _parameter_table: ClassVar = {
        name: rule
        for name, rule in QMClassifier._parameter_table.items()
        if name != "output_map"
    } | {
        "beta": [Interval(Real, 0, None, closed="neither"), StrOptions({"loo"})],
        "decision": [StrOptions({"loo", *DECISIONS})],
    }
    # Sharpness in units of the distance between two labels.
    _BETAS = (0.5, 1.0, 2.0, 4.0, 8.0, 32.0)

    output_map = "softmax"

    def __init__(
        self,
        *,
        gamma="loo",
        n_components=1024,
        rank=None,
        feature_map="auto",
        scale="auto",
        joint_rank=None,
        beta="loo",
        decision="loo",
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
        self.joint_rank = joint_rank
        self.beta = beta
        self.decision = decision
        self.missing = missing
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    def predict(self, X):
        """The label of least absolute error for each row, shape (n,)."""
        chances = self.predict_proba(X)
        return self.classes_[decide(chances, self.decision_)]

    def score(self, X, y, sample_weight=None):
        """Less the mean absolute error, in ranks of the labels."""
        ranks = [np.searchsorted(self.classes_, part) for part in (self.predict(X), y)]
        error = np.abs(ranks[0] - ranks[1])
        return -float(np.average(error, weights=check_weights(sample_weight, len(X))))

    def __sklearn_tags__(self):
        # scikit-learn holds classifiers to predicting the likeliest label.
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = None, None
        return tags

    def _task(self, target, weights):
        return OrderedClasses(len(self.classes_))

    def _plan_readout(self, loo, sample):
        """Choose β and the decision from rows that are left out."""
        self.beta_ = None if self.beta == "loo" else float(self.beta)
        self.decision_ = None if self.decision == "loo" else self.decision
        if self.beta_ is None or self.decision_ is None:
            self._choose_readout(loo, sample)
        super()._plan_readout(loo, sample)

    def _choose_readout(self, loo, sample):
        probes = loo.probes()
        overlaps = map_overlaps(self.feature_map_, sample, probes)
        which, target, weight = loo.members(probes)
        evidence = loo.evidence(loo.task.evidence)
        gathered = loo.gather(overlaps, probes, evidence)[which]

        def score(beta):
            return loo.task.score(gathered @ self._blur(beta), target, weight)

        if self.beta_ is None:
            betas = [beta * (len(self.classes_) - 1) ** 2 for beta in self._BETAS]
            self.beta_ = max(betas, key=score)
        chances = shares(gathered @ self._blur(self.beta_))

        def error(decision):
            missed = np.abs(decide(chances, decision) - target)
            return np.average(missed, weights=weight)

        if self.decision_ is None:
            self.decision_ = min(DECISIONS, key=error)

    def _beta(self):
        return self.beta_

    def _blur(self, beta):
        """How labels spread over the diagonal of ρ_Y, shape (K, K)."""
        return self._softmax_states(beta) ** 2

    def _log_chances(self, rows):
        if self._joint_rank() is None:
            mixture = np.exp(self._log_mixture(rows))
            diagonal = mixture @ self._blur(self.beta_)
        else:
            diagonal = np.diagonal(self._joint_states(rows), axis1=1, axis2=2)
        return safe_log(diagonal)


def decide(chances, decision):
    """Ranks (n,) of least error under probabilities (n, K) of the ranks."""
    if decision == "mode":
        return chances.argmax(axis=1)
    if decision == "mean":
        return np.rint(chances @ np.arange(chances.shape[1])).astype(int)
    return (chances.cumsum(axis=1) < 0.5 - 1e-12).sum(axis=1)
