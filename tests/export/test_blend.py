"""Blends as files: classes and values, mixed columns, single precision, empty cells."""

import numpy as np
import onnxruntime
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit import DMKDClassifier, QMRegressor
from rhokit.export import export_onnx
from rhokit.export.graph import DOUBLE
from rhokit.export.onnx_graph import OnnxGraph
from rhokit.export.tree_nodes import cells_of
from rhokit.features.links import LINKS, ClassLink
from tests.export.support import (
    SINGLE,
    answers,
    assert_same_density,
    assert_same_probabilities,
    assert_same_values,
    feeds,
    frame,
    frame_columns,
    real,
    run,
    session_of,
    single,
    wine,
)

BLEND = {"feature_map": "blend", "n_components": 24, "random_state": 0}
LEVELS = (0.9, 0.05, 0.5, 0.5)


def rows_of(n, seed=0):
    return single(np.random.default_rng(seed).normal(size=(n, 3)) * [1, 10, 0.1])


def labels_of(rows):
    return np.digitize(rows[:, 0] + rows[:, 1] / 10, [-0.5, 0.7])


def values_of(rows):
    return np.sin(2 * rows[:, 0]) + (rows[:, 1] > 0)


def classes(**options):
    rows = rows_of(150)
    return DMKDClassifier(**BLEND | options).fit(rows, labels_of(rows))


def values(**options):
    rows = rows_of(150)
    return QMRegressor(**BLEND | options).fit(rows, values_of(rows))


def compare_classes(model, rows, folder, tolerance=1e-6, **options):
    found = run(model, rows, folder, **options)
    assert_same_probabilities(found, model, rows, tolerance)
    return found


def compare_values(model, rows, spread, folder, tolerance=1e-7, **options):
    found = run(model, rows, folder, **options)
    assert_same_values(found, model, rows, spread, tolerance, **options)
    return found


class TestClasses:
    def test_labels_probabilities_and_densities(self, tmp_path):
        model, rows = classes(), rows_of(400, 1)
        found = compare_classes(model, rows, tmp_path)
        assert set(found) == {"label", "probabilities", "log_density"}
        assert len(set(found["label"])) == 3
        assert_same_density(
            found["log_density"], model.score_samples(rows), 1e-6, floor=-20
        )

    @pytest.mark.parametrize("priors", ["uniform", [0.2, 0.5, 0.3]])
    def test_priors(self, priors, tmp_path):
        compare_classes(classes(priors=priors), rows_of(100, 1), tmp_path)

    def test_of_text_and_what_is_refused(self, tmp_path):
        X, y = wine()
        names = np.array(["a", "b", "c"])[y]
        model = DMKDClassifier(**BLEND, reject=0.1, reject_label="none")
        model.fit(X[::2], names[::2])
        found = compare_classes(model, X, tmp_path)
        assert set(found["label"]) == {"a", "b", "c", "none"}

    def test_far_rows(self, tmp_path):
        rows = single(rows_of(20) * np.repeat([3, -1e2, 1e5, 1e9], 5)[:, None])
        compare_classes(classes(), rows, tmp_path)

    def test_a_class_that_came_later(self, tmp_path):
        rows = rows_of(150)
        labels = labels_of(rows)
        model = DMKDClassifier(**BLEND).fit(rows[labels < 2], labels[labels < 2])
        model.partial_fit(rows, labels)
        found = compare_classes(model, rows_of(50, 1), tmp_path)
        assert found["probabilities"].shape == (50, 3)

    def test_of_real_rows(self, tmp_path):
        data = real("letters")
        X, y = single(data["X"]), data["y"]
        model = DMKDClassifier(n_components=128, random_state=0).fit(X[:3000], y[:3000])
        assert model.feature_map_.name == "blend"
        compare_classes(model, X[3000:4000], tmp_path)


class TestValues:
    def test_moments_intervals_and_quantiles(self, tmp_path):
        rows = rows_of(400, 1)
        found = compare_values(
            values(), rows, values_of(rows).std(), tmp_path, quantiles=LEVELS
        )
        assert list(found) == ["mean", "std", "interval", "quantiles"]
        assert np.ptp(found["std"]) > 0.1 * found["std"].mean()

    def test_without_calibration(self, tmp_path):
        model = values(calibration=None)
        compare_values(model, rows_of(99, 1), 1.0, tmp_path, quantiles=LEVELS)

    @pytest.mark.parametrize("coverage", [0.01, 0.5, 0.99])
    def test_coverage(self, coverage, tmp_path):
        compare_values(values(), rows_of(99, 1), 1.0, tmp_path, coverage=coverage)

    def test_several_targets(self, tmp_path):
        rows, asked = rows_of(150), rows_of(60, 1)
        target = np.stack([values_of(rows), 1e3 * rows[:, 1]], axis=1)
        model = QMRegressor(**BLEND).fit(rows, target)
        found = compare_values(
            model, asked, target.std(axis=0), tmp_path, quantiles=LEVELS
        )
        assert found["interval"].shape == (60, 2, 2)

    def test_taken_by_themselves(self, tmp_path):
        rng = np.random.default_rng(0)
        X = single(rng.uniform(-2, 2, size=(900, 4)))
        y = np.sin(2 * X[:, 0]) + (X[:, 1] > 0.5) + 0.05 * rng.normal(size=900)
        model = QMRegressor(random_state=0).fit(X[:600], y[:600])
        assert model.feature_map_.name == "blend"
        compare_values(model, X[600:], y.std(), tmp_path, 1e-6, quantiles=LEVELS)


class TestColumns:
    def test_of_categories(self, tmp_path):
        table, (_, value) = frame(), frame_columns()
        model = QMRegressor(**BLEND).fit(table, value)
        found = answers(session_of(model, tmp_path), feeds())
        assert_same_values(found, model, table, value.std(), 1e-7)
        labels = np.digitize(value, [2, 4])
        sorter = DMKDClassifier(**BLEND).fit(table, labels)
        found = answers(session_of(sorter, tmp_path), feeds())
        assert_same_probabilities(found, sorter, table)

    def test_without_lines(self, tmp_path):
        rng = np.random.default_rng(0)
        rows = single(rng.normal(size=(200, 130)))
        model = DMKDClassifier(**BLEND).fit(rows, (rows[:, 0] > 0).astype(int))
        assert not len(model.feature_map_.lines_)
        compare_classes(model, rows, tmp_path)

    def test_single_precision(self, tmp_path):
        rows, asked = rows_of(150), rows_of(300, 1)
        model = classes(dtype="float32")
        assert model.feature_map_.landmarks_.dtype == np.float32
        found = run(model, asked, tmp_path)
        expected = model.predict_proba(asked)
        assert_allclose(found["probabilities"], expected, 0, SINGLE)
        sure = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) > 0.01
        assert_array_equal(found["label"][sure], model.predict(asked)[sure])
        regressor = values(dtype="float32")
        spread = values_of(rows).std()
        compare_values(regressor, asked, spread, tmp_path, SINGLE, quantiles=LEVELS)


class TestStates:
    @pytest.mark.parametrize("make", [classes, values])
    def test_cells_that_lost_their_rows(self, make, tmp_path):
        """Their trees have no answer; where none has, the priors have."""
        model, rows = make(), rows_of(150)
        target = labels_of(rows) if make is classes else values_of(rows)
        gone = rows[:, 0] > -0.5
        model.unlearn(rows[gone], target[gone])
        mass = model.model_.representation.solution(model.state_).means[:, -1]
        assert 0 < (mass == 0).sum() < len(mass)
        if make is classes:
            compare_classes(model, rows, tmp_path, 1e-5)
        else:
            compare_values(model, rows, target.std(), tmp_path, 1e-5)

    @pytest.mark.parametrize("make", [classes, values])
    def test_of_a_saved_model(self, make, tmp_path):
        model, rows = make(), rows_of(50, 1)
        again = rhokit.loads(rhokit.dumps(model))
        one, other = (run(each, rows, tmp_path) for each in (model, again))
        for name, expected in one.items():
            assert_array_equal(other[name], expected)


class TestGaps:
    def test_are_no_numbers(self, tmp_path):
        rows = rows_of(5, 1)
        rows[2, 1] = np.nan
        for make in (classes, values):
            for name, found in run(make(), rows, tmp_path).items():
                if name != "label":
                    assert np.isnan(found[2]).all(), name
                    assert np.isfinite(np.delete(found, 2, axis=0)).all(), name


class TestTrees:
    def test_every_row_comes_to_its_cells(self):
        """Also those at an edge, next to one, and beyond all of them."""
        model = classes()
        forest = model.feature_map_.forest_
        starts = forest.edge_stops - np.diff(forest.edge_stops, prepend=0)
        edges = np.stack([forest.edges[s : s + 40] for s in starts], axis=1)
        near = [np.nextafter(edges, end) for end in (-np.inf, np.inf)]
        far = np.array([[np.inf] * 3, [-np.inf] * 3, [1e300, 0, -1e300]])
        rows = np.concatenate([edges, *near, far])
        graph = OnnxGraph("cells")
        given = graph.input("X", DOUBLE, 3)
        graph.output("label", cells_of(forest, given), forest.n_trees)
        session = onnxruntime.InferenceSession(graph.to_bytes({}, "0"))
        (found,) = session.run(None, {"X": rows})
        assert_array_equal(found, forest.cells(forest.codes(rows)))

    def test_that_ask_nothing(self, tmp_path):
        rows = rows_of(150)
        model = QMRegressor(**BLEND).fit(rows, np.full(150, 7.0))
        assert model.feature_map_.forest_.depth == 0
        found = compare_values(model, rows, 1.0, tmp_path)
        assert_allclose(found["mean"], 7, rtol=1e-9)


class TestFiles:
    @pytest.mark.parametrize("make", [classes, values])
    def test_are_not_much_larger_than_model_files(self, make, tmp_path):
        rng = np.random.default_rng(0)
        rows = single(rng.normal(size=(3000, 5)))
        target = rows[:, 0] + rng.normal(size=3000)
        if make is classes:
            target = np.digitize(target, [-1, 0, 1])
        options = BLEND | {"n_components": 256}
        cls = DMKDClassifier if make is classes else QMRegressor
        model = cls(**options).fit(rows, target)
        export_onnx(model, tmp_path / "model.onnx")
        size = (tmp_path / "model.onnx").stat().st_size
        assert size < 1.2 * len(rhokit.dumps(model))

    def test_links_of_another_kind_are_refused(self, monkeypatch, tmp_path):
        class Other(ClassLink):
            name = "other"

        monkeypatch.setitem(LINKS, "other", Other)
        model = classes()
        model.feature_map_.link_ = "other"
        with pytest.raises(ValueError, match="not of other: register"):
            export_onnx(model, tmp_path / "model.onnx")
        assert not list(tmp_path.iterdir())
