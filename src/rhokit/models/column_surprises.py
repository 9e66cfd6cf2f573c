"""How improbable each value of a row is, given the others of the row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.models.model import Model

Floats = NDArray[np.float64]

# Densities of zero, which have no ratio.
_LEAST_LOG = -1e6


def column_surprises(model: Model, rows: NDArray[Any]) -> Floats:
    r"""Minus log-densities of the columns, each given all others, shape (n, d).

    .. math:: -\log p(x_j \mid x_{\ne j}) = \log p(x_{\ne j}) - \log p(x)

    Zero for values that are missing.

    Parameters
    ----------
    model : Model
        Whose columns can be integrated over.
    rows : array of shape (n, w)
        Checked, in the user's units.
    """
    columns = model.plan.columns
    if not model.representation.can_integrate:
        raise model.representation.cannot_integrate()
    if not model.lacks(rows):
        return _of_whole(model, rows)
    found = model.by_gaps(rows, lambda kept: _knowing(model, kept))
    return np.asarray(found.reshape(len(rows), columns.n_features))


def _knowing(model: Model, kept: list[int]) -> Any:
    """Function from rows of some columns to surprises of all, zero for the others."""
    d = model.plan.columns.n_features

    def surprises(part: NDArray[Any]) -> Floats:
        found = np.zeros((len(part), d))
        if kept:
            known = model if len(kept) == d else model.marginal(kept)
            found[:, kept] = _of_whole(known, part)
        return found

    return surprises


def _of_whole(model: Model, rows: NDArray[Any]) -> Floats:
    """Of rows that lack nothing."""
    columns, logs = model.plan.columns, _log_density(model, rows)
    d = columns.n_features
    if d == 1:
        return -logs[:, None]
    found = np.empty((len(rows), d))
    for column in range(d):
        rest = [c for c in range(d) if c != column]
        without = _log_density(model.marginal(rest), rows[:, columns.places(rest)])
        found[:, column] = without - logs
    return found


def _log_density(model: Model, rows: NDArray[Any]) -> Floats:
    return np.maximum(model.log_density(rows), _LEAST_LOG)
