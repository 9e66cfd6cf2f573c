"""The section of text files, on a few rows."""

import sys

import pytest

from benchmarks.goals import files


def test_reading_is_compared(tmp_path):
    (line,) = files.reading(tmp_path, 1, n=3_000, d=2)
    assert line.value > 0
    assert line.goal.at_least == 0.6
    assert line.details["file_megabytes"] > 0.02


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_traced(tmp_path):
    most, growth, rate = files.learning(tmp_path, n=30_000, d=2, n_components=16)
    assert most.value > 50
    assert growth.goal.at_most == 10
    assert rate.value > 0
