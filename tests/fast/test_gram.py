"""Running sums of outer products, against the core's state."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.core import DensityMatrix
from rhokit.fast import GramSum
from rhokit.fast import gram as module
from rhokit.fast.gram import _FLUSH_ROWS
from tests.support import assert_close, random_array

PRECISION = {
    "float32": "single",
    "float64": "double",
    "complex64": "single",
    "complex128": "double",
}

every_dtype = pytest.mark.parametrize("dtype", PRECISION)


def twin(rows):
    """The sum in double precision."""
    rows = rows.astype(np.result_type(rows.dtype, np.float64))
    return DensityMatrix.from_states(rows).total[0]


def gram(blocks, dim, dtype):
    total = GramSum(dim, dtype)
    for block in blocks:
        total.add(block)
    return total.total()


@pytest.fixture
def rng():
    return np.random.default_rng(12)


@pytest.fixture(params=["syrk", "product"], autouse=True)
def routine(request, monkeypatch):
    """BLAS's own routine, and what serves where NumPy's BLAS does not show it."""
    if request.param == "product":
        monkeypatch.setattr(module, "_syrk", lambda char: None)
    return request.param


def test_the_routine_is_found_in_numpys_wheels(routine):
    """Elsewhere sums are right but slower; here they must be fast."""
    config = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    for char in "fd":
        found = module._syrk(char) is not None
        assert found == (routine == "syrk" and "openblas" in config)
    assert module._syrk("D") is None


@every_dtype
@pytest.mark.parametrize("dim", [1, 2, 33])
@pytest.mark.parametrize("sizes", [[1], [40], [1, 17, 0, 1, 30]], ids=str)
def test_twin(dtype, dim, sizes, rng):
    blocks = [random_array(rng, (size, dim), dtype) for size in sizes]
    copies = [block.copy() for block in blocks]
    total = gram(blocks, dim, dtype)
    assert total.dtype == np.result_type(dtype, np.float64)
    expected = twin(np.concatenate(blocks))
    scale = np.abs(expected).max()
    assert_close(total / scale, expected / scale, precision=PRECISION[dtype])
    assert_array_equal(total, total.conj().T)
    for block, copy in zip(blocks, copies, strict=True):
        assert_array_equal(block, copy)


@every_dtype
@pytest.mark.parametrize(
    "layout",
    [np.asfortranarray, lambda a: a[::3], lambda a: a[:, ::2], lambda a: a[::-1]],
    ids=["fortran", "every third row", "every second column", "backwards"],
)
def test_any_layout(dtype, layout, rng):
    rows = layout(random_array(rng, (30, 8), dtype))
    total = gram([rows, rows], rows.shape[1], dtype)
    expected = 2 * twin(rows)
    assert_allclose(total, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_single_rows_are_summed_in_double(dtype, rng):
    """In single precision throughout, this sum is off by 1e-4."""
    block = (0.1 + 0.01 * random_array(rng, (64, 4), dtype)).astype(dtype)
    count = 40 * _FLUSH_ROWS // 64
    total = gram([block] * count, 4, dtype)
    assert_allclose(total / count, twin(block), rtol=1e-5)


@every_dtype
def test_total_may_be_asked_for_at_any_time(dtype, rng):
    first, second = random_array(rng, (2, 5, 3), dtype)
    total = GramSum(3, dtype)
    assert_array_equal(total.total(), np.zeros((3, 3)))
    total.add(first)
    kept = total.total()
    copy = kept.copy()
    assert_array_equal(total.total(), copy)
    total.add(second)
    assert_array_equal(kept, copy)
    expected = twin(np.concatenate([first, second]))
    assert_close(total.total(), expected, precision=PRECISION[dtype])


@pytest.mark.parametrize("announced", ["float32", "float64"])
@pytest.mark.parametrize("given", ["float32", "float64", ">f4", ">f8"])
def test_rows_of_another_dtype(announced, given, rng):
    """BLAS would read them as what they are not."""
    rows = rng.normal(size=(20, 5)).astype(given)
    assert_allclose(gram([rows], 5, announced), twin(rows), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 2), (4, 6), (5,)], ids=str)
def test_wrong_width_is_refused(shape):
    with pytest.raises(ValueError, match=r"shape \(n, 5\), got \(.*\)"):
        GramSum(5, "float64").add(np.zeros(shape))
