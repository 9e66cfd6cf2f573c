"""Small files that claim to be large cost little; nothing is built from bad ones."""

import inspect
import struct
import tracemalloc

import numpy as np
import pytest

import rhokit
from rhokit import ModelFileError
from rhokit.io import PROTOCOL
from rhokit.io.container import pack
from rhokit.models import Model
from rhokit.plans import Scaling
from tests.io.drafts import (
    DENSITY,
    HUGE,
    REJECT,
    TRAINED,
    VALUES,
    Draft,
    costs_little,
    entry,
    file_of,
    put,
    raw_file,
)


def state_file(kind, value, tensors):
    """A file of a bare state, whose tensors are given as (dtype, shape)."""
    tree = {
        "format": "rhokit model",
        "protocol": PROTOCOL,
        "state": {"kind": kind, "value": value},
    }
    arrays = {name: np.empty(shape, dtype) for name, (dtype, shape) in tensors.items()}
    return pack(tree, arrays)


class TestMemory:
    @pytest.mark.parametrize(
        "shape", [[HUGE], [HUGE, HUGE], [2**63 - 1], [2**64], [-1]]
    )
    def test_a_header_that_claims_huge_shapes(self, shape):
        tensor = {"dtype": "F64", "shape": shape, "data_offsets": [0, 16]}
        header = {"__metadata__": {"rhokit": "{}"}, "state.total": tensor}
        costs_little(raw_file(header, bytes(16)), "damaged")

    @pytest.mark.parametrize("end", [HUGE, 2**63, 2**64, -8, "16", 1e300])
    def test_a_header_that_claims_huge_places(self, end):
        tensor = {"dtype": "F64", "shape": [2], "data_offsets": [0, end]}
        costs_little(raw_file({"a": tensor}, bytes(16)), "damaged")

    def test_a_header_that_claims_to_be_huge(self):
        costs_little(struct.pack("<Q", HUGE) + b"{}", "damaged")

    def test_tensors_that_overlap(self):
        places = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}
        costs_little(raw_file({"a": places, "b": places}, bytes(16)), "damaged")

    @pytest.mark.parametrize("outcomes", [0, 1])
    def test_a_factor_without_numbers(self, outcomes):
        """Of no outcomes: any size fits in no bytes."""
        rank = dim = 4000
        value = {
            "factor": {"rank": rank, "dim": dim, "numbers": "tensor"},
            "weight": "tensor",
        }
        length = (rank * dim - rank * (rank - 1) // 2) * (1 - outcomes)
        tensors = {
            "factor": ("float64", (outcomes, length)),
            "weight": ("float64", (outcomes,)),
        }
        costs_little(state_file("factor", value, tensors), "there must be some|rank")

    def test_triangles_without_numbers(self):
        dim = 2 * 10**6
        tensors = {
            "total": ("float64", (0, dim * (dim + 1) // 2)),
            "weight": ("float64", (0,)),
        }
        value = {"total": "tensor", "weight": "tensor"}
        costs_little(state_file("sums", value, tensors), "there must be some")

    def test_triangles_without_numbers_in_a_model(self):
        draft, dim = Draft(DENSITY), 10**7
        draft.tensors["model.state.total"] = np.empty((0, dim * (dim + 1) // 2))
        draft.tensors["model.state.weight"] = np.empty(0)
        costs_little(draft.data(), "state|size")

    @pytest.mark.parametrize(("levels", "targets"), [(2**18, 200), (HUGE, 1)])
    def test_levels_of_a_prepared_model(self, levels, targets):
        """Levels are made from their number, for every target."""
        draft = Draft("values-prepared")
        draft.learned.update(n_levels=levels, one_target=False)
        draft.tensors["model.readout.low"] = np.zeros(targets)
        draft.tensors["model.readout.high"] = np.ones(targets)
        costs_little(draft.data(), "n_levels")

    def test_one_long_label_among_many(self):
        """Text of one length per array: the longest, times the number."""
        draft = Draft("classes-prepared")
        labels = [f"{number:05d}" for number in range(4000)] + ["x" * 4000]
        draft.learned["classes"]["values"] = labels
        costs_little(draft.data(), "labels of similar length")

    def test_one_long_word_among_many_rows(self):
        draft = Draft("classes-reject-words")
        words = [["a", "b"]] * 3000 + [["x" * 3000, "b"]]
        draft.tensors["model.sample.keys"] = np.arange(3001, dtype=np.uint64)
        draft.tensors["model.sample.target"] = np.zeros(3001, np.int64)
        draft.tensors["model.sample.weight"] = np.ones(3001)
        draft.sample["rows"] = {"dtype": "U", "values": words}
        costs_little(draft.data(), "text of similar length")

    def test_a_huge_dtype_of_labels(self):
        draft = Draft(REJECT)
        draft.learned["classes"]["dtype"] = "<U99999999"
        tracemalloc.start()
        try:
            rhokit.loads(draft.data())
            assert tracemalloc.get_traced_memory()[1] < 2**25
        finally:
            tracemalloc.stop()

    def test_an_output_map_of_huge_size(self):
        """It is made when the model is asked; by then it must have been refused."""
        draft = Draft("joint-random-map")
        output = draft.parameters["output_map"]["map"]
        output["parameters"]["n_components"] = HUGE
        costs_little(draft.data(), "n_components")

    @pytest.mark.parametrize(
        ("owner", "key"),
        [("plan", "gamma"), ("root", "class"), ("parameters", "gamma")],
    )
    def test_messages_stay_short(self, owner, key):
        draft = Draft(DENSITY)
        getattr(draft, owner)[key] = "x" * 100_000
        assert len(str(draft.refused(key))) < 1000


class TestNothingIsBuiltBeforeAllIsChecked:
    @pytest.fixture
    def built(self, monkeypatch):
        """Names of what was made: maps, scalings, states, models."""
        names = []

        def record(owner, method):
            original = getattr(owner, method)

            def recording(self, *args, **kwargs):
                names.append(type(self).__name__)
                return original(self, *args, **kwargs)

            monkeypatch.setattr(owner, method, recording)

        for owner in (
            rhokit.FourierFeatures,
            rhokit.LandmarkFeatures,
            rhokit.OneHotFeatures,
            rhokit.SoftmaxFeatures,
        ):
            record(owner, "restore")
        for owner in (rhokit.DensityMatrix, rhokit.LowRankDensityMatrix):
            record(owner, "__post_init__")
        for owner in (Scaling, Model):
            record(owner, "__init__")
        return names

    @pytest.mark.parametrize("name", [DENSITY, REJECT, VALUES, TRAINED])
    def test_good_files_are_built(self, built, name):
        data = file_of(name)
        built.clear()
        rhokit.loads(data)
        assert {"Model", "Scaling"} < set(built)

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            # In the order of the file: what comes last is checked before what comes
            # first is built.
            (DENSITY, put("plan", "proposal", 3)),
            (DENSITY, put("plan", "loo_rank", 0)),
            (DENSITY, entry("proposal.widths", -1.0)),
            (DENSITY, put("tensors", "payload", np.zeros(2))),
            (DENSITY, entry("state.weight", np.nan)),
            (DENSITY, entry("scaling.matrix", 0.0)),
            (REJECT, entry("sample.target", 99)),
            (REJECT, put("sample", "size", 0)),
            (VALUES, put("learned", "beta", "wide")),
            (VALUES, entry("readout.high", -1e9)),
            (VALUES, put("tensors", "payload", np.zeros(2))),
            (TRAINED, put("root", "n_epochs", "many")),
            (TRAINED, put("root", "history", 3)),
            (TRAINED, put("parameters", "patience", 0)),
        ],
    )
    def test_bad_ones_are_not(self, built, name, change):
        draft = Draft(name)
        change(draft)
        data = draft.data()
        built.clear()
        with pytest.raises(ModelFileError):
            rhokit.loads(data)
        assert built == []

    def test_parameters_are_checked_before_the_constructor(self, monkeypatch):
        made = []
        original = rhokit.DMKDE.__init__

        def recording(self, **parameters):
            made.append(parameters)
            original(self, **parameters)

        recording.__signature__ = inspect.signature(original)
        monkeypatch.setattr(rhokit.DMKDE, "__init__", recording)
        draft = Draft(DENSITY)
        draft.parameters["gamma"] = -1.0
        draft.refused("gamma")
        assert all(parameters == {} for parameters in made)  # defaults may be asked for
