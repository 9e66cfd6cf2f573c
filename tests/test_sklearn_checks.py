"""scikit-learn's own checks of the estimator contract, all of them."""

import pytest
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)

from rhokit import (
    DMKDE,
    DMKDESGD,
    DMKDClassifier,
    DMKDClassifierSGD,
    DMKDOutlierDetector,
    FourierFeatures,
    LandmarkFeatures,
    MeanEmbeddingKDE,
    OneHotFeatures,
    QMClassifier,
    QMClassifierSGD,
    QMOrdinalClassifier,
    QMRegressor,
    QMRegressorSGD,
    QuadratureFeatures,
    SoftmaxFeatures,
)

# Small, so that the many fits of the checks are quick; the same code paths.
ESTIMATORS = [
    DMKDE(n_components=32, random_state=0),
    DMKDE(
        gamma=0.5, scale=None, n_components=16, feature_map="fourier", random_state=0
    ),
    DMKDE(gamma="silverman", n_components=32, scale="whiten", rank=0.5, random_state=0),
    DMKDE(
        gamma="median",
        scale="robust",
        feature_map=FourierFeatures(n_components=16, form="complex"),
        random_state=0,
    ),
    MeanEmbeddingKDE(n_components=32, random_state=0),
    DMKDOutlierDetector(random_state=0),
    DMKDOutlierDetector(training="clean", n_components=32, random_state=0),
    DMKDClassifier(n_components=32, random_state=0),
    DMKDClassifier(
        gamma=0.5,
        scale=None,
        n_components=64,
        feature_map="fourier",
        priors="uniform",
        reject=0.001,
        reject_label=-99,
        random_state=0,
    ),
    QMClassifier(n_components=32, output_map="softmax", joint_rank=24, random_state=0),
    QMOrdinalClassifier(n_components=32, random_state=0),
    QMRegressor(n_components=32, random_state=0),
    DMKDESGD(n_components=16, max_epochs=3, random_state=0),
    DMKDClassifierSGD(n_components=32, max_epochs=5, random_state=0),
    QMClassifierSGD(n_components=32, max_epochs=5, random_state=0),
    QMRegressorSGD(n_components=32, max_epochs=5, random_state=0),
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
]
# These feed five columns or more, where a grid of frequencies refuses to work.
BEYOND_A_GRID = {
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_fit2d_1sample",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_sample_weight_equivalence_on_dense_data",
}


# A few rows or epochs may leave nothing to learn, which training says.
@pytest.mark.filterwarnings("ignore:training raised the loss")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def checks_of_a_grid():
    for estimator, check in estimator_checks_generator(QuadratureFeatures(tol=1e-2)):
        name = check.func.__name__
        if name not in BEYOND_A_GRID:
            yield pytest.param(estimator, check, id=name)


@pytest.mark.parametrize(("estimator", "check"), list(checks_of_a_grid()))
def test_scikit_learn_contract_of_a_grid(estimator, check):
    check(estimator)
