"""Curves over a size: times of its jobs, lines for its points, and its exponent."""

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.records import Result
from benchmarks.timing import interleaved

_LONG, _ENOUGH = 0.5, 3.0  # seconds of a job, and of all runs of a long one


@dataclass(frozen=True)
class Curve:
    """A measure of a model over a size.

    Parameters
    ----------
    model : str
    measure : str
        Its last word is the unit.
    axis : str
        What the size counts.
    expected : float
        The exponent that theory expects of large sizes.
    """

    model: str
    measure: str
    axis: str
    expected: float

    def results(self, values, **details):
        """A line for each point, and one for the exponent.

        Parameters
        ----------
        values : dict
            By size.
        **details
            What else the lines should say.
        """
        name = f"{self.measure} over {self.axis}: {self.model}"
        common = {"curve": name, "axis": self.axis, "measure": self.measure}
        common |= {"model": self.model, "expected": self.expected} | details
        unit = self.measure.split()[-1]
        for size, value in values.items():
            yield Result(name, unit, value, details=common | {"size": size})
        sizes, values = list(values), list(values.values())
        common |= {"sizes": sizes, "values": values}
        yield Result(name, "exponent", power(sizes, values), details=common)


def power(sizes, values):
    """Exponent of the power law through the larger half of the sizes.

    Least squares in the logarithms. At small sizes a curve shows what every call
    costs, whatever it is asked; that says nothing about growth, so only the larger
    half of the sizes counts, the middle included.

    Parameters
    ----------
    sizes, values : sequences of float
        Positive numbers, in any order.

    Returns
    -------
    exponent : float
        NaN with fewer than two sizes.
    """
    if len(sizes) < 2:
        return float("nan")
    order = np.argsort(sizes)[(len(sizes) - 1) // 2 :]
    logs = np.log([sizes, values])[:, order]
    return float(np.polyfit(*logs, 1)[0])


def times(jobs, rounds):
    """Seconds of jobs by size: medians, but for the long ones.

    A long job is done again while its runs fit in a few seconds, and the fastest one
    counts: the first may have loaded or compiled something.

    Parameters
    ----------
    jobs : dict of int to callable
        From the smallest size to the largest, so that most things are warm by then.
    rounds : int
        Of the short ones.
    """
    jobs[min(jobs)]()
    first = {size: _seconds(job) for size, job in jobs.items()}
    short = {size: job for size, job in jobs.items() if first[size] < _LONG}
    found = {size: t.median for size, t in interleaved(short, rounds).items()}
    for size, job in jobs.items():
        if size not in short:
            found[size] = _fastest(job, first[size], rounds)
    return {size: found[size] for size in jobs}


def _fastest(job, seconds, rounds):
    runs = [seconds]
    while len(runs) <= rounds and sum(runs) < _ENOUGH:
        runs.append(_seconds(job))
    return min(runs)


def _seconds(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start
