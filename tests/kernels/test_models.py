"""Models of other kernels: files, merges, refusals, and which kernel rows choose."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit import (
    DMKDE,
    CoherentFeatures,
    DMKDClassifier,
    DMKDClassifierSGD,
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    MeanEmbeddingKDE,
    QMRegressor,
    n_components_for,
)
from rhokit.errors import ModelFileError
from rhokit.kernels import CoherentKernel, LaplacianKernel, MaternKernel

X = np.random.default_rng(0).normal(size=(120, 2))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
SMALL = {"gamma": 1.0, "scale": None, "n_components": 16, "random_state": 0}
ALL_ROWS = SMALL | {"n_components": 120, "feature_map": "landmarks"}
KERNELS = ["laplacian", "matern", "cauchy", MaternKernel(nu=1.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_density_is_the_mean_of_squares(kernel):
    """Where all rows are landmarks, exact kernel density estimation."""
    model = DMKDE(kernel=kernel, **ALL_ROWS).fit(X)
    expected = (model.kernel_.overlaps(X[:9], X) ** 2).mean(axis=1)
    expected /= np.exp(model.kernel_.log_mass(2))
    assert_allclose(model.density(X[:9]), expected, rtol=1e-6)
    assert_allclose(model.mass_, 1, atol=1e-6)


def test_mean_embedding_is_the_mean_of_the_kernel_at_twice_gamma():
    model = MeanEmbeddingKDE(kernel="cauchy", **ALL_ROWS).fit(X)
    assert model.kernel_.gamma == 2
    expected = model.kernel_.overlaps(X[:9], X).mean(axis=1)
    expected /= np.exp(model.kernel_.log_mass(2, power=1))
    assert_allclose(model.density(X[:9]), expected, rtol=1e-6)


@pytest.mark.parametrize("kernel", [*KERNELS, "coherent"], ids=repr)
def test_classes_are_told_by_squares(kernel):
    model = DMKDClassifier(kernel=kernel, **ALL_ROWS).fit(X, Y)
    squares = model.kernel_.overlaps(X, X) ** 2
    evidence = squares @ np.eye(2)[Y]
    expected = evidence / evidence.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), expected, atol=1e-4)


@pytest.mark.parametrize(
    "estimator",
    [
        DMKDE(kernel="laplacian", feature_map="fourier", **SMALL),
        DMKDE(kernel=("gaussian", "cauchy"), **SMALL),
        DMKDClassifier(kernel=CoherentKernel(spin=1.5), **SMALL),
        QMRegressor(kernel=("matern", MaternKernel(nu=2.5)), **SMALL),
        DMKDE(**SMALL | {"feature_map": LandmarkFeatures(kernel="laplacian")}),
    ],
    ids=repr,
)
def test_files(estimator):
    target = () if isinstance(estimator, DMKDE) else (Y,)
    model = estimator.fit(X, *target)
    again = rhokit.loads(rhokit.dumps(model))
    assert repr(again.get_params()) == repr(model.get_params())
    assert again.kernel_ == model.kernel_
    assert_array_equal(again.score_samples(X), model.score_samples(X))
    assert again.fingerprint() == model.fingerprint()


def test_kernels_that_are_not_registered_are_not_saved():
    class Own(LaplacianKernel):
        name = "own"

    model = DMKDE(kernel=Own(), **SMALL).fit(X)
    with pytest.raises(TypeError, match="holds kernels of"):
        rhokit.dumps(model)


@pytest.mark.parametrize(
    ("old", "new"),
    [("matern", "maters"), ("2.5", "0.0"), ("nu", "mu")],
)
def test_hostile_kernels(old, new):
    made = rhokit.dumps(DMKDE(kernel=MaternKernel(nu=2.5), **SMALL).fit(X))
    kernel = re.search(rb"{[^{}]*matern[^{}]*}", made)[0]
    spoilt = kernel.replace(old.encode(), new.encode())
    assert len(spoilt) == len(kernel)
    assert spoilt != kernel
    with pytest.raises(ModelFileError):
        rhokit.loads(made.replace(kernel, spoilt))


def test_others_are_not_merged():
    parts = [DMKDE(kernel=k, **ALL_ROWS).fit(X) for k in ("gaussian", "cauchy")]
    assert parts[0].fingerprint() != parts[1].fingerprint()
    with pytest.raises(ValueError, match="differ"):
        parts[0].merge(parts[1])


class TestRefusals:
    @pytest.mark.parametrize("wanted", ["grid", "quadrature", "mosaic"])
    def test_maps_that_are_gaussian(self, wanted):
        with pytest.raises(ValueError, match=f"for feature_map='{wanted}'"):
            DMKDE(kernel="laplacian", feature_map=wanted).fit(X)

    def test_blends(self):
        with pytest.raises(ValueError, match="for feature_map='blend'"):
            DMKDClassifier(kernel="cauchy", feature_map="blend").fit(X, Y)

    @pytest.mark.parametrize(
        "feature_map", [GridFeatures(), FourierFeatures(kernel="matern")]
    )
    def test_maps_with_their_own(self, feature_map):
        with pytest.raises(ValueError, match="must be left alone for"):
            DMKDE(kernel="laplacian", feature_map=feature_map).fit(X)

    def test_densities_without_a_mass(self):
        with pytest.raises(ValueError, match="square has a finite integral"):
            DMKDE(kernel="coherent", **SMALL).fit(X)
        with pytest.raises(ValueError, match="square has a finite integral"):
            DMKDE(feature_map=FourierFeatures(kernel="coherent")).fit(X)

    def test_categories(self):
        frame = pytest.importorskip("pandas").DataFrame(
            {"a": X[:, 0], "b": list("xy") * 60}
        )
        frame["b"] = frame["b"].astype("category")
        with pytest.raises(ValueError, match="columns of categories"):
            DMKDE(kernel="laplacian").fit(frame)
        with pytest.raises(ValueError, match="columns of categories"):
            LandmarkFeatures(kernel="laplacian").fit(frame)

    def test_marginals(self):
        model = DMKDE(kernel="laplacian", **SMALL).fit(X)
        with pytest.raises(ValueError, match="Gaussian"):
            model.marginal(0)

    def test_names(self):
        message = re.escape("The 'kernel' parameter of DMKDE must be one of")
        with pytest.raises(ValueError, match=message):
            DMKDE(kernel="rbf").fit(X)

    def test_training_landmarks(self):
        model = DMKDClassifierSGD(kernel="cauchy", feature_map="landmarks")
        with pytest.raises(ValueError, match="cannot be trained with"):
            model.fit(X, Y)


def test_onnx(tmp_path):
    import onnxruntime

    path, narrow = tmp_path / "model.onnx", X.astype(np.float32)
    fourier = DMKDE(kernel="laplacian", feature_map="fourier", **SMALL).fit(narrow)
    rhokit.export_onnx(fourier, path, output_dtype="float64")
    session = onnxruntime.InferenceSession(path.read_bytes())
    (found, *_) = session.run(None, {session.get_inputs()[0].name: narrow})
    assert_allclose(np.ravel(found), fourier.score_samples(narrow), atol=1e-5)
    with pytest.raises(ValueError, match="cannot be exported"):
        rhokit.export_onnx(DMKDE(kernel="laplacian", **SMALL).fit(X), path)


class TestChoice:
    """What leave-one-out chooses, where it is known what is best."""

    def test_of_a_density_with_heavy_tails(self):
        rows = np.random.default_rng(1).standard_cauchy(size=(400, 3))
        model = DMKDE(kernel=("gaussian", "cauchy"), scale="robust", random_state=0)
        assert model.fit(rows).kernel_.name == "cauchy"
        scores = {each.kernel: each.score for each in model.candidates_}
        assert scores["cauchy"] > scores["gaussian"] + 0.5

    def test_of_a_target_that_is_periodic(self):
        rng = np.random.default_rng(2)
        rows = rng.uniform(-20, 20, size=(300, 1))
        labels = (np.sin(rows[:, 0]) > 0).astype(int)
        model = DMKDClassifier(
            kernel=("gaussian", "coherent"), gamma="loo", scale=None, random_state=0
        ).fit(rows, labels)
        assert {each.kernel for each in model.candidates_} == {"gaussian", "coherent"}
        assert model.score(rows, labels) > 0.95

    def test_all(self):
        model = DMKDE(kernel="loo", **SMALL | {"gamma": "loo"}).fit(X)
        names = {each.kernel for each in model.candidates_}
        assert names == {"gaussian", "laplacian", "matern", "cauchy"}


def test_size_rule():
    rows = np.random.default_rng(0).normal(size=(600, 1))
    size = n_components_for(
        0.1,
        rows,
        gamma=2.0,
        scale=None,
        feature_map=LandmarkFeatures(kernel="cauchy"),
        random_state=0,
    )
    assert 16 <= size <= 256


class TestSpins:
    """Exact states of the coherent kernel."""

    @pytest.mark.parametrize("form", ["real", "complex"])
    @pytest.mark.parametrize("spin", [0.5, 1.0, 2.5])
    def test_overlaps(self, form, spin):
        spins = CoherentFeatures(gamma=0.8, spin=spin, form=form).fit(X)
        states = spins.transform(X)
        assert states.shape == (len(X), (2 * spin + 1) ** 2)
        expected = CoherentKernel(0.8, spin).overlaps(X, X)
        assert_allclose(states @ states.conj().T, expected, atol=1e-12)

    def test_classes_take_them_where_they_fit(self):
        few = DMKDClassifier(gamma=0.5, kernel="coherent", random_state=0).fit(X, Y)
        assert isinstance(few.feature_map_, CoherentFeatures)
        wide = np.random.default_rng(0).normal(size=(40, 12))
        many = DMKDClassifier(gamma=0.1, kernel="coherent", random_state=0)
        many.fit(wide, wide[:, 0] > 0)
        assert not isinstance(many.feature_map_, CoherentFeatures)
        assert many.kernel_.name == "coherent"

    def test_both_forms_answer_alike(self):
        found = [
            DMKDClassifier(
                gamma=0.5, scale=None, feature_map=CoherentFeatures(form=form)
            )
            .fit(X, Y)
            .predict_proba(X)
            for form in ("real", "complex")
        ]
        assert_allclose(*found, atol=1e-10)

    def test_too_many_columns(self):
        with pytest.raises(ValueError, match="more than max_components"):
            CoherentFeatures().fit(np.zeros((3, 14)))

    def test_no_density(self):
        with pytest.raises(ValueError, match="square has a finite integral"):
            DMKDE(feature_map="coherent").fit(X)

    def test_of_another_kernel(self):
        with pytest.raises(ValueError, match="left alone"):
            DMKDClassifier(feature_map="coherent", kernel="cauchy").fit(X, Y)

    def test_trained_models_take_random_features(self):
        model = DMKDClassifierSGD(
            gamma=0.5, kernel="coherent", n_components=32, max_epochs=2, random_state=0
        ).fit(X, Y)
        assert model.feature_map_.name == "fourier"
        assert model.kernel_.name == "coherent"
