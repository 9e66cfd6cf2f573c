"""Without Qiskit and PennyLane: circuits are text, and running says what it needs."""

import subprocess
import sys

from tests.support import without

SAYS_WHAT_IT_NEEDS = """
import numpy as np
from rhokit import DMKDE
from rhokit.quantum import CircuitModel

X = np.random.default_rng(0).normal(size=(50, 2))
model = DMKDE(gamma=1.0, feature_map="fourier", n_components=4, random_state=0).fit(X)
quantum = CircuitModel(model)
((circuit,),) = quantum.circuits(X[:1])
assert circuit.to_qasm().startswith("OPENQASM 3.0;")
for package, ask in (
    ("qiskit", circuit.to_qiskit),
    ("pennylane", circuit.to_pennylane),
    ("qiskit_aer", lambda: quantum.run(X[:1])),
    ("pennylane", lambda: quantum.run(X[:1], backend="pennylane")),
):
    try:
        ask()
    except ImportError as error:
        assert f"needs {package}: pip install 'rhokit[quantum]'" in str(error)
    else:
        raise AssertionError(package)
"""


def test_text_needs_nothing_and_running_says_what_it_needs():
    code = without("qiskit", "qiskit_aer", "pennylane") + SAYS_WHAT_IT_NEEDS
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
