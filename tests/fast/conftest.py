"""Both ways through every fast routine: compiled loops, and NumPy alone."""

import math
from importlib import import_module

import pytest

from rhokit.fast import numba_loops


@pytest.fixture(params=["numba", "numpy"])
def loops(request, monkeypatch):
    """Name of the loops in use; blocks of any size take them."""
    if request.param == "numba":
        import_module("numba")  # whoever hides it skips the test: see conftest.py
    few = {"numba": 0, "numpy": math.inf}[request.param]
    monkeypatch.setattr(numba_loops, "_FEW_NUMBERS", few)
    assert (numba_loops.loops_for(1) is not None) == (request.param == "numba")
    return request.param


@pytest.fixture(params=["float32", "float64"])
def real(request):
    """Name of the precision of the rows."""
    return request.param
