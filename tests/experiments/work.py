"""Work for tasks that processes of their own can find without importing much."""

import os
import time
from pathlib import Path

from benchmarks.records import Result
from experiments.data import DataNotAvailable


def squares(values):
    """The square of each value."""
    for value in values:
        yield Result("square", "value", value**2)


def process(values):
    """The number of the process that does it."""
    yield Result("process", "value", os.getpid())


def failing(values):
    """An error."""
    raise ZeroDivisionError("no luck")
    yield


def without_data(values):
    """Word that there are no data."""
    raise DataNotAvailable("moon: nobody brought any")
    yield


def waiting(path):
    """Say which process does it, and then go on for long."""
    Path(path).write_text(str(os.getpid()))
    time.sleep(600)
    yield
