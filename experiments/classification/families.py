"""The classifiers: how each is made, and what its search draws from.

γ is the density's, everywhere, as a multiple of the median rule's (``width``).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from experiments.classification.linear_svm import SquaredHingeSVM
from rhokit import (
    DMKDClassifier,
    DMKDClassifierSGD,
    FourierFeatures,
    LandmarkFeatures,
    QMClassifier,
    QMClassifierSGD,
)

# Trees look at every column for every split: of images, at principal components.
_MOST_TREE_COLUMNS = 256
_COMPONENTS = 64
_ROUNDS = 100
BOOSTING = "gradient boosting"


@dataclass(frozen=True)
class Family:
    """A model with settings.

    Parameters
    ----------
    name : str
    make : callable
        ``make(settings, n_components, seed)`` returns an estimator; among the settings
        is ``epochs``, which is not searched.
    space : dict
        For each setting, a function that draws its value; none: no search.
    like : str, optional
        The family whose settings it takes over.
    ours : bool
    """

    name: str
    make: Callable
    space: dict = field(default_factory=dict)
    like: str | None = None
    ours: bool = True


def one_of(*values):
    """Any of the values."""
    return lambda rng: values[rng.integers(len(values))]


def power_of_two(low, high):
    """Two to a power between these."""
    return lambda rng: float(2 ** rng.uniform(low, high))


# ---- how they are made ---------------------------------------------------------------


def _svm(features):
    def make(settings, n_components, seed):
        states = features(
            gamma=settings["gamma"], n_components=n_components, random_state=seed
        )
        return make_pipeline(states, SquaredHingeSVM(settings["penalty"]))

    return make


def _estimated(kind, **fixed):
    def make(settings, n_components, seed):
        return kind(
            gamma=settings["gamma"],
            rank=settings["rank"],
            n_components=n_components,
            feature_map="fourier",
            scale=None,
            random_state=seed,
            **fixed,
        )

    return make


def _trained(kind, **fixed):
    def make(settings, n_components, seed):
        return kind(
            gamma=settings["gamma"],
            rank=settings["rank"],
            label_smoothing=settings["smoothing"],
            learning_rate=settings["learning_rate"],
            max_epochs=settings["epochs"],
            n_components=n_components,
            feature_map="fourier",
            scale=None,
            init="random",
            random_state=seed,
            **fixed,
        )

    return make


def _default(settings, n_components, seed):
    return DMKDClassifier(n_components=n_components, random_state=seed)


def _default_trained(settings, n_components, seed):
    return DMKDClassifierSGD(
        n_components=n_components, max_epochs=settings["epochs"], random_state=seed
    )


def _neighbours(settings, n_components, seed):
    return KNeighborsClassifier(settings["neighbours"])


def _boosting(settings, n_components, seed):
    rounds = _ROUNDS if settings["epochs"] == "auto" else settings["epochs"]
    return Boosting(max_iter=rounds, random_state=seed)


class Boosting(HistGradientBoostingClassifier):
    """Boosted trees; of rows with many columns, over principal components."""

    def fit(self, X, y):
        """Fit."""
        self._reduction = None
        if X.shape[1] > _MOST_TREE_COLUMNS:
            n = min(_COMPONENTS, len(X))
            self._reduction = PCA(n, random_state=self.random_state).fit(X)
        return super().fit(self._reduced(X), y)

    def predict(self, X):
        """Labels."""
        return super().predict(self._reduced(X))

    def predict_proba(self, X):
        """Probabilities of the classes."""
        return super().predict_proba(self._reduced(X))

    def _reduced(self, X):
        return X if self._reduction is None else self._reduction.transform(X)


_PENALISED = {"width": power_of_two(-2, 5), "penalty": power_of_two(0, 8)}
_ONE_PASS = {"width": power_of_two(-1, 8), "rank": one_of(None, None, 0.5, 0.1)}
_GRADIENT = {
    "width": power_of_two(-2, 5),
    "rank": one_of(10, 20, 40),
    "smoothing": one_of(0.0, 0.1, 0.3),
    "learning_rate": one_of(2e-3, 5e-3, 1e-2),
}
FAMILIES = {
    family.name: family
    for family in (
        Family("SVM-RFF", _svm(FourierFeatures), _PENALISED, ours=False),
        Family("DMKDC", _estimated(DMKDClassifier, priors="uniform"), _ONE_PASS),
        Family("DMKDC-SGD", _trained(DMKDClassifierSGD), _GRADIENT),
        Family("QMC", _estimated(QMClassifier), like="DMKDC"),
        Family("QMC-SGD", _trained(QMClassifierSGD), like="DMKDC-SGD"),
        Family(
            "DMKDC-SGD, trained frequencies",
            _trained(DMKDClassifierSGD, train_features=True),
            like="DMKDC-SGD",
        ),
        Family("DMKDC, default", _default),
        Family("DMKDC-SGD, default", _default_trained),
        Family("LinearSVC, landmarks", _svm(LandmarkFeatures), _PENALISED, ours=False),
        Family(
            "k nearest neighbours",
            _neighbours,
            {"neighbours": one_of(1, 3, 5, 9)},
            ours=False,
        ),
        Family(BOOSTING, _boosting, ours=False),
    )
}
SVM_FAMILIES = "SVM-RFF", "LinearSVC, landmarks"


def draw(space, count, seed):
    """So many settings at random, none of them twice."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(20 * count):
        settings = {name: value(rng) for name, value in space.items()}
        if settings not in drawn:
            drawn.append(settings)
        if len(drawn) == count:
            break
    return drawn
