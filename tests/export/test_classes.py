"""Classes: real data, labels of every type, rejection, priors, trained models."""

import numpy as np
import pytest

from rhokit import (
    DMKDClassifier,
    OneHotFeatures,
    QMClassifier,
    QMOrdinalClassifier,
    SoftmaxFeatures,
)
from tests.export.support import (
    SINGLE,
    assert_same_density,
    assert_same_probabilities,
    real,
    run,
    single,
    wine,
)

SMALL = {"n_components": 48, "random_state": 0}
GIVEN = SMALL | {"gamma": 0.3, "scale": "std"}


def letters():
    data = real("letters")
    return single(data["X"]), data["y"]


def usps():
    data = real("usps")
    return single(data["X_train"] / 2000), data["y_train"]


def beside_edges(model, rows):
    """Which rows are so near to an edge of trees that rounding to single decides."""
    scaled = model.scaling_.apply(rows.astype(np.float64))
    error = 1e-6 * (1 + np.abs(scaled))
    codes = model.feature_map_.forest_.codes
    return (codes(scaled - error) != codes(scaled + error)).any(axis=1)


class TestRealRows:
    @pytest.mark.parametrize(
        ("load", "rank"), [(letters, None), (letters, "loo"), (usps, None), (usps, 6)]
    )
    def test_a_matrix_per_class(self, load, rank, tmp_path):
        X, y = load()
        model = DMKDClassifier(**SMALL, rank=rank).fit(X[:800], y[:800])
        found = run(model, X[800:1800], tmp_path)
        assert_same_probabilities(found, model, X[800:1800])
        assert_same_density(found["log_density"], model.score_samples(X[800:1800]))

    @pytest.mark.parametrize("load", [letters, usps])
    @pytest.mark.parametrize("joint_rank", [None, 20])
    def test_a_joint_state(self, load, joint_rank, tmp_path):
        X, y = load()
        model = QMClassifier(**SMALL, joint_rank=joint_rank).fit(X[:800], y[:800])
        assert_same_probabilities(run(model, X[800:1800], tmp_path), model, X[800:1800])

    @pytest.mark.parametrize("name", ["stocks", "abalone", "wisconsin"])
    @pytest.mark.parametrize("rank", [None, 5])
    def test_ordered_labels(self, name, rank, tmp_path):
        data = real(f"ordinal_{name}")
        X, y = single(data["X"]), data["y_ordinal"]
        train, test = data["train_index"][0][:600], data["test_index"][0]
        model = QMOrdinalClassifier(**SMALL, rank=rank).fit(X[train], y[train])
        assert_same_probabilities(run(model, X[test], tmp_path), model, X[test])

    def test_in_single_precision(self, tmp_path):
        X, y = letters()
        X = X.astype(np.float32)
        model = DMKDClassifier(**SMALL).fit(X[:800], y[:800])
        rows = X[800:1800]
        rounded = beside_edges(model, rows)
        assert rounded.mean() < 0.01  # rows that may go another way in a tree
        found = {name: v[~rounded] for name, v in run(model, rows, tmp_path).items()}
        assert_same_probabilities(found, model, rows[~rounded], tolerance=SINGLE)


class TestFarRows:
    @pytest.mark.parametrize("d", [2, 13])
    def test_have_the_class_that_is_nearest(self, d, tmp_path):
        X, y = wine()[0][:, :d], wine()[1]
        model = DMKDClassifier(**GIVEN).fit(X, y)
        far = single(np.concatenate([X[:20] * s for s in (-2, 10, 100, -1e3)]))
        found = run(model, far, tmp_path)
        assert_same_probabilities(found, model, far)
        assert_same_density(found["log_density"], model.score_samples(far))

    @pytest.mark.parametrize("kind", [DMKDClassifier, QMClassifier])
    def test_where_nothing_is_seen_the_priors_remain(self, kind, tmp_path):
        X, y = wine()[0][:, :2], wine()[1]
        model = kind(**GIVEN, feature_map="quadrature").fit(X, y)
        found = run(model, X[:3] * 1e9, tmp_path)
        shares = np.bincount(y) / len(y)
        np.testing.assert_allclose(found["probabilities"], [shares] * 3, rtol=1e-6)

    def test_of_a_truncated_joint_state_too(self, tmp_path):
        X, y = wine()[0][:, :2], wine()[1]
        options = {"feature_map": "quadrature", "joint_rank": 5}
        for extra in ({}, {"output_map": "softmax"}):
            model = QMClassifier(**GIVEN, **options, **extra).fit(X, y)
            far = single(X[:3] * 1e9)
            assert_same_probabilities(run(model, far, tmp_path), model, far)
        model = QMOrdinalClassifier(**GIVEN, **options, beta=2.0).fit(X, y)
        assert_same_probabilities(run(model, far, tmp_path), model, far)


class TestLabels:
    @pytest.mark.parametrize(
        ("names", "dtype"),
        [
            (np.array(["low", "mid", "Höhe"]), object),
            (np.array(["a", "b", "c"], dtype=object), object),
            (np.array([7, -3, 10**12]), np.int64),
            (np.array([3, 1, 2], dtype=np.uint8), np.int64),
            (np.array([1.0, 2.0, 3.0]), np.int64),
            (np.array([True, False, True]), np.int64),
        ],
        ids=["text", "objects", "integers", "bytes", "floats", "truth"],
    )
    @pytest.mark.parametrize(
        "kind", [DMKDClassifier, QMClassifier, QMOrdinalClassifier]
    )
    def test_keep_their_type(self, names, dtype, kind, tmp_path):
        X, y = wine()
        model = kind(**GIVEN).fit(X, names[y])
        found = run(model, X, tmp_path)
        assert found["label"].dtype == dtype
        assert_same_probabilities(found, model, X)

    def test_that_have_no_rows(self, tmp_path):
        X, y = wine()
        model = DMKDClassifier(**GIVEN).partial_fit(X, y, classes=[0, 1, 2, 3])
        found = run(model, X, tmp_path)
        assert_same_probabilities(found, model, X)
        np.testing.assert_array_equal(found["probabilities"][:, 3], 0)

    @pytest.mark.parametrize("priors", ["uniform", [0.2, 0.5, 0.3], [0, 1, 1]])
    def test_with_priors(self, priors, tmp_path):
        X, y = wine()
        model = DMKDClassifier(**GIVEN, priors=priors).fit(X, y)
        found = run(model, X, tmp_path)
        assert_same_probabilities(found, model, X)
        assert_same_density(found["log_density"], model.score_samples(X))


class TestRejection:
    @pytest.mark.parametrize(
        ("names", "label", "expected"),
        [
            (np.array([0, 1, 2]), "unknown", object),
            (np.array([0, 1, 2]), -1, np.int64),
            (np.array(["a", "b", "c"]), "none", object),
            (np.array(["a", "b", "c"]), -1, object),
        ],
    )
    def test_has_a_label(self, names, label, expected, tmp_path):
        X, y = wine()
        model = DMKDClassifier(**GIVEN, reject=0.1, reject_label=label)
        model.fit(X[::2], names[y[::2]])
        found = run(model, X, tmp_path)["label"]
        assert found.dtype == expected
        wanted = model.predict(X)
        if expected is object:
            wanted = wanted.astype(str)
        np.testing.assert_array_equal(found, wanted)
        n_rejected = (found == (label if expected is not object else str(label))).sum()
        assert 0 < n_rejected < len(X)

    def test_by_a_given_threshold(self, tmp_path):
        X, y = wine()
        model = DMKDClassifier(**GIVEN).fit(X, y)
        # That of a row, which is not below it.
        model.min_log_density = float(np.sort(model.score_samples(X))[len(X) // 2])
        found = run(model, X, tmp_path)
        np.testing.assert_array_equal(found["label"], model.predict(X).astype(str))
        rejected = found["label"] == "unknown"
        assert abs(rejected.mean() - 0.5) < 0.02

    def test_of_rows_that_are_no_numbers(self, tmp_path):
        X, y = wine()
        model = DMKDClassifier(**GIVEN, min_log_density=-1e3).fit(X, y)
        X = X[:4].copy()
        X[1, 2] = np.nan
        found = run(model, X, tmp_path)
        assert found["label"].tolist()[1] == "unknown"
        np.testing.assert_array_equal(
            np.isnan(found["probabilities"]).all(axis=1), [0, 1, 0, 0]
        )


class TestOutputs:
    @pytest.mark.parametrize(
        "output_map",
        [SoftmaxFeatures(n_components=2), SoftmaxFeatures(), OneHotFeatures()],
    )
    @pytest.mark.parametrize("joint_rank", [None, 11])
    def test_of_any_map(self, output_map, joint_rank, tmp_path):
        X, y = wine()
        model = QMClassifier(**GIVEN, output_map=output_map, joint_rank=joint_rank)
        model.fit(X, y)
        assert_same_probabilities(run(model, X, tmp_path), model, X)

    @pytest.mark.parametrize("joint_rank", [None, 11])
    def test_gaps_do_not_stop_a_batch(self, joint_rank, tmp_path):
        X, y = wine()
        options = {"decision": "mean", "beta": 2.0, "joint_rank": joint_rank}
        model = QMOrdinalClassifier(**GIVEN, **options).fit(X, y)
        X = X[:4].copy()
        X[1, 2] = np.nan
        found = run(model, X, tmp_path)
        rest = [0, 2, 3]
        np.testing.assert_array_equal(found["label"][rest], model.predict(X[rest]))
        assert np.isnan(found["probabilities"][1]).all()
