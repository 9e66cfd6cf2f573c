"""Fitted models as circuits, and what running them tells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection.subjects import fitted_model, one_pass
from rhokit.models import Model
from rhokit.progress import progress
from rhokit.quantum.backends import BACKENDS, Backend, Depolarising
from rhokit.quantum.circuit import Circuit, Resources, largest
from rhokit.quantum.ensembles import PREPARATIONS, Ensemble, is_identity
from rhokit.quantum.overlaps import OVERLAP_TESTS, OverlapCircuit, PreparedState
from rhokit.quantum.run import CircuitRun, Measured
from rhokit.quantum.synthesis import padded, prepare
from rhokit.validation import check_count, generator

Floats = NDArray[np.float64]
# Circuits that a simulator is given at once.
_AT_ONCE = 256
_KINDS = ("density", "classes", "ordered")


class CircuitModel:
    r"""A fitted model as quantum circuits, whose outcomes are its own answers.

    The state φ(x) of a row is encoded into the amplitudes of
    :math:`\lceil\log_2 D\rceil` qubits, and so is the model: as one pure state of more
    qubits, of which :math:`\rho` is a part, or as its eigenvectors one by one. What is
    measured is :math:`\phi(x)^\dagger \rho_k\, \phi(x)`, the Born rule that every
    prediction of rhokit is made from; dimensions that are no powers of two are filled
    up with zeros. Nothing of the model is approximated: on a perfect machine, with
    shots without end, the answers are those of the model.

    For :class:`~rhokit.DMKDE`, :class:`~rhokit.DMKDClassifier`,
    :class:`~rhokit.QMClassifier` and :class:`~rhokit.QMOrdinalClassifier`, trained or
    not, over any map that makes a matrix; they must be small (16, say, or 64
    components), because a state of q qubits takes :math:`2^q` gates to prepare.

    Parameters
    ----------
    model : fitted estimator
    preparation : {"purification", "eigenvectors"}, default="purification"
        One circuit with more qubits, or a smaller one for every eigenvector, over
        which shots are divided by eigenvalues.
    test : {"inversion", "swap"}, default="inversion"
        How overlaps are measured: by undoing the gates of the row, or by exchanging it
        with the model's state under control of one more qubit.
    rank : int, float, "elbow" or None, optional
        Eigenvectors to keep, other than the model's own ``rank``.

    Attributes
    ----------
    classes_ : array of shape (J,), or None

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.quantum import CircuitModel
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = DMKDE(
    ...     gamma=0.5, feature_map="fourier", n_components=16, rank=4, random_state=0
    ... ).fit(X)
    >>> quantum = CircuitModel(model)
    >>> print(quantum.resources())
    6 qubits, depth 146, 154 gates, 76 of them on two qubits
    >>> run = quantum.run(X[:3], shots=4000, random_state=0)
    >>> exact = model.density(X[:3])
    >>> bool((np.abs(run.density - exact) < 3 * run.density_error).all())
    True
    """

    def __init__(
        self,
        model: Any,
        *,
        preparation: str = "purification",
        test: str = "inversion",
        rank: Any = None,
    ) -> None:
        for name, given, known in (
            ("preparation", preparation, PREPARATIONS),
            ("test", test, OVERLAP_TESTS),
        ):
            if given not in known:
                raise ValueError(f"{name} must be one of {[*known]}, got {given!r}")
        self._model = answering_model(model)
        self._estimator = one_pass(model)
        self._test = OVERLAP_TESTS[test]
        self._title = f"overlap of a row with a {type(model).__name__}, {test} test"
        cut = self._model.rank if rank is None else rank
        self._ensemble = Ensemble.of(self._model, cut)
        states = PREPARATIONS[preparation](self._ensemble)
        self._prepared = [PreparedState.of(each) for each in states]

    @property
    def classes_(self) -> NDArray[Any] | None:
        """Labels whose probabilities are measured; None of a density."""
        return getattr(self._model.readout, "classes", None)

    # ---- circuits -------------------------------------------------------------------

    def circuits(self, X: Any) -> list[list[Circuit]]:
        """Circuits of each row: one, or one for each eigenvector or label.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)

        Returns
        -------
        circuits : list of list of Circuit
        """
        states, _ = self._encoded(X)
        return [[each.circuit for each in self._of_row(state)] for state in states]

    def resources(self, X: Any = None) -> Resources:
        """Qubits, depth and gates of the largest circuit.

        Parameters
        ----------
        X : array-like of shape (n, d), optional
            Rows to be measured; without them, a row whose state has amplitudes that
            are neither zero nor alike, of which there is nothing to save.
        """
        if X is not None:
            rows = self.circuits(X)
            of_all = largest([each for row in rows for each in row])
            return replace(of_all, circuits=len(rows[0]))
        tensor = self._ensemble.tensor()
        rng = np.random.default_rng(0)
        size = tensor.shape[-1]
        state: NDArray[Any] = np.asarray(rng.normal(size=size))
        if np.iscomplexobj(tensor):
            state = state * np.exp(1j * rng.normal(size=size))
        return largest([each.circuit for each in self._of_row(state)])

    def _of_row(self, state: NDArray[Any]) -> list[OverlapCircuit]:
        """Circuits that measure a state (D,)."""
        gates = prepare(padded(state))
        return [
            made
            for prepared in self._prepared
            for made in self._test(prepared, gates, self._title)
        ]

    def _encoded(self, X: Any) -> tuple[NDArray[Any], Floats]:
        """States of rows at length one (n, D), and logarithms of their lengths (n,)."""
        model = self._model
        rows = self._estimator.check_query(X, model)
        if model.lacks(rows):
            raise ValueError("X must not lack values: fill them, they are amplitudes")
        whitening = model.plan.measured_map.whitening_

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Any:
            states = columns if whitening is None else columns @ whitening
            wide = np.result_type(states.dtype, np.float64)
            logs = np.zeros(len(states)) if log_scale is None else log_scale
            return states.astype(wide), np.array(logs, dtype=np.float64)

        parts = model.for_blocks(rows, use)
        states = np.concatenate([part for part, _ in parts])
        lengths = np.linalg.norm(states, axis=1)
        far = np.flatnonzero(lengths == 0)
        if len(far):
            raise ValueError(
                f"row {far[0]} of X is out of the map's reach: its state is zero, and "
                "no circuit prepares it"
            )
        logs = np.concatenate([part for _, part in parts]) + np.log(lengths)
        return states / lengths[:, None], logs

    # ---- running --------------------------------------------------------------------

    def run(
        self,
        X: Any,
        *,
        shots: int | None = None,
        backend: str = "aer",
        noise: Depolarising | None = None,
        random_state: Any = None,
    ) -> CircuitRun:
        """Run the circuits of rows on a simulator.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
        shots : int, optional
            Runs per row, over all of its circuits. Without them, exact probabilities.
        backend : {"aer", "pennylane"}, default="aer"
            Qiskit Aer, or PennyLane's ``default.qubit`` (``default.mixed`` with noise).
        noise : Depolarising, optional
        random_state : int, RandomState or Generator, optional

        Returns
        -------
        run : CircuitRun
            Densities or probabilities, each with its standard error.
        """
        if backend not in BACKENDS:
            raise ValueError(f"backend must be one of {[*BACKENDS]}, got {backend!r}")
        if shots is not None:
            check_count("shots", shots)
        states, log_lengths = self._encoded(X)
        seed = int(generator(random_state).integers(1 << 30))
        size = max(1, _AT_ONCE // len(self._of_row(states[0])))
        measured: list[Measured] = []
        with progress(f"Running circuits of {len(states):,} rows"):
            for start in range(0, len(states), size):
                rows = [self._of_row(state) for state in states[start : start + size]]
                measured += _measured(rows, shots, BACKENDS[backend], noise, seed)
                seed += size
        return self._run_of(measured, log_lengths, X, shots)

    def _run_of(
        self, measured: list[Measured], log_lengths: Floats, X: Any, shots: int | None
    ) -> CircuitRun:
        model, ensemble = self._model, self._ensemble
        rows = self._estimator.check_query(X, model)
        log_units = 2 * log_lengths + model.plan.log_measure(rows) + model.log_norm()
        priors = np.exp(model.readout.log_priors(model.weight))
        return CircuitRun(
            np.stack([each.mean for each in measured]),
            np.stack([each.covariance for each in measured]),
            log_units,
            priors @ (ensemble.states @ ensemble.outputs.T) ** 2,
            ensemble.joint is None and is_identity(ensemble.outputs),
            self.classes_,
            shots,
        )


def _measured(
    rows: list[list[OverlapCircuit]],
    shots: int | None,
    backend: Backend,
    noise: Depolarising | None,
    seed: int,
) -> list[Measured]:
    """What the circuits of rows tell, all of them run together."""
    counts = [None if shots is None else _shared_out(shots, row) for row in rows]
    of_all = None if shots is None else [n for each in counts for n in each or ()]
    circuits = [each.circuit for row in rows for each in row]
    found = iter(backend(circuits, of_all, noise, seed))
    return [
        Measured.of(row, [next(found) for _ in row], used)
        for row, used in zip(rows, counts, strict=True)
    ]


def _shared_out(shots: int, circuits: list[OverlapCircuit]) -> list[int]:
    """Shots of each circuit, in proportion to its weight, and one at least."""
    weights = np.array([each.weight for each in circuits])
    exact = np.maximum(shots * weights / weights.sum(), 1)
    return [int(number) for number in np.rint(exact)]


def answering_model(estimator: Any) -> Model:
    """The model of an estimator, if it is of a kind that circuits can answer for."""
    model = fitted_model(estimator)
    name = type(estimator).__name__
    if model.readout.kind not in _KINDS:
        raise TypeError(
            "circuits answer for densities and classes (DMKDE, DMKDClassifier, "
            f"QMClassifier, QMOrdinalClassifier), got {name}"
        )
    if model.plan.representation != "matrix":
        raise TypeError(
            f"circuits measure density matrices, and this {name} holds a "
            f"{model.plan.representation}: fit it with feature_map='fourier' or "
            "'landmarks' and a few components, for example n_components=16"
        )
    return model
