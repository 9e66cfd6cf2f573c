"""Descriptions of models, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rhokit.cli.console import number, short_list
from rhokit.cli.stored_models import Note, answering, column_names, kind_of
from rhokit.core import GaussianKernel

Described = dict[str, Any]


def described(model: Any, note: Note) -> Described:
    """A model in plain values, for programs."""
    return (
        {
            "kind": kind_of(model),
            "class": type(model).__name__,
            "rows": None,
            "columns": column_names(model),
            "n_columns": None,
            "categories": {},
            "target": list(note.target),
            "weight": note.weight,
            "classes": None,
            "lowest": None,
            "highest": None,
            "map": None,
            "dimension": None,
            "cells": None,
            "gamma": None,
            "bandwidth": None,
            "fingerprint": None,
            "learns": False,
        }
        | _planned(answering(model))
        | _learned(model)
    )


def _planned(estimator: Any) -> Described:
    """Everything that is fixed before the first row."""
    if not estimator.is_prepared:
        return {}
    plan = estimator.plan_
    gamma = plan.gamma
    return {
        "rows": 0,
        "n_columns": plan.columns.n_features,
        "categories": _categories(plan.columns.schema),
        "map": plan.feature_map.name,
        "dimension": int(plan.feature_map.n_components_),
        "cells": getattr(plan.feature_map, "n_cells_", None),
        "gamma": gamma,
        "bandwidth": None if gamma is None else GaussianKernel(gamma).bandwidth,
        "fingerprint": estimator.fingerprint(),
    } | _range(estimator)


def _range(estimator: Any) -> Described:
    """The lowest and highest values of a target that is a number."""
    if estimator.readout_.kind != "values":
        return {}
    levels = estimator.readout_.levels()
    return {"lowest": levels[0].tolist(), "highest": levels[-1].tolist()}


def _learned(model: Any) -> Described:
    """Everything that rows have added; a trained model does not count them."""
    estimator = answering(model)
    if not estimator.is_prepared or estimator.state_ is None:
        return {}
    learned: Any = estimator.fitted_model()
    told = {"rows": _count(learned.total_weight), "learns": learned.state.takes_rows}
    if learned.readout.kind in ("classes", "ordered"):
        pairs = zip(estimator.classes_.tolist(), learned.weight.tolist(), strict=True)
        told["classes"] = {str(label): _count(weight) for label, weight in pairs}
    return told | ({} if estimator is model else {"rows": None})


def _count(weight: float) -> float:
    """A weight as a whole number, if it is one."""
    return round(weight) if abs(weight - round(weight)) < 1e-9 * weight else weight


def _categories(schema: Any) -> dict[str, list[Any]]:
    """Values of the columns that are no numbers, by column."""
    if schema is None:
        return {}
    columns = zip(schema.names, schema.categories, strict=True)
    return {name: list(known) for name, known in columns if known is not None}


def described_pairs(told: Described) -> Iterator[tuple[str, str | None]]:
    """Names and texts for people."""
    columns, count = told["columns"], told["n_columns"]
    names = "" if columns is None else f": {short_list(columns)}"
    yield "model", told["class"]
    yield "rows", None if told["rows"] is None else number(told["rows"])
    yield "columns", None if count is None else f"{number(count)}{names}"
    if told["categories"]:
        counts = [f"{name} ({len(each)})" for name, each in told["categories"].items()]
        yield "categories", short_list(counts)
    yield "target", ", ".join(told["target"]) or None
    yield "weight", told["weight"]
    yield "classes", None if not told["classes"] else short_list(told["classes"])
    yield "values", _range_text(told)
    if told["map"] is not None:
        yield "map", f"{told['map']}, {_size_text(told)}"
    if told["gamma"] is not None:
        width = number(told["bandwidth"], 3)
        yield "gamma", f"{number(told['gamma'])} (a bandwidth of {width} scaled units)"


def _size_text(told: Described) -> str:
    if told["cells"] is None:
        return f"{number(told['dimension'])} dimensions"
    return f"{number(told['cells'])} cell{'' if told['cells'] == 1 else 's'}"


def _range_text(told: Described) -> str | None:
    low, high = told["lowest"], told["highest"]
    if low is None:
        return None
    if not isinstance(low, list):
        return f"{number(low)} to {number(high)}"
    pairs = zip(told["target"] or ["?"] * len(low), low, high, strict=True)
    return "; ".join(f"{name} {number(a)} to {number(b)}" for name, a, b in pairs)
