"""QMC: classification by measuring the joint state of inputs and labels."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rhokit.estimators.classifiers import ClassEstimator
from rhokit.estimators.parameters import TARGET
from rhokit.estimators.proportions import fit_proportions
from rhokit.features import FeatureMap
from rhokit.readouts import DECISIONS, OUTPUT_MAPS, JointReadOut, OrderedReadOut
from rhokit.validation import Interval, StrOptions, check_weights

_JOINT_RANK = [Interval(Integral, 1, None, closed="left"), None]


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
    gamma, n_components, rank, feature_map, kernel, scale, missing, unseen, dtype :
        As for :class:`DMKDClassifier`.
    batch_size, random_state :
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
    classes_, class_count_, gamma_, feature_map_, scaling_, feature_importances_ :
        As for :class:`DMKDClassifier`.
    candidates_, state_ :
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

    _parameter_table: ClassVar[dict[str, Any]] = TARGET | {
        "output_map": [StrOptions(set(OUTPUT_MAPS)), FeatureMap],
        "joint_rank": _JOINT_RANK,
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
        output_map: Any = "onehot",
        joint_rank: int | None = None,
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
        self.output_map = output_map
        self.joint_rank = joint_rank
        self.missing = missing
        self.unseen = unseen
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    def make_readout(self, known: Any = None) -> JointReadOut:
        return (known or JointReadOut(np.empty(0))).with_parameters(
            output_map=self.output_map, joint_rank=self.joint_rank
        )

    fit_proportions = fit_proportions

    def predict_state(self, X: Any) -> NDArray[np.float64]:
        """Density matrix of the label of each row, shape (n, D_Y, D_Y), trace one.

        In the basis of the output states: see :attr:`output_states_`.
        """
        model, rows = self.question(X)
        return np.asarray(model.readout.label_states(model, rows))

    @property
    def output_states_(self) -> NDArray[np.float64]:
        """States of the labels, shape (K, D_Y), in the order of ``classes_``."""
        return np.asarray(self.prepared_model().readout.output_states())


class QMOrdinalClassifier(ClassEstimator):
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
    n_components, rank, feature_map, kernel, scale, joint_rank, missing, unseen, dtype :
        As for :class:`QMClassifier`.
    batch_size, random_state :
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

    _parameter_table: ClassVar[dict[str, Any]] = TARGET | {
        "joint_rank": _JOINT_RANK,
        "beta": [Interval(Real, 0, None, closed="neither"), StrOptions({"loo"})],
        "decision": [StrOptions({"loo", *DECISIONS})],
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
        joint_rank: int | None = None,
        beta: Any = "loo",
        decision: str = "loo",
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
        self.joint_rank = joint_rank
        self.beta = beta
        self.decision = decision
        self.missing = missing
        self.unseen = unseen
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    def make_readout(self, known: Any = None) -> OrderedReadOut:
        if known is not None:
            ordered: OrderedReadOut = known
            return ordered.with_parameters(joint_rank=self.joint_rank)
        return OrderedReadOut(
            np.empty(0),
            joint_rank=self.joint_rank,
            beta=None if self.beta == "loo" else float(self.beta),
            decision=None if self.decision == "loo" else self.decision,
        )

    def predict_state(self, X: Any) -> NDArray[np.float64]:
        """Density matrix of the label of each row: see :class:`QMClassifier`."""
        model, rows = self.question(X)
        return np.asarray(model.readout.label_states(model, rows))

    @property
    def output_states_(self) -> NDArray[np.float64]:
        """States of the labels, shape (K, D_Y), in their order."""
        return np.asarray(self.prepared_model().readout.output_states())

    @property
    def beta_(self) -> float:
        """Sharpness of the output states."""
        return float(self.readout_.sharpness)

    @property
    def decision_(self) -> str:
        """How a distribution becomes a label."""
        model = self.prepared_model()
        return str(model.readout.decision_of(model))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Less the mean absolute error, in ranks of the labels."""
        model, rows = self.question(X)
        pair = model.readout.predict(model, rows), y
        ranks = [np.searchsorted(model.readout.classes, labels) for labels in pair]
        error = np.abs(ranks[0] - ranks[1])
        return -float(np.average(error, weights=check_weights(sample_weight, len(X))))

    def __sklearn_tags__(self) -> Any:
        # scikit-learn holds classifiers to predicting the likeliest label.
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = None, None
        return tags
