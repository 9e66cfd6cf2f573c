"""DMKDE and MeanEmbeddingKDE against definitions and exact KDE."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rhokit import (
    DMKDE,
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    MeanEmbeddingKDE,
    OneHotFeatures,
    QuadratureFeatures,
)
from tests.reference.density_oracles import (
    definition_of_dmkde,
    exact_log_kde,
    leave_one_out_log_kde,
)

MODELS = [DMKDE, MeanEmbeddingKDE]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(4, 0.5, (40, 2))])


@pytest.fixture
def queries():
    return np.random.default_rng(1).uniform(-3, 6, (50, 2))


class TestDefinition:
    @pytest.mark.parametrize(
        "feature_map",
        [
            FourierFeatures(n_components=40),
            FourierFeatures(n_components=40, form="pair", sampling="orthogonal"),
            FourierFeatures(n_components=40, form="complex", sampling="sobol"),
            FourierFeatures(n_components=40, normalize=False),
            LandmarkFeatures(n_components=30),
            LandmarkFeatures(n_components=30, normalize=True),
            QuadratureFeatures(tol=1e-3),
        ],
        ids=repr,
    )
    def test_full_rank_is_the_definition(self, rows, queries, feature_map):
        model = DMKDE(
            gamma=0.7, scale=None, feature_map=feature_map, random_state=3
        ).fit(rows)
        expected = definition_of_dmkde(model.feature_map_, rows, queries, 0.7)
        form = model.feature_map_.mass_matrix()
        if form is not None:  # its integral, which is divided by
            states = model.feature_map_.transform(rows)
            expected = expected / np.vecdot(states @ form, states).mean()
        # Relative to the peak: the shift of the Cholesky factor is absolute. Whitening
        # landmarks that are nearly dependent blows rounding up.
        tol = 1e-10 if isinstance(feature_map, LandmarkFeatures) else 1e-12
        assert_allclose(
            model.density(queries), expected, rtol=tol, atol=tol * expected.max()
        )

    def test_rank_is_the_truncated_definition(self, rows, queries):
        feature_map = FourierFeatures(n_components=40, random_state=0)
        model = DMKDE(gamma=0.7, scale=None, feature_map=feature_map, rank=5).fit(rows)
        states = model.feature_map_.transform(rows)
        values, vectors = np.linalg.eigh(states.T @ states / len(rows))
        kept = (vectors[:, -5:] * values[-5:]) @ vectors[:, -5:].T
        measured = model.feature_map_.transform(queries)
        expected = np.einsum("ij,jk,ik->i", measured, kept, measured) / (np.pi / 0.7)
        assert_allclose(model.density(queries), expected, rtol=1e-10)

    @pytest.mark.parametrize("rank", [3, 0.1, "elbow"])
    def test_truncation_never_adds_density(self, rows, queries, rank):
        full = DMKDE(
            gamma=0.7,
            scale=None,
            feature_map="fourier",
            n_components=64,
            random_state=0,
        )
        full.fit(rows)
        low = DMKDE(**{**full.get_params(), "rank": rank}).fit(rows)
        assert np.all(low.density(queries) <= full.density(queries) * (1 + 1e-9))

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("feature_map", ["auto", "landmarks", "quadrature"])
    def test_few_rows_are_exact_kde(self, rows, queries, model, feature_map):
        fitted = model(gamma=0.7, scale=None, feature_map=feature_map).fit(rows)
        exact = np.exp(exact_log_kde(rows, queries, 0.7))
        assert_allclose(fitted.density(queries), exact, atol=3e-8 * exact.max())

    def test_agrees_with_scikit_learn(self, rows, queries):
        theirs = KernelDensity(bandwidth=1 / np.sqrt(2 * 0.7), rtol=1e-12).fit(rows)
        ours = DMKDE(gamma=0.7, scale=None, feature_map="landmarks").fit(rows)
        near = theirs.score_samples(queries) > -12
        assert near.sum() > 20
        assert_allclose(
            ours.score_samples(queries)[near],
            theirs.score_samples(queries)[near],
            atol=1e-5,
        )

    def test_far_rows_keep_finite_and_ordered_log_densities(self, rows):
        model = DMKDE(
            gamma=0.7, scale=None, feature_map="landmarks", dtype="float32"
        ).fit(rows)
        far = np.outer(10.0 ** np.arange(1, 7), [1.0, 1.0])
        logs = model.score_samples(far)
        assert np.isfinite(logs).all()
        assert np.all(np.diff(logs) < 0)

    def test_a_grid_is_zero_outside_its_box(self, rows):
        model = DMKDE(gamma=0.7, scale=None).fit(rows)
        assert isinstance(model.feature_map_, GridFeatures)
        images = rows[:5] + np.array([model.feature_map_.period_[0], 0.0])
        assert_array_equal(model.score_samples(images), -np.inf)
        assert_array_equal(model.density(images), 0.0)

    def test_categories_give_relative_frequencies(self):
        colours = np.array([["red"], ["blue"], ["red"], ["red"]])
        model = DMKDE(feature_map=OneHotFeatures()).fit(colours)
        unseen = [["red"], ["blue"], ["green"]]
        assert_allclose(model.density(unseen), [0.75, 0.25, 0.0], atol=1e-12)
        with pytest.raises(ValueError, match="green"):
            model.partial_fit([["green"]])


class TestUnits:
    """Scaling is the model's business: densities are in the user's units."""

    @pytest.mark.parametrize(
        "scale", ["std", "robust", "whiten", np.array([0.5, 3.0])], ids=str
    )
    @pytest.mark.parametrize("model", MODELS)
    def test_density_integrates_to_one_in_user_units(self, scale, model):
        rng = np.random.default_rng(0)
        X = rng.multivariate_normal([10, -2], [[100, 9], [9, 1]], 300)
        fitted = model(gamma=2.0, scale=scale, feature_map="landmarks").fit(X)
        x, y = np.linspace(-60, 80, 281), np.linspace(-10, 6, 161)
        grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        mass = fitted.density(grid).sum() * (x[1] - x[0]) * (y[1] - y[0])
        assert_allclose(mass, 1, atol=2e-3)

    @pytest.mark.parametrize("gamma", ["loo", "scott", "silverman", "median"])
    def test_metres_or_millimetres(self, rows, queries, gamma):
        units = np.array([1000.0, 0.01])
        shared = {
            "gamma": gamma,
            "feature_map": "landmarks",
            "random_state": 0,
        }
        plain = DMKDE(**shared).fit(rows).score_samples(queries)
        other = DMKDE(**shared).fit(rows * units).score_samples(queries * units)
        assert_allclose(other, plain - np.log(units).sum(), rtol=1e-4, atol=1e-4)

    def test_a_number_is_in_the_units_of_the_rows(self, rows):
        assert DMKDE(gamma=2.0, scale=None).fit(rows).scaling_.is_identity
        assert not DMKDE(gamma="scott").fit(rows).scaling_.is_identity
        assert DMKDE(gamma="scott", scale=None).fit(rows).scaling_.is_identity

    def test_score_is_the_mean_log_density(self, rows, queries):
        model = DMKDE(gamma=1.0, scale=None, feature_map="landmarks").fit(rows)
        logs = model.score_samples(queries)
        weights = np.arange(50.0)
        assert_allclose(model.score(queries), logs.mean())
        assert_allclose(
            model.score(queries, sample_weight=weights),
            np.average(logs, weights=weights),
        )


class TestLeaveOneOut:
    @pytest.mark.parametrize("model", MODELS)
    def test_is_the_model_without_the_row(self, rows, model):
        fitted = model(gamma=0.7, scale=None, feature_map="landmarks").fit(rows)
        assert_allclose(
            fitted.score_samples(rows, leave_one_out=True),
            leave_one_out_log_kde(rows, 0.7),
            rtol=1e-5,
        )

    def test_unlearned_row_by_row(self, rows):
        model = DMKDE(
            gamma=0.7,
            scale=None,
            feature_map="fourier",
            n_components=32,
            random_state=0,
        )
        model.fit(rows)
        left = model.score_samples(rows[:5], leave_one_out=True)
        for row, expected in zip(rows[:5], left, strict=True):
            without = model.blank().merge(model).unlearn(row[None])
            assert_allclose(without.score_samples(row[None])[0], expected, rtol=1e-8)

    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks"])
    def test_with_a_rank_what_that_keeps_is_taken_out(self, feature_map):
        """ρ without the row, measured in the eigenvectors of ρ that are kept."""
        X = np.random.default_rng(0).normal(size=(300, 4))
        model = DMKDE(
            gamma=1.0,
            scale=None,
            feature_map=feature_map,
            n_components=64,
            rank=8,
            random_state=0,
        ).fit(X)
        states = model.feature_map_.transform(model.scaling_.apply(X))
        rho = states.T @ states
        kept = np.linalg.eigh(rho)[1][:, -8:]
        seen = states @ kept  # (300, 8)
        rest = [s @ (kept.T @ rho @ kept - np.outer(s, s)) @ s / 299 for s in seen]
        left = model.score_samples(X, leave_one_out=True)
        form = model.feature_map_.mass_matrix()
        if form is not None:
            form = kept.T @ form @ kept
            masses = np.array([np.vdot(kept.T @ rho @ kept, form)] * 300)
            rest = rest / ((masses - np.vecdot(seen @ form, seen)) / 299)
        norm = model.plan_.log_norm(2)
        assert_allclose(left, np.log(rest) + norm, rtol=1e-6)
        unlearned = [
            model.blank().merge(model).unlearn(row).score_samples(row)[0]
            for row in X[:60, None]
        ]
        assert np.median(np.abs(left[:60] - unlearned)) < 0.1
        assert np.abs(left[:60] - unlearned).max() < 1

    def test_needs_the_sums(self, rows):
        for rank in (None, 5):
            model = DMKDE(
                gamma=0.7,
                scale=None,
                feature_map="landmarks",
                n_components=20,
                rank=rank,
            ).fit(rows)
            whole = model.score_samples(rows, leave_one_out=True)
            assert np.isfinite(whole).all()
            for other in (model.compact(), model.marginal(0)):
                asked = rows[:, : other.n_features_in_]
                with pytest.raises(ValueError, match="only a factor"):
                    other.score_samples(asked, leave_one_out=True)
        grid = DMKDE(gamma=0.7, scale=None).fit(rows)
        assert_allclose(
            grid.compact().score_samples(rows, leave_one_out=True),
            grid.score_samples(rows, leave_one_out=True),
        )

    @pytest.mark.parametrize("feature_map", ["auto", "landmarks"])
    def test_choice_of_gamma_is_the_best_of_a_grid(self, feature_map):
        X = np.random.default_rng(5).normal(size=(200, 1))
        model = DMKDE(feature_map=feature_map, scale=None, random_state=0).fit(X)

        def likelihood(gamma):
            return leave_one_out_log_kde(X, gamma).mean()

        best = max(likelihood(gamma) for gamma in np.geomspace(0.1, 100, 25))
        assert likelihood(model.gamma_) > best - 0.005

    @pytest.mark.parametrize("feature_map", ["auto", "landmarks"])
    def test_copies_are_left_out_together(self, feature_map):
        """Otherwise each finds its twin, and no kernel is too narrow."""
        X = np.random.default_rng(5).normal(size=(200, 1))
        model = DMKDE(feature_map=feature_map, scale=None, random_state=0)
        once = model.fit(X).gamma_
        assert_allclose(model.fit(np.repeat(X, 3, axis=0)).gamma_, once, rtol=0.1)

    @pytest.mark.parametrize("model", MODELS)
    def test_beats_rules_of_thumb_where_they_oversmooth(self, model):
        rng = np.random.default_rng(0)
        X = np.concatenate([rng.normal(c, 0.05, (200, 1)) for c in range(5)])
        held_out = np.concatenate([rng.normal(c, 0.05, (50, 1)) for c in range(5)])
        by_loo = model(random_state=0).fit(X).score(held_out)
        assert (
            by_loo > model(gamma="scott", random_state=0).fit(X).score(held_out) + 0.5
        )

    def test_copies_do_not_make_it_infinitely_narrow(self):
        integers = np.random.default_rng(0).poisson(20, (500, 1))
        model = DMKDE().fit(integers)
        assert 1 / np.sqrt(2 * model.gamma_) > 0.05  # in standard deviations


class TestInput:
    """Whatever people have: the same answer or a clear error."""

    @pytest.mark.parametrize(
        "convert",
        [
            np.asfortranarray,
            lambda X: pd.DataFrame(X, columns=["a", "b"]),
            lambda X: pl.DataFrame(X, schema=["a", "b"]),
            lambda X: X.tolist(),
            lambda X: np.lib.stride_tricks.as_strided(X, writeable=False),
        ],
        ids=["fortran", "pandas", "polars", "list", "read-only"],
    )
    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks", "quadrature"])
    def test_containers(self, rows, queries, convert, feature_map):
        if feature_map == "quadrature":
            feature_map = QuadratureFeatures(tol=1e-2)
        model = DMKDE(gamma=0.7, scale=None, feature_map=feature_map, n_components=32)
        model.set_params(random_state=0)
        plain = model.fit(rows).density(queries)
        other = model.fit(convert(rows)).density(convert(queries))
        assert_allclose(other, plain, rtol=1e-7, atol=1e-12)

    def test_integers(self):
        X = np.random.default_rng(0).integers(0, 9, (80, 2))
        model = DMKDE(gamma=0.2, scale=None, n_components=128)
        plain = model.fit(X.astype(float)).density(X)
        assert_allclose(model.fit(X).density(X), plain)

    @pytest.mark.parametrize("feature_map", ["fourier", "landmarks", "quadrature"])
    def test_single_precision(self, rows, queries, feature_map):
        shared = {
            "gamma": 0.7,
            "scale": None,
            "feature_map": feature_map,
            "random_state": 0,
        }
        shared["n_components"] = 128  # more than rows: every row is a landmark
        wide = DMKDE(**shared).fit(rows)
        narrow = DMKDE(**shared).fit(rows.astype(np.float32))
        asked = DMKDE(**shared, dtype="float32").fit(rows)
        assert narrow.feature_map_.dtype_ == asked.feature_map_.dtype_ == np.float32
        assert narrow.state_.total.dtype == np.float64
        peak = wide.density(queries).max()
        for model in (narrow, asked):
            density = model.density(queries)
            assert density.dtype == np.float64
            assert_allclose(density, wide.density(queries), atol=3e-5 * peak)

    @pytest.mark.parametrize("gamma", [1e-12, 1e-6, 1e6, 1e12])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_extreme_gammas(self, gamma, dtype):
        X = np.random.default_rng(0).normal(size=(50, 1)).astype(np.float32)
        model = DMKDE(gamma=gamma, scale=None, dtype=dtype).fit(X)
        expected = exact_log_kde(X.astype(float), X[:5], gamma)
        assert_allclose(model.score_samples(X[:5]), expected, atol=1e-3)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_many_columns(self, dtype):
        X = np.random.default_rng(0).random((60, 784))
        model = DMKDE(gamma=0.05, scale=None, dtype=dtype).fit(X)
        expected = exact_log_kde(X, X[:5], 0.05)
        assert_allclose(model.score_samples(X[:5]), expected, rtol=1e-5)

    @pytest.mark.parametrize("gamma", ["loo", "scott", "median", 2.0])
    def test_constant_column_and_duplicates(self, rows, gamma):
        X = np.column_stack([np.repeat(rows, 2, axis=0), np.full(200, 7.0)])
        model = DMKDE(gamma=gamma, scale=None, feature_map="landmarks").fit(X)
        scaled = model.scaling_.apply(X)
        expected = exact_log_kde(scaled, scaled[:5], model.gamma_)
        expected += model.scaling_.log_volume
        assert_allclose(model.score_samples(X[:5]), expected, atol=1e-6)

    def test_one_single_row(self):
        model = DMKDE(gamma=2.0, scale=None).fit([[3.0, 1.0]])
        expected = multivariate_normal([3, 1], np.eye(2) / 4).logpdf([3.5, 1])
        assert_allclose(model.score_samples([[3.5, 1.0]]), expected, atol=1e-6)
        for gamma in ("loo", "scott", "median"):
            with pytest.raises(ValueError, match="n_samples=1"):
                DMKDE(gamma=gamma, scale=None).fit([[3.0, 1.0]])

    def test_equal_rows_need_a_number(self):
        with pytest.raises(ValueError, match=r"all equal.*give gamma as a number"):
            DMKDE().fit(np.ones((10, 2)))
        assert np.isfinite(
            DMKDE(gamma=1.0, scale=None).fit(np.ones((10, 2))).score([[1.0, 1.0]])
        )

    BAD: ClassVar = {
        "nan": (lambda X: np.where(np.arange(2) == 1, np.nan, X), "column 1: .*NaN"),
        "inf": (
            lambda X: np.where(np.arange(2) == 0, np.inf, X),
            "column 0: .*infinity",
        ),
        "width": (lambda X: X[:, :1], r"1 features.*expecting 2 features"),
        "empty": (lambda X: X[:0], "0 sample"),
        "text": (lambda X: np.full(X.shape, "high"), "column 0: .*holds 'high'"),
        "one dimension": (lambda X: X[:, 0], "1D array"),
        "complex": (lambda X: X + 1j, "Complex data not supported"),
    }

    @pytest.mark.parametrize("method", ["partial_fit", "unlearn", "score_samples"])
    @pytest.mark.parametrize("case", BAD)
    def test_bad_rows_are_named_and_change_nothing(self, rows, method, case):
        spoil, message = self.BAD[case]
        model = DMKDE(gamma=1.0, scale=None, n_components=16, random_state=0).fit(rows)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(spoil(rows))
        assert pickle.dumps(model) == before

    def test_frames_all_the_way(self, rows):
        frame = pd.DataFrame(rows, columns=["height", "weight"])
        model = DMKDE(
            gamma=1.0, scale=None, n_components=16, feature_map="landmarks"
        ).fit(frame)
        assert model.feature_names_in_.tolist() == ["height", "weight"]
        assert model.sample(3, random_state=0).shape == (3, 2)
        assert model.reach(frame).shape == (100,)
        assert model.score_samples(frame, leave_one_out=True).shape == (100,)
        assert model.unlearn(frame[:50]).merge(model.blank()).state_.weight[0] == 50

    def test_frames_name_the_column(self, rows):
        frame = pd.DataFrame(rows, columns=["height", "weight"])
        model = DMKDE(gamma=1.0, scale=None, n_components=16).fit(frame)
        with pytest.raises(ValueError, match=r"column 'weight': .*NaN"):
            model.score_samples(frame.assign(weight=np.nan))
        with pytest.raises(ValueError, match=r"column 'weight': .*holds 'heavy'"):
            model.score_samples(frame.assign(weight="heavy"))
        with pytest.raises(ValueError, match="feature names"):
            model.score_samples(frame.rename(columns={"weight": "mass"}))

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([-1.0] + [1.0] * 99, "row 0: .*negative, got -1.0"),
            ([1.0] * 3, r"shape \(100,\)"),
            ([0.0] * 100, "zero for every row"),
            ([np.nan] * 100, "sample_weight contains NaN"),
            (["heavy"] * 100, "sample_weight must be numbers.*heavy"),
        ],
    )
    def test_bad_weights(self, rows, weights, message):
        with pytest.raises(ValueError, match=message):
            DMKDE(gamma=1.0, scale=None).fit(rows, sample_weight=weights)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"gamma": 0}, "'gamma' parameter of DMKDE.*Got 0"),
            ({"gamma": "best"}, "'gamma' parameter of DMKDE.*Got 'best'"),
            ({"n_components": 0}, "'n_components' parameter of DMKDE"),
            ({"rank": 0}, "'rank' parameter of DMKDE"),
            ({"rank": 1.5}, "'rank' parameter of DMKDE"),
            ({"feature_map": "wavelets"}, "'feature_map' parameter.*'wavelets'"),
            ({"scale": "unit"}, "'scale' parameter of DMKDE"),
            ({"scale": [1.0, -1.0]}, "'scale' parameter.*2 positive widths"),
            ({"dtype": "int8"}, "'dtype' parameter of DMKDE"),
            ({"dtype": np.int64}, "'dtype' parameter of DMKDE"),
            ({"batch_size": 0}, "'batch_size' parameter of DMKDE"),
            ({"random_state": "x"}, "'random_state' parameter of DMKDE"),
        ],
        ids=str,
    )
    def test_bad_parameters_are_named(self, rows, parameters, message):
        with pytest.raises(ValueError, match=message):
            DMKDE(**parameters).fit(rows)


class TestPrediction:
    @pytest.mark.parametrize("model", MODELS)
    def test_changes_no_byte_of_the_model(self, rows, queries, model):
        fitted = model(gamma=1.0, n_components=16, random_state=0).fit(rows)
        before = pickle.dumps(fitted)
        fitted.score_samples(queries)
        fitted.sample(3, random_state=0)
        assert pickle.dumps(fitted) == before

    def test_is_the_same_from_many_threads(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(4000, 5))
        model = DMKDE(gamma=0.5, scale=None, n_components=256, random_state=0).fit(X)
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: model.score_samples(X), range(12)))
        for answer in answers:
            assert_array_equal(answer, answers[0])

    def test_pickle_round_trip(self, rows, queries):
        model = DMKDE(random_state=0).fit(rows)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.score_samples(queries), model.score_samples(queries))
        assert again.fingerprint() == model.fingerprint()

    def test_batch_size_changes_nothing(self, rows, queries):
        models = [
            DMKDE(gamma=1.0, scale=None, feature_map="landmarks", batch_size=size).fit(
                rows
            )
            for size in (1, 7, None)
        ]
        for model in models[:2]:
            assert_allclose(model.state_.total, models[2].state_.total, rtol=1e-12)
            # Whitening blows the sums' rounding up, by less than its cut: 1e9.
            assert_allclose(
                model.density(queries), models[2].density(queries), rtol=1e-5
            )

    def test_works_with_model_selection_and_pipelines(self, rows):
        model = DMKDE(n_components=32)
        search = GridSearchCV(model, {"gamma": [0.01, 1.0, 100.0]}, cv=3)
        assert search.fit(rows).best_params_["gamma"] == 1.0
        pipeline = make_pipeline(StandardScaler(), model).fit(rows)
        assert np.isfinite(pipeline.score(rows))

    def test_not_fitted(self, rows):
        for call in (
            lambda: DMKDE().score_samples(rows),
            lambda: DMKDE().sample(),
            lambda: DMKDE().unlearn(rows),
            lambda: DMKDE().blank(),
            lambda: DMKDE().floor_,
            lambda: DMKDE(gamma=1.0, scale=None).prepare(rows).score_samples(rows),
            lambda: (
                DMKDE(gamma=1.0, scale=None).fit(rows).unlearn(rows).score_samples(rows)
            ),
        ):
            with pytest.raises(NotFittedError):
                call()


class TestFloor:
    def test_fourier_levels_off_at_its_floor(self):
        X = np.random.default_rng(0).normal(size=(2000, 3))
        far = np.random.default_rng(1).normal(size=(500, 3)) * 100
        model = DMKDE(gamma=2.0, scale=None, feature_map="fourier", n_components=128)
        model.set_params(random_state=0).fit(X)
        level = np.log(model.density(far).mean())
        assert_allclose(level, model.floor_, atol=0.3)

    def test_a_grid_tells_everything_above_its_floor(self):
        X = np.random.default_rng(0).normal(size=(300, 1))
        model = DMKDE(gamma=2.0, scale=None).fit(X)
        queries = np.linspace(-8, 8, 400)[:, None]
        exact = np.exp(exact_log_kde(X, queries, 2.0))
        assert np.abs(model.density(queries) - exact).max() <= np.exp(model.floor_)

    def test_landmarks_have_none(self, rows):
        model = DMKDE(gamma=1.0, scale=None, feature_map="landmarks").fit(rows)
        assert model.floor_ == -np.inf

    def test_coverage_falls_away_from_the_landmarks(self, rows):
        model = DMKDE(feature_map="landmarks").fit(rows)
        near, far = model.reach(rows), model.reach(rows + 100)
        assert_allclose(near, 1, atol=1e-6)
        assert_allclose(far, 0, atol=1e-6)


def test_linear_variant_may_be_negative_and_says_so(rows):
    model = MeanEmbeddingKDE(
        gamma=5.0, scale=None, feature_map="fourier", n_components=32
    )
    model.set_params(random_state=0).fit(rows)
    far = np.random.default_rng(0).normal(size=(200, 2)) * 20
    density = model.density(far)
    assert density.min() < 0
    assert_array_equal(model.score_samples(far)[density < 0], -np.inf)


@pytest.mark.parametrize("d", [1, 2, 8])
def test_random_features_do_not_ask_for_ever_narrower_kernels(d):
    """Their floor rises with γ, and must not count as density."""
    rows = np.random.default_rng(0).normal(size=(2000, d))
    random, exact = (
        DMKDE(feature_map=name, n_components=512, random_state=0).fit(rows).gamma_
        for name in ("fourier", "landmarks")
    )
    assert exact / 8 < random < exact * 8


def test_grids_of_named_columns_need_no_names():
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(50, 2)), columns=["a", "b"]
    )
    for feature_map in ("landmarks", "fourier", "grid"):
        model = DMKDE(
            gamma=1.0, scale=None, feature_map=feature_map, n_components=16
        ).fit(frame)
        *_, density = model.grid(8)  # warnings are errors
        assert density.shape == (8, 8)


@pytest.mark.parametrize("gamma", [1.5, "loo"])
def test_linear_fourier_density_is_the_papers_equation(gamma):
    """Eq. phi_density_estimation has features as they are, not of length one."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = MeanEmbeddingKDE(
        gamma=gamma, feature_map="fourier", scale=None, n_components=64, random_state=0
    ).fit(X)
    drawn = model.feature_map_

    def features(rows):
        return np.sqrt(2 / 64) * np.cos(rows @ drawn.frequencies_ + drawn.phases_)

    expected = features(X[:20]) @ features(X).mean(axis=0)
    expected *= (model.gamma_ / np.pi) ** 1.5
    assert_allclose(model.density(X[:20]), expected, atol=1e-12 * expected.max())
    left = model.score_samples(X[:5], leave_one_out=True)
    unlearned = [
        model.blank().merge(model).unlearn(row).score_samples(row)[0]
        for row in X[:5, None]
    ]
    assert_allclose(left, unlearned, rtol=1e-9)


def test_linear_density_takes_a_map_as_it_is_given():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for normalize in (True, False):
        given = FourierFeatures(n_components=16, normalize=normalize)
        model = MeanEmbeddingKDE(
            gamma=1.0, scale=None, feature_map=given, random_state=0
        ).fit(X)
        assert model.feature_map_.normalize is normalize
    assert (
        DMKDE(gamma=1.0, scale=None, feature_map="fourier")
        .fit(X)
        .feature_map_.normalize
    )
