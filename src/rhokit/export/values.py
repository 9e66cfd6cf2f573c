"""Outputs of regressors: moments, intervals and quantiles, corrected as fitted."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rhokit.core.arrays import safe_log
from rhokit.estimators import QMRegressor
from rhokit.estimators.conformal import tails_of
from rhokit.export.graph import Value
from rhokit.export.measurement import log_measured
from rhokit.export.readouts import mean_and_std, posterior, quantiles, sorted_by_share


def add_values(
    model: QMRegressor, rows: Value, coverage: float, shares: Any = None
) -> None:
    """Mean, standard deviation and interval of every target, and its quantiles."""
    chances = _distributions(model, rows)
    moments = [mean_and_std(*pair) for pair in chances]
    for name, parts in zip(("mean", "std"), zip(*moments, strict=True), strict=True):
        _add(model, name, parts)
    (checked,) = model._checked_shares("coverage", coverage)
    ends = _moved(chances, tails_of(checked), model._interval_offsets(checked))
    _add(model, "interval", [_uncrossed(part) for part in ends], 2)
    if shares is not None:
        wanted = model._checked_shares("quantiles", shares)
        moved = _moved(chances, wanted, model._quantile_offsets(wanted))
        ordered = [sorted_by_share(part, wanted) for part in moved]
        _add(model, "quantiles", ordered, len(wanted))


def _add(model: QMRegressor, name: str, parts: Sequence[Value], *shape: int) -> None:
    """One output of all targets; of one target, without its axis."""
    graph = parts[0].graph
    if model._one_target:
        graph.output(name, parts[0], *shape)
        return
    stacked = graph.concat([part.reshape(0, 1, *shape) for part in parts], axis=1)
    graph.output(name, stacked, len(parts), *shape)


def _distributions(model: QMRegressor, rows: Value) -> list[tuple[Value, np.ndarray]]:
    """Pairs of probabilities (n, m) and levels (m,), one per target."""
    logs = log_measured(model, rows)
    pairs = []
    for part, output in zip(model._parts(), model.output_maps_, strict=True):
        priors = safe_log(model.state_.weight[part])
        own = logs.take(np.arange(part.start, part.stop), axis=1)
        pairs.append((posterior(own, priors), output.landmarks_[:, 0]))
    return pairs


def _uncrossed(ends: Value) -> Value:
    """What is narrowed by more than its width becomes a point."""
    graph = ends.graph
    low, high = ends.column(0), ends.column(1)
    return graph.where(low > high, (low + high) * 0.5, ends)


def _moved(
    chances: list[tuple[Value, np.ndarray]], wanted: np.ndarray, offsets: Any
) -> list[Value]:
    """Quantiles (n, q) of every target, moved by offsets (q,) of its own."""
    pairs = zip(chances, offsets, strict=True)
    return [quantiles(*pair, wanted) + offset for pair, offset in pairs]
