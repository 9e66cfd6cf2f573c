"""Categories: whole rows as one-hot states, and columns of frames."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rhokit import (
    DMKDE,
    DMKDClassifier,
    MeanEmbeddingKDE,
    OneHotFeatures,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)
from rhokit.export import export_onnx
from tests.export.support import (
    answers,
    assert_same_density,
    assert_same_probabilities,
    assert_same_values,
    feeds,
    frame,
    frame_columns,
    session_of,
)

SMALL = {"n_components": 48, "random_state": 0}


def input_types(session):
    return {each.name: each.type for each in session.get_inputs()}


class TestWholeRows:
    """A category is a row, and a row that was not seen is impossible."""

    def compare(self, seen, others, folder, **inputs):
        """A density over seen rows, asked for others; the last is none of them."""
        model = DMKDE(feature_map=OneHotFeatures()).fit(seen)
        session = session_of(model, folder)
        found = answers(session, inputs)["log_density"]
        expected = model.score_samples(others)
        assert_same_density(found, expected)
        assert np.isneginf(found[-1])
        assert np.isfinite(found[0])
        return input_types(session)

    def test_of_text(self, tmp_path):
        X = np.array([["red", "S"], ["blue", "S"], ["red", "L"], ["red", "S"]])
        others = np.array([["red", "S"], ["blue", "S"], ["blue", "L"]])
        types = self.compare(X, others, tmp_path, X=others.astype(object))
        assert types == {"X": "tensor(string)"}

    @pytest.mark.parametrize("numbers", [[1, 2, 5], [0.1, 2.5, 1e-3], [-7, 0, 1.5]])
    def test_of_numbers(self, numbers, tmp_path):
        X = np.array(numbers)[[0, 1, 0, 2, 0], None]
        others = np.append(np.array(numbers, dtype=float), 9.0)[:, None]
        types = self.compare(X, others, tmp_path, X=others.astype(np.float32))
        assert types == {"X": "tensor(float)"}

    def test_of_numbers_and_text(self, tmp_path):
        frame = pd.DataFrame({"size": [1, 2, 1], "label": ["a", "b", "b"]})
        others = pd.DataFrame({"size": [1, 2, 2], "label": ["a", "b", "a"]})
        inputs = {
            "size": others[["size"]].to_numpy(),
            "label_": others[["label"]].to_numpy(object),
        }
        types = self.compare(frame, others, tmp_path, **inputs)
        # A name that outputs have is not free.
        assert types == {"size": "tensor(int64)", "label_": "tensor(string)"}

    def test_with_gaps_among_numbers(self, tmp_path):
        X = np.array([[1.0], [np.nan], [1.0], [2.0]])
        others = np.array([[np.nan], [1.0], [0.0]])
        self.compare(X, others, tmp_path, X=others.astype(np.float32))

    def test_with_gaps_among_texts(self, tmp_path):
        X = np.array([["a"], [None], ["a"], ["b"]], dtype=object)
        others = np.array([[None], ["a"], ["z"]], dtype=object)
        given = np.array([[""], ["a"], ["z"]], dtype=object)
        self.compare(X, others, tmp_path, X=given)

    def test_for_classes(self, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.choice(["a", "b", "c"], size=(200, 2))
        y = (X[:, 0] == "a") ^ (rng.random(200) < 0.2)
        for model in (
            DMKDClassifier(feature_map=OneHotFeatures()),
            QMClassifier(feature_map=OneHotFeatures(), joint_rank=4),
            QMOrdinalClassifier(feature_map=OneHotFeatures()),
        ):
            model.fit(X[:150], y[:150])
            found = answers(session_of(model, tmp_path), {"X": X.astype(object)})
            assert_same_probabilities(found, model, X)

    @pytest.mark.parametrize(
        ("values", "problem"),
        [
            ([["a"], [1]], "of several"),
            ([[None], [""]], "empty text"),
            ([[0.1], [0.1 + 1e-12]], "single precision"),
            ([[pd.Timestamp("2020")], [pd.Timestamp("2021")]], "neither numbers"),
        ],
    )
    def test_that_no_input_can_hold(self, values, problem, tmp_path):
        X = np.array(values, dtype=object)
        model = DMKDE(feature_map=OneHotFeatures()).fit(X)
        with pytest.raises(ValueError, match=f"column 'x0'.*{problem}"):
            export_onnx(model, tmp_path / "model.onnx")
        assert not list(tmp_path.iterdir())


class TestFrames:
    @pytest.mark.parametrize("feature_map", ["landmarks", "fourier"])
    @pytest.mark.parametrize("kind", [DMKDE, MeanEmbeddingKDE])
    def test_densities(self, kind, feature_map, tmp_path):
        X = frame()
        model = kind(**SMALL, feature_map=feature_map, gamma=0.3, scale="std").fit(X)
        found = answers(session_of(model, tmp_path), feeds())["log_density"]
        assert_same_density(found, model.score_samples(X))

    def test_inputs_have_the_columns_names_and_types(self, tmp_path):
        session = session_of(
            DMKDE(**SMALL, gamma=0.3, scale=None).fit(frame()), tmp_path
        )
        assert input_types(session) == {
            "width": "tensor(float)",
            "colour": "tensor(string)",
            "size": "tensor(string)",
            "doors": "tensor(int64)",
            "tax": "tensor(float)",
            "new": "tensor(bool)",
            "mean_": "tensor(float)",
        }
        known = session.get_modelmeta().custom_metadata_map
        assert json.loads(known["columns"]) == list(frame().columns)
        assert json.loads(known["inputs"]) == list(input_types(session))

    def test_classes(self, tmp_path):
        X, (table, _) = frame(), frame_columns()
        model = DMKDClassifier(**SMALL, reject=0.05).fit(X[::2], table["colour"][::2])
        found = answers(session_of(model, tmp_path), feeds())
        assert_same_probabilities(found, model, X)
        assert_same_density(found["log_density"], model.score_samples(X))

    @pytest.mark.parametrize("rank", [None, 4])
    def test_values(self, rank, tmp_path):
        X, (_, y) = frame(), frame_columns()
        model = QMRegressor(**SMALL, rank=rank).fit(X[::2], y[::2])
        session = session_of(model, tmp_path, quantiles=[0.2, 0.7])
        found = answers(session, feeds())
        assert_same_values(found, model, X, y.std(), quantiles=[0.2, 0.7])

    def test_some_of_the_columns(self, tmp_path):
        X = frame()
        kept = ["width", "size", "doors"]
        model = DMKDE(**SMALL, gamma=0.3, scale=None).fit(X).marginal(kept)
        given = {name: feeds()[name] for name in kept}
        found = answers(session_of(model, tmp_path), given)["log_density"]
        assert_same_density(found, model.score_samples(X[kept]))

    def test_of_polars(self, tmp_path):
        table, _ = frame_columns()
        plain = pl.DataFrame({name: table[name] for name in ("width", "colour")})
        X = plain.with_columns(pl.col("colour").cast(pl.Categorical))
        model = DMKDE(**SMALL).fit(X)
        given = {name: feeds()[name] for name in X.columns}
        found = answers(session_of(model, tmp_path), given)["log_density"]
        assert_same_density(found, model.score_samples(X))

    @pytest.mark.parametrize("feature_map", ["landmarks", "mosaic"])
    def test_unseen_categories(self, feature_map, tmp_path):
        gamma = 0.3 if feature_map == "landmarks" else None
        X = frame()
        model = DMKDE(**SMALL, gamma=gamma, feature_map=feature_map).fit(X)
        given = {name: part[:4].copy() for name, part in feeds().items()}
        asked = X[:4].astype({"colour": object, "size": object, "doors": object})
        for row, (name, value) in enumerate(
            {"colour": "mauve", "size": "", "doors": 77, "width": np.nan}.items()
        ):
            given[name][row] = value
            asked.iloc[row, asked.columns.get_loc(name)] = value
        found = answers(session_of(model, tmp_path), given)["log_density"]
        assert_same_density(found[:3], model.score_samples(asked[:3]))
        assert np.isnan(found[3])
