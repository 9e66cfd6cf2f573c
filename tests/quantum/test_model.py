"""Circuits answer what their models do: exactly, and within the error of shots."""

import numpy as np
import pytest
import qiskit.qasm3
from qiskit.quantum_info import Statevector
from sklearn.exceptions import NotFittedError

from rhokit import (
    DMKDE,
    DMKDClassifier,
    DMKDClassifierSGD,
    FourierFeatures,
    LandmarkFeatures,
    OneHotFeatures,
    QMClassifier,
    QMClassifierSGD,
    QMOrdinalClassifier,
    QMRegressor,
)
from rhokit.quantum import CircuitModel, Depolarising
from tests.quantum.oracle import outcomes, read

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
LABELS = np.array(["ant", "bee", "cow"])[np.digitize(X @ [1, 0.5], [-0.5, 0.5])]
WORDS = np.array(["x", "y", "z"], dtype=object)[np.digitize(X, [-0.4, 0.4])]
ASKED = X[:3]
FOURIER = {"feature_map": "fourier", "n_components": 6, "gamma": 0.5, "random_state": 0}
LANDMARKS = FOURIER | {"feature_map": "landmarks", "n_components": 4}
NORMALISED = LANDMARKS | {
    "feature_map": LandmarkFeatures(n_components=5, normalize=True)
}
COMPLEX = FOURIER | {"feature_map": FourierFeatures(n_components=4, form="complex")}
TRAINED = {"max_epochs": 2, "early_stopping": False}

DENSITIES = {
    "fourier": DMKDE(**FOURIER),
    "rank": DMKDE(**FOURIER, rank=3),
    "complex": DMKDE(**COMPLEX),
    "landmarks": DMKDE(**LANDMARKS),
    "normalised": DMKDE(**NORMALISED),
}
CLASSES = {
    "classes": DMKDClassifier(**FOURIER, rank=2),
    "priors": DMKDClassifier(**NORMALISED, priors=[0.2, 0.5, 0.3]),
    "complex classes": DMKDClassifier(**COMPLEX),
    "joint": QMClassifier(**LANDMARKS),
    "overlapping": QMClassifier(**LANDMARKS, output_map="softmax"),
    "joint rank": QMClassifier(**FOURIER, joint_rank=3),
    "ordered": QMOrdinalClassifier(**LANDMARKS),
    "trained": DMKDClassifierSGD(**FOURIER, **TRAINED),
    "trained joint": QMClassifierSGD(**FOURIER, **TRAINED),
}
FITTED = {
    **{name: model.fit(X) for name, model in DENSITIES.items()},
    **{name: model.fit(X, LABELS) for name, model in CLASSES.items()},
}
WAYS = [
    (preparation, test)
    for preparation in ("purification", "eigenvectors")
    for test in ("inversion", "swap")
]


def answers(model, run):
    """What a run says, how sure it is, and what the model says, side by side."""
    if run.classes is None:
        return run.density, run.density_error, model.density(ASKED)
    return run.probabilities, run.probability_error, model.predict_proba(ASKED)


@pytest.mark.parametrize(("preparation", "test"), WAYS)
@pytest.mark.parametrize("name", FITTED)
def test_answers_are_those_of_the_model(name, preparation, test):
    if name == "joint rank" and preparation == "eigenvectors":
        with pytest.raises(ValueError, match="joint_rank: take 'purification'"):
            CircuitModel(FITTED[name], preparation=preparation)
        return
    model = FITTED[name]
    quantum = CircuitModel(model, preparation=preparation, test=test)
    run = quantum.run(ASKED)
    found, error, wanted = answers(model, run)
    np.testing.assert_allclose(found, wanted, atol=1e-6 * wanted.max())
    assert not error.any()
    if run.classes is not None:
        np.testing.assert_array_equal(run.labels, wanted.argmax(1).choose(run.classes))
        if run.adds_up:
            density = np.exp(model.score_samples(ASKED))
            np.testing.assert_allclose(run.density, density, rtol=1e-6)
    run = quantum.run(ASKED, shots=3000, random_state=1)
    found, error, _ = answers(model, run)
    assert (error > 0).all()
    assert (np.abs(found - wanted) < 4 * error).all()
    assert np.mean(np.abs(found - wanted) < 3 * error) > 0.7


def test_the_other_simulator():
    for name, way in (("rank", "inversion"), ("classes", "swap")):
        quantum = CircuitModel(FITTED[name], test=way)
        run = quantum.run(ASKED, backend="pennylane")
        found, _, wanted = answers(FITTED[name], run)
        np.testing.assert_allclose(found, wanted, atol=1e-6 * wanted.max())
        run = quantum.run(ASKED, shots=4000, backend="pennylane", random_state=3)
        found, error, _ = answers(FITTED[name], run)
        assert (np.abs(found - wanted) < 3 * error).all()


def test_categories():
    model = DMKDClassifier(feature_map=OneHotFeatures()).fit(WORDS, LABELS)
    run = CircuitModel(model).run(WORDS[:4])
    wanted = model.predict_proba(WORDS[:4])
    np.testing.assert_allclose(run.probabilities, wanted, atol=1e-6)


def test_errors_are_those_of_many_runs():
    """Standard errors, against the spread of runs that were made again."""
    for name, test in (("rank", "inversion"), ("classes", "swap")):
        quantum = CircuitModel(FITTED[name], test=test, preparation="eigenvectors")
        rows = np.repeat(ASKED[:1], 60, axis=0)
        run = quantum.run(rows, shots=800, random_state=0)
        found, error, _ = answers(FITTED[name], run)
        np.testing.assert_allclose(found.std(axis=0), error.mean(axis=0), rtol=0.35)


def test_no_shot_that_counts_leaves_the_priors():
    quantum = CircuitModel(FITTED["classes"])
    run = quantum.run([[9.0, 9.0]], shots=1, random_state=0)
    if run.measured.any():
        pytest.skip("the one shot counted")
    share = np.mean(LABELS[:, None] == np.unique(LABELS), axis=0)
    np.testing.assert_allclose(run.probabilities, share[None], atol=1e-12)
    assert np.isinf(run.probability_error).all()


@pytest.mark.parametrize("test", ["inversion", "swap"])
def test_text_is_the_circuit_that_is_run(test):
    quantum = CircuitModel(FITTED["classes"], test=test)
    ((circuit,),) = quantum.circuits(ASKED[:1])
    read_back = qiskit.qasm3.loads(circuit.to_qasm())
    read_back.remove_final_measurements()
    weights = np.abs(Statevector(read_back).data) ** 2
    found = read(weights, circuit.measured)
    np.testing.assert_allclose(found, outcomes(circuit), atol=1e-12)
    assert "// overlap of a row with a DMKDClassifier" in circuit.to_qasm()


def test_resources():
    # 6 components: 3 qubits; 3 labels: 2; rank 2: 1; a swap test: 3 + 1 more.
    quantum = CircuitModel(FITTED["classes"])
    assert quantum.resources().qubits == 6
    # The model's state has 2^6 amplitudes, the row's 2^3.
    assert quantum.resources().two_qubit_gates <= 2**6 - 2 + 2**3 - 2
    swapped = CircuitModel(FITTED["classes"], test="swap").resources()
    assert swapped.qubits == 10
    apart = CircuitModel(FITTED["classes"], preparation="eigenvectors")
    assert apart.resources().circuits == apart.resources(ASKED).circuits == 6
    assert apart.resources(ASKED).qubits == 3
    assert str(apart.resources()).startswith("6 circuits of 3 qubits, depth ")
    assert CircuitModel(FITTED["fourier"], rank=1).resources().qubits == 3


def test_noise_moves_answers_to_even_ones():
    quantum = CircuitModel(FITTED["rank"])
    exact = quantum.run(ASKED).measured
    far = [
        np.abs(quantum.run(ASKED, noise=Depolarising(0, share)).measured - exact).max()
        for share in (1e-3, 1e-2, 1e-1)
    ]
    assert 0 < far[0] < far[1] < far[2]
    whole = CircuitModel(FITTED["fourier"])
    found = whole.run(ASKED, noise=Depolarising(1, 1)).measured
    np.testing.assert_allclose(found, 1 / 8, atol=1e-9)  # of three qubits


def test_what_cannot_be_a_circuit_is_refused():
    with pytest.raises(NotFittedError):
        CircuitModel(DMKDE())
    with pytest.raises(TypeError, match="circuits answer for densities and classes"):
        CircuitModel(QMRegressor(**LANDMARKS).fit(X, X[:, 0]))
    with pytest.raises(TypeError, match="holds a series: fit it with feature_map="):
        CircuitModel(DMKDE().fit(X))
    with pytest.raises(ValueError, match=r"preparation must be one of .*got 'other'"):
        CircuitModel(FITTED["fourier"], preparation="other")
    with pytest.raises(ValueError, match=r"backend must be one of .*got 'other'"):
        CircuitModel(FITTED["fourier"]).run(ASKED, backend="other")
    with pytest.raises(ValueError, match="shots must be"):
        CircuitModel(FITTED["fourier"]).run(ASKED, shots=0)
    many = DMKDE(**FOURIER | {"n_components": 512}).fit(X)
    with pytest.raises(ValueError, match=r"needs \d+ qubits, more than 14"):
        CircuitModel(many)
    with pytest.raises(AttributeError, match="ask for probabilities"):
        _ = CircuitModel(FITTED["overlapping"]).run(ASKED).density
    with pytest.raises(AttributeError, match="no classes"):
        _ = CircuitModel(FITTED["fourier"]).run(ASKED).labels
