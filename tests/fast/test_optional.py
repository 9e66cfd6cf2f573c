"""Optional packages: nothing loads them before their time, all works without."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from rhokit.fast import loops as compiled

OPTIONAL = {"numba", "torch", "matplotlib", "pandas", "polars", "pyarrow", "dask"}

# Blocks large enough for the compiled loops, against the twins in the core.
ALL_OF_FAST = """
import sys
BLOCK
import numpy as np
from numpy.testing import assert_allclose
from rhokit import core, fast
from rhokit.fast.numba_loops import compiled_loops

assert (compiled_loops() is not None) == EXPECTED
rng = np.random.default_rng(0)
rows, landmarks = rng.normal(size=(600, 3)), rng.normal(size=(512, 3))
waves, phases, ones = landmarks.T.copy(), rng.uniform(size=512), np.ones(512)

cosines = fast.cosine_columns(rows, waves, phases, ones, normalize=True)
turn = 2 * np.pi
twin = core.cosine_states(rows, turn * waves, turn * phases, ones, normalize=True)
assert_allclose(cosines, twin, atol=1e-12)

for by_differences in (False, True):
    columns, scale = fast.gaussian_columns(
        rows, landmarks, 0.3, relative=True, by_differences=by_differences)
    twin, twin_scale = core.gaussian_columns(rows, landmarks, 0.3, relative=True)
    assert_allclose(columns, twin, atol=1e-12)
    assert_allclose(scale, twin_scale, atol=1e-12)

signs = rng.choice(np.array([-1, 1], np.int8), size=(1, 3, 512))
rotation = np.eye(512) @ fast.HadamardFrequencies(signs, ones)
assert_allclose(rotation @ rotation.T, np.eye(512), atol=1e-12)

total = fast.GramSum(512, "float64")
total.add(cosines)
state = core.DensityMatrix.from_states(cosines)
assert_allclose(total.total(), state.total[0], atol=1e-9)
factor = state.factorize()
measured = fast.FactorMeasurement(factor.factor, "float64").born(cosines)
assert_allclose(measured, factor.born(cosines), atol=1e-12)
assert (sys.modules.get("numba") is not None) == EXPECTED
"""

LOADED = """
import sys
import {first}
before = set(sys.modules)
import {second}
print(*{{name.partition(".")[0] for name in set(sys.modules) - before}})
"""


def all_of_fast(numba, block=""):
    return ALL_OF_FAST.replace("BLOCK", block).replace("EXPECTED", str(numba))


def run(code, **environment):
    """Output of a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("block", "environment"),
    [("", {"RHOKIT_NUMBA": "0"}), ("sys.modules['numba'] = None", {})],
    ids=["switched off", "missing"],
)
def test_all_works_without_numba(block, environment):
    run(all_of_fast(numba=False, block=block), **environment)


@pytest.mark.parametrize(
    ("first", "second"),
    [("sys", "rhokit"), ("sklearn.base, sklearn.cluster", "rhokit.estimators")],
)
def test_imports_load_nothing_optional(first, second):
    """Beyond what scikit-learn loads by itself, which is pandas where it is there."""
    loaded = set(run(LOADED.format(first=first, second=second)).split())
    assert "rhokit" in loaded
    assert not loaded & OPTIONAL


def test_machine_code_is_kept_for_the_next_process(tmp_path):
    code = all_of_fast(numba=True)
    kept = []
    for _ in range(2):
        run(code, NUMBA_CACHE_DIR=str(tmp_path))
        kept.append(sorted(path.name for path in tmp_path.rglob("*.nbc")))
    assert kept[0]
    assert kept[1] == kept[0]


def test_compiled_also_where_nothing_can_be_kept(monkeypatch):
    njit = numba.njit

    def read_only(function, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(function, **options)

    monkeypatch.setattr(numba, "njit", read_only)
    double = compiled._compiled(_double)
    values = np.ones(3)
    double(values)
    assert values.tolist() == [2, 2, 2]


def _double(values):
    for i in range(len(values)):
        values[i] *= 2
