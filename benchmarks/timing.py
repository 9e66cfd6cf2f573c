"""Times of several jobs in one run, one after the other in every round."""

import time
from dataclasses import dataclass

import numpy as np

PAUSE = 0.25


@dataclass(frozen=True, eq=False)
class Times:
    """Seconds of each repetition of one job."""

    seconds: np.ndarray

    @property
    def median(self):
        """Median of the repetitions."""
        return float(np.median(self.seconds))

    @property
    def best(self):
        """The fastest repetition: what a quiet machine would give."""
        return float(self.seconds.min())

    def details(self, name):
        """Both, for the results."""
        return {f"{name}_seconds": self.median, f"{name}_best_seconds": self.best}


def interleaved(jobs, repeats):
    """Time jobs in turn, ``repeats`` rounds after one round that does not count.

    A slow minute of the machine then falls on all of them alike.

    Parameters
    ----------
    jobs : dict of str to callable
    repeats : int

    Returns
    -------
    times : dict of str to Times
    """
    for job in jobs.values():
        job()
    rounds = [[_seconds(job) for job in jobs.values()] for _ in range(repeats)]
    columns = np.array(rounds).T
    return {name: Times(column) for name, column in zip(jobs, columns, strict=True)}


def compare(formula, *times):
    """A formula of times: its median over the rounds, and its value at their best.

    Within a round the machine is as fast or slow for one job as for the next.
    """
    rounds = zip(*(t.seconds for t in times), strict=True)
    median = float(np.median([formula(*seconds) for seconds in rounds]))
    return median, formula(*(t.best for t in times))


def _seconds(job):
    # The threads of BLAS spin for a while after a product, in the way of what follows.
    time.sleep(PAUSE)
    start = time.perf_counter()
    job()
    return time.perf_counter() - start
