"""Wrong and hostile files, one by one: each is refused, and told why."""

import sys

import numpy as np
import pytest

import rhokit
from rhokit import ModelFileError
from tests.io.drafts import (
    DENSITY,
    HUGE,
    LANDMARKS,
    REJECT,
    STRUCTURED,
    TRAINED,
    VALUES,
    Draft,
    both,
    cast,
    cut,
    drop,
    entry,
    put,
    refuses,
    tensor,
    without,
)

# Files whose tensors are all looked at, one after the other.
EVERY_TENSOR = (DENSITY, LANDMARKS, REJECT, VALUES, "joint-map")


def in_parameter_map(key, value):
    """A change of the map among the parameters."""
    return lambda draft: draft.parameters["feature_map"]["map"].update({key: value})


class TestClasses:
    @pytest.mark.parametrize(
        "name",
        [
            "os.system",
            "builtins.eval",
            "__init__",
            "rhokit.DMKDE",
            "dmkde",
            "",
            "OnePassEstimator",
            "loads",
            "LandmarkFeatures",
            None,
            7,
            ["DMKDE"],
            {"DMKDE": 1},
        ],
    )
    def test_unknown_names(self, name):
        refuses("class must be one of", DENSITY, put("root", "class", name))

    @pytest.mark.parametrize(
        "name", ["os.system", "DMKDE", "FourierFeatures", "FeatureMap", None, ["grid"]]
    )
    def test_of_maps(self, name):
        message = "feature_map.name must be one of"
        refuses(message, DENSITY, put("map", "name", name))
        refuses(message, DENSITY, in_parameter_map("name", name))

    @pytest.mark.parametrize("name", ["os.system", "classifier", None, ["density"]])
    def test_of_readouts(self, name):
        def change(draft):
            draft.model["readout"]["name"] = name

        refuses("readout.name must be one of", DENSITY, change)

    def test_of_representations(self):
        for name in ("os", None, ["matrix"]):
            change = put("plan", "representation", name)
            refuses("representation must be one of", DENSITY, change)
        change = put("plan", "representation", "mean")
        refuses("representation must be 'matrix', got 'mean'", DENSITY, change)

    def test_a_readout_of_another_class(self):
        def change(draft):
            draft.model["readout"] = Draft("joint-text").model["readout"]

        refuses("the read-out must be 'classes', got 'joint'", REJECT, change)

    def test_another_class_has_another_readout(self):
        def change(draft):
            draft.root["class"] = "QMRegressor"
            draft.root["parameters"] = {}

        refuses("the read-out must be 'levels', got 'density'", DENSITY, change)

    def test_an_estimator_inside_of_another_kind(self):
        def change(draft):
            draft.root["estimator"]["class"] = "DMKDClassifier"

        refuses("estimator.class must be one of", TRAINED, change)

    @pytest.mark.parametrize("name", ["antigravity", "this", "tests.io.bait"])
    def test_nothing_that_a_file_names_is_imported(self, name):
        before = set(sys.modules)
        refuses("class must be one of", DENSITY, put("root", "class", name))
        refuses("feature_map", LANDMARKS, put("parameters", "feature_map", name))
        refuses("name must be one of", DENSITY, put("map", "name", name))
        assert name not in set(sys.modules) - before

    def test_members_missing_or_too_many(self):
        for owner, names in {
            "root": ("parameters", "model"),
            "model": ("plan", "readout", "state", "sample"),
            "map": ("name", "parameters", "columns", "fitted"),
        }.items():
            for name in names:
                refuses("must be an object with", DENSITY, drop(owner, name))
            more = put(owner, "__reduce__", "os.system")
            refuses("must be an object with", DENSITY, more)

    @pytest.mark.parametrize("value", [None, 1, "DMKDE", [], True])
    def test_no_object_at_all(self, value):
        refuses("must be", DENSITY, put("tree", "estimator", value))
        refuses("must be an object", DENSITY, put("model", "plan", value))
        refuses("must be an object", DENSITY, put("plan", "feature_map", value))


class TestParameters:
    def test_unknown(self):
        change = put("parameters", "callback", "os.system")
        refuses(r"DMKDE has no parameters \['callback'\]", DENSITY, change)
        refuses("has no parameters", DENSITY, put("parameters", "model_", 1))
        refuses("has no parameters", DENSITY, put("parameters", "__class__", "x"))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("gamma", -1.0),
            ("gamma", 0),
            ("gamma", "wide"),
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

    def test_of_a_trained_model(self):
        refuses("patience", TRAINED, put("parameters", "patience", 0))

    @pytest.mark.parametrize("value", [None, [], "gamma", 3])
    def test_that_are_no_object(self, value):
        change = put("root", "parameters", value)
        refuses("parameters must be an object", DENSITY, change)

    def test_a_fitted_map_among_parameters(self):
        """A parameter is not fitted; what a file says of it would mean nothing."""
        evil = in_parameter_map("fitted", {"evil": 1})
        refuses("feature_map must have parameters alone", DENSITY, evil)
        columns = in_parameter_map("columns", {"width": 1})
        refuses("feature_map has columns, but was not", DENSITY, columns)

    def test_an_array_without_a_tensor(self):
        change = put("parameters", "scale", {"array": "tensor"})
        refuses("parameters.scale is missing", DENSITY, change)


class TestSamples:
    """Detectors answer by the rows that they kept."""

    @pytest.mark.parametrize("name", ["outliers-clean", "outliers-mosaic"])
    def test_a_detector_without_its_rows(self, name):
        message = "a model of outliers must hold a sample of its rows"
        refuses(message, name, put("model", "sample", None))

    @pytest.mark.parametrize("name", [REJECT, VALUES, "outliers-clean"])
    def test_rows_of_no_weight(self, name):
        def change(draft):
            draft.tensors["model.sample.weight"][:] = 0

        refuses("sample.weight", name, change)


class TestFields:
    @pytest.mark.parametrize(
        ("name", "owner", "field"),
        [
            (DENSITY, "plan", "scaling"),
            (DENSITY, "plan", "gamma"),
            (DENSITY, "plan", "feature_map"),
            (DENSITY, "plan", "proposal"),
            (DENSITY, "plan", "loo_rank"),
            (DENSITY, "fitted", "dtype"),
            (DENSITY, "fitted", "phases"),
            (DENSITY, "fitted", "signs"),
            (REJECT, "learned", "classes"),
            (REJECT, "plan", "sample_rows"),
            (REJECT, "sample", "keys"),
            (VALUES, "learned", "low"),
            (VALUES, "learned", "n_levels"),
            (VALUES, "learned", "beta"),
            ("joint-text", "learned", "output_seed"),
            ("ordinal-text", "learned", "decision"),
        ],
    )
    def test_missing(self, name, owner, field):
        refuses(f"lacks .*'{field}'", name, drop(owner, field))

    def test_unknown(self):
        for owner in ("plan", "fitted", "learned"):
            change = put(owner, "__class__", "os.system")
            refuses(r"is not understood: \['__class__'\]", DENSITY, change)
        refuses("not understood.*_turns", DENSITY, put("fitted", "_turns", "tensor"))

    @pytest.mark.parametrize("value", [True, 1, "fitted", [1]])
    def test_that_are_no_object(self, value):
        refuses("must be an object", DENSITY, put("map", "fitted", value))
        refuses("must be an object", DENSITY, put("root", "model", value))

    def test_a_map_that_was_not_fitted(self):
        def change(draft):
            draft.map.update(columns=None, fitted=None)

        refuses("the map of a model must be fitted", DENSITY, change)

    @pytest.mark.parametrize(
        ("name", "owner", "field", "value", "message"),
        [
            *[
                (DENSITY, "columns", "width", value, "width must be an integer")
                for value in (0, 2.0, True, "2", None)
            ],
            (DENSITY, "columns", "width", 3, "size 2 where the rest has d = 3"),
            (DENSITY, "columns", "width", HUGE, "where the rest has d"),
            (DENSITY, "columns", "width", 10**400, "width|integer|int too large"),
            (DENSITY, "columns", "names", ["a"], "names has the size 1"),
            (DENSITY, "columns", "names", ["a", 2], "names must be a list"),
            (DENSITY, "columns", "names", "ab", "names must be a list"),
            (DENSITY, "columns", "more", 1, "columns must be an object with"),
            (DENSITY, "plan", "columns", None, "columns must be an object with"),
            (DENSITY, "plan", "gamma", -1, "gamma must be a number"),
            (DENSITY, "plan", "gamma", [1], "gamma must be a number"),
            (DENSITY, "plan", "compares_outcomes", 1, "must be true or false"),
            (DENSITY, "plan", "scaling", None, "scaling must be an object"),
            (DENSITY, "plan", "scaling", {"centre": "tensor"}, "scaling lacks"),
            (DENSITY, "plan", "sample_rows", 0, "sample_rows must be an integer"),
            (DENSITY, "plan", "loo_rank", 0, "loo_rank must be an integer"),
            (DENSITY, "fitted", "dtype", "object", "dtype must be one of"),
            (DENSITY, "fitted", "frequencies", ["tensor"], "frequencies must be"),
            (DENSITY, "model", "state", "tensor", "state must be an object"),
            (DENSITY, "model", "state", {"kind": "os", "value": 1}, "must be one of"),
            (DENSITY, "model", "state", {"kind": ["sums"], "value": 1}, "must be one"),
            (DENSITY, "model", "sample", {"kind": "x", "value": 1}, "must be one of"),
            (VALUES, "learned", "n_levels", 0, "n_levels must be an integer"),
            (VALUES, "learned", "n_levels", 7, "state.total has the size 6"),
            (VALUES, "learned", "one_target", 1, "one_target must be true or false"),
            (VALUES, "learned", "beta", -3.0, "beta must be a number"),
            (VALUES, "learned", "low", "numbers", "low must be 'tensor'"),
            (VALUES, "learned", "low", None, "low must be 'tensor'"),
            ("ordinal-text", "learned", "decision", "guess", "must be one of"),
            ("ordinal-text", "learned", "decision", ["mode"], "must be one of"),
            ("joint-text", "learned", "output_seed", -1, "output_seed must be an int"),
            (REJECT, "sample", "size", 0, "size must be an integer"),
            (TRAINED, "root", "history", {"loss": 1}, "history must be lists"),
            (TRAINED, "root", "history", {"loss": ["1"]}, "history must be lists"),
            (TRAINED, "root", "history", [1.0], "history must be lists"),
            (TRAINED, "root", "n_epochs", -1, "n_epochs must be an integer"),
            (TRAINED, "root", "improved", 1, "improved must be true or false"),
        ],
    )
    def test_of_the_wrong_kind(self, name, owner, field, value, message):
        refuses(message, name, put(owner, field, value))

    def test_a_trained_model_without_what_it_trained(self):
        change = put("root", "estimator", None)
        refuses("history without an estimator", TRAINED, change)

        def empty(draft):
            draft.root["estimator"]["model"] = None

        refuses("estimator is not fitted", TRAINED, empty)

    @pytest.mark.parametrize("name", ["mean-phase-double", "density-series-line"])
    def test_a_state_of_another_representation(self, name):
        draft, other = Draft(DENSITY), Draft(name)
        draft.model["state"] = other.model["state"]
        draft.refused(r"state must be one of \['sums', 'factor'\]")

    def test_a_sample_of_a_density(self):
        draft, other = Draft(DENSITY), Draft(REJECT)
        draft.model["sample"] = other.model["sample"]
        draft.tensors |= {k: v for k, v in other.tensors.items() if ".sample." in k}
        draft.refused("a model of density keeps no sample")

    @pytest.mark.parametrize("name", ["density-complex-double", "mean-complex-single"])
    def test_states_are_complex_if_columns_are(self, name):
        """And only then."""
        key = "total"
        real = tensor(f"state.{key}", lambda total: total[..., 0])

        def change(draft):
            real(draft)
            draft.model["state"]["value"][key] = "tensor"

        refuses("whether columns are complex", name, change)

        def pairs(draft):
            tensor("state.total", lambda t: np.stack([t, t], axis=-1))(draft)
            draft.model["state"]["value"]["total"] = "complex tensor"

        refuses("whether columns are complex", LANDMARKS, pairs)

    @pytest.mark.parametrize(
        ("owner", "key"),
        [
            ("fitted", "frequencies"),
            ("fitted", "phases"),
            ("scaling", "centre"),
            ("proposal", "anchors"),
        ],
    )
    def test_real_values_that_are_said_to_be_complex(self, owner, key):
        """A cast would hide a part."""
        draft = Draft(DENSITY)
        home = draft.fitted if owner == "fitted" else draft.plan[owner]
        home[key] = "complex tensor"
        tensor(key, lambda array: np.stack([array] * 2, axis=-1))(draft)
        draft.refused(key)


class TestTensors:
    @pytest.mark.parametrize("end", ["state.total", "frequencies", "scaling.matrix"])
    def test_missing(self, end):
        refuses(f"{end} is missing", DENSITY, without(end))

    def test_too_many(self):
        change = put("tensors", "payload", np.zeros(9))
        refuses(r"tensors that mean nothing: \['payload'\]", DENSITY, change)
        change = put("tensors", "model.state.total", np.zeros(9))
        refuses("tensors that mean nothing", "density-unfitted", change)

    @pytest.mark.parametrize(
        ("name", "end", "dtype"),
        [
            (DENSITY, "state.total", "float32"),
            (DENSITY, "state.weight", "int64"),
            (DENSITY, "frequencies", "float32"),
            (LANDMARKS, "feature_map.landmarks", "float32"),
            (LANDMARKS, "feature_map.whitening", "int64"),
            (REJECT, "sample.keys", "int64"),
            (REJECT, "sample.target", "float64"),
            (VALUES, "sample.target", "int64"),
            (STRUCTURED, "signs", "int64"),
        ],
    )
    def test_of_the_wrong_dtype(self, name, end, dtype):
        message = f"{end.split('.')[-1]}|dtype|labels|targets"
        refuses(message, name, cast(end, dtype))

    @pytest.mark.parametrize("dtype", ["bool", "uint16", "uint32", "float16"])
    def test_of_a_dtype_that_no_model_has(self, dtype):
        refuses(f"has the dtype {dtype}", DENSITY, cast("state.total", dtype))

    @pytest.mark.parametrize("name", EVERY_TENSOR)
    def test_of_the_wrong_size(self, name):
        # Parameters may have any size, and so may what whitening leaves.
        free = ".parameters.", ".whitening"
        keys = [k for k in Draft(name).tensors if not any(part in k for part in free)]
        for key in keys:
            draft = Draft(name)
            cut(key)(draft)
            error = draft.refused("size|shape|triangle|whitening|range|volume")
            assert "does not fit together" not in str(error), key

    @pytest.mark.parametrize("name", EVERY_TENSOR)
    def test_of_the_wrong_number_of_axes(self, name):
        for key in Draft(name).tensors:
            draft = Draft(name)
            draft.tensors[key] = draft.tensors[key][None, None, None]
            draft.refused(f"{key} must be of shape")

    @pytest.mark.parametrize("name", EVERY_TENSOR)
    def test_that_are_not_finite(self, name):
        for key, array in Draft(name).tensors.items():
            for value in (np.nan, np.inf, -np.inf):
                if array.dtype.kind != "f":
                    continue
                draft = Draft(name)
                entry(key, value, -1)(draft)
                draft.refused(f"{key} holds values that are not finite")

    def test_infinite_logarithms_have_one_sign(self):
        end = "sample.logs"
        draft = Draft(REJECT, "factor")
        entry(end, -np.inf)(draft)
        rhokit.loads(draft.data())
        for value in (np.inf, np.nan):
            refuses(f"{end} holds values", REJECT, entry(end, value), "factor")

    @pytest.mark.parametrize(
        ("name", "end"),
        [
            (DENSITY, "state.weight"),
            (REJECT, "state.weight"),
            (REJECT, "sample.weight"),
            (DENSITY, "proposal.weights"),
            (DENSITY, "proposal.widths"),
            (DENSITY, "amplitudes"),
        ],
    )
    def test_negative_weights(self, name, end):
        refuses(f"{end} must be .* or more everywhere", name, entry(end, -1.0))

    def test_a_negative_diagonal(self):
        change = entry("state.total", -1.0)
        refuses("total has a negative diagonal", DENSITY, change)

    @pytest.mark.parametrize("index", range(3))
    def test_a_negative_diagonal_of_any_outcome(self, index):
        size = Draft(REJECT).tensors["model.state.total"].shape[1]
        change = entry("state.total", -1e9, (index + 1) * size - 1)
        refuses("negative diagonal", REJECT, change)

    def test_no_triangle(self):
        """77 numbers are no triangle of a matrix."""
        refuses("must be triangles of matrices", DENSITY, cut("state.total"))


def labels(**changes):
    """A change of the labels of a classifier."""
    return lambda draft: draft.learned["classes"].update(changes)


class TestSamplesAndLabels:
    @pytest.mark.parametrize(
        "values", [["bee", "aphid", "cicada"], ["aphid", "aphid", "bee"], []]
    )
    def test_labels_out_of_order(self, values):
        message = "classes must be distinct labels in ascending"
        refuses(message, REJECT, labels(values=values))

    @pytest.mark.parametrize("last", [3, None, ["c"], {"c": 1}])
    def test_labels_of_another_kind(self, last):
        values = ["aphid", "bee", last]
        refuses("classes must be", REJECT, labels(values=values))

    @pytest.mark.parametrize("values", ["abc", None])
    def test_labels_that_are_no_list(self, values):
        refuses("classes must be", REJECT, labels(values=values))

    @pytest.mark.parametrize(
        "dtype",
        [
            "<M8[s]",
            "S5",
            "V8",
            "c16",
            "i3",
            "i8,i8",
            "os",
            "",
            None,
            5,
            ["<U3"],
            "U" * 99,
        ],
    )
    def test_labels_of_another_dtype(self, dtype):
        message = "classes must be labels of a dtype"
        refuses(message, REJECT, labels(dtype=dtype))

    @pytest.mark.parametrize("dtype", ["i8,i8", "0,i8", "(2,)i8", "(1+1,)i8", "0i8"])
    def test_no_dtype_is_compiled(self, monkeypatch, dtype):
        """NumPy evaluates the shapes in a dtype's text; a file's text is data."""

        def forbidden(text):
            raise AssertionError(f"evaluated {text!r}")

        monkeypatch.setattr("ast.literal_eval", forbidden)
        message = "classes must be labels of a dtype"
        refuses(message, REJECT, labels(dtype=dtype))

    @pytest.mark.parametrize("values", [[1, 2, 300], [1, 2, 2**70]])
    def test_labels_beyond_their_dtype(self, values):
        change = labels(dtype="|i1", values=values)
        refuses("classes|out of bounds|too large", REJECT, change)

    def test_more_labels_than_states(self):
        change = labels(values=["aphid", "bee", "cicada", "dragonfly"])
        refuses("where the rest has K = 4", REJECT, change)

    @pytest.mark.parametrize(
        ("code", "state"), [(-1, "exact"), (3, "factor"), (2**62, "exact")]
    )
    def test_codes_out_of_range(self, code, state):
        change = entry("sample.target", code)
        refuses("labels that are not among the classes", REJECT, change, state)

    def test_keys_out_of_order_or_twice(self):
        for change in (lambda keys: keys[::-1], lambda keys: np.repeat(keys[::2], 2)):
            message = "keys of the sample must ascend"
            refuses(message, REJECT, tensor("sample.keys", change))

    @pytest.mark.parametrize(("value", "state"), [(-1e6, "exact"), (1e6, "factor")])
    def test_targets_outside_of_the_range(self, value, state):
        change = entry("sample.target", value)
        refuses("targets outside of the range", VALUES, change, state)

    def test_a_range_upside_down(self):
        refuses("low must not exceed high", VALUES, entry("readout.low", 1e9))

    def test_one_target_with_two_ranges(self):
        change = put("learned", "one_target", True)
        refuses("one target has one range", "values-two", change)

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
        refuses("categories", "words", put("fitted", "categories", categories))

    def test_categories_are_double(self):
        refuses("dtype must be float64", "words", put("fitted", "dtype", "float32"))

    def test_fewer_categories_than_the_state(self):
        def change(draft):
            draft.fitted["categories"].pop()

        refuses("where the rest has", "density-words", change)

    @pytest.mark.parametrize(
        "rows",
        [
            None,
            [],
            {"dtype": "O"},
            {"dtype": "V", "values": []},
            {"dtype": ["O"], "values": []},
            {"dtype": "O", "values": "ab"},
            {"dtype": "O", "values": [["a", ["b"]]]},
        ],
    )
    def test_sampled_categories(self, rows):
        change = put("sample", "rows", rows)
        refuses("sample.rows (must be|has the size)", "classes-reject-words", change)


class TestWhatMustFitTogether:
    @pytest.mark.parametrize("value", [0.0, -1.0])
    def test_a_scaling_without_volume(self, value):
        change = entry("scaling.matrix", value)
        refuses("scaling has no volume", DENSITY, change)

    def test_a_whitening_scaling_without_volume(self):
        change = tensor("scaling.matrix", np.ones_like)
        refuses("scaling has no volume", "density-wide", change)

    def test_a_proposal_of_another_mass(self):
        change = tensor("proposal.weights", lambda weights: 2 * weights)
        refuses("weights of the proposal must sum to one", DENSITY, change)

    def test_complex_features_with_phases(self):
        def change(draft):
            draft.map["parameters"]["form"] = "complex"

        refuses("phases must be there unless", DENSITY, change)

    def test_pairs_with_all_frequencies(self):
        def change(draft):
            draft.map["parameters"]["form"] = "pair"

        refuses("frequencies has the size 24", DENSITY, change)

    def test_signs_without_lengths(self):
        change = both(put("fitted", "lengths", None), without("feature_map.lengths"))
        refuses("signs need lengths", STRUCTURED, change)

    @pytest.mark.parametrize("value", [0, 3, -128])
    def test_signs_that_are_none(self, value):
        refuses("signs do not make", STRUCTURED, entry("signs", value))

    def test_too_few_signs(self):
        change = tensor("signs", lambda signs: signs[:, :, :63])
        refuses("signs do not make", STRUCTURED, change)

    def test_a_box_upside_down(self):
        change = entry("feature_map.low", 1e9)
        refuses("low must not exceed high", "density-grid", change)

    def test_a_whitening_wider_than_its_landmarks(self):
        change = tensor("whitening", np.zeros((12, 40)))
        refuses("whitening is no whitening", LANDMARKS, change)

    def test_softmax_levels_that_differ(self):
        change = put("parameters", "n_components", 5)
        refuses("n_components and landmarks differ", "softmax-double", change)

    @pytest.mark.parametrize(
        ("name", "value"), [("rank", 0), ("rank", 13), ("dim", 11), ("dim", HUGE)]
    )
    def test_factors(self, name, value):
        def change(draft):
            draft.model["state"]["value"]["factor"][name] = value

        refuses("factor|size", DENSITY, change, "factor")

    def test_a_bare_state_is_one_of_ours(self):
        draft = Draft(DENSITY)
        draft.tree["state"] = {"kind": "mosaic", "value": {}}
        del draft.tree["estimator"]
        with pytest.raises(ModelFileError, match="must be one of"):
            rhokit.loads(draft.data())
