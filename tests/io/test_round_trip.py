"""A model that was saved and loaded is the model that it was."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

import rhokit
from rhokit import (
    DMKDE,
    DensityMatrix,
    DMKDClassifier,
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    LowRankDensityMatrix,
    MeanEmbeddingKDE,
    OneHotFeatures,
    QMClassifier,
    QMRegressor,
    QuadratureFeatures,
    SoftmaxFeatures,
)
from rhokit.core import CellMoments, FeatureMean, ToeplitzDensityMatrix
from rhokit.features import MAPS as MAPS_BY_NAME
from rhokit.features import FeatureMap
from rhokit.io.container import unpack
from rhokit.io.estimator_field import ONE_PASS as ONE_PASS_CLASSES
from rhokit.io.estimator_field import TRAINED as TRAINED_CLASSES
from rhokit.models import MeasuredSample
from rhokit.readouts import READOUTS, DensityReadOut
from rhokit.records import ArrayField, Writer
from rhokit.representations import REPRESENTATIONS
from tests.io.models import (
    CASES,
    FITTED,
    MAPS,
    SMALL,
    answers,
    is_fitted,
    plane,
    space,
    words,
)
from tests.nn.test_missing_torch import WITHOUT_TORCH
from tests.support import random_array, random_density

SOURCE = Path(rhokit.__file__).parents[1]
ONE_PASS = [name for name in FITTED if not name.startswith("trained")]
TRAINED = [name for name in FITTED if name.startswith("trained")]
# Models of a Fourier series per outcome, which have no factor.
SERIES = [name for name in ONE_PASS if "-series" in name]
BLENDS = [name for name in ONE_PASS if "-blend" in name]
OF_BLENDS = "located", "ordered-blend"  # which read nothing else
# Models of one density matrix per outcome have a factor, but detectors keep rows.
WITHOUT_FACTOR = ("mean", "outliers")
MATRICES = [
    name
    for name in ONE_PASS
    if not name.startswith(WITHOUT_FACTOR) and name not in {*SERIES, *BLENDS}
]
RANKED = [
    name for name in MATRICES if getattr(CASES[name].model, "rank", None) is not None
]


def through_a_file(model, state="exact"):
    return rhokit.loads(rhokit.dumps(model, state=state))


def plain(parameters):
    """Parameters in a form that can be compared."""
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value):
    if isinstance(value, FeatureMap):
        return type(value).__name__, plain(value.get_params())
    if isinstance(value, type):
        return np.dtype(value).name
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    if isinstance(value, list | tuple | np.ndarray):
        return np.asarray(value, dtype=float).tolist()
    return value


def assert_same_answers(actual, expected, queries):
    """The same to the last bit."""
    found, wanted = answers(actual, queries), answers(expected, queries)
    assert found.keys() == wanted.keys()
    assert wanted
    for name, value in wanted.items():
        assert_array_equal(found[name], value, err_msg=name, strict=True)


def assert_close_answers(actual, expected, queries):
    """The same up to what a change of basis costs in the model's precision."""
    found, wanted = answers(actual, queries), answers(expected, queries)
    assert found.keys() == wanted.keys()
    tol = tolerance(expected)
    for name, value in wanted.items():
        if name == "sample":
            continue  # a chain that accepts by a last digit goes elsewhere
        if value.dtype.kind not in "fc":
            assert_array_equal(found[name], value, err_msg=name)
        elif name in ("predict_log_proba", "decision_function"):
            # Where a chance is nearly zero, its logarithm is that of rounding.
            likely = np.abs(value) < 5
            assert_allclose(found[name][likely], value[likely], atol=100 * tol)
        else:
            assert_allclose(found[name], value, rtol=tol, atol=tol, err_msg=name)


def tolerance(model):
    inner = getattr(model, "estimator_", model)
    return 1e-5 if inner.feature_map_.dtype_ == np.float32 else 1e-9


def assert_same_state(actual, expected):
    assert type(actual) is type(expected)
    for name, value in vars(expected).items():
        assert_array_equal(getattr(actual, name), value, err_msg=name, strict=True)


def assert_same_content(actual, expected):
    """The same numbers under the same names, whatever their order in the file."""
    (tree, tensors), (wanted_tree, wanted_tensors) = unpack(actual), unpack(expected)
    assert tree == wanted_tree
    assert tensors.keys() == wanted_tensors.keys()
    for name, array in wanted_tensors.items():
        assert_array_equal(tensors[name], array, err_msg=name, strict=True)


def state_of(model):
    return getattr(model, "estimator_", model).state_


class TestEveryKindIsCovered:
    def test_of_estimators(self):
        kinds = {type(CASES[name].model).__name__ for name in FITTED}
        assert kinds == {*ONE_PASS_CLASSES, *TRAINED_CLASSES}

    def test_of_representations_and_readouts(self):
        models = [CASES[name].model.model_ for name in ONE_PASS]
        kinds = {(each.plan.representation, each.readout.name) for each in models}
        assert kinds == {
            *(("matrix", readout) for readout in READOUTS if readout not in OF_BLENDS),
            ("blend", "classes"),
            *(("blend", readout) for readout in OF_BLENDS),
            *(("series", readout) for readout in ("density", "classes", "levels")),
            ("mean", "density"),
            *((each, "outliers") for each in ("series", "mosaic")),
            ("mosaic", "density"),
        }
        assert {kind for kind, _ in kinds} == {*REPRESENTATIONS}

    def test_of_series(self):
        kinds = {
            (type(model).__name__, type(model.state_), model.n_features_in_)
            for model in (CASES[name].model for name in SERIES)
        }
        names = {"DMKDE": (1, 2, 3), "DMKDClassifier": (1, 2), "QMRegressor": (1, 2)}
        assert kinds == {
            (name, ToeplitzDensityMatrix, d)
            for name, columns in names.items()
            for d in columns
        }

    def test_of_maps(self):
        kinds = {type(case.model) for case in MAPS.values()}
        assert kinds == {*MAPS_BY_NAME.values()}


class TestExactFiles:
    @pytest.mark.parametrize("name", ONE_PASS)
    def test_answers_and_states_are_the_same_to_the_bit(self, name):
        case = CASES[name]
        again = through_a_file(case.model)
        assert_same_answers(again, case.model, case.queries)
        assert_same_state(again.state_, case.model.state_)

    @pytest.mark.parametrize("name", TRAINED)
    def test_trained_models_answer_the_same(self, name):
        case = CASES[name]
        assert_close_answers(through_a_file(case.model), case.model, case.queries)

    @pytest.mark.parametrize("name", CASES)
    def test_everything_else_is_the_same(self, name):
        """Class, parameters, fingerprint, and which attributes were learned."""
        model = CASES[name].model
        again = through_a_file(model)
        assert type(again) is type(model)
        parameters = again.get_params(deep=False)
        assert plain(parameters) == plain(model.get_params(deep=False))
        assert is_fitted(again) == is_fitted(model)
        # What torch has made is not kept.
        public = {n for n in vars(model) if n.endswith("_") and n not in ("module_",)}
        assert public == {n for n in vars(again) if n.endswith("_")}
        if not name.endswith("unfitted"):
            pair = [getattr(each, "estimator_", each) for each in (again, model)]
            assert pair[0].fingerprint() == pair[1].fingerprint()

    @pytest.mark.parametrize("name", [n for n in CASES if not n.startswith("trained")])
    def test_a_file_of_what_was_loaded_is_the_same_file(self, name):
        data = rhokit.dumps(CASES[name].model)
        assert_same_content(rhokit.dumps(rhokit.loads(data)), data)

    @pytest.mark.parametrize("name", ONE_PASS)
    def test_plans_and_readouts_are_the_same(self, name):
        """Field by field; what was compared on the way is not kept."""
        model = CASES[name].model.prepared_model()
        again = through_a_file(CASES[name].model).prepared_model()
        assert again.plan.candidates == ()
        for pair in ((again.plan, model.plan), (again.readout, model.readout)):
            found, wanted = ({**vars(each)} for each in pair)
            assert found.keys() == wanted.keys()
            for each, value in wanted.items():
                if isinstance(value, str | int | float | bool | np.ndarray | None):
                    assert_array_equal(found[each], value, err_msg=each)
        assert again.plan.columns == model.plan.columns
        assert (again.rank, again.may_miss) == (model.rank, model.may_miss)

    def test_the_same_model_gives_the_same_bytes(self):
        model = CASES["values-two"].model
        assert len({rhokit.dumps(model) for _ in range(20)}) == 1

    def test_saving_changes_nothing(self):
        case = CASES["values-one"]
        model = case.fresh()
        before = answers(model, case.queries)
        for state in ("exact", "factor"):
            rhokit.dumps(model, state=state)
        for name, value in answers(model, case.queries).items():
            assert_array_equal(value, before[name], err_msg=name)
        assert isinstance(model.state_, DensityMatrix)

    def test_loaded_arrays_are_writable_and_its_own(self):
        data = rhokit.dumps(CASES["density-landmarks-double"].model)
        first, second = rhokit.loads(data), rhokit.loads(data)
        first.state_.total[:] = 0
        first.feature_map_.landmarks_[:] = 0
        assert second.state_.total.any()
        assert second.feature_map_.landmarks_.any()

    def test_no_private_name_is_in_any_file(self):
        """Neither among the tree's keys nor among the tensors'."""
        for case in (*CASES.values(), *MAPS.values()):
            tree, tensors = unpack(rhokit.dumps(case.model))
            keys = {part for name in tensors for part in name.split(".")}
            keys |= keys_of({each: tree[each] for each in ROOTS & tree.keys()})
            bad = {key for key in keys if key.startswith("_") or key.endswith("_")}
            assert not bad, case.name


ROOTS = {"estimator", "map", "state"}


def keys_of(node):
    """All keys of a tree of JSON; those of histories are names of the user's."""
    if isinstance(node, list):
        return set().union(*map(keys_of, node))
    if not isinstance(node, dict):
        return set()
    return {*node}.union(*(keys_of(value) for value in node.values()))


class TestColumnNames:
    @pytest.mark.parametrize("name", ["density-frame", "trained-density"])
    def test_are_kept_and_still_checked(self, name):
        case = CASES[name]
        again = through_a_file(case.model)
        assert again.feature_names_in_.tolist() == ["length", "width"]
        assert again.feature_names_in_.dtype == object
        with pytest.raises(ValueError, match="feature names"):
            again.score_samples(case.queries.rename(columns={"width": "depth"}))

    def test_a_model_without_names_gets_none(self):
        again = through_a_file(CASES["density-rank"].model)
        assert not hasattr(again, "feature_names_in_")


class TestTargets:
    def test_a_range_may_be_a_point(self):
        settings = SMALL | {"feature_map": "landmarks"}
        model = QMRegressor(**settings, n_levels=4, beta=3.0)
        model.fit(plane(), np.full(len(plane()), 1.5))
        again = through_a_file(model)
        assert_array_equal(again.predict(plane()[:4]), model.predict(plane()[:4]))


class TestLabels:
    @pytest.mark.parametrize("kind", ["text", "ints", "bools", "objects"])
    def test_keep_their_dtype(self, kind):
        model = CASES[f"classes-{kind}"].model
        again = through_a_file(model)
        assert again.classes_.dtype == model.classes_.dtype
        assert again.classes_.tolist() == model.classes_.tolist()

    @pytest.mark.parametrize(
        "labels", [["naïve", "日本", "\ud800"], [0.5, 1.5, -3.0], [2**62, -(2**62), 0]]
    )
    def test_of_any_text_or_number(self, labels):
        y = np.array(labels)[np.arange(30) % 3]
        if y.dtype.kind == "f":
            y = y.astype(object)  # scikit-learn takes fractions for values
            with pytest.raises(ValueError, match="label"):
                DMKDClassifier(**SMALL).fit(plane(n=30), y)
            return
        model = DMKDClassifier(**SMALL).fit(plane(n=30), y)
        assert_array_equal(
            through_a_file(model).predict(plane()), model.predict(plane())
        )


def _merge(again, model, case):
    other = model.blank().partial_fit(*case.data.half(1))
    again.merge(through_a_file(other))
    model.merge(other)


def _taken_up(again, model, case):
    """By models that have never been saved."""
    ours, theirs = (model.blank().partial_fit(*case.data.half(1)) for _ in range(2))
    merged = ours.merge(again), theirs.merge(model)
    assert_same_answers(*merged, case.queries)


def _decay(again, model, case):
    for each in (again, model):
        each.partial_fit(*case.data.half(1), decay=0.25)


def _unlearn(again, model, case):
    some = [part[5:15] for part in case.data.half(0)]
    for each in (again, model):
        each.unlearn(*some)


def _unmerge(again, model, case):
    other = model.blank().partial_fit(*[part[:9] for part in case.data.half(0)])
    for each in (again, model):
        each.unmerge(other)


CHANGES = (_merge, _taken_up, _decay, _unlearn, _unmerge)


class TestGoingOn:
    """What was loaded learns, merges and forgets as if it had never been saved."""

    def both(self, case):
        return through_a_file(case.model), case.fresh()

    @pytest.mark.parametrize("name", ONE_PASS)
    def test_learning(self, name):
        case = CASES[name]
        again, model = (m.partial_fit(*case.data.half(1)) for m in self.both(case))
        assert_same_state(again.state_, model.state_)
        assert_same_answers(again, model, case.queries)

    @pytest.mark.parametrize(
        ("name", "change"),
        [(name, CHANGES[i % len(CHANGES)]) for i, name in enumerate(ONE_PASS)],
    )
    def test_other_changes(self, name, change):
        """One for each model, in turn."""
        case = CASES[name]
        again, model = self.both(case)
        change(again, model, case)
        assert_same_state(again.state_, model.state_)
        assert_same_answers(again, model, case.queries)

    @pytest.mark.parametrize(
        "name", [n for n in CASES if n.endswith("prepared") and "trained" not in n]
    )
    def test_a_prepared_model_learns(self, name):
        case = CASES[name]
        again = through_a_file(case.model)
        assert again.state_ is None
        with pytest.raises(NotFittedError):
            again.score_samples(case.data.half(1)[0])
        again.partial_fit(*case.data.half(0))
        model = case.fresh().partial_fit(*case.data.half(0))
        assert_same_answers(again, model, case.queries)

    @pytest.mark.parametrize("name", [n for n in CASES if n.endswith("unfitted")])
    def test_an_unfitted_model_fits(self, name):
        case = CASES[name]
        again, model = through_a_file(case.model), case.fresh()
        assert_same_answers(
            again.fit(*case.data.half(0)), model.fit(*case.data.half(0)), case.queries
        )

    @pytest.mark.parametrize("kind", ["classes", "joint", "ordinal"])
    def test_a_new_label_gets_its_place(self, kind):
        case = CASES[f"{kind}-text"]
        rows, _ = case.data.half(1)
        again, model = (
            each.partial_fit(rows, ["bat"] * len(rows)) for each in self.both(case)
        )
        assert again.classes_.tolist() == ["aphid", "bat", "bee", "cicada"]
        assert_same_answers(again, model, case.queries)

    @pytest.mark.parametrize("feature_map", ["fourier", "grid"])
    def test_a_model_without_rows_any_more(self, feature_map):
        """What is left of sums that cancel is rounding, of either sign."""
        model = DMKDE(**SMALL, feature_map=feature_map).fit(plane())
        for part in (slice(0, 13), slice(13, 50), slice(50, None)):
            model.unlearn(plane()[part])
        assert model.state_.weight == 0
        again = through_a_file(model)
        assert_same_answers(
            again.partial_fit(plane()), model.partial_fit(plane()), plane()[:9]
        )


class TestFactorFiles:
    @pytest.mark.parametrize("name", MATRICES)
    def test_answer_the_same(self, name):
        case = CASES[name]
        again = through_a_file(case.model, "factor")
        is_mosaic = case.model.plan_.representation == "mosaic"
        kind = CellMoments if is_mosaic else LowRankDensityMatrix
        assert isinstance(again.state_, kind)
        assert_close_answers(again, case.model, case.queries)

    @pytest.mark.parametrize("name", TRAINED)
    def test_of_trained_models_answer_the_same(self, name):
        case = CASES[name]
        again = through_a_file(case.model, "factor")
        assert isinstance(state_of(again), LowRankDensityMatrix)
        assert_close_answers(again, case.model, case.queries)

    @pytest.mark.parametrize("name", MATRICES[::4])
    def test_survive_a_second_file(self, name):
        case = CASES[name]
        again = through_a_file(through_a_file(case.model, "factor"))
        assert_close_answers(again, case.model, case.queries)

    @pytest.mark.parametrize("name", MATRICES[::4])
    def test_learn_nothing_more(self, name):
        case = CASES[name]
        again, other = through_a_file(case.model, "factor"), case.fresh()
        before = rhokit.dumps(again)
        seen = case.data.half(1)
        for attempt in (
            lambda: again.partial_fit(*seen),
            lambda: again.partial_fit(*seen, decay=0.5),
            lambda: again.unlearn(*seen),
            lambda: again.merge(other),
            lambda: again.unmerge(other),
            lambda: other.merge(again),
            lambda: other.unmerge(again),
        ):
            with pytest.raises(TypeError, match="only a factor"):
                attempt()
        assert_same_content(rhokit.dumps(again), before)

    @pytest.mark.parametrize("name", RANKED)
    def test_are_never_larger_with_a_rank(self, name):
        model = CASES[name].model
        sizes = [len(rhokit.dumps(model, state=each)) for each in ("factor", "exact")]
        assert sizes[0] <= sizes[1]

    def test_shrink_as_the_rank_does(self):
        settings = {
            "feature_map": "fourier",
            "gamma": 1.0,
            "scale": None,
            "n_components": 200,
        }
        model = DMKDE(**settings, rank=5, random_state=0).fit(plane())
        sizes = [len(rhokit.dumps(model, state=each)) for each in ("factor", "exact")]
        assert sizes[0] < 0.2 * sizes[1]
        assert through_a_file(model, "factor").state_.rank == 5

    @pytest.mark.parametrize(
        ("name", "coverage"),
        [("values-single", 0.5), ("values-two", 0.95), ("values-within", 0.8)],
    )
    def test_intervals_stay(self, name, coverage):
        case = CASES[name]
        again = through_a_file(case.model, "factor")
        # Answers of the rows that were left out, and no rows.
        assert isinstance(again.sample_, MeasuredSample)
        assert not hasattr(again.sample_, "rows")
        tol = tolerance(case.model)
        assert_allclose(
            again.predict_interval(case.queries, coverage),
            case.model.predict_interval(case.queries, coverage),
            rtol=tol,
            atol=tol,
        )

    @pytest.mark.parametrize(
        ("name", "reject"),
        [
            ("classes-reject", 0.02),
            ("classes-reject-single", 0.1),
            ("classes-reject-words", 0.3),
        ],
    )
    def test_thresholds_stay(self, name, reject):
        case = CASES[name]
        again = through_a_file(case.model, "factor").set_params(reject=reject)
        model = case.fresh().set_params(reject=reject)
        assert_allclose(again.threshold_, model.threshold_, rtol=tolerance(model))
        assert_array_equal(again.predict(case.queries), model.predict(case.queries))

    @pytest.mark.parametrize(
        "name", [*SERIES, *(n for n in ONE_PASS if n.startswith(WITHOUT_FACTOR))]
    )
    def test_of_a_mean_or_a_series_are_the_exact_file(self, name):
        model = CASES[name].model
        assert_same_content(rhokit.dumps(model, state="factor"), rhokit.dumps(model))

    @pytest.mark.parametrize("name", ["density-prepared", "values-unfitted"])
    def test_need_a_state(self, name):
        with pytest.raises(NotFittedError):
            rhokit.dumps(CASES[name].model, state="factor")

    def test_other_states_are_refused(self):
        with pytest.raises(ValueError, match="'exact' or 'factor', got 'small'"):
            rhokit.dumps(CASES["density-rank"].model, state="small")


class TestWidenedBoxes:
    """A box that rows have widened is kept as it is."""

    @pytest.mark.parametrize("name", ["density-series-line", "classes-series"])
    def test_answers_are_the_same_to_the_bit(self, name):
        case = CASES[name]
        model, far = case.fresh(), [part[:5] for part in case.data.half(0)]
        far[0] = far[0] + 4.0
        with pytest.warns(UserWarning, match="widened"):
            model.partial_fit(*far)
        again = through_a_file(model)
        assert again.feature_map_.has_box_of(model.feature_map_)
        assert_same_answers(again, model, np.concatenate([case.queries, far[0]]))
        same = [each.partial_fit(*far) for each in (again, model)]
        assert_same_state(same[0].state_, same[1].state_)

    @pytest.mark.parametrize("columns", [[0], [2, 0]])
    def test_parts_of_a_model_can_be_saved(self, columns):
        model = CASES["density-series-space"].model.marginal(columns)
        again = through_a_file(model)
        assert_same_answers(again, model, space()[:9, sorted(columns)])


class TestMaps:
    @pytest.mark.parametrize("name", MAPS)
    def test_states_are_the_same_to_the_bit(self, name):
        case = MAPS[name]
        again = through_a_file(case.model)
        assert again.fingerprint() == case.model.fingerprint()
        assert plain(again.get_params()) == plain(case.model.get_params())
        assert_array_equal(
            again.transform(case.queries),
            case.model.transform(case.queries),
            strict=True,
        )

    @pytest.mark.parametrize("name", MAPS)
    def test_everything_that_follows_is_the_same(self, name):
        model = MAPS[name].model
        again = through_a_file(model)
        for attribute in ("n_columns_", "n_components_", "log_floor_", "dtype_"):
            assert getattr(again, attribute) == getattr(model, attribute)
        assert again.column_dtype_ == model.column_dtype_
        names = again.get_feature_names_out().tolist()
        assert names == model.get_feature_names_out().tolist()
        own = {"schema_"}  # where no map looks for one, it is the class that says so
        assert vars(again).keys() | own == vars(model).keys() | own

    @pytest.mark.parametrize(
        "feature_map", [FourierFeatures(), LandmarkFeatures(landmarks=[[0, 1]])]
    )
    def test_unfitted_ones_stay_so(self, feature_map):
        again = through_a_file(feature_map)
        assert plain(again.get_params()) == plain(feature_map.get_params())
        assert not hasattr(again, "n_features_in_")

    @pytest.mark.parametrize("kind", [GridFeatures, QuadratureFeatures])
    def test_a_box_may_be_a_point(self, kind):
        rows = np.full((3, 1), 2.5)
        feature_map = kind().fit(rows)
        again = through_a_file(feature_map)
        assert_array_equal(again.low_, again.high_)
        assert_array_equal(again.transform(rows), feature_map.transform(rows))

    def test_categories_of_any_plain_value(self):
        rows = np.array([["a", 1], [None, 2.5], ["", True], ["ü", None]], dtype=object)
        onehot = OneHotFeatures().fit(rows)
        again = through_a_file(onehot)
        assert again.categories_ == onehot.categories_
        assert [list(map(type, key)) for key in again.categories_] == [
            list(map(type, key)) for key in onehot.categories_
        ]
        assert_array_equal(again.transform(rows), onehot.transform(rows))


class TestMissingValues:
    """Rows that are kept for intervals may have gaps, however these are marked."""

    @pytest.mark.parametrize(
        "rows",
        [
            np.array([["a"], ["b"], [None]] * 20, dtype=object),
            np.array([["a"], ["b"], [np.nan]] * 20, dtype=object),
            np.array([[1.0], [2.0], [np.nan]] * 20),
            pd.DataFrame({"kind": pd.Categorical(["a", "b", None] * 20)}),
        ],
        ids=["none", "nan among text", "nan among numbers", "frame"],
    )
    def test_gaps_round_trip(self, rows):
        y = np.random.default_rng(0).normal(size=60)
        model = QMRegressor(
            feature_map=OneHotFeatures(), n_levels=4, beta=3.0, random_state=0
        ).fit(rows, y)
        again = through_a_file(model)
        assert_same_answers(again, model, rows[:6])
        more = rows[:30], y.mean() + 0.1 * y[:30]
        assert_same_answers(
            again.partial_fit(*more), model.partial_fit(*more), rows[:6]
        )


class TestBareStates:
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_sums(self, dtype):
        rng = np.random.default_rng(0)
        rho = np.stack([random_density(rng, 5, dtype) for _ in range(3)])
        state = DensityMatrix((rho + rho.conj().mT) / 2, np.array([1.0, 0.0, 7.5]))
        assert_same_state(through_a_file(state), state)

    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_means(self, dtype):
        rng = np.random.default_rng(0)
        state = FeatureMean(random_array(rng, (2, 5), dtype), np.array([1.0, 3.0]))
        assert_same_state(through_a_file(state), state)

    @pytest.mark.parametrize("shape", [(7,), (5, 3), (3, 5, 4)])
    def test_series(self, shape):
        total = random_array(np.random.default_rng(0), (2, *shape), "complex128")
        state = ToeplitzDensityMatrix(total / 4, np.array([1.0, 3.0]))
        assert_same_state(through_a_file(state), state)

    @pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
    @pytest.mark.parametrize("rank", [1, 3, 5, 8])
    def test_factors_up_to_a_rotation(self, dtype, rank):
        rng = np.random.default_rng(0)
        factor = random_array(rng, (2, rank, 5), dtype)
        state = LowRankDensityMatrix(factor, np.array([1.0, 3.0]))
        again = through_a_file(state)
        assert again.factor.dtype == factor.dtype
        assert again.rank <= min(rank, 5)
        tol = 1e-5 if np.finfo(dtype).bits == 32 else 1e-12
        assert_allclose(again.normalized(), state.normalized(), rtol=tol, atol=tol)
        assert_array_equal(again.weight, state.weight)

    @pytest.mark.parametrize("state", ["exact", "factor"])
    def test_are_saved_as_they_are(self, state):
        rho = DensityMatrix.from_states(plane())
        assert_same_state(through_a_file(rho, state), rho)

    def test_of_a_model(self):
        model = CASES["classes-text"].model
        assert_same_state(through_a_file(model.state_), model.state_)

    @pytest.mark.parametrize("dtype", ["float32", "complex64", "int64"])
    def test_what_is_written_can_be_read(self, dtype):
        """Sums are double; others are refused when saved, or read as they are."""
        state = DensityMatrix(np.eye(3, dtype=dtype)[None], np.ones(1))
        try:
            data = rhokit.dumps(state)
        except TypeError:
            return
        assert_array_equal(rhokit.loads(data).total, state.total)


class TestSize:
    """A file's size does not depend on how many rows the model has seen.

    From 2,000 rows on, of which it keeps a sample.
    """

    @pytest.mark.parametrize("kind", [DMKDE, MeanEmbeddingKDE])
    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks"])
    def test_of_densities(self, kind, feature_map):
        model = kind(**SMALL, feature_map=feature_map).prepare(plane(n=400))
        few, many = (
            rhokit.dumps(model.blank().partial_fit(plane(n=n))) for n in (4000, 20_000)
        )
        assert len(few) == len(many)

    @pytest.mark.parametrize("state", ["exact", "factor"])
    def test_of_models_that_keep_a_sample(self, state):
        """The sample has at most 2,000 rows, and stays so."""
        rows = plane(n=12_000)
        settings = SMALL | {"feature_map": "landmarks"}
        for model, y in (
            (DMKDClassifier(**settings, reject=0.1), rows[:, 0] > 1),
            (QMRegressor(**settings, n_levels=4, beta=3.0), np.tanh(rows[:, 1])),
        ):
            model.prepare(rows[:9000], y[:9000], targets=y)
            few, many = (
                model.blank().partial_fit(rows[:n], y[:n]) for n in (4000, 12_000)
            )
            assert len(few.sample_.keys) == 2000
            sizes = [len(rhokit.dumps(each, state=state)) for each in (few, many)]
            assert sizes[0] == sizes[1]

    def test_a_state_takes_half_of_its_matrix(self):
        model = DMKDE(**(SMALL | {"n_components": 200}), feature_map="fourier")
        data = rhokit.dumps(model.fit(plane()))
        assert len(data) < 0.6 * model.state_.total.nbytes


class TestTrainedModels:
    def test_what_training_said_is_kept(self):
        model = CASES["trained-values"].model
        again = through_a_file(model)
        assert again.n_epochs_ == model.n_epochs_
        assert again.improved_ is model.improved_
        assert again.history_.keys() == model.history_.keys()
        for name, numbers in model.history_.items():
            assert_array_equal(again.history_[name], numbers)

    @pytest.mark.parametrize("name", ["trained-density", "trained-classes"])
    def test_training_goes_on(self, name):
        case = CASES[name]
        again = through_a_file(case.model).set_params(warm_start=True, max_epochs=1)
        again.fit(*case.data.half(0))
        assert again.n_epochs_ == 1
        answers(again, case.queries)

    @pytest.mark.parametrize("name", TRAINED)
    def test_modules_are_made_anew(self, name):
        again = through_a_file(CASES[name].model)
        assert not hasattr(again, "module_")
        assert again.to_module() is not None

    def test_one_pass_models_come_out(self):
        case = CASES["trained-density"]
        again, model = through_a_file(case.model), case.model
        pair = [each.to_estimator() for each in (again, model)]
        pair = [each.partial_fit(*case.data.half(1)) for each in pair]
        assert_close_answers(*pair, case.queries)

    def test_a_start_from_sums_goes_on_from_sums(self):
        case = CASES["trained-density-start"]
        again = through_a_file(case.model)
        assert_same_state(again.estimator_.state_, case.model.estimator_.state_)

    def test_devices_are_kept_as_text(self):
        again = through_a_file(rhokit.DMKDESGD(device=torch.device("cpu")))
        assert torch.device(again.device) == torch.device("cpu")


class Own(DMKDE):
    """A subclass may do anything."""


SameName = type("DMKDE", (DMKDE,), {})


class OwnMap(LandmarkFeatures):
    """So may a map."""


class OwnReadOut(DensityReadOut):
    """And a read-out."""


DATES = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")


class TestWhatCannotBeSaved:
    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (Own(**SMALL).fit(plane()), "Own cannot be saved"),
            (Own(), "Own cannot be saved"),
            (SameName(), "DMKDE cannot be saved"),
            (OwnMap().fit(plane()), "OwnMap cannot be saved"),
            (
                DMKDE(feature_map=OwnMap(n_components=9), gamma=1.0, scale=None),
                "OwnMap cannot",
            ),
            (PCA(), "PCA cannot be saved"),
            (SimpleNamespace(), "SimpleNamespace cannot be saved"),
            (None, "NoneType cannot be saved"),
            (DMKDE, "cannot be saved"),
            (DMKDE(gamma=lambda rows: 1.0, scale=None), "gamma is a function"),
            (DMKDClassifier(priors={"a": 1}), "priors is a dict"),
            (DMKDE(scale=["a", "b"]), "scale is a list"),
            (DMKDE(scale=[[1], [2, 3]]), "scale is a list"),
            (QMRegressor(bounds=DATES), "bounds is a ndarray"),
            (OneHotFeatures().fit(DATES[:, None]), "categories"),
        ],
        ids=lambda value: value if isinstance(value, str) else type(value).__name__,
    )
    def test_is_a_type_error(self, model, message):
        with pytest.raises(TypeError, match=message):
            rhokit.dumps(model)

    def test_a_fitted_map_of_the_user(self):
        model = DMKDE(feature_map=OwnMap(n_components=9), gamma=1.0, scale=None).fit(
            plane()
        )
        with pytest.raises(TypeError, match="OwnMap cannot be saved"):
            rhokit.dumps(model)

    def test_labels_that_are_dates(self):
        # scikit-learn's own checks refuse dates as labels of a fit.
        dates = np.append(DATES, np.datetime64("2022-01-01", "D"))
        known = CASES["classes-text"].model
        readout = replace(known.model_.readout, classes=dates)
        model = known.with_model(replace(known.model_, readout=readout))
        with pytest.raises(TypeError, match=r"datetime64.* text, numbers .*or truth"):
            rhokit.dumps(model)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"readout": OwnReadOut()}, "OwnReadOut cannot be saved as model.readout"),
            ({"sample": SimpleNamespace()}, "SimpleNamespace cannot be saved as"),
            ({"state": FeatureMean(np.ones((1, 12)), np.ones(1))}, "FeatureMean"),
        ],
        ids=["readout", "sample", "state"],
    )
    def test_parts_that_no_file_knows(self, change, message):
        known = CASES["density-rank"].model
        model = known.with_model(replace(known.model_, **change))
        with pytest.raises(TypeError, match=message):
            rhokit.dumps(model)

    def test_tensors_that_are_no_numbers(self):
        with pytest.raises(TypeError, match="names of dtype <U1 cannot be saved"):
            ArrayField(("d",)).write(np.array(["a"]), "names", Writer())

    def test_categories_that_are_dates(self):
        columns = CASES["density-mixed"].model.plan_.columns
        schema = replace(columns.schema, categories=((DATES[0],), *[None] * 5))
        model = CASES["density-mixed"].model
        plan = replace(model.plan_, columns=replace(columns, schema=schema))
        with pytest.raises(TypeError, match="categories that are not text"):
            rhokit.dumps(model.with_model(replace(model.model_, plan=plan)))

    def test_sampled_rows_that_are_dates(self):
        known = CASES["classes-reject-words"].model
        rows = np.full(known.sample_.rows.shape, DATES[0], dtype=object)
        sample = replace(known.sample_, rows=rows)
        model = known.with_model(replace(known.model_, sample=sample))
        with pytest.raises(TypeError, match="rows holds values of a kind"):
            rhokit.dumps(model)

    def test_leaves_no_file(self, tmp_path):
        with pytest.raises(TypeError):
            rhokit.save(Own(), tmp_path / "model.rhokit")
        assert not list(tmp_path.iterdir())


class TestParameters:
    @pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
    def test_arrays_keep_their_dtype(self, dtype):
        again = through_a_file(DMKDE(scale=np.array([1, 2], dtype=dtype)))
        assert again.scale.dtype == dtype
        assert again.scale.tolist() == [1, 2]

    def test_output_maps_may_be_as_large_as_said(self):
        output = SoftmaxFeatures(n_components=2**16)
        again = through_a_file(QMClassifier(output_map=output))
        assert again.output_map.n_components == 2**16


class TestRandomGenerators:
    @pytest.mark.parametrize(
        "source", [np.random.default_rng(3), np.random.RandomState(3)]
    )
    def test_become_none(self, source):
        model = DMKDE(**(SMALL | {"random_state": source}), feature_map="fourier")
        model.fit(plane())
        again = through_a_file(model)
        assert again.random_state is None
        assert_same_answers(again, model, plane()[:9])

    def test_of_a_map_become_none(self):
        source = np.random.default_rng(3)
        model = DMKDE(
            feature_map=FourierFeatures(random_state=source), gamma=1.0, scale=None
        )
        assert through_a_file(model).feature_map.random_state is None

    def test_numbers_stay(self):
        model = DMKDE(random_state=np.int64(5), gamma=np.float32(0.5), scale=None)
        again = through_a_file(model)
        assert again.random_state == 5
        assert again.gamma == 0.5


class TestFiles:
    @pytest.mark.parametrize("kind", [str, Path])
    @pytest.mark.parametrize("state", ["exact", "factor"])
    def test_hold_what_dumps_gives(self, tmp_path, kind, state):
        case = CASES["classes-reject"]
        path = kind(tmp_path / "model.rhokit")
        rhokit.save(case.model, path, state=state)
        data = rhokit.dumps(case.model, state=state)
        assert_same_content(Path(path).read_bytes(), data)
        assert_close_answers(rhokit.load(path), case.model, case.queries)

    def test_are_safetensors_that_others_can_read(self, tmp_path):
        rhokit.save(CASES["density-landmarks-double"].model, tmp_path / "model")
        tensors = load_file(tmp_path / "model")
        landmarks = CASES["density-landmarks-double"].model.feature_map_.landmarks_
        assert_array_equal(tensors["model.plan.feature_map.landmarks"], landmarks)

    def test_say_who_wrote_them(self):
        tree, _ = unpack(rhokit.dumps(CASES["density-rank"].model))
        assert tree["protocol"] == rhokit.io.PROTOCOL
        assert type(tree["protocol"]) is int
        assert tree["rhokit"] == rhokit.__version__
        assert tree["numpy"] == np.__version__
        assert tree["estimator"]["class"] == "DMKDE"
        plan = tree["estimator"]["model"]["plan"]
        assert plan["feature_map"]["name"] == "landmarks"
        assert plan["representation"] == "matrix"


LOADS_WITHOUT_TORCH = (
    WITHOUT_TORCH
    + """
import glob, rhokit

names = sorted(glob.glob(sys.argv[1] + "/*"))
assert len(names) > 4
for name in names:
    rhokit.load(name)
assert "torch" not in sys.modules
"""
)
TRAINED_WITHOUT_TORCH = (
    WITHOUT_TORCH
    + """
import rhokit

try:
    rhokit.load(sys.argv[1])
except ImportError as error:
    assert "rhokit[torch]" in str(error), error
else:
    raise AssertionError("loaded a trained model without torch")
"""
)


def run(code, *arguments):
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )


class TestAnotherProcess:
    def test_one_pass_models_need_no_torch(self, tmp_path):
        for name in (
            "density-complex-double",
            "density-words",
            "mean-frame",
            "classes-reject",
            "joint-map",
            "ordinal-text",
            "values-two",
        ):
            rhokit.save(CASES[name].model, tmp_path / name)
            rhokit.save(CASES[name].model, tmp_path / f"{name}-f", state="factor")
        done = run(LOADS_WITHOUT_TORCH, tmp_path)
        assert done.returncode == 0, done.stderr

    def test_trained_models_say_that_they_need_it(self, tmp_path):
        rhokit.save(CASES["trained-density"].model, tmp_path / "model")
        done = run(TRAINED_WITHOUT_TORCH, tmp_path / "model")
        assert done.returncode == 0, done.stderr

    def test_answers_do_not_change_on_the_way(self, tmp_path):
        names = ["density-structured-double", "classes-text", "values-two"]
        for name in names:
            rhokit.save(CASES[name].model, tmp_path / name)
            np.save(tmp_path / f"{name}.npy", CASES[name].queries)
        code = (
            "import sys, numpy, rhokit\n"
            "for name in sys.argv[2:]:\n"
            "    model = rhokit.load(f'{sys.argv[1]}/{name}')\n"
            "    rows = numpy.load(f'{sys.argv[1]}/{name}.npy')\n"
            "    said = model.predict(rows) if hasattr(model, 'predict') "
            "else model.score_samples(rows)\n"
            "    numpy.save(f'{sys.argv[1]}/{name}.said.npy', said)\n"
        )
        done = run(code, tmp_path, *names)
        assert done.returncode == 0, done.stderr
        for name in names:
            model = CASES[name].model
            ask = getattr(model, "predict", None) or model.score_samples
            said = np.load(tmp_path / f"{name}.said.npy")
            assert_array_equal(said, ask(CASES[name].queries))


def test_words_have_gaps():
    """The instances do hold what they are meant to test."""
    assert any(value is None for value in words().ravel())
