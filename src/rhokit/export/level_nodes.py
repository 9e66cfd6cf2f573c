"""Outputs of regressors: moments, intervals and quantiles, corrected as fitted."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core.arrays import safe_log
from rhokit.export.distribution_nodes import (
    mean_and_std,
    posterior,
    quantiles,
    sorted_by_level,
)
from rhokit.export.exporters import READOUT_EXPORTERS, Wanted, log_measured
from rhokit.export.graph import Value
from rhokit.models import Model
from rhokit.readouts import LevelReadOut, LocatedReadOut
from rhokit.readouts.conformal import tails_of
from rhokit.validation import check_levels

# Probabilities (n, m) of the levels (m,) of one target.
Distribution = tuple[Value, NDArray[np.float64]]


@READOUT_EXPORTERS.register(LevelReadOut.name)
def _values(readout: LevelReadOut, model: Model, rows: Value, wanted: Wanted) -> None:
    """Mean, standard deviation and interval of every target, and its quantiles."""
    found = _distributions(readout, model, rows)
    means, deviations = zip(*(mean_and_std(*pair) for pair in found), strict=True)
    _add(readout, "mean", means)
    _add(readout, "std", deviations)
    (coverage,) = check_levels("coverage", wanted.coverage).tolist()
    offsets = readout.interval_offsets(model, coverage)
    ends = _moved(found, tails_of(coverage), offsets)
    _add(readout, "interval", [_uncrossed(part) for part in ends], 2)
    if wanted.quantiles is not None:
        levels = check_levels("quantiles", wanted.quantiles)
        moved = _moved(found, levels, readout.quantile_offsets(model, levels))
        ordered = [sorted_by_level(part, levels) for part in moved]
        _add(readout, "quantiles", ordered, len(levels))


def _add(readout: LevelReadOut, name: str, parts: Sequence[Value], *shape: int) -> None:
    """One output of all targets; of one target, without its axis."""
    graph = parts[0].graph
    if readout.one_target:
        graph.output(name, parts[0], *shape)
        return
    stacked = graph.concat([part.reshape(0, 1, *shape) for part in parts], axis=1)
    graph.output(name, stacked, len(parts), *shape)


def _distributions(
    readout: LevelReadOut, model: Model, rows: Value
) -> list[Distribution]:
    """Pairs of probabilities (n, m) and levels (m,), one per target."""
    logs = log_measured(model, rows)
    pairs = []
    for part, output in zip(readout.parts, readout.output_maps, strict=True):
        own = logs.take(np.arange(part.start, part.stop), axis=1)
        found = posterior(own, np.asarray(safe_log(model.weight[part])))
        pairs.append((found, output.landmarks_[:, 0]))
    return pairs


# ---- a mean and a spread of every row ----------------------------------------------


@READOUT_EXPORTERS.register(LocatedReadOut.name)
def _located_values(
    readout: LocatedReadOut, model: Model, rows: Value, wanted: Wanted
) -> None:
    """The same outputs, of residuals in units of every row's spread."""
    located, residuals = _located(readout, model, rows), readout.residuals(model)
    known = list(zip(located, residuals, strict=True))
    _add(readout, "mean", [mean.reshape(0) for mean, _ in located])
    spreads = [(spread * own.std).reshape(0) for (_, spread), own in known]
    _add(readout, "std", spreads)
    (coverage,) = check_levels("coverage", wanted.coverage).tolist()
    ends = [
        mean + spread * own.interval(tails_of(coverage))[None]
        for (mean, spread), own in known
    ]
    _add(readout, "interval", [_uncrossed(part) for part in ends], 2)
    if wanted.quantiles is not None:
        levels = check_levels("quantiles", wanted.quantiles)
        parts = [
            mean + spread * own.quantiles(levels)[None] for (mean, spread), own in known
        ]
        _add(readout, "quantiles", parts, len(levels))


def _located(
    readout: LocatedReadOut, model: Model, rows: Value
) -> list[tuple[Value, Value]]:
    """Mean and spread, both (n, 1), of every target."""
    graph, logs = rows.graph, log_measured(model, rows)
    pairs = []
    for part, low, high in zip(readout.parts, readout.low, readout.high, strict=True):
        own = logs.take(np.arange(part.start, part.stop), axis=1)
        moments = graph.exp(own - own.column(0))
        mean, square = moments.column(1), moments.column(2)
        variance = graph.node("Max", square - mean * mean, 0.0)
        least = np.finfo(float).eps * max(abs(low), abs(high))
        spread = graph.node("Sqrt", variance) * float(high - low)
        pairs.append((mean * float(high - low) + low, graph.node("Max", spread, least)))
    return pairs


def _uncrossed(ends: Value) -> Value:
    """Ends (n, 2) of intervals; one narrowed by more than its width is a point."""
    graph = ends.graph
    low, high = ends.column(0), ends.column(1)
    return graph.where(low > high, (low + high) * 0.5, ends)


def _moved(
    found: list[Distribution], levels: NDArray[np.float64], offsets: Any
) -> list[Value]:
    """Quantiles (n, q) of every target, moved by offsets (q,) of its own."""
    pairs = zip(found, offsets, strict=True)
    return [quantiles(*pair, levels) + offset for pair, offset in pairs]
