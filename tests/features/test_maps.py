"""Laws that every feature map obeys."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from rhokit.fast import blocks
from rhokit.features import (
    FourierFeatures,
    LandmarkFeatures,
    OneHotFeatures,
    QuadratureFeatures,
    SoftmaxFeatures,
)
from tests.features.support import squared_overlaps

# Two columns on a small lattice, so that categories repeat and integers do.
ROWS = np.random.default_rng(51).integers(-3, 4, size=(40, 2)).astype(float)

MAPS = {
    "fourier": FourierFeatures(n_components=16, random_state=0),
    "fourier, not normalised": FourierFeatures(
        n_components=16, normalize=False, random_state=0
    ),
    "orthogonal pairs": FourierFeatures(
        n_components=16, sampling="orthogonal", form="pair", random_state=0
    ),
    "sobol": FourierFeatures(n_components=16, sampling="sobol", random_state=0),
    "halton": FourierFeatures(n_components=16, sampling="halton", random_state=0),
    "structured": FourierFeatures(
        n_components=16, sampling="structured", random_state=0
    ),
    "complex": FourierFeatures(n_components=16, form="complex", random_state=0),
    "quadrature": QuadratureFeatures(tol=1e-3),
    "landmarks": LandmarkFeatures(n_components=9, random_state=0),
    "landmarks++": LandmarkFeatures(
        n_components=9, selection="kmeans++", random_state=0
    ),
    "landmarks, uniform": LandmarkFeatures(
        n_components=9, selection="uniform", random_state=0
    ),
    "landmarks, normalised": LandmarkFeatures(
        n_components=9, normalize=True, random_state=0
    ),
    "softmax": SoftmaxFeatures(n_components=5),
    "onehot": OneHotFeatures(),
}
NUMERIC = {name: m for name, m in MAPS.items() if m.numeric_rows}
GAUSSIAN = {name: m for name, m in MAPS.items() if hasattr(m, "gamma")}

every_map = pytest.mark.parametrize("feature_map", MAPS.values(), ids=MAPS.keys())
every_numeric_map = pytest.mark.parametrize(
    "feature_map", NUMERIC.values(), ids=NUMERIC.keys()
)
every_gaussian_map = pytest.mark.parametrize(
    "feature_map", GAUSSIAN.values(), ids=GAUSSIAN.keys()
)


def fit(feature_map, rows=ROWS, **options):
    return clone(feature_map).fit(rows, **options)


def is_complex(feature_map):
    return getattr(feature_map, "form", None) == "complex"


class TestColumns:
    """``φ(x) = e^s Bᵀ c(x)``, which is what estimators compute with."""

    @every_map
    def test_overlaps_are_at_most_one(self, feature_map):
        states = fit(feature_map).transform(ROWS)
        if getattr(feature_map, "normalize", True):
            assert squared_overlaps(states, states).max() <= 1 + 1e-9

    @every_map
    @pytest.mark.parametrize("threads", [1, 2])
    def test_blocks_and_threads(self, feature_map, threads, monkeypatch):
        fitted = fit(feature_map)
        whole = fitted.transform(ROWS)
        monkeypatch.setattr("rhokit.features.base.block_rows", lambda dim: 7)
        with threadpool_limits(limits=threads, user_api="blas"):
            assert blocks.blas_threads() == threads
            assert_allclose(fitted.transform(ROWS), whole, atol=1e-12)


class TestScikitLearn:
    @every_map
    def test_pipeline(self, feature_map):
        pipeline = make_pipeline(StandardScaler(), clone(feature_map))
        states = pipeline.fit_transform(ROWS)
        scaled = StandardScaler().fit_transform(ROWS)
        assert_array_equal(states, fit(feature_map, scaled).transform(scaled))
        names = pipeline[-1:].get_feature_names_out()
        assert len(names) == states.shape[1]

    @every_map
    def test_names(self, feature_map):
        fitted = fit(feature_map)
        names = fitted.get_feature_names_out()
        assert len(set(names)) == len(names) == fitted.n_components_

    @every_map
    @pytest.mark.parametrize(("output", "kind"), [("pandas", pd), ("polars", pl)])
    def test_set_output(self, feature_map, output, kind):
        if is_complex(feature_map) and output == "polars":
            return  # polars has no complex numbers
        fitted = fit(feature_map).set_output(transform=output)
        frame = fitted.transform(ROWS)
        assert isinstance(frame, kind.DataFrame)
        assert list(frame.columns) == list(fitted.get_feature_names_out())
        assert_array_equal(np.asarray(frame), fit(feature_map).transform(ROWS))

    @every_map
    @pytest.mark.parametrize(
        ("method", "arguments"),
        [("transform", [ROWS]), ("fingerprint", []), ("get_feature_names_out", [])],
    )
    def test_not_fitted(self, feature_map, method, arguments):
        with pytest.raises(NotFittedError, match=type(feature_map).__name__):
            getattr(clone(feature_map), method)(*arguments)

    @every_map
    def test_fit_again_is_fit(self, feature_map):
        names = pd.DataFrame(ROWS + 1, columns=["a", "b"])
        fitted = clone(feature_map).fit(names).fit(ROWS)
        assert fitted.fingerprint() == fit(feature_map).fingerprint()
        assert not hasattr(fitted, "feature_names_in_")


class TestFingerprint:
    def test_all_maps_differ(self):
        prints = {name: fit(m).fingerprint() for name, m in MAPS.items()}
        assert len(set(prints.values())) == len(prints)

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("fourier", {"gamma": 1.1}),
            ("fourier", {"n_components": 18}),
            ("fourier", {"random_state": 1}),
            ("fourier", {"sampling": "iid", "form": "pair"}),
            ("quadrature", {"gamma": 1.1}),
            ("quadrature", {"tol": 1.1e-3}),
            ("quadrature", {"bounds": [[-3, -3], [3, 3.5]]}),
            ("landmarks", {"gamma": 1.1}),
            ("landmarks", {"n_components": 8}),
            ("landmarks", {"landmarks": [[0.0, 1.0]]}),
            ("softmax", {"n_components": 6}),
            ("softmax", {"beta": 32.5}),
            ("softmax", {"bounds": [[-3, -3], [3, 3.5]]}),
        ],
        ids=str,
    )
    def test_anything_drawn_differently(self, name, change):
        changed = clone(MAPS[name]).set_params(**change)
        assert fit(changed).fingerprint() != fit(MAPS[name]).fingerprint()

    @pytest.mark.parametrize(
        "name", ["quadrature", "landmarks", "landmarks++", "softmax", "onehot"]
    )
    def test_other_rows(self, name):
        other = fit(MAPS[name], np.concatenate([ROWS[:-1], [[5.0, -6.0]]]))
        assert other.fingerprint() != fit(MAPS[name]).fingerprint()

    def test_parts_do_not_run_into_each_other(self):
        """``2.0, 312`` is not ``2.03, 12``."""
        first, second = (
            fit(SoftmaxFeatures(beta=beta, n_components=count)).fingerprint()
            for beta, count in ((2.0, 312), (2.03, 12))
        )
        assert first != second


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


INPUTS = {
    "list": np.ndarray.tolist,
    "read-only": read_only,
    "fortran": np.asfortranarray,
    "strided": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "integers": lambda rows: rows.astype(int),
    "object": lambda rows: rows.astype(object),
    "pandas": lambda rows: pd.DataFrame(rows, columns=["a", "b"]),
    "pandas integers": lambda rows: pd.DataFrame(rows, columns=["a", "b"]).astype(int),
    "polars": lambda rows: pl.DataFrame(rows, schema=["a", "b"], orient="row"),
}


class TestInput:
    @every_map
    @pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS.keys())
    def test_any_kind(self, feature_map, make):
        expected = fit(feature_map).transform(ROWS)
        fitted = fit(feature_map, make(ROWS))
        assert_array_equal(fitted.transform(make(ROWS)), expected)

    @every_numeric_map
    def test_single_precision(self, feature_map):
        rows = ROWS + np.random.default_rng(0).normal(
            0, 0.1, size=ROWS.shape
        )  # no ties
        single = rows.astype("float32")
        fitted = fit(feature_map, single)
        states = fitted.transform(single)
        assert fitted.dtype_ == np.float32
        assert states.real.dtype == np.float32
        overlaps = squared_overlaps(states, states)
        double = fit(feature_map, rows).transform(rows)
        assert_allclose(overlaps, squared_overlaps(double, double), atol=1e-4)

    @every_numeric_map
    @pytest.mark.parametrize("fitted_to", ["float32", "float64"])
    def test_precision_is_that_of_fit(self, feature_map, fitted_to):
        fitted = fit(feature_map, ROWS.astype(fitted_to))
        for given in ("float32", "float64", "int64"):
            states = fitted.transform(ROWS.astype(given))
            assert states.real.dtype == fitted_to

    @every_map
    def test_names_of_columns(self, feature_map):
        frame = pd.DataFrame(ROWS, columns=["a", "b"])
        fitted = fit(feature_map, frame)
        assert fitted.feature_names_in_.tolist() == ["a", "b"]
        with pytest.raises(ValueError, match="feature names"):
            fitted.transform(frame[["b", "a"]])

    @every_map
    def test_weights(self, feature_map):
        """Zero is not there, and k is k copies."""
        weights = np.random.default_rng(0).integers(0, 4, size=40)
        weighted = fit(feature_map, sample_weight=weights)
        copies = fit(feature_map, np.repeat(ROWS, weights, axis=0))
        assert weighted.fingerprint() == copies.fingerprint()
        assert_array_equal(weighted.transform(ROWS), copies.transform(ROWS))

    @every_map
    def test_one_row(self, feature_map):
        fitted = fit(feature_map, ROWS[:1])
        states = fitted.transform(ROWS[:1])
        assert states.shape == (1, fitted.n_components_)
        if getattr(feature_map, "normalize", True):
            assert_allclose(squared_overlaps(states, states), 1, rtol=1e-9)

    @every_map
    def test_reach(self, feature_map):
        if feature_map is MAPS["landmarks, normalised"]:
            return  # refused: see the landmarks' own tests
        reached = fit(feature_map).reach(ROWS)
        assert reached.shape == (40,)
        assert ((reached >= 0) & (reached <= 1)).all()

    @every_gaussian_map
    @pytest.mark.parametrize("gamma", [0.1, 3.0])
    def test_with_gamma(self, feature_map, gamma):
        fitted = fit(feature_map)
        before = fitted.fingerprint()
        other = fitted.with_gamma(gamma, ROWS, None)
        fresh = fit(clone(feature_map).set_params(gamma=gamma))
        assert other.fingerprint() == fresh.fingerprint()
        assert_array_equal(other.transform(ROWS), fresh.transform(ROWS))
        assert fitted.fingerprint() == before

    @every_gaussian_map
    def test_log_mass(self, feature_map):
        """``∫ exp(-γ‖x-y‖²) dy = (π/γ)^{d/2}``."""
        fitted = fit(clone(feature_map).set_params(gamma=0.7))
        assert_allclose(fitted.log_mass(), np.log(np.pi / 0.7))
        assert_allclose(fitted.log_mass(power=1), np.log(np.pi / 0.35))


def with_entry(value, row=3, column=1):
    rows = ROWS.astype(object if isinstance(value, str) else float)
    rows[row, column] = value
    return rows


BAD_ROWS = {
    "nan": (with_entry(np.nan), "row 3: column 1: .*NaN"),
    "infinity": (with_entry(-np.inf), "row 3: column 1: .*infinity"),
    "text": (with_entry("many"), "column 1: .* X holds 'many'"),
    "named column": (
        pd.DataFrame(with_entry(np.nan), columns=["a", "b"]),
        "column 'b': .*NaN",
    ),
    "text in a named column": (
        pd.DataFrame(with_entry("many"), columns=["a", "b"]),
        "column 'b': .* X holds 'many'",
    ),
    "no rows": (ROWS[:0], "0 sample"),
    "one dimension": (ROWS[:, 0], "Expected 2D array"),
    "complex": (ROWS + 1j, "Complex data not supported"),
}


class TestErrors:
    """What is said; that all maps refuse it, and stay as they were, is a law."""

    @pytest.mark.parametrize(
        ("rows", "message"), BAD_ROWS.values(), ids=BAD_ROWS.keys()
    )
    def test_bad_rows(self, rows, message):
        feature_map = MAPS["landmarks"]
        fitted = fit(feature_map)
        before = pickle.dumps(fitted)
        for method in (clone(feature_map).fit, fitted.fit):
            with pytest.raises(ValueError, match=message):
                method(rows)
        assert pickle.dumps(fitted) == before

    @every_map
    def test_wrong_width(self, feature_map):
        with pytest.raises(ValueError, match=r"X has 3 features, but .* expecting 2"):
            fit(feature_map).transform(np.zeros((4, 3)))

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (
                np.full(40, -1.0),
                "row 0: sample_weight must not be negative, got -1.0",
            ),
            (np.zeros(40), "sample_weight is zero for every row"),
            (np.ones(39), r"sample_weight must have shape \(40,\)"),
            (np.full(40, np.nan), "Input sample_weight contains NaN"),
        ],
        ids=["negative", "zero", "too few", "nan"],
    )
    def test_bad_weights(self, weights, message):
        with pytest.raises(ValueError, match=message):
            fit(MAPS["landmarks"], sample_weight=weights)

    @pytest.mark.parametrize(
        ("name", "parameter", "value"),
        [
            *[
                (name, "gamma", value)
                for name in ("fourier", "quadrature", "landmarks")
                for value in (0, -1.0, np.nan, np.inf, "scott", None)
            ],
            *[
                (name, "n_components", value)
                for name in ("fourier", "landmarks", "softmax")
                for value in (0, -3, 2.5, "many")
            ],
            ("fourier", "sampling", "random"),
            ("fourier", "form", "cos"),
            ("fourier", "normalize", "yes"),
            ("fourier", "random_state", "seed"),
            ("fourier", "random_state", -1),
            ("quadrature", "tol", 0),
            ("quadrature", "tol", 1),
            ("quadrature", "bounds", "wide"),
            ("quadrature", "max_components", 0),
            ("landmarks", "selection", "best"),
            ("landmarks", "landmarks", 3),
            ("landmarks", "normalize", 2),
            ("landmarks", "random_state", 0.5),
            ("softmax", "beta", 0),
            ("softmax", "bounds", 3),
        ],
        ids=str,
    )
    def test_bad_parameters(self, name, parameter, value):
        feature_map = clone(MAPS[name]).set_params(**{parameter: value})
        owner = type(feature_map).__name__
        with pytest.raises(
            ValueError,
            match=rf"'{parameter}' parameter of {owner} must be.*Got {value!r}",
        ):
            feature_map.fit(ROWS)
