"""A short soak, and faults that it notices."""

import time
from dataclasses import replace

import pytest

import rhokit
from rhokit.estimators.base import OnePassEstimator
from rhokit.io import dumps, loads
from rhokit.models import Model, RowSample
from rhokit.streams.checkpoint import Checkpoint
from tests.catalogue import ONE_PASS
from tests.soak import kills
from tests.soak.run import soak

CASES = ["classes rejecting", "density fourier", "density grid", "mean", "values"]


def test_a_short_soak():
    report = soak(seed=0, worlds=len(ONE_PASS), steps=12, names=ONE_PASS)
    assert not report.findings, report.findings[0]
    assert report.done.total() == 12 * len(ONE_PASS)


@pytest.mark.slow
def test_a_minute():
    report = soak(seed=1, seconds=60)
    assert not report.findings, report.findings[0]


# ---- planted faults ------------------------------------------------------------------


def rounded_subtraction(monkeypatch):
    """Forgetting that rounds as single precision does."""
    subtract = Model.subtract

    def fault(self, batch):
        left = subtract(self, batch)
        return replace(left, state=left.state.scale(1 + 1e-7))

    monkeypatch.setattr(Model, "subtract", fault)


def unsubtracted_sample(monkeypatch):
    """Rows that are forgotten stay in the sample."""
    monkeypatch.setattr(RowSample, "__sub__", lambda self, other: self)


def unfaded_sample(monkeypatch):
    monkeypatch.setattr(RowSample, "scale", lambda self, factor: self)


def merge_without_weights(monkeypatch):
    """A merged model counts half of what it should."""
    merge = Model.merge
    monkeypatch.setattr(
        Model, "merge", lambda self, other: merge(self, other.fade(0.5))
    )


def merge_that_loses_the_sample(monkeypatch):
    merge = Model.merge

    def fault(self, other):
        return replace(merge(self, other), sample=self.sample or other.sample)

    monkeypatch.setattr(Model, "merge", fault)


def load_that_rounds(monkeypatch):
    """A file whose model differs in the last bit."""
    load = rhokit.load

    def fault(path):
        model = load(path)
        if model.state_ is None:
            return model
        state = model.state_.scale(1 + 2**-52)
        return model.with_model(replace(model.model_, state=state))

    monkeypatch.setattr(rhokit, "load", fault)


def torn_models(monkeypatch):
    """For a moment the new plan stands beside half of the new state."""
    become = OnePassEstimator._become

    def fault(self, model):
        if model.state is not None:
            become(self, replace(model, state=model.state.scale(0.5), sample=None))
            time.sleep(0.01)
        return become(self, model)

    monkeypatch.setattr(OnePassEstimator, "_become", fault)


def rows_read_twice(monkeypatch):
    """A resumed fit that starts over, with what it had learned."""
    read = Checkpoint.read

    def fault(self):
        found = read(self)
        return found and (found[0], found[1] | {"position": (0, 0)})

    monkeypatch.setattr(Checkpoint, "read", fault)


def save_in_place(path, files, ready):
    """Save over the old file, not beside it."""
    contents = [dumps(loads(data)) for data in files]
    ready.set()
    while True:
        for data in contents:
            with open(path, "wb") as file:
                for start in range(0, len(data), 256):
                    file.write(data[start : start + 256])
                    file.flush()


def careless_saves(monkeypatch):
    monkeypatch.setattr(kills, "save_in_turn", save_in_place)


ALL = ["learn", "unlearn", "fade", "merge", "unmerge", "save_and_load"]
FAULTS = {
    rounded_subtraction: ALL,
    unsubtracted_sample: ALL,
    unfaded_sample: ALL,
    merge_without_weights: ALL,
    merge_that_loses_the_sample: ALL,
    load_that_rounds: ALL,
    torn_models: ["learn", "ask_from_threads"],
    rows_read_twice: ["learn", "kill_a_file_fit"],
    careless_saves: ["learn", "kill_a_save"],
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found(fault, monkeypatch):
    options = {"names": CASES, "operations": FAULTS[fault], "steps": 12, "worlds": 20}
    fault(monkeypatch)
    assert soak(0, **options, most_findings=1).findings
