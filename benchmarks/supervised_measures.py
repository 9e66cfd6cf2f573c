"""What a line of the supervised section says of the answers to a split."""

import numpy as np

from benchmarks.contestants.learners_answers import LEVELS, Predicted
from benchmarks.supervised_sets import VALUES
from rhokit.metrics import coverage_by_width, crps, interval_coverage, interval_width

ERROR, SHARE = "RMSE", "accuracy"
METRICS = {"values": ERROR, "classes": SHARE}
_LEAST = np.finfo(float).eps  # as scikit-learn's log_loss has it
_BINS = 5


def judge(kind, answers, truth):
    """The first measure of a split, and the others by name.

    Parameters
    ----------
    kind : {"values", "classes"}
    answers : array of shape (n, k)
        As :mod:`benchmarks.contestants.learners_answers` has them.
    truth : array of shape (n,)

    Returns
    -------
    value : float
        Root mean squared error, or accuracy.
    others : dict
    """
    if kind == VALUES:
        return _values(answers, truth)
    found = answers[np.arange(len(truth)), 1 + truth]
    logs = np.log(np.clip(found, _LEAST, 1))
    return float((answers[:, 0] == truth).mean()), {"log_loss": -float(logs.mean())}


def _values(answers, truth):
    error = float(np.sqrt(np.mean((answers[:, 0] - truth) ** 2)))
    if answers.shape[1] == 1:
        return error, {}
    found = Predicted.of(answers)
    by_width = coverage_by_width(truth, found.interval, n_bins=_BINS)
    likelihood = -float(found.log_density.mean())
    return error, {
        "nll": None if np.isnan(likelihood) else likelihood,
        "crps": crps(truth, found.quantiles, LEVELS),
        "coverage": interval_coverage(truth, found.interval),
        "width": interval_width(found.interval),
        "coverage_by_width": by_width.coverage.round(4).tolist(),
    }
