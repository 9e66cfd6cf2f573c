"""The two sides of a comparison: models, model files, or rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Columns
from rhokit.drift.tables import Column, Table, plain, table_of, table_of_rows
from rhokit.io import load
from rhokit.models import Model, RowSample
from rhokit.models.kept import rows_kept

Floats = NDArray[np.float64]
# Rows that a sample of repeated ones is written out to.
_MOST_COPIES = 5000
_TARGET = "target"


@dataclass(frozen=True, eq=False)
class Side:
    """Rows to compare, and the model that keeps them, if one does.

    Parameters
    ----------
    table : Table
        Targets are its last columns.
    model : Model, optional
    places : array of shape (n,), optional
        Places of the rows among those that the model keeps.
    """

    table: Table
    model: Model | None = None
    places: NDArray[np.intp] | None = None

    def take(self, which: NDArray[np.intp]) -> Side:
        """Some of the rows."""
        places = None if self.places is None else self.places[which]
        return replace(self, table=self.table.take(which), places=places)

    def foretold(self, model: Model) -> list[Column]:
        """What a model says of these rows; of those that it knows, each left out."""
        if self.model is model and model.state is not None and self.places is not None:
            sample: Any = rows_kept(model)
            own = model.state.takes_rows
            logs = (
                model.log_left_out(sample) if own else model.log_measured(sample.rows)
            )
            found = model.readout.foretold(model, logs)
            found = None if found is None else found[self.places]
        else:
            rows = wide_rows(self.table, model.plan.columns)
            found = model.readout.foretold(model, model.log_measured(rows))
        return [] if found is None else outcome_columns(found, "prediction", None)


def side_of(given: Any, names: Sequence[str] | None, target: str | None) -> Side:
    """A model, a file's name, rows, or rows with their targets, as a side.

    Parameters
    ----------
    given : object
    names : sequence of str, optional
        The columns to compare.
    target : str, optional
        The name of the target.
    """
    if isinstance(given, str | os.PathLike):
        given = load(given)
    model = _model_of(given)
    if model is not None:
        return _side_of_model(model, target)
    if isinstance(given, Table):
        return Side(given)
    if isinstance(given, tuple):
        if len(given) != 2:
            raise ValueError(
                f"rows to compare must be X or (X, y), got a tuple of {len(given)}"
            )
        table = table_of(given[0], names)
        for column in outcome_columns(np.asarray(given[1]), _TARGET, target):
            table = table.with_column(column)
        return Side(table)
    return _side_of_rows(given, names, target)


def _side_of_rows(X: Any, names: Sequence[str] | None, target: str | None) -> Side:
    wanted = None
    if names is not None:
        wanted = [*names, *([target] if target is not None else [])]
    try:
        table = table_of(X, wanted)
    except ValueError:
        if names is None or target is None:
            raise
        table = table_of(X, names)  # which has no target
    marked = [
        replace(c, role=_TARGET) if c.name == target else c for c in table.columns
    ]
    return Side(replace(table, columns=tuple(marked)))


def names_of(given: Any) -> tuple[str, ...] | None:
    """Names of a model's columns, where it has some."""
    model = _model_of(load(given) if isinstance(given, str | os.PathLike) else given)
    known = None if model is None else model.plan.columns.names
    return None if known is None else tuple(str(name) for name in known)


def _model_of(given: Any) -> Model | None:
    inner = getattr(given, "estimator_", given)  # of trained models
    if not hasattr(inner, "fitted_model"):
        return None
    model: Model = inner.fitted_model()
    return model


def _side_of_model(model: Model, target: str | None) -> Side:
    sample = rows_kept(model)
    if sample is None or not len(sample.keys):
        raise ValueError(
            "the model keeps no rows to compare: it was made smaller (compact, "
            'state="factor") or is a part of another. Compare the model that it was '
            "made from, or rows"
        )
    places = fair_places(sample)
    table = table_of_rows(sample.rows, model.plan.columns, model.total_weight)
    if model.readout.has_target:
        decoded = model.readout.decoded(sample.target)
        for column in outcome_columns(decoded, _TARGET, target):
            table = table.with_column(column)
    return Side(table.take(places), model, places)


def fair_places(sample: RowSample) -> NDArray[np.intp]:
    r"""Places of rows that stand for all in equal parts.

    Of a complete sample, whole weights are copies. Otherwise, rows of unequal weights
    are drawn in proportion to them, :math:`(\sum w)^2 / \sum w^2` of them.
    """
    w = sample.weight
    rng = np.random.default_rng(0)
    if np.ptp(w) <= 1e-9 * w.max() and not (sample.bound is None and w[0] > 1):
        return np.arange(len(w))
    n = int(max(w.sum() ** 2 / (w**2).sum(), 1))
    if sample.bound is None and (w == np.round(w)).all():
        n = int(min(w.sum(), _MOST_COPIES))
    ends = np.cumsum(w) / w.sum()
    steps = (np.arange(n) + rng.random()) / n
    places = np.searchsorted(ends, steps).clip(max=len(w) - 1)
    return np.asarray(rng.permutation(places))


def outcome_columns(found: Any, role: str, name: str | None) -> list[Column]:
    """Targets or predictions (n,) or (n, t) as columns."""
    values = np.asarray(found)
    values = values.reshape(len(values), -1)
    first = name or role
    names = (
        [first]
        if values.shape[1] == 1
        else [f"{first} {k}" for k in range(values.shape[1])]
    )
    columns = []
    for each, part in zip(names, values.T, strict=True):
        if part.dtype.kind == "f":
            columns.append(Column(each, part.astype(np.float64), role=role))
        else:
            columns.append(Column.of_categories(each, part, role))
    return columns


def wide_rows(table: Table, columns: Columns) -> NDArray[Any]:
    """Rows as a model works on them (m, w), without those that it does not know."""
    own = [c for c in table.columns if c.role == "column"][: columns.n_features]
    if columns.schema is None:
        rows = np.stack([column.values for column in own], axis=1)
    else:
        schema = columns.schema
        rows = np.full((len(table), schema.width), np.nan)
        for place, (column, block) in enumerate(zip(own, schema.blocks, strict=True)):
            known = schema.categories[place]
            if known is None:
                rows[:, block.start] = column.values
            else:
                coded = _coded(column, known)
                states = np.vstack([schema.states(place), np.full(len(known), np.nan)])
                rows[:, block] = states[coded]
    return rows[~np.isnan(rows).any(axis=1)]


def _coded(column: Column, known: tuple[Any, ...]) -> NDArray[np.intp]:
    """Places of a column's labels among others, -1 for what is not among them."""
    places = {plain(label): place for place, label in enumerate(known)}
    lookup = [places.get(plain(label), -1) for label in column.labels or ()]
    codes = np.nan_to_num(column.values, nan=len(lookup)).astype(np.intp)
    return np.array([*lookup, -1])[codes]
