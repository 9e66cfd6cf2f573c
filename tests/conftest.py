"""Fixtures and settings that every test may use."""

import pytest
from hypothesis import settings

from tests.support import NAMESPACES

# Derandomised: a red test then comes from a change, never from luck, and any two
# workers see the same examples. No deadline: timings are not what is tested.
settings.register_profile(
    "rhokit", deadline=None, derandomize=True, database=None, max_examples=25
)
settings.load_profile("rhokit")


# Session scope, because hypothesis refuses fixtures made anew for each test.
@pytest.fixture(scope="session", params=NAMESPACES.values(), ids=NAMESPACES.keys())
def xp(request):
    """An array namespace: NumPy, the strict reference, torch."""
    return request.param


@pytest.fixture(scope="session", params=["float64", "complex128"])
def dtype(request):
    """Name of a double-precision dtype, real and complex."""
    return request.param
