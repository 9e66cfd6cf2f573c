"""Densities: far away, of large offsets, of ranks, in single precision, trained."""

import numpy as np
import pytest

from rhokit import (
    DMKDE,
    DMKDOutlierDetector,
    GridFeatures,
    MeanEmbeddingKDE,
    export_onnx,
)
from rhokit.export import series_nodes
from tests.export.support import (
    SINGLE,
    assert_same_density,
    real,
    run,
    single,
    wine,
)

SMALL = {"n_components": 48, "random_state": 0}
GIVEN = SMALL | {"gamma": 0.3, "scale": "std"}


def compare(model, X, folder, **options):
    found = run(model, X, folder)["log_density"]
    assert found.dtype == np.float64
    assert_same_density(found, model.score_samples(X), **options)


class TestRealRows:
    @pytest.mark.parametrize("scale", ["std", "robust", "whiten", None])
    def test_magic(self, scale, tmp_path):
        X = single(real("density_magic")["X"])
        options = SMALL | {"feature_map": "landmarks", "scale": scale}
        model = DMKDE(**options, gamma="loo" if scale else 1e-3).fit(X[:1000])
        compare(model, X[1000:3000], tmp_path)

    @pytest.mark.parametrize("kind", [DMKDE, MeanEmbeddingKDE])
    def test_usps(self, kind, tmp_path):
        X = single(real("usps")["X_test"] / 2000)
        compare(kind(**SMALL).fit(X[:500]), X[500:], tmp_path)

    @pytest.mark.parametrize("d", [1, 2])
    def test_on_the_grid_that_the_model_chose(self, d, tmp_path):
        X = single(real("density_magic")["X"][:, :d])
        model = DMKDE(random_state=0).fit(X[:2000])
        assert isinstance(model.feature_map_, GridFeatures)
        compare(model, X[2000:4000], tmp_path, floor=model.floor_, tolerance=1e-6)


class TestFarRows:
    @pytest.mark.parametrize("feature_map", ["landmarks", "fourier"])
    @pytest.mark.parametrize("kind", [DMKDE, MeanEmbeddingKDE])
    @pytest.mark.parametrize("d", [3, 13])
    def test_are_right_at_any_distance(self, kind, feature_map, d, tmp_path):
        X = wine()[0][:, :d]
        model = kind(**GIVEN, feature_map=feature_map).fit(X)
        factors = [1, -3, 20, -1e3, 1e6, -1e12, 1e20, 1e30]
        far = np.concatenate([X[:7] * factor for factor in factors])
        found = run(model, far, tmp_path)["log_density"]
        assert_same_density(found, model.score_samples(single(far)))
        if feature_map == "landmarks" and kind is DMKDE:
            assert np.isfinite(found).all()
            assert found[-1] < -1e55  # and not the same for all that is far

    @pytest.mark.parametrize("feature_map", ["grid", "quadrature"])
    def test_outside_a_box_are_impossible(self, feature_map, tmp_path):
        X = wine()[0][:, :2]
        model = DMKDE(**GIVEN, feature_map=feature_map).fit(X)
        low, high = model.feature_map_.box()
        ends = model.scaling_.invert(np.stack([low, high, [low[0], high[1]]]))
        middle = X.mean(axis=0)
        outside = np.concatenate([(ends - middle) * 1.001 + middle, X[:1] * 1e30])
        inside = (ends - middle) * 0.9 + middle
        found = run(model, outside, tmp_path)["log_density"]
        np.testing.assert_array_equal(found, -np.inf)
        found = run(model, inside, tmp_path)["log_density"]
        assert (found < model.floor_ + 1).all()

    def test_heavy_tails_need_differences(self, tmp_path):
        rows = single(np.random.default_rng(0).standard_cauchy((400, 2)))
        options = SMALL | {"gamma": 1e6, "scale": None, "feature_map": "landmarks"}
        model = DMKDE(**options).fit(rows)
        compare(model, rows, tmp_path)


class TestDigits:
    @pytest.mark.parametrize(
        "feature_map", ["landmarks", "fourier", "grid", "quadrature"]
    )
    def test_large_offsets_lose_none(self, feature_map, tmp_path):
        d = 2 if feature_map in ("grid", "quadrature") else 5
        X = single(wine()[0][:, :d] + 1e4)
        options = GIVEN | {"feature_map": feature_map}
        compare(DMKDE(**options).fit(X), X, tmp_path, tolerance=1e-8)
        # Without scaling, the map itself must take the offset out.
        options |= {"scale": None, "gamma": 1.0}
        compare(DMKDE(**options).fit(X), X, tmp_path, tolerance=1e-8)

    @pytest.mark.parametrize(
        "feature_map", ["landmarks", "fourier", "grid", "quadrature"]
    )
    @pytest.mark.parametrize("offset", [0, 1e4])
    def test_models_in_single_precision(self, feature_map, offset, tmp_path):
        d = 2 if feature_map in ("grid", "quadrature") else 13
        X = (wine()[0][:, :d] + offset).astype(np.float32)
        model = DMKDE(**GIVEN, feature_map=feature_map).fit(X)
        assert model.feature_map_.dtype_ == np.float32
        compare(model, X, tmp_path, tolerance=SINGLE, floor=model.floor_)


class TestStates:
    @pytest.mark.parametrize("rank", [1, 5, 0.25, "elbow", None])
    @pytest.mark.parametrize("feature_map", ["landmarks", "fourier", "quadrature"])
    def test_keep_their_rank(self, rank, feature_map, tmp_path):
        X = wine()[0][:, : 2 if feature_map == "quadrature" else 13]
        model = DMKDE(**GIVEN, rank=rank, feature_map=feature_map).fit(X)
        compare(model, X, tmp_path)

    @pytest.mark.parametrize("rank", [None, 5])
    def test_that_are_factors(self, rank, tmp_path):
        X = wine()[0]
        model = DMKDE(**GIVEN, rank=rank).fit(X).compact()
        compare(model, X, tmp_path)
        model.rank = 2
        compare(model, X, tmp_path)

    def test_that_were_merged_and_have_forgotten(self, tmp_path):
        X = wine()[0]
        model = DMKDE(**GIVEN).fit(X[:100])
        other = model.blank().partial_fit(X[100:], sample_weight=np.arange(78.0))
        model.merge(other).unlearn(X[:50])
        compare(model, X, tmp_path)

    @pytest.mark.parametrize("scale", ["std", "whiten"])
    def test_of_some_columns(self, scale, tmp_path):
        X = wine()[0]
        model = DMKDE(**GIVEN | {"scale": scale}).fit(X).marginal([0, 3, 4])
        compare(model, X[:, [0, 3, 4]], tmp_path)

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_of_very_few_rows(self, n, tmp_path):
        X = wine()[0]
        compare(DMKDE(**GIVEN).fit(X[:n]), X, tmp_path)


class TestMosaics:
    @pytest.mark.parametrize("scale", ["auto", "robust", "common"])
    def test_magic(self, scale, tmp_path):
        X = single(real("density_magic")["X"])
        model = DMKDE(random_state=0, scale=scale).fit(X[:1000])
        assert np.isfinite(model.feature_map_.shapes_.low).any()
        compare(model, X[1000:3000], tmp_path)

    @pytest.mark.parametrize("gamma", ["loo", 0.3])
    def test_far_rows(self, gamma, tmp_path):
        X = wine()[0][:, :5]
        model = DMKDE(feature_map="mosaic", gamma=gamma, random_state=0).fit(X)
        factors = [1, -3, 20, -1e3, 1e6, -1e12, 1e20, 1e30]
        far = np.concatenate([X[:7] * factor for factor in factors])
        found = run(model, far, tmp_path)["log_density"]
        assert not np.isnan(found).any()
        expected = model.score_samples(single(far))
        np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
        seen = np.isfinite(expected)
        assert_same_density(found[seen], expected[seen])

    def test_rows_without_density(self, tmp_path):
        """Below where a logarithm begins."""
        X = single(np.random.default_rng(0).lognormal(size=(2000, 3)))
        model = DMKDE(random_state=0).fit(X)
        assert (model.feature_map_.kinds_ == 1).any()
        found = run(model, [[-1.0, -1, -1], [1, 1, 1]], tmp_path)["log_density"]
        assert found[0] == -np.inf
        assert np.isfinite(found[1])

    def test_states(self, tmp_path):
        """Factors, merged ones that have forgotten, of some columns and of few rows."""
        X = wine()[0][:, :6]
        model = DMKDE(random_state=0).fit(X[:100])
        compare(model.compact(), X, tmp_path)
        compare(model.marginal([0, 3, 4]), X[:, [0, 3, 4]], tmp_path)
        compare(model.marginal([2]), X[:, [2]], tmp_path)
        other = model.blank().partial_fit(X[100:], sample_weight=np.arange(78.0))
        compare(model.merge(other).unlearn(X[:50]), X, tmp_path)
        compare(DMKDE(random_state=0).fit(X[:3]), X, tmp_path)

    def test_in_single_precision(self, tmp_path):
        X = wine()[0].astype(np.float32)
        model = DMKDE(random_state=0).fit(X)
        assert model.feature_map_.dtype_ == np.float32
        compare(model, X, tmp_path, tolerance=SINGLE)


class TestSeries:
    def test_taylor_series_and_waves_agree(self, tmp_path, monkeypatch):
        X = wine()[0][:, :1]
        model = DMKDE(**GIVEN, feature_map="grid").fit(X)
        short = run(model, X, tmp_path)["log_density"]
        monkeypatch.setattr(series_nodes, "_table", lambda *_: None)
        long = run(model, X, tmp_path)["log_density"]
        assert_same_density(long, short, tolerance=1e-7)


class TestBatches:
    @pytest.mark.parametrize("feature_map", ["landmarks", "fourier", "grid"])
    @pytest.mark.parametrize("d", [1, 3])
    def test_of_any_size_say_the_same(self, feature_map, d, tmp_path):
        X = wine()[0][:, :d]
        tol = GridFeatures(tol=1e-3) if feature_map == "grid" else feature_map
        model = DMKDE(**GIVEN, feature_map=tol).fit(X)
        many = run(model, np.tile(X, (20, 1)), tmp_path)["log_density"]
        alone = [run(model, X[i : i + 1], tmp_path)["log_density"] for i in range(4)]
        assert many.shape == (20 * len(X),)
        assert alone[0].shape == (1,)
        np.testing.assert_allclose(np.concatenate(alone), many[:4], rtol=1e-12)
        assert run(model, X[:0], tmp_path)["log_density"].shape == (0,)


class TestGaps:
    @pytest.mark.parametrize(
        "feature_map", ["landmarks", "fourier", "grid", "quadrature"]
    )
    def test_are_no_numbers(self, feature_map, tmp_path):
        X = wine()[0][:5, :2].copy()
        model = DMKDE(**GIVEN, feature_map=feature_map).fit(X)
        X[2, 1] = np.nan
        found = run(model, X, tmp_path)["log_density"]
        np.testing.assert_array_equal(np.isnan(found), [0, 0, 1, 0, 0])


def test_detectors_of_outliers_say_why_they_are_not_exported(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 3))
    detector = DMKDOutlierDetector(random_state=0).fit(rows)
    with pytest.raises(ValueError, match="Export a DMKDE of the same rows"):
        export_onnx(detector, tmp_path / "detector.onnx")
