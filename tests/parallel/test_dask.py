"""Dask collections on this machine: fitted and predicted as if they were arrays."""

import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from threadpoolctl import ThreadpoolController, threadpool_info

import rhokit.fast.blocks
from rhokit import (
    DMKDE,
    DMKDClassifier,
    DMKDClassifierSGD,
    MeanEmbeddingKDE,
    OneHotFeatures,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
    QMRegressorSGD,
)
from rhokit.errors import DataError
from rhokit.fast import blas_threads
from rhokit.models import Model
from rhokit.parallel.dask import (
    fit,
    predict,
    predict_log_proba,
    predict_proba,
    score_samples,
)
from rhokit.plans import Plan
from tests.one_pass import assert_learned_all

SMALL = {"gamma": 0.7, "scale": None, "n_components": 12, "random_state": 0}
MODELS = {
    "density": DMKDE(**SMALL),
    "mean": MeanEmbeddingKDE(**SMALL),
    "classifier": DMKDClassifier(reject=0.1, **SMALL),
    "joint": QMClassifier(**SMALL),
    "ordinal": QMOrdinalClassifier(**SMALL),
    "regressor": QMRegressor(n_levels=5, **SMALL),
}
N = 240
COLUMNS = ["a", "b", "c"]
ROWS = np.random.default_rng(1).normal(size=(N, 3))
LABELS = np.array(["low", "mid", "top"])[np.digitize(ROWS[:, 0], [-0.5, 0.5])]
VALUES = ROWS[:, 0] + ROWS[:, 1] ** 2
WEIGHTS = np.random.default_rng(2).integers(0, 4, N).astype(float)
FRAME = pd.DataFrame(ROWS, columns=COLUMNS).assign(
    label=LABELS, value=VALUES, other=-2 * VALUES + 1, weight=WEIGHTS
)
# Unequal chunks, one of them of a single row.
CHUNKS = (100, 1, 79, 60)
TARGET = {"classifier": "label", "joint": "label", "ordinal": "label"}
TARGET |= {"regressor": "value"}


@pytest.fixture(autouse=True)
def some_threads():
    """As many threads on every machine."""
    with dask.config.set(scheduler="threads", num_workers=3):
        yield


@pytest.fixture(params=["threads", "sync"])
def scheduler(request):
    """Dask's threads, or none."""
    with dask.config.set(scheduler=request.param):
        yield request.param


def model_of(name, **changes):
    return clone(MODELS[name]).set_params(**changes)


def array(values, chunks=CHUNKS):
    """A Dask array, in chunks of whole rows."""
    values = np.asarray(values)
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def frame(*columns, npartitions=4):
    """Columns as a Dask dataframe."""
    return dd.from_pandas(FRAME[list(columns)], npartitions=npartitions)


def target_of(name):
    """The name of the target's column, and its values; None where there is none."""
    column = TARGET.get(name)
    return column, None if column is None else FRAME[column].to_numpy()


def assert_learned(model, X, *rest):
    """The model is what one machine makes of all rows, by the same plan."""
    assert_learned_all(model, model.blank().partial_fit(X, *rest))


class Spy:
    """Rows that know how often anybody has asked for a part of them."""

    def __init__(self):
        self._parts = []  # list.append is atomic

    @property
    def asked(self):
        return len(self._parts)

    def _look(self, part):
        self._parts.append(len(part))
        return part

    def array(self, values, chunks=CHUNKS):
        meta = np.empty((0, 0), values.dtype)
        return array(values, chunks).map_blocks(self._look, meta=meta)

    def frame(self, values):
        whole = dd.from_pandas(values, npartitions=4)
        return whole.map_partitions(self._look, meta=values.iloc[:0])


# ---- fitting -----------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
class TestEveryModel:
    def test_learns_arrays(self, name):
        _, y = target_of(name)
        rest = () if y is None else (y,)
        model = model_of(name)
        assert fit(model, array(ROWS), *map(array, rest)) is model
        assert_learned(model, ROWS, *rest)
        assert not hasattr(model, "feature_names_in_")

    def test_learns_frames(self, name):
        column, y = target_of(name)
        rest = () if y is None else (y,)
        data = frame(*COLUMNS, *([column] if column else []))
        model = fit(model_of(name), data, y=column)
        assert_array_equal(model.feature_names_in_, COLUMNS)
        assert model.n_features_in_ == 3
        assert_learned(model, FRAME[COLUMNS], *rest)

    def test_learns_weights(self, name):
        _, y = target_of(name)
        model = fit(
            model_of(name),
            array(ROWS),
            None if y is None else array(y),
            sample_weight=array(WEIGHTS),
        )
        rest = () if y is None else (y,)
        alone = model.blank().partial_fit(ROWS, *rest, sample_weight=WEIGHTS)
        assert_learned_all(model, alone)
        if name != "regressor":
            assert_array_equal(model.state_.weight.sum(), WEIGHTS.sum())

    def test_learns_in_small_batches(self, name):
        _, y = target_of(name)
        rest = () if y is None else (y,)
        model = fit(model_of(name), array(ROWS), *map(array, rest), batch_rows=7)
        assert_learned(model, ROWS, *rest)

    def test_keeps_a_plan(self, name):
        _, y = target_of(name)
        rest = () if y is None else (y,)
        plan = model_of(name).prepare(ROWS[:100], *(part[:100] for part in rest))
        if name == "regressor":  # its levels hold what the sample held
            plan = model_of(name, bounds=(-99, 99)).prepare(ROWS[:100], y[:100])
        model = fit(plan.blank(), array(ROWS), *map(array, rest))
        assert model.fingerprint() == plan.fingerprint()
        assert_learned_all(model, plan.blank().partial_fit(ROWS, *rest))


@pytest.mark.usefixtures("scheduler")
class TestRowsAreCounted:
    def test_exactly(self):
        model = fit(DMKDE(**SMALL), array(ROWS))
        assert_array_equal(model.state_.weight, [N])

    def test_by_class(self):
        model = fit(DMKDClassifier(**SMALL), array(ROWS), array(LABELS))
        classes, counts = np.unique(LABELS, return_counts=True)
        assert_array_equal(model.classes_, classes)
        assert_array_equal(model.class_count_, counts)

    @pytest.mark.parametrize("count", [1, 2, 8, 9, 70])
    def test_in_any_number_of_partitions(self, count):
        plan = DMKDE(**SMALL).prepare(ROWS)
        model = fit(plan.blank(), frame(*COLUMNS, npartitions=count))
        assert_learned_all(model, plan.blank().partial_fit(ROWS))
        assert_array_equal(model.state_.weight, [N])


def given_as(kind, column):
    """A target or weights for an array, in many guises."""
    values = FRAME[column].to_numpy()
    return {
        "dask array": lambda: array(values),
        "other chunks": lambda: array(values, (30, 150, 60)),
        "one chunk": lambda: array(values, (N,)),
        "numpy": lambda: values,
        "pandas": lambda: FRAME[column],
    }[kind]()


class TestTargetsAndWeights:
    @pytest.mark.parametrize(
        "kind", ["dask array", "other chunks", "one chunk", "numpy", "pandas"]
    )
    def test_of_arrays(self, kind):
        y, weight = given_as(kind, "label"), given_as(kind, "weight")
        model = fit(DMKDClassifier(**SMALL), array(ROWS), y, weight)
        alone = model.blank().partial_fit(ROWS, LABELS, sample_weight=WEIGHTS)
        assert_learned_all(model, alone)

    @pytest.mark.parametrize("named", [True, False])
    def test_of_frames(self, named):
        data = frame(*COLUMNS, "label", "weight")
        if named:
            model = fit(DMKDClassifier(**SMALL), data, "label", "weight")
        else:
            parts = data[COLUMNS], data["label"], data["weight"]
            model = fit(DMKDClassifier(**SMALL), *parts)
        assert_array_equal(model.feature_names_in_, COLUMNS)
        rest = {"sample_weight": WEIGHTS}
        assert_learned_all(
            model, model.blank().partial_fit(FRAME[COLUMNS], LABELS, **rest)
        )

    def test_one_a_name_and_one_a_series(self):
        data = frame(*COLUMNS, "label", "weight")
        series = data["weight"]
        model = fit(
            DMKDClassifier(**SMALL), data.drop(columns="weight"), "label", series
        )
        assert_array_equal(model.feature_names_in_, COLUMNS)
        assert_array_equal(model.class_count_.sum(), WEIGHTS.sum())

    @pytest.mark.parametrize("labels", [LABELS, np.arange(N) % 3], ids=["text", "int"])
    def test_a_series_beside_an_array(self, labels):
        data = dd.from_pandas(FRAME[COLUMNS].assign(y=labels), npartitions=4)
        X = data[COLUMNS].to_dask_array(lengths=True)
        assert_learned(fit(DMKDClassifier(**SMALL), X, data["y"]), ROWS, labels)

    def test_several_targets_of_arrays(self):
        y = np.column_stack([VALUES, FRAME["other"]])
        # Also where the targets stand in chunks of their own.
        lazy = da.from_array(y, chunks=((50, 190), (1, 1)))
        model = fit(QMRegressor(n_levels=5, **SMALL), array(ROWS), lazy)
        assert model.levels_.shape == (5, 2)
        assert_learned(model, ROWS, y)

    @pytest.mark.parametrize("kind", [list, tuple])
    def test_several_targets_of_frames(self, kind):
        names = kind(["value", "other"])
        data = frame(*COLUMNS, "value", "other")
        model = fit(QMRegressor(n_levels=5, **SMALL), data, names)
        assert_array_equal(model.feature_names_in_, COLUMNS)
        assert_learned(model, FRAME[COLUMNS], FRAME[["value", "other"]])

    def test_a_frame_of_targets(self):
        data = frame(*COLUMNS, "value", "other")
        model = QMRegressor(n_levels=5, **SMALL)
        fit(model, data[COLUMNS], data[["value", "other"]])
        assert_learned(model, FRAME[COLUMNS], FRAME[["value", "other"]])

    def test_weights_of_a_density(self):
        model = fit(DMKDE(**SMALL), frame(*COLUMNS, "weight"), sample_weight="weight")
        assert_array_equal(model.state_.weight, [WEIGHTS.sum()])
        assert_array_equal(model.feature_names_in_, COLUMNS)

    def test_a_partition_without_weight_adds_nothing(self):
        weight = np.where(np.arange(N) < 100, 0.0, 1.0)  # the first chunk has none
        plan = DMKDE(**SMALL).prepare(ROWS)
        model = fit(plan.blank(), array(ROWS), sample_weight=array(weight))
        assert_learned_all(model, plan.blank().partial_fit(ROWS[100:]))

    def test_no_weight_at_all_is_refused(self):
        with pytest.raises(ValueError, match="no rows of a weight above zero"):
            fit(DMKDE(**SMALL), array(ROWS), sample_weight=array(np.zeros(N)))

    def test_labels_may_be_categories(self):
        data = FRAME[[*COLUMNS, "label"]].astype({"label": "category"})
        model = fit(
            DMKDClassifier(**SMALL), dd.from_pandas(data, npartitions=3), "label"
        )
        assert_learned(model, FRAME[COLUMNS], LABELS)

    @pytest.mark.parametrize("labels", [LABELS == "low", np.arange(N) % 3])
    def test_labels_keep_their_type(self, labels):
        data = dd.from_pandas(FRAME[COLUMNS].assign(y=labels), npartitions=3)
        model = fit(DMKDClassifier(**SMALL), data, "y")
        assert model.classes_.dtype == labels.dtype
        assert_learned(model, FRAME[COLUMNS], labels)


class TestChunks:
    def test_columns_in_chunks_of_their_own(self):
        X = da.from_array(ROWS, chunks=(100, 2))
        assert X.numblocks == (3, 2)
        assert_learned(fit(DMKDE(**SMALL), X), ROWS)

    def test_of_unknown_size(self):
        X = frame(*COLUMNS).to_dask_array()
        assert np.isnan(X.shape[0])
        assert_learned(fit(DMKDE(**SMALL), X), ROWS)

    def test_of_unknown_size_with_targets(self):
        data = frame(*COLUMNS, "value", "other")
        X = data[COLUMNS].to_dask_array()
        y = data[["value", "other"]].to_dask_array()
        model = fit(QMRegressor(n_levels=5, **SMALL), X, y)
        assert_learned(model, ROWS, FRAME[["value", "other"]].to_numpy())

    def test_of_unknown_size_in_columns(self):
        columns = frame(*COLUMNS)
        X = da.concatenate(
            [columns[["a"]].to_dask_array(), columns[["b", "c"]].to_dask_array()],
            axis=1,
            allow_unknown_chunksizes=True,
        )
        assert X.numblocks[1] == 2
        assert_learned(fit(DMKDE(**SMALL), X), ROWS)

    @pytest.mark.parametrize("name", ["density", "classifier", "regressor"])
    def test_some_of_them_empty(self, name):
        column, y = target_of(name)
        rest = () if y is None else (y[ROWS[:, 0] > 0],)
        # Sorted by what is asked for: the first partitions have no such rows.
        data = FRAME.sort_values("a")
        data = dd.from_pandas(data, npartitions=6, sort=False)
        data = data[[*COLUMNS, *([column] if column else [])]]
        kept = data[data["a"] > 0]
        sizes = kept.map_partitions(len).compute()
        assert (sizes == 0).sum() >= 2
        model = fit(model_of(name), kept, y=column)
        assert_learned(model, FRAME[COLUMNS][FRAME["a"] > 0], *rest)

    def test_empty_ones_of_arrays(self):
        X, y = array(ROWS, (0, 100, 0, 140, 0)), array(LABELS, (0, 100, 0, 140, 0))
        assert_learned(fit(DMKDClassifier(**SMALL), X, y), ROWS, LABELS)

    def test_only_one(self):
        model = fit(DMKDClassifier(**SMALL), array(ROWS, (N,)), array(LABELS, (N,)))
        assert_learned(model, ROWS, LABELS)

    def test_single_precision_stays(self):
        model = fit(DMKDE(**SMALL), array(ROWS.astype(np.float32)))
        assert model.feature_map_.dtype_ == np.float32
        assert_array_equal(model.state_.weight, [N])

    def test_categories_instead_of_numbers(self):
        words = np.column_stack([LABELS, np.roll(LABELS, 1)]).astype(object)
        model = DMKDE(feature_map=OneHotFeatures(), n_components=9, random_state=0)
        words_frame = pd.DataFrame(words, columns=["this", "last"])
        fit(model, dd.from_pandas(words_frame, npartitions=3))
        assert_learned(model, words_frame)


class TestOrder:
    """The same bits, whatever the scheduler and whoever is ready first."""

    @staticmethod
    def bits(X, y):
        model = fit(DMKDClassifier(**SMALL), X, y)
        return model.state_.total

    def test_does_not_depend_on_the_scheduler(self):
        X, y = array(ROWS, (12,) * 20), array(LABELS, (12,) * 20)
        with dask.config.set(scheduler="sync"):
            expected = self.bits(X, y)
        for workers in (1, 2, 5):
            with dask.config.set(scheduler="threads", num_workers=workers):
                assert_array_equal(self.bits(X, y), expected)

    def test_does_not_depend_on_who_is_first(self):
        X, y = array(ROWS, (12,) * 20), array(LABELS, (12,) * 20)
        expected = self.bits(X, y)
        finished = []

        def late(block, rng):
            time.sleep(rng.uniform(0, 0.02))
            finished.append(float(block[0, 0]) if len(block) else None)
            return block

        with dask.config.set(num_workers=6):
            for seed in range(3):
                rng = np.random.default_rng(seed)
                slow = X.map_blocks(late, rng, dtype=float, meta=np.empty((0, 0)))
                assert_array_equal(self.bits(slow, y), expected)
        # They did come in different orders: the second half of each run is the fit.
        runs = np.reshape(finished, (3, -1))
        assert len({tuple(run[-20:]) for run in runs}) > 1

    def test_twice_is_the_same(self):
        X, y = array(ROWS), array(LABELS)
        assert_array_equal(self.bits(X, y), self.bits(X, y))


class TestWhatIsThereAlready:
    def test_a_plan_with_names_wants_them(self):
        plan = DMKDE(**SMALL).prepare(FRAME[COLUMNS])
        with pytest.raises(ValueError, match=r"prepared for the columns \['a', 'b'"):
            fit(plan, frame("b", "a", "c"))

    def test_a_plan_with_names_keeps_them(self):
        plan = DMKDE(**SMALL).prepare(FRAME[COLUMNS])
        model = fit(plan.blank(), frame(*COLUMNS))
        assert_array_equal(model.feature_names_in_, COLUMNS)
        assert_learned_all(model, plan.blank().partial_fit(FRAME[COLUMNS]))

    @pytest.mark.parametrize("columns", [2, 4])
    def test_a_plan_for_other_columns_is_refused(self, columns):
        plan = DMKDE(**SMALL).prepare(ROWS)
        with pytest.raises(ValueError, match=r"features|columns"):
            fit(plan, array(np.ones((N, columns))))

    def test_a_fitted_model_is_fitted_anew(self):
        model = DMKDE(**SMALL).fit(100 * ROWS[:50, :2])
        fit(model, array(ROWS))
        fresh = fit(DMKDE(**SMALL), array(ROWS))
        assert_learned_all(model, fresh)
        assert_array_equal(model.state_.weight, [N])

    def test_a_fitted_model_forgets_names(self):
        model = DMKDE(**SMALL).fit(FRAME[COLUMNS])
        assert not hasattr(fit(model, array(ROWS)), "feature_names_in_")

    def test_parameters_stay_the_users_own(self):
        rng = np.random.default_rng(0)
        scale = [1.0, 2.0, 3.0]
        model = DMKDE(gamma=0.7, n_components=12, scale=scale, random_state=rng)
        fit(model, array(ROWS))
        assert model.random_state is rng
        assert model.scale is scale


class TestSample:
    def test_labels_that_it_lacks_are_known(self):
        labels = np.where(np.arange(N) == 130, "rare", LABELS)
        for X, y in [
            (array(ROWS), array(labels)),
            (dd.from_pandas(FRAME[COLUMNS].assign(y=labels), npartitions=4), "y"),
        ]:
            model = fit(DMKDClassifier(**SMALL), X, y, sample_rows=20)
            assert model.classes_.tolist() == ["low", "mid", "rare", "top"]
            assert model.class_count_[2] == 1

    def test_values_that_it_lacks_have_levels(self):
        values = VALUES.copy()
        values[[17, 201]] = 1e3, -1e3
        for X, y in [
            (array(ROWS), array(values)),
            (dd.from_pandas(FRAME[COLUMNS].assign(y=values), npartitions=4), "y"),
        ]:
            model = fit(QMRegressor(n_levels=5, **SMALL), X, y, sample_rows=20)
            assert_allclose(model.levels_, np.linspace(-1e3, 1e3, 5))
            assert_allclose(model.state_.weight.sum(), N)

    def test_a_label_that_weighs_nothing_has_a_place(self):
        weight = (LABELS != "top").astype(float)
        model = fit(DMKDClassifier(**SMALL), array(ROWS), array(LABELS), array(weight))
        assert_array_equal(model.class_count_[2], 0)

    @pytest.mark.parametrize("sizes", [(100, 4000, 900), (4000, 900, 100)])
    def test_takes_of_each_partition_what_it_has(self, sizes):
        # Sorted, so that each partition has values of its own. The mean and spread
        # that scale the columns tell what the sample was made of.
        values = np.sort(np.random.default_rng(0).exponential(size=5000))
        X = array(values[:, None], sizes)
        options = {"n_components": 12, "random_state": 0, "scale": "std"}
        model = fit(DMKDE(gamma=1.0, **options), X, sample_rows=1000)
        assert_allclose(1 / model.scaling_.matrix, values.std(), rtol=0.2)
        assert_allclose(model.scaling_.centre, values.mean(), rtol=0.1)

    def test_is_spread_over_many_partitions(self):
        values = np.sort(np.random.default_rng(0).exponential(size=3000))
        X = array(values[:, None], (10,) * 300)
        options = {"n_components": 12, "random_state": 0, "scale": "std"}
        model = fit(DMKDE(gamma=1.0, **options), X)
        assert_allclose(model.scaling_.centre, values.mean(), rtol=0.1)
        assert_array_equal(model.state_.weight, [3000])

    def test_reads_no_more_than_64_partitions(self):
        spy, values = Spy(), np.random.default_rng(0).normal(size=(1000, 2))
        fit(DMKDE(**SMALL), spy.array(values, (10,) * 100))
        assert spy.asked == 64 + 100  # and each of them once for the fit

    def test_follows_the_random_state(self):
        options = SMALL | {"feature_map": "landmarks"}
        models = [
            fit(
                DMKDE(**(options | {"random_state": seed})), array(ROWS), sample_rows=60
            )
            for seed in (0, 0, 1)
        ]
        prints = [model.fingerprint() for model in models]
        assert prints[0] == prints[1] != prints[2]


class TestMemory:
    def test_too_little_is_refused_before_anything_is_computed(self):
        for make, values in [("array", ROWS), ("frame", FRAME[COLUMNS])]:
            spy = Spy()
            with pytest.raises(MemoryError, match=r"less than the .* that DMKDE needs"):
                fit(DMKDE(), getattr(spy, make)(values), memory_limit="2 MB")
            assert spy.asked == 0

    def test_enough_is_enough(self):
        model = fit(DMKDE(**SMALL), array(ROWS), memory_limit="1 GB")
        assert_learned(model, ROWS)

    def test_less_means_smaller_batches(self, monkeypatch):
        seen = []
        original = Model.add

        def add(self, batch):
            seen.append(len(batch))
            return original(self, batch)

        monkeypatch.setattr(Model, "add", add)
        rows = np.random.default_rng(0).normal(size=(50_000, 30))
        plan = DMKDE(**SMALL).prepare(rows[:500])
        X = array(rows, (50_000,))
        fit(plan.blank(), X)
        assert seen == [50_000]
        seen.clear()
        limit = plan.memory_estimate(batch_rows=20_000).total
        assert plan.memory_estimate(batch_rows=50_000).total > limit
        model = fit(plan.blank(), X, memory_limit=limit)
        assert plan.memory_estimate(batch_rows=max(seen)).total <= limit
        assert sum(seen) == 50_000
        assert_learned_all(model, plan.blank().partial_fit(rows))

    def test_nonsense_is_refused(self):
        with pytest.raises(ValueError, match="memory_limit must be"):
            fit(DMKDE(**SMALL), array(ROWS), memory_limit="much")


class TestRefusals:
    """Errors say what is wrong, and leave the estimator as it was."""

    @pytest.mark.parametrize(
        "X", [ROWS, FRAME[COLUMNS], ROWS.tolist()], ids=["numpy", "pandas", "list"]
    )
    def test_what_is_no_dask_collection(self, X):
        with pytest.raises(TypeError, match="X must be a Dask array or dataframe"):
            fit(DMKDE(**SMALL), X)
        with pytest.raises(TypeError, match="X must be a Dask array or dataframe"):
            score_samples(DMKDE(**SMALL).fit(ROWS), X)

    def test_a_series_for_rows(self):
        with pytest.raises(
            (TypeError, ValueError), match=r"X must (be a Dask array or|have two)"
        ):
            fit(DMKDE(**SMALL), frame("a")["a"])

    def test_one_dimension(self):
        with pytest.raises(ValueError, match="two dimensions, got 1"):
            fit(DMKDE(**SMALL), array(VALUES))

    @pytest.mark.parametrize(
        "rest",
        [{"y": "nope"}, {"y": ["value", "nope"]}, {"sample_weight": "nope"}],
        ids=str,
    )
    def test_columns_that_are_not_there(self, rest):
        spy = Spy()
        with pytest.raises(ValueError, match=r"X has no columns \['nope'\], it has"):
            fit(QMRegressor(**SMALL), spy.frame(FRAME), **rest)
        assert spy.asked == 0

    @pytest.mark.parametrize("column", ["label", "when"])
    def test_columns_that_are_no_numbers(self, column):
        when = pd.date_range("2020-01-01", periods=N)
        spy = Spy()
        data = spy.frame(FRAME.assign(when=when)[["a", column]])
        with pytest.raises(DataError, match="must be numbers") as refused:
            fit(DMKDE(**SMALL), data)
        assert refused.value.column == column
        assert spy.asked == 0

    def test_names_of_columns_of_an_array(self):
        with pytest.raises(ValueError, match="names if X is a dataframe"):
            fit(DMKDClassifier(**SMALL), array(ROWS), "label")

    @pytest.mark.parametrize("part", ["y", "sample_weight"])
    def test_partitions_that_do_not_match(self, part):
        other = frame("weight", npartitions=2)["weight"]
        spy = Spy()
        with pytest.raises(ValueError, match=r"4 partitions, .* has 2"):
            fit(DMKDE(**SMALL), spy.frame(FRAME[COLUMNS]), **{part: other})
        assert spy.asked == 0

    def test_a_number_of_rows_that_does_not_match(self):
        spy = Spy()
        with pytest.raises(ValueError, match=r"X has 240 rows, .* has 200"):
            fit(DMKDClassifier(**SMALL), spy.array(ROWS), array(LABELS[:200], (200,)))
        assert spy.asked == 0

    @pytest.mark.parametrize("batch_rows", [None, 10])
    @pytest.mark.parametrize("sizes", [(120, 122), (118, 120)])
    def test_partitions_with_other_numbers_of_rows(self, batch_rows, sizes):
        # As many partitions, of unknown size: nobody can tell before.
        X = frame(*COLUMNS, npartitions=2)
        labels = np.resize(LABELS, sum(sizes))
        parts = [pd.Series(part) for part in np.split(labels, sizes[:1])]
        y = dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0][:0])
        plan = DMKDClassifier(**SMALL).prepare(ROWS, LABELS)
        with pytest.raises(ValueError, match=r"rows|samples"):
            fit(plan, X, y, batch_rows=batch_rows)
        with pytest.raises(ValueError, match=r"rows|samples"):
            fit(DMKDClassifier(**SMALL), X, y, batch_rows=batch_rows)

    def test_arrays_for_the_target_of_a_frame(self):
        with pytest.raises(TypeError, match="must be Dask series, or names"):
            fit(DMKDClassifier(**SMALL), frame(*COLUMNS), LABELS)

    @pytest.mark.parametrize("planned", [False, True])
    @pytest.mark.parametrize("kind", ["NaN", "infinity"])
    def test_what_is_not_finite_by_the_name_of_its_column(self, planned, kind):
        bad = FRAME[COLUMNS].copy()
        bad.loc[200, "b"] = np.nan if kind == "NaN" else np.inf
        data = dd.from_pandas(bad, npartitions=4)
        model = DMKDE(**SMALL)
        model = model.prepare(FRAME[COLUMNS]) if planned else model
        with pytest.raises(DataError, match=kind) as refused:
            fit(model, data)
        # The row is that of the partition, the last but one of which ends with 179.
        assert (refused.value.row, refused.value.column) == (20, "b")

    @pytest.mark.parametrize("planned", [False, True])
    def test_what_is_not_finite_by_the_number_of_its_column(self, planned):
        bad = ROWS.copy()
        bad[200, 1] = np.nan
        model = DMKDE(**SMALL)
        model = model.prepare(ROWS) if planned else model
        with pytest.raises(DataError, match="NaN") as refused:
            fit(model, array(bad))
        assert (refused.value.row, refused.value.column) == (20, 1)

    @pytest.mark.parametrize("planned", [False, True])
    def test_labels_that_are_missing(self, planned):
        labels = FRAME["label"].where(FRAME.index != 200)
        data = FRAME[COLUMNS].assign(y=labels)
        model = DMKDClassifier(**SMALL)
        model = model.prepare(FRAME[COLUMNS], LABELS) if planned else model
        with pytest.raises(ValueError, match=r"NaN|missing"):
            fit(model, dd.from_pandas(data, npartitions=4), "y")

    @pytest.mark.parametrize("name", ["density", "classifier", "regressor"])
    @pytest.mark.parametrize("planned", [False, True])
    def test_no_rows(self, name, planned):
        column, y = target_of(name)
        rest = () if y is None else (y,)
        model = model_of(name)
        model = model.prepare(FRAME[COLUMNS], *rest) if planned else model
        none = [array(part)[:0] for part in (ROWS, *rest)]
        with pytest.raises(ValueError, match="X holds no rows"):
            fit(model, *none)
        data = frame(*COLUMNS, *([column] if column else []))
        with pytest.raises(ValueError, match="X holds no rows"):
            fit(model, data[data["a"] > 1e9], y=column)

    def test_no_target(self):
        with pytest.raises(ValueError, match="requires y to be passed"):
            fit(DMKDClassifier(**SMALL), array(ROWS))

    def test_only_one_label(self):
        with pytest.raises(ValueError, match="at least two classes"):
            fit(DMKDClassifier(**SMALL), array(ROWS), array(np.full(N, "low")))

    @pytest.mark.parametrize("state", ["fresh", "prepared", "fitted"])
    def test_leave_the_estimator_as_it_was(self, state):
        model = DMKDE(**SMALL)
        if state != "fresh":
            model = model.prepare(FRAME[COLUMNS])
        if state == "fitted":
            model.partial_fit(FRAME[COLUMNS])
        before = dict(vars(model))
        bad = FRAME[COLUMNS].copy()
        bad.loc[239, "c"] = np.nan  # in the last partition
        with pytest.raises(ValueError, match="NaN"):
            fit(model, dd.from_pandas(bad, npartitions=4))
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())


# ---- predicting --------------------------------------------------------------------


ASK = {
    "predict": predict,
    "predict_proba": predict_proba,
    "predict_log_proba": predict_log_proba,
    "score_samples": score_samples,
}
QUESTIONS = [
    ("density", "score_samples"),
    ("mean", "score_samples"),
    ("classifier", "score_samples"),
    ("regressor", "predict"),
    *[
        (name, method)
        for name in ("classifier", "joint", "ordinal")
        for method in ("predict", "predict_proba", "predict_log_proba")
    ],
]


def fitted(name, named=False, **changes):
    _, y = target_of(name)
    X = FRAME[COLUMNS] if named else ROWS
    return model_of(name, **changes).fit(X, *([] if y is None else [y]))


def assert_same_answers(actual, expected):
    assert actual.shape == expected.shape
    if np.asarray(expected).dtype.kind == "f":
        assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)
    else:
        assert_array_equal(actual, expected)


@pytest.mark.parametrize(("name", "method"), QUESTIONS)
class TestAnswers:
    def test_for_arrays(self, name, method):
        model, spy = fitted(name), Spy()
        answer = ASK[method](model, spy.array(ROWS))
        assert spy.asked == 0
        expected = getattr(model, method)(ROWS)
        assert isinstance(answer, da.Array)
        assert answer.shape == expected.shape
        assert answer.chunks[0] == CHUNKS
        computed = answer.compute()
        assert computed.dtype == answer.dtype
        assert_same_answers(computed, expected)

    def test_for_frames(self, name, method):
        model, spy = fitted(name, named=True), Spy()
        data = FRAME[COLUMNS].set_axis(np.arange(N) * 3 + 5)
        answer = ASK[method](model, spy.frame(data))
        assert spy.asked == 0
        expected = getattr(model, method)(data)
        computed = answer.compute()
        assert_array_equal(computed.index, data.index)
        assert_same_answers(computed.to_numpy(), expected)
        if expected.ndim == 1:
            assert computed.name == answer.name == method
            assert computed.dtype == answer.dtype
        else:
            assert list(answer.columns) == list(model.classes_)
            assert list(computed.columns) == list(model.classes_)

    def test_for_arrays_of_a_model_that_knows_names(self, name, method):
        # Warnings are errors here: none is given.
        model = fitted(name, named=True)
        answer = ASK[method](model, array(ROWS)).compute()
        assert_same_answers(answer, getattr(model, method)(FRAME[COLUMNS]))
        assert_array_equal(model.feature_names_in_, COLUMNS)

    def test_for_empty_partitions(self, name, method):
        model = fitted(name, named=True)
        X = array(ROWS, (0, 100, 0, 140))
        expected = getattr(model, method)(FRAME[COLUMNS])
        assert_same_answers(ASK[method](model, X).compute(), expected)
        data = dd.from_pandas(FRAME[COLUMNS].sort_values("a"), 5, sort=False)
        some = data[data["a"] > 0]
        kept = some.compute()
        answer = ASK[method](model, some).compute()
        assert_array_equal(answer.index, kept.index)
        assert_same_answers(answer.to_numpy(), getattr(model, method)(kept))


class TestMoreAnswers:
    def test_for_chunks_of_unknown_size(self):
        model = fitted("classifier")
        X = frame(*COLUMNS).to_dask_array()
        answer = predict_proba(model, X)
        assert answer.shape[1] == 3
        assert_same_answers(answer.compute(), model.predict_proba(ROWS))

    def test_for_columns_in_chunks(self):
        model = fitted("density")
        X = da.from_array(ROWS, chunks=(100, 1))
        assert_same_answers(
            score_samples(model, X).compute(), model.score_samples(ROWS)
        )

    def test_can_be_computed_on(self):
        model = fitted("density")
        mean = score_samples(model, array(ROWS)).mean().compute()
        assert_allclose(mean, model.score(ROWS), rtol=1e-9)
        some = score_samples(model, array(ROWS))[:5].compute()
        assert_same_answers(some, model.score_samples(ROWS)[:5])

    @pytest.mark.parametrize("label", ["unknown", -1])
    def test_with_labels_of_rows_that_are_rejected(self, label):
        far = np.concatenate([ROWS, ROWS + 50])
        codes = np.unique(LABELS, return_inverse=True)[1]
        for y in (LABELS, codes):
            model = DMKDClassifier(reject=0.1, reject_label=label, **SMALL)
            model.fit(ROWS, y)
            expected = model.predict(far)
            assert (expected[N:] == label).all()
            answer = predict(model, da.from_array(far, chunks=(90, 3)))
            computed = answer.compute()
            assert computed.dtype == answer.dtype
            assert computed.tolist() == expected.tolist()

    def test_with_rejected_rows_in_frames(self):
        model = DMKDClassifier(min_log_density=-6.0, **SMALL).fit(
            FRAME[COLUMNS], LABELS
        )
        far = FRAME[COLUMNS] * 3
        answer = predict(model, dd.from_pandas(far, npartitions=3)).compute()
        assert "unknown" in set(answer)
        assert answer.tolist() == model.predict(far).tolist()

    def test_long_labels_are_whole(self):
        labels = np.where(ROWS[:, 0] > 0, "a", "a long one")
        model = DMKDClassifier(**SMALL).fit(ROWS, labels)
        answer = predict(model, array(ROWS)).compute()
        assert_array_equal(answer, model.predict(ROWS))

    @pytest.mark.parametrize("rank", [None, 4])
    def test_of_several_targets(self, rank):
        y = FRAME[["value", "other"]]
        model = QMRegressor(n_levels=5, rank=rank, **SMALL).fit(FRAME[COLUMNS], y)
        expected = model.predict(FRAME[COLUMNS])
        answer = predict(model, array(ROWS))
        assert answer.shape == (N, 2)
        assert_same_answers(answer.compute(), expected)
        data = predict(model, frame(*COLUMNS)).compute()
        assert_array_equal(data.index, FRAME.index)
        assert_same_answers(data.to_numpy(), expected)

    def test_of_what_was_fitted_here(self):
        model = fit(DMKDClassifier(**SMALL), frame(*COLUMNS, "label"), "label")
        answer = predict(model, frame(*COLUMNS)).compute()
        assert_array_equal(answer, model.predict(FRAME[COLUMNS]))

    def test_of_a_compact_model(self):
        model = DMKDE(rank=4, **SMALL).fit(ROWS).compact()
        answer = score_samples(model, array(ROWS)).compute()
        assert_same_answers(answer, model.score_samples(ROWS))

    def test_does_not_change_with_the_model(self):
        model = fitted("density")
        expected = model.score_samples(ROWS)
        answer = score_samples(model, array(ROWS))
        model.partial_fit(ROWS[:50])
        assert_same_answers(answer.compute(), expected)

    def test_wrong_columns_are_refused(self):
        model = fitted("density", named=True)
        with pytest.raises(ValueError, match="feature names should match"):
            score_samples(model, frame("c", "b", "a")).compute()

    def test_what_a_model_cannot_answer_is_refused(self):
        with pytest.raises(AttributeError, match=r"DMKDE.*'predict'"):
            predict(fitted("density"), array(ROWS))

    def test_a_model_without_rows_is_refused(self):
        with pytest.raises(ValueError, match="not fitted yet"):
            predict(DMKDClassifier(**SMALL), array(ROWS))


TINY = SMALL | {"rank": 4, "max_epochs": 2}


@pytest.fixture(scope="module")
def classifier():
    """A classifier trained by gradient, a little."""
    return DMKDClassifierSGD(**TINY).fit(FRAME[COLUMNS], LABELS)


class TestTrainedModels:
    @pytest.mark.parametrize("method", ["predict", "predict_proba"])
    def test_classes(self, classifier, method):
        expected = getattr(classifier, method)(FRAME[COLUMNS])
        answer = ASK[method](classifier, array(ROWS)).compute()
        assert_same_answers(answer, expected)
        data = ASK[method](classifier, frame(*COLUMNS)).compute()
        assert_same_answers(data.to_numpy(), expected)

    def test_values(self):
        model = QMRegressorSGD(**TINY).fit(ROWS, VALUES)
        answer = predict(model, array(ROWS)).compute()
        assert_same_answers(answer, model.predict(ROWS))

    def test_cannot_be_fitted_here(self, classifier):
        with pytest.raises(TypeError, match="DMKDClassifierSGD"):
            fit(clone(classifier), array(ROWS), array(LABELS))


# ---- threads -----------------------------------------------------------------------


def blas_limits():
    """Threads that BLAS libraries may use now."""
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }


@pytest.fixture
def two_threads():
    """BLAS has two threads, whatever the machine has; nobody owns that limit."""

    def in_a_thread(function):
        results = []
        thread = threading.Thread(target=lambda: results.append(function()))
        thread.start()
        thread.join()
        return results[0]

    blas = ThreadpoolController().select(user_api="blas")
    limiter = in_a_thread(lambda: blas.limit(limits=2))
    yield
    in_a_thread(limiter.restore_original_limits)


@pytest.mark.usefixtures("two_threads")
class TestThreads:
    """Tasks fill the cores: none starts threads of its own, nor lets BLAS do so."""

    MANY_BLOCKS = SMALL | {"batch_size": 5}

    @pytest.fixture
    def pools(self, monkeypatch):
        """Threads in which worker threads are started."""
        starters, original = [], rhokit.fast.blocks.ThreadPoolExecutor

        def start(*args):
            starters.append(threading.current_thread())
            return original(*args)

        monkeypatch.setattr(rhokit.fast.blocks, "ThreadPoolExecutor", start)
        return starters

    @pytest.fixture
    def tasks(self, monkeypatch):
        """What tasks see while they are in the middle of their work."""
        seen, original = [], Plan.for_blocks

        def look(self, *args, **options):
            found = original(self, *args, **options)
            seen.append((threading.current_thread(), blas_threads(), blas_limits()))
            return found

        monkeypatch.setattr(Plan, "for_blocks", look)
        return seen

    def test_without_tasks_workers_are_started(self, pools):
        DMKDE(**self.MANY_BLOCKS).prepare(ROWS).partial_fit(ROWS)
        assert pools

    def test_while_they_learn(self, pools, tasks):
        plan = DMKDE(**self.MANY_BLOCKS).prepare(ROWS)
        pools.clear()
        fit(plan, array(ROWS, (20,) * 12))
        assert len(tasks) == 12
        assert threading.main_thread() not in {thread for thread, *_ in tasks}
        assert {threads for _, threads, _ in tasks} == {1}
        assert all(limits == {1} for *_, limits in tasks)
        assert not pools
        assert blas_limits() == {2}
        assert blas_threads() == 2

    def test_while_they_answer(self, pools, tasks):
        model = DMKDE(**self.MANY_BLOCKS).fit(ROWS)
        pools.clear(), tasks.clear()
        score_samples(model, array(ROWS, (20,) * 12)).compute()
        assert len(tasks) == 12
        assert {threads for _, threads, _ in tasks} == {1}
        assert not pools
        assert blas_limits() == {2}
        assert blas_threads() == 2

    def test_after_an_error(self):
        bad = np.where(np.arange(N)[:, None] == 239, np.nan, ROWS)
        with pytest.raises(ValueError, match="NaN"):
            fit(DMKDE(**SMALL).prepare(ROWS), array(bad))
        # Dask does not wait for tasks that were under way; they restore the limit.
        for _ in range(200):
            if blas_limits() == {2}:
                break
            time.sleep(0.05)
        assert blas_limits() == {2}
        assert blas_threads() == 2
