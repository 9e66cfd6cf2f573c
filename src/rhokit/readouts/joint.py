"""The read-out of a joint state of inputs and labels: the label's density matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rhokit.core import log_posterior
from rhokit.core.arrays import safe_log
from rhokit.core.scoring import ranked_errors
from rhokit.fast import joint_factor, small_algebra
from rhokit.features import SoftmaxFeatures
from rhokit.plans.leave_one_out import LeaveOneOut
from rhokit.readouts.base import Floats, OverlapsOf
from rhokit.readouts.classes import LEAST_PROBABILITY, ClassReadOut
from rhokit.readouts.tasks import OrderedScore, probabilities
from rhokit.records import POSITIVE, Fields, Number, Reader, Values, Word

if TYPE_CHECKING:
    from rhokit.batch import Batch
    from rhokit.models import Model

OUTPUT_MAPS = ("onehot", "softmax")
# How a distribution over ordered labels becomes one of them.
DECISIONS = ("mode", "median", "mean")
# Sharpness of ordered labels, in units of the distance between two of them.
_BETAS = (0.5, 1.0, 2.0, 4.0, 8.0, 32.0)


@dataclass(frozen=True, eq=False)
class JointReadOut(ClassReadOut):
    r"""Labels as states of their own, which may overlap.

    Parameters
    ----------
    classes : array of shape (K,)
    output_map : {"onehot", "softmax"} or FeatureMap
        States of the labels.
    joint_rank : int, optional
        Eigenvectors of the joint matrix to keep.
    output_seed : int
        What an output map is drawn from, if it is random.
    beta : float, optional
        Sharpness of softmax states.
    """

    output_map: Any = "onehot"
    joint_rank: int | None = None
    output_seed: int = 0
    beta: float | None = None

    name = "joint"
    file_fields: ClassVar[Fields] = {
        **ClassReadOut.file_fields,
        "output_seed": Number(0, integer=True),
    }
    takes_series = False  # blocks of a joint matrix are no densities

    @classmethod
    def claim_answers(cls, parameters: Values, learned: Values, reader: Reader) -> None:
        """States of the labels, and what is made of all of them."""
        output_map = parameters.get("output_map", "softmax")
        count = reader.sizes["K"]
        size = count
        if not isinstance(output_map, str):
            size = output_map.most_components(learned["classes"][:, None])
        what = f"output_map, with n_components={size} for {count} labels,"
        reader.claim(24 * (count**2 + count * size + size**2), what)
        if parameters["joint_rank"] is not None:
            _claim_joint_matrix(parameters["joint_rank"], size, reader)

    def chosen(self, loo: LeaveOneOut, overlaps: OverlapsOf, seed: int) -> Self:
        """The seed of the output map; what does not fit together is refused now."""
        chosen = replace(self, output_seed=seed)
        chosen.output_states()
        return chosen

    def check_rank(self, rank: Any, owner: str) -> None:
        """Refuse two ranks at once."""
        if self.joint_rank is not None and rank is not None:
            raise ValueError(
                f"The 'rank' and 'joint_rank' parameters of {owner} exclude each "
                f"other. Got rank={rank!r} and joint_rank={self.joint_rank!r}."
            )

    # ---- states of the labels -------------------------------------------------------

    def output_states(self) -> Floats:
        """States of the labels, shape (K, D_Y)."""
        if isinstance(self.output_map, str):
            if self.output_map == "onehot":
                return np.eye(len(self.classes))
            return self.softmax_states(self.beta)
        labels = self.classes[:, None]
        output_map = clone(self.output_map)
        if output_map.get_params().get("random_state", 0) is None:
            output_map.set_params(random_state=self.output_seed)
        states = output_map.fit(labels).transform(labels)
        if np.iscomplexobj(states):
            raise ValueError(
                "The 'output_map' parameter of QMClassifier must give real states. "
                f"Got {self.output_map!r} instead, whose states are complex."
            )
        return np.asarray(states, dtype=np.float64)

    def measured_outputs(self) -> Floats:
        """The labels' own states."""
        return self.output_states()

    def softmax_states(self, beta: float | None) -> Floats:
        """Overlapping states over the labels' ranks, shape (K, K)."""
        ranks = np.arange(len(self.classes), dtype=float)[:, None]
        softmax = SoftmaxFeatures(n_components=len(self.classes), beta=beta)
        return np.asarray(softmax.fit(ranks).transform(ranks))

    def mixing(self) -> Floats:
        """From weights of the labels in ρ_Y to their probabilities, shape (K, K)."""
        outputs = self.output_states()
        return np.asarray((outputs @ outputs.T) ** 2)

    def mixture(self, weights: Floats) -> Floats:
        """ρ_Y as a mixture of the labels' states, shape (n, D_Y, D_Y)."""
        outputs = self.output_states()
        weighted = weights[:, :, None] * outputs  # (n, K, D_Y)
        states = weighted.transpose(0, 2, 1) @ outputs
        return np.asarray((states + states.transpose(0, 2, 1)) / 2)  # to the last bit

    # ---- answers --------------------------------------------------------------------

    def log_probabilities(self, model: Model, rows: NDArray[Any]) -> Floats:
        """Logarithms of the labels' overlaps with ρ_Y, shape (n, K)."""
        outputs = self.output_states()
        if self.truncation(model) is not None:
            states = self.joint_states(model, rows)
            measured = ((states @ outputs.T) * outputs.T).sum(axis=1)  # (n, K)
        else:
            mixture = self._log_mixture(model, rows)
            if np.array_equal(outputs, np.eye(len(outputs))):
                return mixture
            # ψ_kᵀ ρ_Y ψ_k, without ρ_Y: labels mix by their squared overlaps.
            measured = np.exp(mixture) @ self.mixing()
        even = np.zeros(len(outputs))
        logs = safe_log(np.clip(measured, 0, None))
        return np.asarray(log_posterior(logs, even, LEAST_PROBABILITY))

    def label_states(self, model: Model, rows: NDArray[Any]) -> Floats:
        """ρ_Y of each row, shape (n, D_Y, D_Y)."""
        if self.truncation(model) is not None:
            return self.joint_states(model, rows)
        return self.mixture(np.exp(self._log_mixture(model, rows)))

    def _log_mixture(self, model: Model, rows: NDArray[Any]) -> Floats:
        """Logarithms of the labels' weights in ρ_Y, shape (n, K)."""
        return self.posterior(model, model.log_measured(rows))

    # ---- the joint matrix, truncated as one -----------------------------------------

    def truncation(self, model: Model) -> int | None:
        """The rank of the joint matrix, None where it keeps everything."""
        if self.joint_rank is None:
            return None
        n_outputs = self.output_states().shape[1]
        size = model.plan.feature_map.n_components_ * n_outputs
        return self.joint_rank if self.joint_rank < size - 1 else None

    def joint_states(self, model: Model, rows: NDArray[Any]) -> Floats:
        """ρ_Y of checked rows from the truncated joint matrix."""
        if model.lacks(rows):
            raise ValueError(
                "missing values cannot be integrated over with a joint_rank: set it to "
                "None, or fill them"
            )
        key = self.joint_rank, self.output_states().tobytes()
        factor = model.cache.get("joint", key, lambda: self.joint_factor(model))
        rank, n_columns, n_outputs = factor.shape
        weights = factor.transpose(1, 0, 2).reshape(n_columns, rank * n_outputs)

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> NDArray[Any]:
            amplitudes = (columns @ weights).reshape(len(columns), rank, n_outputs)
            return np.asarray(amplitudes.conj().transpose(0, 2, 1) @ amplitudes)

        states = np.concatenate(model.for_blocks(rows, use)).real
        states = states.astype(np.float64)
        trace = np.trace(states, axis1=1, axis2=2)[:, None, None]
        prior = self.mixture(np.exp(self.log_priors(model.weight))[None])
        return np.where(trace > 0, states / np.where(trace > 0, trace, 1), prior)

    def joint_factor(self, model: Model) -> NDArray[Any]:
        """The truncated factor over the map's columns, shape (r, m, D_Y)."""
        shares = model.weight / model.weight.sum()
        sums = model.density_matrix().normalized() * shares[:, None, None]
        whitening = model.plan.measured_map.whitening_
        rank = self.truncation(model)
        assert rank is not None
        with small_algebra(len(sums[0])):
            factor = joint_factor(sums, self.output_states(), rank)
        if whitening is not None:
            folded = np.tensordot(whitening.astype(np.float64), factor, axes=(1, 1))
            factor = folded.transpose(1, 0, 2)
        return factor.conj().astype(model.plan.feature_map.column_dtype_)


@dataclass(frozen=True, eq=False)
class OrderedReadOut(JointReadOut):
    """Labels that have an order: the diagonal of ρ_Y, and a decision.

    Parameters
    ----------
    classes, joint_rank, output_seed :
        As for :class:`JointReadOut`.
    beta : float, optional
        Sharpness of the output states; None before it is chosen.
    decision : {"mean", "median", "mode"}, optional
        None before it is chosen.
    """

    output_map: Any = "softmax"
    decision: str | None = None

    name = kind = "ordered"
    blended: ClassVar[str | None] = "ordered-blend"
    weighs_blends: ClassVar[bool] = True
    file_fields: ClassVar[Fields] = {
        **JointReadOut.file_fields,
        "beta": POSITIVE,
        "decision": Word(DECISIONS),
    }

    def task(self, target: Any, weights: Floats | None) -> OrderedScore:
        """The ranked probability score."""
        return OrderedScore(len(self.classes))

    def chosen(self, loo: LeaveOneOut, overlaps: OverlapsOf, seed: int) -> Self:
        """β and the decision that predict rows left out best."""
        probes = loo.probes()
        which, target, weight = loo.members(probes)
        evidence = loo.evidence(loo.task.evidence)
        beta, decision = self.beta, self.decision
        if beta is None or decision is None:
            gathered = loo.gather(overlaps(probes), probes, evidence)[which]
            if beta is None:
                betas = [each * (len(self.classes) - 1) ** 2 for each in _BETAS]
                beta = max(
                    betas,
                    key=lambda each: loo.task.score(
                        gathered @ self.blur(each), target, weight
                    ),
                )
            found = probabilities(gathered @ self.blur(beta))

            def error(decision: str) -> Any:
                missed = np.abs(decide(found, decision) - target)
                return np.average(missed, weights=weight)

            decision = decision or min(DECISIONS, key=error)
        chosen = replace(self, beta=beta, decision=decision, output_seed=seed)
        chosen.output_states()
        return chosen

    @property
    def may_blend(self) -> bool:
        """Whether nothing is asked for that only overlapping labels have."""
        return self.joint_rank is None and self.beta is None

    @property
    def sharpness(self) -> float:
        """β, once it is chosen."""
        assert self.beta is not None
        return self.beta

    def decision_of(self, model: Model) -> str:
        """How a distribution becomes a label."""
        assert self.decision is not None
        return self.decision

    def errors_of(self, model: Model, batch: Batch) -> Floats:
        """Ranked probability scores of rows that a model has not seen, shape (n,)."""
        found = probabilities(np.exp(self.log_probabilities(model, batch.rows)))
        return np.asarray(ranked_errors(found, self.encode(batch.target)))

    def measured_outputs(self) -> Floats:
        """The basis, of which ρ_Y has the diagonal."""
        return np.eye(len(self.classes))

    def mixing(self) -> Floats:
        """The diagonals of the labels' states."""
        return self.blur(self.beta)

    def blur(self, beta: float | None) -> Floats:
        """How labels spread over the diagonal of ρ_Y, shape (K, K)."""
        return self.softmax_states(beta) ** 2

    def log_probabilities(self, model: Model, rows: NDArray[Any]) -> Floats:
        """Logarithms of the diagonal of ρ_Y, shape (n, K)."""
        if self.truncation(model) is None:
            mixture = np.exp(self._log_mixture(model, rows))
            diagonal = mixture @ self.mixing()
        else:
            states = self.joint_states(model, rows)
            diagonal = np.diagonal(states, axis1=1, axis2=2)
        return np.asarray(safe_log(diagonal))

    def predict(self, model: Model, rows: NDArray[Any]) -> NDArray[Any]:
        """The label of least absolute error for each row."""
        found = np.exp(self.log_probabilities(model, rows))
        return self.classes[decide(found, self.decision_of(model))]


def _claim_joint_matrix(joint_rank: int, n_outputs: int, reader: Reader) -> None:
    """Refuse a file with a joint matrix that is too large to be truncated."""
    count, m = reader.sizes["K"], reader.sizes["m"]
    rank, size = min(joint_rank, m * n_outputs), m * n_outputs
    # Matrices of the labels, a basis twice as large as the rank, and the time that it
    # takes to make one orthogonal again and again.
    memory = 16 * (count * m**2 + 2 * rank * size)
    reader.claim(memory + 2 * rank**2 * size, f"joint_rank={joint_rank}")


def decide(found: Floats, decision: str) -> NDArray[np.intp]:
    """Ranks (n,) of least error under probabilities (n, K) of the ranks."""
    last = found.shape[1] - 1
    if decision == "mode":
        return np.asarray(found.argmax(axis=1))
    if decision == "mean":
        means = np.nan_to_num(found @ np.arange(last + 1))
        return np.clip(np.rint(means), 0, last).astype(int)
    # All of them are below where nothing was measured: no label is more than the last.
    return np.minimum((found.cumsum(axis=1) < 0.5 - 1e-12).sum(axis=1), last)
