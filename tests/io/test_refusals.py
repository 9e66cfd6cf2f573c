"""Wrong and hostile files, one by one: each is refused, and told why."""

import contextlib
import hashlib
import inspect
import json
import struct
import sys
import time
import tracemalloc
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
import safetensors.numpy

import rhokit
from rhokit import ModelFileError
from rhokit.estimators.matrix_state import MatrixState
from rhokit.features import FeatureMap
from rhokit.io import PROTOCOL
from rhokit.io.container import _digest, pack, unpack
from tests.io.models import CASES, MAPS

HUGE = 10**12


@cache
def _file(name, state):
    return rhokit.dumps((CASES.get(name) or MAPS[name]).model, state=state)


class Draft:
    """The content of a good file, to be changed, and packed with the right digest."""

    def __init__(self, name, state="exact"):
        self.tree, self.tensors = unpack(_file(name, state))

    @property
    def root(self):
        return self.tree["object"]

    @property
    def parameters(self):
        return self.root["parameters"]

    @property
    def fitted(self):
        return self.root["fitted"]

    @property
    def map(self):
        return self.fitted["feature_map_"]

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
    def change(draft):
        del getattr(draft, owner)[key]

    return change


def entry(key, value, index=0):
    """A change of one number of a tensor."""

    def change(draft):
        array = draft.tensors[key].copy()
        array.flat[index] = value
        draft.tensors[key] = array

    return change


def cast(key, dtype):
    return lambda draft: draft.tensors.update({key: draft.tensors[key].astype(dtype)})


def cut(key):
    """A change: the last entry of the tensor's last axis is missing."""
    return lambda draft: draft.tensors.update({key: draft.tensors[key][..., :-1]})


def raw_file(header, body=b""):
    """A safetensors file that says whatever ``header`` says."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


DENSITY = "density-phase-double"
LANDMARKS = "density-landmarks-double"
REJECT = "classes-reject"
VALUES = "values-one"


class TestClasses:
    @pytest.mark.parametrize(
        "name",
        [
            "os.system",
            "subprocess.Popen",
            "builtins.eval",
            "__init__",
            "rhokit.DMKDE",
            "dmkde",
            "",
            "StateEstimator",
            "loads",
            "io",
            None,
            7,
            ["DMKDE"],
            {"DMKDE": 1},
        ],
    )
    def test_unknown_names(self, name):
        refuses(
            "class of the model must be one of", DENSITY, put("root", "class", name)
        )

    @pytest.mark.parametrize("name", ["os.system", "DMKDE", "FeatureMap", None])
    def test_of_maps(self, name):
        refuses("class of feature_map_ must", DENSITY, put("map", "class", name))

    def test_of_maps_among_parameters(self):
        def change(draft):
            draft.parameters["feature_map"]["map"]["class"] = "os.system"

        refuses("class of parameters.feature_map must", DENSITY, change)

    def test_another_class_lacks_fields(self):
        def change(draft):
            draft.root["class"] = "QMRegressor"
            draft.root["parameters"] = {}

        refuses("is not understood.*_proposal", DENSITY, change)

    def test_an_estimator_inside_of_another_kind(self):
        def change(draft):
            draft.fitted["estimator_"]["class"] = "DMKDClassifier"

        refuses("class of estimator_ must be one of", "trained-density", change)

    @pytest.mark.parametrize("name", ["antigravity", "this", "tests.io.bait"])
    def test_nothing_that_a_file_names_is_imported(self, name):
        before = set(sys.modules)
        refuses("class of the model", DENSITY, put("root", "class", name))
        refuses("feature_map", LANDMARKS, put("parameters", "feature_map", name))
        assert name not in set(sys.modules) - before

    @pytest.mark.parametrize("member", ["class", "parameters", "fitted"])
    def test_missing_members(self, member):
        refuses("the model is no object of ours", DENSITY, drop("root", member))
        refuses("feature_map_ is no object of ours", DENSITY, drop("map", member))

    def test_members_too_many(self):
        refuses("no object of ours", DENSITY, put("root", "__reduce__", "os.system"))

    @pytest.mark.parametrize("value", [None, 1, "DMKDE", [], True])
    def test_no_object_at_all(self, value):
        refuses("no object of ours", DENSITY, put("tree", "object", value))


class TestParameters:
    def test_unknown(self):
        change = put("parameters", "callback", "os.system")
        refuses(r"DMKDE has no parameters \['callback'\]", DENSITY, change)

    def test_that_are_attributes(self):
        refuses("has no parameters", DENSITY, put("parameters", "state_", 1))
        refuses("has no parameters", DENSITY, put("parameters", "__class__", "x"))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("gamma", -1.0),
            ("gamma", 0),
            ("gamma", "wide"),
            ("gamma", None),
            ("gamma", {"float": "nan"}),
            ("n_components", 0),
            ("n_components", 1.5),
            ("n_components", "12"),
            ("rank", 1.5),
            ("rank", -3),
            ("rank", "loo"),  # not of densities
            ("scale", "within"),
            ("batch_size", 0),
            ("dtype", "int8"),
            ("random_state", "seed"),
            ("random_state", -1),
            ("feature_map", "os"),
            ("feature_map", 3),
        ],
    )
    def test_out_of_range(self, name, value):
        refuses(name, DENSITY, put("parameters", name, value))

    @pytest.mark.parametrize(
        "value",
        [[1, 2], {}, {"a": 1, "b": 2}, {"float": "1e5"}, {"float": 3}, {"code": 1}],
    )
    def test_of_no_kind(self, value):
        change = put("parameters", "gamma", value)
        refuses("parameters.gamma is no parameter", DENSITY, change)

    def test_a_map_in_the_wrong_place(self):
        def change(draft):
            draft.parameters["gamma"] = draft.parameters["feature_map"]

        refuses(r"\['gamma'\] cannot be a map", DENSITY, change)

    def test_of_a_map(self):
        def change(draft):
            draft.map["parameters"]["sampling"] = "own"

        refuses("'sampling' parameter of FourierFeatures", DENSITY, change)

    @pytest.mark.parametrize("value", [None, [], "gamma", 3])
    def test_that_are_no_object(self, value):
        refuses(
            "parameters must be an object", DENSITY, put("root", "parameters", value)
        )

    def test_a_fitted_map_among_parameters(self):
        """A parameter is not fitted; what a file says of it would mean nothing."""

        def change(draft):
            draft.parameters["feature_map"]["map"]["fitted"] = {"evil": 1}

        refuses("feature_map", DENSITY, change)

    def test_an_array_without_a_tensor(self):
        change = put("parameters", "scale", {"array": "tensor"})
        refuses("parameters.scale is missing", DENSITY, change)


class TestFields:
    @pytest.mark.parametrize(
        ("name", "field"),
        [
            (DENSITY, "n_features_in_"),
            (DENSITY, "scaling_"),
            (DENSITY, "feature_map_"),
            (REJECT, "classes_"),
            (REJECT, "_sample_size"),
            (VALUES, "_low"),
            (VALUES, "n_levels_"),
            (VALUES, "beta_"),
            ("joint-text", "_output_seed"),
            ("ordinal-text", "decision_"),
            ("trained-density", "estimator_"),
        ],
    )
    def test_missing(self, name, field):
        refuses(f"fitted lacks .*'{field}'", name, drop("fitted", field))

    @pytest.mark.parametrize(
        ("name", "field"), [(DENSITY, "state_"), (REJECT, "sample_")]
    )
    def test_missing_with_its_tensors(self, name, field):
        """Also of fields that may be None: the message names them."""

        def change(draft):
            del draft.fitted[field]
            for key in [key for key in draft.tensors if key.startswith(field)]:
                del draft.tensors[key]

        refuses(field, name, change)

    @pytest.mark.parametrize("field", ["frequencies_", "phases_", "dtype_"])
    def test_of_a_map_missing(self, field):
        def change(draft):
            del draft.map["fitted"][field]
            draft.tensors.pop(f"feature_map_.{field}", None)

        refuses(field, DENSITY, change)

    def test_unknown(self):
        change = put("fitted", "__class__", "os.system")
        refuses(r"fitted is not understood: \['__class__'\]", DENSITY, change)

    def test_of_a_map_unknown(self):
        def change(draft):
            draft.map["fitted"]["_turns"] = "tensor"

        refuses("feature_map_.fitted is not understood.*_turns", DENSITY, change)

    @pytest.mark.parametrize("value", [True, 1, "fitted", [1]])
    def test_that_are_no_object(self, value):
        refuses("fitted is not understood", DENSITY, put("root", "fitted", value))

    @pytest.mark.parametrize(
        ("name", "field", "value", "message"),
        [
            (DENSITY, "n_features_in_", 0, "n_features_in_ must be an integer"),
            (DENSITY, "n_features_in_", 2.0, "n_features_in_ must be an integer"),
            (DENSITY, "n_features_in_", True, "n_features_in_ must be an integer"),
            (DENSITY, "n_features_in_", "2", "n_features_in_ must be an integer"),
            (DENSITY, "n_features_in_", None, "n_features_in_ must be an integer"),
            (DENSITY, "n_features_in_", 3, "has the size 2 where the rest has d = 3"),
            (DENSITY, "n_features_in_", HUGE, "where the rest has d"),
            (
                DENSITY,
                "n_features_in_",
                10**400,
                "n_features_in_|integer|int too large",
            ),
            (DENSITY, "gamma_", -1, "gamma_ must be a number"),
            (DENSITY, "gamma_", [1], "gamma_ must be a number"),
            (DENSITY, "feature_names_in_", ["a"], "feature_names_in_ has the size 1"),
            (
                DENSITY,
                "feature_names_in_",
                ["a", 2],
                "feature_names_in_ must be a list",
            ),
            (DENSITY, "feature_names_in_", "ab", "feature_names_in_ must be a list"),
            (DENSITY, "state_", "tensor", "state_ must be an object"),
            (DENSITY, "state_", {"kind": "os", "value": {}}, "state_ must be one of"),
            (DENSITY, "state_", {"kind": ["sums"], "value": {}}, "state_ must be one"),
            (DENSITY, "scaling_", None, "scaling_ must be an object"),
            (DENSITY, "scaling_", {"centre": "tensor"}, "scaling_ must be an object"),
            (VALUES, "n_levels_", 0, "n_levels_ must be an integer"),
            (VALUES, "n_levels_", 7, "n_levels_ has the size 7"),
            (VALUES, "_one_target", 1, "_one_target must be true or false"),
            (VALUES, "beta_", -3.0, "beta_ must be a number"),
            (VALUES, "_low", "numbers", "_low must be 'tensor'"),
            (VALUES, "_low", None, "_low must be 'tensor'"),
            (VALUES, "_low", ["tensor"], "_low must be 'tensor'"),
            ("values-loo", "rank_", 0, "rank_ must be an integer"),
            ("ordinal-text", "decision_", "guess", "decision_ must be one of"),
            ("ordinal-text", "decision_", ["mode"], "decision_ must be one of"),
            ("joint-text", "_output_seed", -1, "_output_seed must be an integer"),
            (REJECT, "_sample_size", 0, "_sample_size must be an integer"),
            ("trained-density", "history_", {"loss": 1}, "history_ must be lists"),
            ("trained-density", "history_", {"loss": ["1"]}, "history_ must be lists"),
            ("trained-density", "history_", [1.0], "history_ must be lists"),
            ("trained-density", "n_epochs_", -1, "n_epochs_ must be an integer"),
        ],
    )
    def test_of_the_wrong_kind(self, name, field, value, message):
        refuses(message, name, put("fitted", field, value))

    def test_a_state_of_another_model(self):
        draft, other = Draft(DENSITY), Draft("mean-phase-double")
        draft.fitted["state_"] = other.fitted["state_"]
        draft.tensors["state_.total"] = other.tensors["state_.total"]
        draft.refused("a FeatureMean is not its state")

    def test_a_dtype_that_is_none(self):
        def change(draft):
            draft.map["fitted"]["dtype_"] = "object"

        refuses("dtype_ must be one of", DENSITY, change)

    def test_real_values_that_are_said_to_be_complex(self):
        """Frequencies, centres and anchors are real; a cast would hide a part."""
        for key in (
            "feature_map_.frequencies_",
            "feature_map_.phases_",
            "scaling_.centre",
            "_proposal.anchors",
        ):
            draft = Draft(DENSITY)
            owner, name = key.split(".")
            home = draft.fitted[owner]
            home.get("fitted", home)[name] = "complex tensor"
            draft.tensors[key] = np.stack([draft.tensors[key]] * 2, axis=-1)
            with pytest.raises(ModelFileError, match=name):
                rhokit.loads(draft.data())


class TestTensors:
    @pytest.mark.parametrize(
        "key", ["state_.total", "feature_map_.frequencies_", "scaling_.matrix"]
    )
    def test_missing(self, key):
        refuses(f"{key} is missing", DENSITY, drop("tensors", key))

    def test_too_many(self):
        change = put("tensors", "payload", np.zeros(9))
        refuses(r"tensors that mean nothing: \['payload'\]", DENSITY, change)

    def test_too_many_in_an_unfitted_model(self):
        change = put("tensors", "state_.total", np.zeros(9))
        refuses("tensors that mean nothing", "density-unfitted", change)

    @pytest.mark.parametrize(
        ("name", "key", "dtype"),
        [
            (DENSITY, "state_.total", "float32"),
            (DENSITY, "state_.weight", "int64"),
            (DENSITY, "feature_map_.frequencies_", "float32"),
            (LANDMARKS, "feature_map_.landmarks_", "float32"),
            (LANDMARKS, "feature_map_.whitening_", "int64"),
            (REJECT, "sample_.keys", "int64"),
            (REJECT, "sample_.target", "float64"),
            (VALUES, "sample_.target", "int64"),
            ("density-structured-double", "feature_map_.signs_", "int64"),
        ],
    )
    def test_of_the_wrong_dtype(self, name, key, dtype):
        message = f"{key.split('.')[-1].strip('_')}|dtype|labels|targets"
        refuses(message, name, cast(key, dtype))

    @pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "float16"])
    def test_of_a_dtype_that_no_model_has(self, dtype):
        refuses(f"has the dtype {dtype}", DENSITY, cast("state_.total", dtype))

    @pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F4", "X9"])
    def test_of_a_dtype_that_numpy_lacks(self, dtype):
        header = {"a": {"dtype": dtype, "shape": [2], "data_offsets": [0, 4]}}
        with pytest.raises(ModelFileError, match=r"damaged|no model has|holds"):
            rhokit.loads(raw_file(header, bytes(4)))

    @pytest.mark.parametrize("name", [DENSITY, LANDMARKS, REJECT, VALUES, "joint-map"])
    def test_of_the_wrong_size(self, name):
        """Every tensor, one after the other."""
        # Parameters may have any size, and so may what whitening leaves.
        free = ".parameters.", ".whitening_"
        keys = [k for k in Draft(name).tensors if not any(part in k for part in free)]
        for key in keys:
            draft = Draft(name)
            cut(key)(draft)
            error = draft.refused("size|shape|triangle|whitening|range|volume")
            assert "does not fit together" not in str(error), key

    @pytest.mark.parametrize("name", [DENSITY, LANDMARKS, REJECT, VALUES, "joint-map"])
    def test_of_the_wrong_number_of_axes(self, name):
        for key in Draft(name).tensors:
            draft = Draft(name)
            draft.tensors[key] = draft.tensors[key][None, None, None]
            draft.refused(f"{key} must be of shape")

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("name", [DENSITY, LANDMARKS, REJECT, VALUES, "joint-map"])
    def test_that_are_not_finite(self, name, value):
        for key, array in Draft(name).tensors.items():
            if array.dtype.kind != "f":
                continue
            draft = Draft(name)
            entry(key, value, -1)(draft)
            draft.refused(f"{key} holds values that are not finite")

    def test_infinite_logarithms_have_one_sign(self):
        key = "sample_.logs"
        draft = Draft(REJECT, "factor")
        entry(key, -np.inf)(draft)
        rhokit.loads(draft.data())
        for value in (np.inf, np.nan):
            refuses(f"{key} holds values", REJECT, entry(key, value), "factor")

    @pytest.mark.parametrize(
        ("name", "key"),
        [
            (DENSITY, "state_.weight"),
            (REJECT, "state_.weight"),
            (REJECT, "sample_.weight"),
            (DENSITY, "_proposal.weights"),
            (DENSITY, "_proposal.widths"),
            (DENSITY, "feature_map_.amplitudes_"),
        ],
    )
    def test_negative_weights(self, name, key):
        refuses(f"{key} must be .* or more everywhere", name, entry(key, -1.0))

    def test_a_negative_diagonal(self):
        change = entry("state_.total", -1.0)
        refuses("state_.total has a negative diagonal", DENSITY, change)

    @pytest.mark.parametrize("index", range(3))
    def test_a_negative_diagonal_of_any_outcome(self, index):
        size = Draft(REJECT).tensors["state_.total"].shape[1]
        change = entry("state_.total", -1e9, (index + 1) * size - 1)
        refuses("negative diagonal", REJECT, change)

    def test_no_triangle(self):
        """77 numbers are no triangle of a matrix."""
        refuses("must be triangles of matrices", DENSITY, cut("state_.total"))


class TestSamplesAndLabels:
    @pytest.mark.parametrize(
        "values",
        [
            ["bee", "aphid", "cicada"],
            ["aphid", "aphid", "bee"],
            [],
        ],
    )
    def test_labels_out_of_order(self, values):
        def change(draft):
            draft.fitted["classes_"]["values"] = values

        refuses("classes_ must be distinct labels in ascending", REJECT, change)

    @pytest.mark.parametrize(
        "values",
        [
            ["aphid", "bee", 3],
            ["aphid", "bee", None],
            ["aphid", "bee", ["c"]],
            ["aphid", "bee", {"c": 1}],
            "abc",
            None,
        ],
    )
    def test_labels_of_another_kind(self, values):
        def change(draft):
            draft.fitted["classes_"]["values"] = values

        refuses("classes_ must be", REJECT, change)

    @pytest.mark.parametrize(
        "dtype",
        ["<M8[s]", "S5", "V8", "c16", "i8,i8", "os", "", None, 5, ["<U3"], "U" * 99],
    )
    def test_labels_of_another_dtype(self, dtype):
        def change(draft):
            draft.fitted["classes_"]["dtype"] = dtype

        refuses("classes_ must be labels of a dtype", REJECT, change)

    @pytest.mark.parametrize("dtype", ["i8,i8", "0,i8", "(2,)i8", "(1+1,)i8", "0i8"])
    def test_no_dtype_is_compiled(self, monkeypatch, dtype):
        """NumPy evaluates the shapes in a dtype's text; a file's text is data."""

        def change(draft):
            draft.fitted["classes_"]["dtype"] = dtype

        def forbidden(text):
            raise AssertionError(f"evaluated {text!r}")

        monkeypatch.setattr("ast.literal_eval", forbidden)
        refuses("classes_ must be labels of a dtype", REJECT, change)

    @pytest.mark.parametrize("values", [[1, 2, 300], [1, 2, 2**70]])
    def test_labels_beyond_their_dtype(self, values):
        def change(draft):
            draft.fitted["classes_"] = {"dtype": "|i1", "values": values}

        refuses("classes_|out of bounds|too large", REJECT, change)

    def test_more_labels_than_states(self):
        def change(draft):
            draft.fitted["classes_"]["values"].append("dragonfly")

        refuses("where the rest has K = 4", REJECT, change)

    @pytest.mark.parametrize("code", [-1, 3, 2**62])
    @pytest.mark.parametrize("state", ["exact", "factor"])
    def test_codes_out_of_range(self, code, state):
        change = entry("sample_.target", code)
        refuses("labels that are not among classes_", REJECT, change, state)

    def test_keys_out_of_order(self):
        def change(draft):
            draft.tensors["sample_.keys"] = draft.tensors["sample_.keys"][::-1]

        refuses("keys of sample_ must ascend", REJECT, change)

    def test_keys_twice(self):
        def change(draft):
            keys = draft.tensors["sample_.keys"]
            draft.tensors["sample_.keys"] = np.repeat(keys[::2], 2)

        refuses("keys of sample_ must ascend", REJECT, change)

    @pytest.mark.parametrize("value", [-1e6, 1e6])
    @pytest.mark.parametrize("state", ["exact", "factor"])
    def test_targets_outside_of_the_range(self, value, state):
        change = entry("sample_.target", value)
        refuses("targets outside of the range", VALUES, change, state)

    def test_a_range_upside_down(self):
        refuses("_low must not exceed _high", VALUES, entry("_low", 1e9))

    def test_one_target_with_two_ranges(self):
        def change(draft):
            draft.fitted["_one_target"] = True

        refuses("one target needs one range", "values-two", change)

    @pytest.mark.parametrize(
        "categories",
        [
            [],
            [["a", "b"], ["a", "b"]],
            [["a"]],
            [["a", ["b"]]],
            "ab",
            [["a", {"b": 1}]],
            [None],
        ],
    )
    def test_categories(self, categories):
        def change(draft):
            draft.fitted["categories_"] = categories

        refuses("categories_", "words", change)

    def test_fewer_categories_than_the_state(self):
        def change(draft):
            draft.map["fitted"]["categories_"].pop()

        refuses("where the rest has", "density-words", change)

    @pytest.mark.parametrize(
        "rows", [None, [], {"dtype": "O"}, {"dtype": "V", "values": []}]
    )
    def test_sampled_categories(self, rows):
        def change(draft):
            draft.fitted["sample_"]["value"]["rows"] = rows

        refuses("sample_.rows must be", "classes-reject-words", change)


class TestWhatMustFitTogether:
    def test_a_scaling_without_volume(self):
        refuses("scaling_ has no volume", DENSITY, entry("scaling_.matrix", 0.0))
        refuses("scaling_ has no volume", DENSITY, entry("scaling_.matrix", -1.0))

    def test_a_whitening_scaling_without_volume(self):
        def change(draft):
            matrix = draft.tensors["scaling_.matrix"]
            draft.tensors["scaling_.matrix"] = np.ones_like(matrix)

        refuses("scaling_ has no volume", "density-wide", change)

    def test_complex_features_with_phases(self):
        def change(draft):
            draft.map["parameters"]["form"] = "complex"

        refuses("phases_ must be there unless", DENSITY, change)

    def test_pairs_with_all_frequencies(self):
        def change(draft):
            draft.map["parameters"]["form"] = "pair"

        refuses("frequencies_ has the size 24", DENSITY, change)

    def test_signs_without_lengths(self):
        def change(draft):
            draft.map["fitted"]["lengths_"] = None
            del draft.tensors["feature_map_.lengths_"]

        refuses("signs_ need lengths_", "density-structured-double", change)

    @pytest.mark.parametrize("value", [0, 3, -128])
    def test_signs_that_are_none(self, value):
        change = entry("feature_map_.signs_", value)
        refuses("signs_ do not make", "density-structured-double", change)

    def test_too_few_signs(self):
        def change(draft):
            signs = draft.tensors["feature_map_.signs_"]
            draft.tensors["feature_map_.signs_"] = signs[:, :, :63]

        refuses("signs_ do not make", "density-structured-double", change)

    def test_a_box_upside_down(self):
        refuses(
            "low_ must not exceed high_",
            "density-grid",
            entry("feature_map_.low_", 1e9),
        )

    def test_a_whitening_wider_than_its_landmarks(self):
        def change(draft):
            wide = np.zeros((12, 40))
            draft.tensors["feature_map_.whitening_"] = wide

        refuses("whitening_ is no whitening", LANDMARKS, change)

    def test_softmax_levels_that_differ(self):
        def change(draft):
            draft.parameters["n_components"] = 5

        refuses("n_components and landmarks_ differ", "softmax-double", change)

    @pytest.mark.parametrize(
        ("name", "value"), [("rank", 0), ("rank", 13), ("dim", 11), ("dim", HUGE)]
    )
    def test_factors(self, name, value):
        def change(draft):
            draft.fitted["state_"]["value"]["factor"][name] = value

        refuses("factor|size", DENSITY, change, "factor")


class TestProtocol:
    @pytest.mark.parametrize("number", [0, -1, "1", 1.0, True, None, [1], {}])
    def test_that_is_none(self, number):
        change = put("tree", "protocol", number)
        refuses("states no protocol number", DENSITY, change)

    def test_missing(self):
        refuses("states no protocol number", DENSITY, drop("tree", "protocol"))

    @pytest.mark.parametrize("number", [PROTOCOL + 1, 99, 10**30])
    def test_newer_says_what_to_do(self, number):
        def change(draft):
            draft.tree["protocol"] = number
            draft.tree["rhokit"] = "9.9.9"

        message = rf"protocol {number}, written by rhokit 9\.9\.9.*upgrade rhokit"
        refuses(message, DENSITY, change)

    @pytest.mark.parametrize("value", ["another model", None, 1, {}])
    def test_another_format(self, value):
        refuses("something else than a rhokit", DENSITY, put("tree", "format", value))

    def test_missing_format(self):
        refuses("something else than a rhokit", DENSITY, drop("tree", "format"))

    def test_no_model(self):
        refuses("must hold one of", DENSITY, drop("tree", "object"))

    def test_two_models(self):
        refuses("must hold one of", DENSITY, put("tree", "state", {}))

    @pytest.mark.parametrize("note", [1, "text", [], True])
    def test_notes(self, note):
        refuses("note must be an object", DENSITY, put("tree", "note", note))


def metadata_file(text, **more):
    """A safetensors file whose description is this text, with its right digest."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return raw_file({"__metadata__": {"rhokit": text, "sha256": digest} | more})


class TestDescriptions:
    @pytest.mark.parametrize("text", ["", "{", "model", "{'a': 1}", "\x00", "nul"])
    def test_no_json(self, text):
        with pytest.raises(ModelFileError, match="no readable JSON"):
            rhokit.loads(metadata_file(text))

    @pytest.mark.parametrize("text", ["[]", "1", "null", '"text"', "NaN", "true"])
    def test_no_object(self, text):
        with pytest.raises(ModelFileError, match="no JSON object"):
            rhokit.loads(metadata_file(text))

    @pytest.mark.parametrize("depth", [500, 900, 2000, 100_000])
    @pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}")])
    def test_deep_nesting(self, depth, left, right):
        nest = left * depth + "1" + right * depth
        good = '{"format":"rhokit model","protocol":1,"object":%s}'
        fields = (
            '{"class":"DMKDE","parameters":{"gamma":%s},"fitted":null}',
            '{"class":%s,"parameters":{},"fitted":null}',
            '{"class":"DMKDE","parameters":{},"fitted":{"scaling_":%s}}',
            "%s",
        )
        for text in (nest, *(good % (field % nest) for field in fields)):
            with pytest.raises(ModelFileError):
                rhokit.loads(metadata_file(text))
        with pytest.raises(ModelFileError):
            rhokit.loads(
                metadata_file('{"format":"rhokit model","protocol":' + nest + "}")
            )

    @pytest.mark.parametrize("digits", [400, 4000, 100_000])
    def test_huge_integers(self, digits):
        number = "9" * digits
        texts = [
            '{"format":"rhokit model","protocol":%s,"object":{}}',
            '{"format":"rhokit model","protocol":1,"object":{"class":"DMKDE",'
            '"parameters":{"n_components":1,"gamma":%s},"fitted":'
            '{"n_features_in_":%s}}}',
        ]
        for text in texts:
            with pytest.raises(ModelFileError):
                rhokit.loads(metadata_file(text.replace("%s", number)))

    def test_words_for_infinity(self):
        draft = Draft(DENSITY)
        for word in ("NaN", "Infinity", "-Infinity"):
            whole = json.dumps(draft.tree).replace('"gamma_": 1.0', f'"gamma_": {word}')
            assert word in whole
            data = safetensors.numpy.save(draft.tensors, metadata=_signed(draft, whole))
            with pytest.raises(ModelFileError, match="gamma_"):
                rhokit.loads(data)

    @pytest.mark.parametrize("digest", [None, "", "0" * 64, "sha"])
    def test_digests(self, digest):
        draft = Draft(DENSITY)
        metadata = _signed(draft, json.dumps(draft.tree))
        if digest is None:
            del metadata["sha256"]
        else:
            metadata["sha256"] = digest
        with pytest.raises(ModelFileError, match="does not have the digest"):
            rhokit.loads(safetensors.numpy.save(draft.tensors, metadata=metadata))


def _signed(draft, text):
    return {"rhokit": text, "sha256": _digest(text, draft.tensors)}


class TestForeignFiles:
    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\x00",
            bytes(8),
            bytes(1000),
            b"model,1,2\n" * 100,
            "übrigens ein Text".encode(),
            b"\x80\x04\x95cos\nsystem\n(S'true'\ntR.",
            b"PK\x03\x04" + bytes(100),
            b"\x89HDF\r\n\x1a\n" + bytes(100),
            b"\xff" * 64,
            struct.pack("<Q", 2**63) + b"{}",
            struct.pack("<Q", 2) + b"{}",
            struct.pack("<Q", 2) + b"[]",
            struct.pack("<Q", 4) + b"null",
        ],
        ids=range(14),
    )
    def test_are_no_models(self, data):
        with pytest.raises(ModelFileError, match=r"no model|no rhokit model|holds"):
            rhokit.loads(data)

    @pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}, {"rho": "kit"}])
    def test_other_safetensors(self, metadata):
        data = safetensors.numpy.save({"weight": np.ones(3)}, metadata=metadata)
        with pytest.raises(
            ModelFileError, match="safetensors file, but holds no rhokit"
        ):
            rhokit.loads(data)

    @pytest.mark.parametrize("metadata", [7, "text", [], None, {"rhokit": {}}])
    def test_metadata_of_the_wrong_kind(self, metadata):
        with pytest.raises(ModelFileError):
            rhokit.loads(raw_file({"__metadata__": metadata}))

    @pytest.mark.parametrize("data", [None, 7, "text", [1, 2]])
    def test_what_is_no_bytes(self, data):
        with pytest.raises((ModelFileError, TypeError)):
            rhokit.loads(data)

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="absent"):
            rhokit.load(tmp_path / "absent.rhokit")

    def test_a_directory(self, tmp_path):
        with pytest.raises(OSError, match=str(tmp_path)):
            rhokit.load(tmp_path)

    def test_errors_name_the_file(self, tmp_path):
        path = tmp_path / "table.csv"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(ModelFileError, match=r"table\.csv.*no model"):
            rhokit.load(path)

    def test_errors_are_value_errors(self):
        assert issubclass(ModelFileError, ValueError)


class TestDamage:
    @pytest.fixture(params=[DENSITY, REJECT])
    def data(self, request):
        return _file(request.param, "exact")

    def test_truncated_anywhere(self, data):
        for part in range(50):
            with pytest.raises(ModelFileError, match=r"damaged|no model|no readable"):
                rhokit.loads(data[: len(data) * part // 50])

    def test_cut_by_one_byte(self, data):
        with pytest.raises(ModelFileError, match="damaged"):
            rhokit.loads(data[:-1])

    @pytest.mark.parametrize("tail", [b"\x00", b" ", bytes(4096), b"junk"])
    def test_with_a_tail(self, data, tail):
        with pytest.raises(ModelFileError, match="damaged"):
            rhokit.loads(data + tail)

    def test_one_flipped_bit_anywhere(self, data):
        """In the length, the header, the description, the tensors."""
        rng = np.random.default_rng(0)
        start = 8 + int.from_bytes(data[:8], "little")
        places = [
            *range(8),
            *rng.integers(8, start, 150),
            *rng.integers(start, len(data), 100),
            len(data) - 1,
        ]
        for place in places:
            damaged = bytearray(data)
            damaged[place] ^= 1 << int(rng.integers(8))
            if 8 <= place < start:
                # The header is JSON, whose white space and escapes mean nothing.
                with contextlib.suppress(ModelFileError):
                    rhokit.loads(bytes(damaged))
            else:
                with pytest.raises(ModelFileError):
                    rhokit.loads(bytes(damaged))

    def test_one_flipped_bit_of_a_number_is_seen(self, data):
        start = 8 + int.from_bytes(data[:8], "little")
        for place in range(start, len(data), 101):
            damaged = bytearray(data)
            damaged[place] ^= 1
            with pytest.raises(ModelFileError, match="does not have the digest"):
                rhokit.loads(bytes(damaged))


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
    """Small files that claim to be large cost neither memory nor time."""

    @staticmethod
    def costs(data, message=None, limit=2**25):
        """Load, and measure."""
        tracemalloc.start()
        start = time.perf_counter()
        try:
            with pytest.raises(ModelFileError, match=message) as caught:
                rhokit.loads(data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert not isinstance(caught.value.__cause__, MemoryError)
        assert peak < limit + 20 * len(data)
        assert time.perf_counter() - start < 5

    @pytest.mark.parametrize(
        "shape", [[HUGE], [HUGE, HUGE], [2**63 - 1], [2**64], [-1]]
    )
    def test_a_header_that_claims_huge_shapes(self, shape):
        tensor = {"dtype": "F64", "shape": shape, "data_offsets": [0, 16]}
        header = {"__metadata__": {"rhokit": "{}"}, "state_.total": tensor}
        self.costs(raw_file(header, bytes(16)), "damaged")

    @pytest.mark.parametrize("end", [HUGE, 2**63, 2**64, -8, "16", 1e300])
    def test_a_header_that_claims_huge_places(self, end):
        tensor = {"dtype": "F64", "shape": [2], "data_offsets": [0, end]}
        self.costs(raw_file({"a": tensor}, bytes(16)), "damaged")

    def test_a_header_that_claims_to_be_huge(self):
        self.costs(struct.pack("<Q", HUGE) + b"{}", "damaged")

    def test_tensors_that_overlap(self):
        places = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}
        self.costs(raw_file({"a": places, "b": places}, bytes(16)), "damaged")

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
            ".factor": ("float64", (outcomes, length)),
            ".weight": ("float64", (outcomes,)),
        }
        self.costs(state_file("factor", value, tensors))

    def test_triangles_without_numbers(self):
        dim = 2 * 10**6
        tensors = {
            ".total": ("float64", (0, dim * (dim + 1) // 2)),
            ".weight": ("float64", (0,)),
        }
        value = {"total": "tensor", "weight": "tensor"}
        self.costs(state_file("sums", value, tensors))

    def test_triangles_without_numbers_in_a_model(self):
        draft, dim = Draft(DENSITY), 10**7
        draft.tensors["state_.total"] = np.empty((0, dim * (dim + 1) // 2))
        draft.tensors["state_.weight"] = np.empty(0)
        self.costs(draft.data(), "state_|size")

    @pytest.mark.parametrize(("levels", "targets"), [(2**18, 200), (HUGE, 1)])
    def test_levels_of_a_prepared_model(self, levels, targets):
        """Levels are made from their number, for every target."""
        draft = Draft("values-prepared")
        draft.fitted["n_levels_"] = levels
        draft.fitted["_one_target"] = False
        draft.tensors["_low"] = np.zeros(targets)
        draft.tensors["_high"] = np.ones(targets)
        self.costs(draft.data(), "n_levels_")

    def test_one_long_label_among_many(self):
        """Text of one length per array: the longest, times the number."""
        draft = Draft("classes-prepared")
        labels = [f"{number:05d}" for number in range(4000)] + ["x" * 4000]
        draft.fitted["classes_"]["values"] = labels
        self.costs(draft.data())

    def test_one_long_word_among_many_rows(self):
        draft = Draft("classes-reject-words")
        words = [["a", "b"]] * 3000 + [["x" * 3000, "b"]]
        draft.tensors["sample_.keys"] = np.arange(3001, dtype=np.uint64)
        draft.tensors["sample_.target"] = np.zeros(3001, np.int64)
        draft.tensors["sample_.weight"] = np.ones(3001)
        draft.fitted["sample_"]["value"]["rows"] = {"dtype": "U", "values": words}
        self.costs(draft.data())

    def test_a_huge_dtype_of_labels(self):
        draft = Draft(REJECT)
        draft.fitted["classes_"]["dtype"] = "<U99999999"
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
        self.costs(draft.data(), "n_components")

    def test_messages_stay_short(self):
        draft = Draft(DENSITY)
        draft.fitted["gamma_"] = "x" * 100_000
        assert len(str(draft.refused("gamma_ must be"))) < 1000
        draft = Draft(DENSITY)
        draft.root["class"] = "x" * 100_000
        assert len(str(draft.refused("class of the model"))) < 1000
        draft = Draft(DENSITY)
        draft.parameters["gamma"] = "x" * 100_000
        assert len(str(draft.refused("gamma"))) < 2000


class TestNothingIsBuiltBeforeAllIsChecked:
    @pytest.fixture
    def built(self, monkeypatch):
        """Names of the classes whose objects were restored or states made."""
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
            FeatureMap,
            MatrixState,
            rhokit.QMRegressor,
            rhokit.DMKDESGD,
        ):
            record(owner, "restore" if hasattr(owner, "restore") else "_restore")
        for owner in (rhokit.DensityMatrix, rhokit.LowRankDensityMatrix):
            record(owner, "__post_init__")
        return names

    @pytest.mark.parametrize("name", [DENSITY, REJECT, VALUES, "trained-density"])
    def test_good_files_are_built(self, built, name):
        rhokit.loads(_file(name, "exact"))
        assert len(built) >= 2

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            # In the order of the file: what comes last is checked before what comes
            # first is built.
            (DENSITY, put("fitted", "_proposal", 3)),
            (DENSITY, entry("_proposal.widths", -1.0)),
            (DENSITY, put("tensors", "payload", np.zeros(2))),
            (DENSITY, entry("state_.weight", np.nan)),
            (DENSITY, entry("scaling_.matrix", 0.0)),
            (REJECT, entry("sample_.target", 99)),
            (REJECT, put("fitted", "_sample_size", 0)),
            (VALUES, put("fitted", "beta_", "wide")),
            (VALUES, entry("_high", -1e9)),
            (VALUES, put("tensors", "payload", np.zeros(2))),
            ("trained-density", put("fitted", "n_epochs_", "many")),
            ("trained-density", put("fitted", "history_", 3)),
            ("trained-density", put("parameters", "patience", 0)),
        ],
    )
    def test_bad_ones_are_not(self, built, name, change):
        file = deepcopy(Draft(name))
        change(file)
        data = file.data()
        built.clear()
        with pytest.raises(ModelFileError):
            rhokit.loads(data)
        assert built == []

    @pytest.mark.parametrize("field", ["signs_", "lengths_", "phases_"])
    def test_what_may_be_none_may_be_missing_or_not(self, built, field):
        """Either is fine, but no file fails while it is being built."""
        draft = Draft(DENSITY)
        del draft.map["fitted"][field]
        draft.tensors.pop(f"feature_map_.{field}", None)
        data = draft.data()
        built.clear()
        try:
            rhokit.loads(data)
        except ModelFileError:
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
