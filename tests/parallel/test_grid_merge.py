"""Models on grids that are merged: their boxes may differ, their densities add up."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit import DMKDE, DMKDClassifier, QMRegressor
from rhokit.features import GridFeatures
from rhokit.parallel import merge
from rhokit.parallel.dask import fit, score_samples

TOL = 1e-8
GAMMA = {1: 3.0, 2: 1.5}
RNG = np.random.default_rng(1)
CALM = {d: RNG.normal(size=(400, d)) for d in (1, 2)}
# Of four partitions the second leaves the box to one side, the last to the other.
PARTS = {
    d: [
        part + shift * (1.0 if d == 1 else np.array([1.0, 0.3]))
        for part, shift in zip(np.split(CALM[d], 4), (0, 10, 0, -14), strict=True)
    ]
    for d in (1, 2)
}
ROWS = {d: np.concatenate(PARTS[d]) for d in (1, 2)}
LABELS = np.arange(400) % 3
WEIGHTS = RNG.integers(1, 4, 400).astype(float)
both = pytest.mark.parametrize("d", [1, 2])


def kernel_density(rows, queries, gamma, weights=None):
    """The kernel density of weighted rows, written out."""
    squares = ((queries[:, None, :] - rows[None, :, :]) ** 2).sum(axis=-1)
    mass = np.ones(len(rows)) if weights is None else weights
    d = rows.shape[1]
    return np.exp(-gamma * squares) @ mass / mass.sum() * (gamma / np.pi) ** (d / 2)


def assert_density_of(model, rows, weights=None, tol=3 * TOL):
    """The model is the kernel density of these rows, near them and between them."""
    queries = np.concatenate([rows[::3], rows[::5] + 0.6, rows[:5] + 4.0])
    exact = kernel_density(rows, queries, model.gamma_, weights)
    mass = len(rows) if weights is None else weights.sum()
    assert isinstance(model.feature_map_, GridFeatures)
    assert_allclose(model.state_.weight, [mass], rtol=1e-12)
    names = getattr(model, "feature_names_in_", None)
    asked = queries if names is None else pd.DataFrame(queries, columns=names)
    assert_allclose(model.density(asked), exact, rtol=0, atol=tol * exact.max())


def density(d, wanted="grid"):
    return DMKDE(gamma=GAMMA[d], scale=None, feature_map=wanted, random_state=0)


def widens():
    return pytest.warns(UserWarning, match="which was widened for")


@pytest.fixture(params=[1, 2], ids=lambda d: f"{d} columns")
def learned(request):
    """The number of columns, a plan, and a model of every partition."""
    plan = density(request.param).prepare(CALM[request.param])
    with widens() as said:
        models = [plan.blank().partial_fit(part) for part in PARTS[request.param]]
    assert len(said) == 2
    return request.param, plan, models


class TestMerging:
    def test_is_one_fit(self, learned):
        d, _, models = learned
        assert_density_of(merge(models), ROWS[d])

    def test_in_any_order(self, learned):
        d, _, models = learned
        for order in ([3, 2, 1, 0], [1, 3, 0, 2], [0, 2, 1, 3], [2, 1, 3, 0]):
            merged = merge([models[i] for i in order])
            assert_density_of(merged, ROWS[d])

    def test_has_a_box_that_holds_all(self, learned):
        d, _, models = learned
        merged = merge(models).feature_map_
        lows, highs = zip(
            *((m.feature_map_.low_, m.feature_map_.high_) for m in models), strict=True
        )
        assert_array_equal(merged.low_, np.min(lows, axis=0))
        assert_array_equal(merged.high_, np.max(highs, axis=0))
        assert merged.holds(ROWS[d])

    def test_leaves_the_models_as_they_are(self, learned):
        _, plan, models = learned
        before = [(model.feature_map_, model.state_) for model in models]
        merge(models)
        plan.blank().merge(*models)
        for model, (feature_map, state) in zip(models, before, strict=True):
            assert model.feature_map_ is feature_map
            assert model.state_ is state

    def test_shares_a_fingerprint_whatever_the_box(self, learned):
        _, plan, models = learned
        prints = {model.fingerprint() for model in (plan, *models, merge(models))}
        assert len(prints) == 1

    def test_of_the_same_models_gives_the_same_bits(self, learned):
        _, _, models = learned
        first, second = merge(models), merge(models)
        assert_array_equal(first.state_.total, second.state_.total)

    def test_by_way_of_bytes(self, learned):
        _, _, models = learned
        sent = merge(rhokit.loads(rhokit.dumps(model)) for model in models)
        assert_array_equal(sent.state_.total, merge(models).state_.total)

    def test_into_one_without_rows(self, learned):
        d, plan, models = learned
        assert_density_of(plan.blank().merge(*models), ROWS[d])
        assert_density_of(merge([plan.blank(), models[1]]), PARTS[d][1])
        assert_density_of(merge([models[1], plan.blank()]), PARTS[d][1])

    def test_is_undone(self, learned):
        d, _, models = learned
        merged = merge(models).unmerge(models[1], models[3])
        rest = np.concatenate([PARTS[d][0], PARTS[d][2]])
        assert_density_of(merged, rest, tol=10 * TOL)
        # Also by a model whose box is the wider one.
        few = merge([models[0], models[2]])
        assert_density_of(few.merge(models[1]).unmerge(models[1]), rest, tol=10 * TOL)

    def test_goes_on(self, learned):
        d, _, models = learned
        merged = merge(models[:2]).partial_fit(PARTS[d][0])
        assert_density_of(merged, np.concatenate([*PARTS[d][:2], PARTS[d][0]]))


@both
class TestWhatDoesNotMerge:
    @pytest.mark.parametrize(
        "changes", [{"gamma": 2.5}, {"feature_map": GridFeatures(tol=1e-6)}]
    )
    def test_another_kernel(self, d, changes):
        one = density(d).fit(CALM[d])
        other = density(d).set_params(**changes).fit(CALM[d])
        with pytest.raises(ValueError, match="differ in scaling, gamma or feature map"):
            one.merge(other)

    def test_a_box_that_was_fixed(self, d):
        maps = [
            GridFeatures(bounds=[[-end] * d, [end] * d], outside="refuse")
            for end in (6.0, 7.0)
        ]
        one, other = (density(d, each).fit(CALM[d]) for each in maps)
        with pytest.raises(ValueError, match="differ in scaling, gamma or feature map"):
            one.merge(other)
        same = one.blank().partial_fit(CALM[d][:100])
        assert_density_of(one.merge(same), np.concatenate([CALM[d], CALM[d][:100]]))

    def test_boxes_too_large_together(self, d):
        """Then nothing is changed."""
        parts = [CALM[d] + shift for shift in (0.0, 1e6)]
        plan = GridFeatures(max_modes=2**15)
        one, other = (density(d, plan).fit(part) for part in parts)
        state, feature_map = one.state_, one.feature_map_
        with pytest.raises(ValueError, match="max_modes"):
            one.merge(other)
        assert one.state_ is state
        assert one.feature_map_ is feature_map


class TestOutcomes:
    @both
    def test_of_classes_that_only_some_have_seen(self, d):
        make = {"gamma": GAMMA[d], "scale": None, "feature_map": "grid"}
        labels = np.array(["a", "b", "c"], dtype="<U3")[LABELS]
        labels[100:200] = "new"
        plan = DMKDClassifier(**make).prepare(CALM[d], np.array(["a", "c"] * 200))
        with widens():
            models = [
                plan.blank().partial_fit(part, own)
                for part, own in zip(PARTS[d], np.split(labels, 4), strict=True)
            ]
        merged = merge(models)
        assert merged.classes_.tolist() == ["a", "b", "c", "new"]
        whole = DMKDClassifier(**make).fit(ROWS[d], labels)
        assert_array_equal(merged.class_count_, whole.class_count_)
        found, expected = (m.predict_proba(ROWS[d]) for m in (merged, whole))
        assert_allclose(found, expected, rtol=0, atol=1e-5)

    @both
    def test_of_values(self, d):
        y = np.tanh(ROWS[d][:, 0])
        make = {
            "gamma": GAMMA[d],
            "scale": None,
            "feature_map": "grid",
            "bounds": (-1, 1),
        }
        plan = QMRegressor(**make, n_levels=4, beta=9.0).prepare(CALM[d], y)
        with widens():
            models = [
                plan.blank().partial_fit(part, own)
                for part, own in zip(PARTS[d], np.split(y, 4), strict=True)
            ]
        whole = plan.blank()
        with widens():
            whole.partial_fit(ROWS[d], y)
        found, expected = (m.predict(ROWS[d]) for m in (merge(models), whole))
        assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.fixture(params=["sync", "threads"])
def scheduler(request):
    """None of Dask's threads, or three."""
    with dask.config.set(scheduler=request.param, num_workers=3):
        yield


def collection(d, rows=None):
    return da.from_array(ROWS[d] if rows is None else rows, chunks=(100, d))


@both
@pytest.mark.usefixtures("scheduler")
class TestDask:
    @pytest.mark.parametrize("wanted", ["auto", "grid"])
    def test_is_one_fit(self, d, wanted):
        model = fit(density(d, wanted), collection(d))
        assert_density_of(model, ROWS[d])

    def test_some_partitions_leave_the_box(self, d):
        model = density(d).prepare(CALM[d])
        with widens():
            fit(model, collection(d))
        assert_density_of(model, ROWS[d])
        assert model.feature_map_.holds(ROWS[d])

    def test_the_first_or_the_last_alone_leaves_it(self, d):
        for order in ([1, 0, 2], [0, 2, 1], [0, 1, 2]):
            rows = np.concatenate([PARTS[d][i] for i in order])
            model = density(d).prepare(CALM[d])
            with widens():
                fit(model, collection(d, rows))
            assert_density_of(model, rows)

    def test_more_partitions_than_one_node_of_the_tree(self, d):
        rows = np.concatenate([*PARTS[d], *PARTS[d], *PARTS[d]])
        model = density(d).prepare(CALM[d])
        with widens():
            fit(model, da.from_array(rows, chunks=(60, d)))
        assert_density_of(model, rows)

    def test_weights(self, d):
        model = density(d).prepare(CALM[d])
        weights = WEIGHTS.copy()
        weights[100:200] = 0.0  # a partition that is not there
        with widens():
            fit(model, collection(d), sample_weight=da.from_array(weights, chunks=100))
        seen = weights > 0
        assert_density_of(model, ROWS[d][seen], weights[seen])

    def test_refused_rows_leave_the_model(self, d):
        wanted = GridFeatures(outside="refuse")
        model = density(d, wanted).prepare(CALM[d])
        with pytest.raises(ValueError, match="rows lie outside the box"):
            fit(model, collection(d))
        assert model.state_ is None
        assert_density_of(fit(model, collection(d, CALM[d])), CALM[d])

    def test_classes(self, d):
        make = {"gamma": GAMMA[d], "scale": None, "feature_map": "grid"}
        model = DMKDClassifier(**make).prepare(CALM[d], LABELS)
        with widens():
            fit(model, collection(d), da.from_array(LABELS, chunks=100))
        whole = DMKDClassifier(**make).fit(ROWS[d], LABELS)
        found, expected = (m.predict_proba(ROWS[d]) for m in (model, whole))
        assert_allclose(found, expected, rtol=0, atol=1e-5)

    def test_answers(self, d):
        model = density(d).fit(ROWS[d])
        logs = score_samples(model, collection(d)).compute()
        assert_allclose(logs, model.score_samples(ROWS[d]), rtol=1e-9)

    def test_frames(self, d):
        frame = pd.DataFrame(ROWS[d], columns=["a", "b"][:d])
        plan = density(d).prepare(frame[:100])
        with widens():
            model = fit(plan, dd.from_pandas(frame, npartitions=4))
        assert model.feature_names_in_.tolist() == list(frame.columns)
        assert_density_of(model, ROWS[d])
