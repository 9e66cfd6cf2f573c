"""scikit-learn's own checks of the estimator contract, all of them."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from rhokit import (
    DMKDE,
    FourierFeatures,
    LandmarkFeatures,
    MeanEmbeddingKDE,
    OneHotFeatures,
    QuadratureFeatures,
    SoftmaxFeatures,
)

# Small, so that the many fits of the checks are quick; the same code paths.
ESTIMATORS = [
    DMKDE(n_components=32, random_state=0),
    DMKDE(gamma=0.5, n_components=16, feature_map="fourier", random_state=0),
    DMKDE(gamma="silverman", n_components=32, scale="whiten", rank=0.5, random_state=0),
    DMKDE(
        gamma="median",
        scale="robust",
        feature_map=FourierFeatures(n_components=16, form="complex"),
        random_state=0,
    ),
    MeanEmbeddingKDE(n_components=32, random_state=0),
    FourierFeatures(n_components=16, random_state=0),
    FourierFeatures(
        n_components=16, sampling="structured", form="pair", random_state=0
    ),
    LandmarkFeatures(n_components=16, random_state=0),
    LandmarkFeatures(
        n_components=16, selection="kmeans++", normalize=True, random_state=0
    ),
    SoftmaxFeatures(n_components=4),
    OneHotFeatures(),
    QuadratureFeatures(tol=1e-2),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
