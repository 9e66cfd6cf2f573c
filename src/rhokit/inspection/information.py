"""What inputs and outcomes know of each other, in a model's joint state."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target

from rhokit.core import (
    entanglement_entropy,
    holevo_bound,
    negativity,
    relative_entropies,
    von_neumann_entropy,
)
from rhokit.core.spectrum import eigen_factor, spectral_entropy
from rhokit.estimators import DMKDClassifier, QMRegressor
from rhokit.fast import joint_factor, small_algebra
from rhokit.inspection.spectra import model_with_matrix
from rhokit.models import Model

Floats = NDArray[np.float64]
# Eigenvectors of a joint state that are found within seconds.
_MOST_EIGENVECTORS = 2048
# Eigenvalues below this part of the largest are rounding.
_ROUNDING = 1e-12
# Entropies of inputs, outputs and both, negativity, entanglement.
_Found: TypeAlias = tuple[float, float, float, float, float]


@dataclass(frozen=True, eq=False)
class JointInformation:
    r"""Entropies of a joint state of inputs and outcomes, all in nats.

    Parameters
    ----------
    outcomes : array of shape (K,)
        Labels, or levels of a value.
    probabilities : array of shape (K,)
    input_entropy, output_entropy, joint_entropy : float
        Of :math:`\rho_X`, :math:`\rho_Y` and :math:`\rho`.
    negativity : float
        Zero for all that is summed from rows; above where a ``joint_rank`` has cut it.
    entanglement : float
        Entanglement entropy of the joint state's eigenvectors, each by its eigenvalue.
        Zero where every one is one pattern of inputs with one outcome.
    holevo : float
        Holevo's bound of the outcomes' states: what any measurement of φ(x) tells
        about the outcome, at most.
    relative_entropies : array of shape (K, K)
        Of each outcome's state (row) to each other's.
    """

    outcomes: NDArray[Any]
    probabilities: Floats
    input_entropy: float
    output_entropy: float
    joint_entropy: float
    negativity: float
    entanglement: float
    holevo: float
    relative_entropies: Floats

    @property
    def mutual_information(self) -> float:
        r""":math:`S(\rho_X) + S(\rho_Y) - S(\rho)`; ``holevo`` of orthogonal labels."""
        return max(0.0, self.input_entropy + self.output_entropy - self.joint_entropy)

    @property
    def outcome_entropy(self) -> float:
        """Entropy of the outcomes' probabilities: what there is to be known."""
        return float(spectral_entropy(self.probabilities))

    @property
    def share(self) -> float:
        """The Holevo bound as a share of the outcomes' entropy, in [0, 1]."""
        whole = self.outcome_entropy
        return self.holevo / whole if whole else 0.0


def joint_information(estimator: Any, *, target: int = 0) -> JointInformation:
    r"""Entropies, information and entanglement of a model's inputs and outcomes.

    Parameters
    ----------
    estimator : fitted classifier or regressor, one-pass or trained
        With a density matrix for each class or level: over landmarks, Fourier
        features or categories, or on a grid of up to 2,048 points.
    target : int, default=0
        Which of several targets.

    Returns
    -------
    information : JointInformation

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from rhokit import QMClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = QMClassifier(n_components=32, random_state=0).fit(X, y)
    >>> found = joint_information(model)
    >>> bool(0.5 < found.holevo < found.outcome_entropy), found.negativity
    (True, 0.0)
    """
    model = model_with_matrix(estimator, "joint_information")
    readout = model.readout
    if not readout.has_target:
        raise TypeError(
            "joint_information is of models with a target, whose outcomes have a "
            f"state each, got {type(estimator).__name__}"
        )
    if not 0 <= target < len(readout.parts):
        most = len(readout.parts) - 1
        raise ValueError(f"target must be from 0 to {most}, got {target!r}")
    part = readout.parts[target]
    weight, outputs = model.weight[part], readout.output_states()[part]
    shares = weight / weight.sum() if readout.kind == "values" else model.probabilities
    density = model.representation.density_matrix(model.state)
    states = density.normalized()[part]  # (K, D, D)
    seen = shares > 0
    table = np.full((len(shares), len(shares)), np.nan)
    with small_algebra(states.shape[-1]):
        states, weights, outputs = states[seen], shares[seen], outputs[seen]
        table[np.ix_(seen, seen)] = relative_entropies(states)
        bound = float(holevo_bound(states, weights))
        cut = readout.truncation(model)
        if cut is None and np.allclose(outputs @ outputs.T, np.eye(len(outputs))):
            found = _with_orthogonal_labels(states, weights, bound)
        else:
            vectors = _eigenvectors(states, weights, outputs, cut)
            found = _of_eigenvectors(vectors, mixed=cut is None)
    return JointInformation(_names(model, target), shares, *found, bound, table)


def _names(model: Model, target: int) -> NDArray[Any]:
    """Labels, or the levels of a target."""
    if model.readout.kind != "values":
        return np.asarray(model.readout.classes)
    levels = np.asarray(model.readout.levels())
    return levels.reshape(len(levels), -1)[:, target]


def _with_orthogonal_labels(states: Any, shares: Floats, bound: float) -> _Found:
    """Entropies where labels can be told apart: nothing is entangled."""
    inputs = float(von_neumann_entropy(np.tensordot(shares, states, axes=1)))
    outputs = float(spectral_entropy(shares))
    return inputs, outputs, outputs + inputs - bound, 0.0, 0.0


def _eigenvectors(
    states: Any, shares: Floats, outputs: Floats, cut: int | None
) -> NDArray[Any]:
    """Eigenvectors (R, D, D_Y) of the joint state, as long as roots of eigenvalues."""
    scaled = states * shares[:, None, None]
    if cut is not None:
        return joint_factor(scaled, outputs, cut)
    factors = [eigen_factor(matrix) for matrix in scaled]
    largest = max(float(np.vecdot(factor[0], factor[0]).real) for factor in factors)
    rows = []
    for factor, output in zip(factors, outputs, strict=True):
        kept = np.vecdot(factor, factor).real > _ROUNDING * largest
        rows.append(np.conj(factor[kept])[:, :, None] * output)
    table = np.concatenate(rows)
    if len(table) > _MOST_EIGENVECTORS:
        raise ValueError(
            f"joint_information: the joint state has {len(table):,} eigenvectors, more "
            f"than {_MOST_EIGENVECTORS:,}: fit with fewer n_components"
        )
    flat = table.reshape(len(table), -1)
    # ρ = FᵀF̄ has the eigenvalues of F̄Fᵀ, and Fᵀ takes its eigenvectors there.
    _, turns = np.linalg.eigh(flat.conj() @ flat.T)
    return np.asarray((turns.T @ flat).reshape(table.shape))


def _of_eigenvectors(vectors: NDArray[Any], *, mixed: bool) -> _Found:
    """Entropies of a joint state, by its eigenvectors (R, D, D_Y).

    ``mixed`` says that it is a mixture of products, which are not entangled.
    """
    size, dim, width = vectors.shape
    flat = vectors.reshape(size, -1)
    values = np.vecdot(flat, flat).real
    seen = values > 0
    flat, shares = flat[seen], values[seen] / values.sum()
    inputs = np.einsum("rxy,rzy->xz", vectors, vectors.conj(), optimize=True)
    outputs = np.einsum("rxy,rxz->yz", vectors, vectors.conj(), optimize=True)
    return (
        float(von_neumann_entropy(inputs)),
        float(von_neumann_entropy(outputs)),
        float(spectral_entropy(shares)),
        0.0 if mixed else _negativity(vectors),
        float(shares @ entanglement_entropy(flat, (dim, width))),
    )


def _negativity(vectors: NDArray[Any]) -> float:
    """Negativity within the inputs that the eigenvectors reach, which are few."""
    _, dim, width = vectors.shape
    columns = vectors.transpose(1, 0, 2).reshape(dim, -1)  # (D, R·D_Y)
    if columns.shape[1] < dim:
        basis, _ = np.linalg.qr(columns)
        vectors = np.einsum("xz,rxy->rzy", basis.conj(), vectors, optimize=True)
    dim = vectors.shape[1]
    if dim * width > _MOST_EIGENVECTORS:
        raise ValueError(
            f"joint_information: the joint state reaches {dim * width:,} dimensions, "
            f"more than {_MOST_EIGENVECTORS:,}: take a smaller joint_rank"
        )
    flat = vectors.reshape(len(vectors), -1)
    return float(negativity(flat.T @ flat.conj(), (dim, width)))


def column_information(X: Any, y: Any, estimator: Any = None) -> Floats:
    r"""How many nats each column, taken alone, tells about the target, shape (d,).

    The Holevo bound of a small model of the column: the mutual information of the
    target and the column, as finely as the kernel sees it. A score function for
    scikit-learn's ``SelectKBest``. Columns that tell nothing have a little more than
    zero, as all estimates from few rows do.

    Parameters
    ----------
    X : array-like or frame of shape (n, d)
        Of numbers; columns of a frame may be categories.
    y : array-like of shape (n,)
        Labels, or values.
    estimator : classifier or regressor of rhokit, optional
        Fitted to each column by itself. Without it 32 landmarks under Scott's rule,
        with labels or with levels, whichever ``y`` holds.

    Returns
    -------
    information : array of shape (d,)

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=2000)
    >>> X = rng.normal(size=(2000, 3)) + np.outer(y, [0, 1, 3])
    >>> column_information(X, y).round(1)  # of two Gaussians: 0, 0.111 and 0.527
    array([0. , 0.1, 0.5])
    """
    if estimator is None:
        small = {"gamma": "scott", "n_components": 32, "random_state": 0}
        continuous = type_of_target(y) == "continuous"
        kind: Any = QMRegressor if continuous else DMKDClassifier
        estimator = kind(feature_map="landmarks", scale="std", **small)
    table = X if hasattr(X, "shape") else np.asarray(X)
    columns = (_safe_indexing(table, [i], axis=1) for i in range(table.shape[1]))
    return np.array([_information_of(each, y, estimator) for each in columns])


def _information_of(column: Any, y: Any, estimator: Any) -> float:
    """Holevo bound of one column (n, 1); zero if it has one value."""
    values = np.asarray(column)
    if len(values) and (values == values[0]).all():
        return 0.0
    return joint_information(clone(estimator).fit(column, y)).holevo
