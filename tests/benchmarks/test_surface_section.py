"""The section of what users meet first, on a few rows."""

import pytest

from benchmarks import real_data
from benchmarks.goals import surface
from tests.benchmarks.test_sections import goals


def reads(name):
    """Skip where a set of real data is not there."""
    reason = real_data.missing(name)
    return pytest.mark.skipif(reason is not None, reason=str(reason))


def test_help():
    result = surface.help_time(1)
    assert result.details["help_seconds"] > 0
    assert result.goal.at_most == 0.5


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=reads(name))
        for name in ("density_magic", "letters", "boston_housing")
    ],
)
def test_exported_models_keep_the_promise(name):
    error, ratio = surface.exported(name, 1, n=400, n_components=32)
    assert error.goal.is_met(error.value)
    assert ratio.goal is None


@reads("covtype")
def test_categories():
    results = list(surface.categories(1, n=600, n_test=200, n_components=64))
    assert goals(results) == 2
    assert 0.5 < results[0].value < 1


@reads("boston_housing")
def test_gaps():
    result = surface.gaps("boston_housing", n=200, n_components=64)
    assert result.details["whole"] < result.details["integrated"]
    assert result.goal.is_met(result.value)
