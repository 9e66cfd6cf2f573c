"""Estimators in a model file: parameters, and the model that they made."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import rhokit
from rhokit import estimators
from rhokit.batch import Columns
from rhokit.estimators.base import OnePassEstimator
from rhokit.io.costs import claim_costs
from rhokit.io.map_field import PARAMETERS
from rhokit.io.model_field import ModelField
from rhokit.io.parameter_field import check_parameters, paths_of
from rhokit.records import (
    Build,
    Field,
    Flag,
    Maybe,
    Number,
    Reader,
    Writer,
    members,
    refusal,
    require,
)
from rhokit.records.field import joined

ONE_PASS: dict[str, type[OnePassEstimator]] = {
    name: found
    for name, found in vars(estimators).items()
    if isinstance(found, type) and issubclass(found, OnePassEstimator)
}
"""Estimators that a file may name."""
TRAINED = {f"{name}SGD": name for name in ONE_PASS if f"{name}SGD" in rhokit.__all__}
"""Those that are trained by gradients, and what they train."""


class EstimatorField:
    """An estimator of a class of ours, fitted, prepared, or neither.

    The class is looked up in a table of ours; the file's word for it is never imported.

    Parameters
    ----------
    names : sequence of str
        Classes that there may be.
    """

    def __init__(self, names: Any = (*ONE_PASS, *TRAINED)) -> None:
        self._names = tuple(names)

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The estimator as an object."""
        name = type(value).__name__
        if name not in self._names or type(value) is not getattr(rhokit, name):
            raise TypeError(
                f"a {type(value).__module__}.{name} cannot be saved: a model file "
                f"holds objects of {sorted(self._names)}, and no code"
            )
        own = joined(path, "parameters")
        known = value.get_params(deep=False) | dict.fromkeys(paths_of(value))
        parameters = PARAMETERS.write(known, own, writer)
        learned = _field_of(name).write(value, path, writer)
        return {"class": name, "parameters": parameters, **learned}

    def read(self, given: Any, path: str, reader: Reader) -> Build:
        """The estimator that is to be made."""
        name = given.get("class") if isinstance(given, dict) else None
        if not isinstance(name, str) or name not in self._names:
            raise refusal(joined(path, "class"), f"one of {sorted(self._names)}", name)
        cls, field = getattr(rhokit, name), _field_of(name)
        _, parameters, *learned = members(
            given, path, "class", "parameters", *field.names
        )
        parameters = PARAMETERS.read(parameters, joined(path, "parameters"), reader)
        check_parameters(cls, parameters)
        parts = {"parameters": Build(dict, parameters)}
        return field.read(cls, parts, learned, path, reader)


def _field_of(name: str) -> Any:
    return TrainedParts(TRAINED[name]) if name in TRAINED else OnePassParts(name)


class OnePassParts:
    """What a one-pass estimator has learned: its model."""

    names = ("model",)

    def __init__(self, name: str) -> None:
        cls = ONE_PASS[name]
        self._model = Maybe(ModelField(cls().make_readout().name, cls.representation))

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The model, if there is one."""
        model = value.model_ if value.is_prepared else None
        return {"model": self._model.write(model, joined(path, "model"), writer)}

    def read(
        self, cls: Any, parts: dict[str, Any], given: Any, path: str, reader: Reader
    ) -> Build:
        """The estimator that is to be made."""
        model = self._model.read(given[0], joined(path, "model"), reader)
        if model is not None:
            claim_costs(cls, parts["parameters"].parts, model.parts, reader)
        return Build(partial(_one_pass, cls), parts | {"model": model})


def _one_pass(cls: Any, parameters: dict[str, Any], model: Any) -> Any:
    made = cls(**parameters)
    if model is None:
        return made
    readout = made.make_readout(model.readout)
    return made.with_model(replace(model, readout=readout))


class TrainedParts:
    """What a trained estimator has learned: a one-pass estimator, and how it went."""

    names = ("estimator", "history", "n_epochs", "improved")

    def __init__(self, one_pass: str) -> None:
        self._fields: dict[str, Field] = {
            "estimator": Maybe(EstimatorField([one_pass])),
            "history": Maybe(HistoryField()),
            "n_epochs": Maybe(Number(0, integer=True)),
            "improved": Maybe(Flag()),
        }

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """All of them; None for those that are not there."""
        return {
            name: field.write(
                getattr(value, f"{name}_", None), joined(path, name), writer
            )
            for name, field in self._fields.items()
        }

    def read(
        self, cls: Any, parts: dict[str, Any], given: Any, path: str, reader: Reader
    ) -> Build:
        """The estimator that is to be made."""
        values = {
            name: field.read(value, joined(path, name), reader)
            for (name, field), value in zip(self._fields.items(), given, strict=True)
        }
        inner = values["estimator"]
        if inner is None:
            require(values["history"] is None, "history without an estimator")
        else:
            require(inner.parts["model"] is not None, "estimator is not fitted")
        return Build(partial(_trained, cls), parts | values)


def _trained(cls: Any, parameters: dict[str, Any], **learned: Any) -> Any:
    made = cls(**parameters)
    estimator = learned["estimator"]
    if estimator is not None:
        known = {name: value for name, value in learned.items() if value is not None}
        vars(made).update({f"{name}_": value for name, value in known.items()})
        Columns.of(estimator).give_to(made)
    return made


class HistoryField:
    """Numbers of every epoch, by name; None where there was no number."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """Lists of numbers by name."""
        return {
            str(name): [float(x) if math.isfinite(x) else None for x in numbers]
            for name, numbers in value.items()
        }

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        """Lists of numbers by name, NaN where there was none."""
        if not isinstance(given, dict):
            raise refusal(path, "lists of numbers by name", given)
        for numbers in given.values():
            if not isinstance(numbers, list) or not all(
                x is None or type(x) in (int, float) for x in numbers
            ):
                raise refusal(path, "lists of numbers", numbers)
        return {
            name: [math.nan if x is None else float(x) for x in numbers]
            for name, numbers in given.items()
        }
