"""Without torch: all else works, and what needs it says how to get it."""

import os
import subprocess
import sys

import pytest

from tests.support import without

WITHOUT_TORCH = without("torch")
ONE_PASS_WORKS = """
import numpy as np
import rhokit

X = np.random.default_rng(0).normal(size=(50, 2))
y = X[:, 0] > 0
rhokit.DMKDE(n_components=16, random_state=0).fit(X).score(X)
assert rhokit.DMKDClassifier(n_components=16, random_state=0).fit(X, y).score(X, y) > .8
rhokit.QMRegressor(n_components=16, random_state=0).fit(X, X[:, 1]).predict(X)
assert "DMKDESGD" in dir(rhokit)
"""
TRAINED_SAY_WHAT_THEY_NEED = """
import importlib
import rhokit

said = []
for name in ("DMKDESGD", "DMKDClassifierSGD", "QMClassifierSGD", "QMRegressorSGD"):
    try:
        getattr(rhokit, name)
    except ImportError as error:
        assert not isinstance(error, AttributeError)
        said.append(str(error))
try:
    importlib.import_module("rhokit.nn")
except ImportError as error:
    said.append(str(error))
assert len(said) == 5
for message in said:
    assert "rhokit[torch]" in message, message
    assert "DMKDESGD" in message, message
import rhokit.estimators
rhokit.DMKDE()
"""
NOTHING_LOADS_IT = """
import sys
import rhokit
assert "torch" not in sys.modules
assert "numpy" not in sys.modules
rhokit.DMKDE, rhokit.QMRegressor
assert "torch" not in sys.modules
rhokit.DMKDESGD
assert "torch" in sys.modules
"""


@pytest.mark.parametrize(
    "code",
    [
        WITHOUT_TORCH + ONE_PASS_WORKS + TRAINED_SAY_WHAT_THEY_NEED,
        NOTHING_LOADS_IT,
    ],
    ids=["missing", "there"],
)
def test_fresh_interpreter(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "RHOKIT_NUMBA": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
