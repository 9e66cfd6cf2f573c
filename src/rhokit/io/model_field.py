"""Models in a file: plan, read-out, state and sample."""

import math
from typing import Any

import numpy as np

from rhokit.io.map_field import MapField
from rhokit.models import MeasuredSample, Model, RowSample
from rhokit.plans import Plan, Scaling
from rhokit.plans.proposal import Proposal
from rhokit.readouts import READOUTS, ReadOut
from rhokit.records import (
    POSITIVE,
    ArrayField,
    Build,
    ColumnsField,
    Fields,
    Flag,
    Maybe,
    Number,
    OneOf,
    Reader,
    Record,
    RowsField,
    Values,
    Word,
    Writer,
    members,
    read_fields,
    refusal,
    require,
    write_fields,
)
from rhokit.records.field import joined
from rhokit.representations import REPRESENTATIONS


def _check_scaling(values: Values, reader: Reader) -> None:
    matrix = values["matrix"]
    with np.errstate(all="ignore"):
        if matrix.ndim == 1:
            volume = np.log(matrix.min(initial=math.inf))
        else:
            volume = Scaling(**values).log_volume
    require(not np.isnan(volume) and volume > -math.inf, "scaling has no volume")


def _check_proposal(values: Values, reader: Reader) -> None:
    total = values["weights"].sum()
    require(abs(total - 1) < 1e-6, "the weights of the proposal must sum to one")


def _check_keys(values: Values, reader: Reader) -> None:
    keys = values["keys"]
    require((keys[1:] > keys[:-1]).all(), "the keys of the sample must ascend")
    bound = values["bound"]
    below = bound is None or not len(keys) or int(keys[-1]) < bound
    require(below, "the keys of the sample must be below its bound")


def _check_sample(readout: type[ReadOut], values: Values, reader: Reader) -> None:
    """Rows of the sample have known targets, and are there where rows are compared."""
    sample = values["sample"]
    if sample is not None:
        readout.check_sample(values["readout"].parts, sample.parts["target"], reader)
    if readout.recognises_rows and values["state"] is not None:
        there = sample is not None and "rows" in sample.parts
        require(there, f"a model of {readout.kind} must hold a sample of its rows")


def _check_kept(readout: type[ReadOut], values: Values, reader: Reader) -> None:
    """Rows that are kept have targets that the read-out knows, or none."""
    if values["kept"] is None:
        return
    target = values["kept"].parts["target"]
    if readout.has_target:
        readout.check_sample(values["readout"].parts, target, reader)
    else:
        none = target.ndim == 1 and not target.any()
        require(none, "kept rows of a model without a target must have none")


def _check_plan(values: Values, reader: Reader) -> None:
    """Columns of categories are not scaled, and not every map takes them."""
    feature_map = values["feature_map"]
    require("fitted" in feature_map.parts, "the map of a model must be fitted")
    columns, scaling = values["columns"](), values["scaling"].parts
    shares = values["importances"]
    if shares is not None:
        same = len(shares) == columns.n_features
        require(same, "importances must have the size of the columns")
        require(abs(shares.sum() - 1) < 1e-6, "importances must sum to one")
    if not feature_map.of.numeric_rows:
        same = Scaling(**scaling).is_identity
        require(same, "scaling must leave rows that are no numbers as they are")
    is_number = columns.is_number
    if is_number is None:
        return
    require(feature_map.of.mixes, "feature_map takes no columns of categories")
    matrix, centre = scaling["matrix"], scaling["centre"]
    fixed = np.eye(len(matrix)) if matrix.ndim == 2 else np.ones(len(matrix))
    same = (matrix == fixed)[~is_number].all() and not centre[..., ~is_number].any()
    if matrix.ndim == 2:
        same = same and not matrix[np.ix_(is_number, ~is_number)].any()
    require(same, "scaling must leave columns of categories as they are")


_PLAN = Record(
    Plan,
    _check_plan,
    columns=ColumnsField("d"),
    scaling=Record(
        Scaling,
        _check_scaling,
        centre=ArrayField(("d",), (2, "d")),
        matrix=ArrayField(("d",), ("d", "d")),
    ),
    gamma=Maybe(POSITIVE),
    feature_map=MapField(),
    representation=Word(REPRESENTATIONS),
    compares_outcomes=Flag(),
    proposal=Maybe(
        Record(
            Proposal,
            _check_proposal,
            anchors=ArrayField(("a", "d")),
            weights=ArrayField(("a",), low=0),
            widths=ArrayField(("a", "d"), low=POSITIVE.low),
        )
    ),
    sample_rows=Number(1, integer=True),
    loo_rank=Maybe(Number(1, integer=True)),
    importances=Maybe(ArrayField((None,), low=0), optional=True),
)
_TARGET = ArrayField(("s",), ("s", None), dtypes=("int64", "float64"))
_WEIGHT = ArrayField(("s",), low=math.ulp(0.0))


def _sample_of(size: str) -> Record:
    """The field of a sample of rows, whose number other fields know by a name."""
    return Record(
        RowSample,
        _check_keys,
        size=Number(1, integer=True),
        keys=ArrayField((size,), dtypes=("uint64",)),
        rows=RowsField(size, "d"),
        target=ArrayField((size,), (size, None), dtypes=("int64", "float64")),
        weight=ArrayField((size,), low=math.ulp(0.0)),
        bound=Maybe(Number(0, 2**64 - 1, integer=True), optional=True),
    )


_SAMPLE = OneOf(
    rows=_sample_of("s"),
    measured=Record(
        MeasuredSample,
        target=_TARGET,
        weight=_WEIGHT,
        logs=ArrayField(("s", "K"), minus_infinity=True),
        held_out=Flag(),
    ),
)


def states_of(*representations: str) -> OneOf:
    """The field of states of some representations."""
    return OneOf(
        **{
            name: record
            for each in representations
            for name, record in REPRESENTATIONS[each].state_records.items()
        }
    )


class ReadOutField:
    """A read-out of the registry: its name, and what it has learned."""

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The read-out as an object."""
        if READOUTS.get(value.name) is not type(value):
            raise TypeError(f"a {type(value).__name__} cannot be saved as {path}")
        known = {name: getattr(value, name) for name in value.file_fields}
        learned = write_fields(value.file_fields, known, path, writer)
        return {"name": value.name, "learned": learned}

    def read(self, given: Any, path: str, reader: Reader) -> Build:
        """The read-out that is to be made."""
        name, learned = members(given, path, "name", "learned")
        if not isinstance(name, str) or name not in READOUTS:
            raise refusal(joined(path, "name"), f"one of {sorted(READOUTS)}", name)
        cls = READOUTS[name]
        values = read_fields(cls.file_fields, learned, path, reader)
        cls.check_file(values, reader)
        reader.agree("the read-out", name, path)
        return Build(cls.from_file, values, of=cls)


class ModelField:
    """Everything that an estimator has learned.

    Parameters
    ----------
    readout, representation : str
        Names of what the estimator's class has.
    """

    def __init__(self, readout: str, representation: str) -> None:
        self._readout, self._representation = readout, representation

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        """The model as an object."""
        fields = _fields(value.plan.representation)
        known = {name: getattr(value, name) for name in fields}
        return write_fields(fields, known, path, writer)

    def read(self, given: Any, path: str, reader: Reader) -> Build:
        """The model that is to be made."""
        if isinstance(given, dict):
            given = {"kept": None} | given  # which older files lack
        members(given, path, "plan", "readout", "state", "sample", "kept")
        plan = _PLAN.read(given["plan"], joined(path, "plan"), reader)
        self._check_representation(plan.parts)
        readout = self._readout_of(plan.parts)
        reader.agree("the read-out", readout.name, path)
        reader.agree("the link of a blend", readout.blend_link, path)
        rest = _fields(plan.parts["representation"])
        values = {
            name: rest[name].read(given[name], joined(path, name), reader)
            for name in ("readout", "state", "sample", "kept")
        }
        _check_sample(readout, values, reader)
        _check_kept(readout, values, reader)
        return Build(Model, {"plan": plan, **values})

    def _readout_of(self, plan: Values) -> type[ReadOut]:
        """The class of read-out that goes with a plan."""
        readout = READOUTS[self._readout]
        if plan["representation"] != "blend":
            return readout
        require(readout.blended is not None, f"{readout.name} has no blend")
        return READOUTS[str(readout.blended)]

    def _check_representation(self, plan: Values) -> None:
        """Class and map must ask for the one that the plan names."""
        of_map = plan["feature_map"].of.representation
        wanted = of_map if self._representation == "matrix" else self._representation
        series = wanted == "series" and READOUTS[self._readout].takes_series
        require(
            series or of_map != "series",
            "feature_map must not be a grid where a matrix is needed",
        )
        kind = plan["representation"]
        require(kind == wanted, f"representation must be {wanted!r}, got {kind!r}")


def _fields(representation: str) -> Fields:
    return {
        "plan": _PLAN,
        "readout": ReadOutField(),
        "state": Maybe(states_of(representation)),
        "sample": Maybe(_SAMPLE),
        "kept": Maybe(_sample_of("kept"), optional=True),
    }
