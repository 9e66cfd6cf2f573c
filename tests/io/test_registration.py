"""A new map, representation or read-out brings its own part of a file with it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import rhokit
from rhokit import DMKDE, DensityMatrix, LandmarkFeatures, ModelFileError
from rhokit.features import MAPS
from rhokit.io.model_field import ModelField
from rhokit.models import Model
from rhokit.readouts import READOUTS, DensityReadOut
from rhokit.records import (
    ArrayField,
    Flag,
    Maybe,
    Number,
    Reader,
    Record,
    Word,
    Writer,
    built,
    require,
)
from rhokit.representations import REPRESENTATIONS, MatrixRepresentation, Outcomes
from tests.io.models import SMALL, plane


class ShiftedLandmarks(LandmarkFeatures):
    """A map with one more number that it learns."""

    name = "shifted"
    representation = "counted"
    file_fields: ClassVar[dict] = {
        **LandmarkFeatures.file_fields,
        "shift": ArrayField(("d",)),
    }

    def _draw(self, rows, weights):
        super()._draw(rows, weights)
        self.shift_ = rows.mean(axis=0)

    @classmethod
    def check_file(cls, parameters, fitted, reader):
        super().check_file(parameters, fitted, reader)
        require(np.abs(fitted["shift"]).max() < 100, "shift is too far")


@dataclass(frozen=True, eq=False)
class CountedMatrix(DensityMatrix):
    """A state with one more number."""

    batches: int = 1


class CountedRepresentation(MatrixRepresentation):
    name = "counted"
    state_records: ClassVar[dict] = {
        "counted": Record(
            CountedMatrix,
            total=ArrayField(("K", "m", "m")),
            weight=ArrayField(("K",), low=0),
            batches=Number(1, integer=True),
        )
    }


@dataclass(frozen=True, eq=False)
class TonedReadOut(DensityReadOut):
    tone: str = "low"

    name = "toned"
    file_fields: ClassVar[dict] = {"tone": Word(("low", "high"))}


@pytest.fixture
def model(monkeypatch):
    """A model of nothing but new parts."""
    monkeypatch.setitem(MAPS, "shifted", ShiftedLandmarks)
    monkeypatch.setitem(REPRESENTATIONS, "counted", CountedRepresentation)
    monkeypatch.setitem(READOUTS, "toned", TonedReadOut)
    known = DMKDE(**SMALL, feature_map="landmarks").fit(plane()).model_
    shifted = ShiftedLandmarks(gamma=1.0, n_components=12, random_state=0)
    plan = known.plan.with_map(
        shifted.fit(known.plan.scale(plane())), representation="counted"
    )
    total = MatrixRepresentation(plan).total(plane(), None, Outcomes())
    state = CountedMatrix(total.total, total.weight, batches=3)
    return Model(plan, TonedReadOut("high"), state)


FIELD = ModelField("toned", "matrix")


def written(model):
    writer = Writer()
    return FIELD.write(model, "model", writer), writer.tensors


def read(tree, tensors):
    reader = Reader(tensors)
    found = FIELD.read(tree, "model", reader)
    reader.finish()
    return built(found)


def test_new_parts_make_the_round_trip(model):
    again = read(*written(model))
    assert type(again.plan.feature_map) is ShiftedLandmarks
    assert_array_equal(again.plan.feature_map.shift_, model.plan.feature_map.shift_)
    assert again.state.batches == 3
    assert again.readout.tone == "high"
    rows = plane()[:5]
    assert_array_equal(again.log_measured(rows), model.log_measured(rows))


def test_their_own_checks_are_made(model):
    tree, tensors = written(model)
    tensors["model.plan.feature_map.shift"] = np.array([0.0, 101.0])
    with pytest.raises(ModelFileError, match="shift is too far"):
        read(tree, tensors)
    tree, tensors = written(model)
    tree["readout"]["learned"]["tone"] = "shrill"
    with pytest.raises(ModelFileError, match="tone must be one of"):
        read(tree, tensors)
    tree, tensors = written(model)
    tree["state"]["value"]["batches"] = 0
    with pytest.raises(ModelFileError, match="batches must be an integer"):
        read(tree, tensors)


def test_a_registered_map_can_be_saved_by_itself(monkeypatch):
    shifted = ShiftedLandmarks(n_components=5, random_state=0).fit(plane())
    with pytest.raises(TypeError, match="ShiftedLandmarks cannot be saved"):
        rhokit.dumps(shifted)
    monkeypatch.setitem(MAPS, "shifted", ShiftedLandmarks)
    data = rhokit.dumps(shifted)
    again = rhokit.loads(data)
    assert_array_equal(again.transform(plane()), shifted.transform(plane()))
    monkeypatch.delitem(MAPS, "shifted")
    with pytest.raises(ModelFileError, match="name must be one of"):
        rhokit.loads(data)


@dataclass(frozen=True)
class Size:
    width: float
    depth: float | None
    flat: bool | None = None


def test_files_may_be_older_than_an_optional_field():
    """Which is then None; all other fields must be there."""
    record = Record(
        Size,
        width=Number(0),
        depth=Maybe(Number(0)),
        flat=Maybe(Flag(), optional=True),
    )
    said = record.write(Size(1.0, None, True), "size", Writer())
    assert built(record.read(said, "size", Reader({}))) == Size(1.0, None, True)
    del said["flat"]
    assert built(record.read(said, "size", Reader({}))) == Size(1.0, None)
    del said["depth"]
    with pytest.raises(ModelFileError, match=r"size lacks \['depth'\]"):
        record.read(said, "size", Reader({}))
