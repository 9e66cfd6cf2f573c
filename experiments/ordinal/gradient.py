"""QMR-SGD: families of candidates, weighed inside each training partition.

Candidates are trained for all partitions, and all folds of them, at once. Each is
weighed by the squared error of rows that were left out of its training, and what is
measured is averaged with these weights: an average of states is a state. Test rows are
asked for once, when all weights are known.
"""

from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch

from benchmarks.goals.ordinal import (
    Task,
    estimated,
    inner_task,
    mixture,
    snapshots,
    started,
    trained,
    values,
    weights_of,
)
from experiments.ordinal import config
from experiments.ordinal.metric import learned_widths
from rhokit.nn import FourierLayer


def expected(distributions):
    """The paper's rule: the code nearest to the mean."""
    return np.rint(values(distributions))


def median(distributions):
    """The least code that has half of the distribution up to it."""
    return (np.cumsum(distributions, axis=-1) < 0.5).sum(axis=-1)


_FAMILIES = ("estimate", "landmarks", "metric", "fourier")
# What each model is a mixture of, and the ways to read a code off it.
FORMS = {
    config.TRAINED: (_FAMILIES, (expected,)),
    config.DECIDED: (_FAMILIES, (expected, median)),
    config.FOURIER: (("fourier",), (expected,)),
    config.LANDMARKS: (("estimate", "landmarks"), (expected,)),
}


@dataclass(frozen=True, eq=False)
class Choice:
    """What training rows say about a form in every partition.

    Parameters
    ----------
    families : list of str
        Of each candidate.
    weights : array of shape (C, P)
    decision : array of shape (P,)
        Which way of reading a code off had the fewest errors.
    inner_errors : array of shape (P,)
        Those of the whole rule: weighed on all folds but one, judged on that one.
    """

    families: list[str]
    weights: np.ndarray
    decision: np.ndarray
    inner_errors: np.ndarray

    def shares(self, place):
        """Weight of every family in one partition."""
        sums = dict.fromkeys(self.families, 0.0)
        for name, weight in zip(self.families, self.weights[:, place], strict=True):
            sums[name] += float(weight)
        return {name: round(total, 4) for name, total in sums.items()}


def choose(splits, search, seed=0):
    """A choice for every form, from training rows alone.

    Parameters
    ----------
    splits : sequence of benchmarks.real_data.Split
        Only their training part is looked at.
    search : dict
        See ``config.SIZES``.
    seed : int

    Returns
    -------
    choices : dict of str to Choice
    """
    task, truth = inner_task(splits, seed)  # (P, folds, k)
    found = candidates(task, search, seed)
    choices = {}
    for model, (families, ways) in FORMS.items():
        labels = [name for name in families for _ in found[name]]
        each = np.concatenate([found[name] for name in families])
        each = each.reshape(len(each), *truth.shape, -1)  # (C, P, folds, k, levels)
        squares = np.square(values(each) - truth).mean(axis=-1)  # (C, P, folds)
        judged = _judged(each, squares, truth, ways)  # (ways, P)
        weights = weights_of(squares.mean(axis=2))
        best = judged.argmin(axis=0), judged.min(axis=0)
        choices[model] = Choice(labels, weights, *best)
    return choices


def _judged(each, squares, truth, ways):
    """Errors (ways, P), each fold answered with weights from the others."""
    errors = []
    for fold in range(truth.shape[1]):
        others = np.delete(squares, fold, axis=2).mean(axis=2)
        mixed = mixture(each[:, :, fold], weights_of(others))
        errors.append(_errors(mixed, truth[:, fold], ways))
    return np.mean(errors, axis=0)


def _errors(mixed, truth, ways):
    """Mean absolute errors (ways, P) of codes read off in several ways."""
    return np.array([np.abs(way(mixed) - truth).mean(axis=-1) for way in ways])


def final_errors(splits, choices, search, seed=0):
    """Mean absolute errors (P,) of every form on the test rows, of one last fit."""
    found = final_candidates(splits, search, seed)
    truth = np.stack([split.test_target for split in splits])
    errors = {}
    for model, (families, ways) in FORMS.items():
        each = np.concatenate([found[name] for name in families])
        judged = _errors(mixture(each, choices[model].weights), truth, ways)
        errors[model] = judged[choices[model].decision, np.arange(len(splits))]
    return errors


def final_candidates(splits, search, seed=0):
    """As :func:`candidates`, trained on all training rows, asked for test rows.

    What is trained is averaged over members with other landmarks and other starts.
    """
    parts = [(each.train_rows, each.train_target, each.test_rows) for each in splits]
    task, members = Task.of(parts), search["members"]
    drawn = [
        by_gradient(task.shuffled(seed + k), search, seed + 100 * k)
        for k in range(members)
    ]
    means = {name: sum(each[name] for each in drawn) / members for name in drawn[0]}
    return by_overlap(task, search, seed) | means


# ---- candidates ----------------------------------------------------------------------


def candidates(task, search, seed=0):
    """Distributions of the queries by family, each of shape (C, B, k, levels)."""
    return by_overlap(task, search, seed) | by_gradient(task, search, seed)


def by_overlap(task, search, seed=0):
    """Families that hold all rows: the estimate, and that with learned widths."""
    d = task.rows.shape[-1]
    found = {
        "estimate": [[estimated(task, g / d)] for g in search["estimate"]],
        "metric": [
            learned_widths(task, g, search["metric_steps"], seed + i)
            for i, g in enumerate(search["metric"])
        ],
    }
    return _stacked(found)


def by_gradient(task, search, seed=0):
    """Families whose states are trained."""
    d, size = task.rows.shape[-1], search["fourier_features"]
    found = {
        "landmarks": [
            trained(task, g / d, seed + i, search["landmark_steps"])
            for i, g in enumerate(search["landmarks"])
        ],
        "fourier": [
            trained_fourier(task, g / d, search["fourier_steps"], size, seed + i)
            for i, g in enumerate(search["fourier"])
        ],
    }
    return _stacked(found)


def _stacked(found):
    return {name: np.stack(list(chain(*parts))) for name, parts in found.items()}


def trained_fourier(task, gamma, steps, n_components, seed=0):
    """The paper's features: frequencies and phases are trained with the state."""
    models, _, d = task.rows.shape
    layer = FourierLayer(
        d,
        n_components,
        gamma=gamma,
        trainable=True,
        models=(models,),
        random_state=seed,
        dtype=torch.float64,
    )
    head = started(layer, task, seed).float()
    rows, queries = task.rows.float(), task.queries.float()
    return snapshots(head, rows, queries, task.codes, steps, seed, frozen=False)
