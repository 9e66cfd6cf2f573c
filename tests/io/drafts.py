"""Good files to be changed by a test, and packed again with the right digest."""

import json
import struct
import tracemalloc
from functools import cache

import pytest

import rhokit
from rhokit import ModelFileError
from rhokit.io.container import pack, unpack
from tests.io.models import CASES, MAPS

DENSITY = "density-phase-double"
LANDMARKS = "density-landmarks-double"
STRUCTURED = "density-structured-double"
REJECT = "classes-reject"
VALUES = "values-one"
TRAINED = "trained-density"
HUGE = 10**12


@cache
def file_of(name, state="exact"):
    """The bytes of a model's file."""
    return rhokit.dumps((CASES.get(name) or MAPS[name]).model, state=state)


class Draft:
    """The content of a good file, to be changed."""

    def __init__(self, name, state="exact"):
        self.tree, self.tensors = unpack(file_of(name, state))

    @property
    def root(self):
        return self.tree["estimator" if "estimator" in self.tree else "map"]

    @property
    def parameters(self):
        return self.root["parameters"]

    @property
    def model(self):
        return self.root["model"]

    @property
    def plan(self):
        return self.model["plan"]

    @property
    def columns(self):
        return self.plan["columns"]

    @property
    def map(self):
        return self.root if "map" in self.tree else self.plan["feature_map"]

    @property
    def fitted(self):
        return self.map["fitted"]

    @property
    def learned(self):
        return self.model["readout"]["learned"]

    @property
    def sample(self):
        return self.model["sample"]["value"]

    def key(self, end):
        """The one tensor whose path ends so; of several, that of the map."""
        found = [k for k in self.tensors if k == end or k.endswith(f".{end}")]
        if len(found) > 1:
            found = [k for k in found if ".feature_map." in k]
        (key,) = found
        return key

    def data(self):
        return pack(self.tree, self.tensors)

    def refused(self, message):
        with pytest.raises(ModelFileError, match=message) as caught:
            rhokit.loads(self.data())
        return caught.value


def refuses(message, name, change, state="exact"):
    """One file that differs from a good one by ``change(draft)``."""
    draft = Draft(name, state)
    rhokit.loads(draft.data())  # good before the change
    change(draft)
    return draft.refused(message)


def put(owner, key, value):
    """A change: ``draft.<owner>[key] = value``."""

    def change(draft):
        getattr(draft, owner)[key] = value

    return change


def drop(owner, key):
    """A change: ``del draft.<owner>[key]``."""

    def change(draft):
        del getattr(draft, owner)[key]

    return change


def tensor(end, value):
    """A change of a tensor as a whole; a function is given the old one."""

    def change(draft):
        key = draft.key(end)
        old = draft.tensors[key]
        draft.tensors[key] = value(old) if callable(value) else value

    return change


def entry(end, value, index=0):
    """A change of one number of a tensor."""

    def changed(array):
        array = array.copy()
        array.flat[index] = value
        return array

    return tensor(end, changed)


def cast(end, dtype):
    return tensor(end, lambda array: array.astype(dtype))


def cut(end):
    """A change: the last entry of the tensor's last axis is missing."""
    return tensor(end, lambda array: array[..., :-1])


def without(end):
    return lambda draft: draft.tensors.pop(draft.key(end))


def both(*changes):
    return lambda draft: [change(draft) for change in changes]


def raw_file(header, body=b""):
    """A safetensors file that says whatever ``header`` says."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def costs_little(data, message=None, limit=2**25):
    """Loading is refused, and takes little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message) as caught:
            rhokit.loads(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not isinstance(caught.value.__cause__, MemoryError)
    assert peak < limit + 20 * len(data)
