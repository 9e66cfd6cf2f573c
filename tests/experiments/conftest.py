"""What all tests of experiments share."""

from tests.benchmarks import conftest

without_pauses = conftest.without_pauses
