"""What tests share: namespaces, tolerances, comparisons, instances to test on."""

import array_api_compat.numpy
import array_api_strict
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

NAMESPACES = {
    "numpy": array_api_compat.numpy,
    "array_api_strict": array_api_strict,
}
try:
    import array_api_compat.torch
except ImportError:  # hidden on purpose: see conftest.py
    pass
else:
    NAMESPACES["torch"] = array_api_compat.torch

# Relative and absolute, by precision of the states. "sum": additions and products
# only; "solve": after a decomposition or a subtraction; "root": square roots of
# eigenvalues that may be zero, which keep half of the digits.
TOLERANCE = {
    "double": {"sum": 1e-12, "solve": 1e-10, "root": 1e-7},
    "single": {"sum": 1e-6, "solve": 1e-6, "root": 1e-3},
}


def to_numpy(array):
    """The same numbers as a NumPy array."""
    if hasattr(array, "resolve_conj"):  # torch conjugates lazily, NumPy cannot
        array = array.resolve_conj().detach()
    return np.asarray(array)


def assert_close(actual, expected, kind="sum", precision="double"):
    """Equal shapes, and equal values within the table's tolerance."""
    actual, expected = to_numpy(actual), to_numpy(expected)
    assert actual.shape == expected.shape
    tolerance = TOLERANCE[precision][kind]
    assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def assert_same_state(actual, expected, kind="sum"):
    """Equal sums and equal weights."""
    assert_close(actual.total, expected.total, kind)
    assert_close(actual.weight, expected.weight, kind)


def at_most(actual, bound, kind="solve"):
    """Whether ``actual <= bound`` everywhere, up to rounding."""
    bound = to_numpy(bound)
    slack = TOLERANCE["double"][kind] * (1 + np.abs(bound))
    return bool((to_numpy(actual) <= bound + slack).all())


def random_array(rng, shape, dtype="float64"):
    """Standard normal numbers, in both parts of a complex array."""
    array = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        array = array + 1j * rng.normal(size=shape)
    return array.astype(dtype)


def unit(states):
    """Rows of length one; rows of zeros stay."""
    length = np.linalg.norm(states, axis=1, keepdims=True)
    return states / np.where(length > 0, length, 1)


def random_states(rng, n, dim, dtype="float64"):
    """Rows of length one in random directions."""
    double = np.result_type(dtype, "float64")  # rounded once, at the end
    return unit(random_array(rng, (n, dim), double)).astype(dtype)


def random_unitary(rng, dim, dtype="float64"):
    """An orthogonal or unitary matrix."""
    return np.linalg.qr(random_array(rng, (dim, dim), dtype))[0]


def random_density(rng, dim, dtype="float64", rank=None):
    """A density matrix of trace one."""
    rows = random_array(rng, (rank or dim, dim), dtype)
    rho = rows.T @ rows.conj()
    return rho / np.trace(rho).real


# Multiples of 1/21: zeros and equal rows come up often, sums still round, and no
# square underflows.
_ENTRIES = st.integers(-21, 21).map(lambda i: i / 21)
_WEIGHTS = st.integers(0, 6).map(lambda i: i / 3)


@st.composite
def row_sets(draw, max_rows=8, max_dim=4):
    """States (n, D), real or complex, of any length including zero."""
    shape = draw(st.integers(1, max_rows)), draw(st.integers(1, max_dim))
    rows = draw(hnp.arrays(np.float64, shape, elements=_ENTRIES))
    if draw(st.booleans()):
        rows = rows + 1j * draw(hnp.arrays(np.float64, shape, elements=_ENTRIES))
    return rows


@st.composite
def weighted_sets(draw, max_outcomes=3):
    """States (n, D) and outcome weights (n, K), many of them zero."""
    states = draw(row_sets())
    shape = (len(states), draw(st.integers(1, max_outcomes)))
    return states, draw(hnp.arrays(np.float64, shape, elements=_WEIGHTS))


@st.composite
def density_pairs(draw, max_dim=4):
    """Two density matrices of one dimension, real or complex, of any rank."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dim = draw(st.integers(1, max_dim))
    dtype = draw(st.sampled_from(["float64", "complex128"]))
    ranks = [draw(st.integers(1, dim)) for _ in range(2)]
    return [random_density(rng, dim, dtype, rank) for rank in ranks]


def without(*packages):
    """Code after which these packages cannot be imported."""
    return f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())  # before all other finders
"""
