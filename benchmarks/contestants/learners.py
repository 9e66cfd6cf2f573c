"""Classifiers and regressors: rhokit's, and those of others, defaults against defaults.

Nobody is given settings: what a model chooses, it chooses in ``fit``, whose time
counts. Those who need columns of one scale have a ``StandardScaler`` before them.
Every model is made once for each split of a set, with the split's number as its seed.
"""

from functools import partial
from importlib import import_module

from benchmarks.contest import Contestant
from benchmarks.contestants.learners_answers import (
    Boosted,
    Classes,
    Partitioned,
    Process,
    QuantileBoosted,
    Values,
    WithDistribution,
)

# All pairs of rows in a matrix, and its inverse.
_MOST_PROCESS_ROWS = 2_000
_MOST_MACHINE_ROWS = 15_000

OUR_VALUES, OUR_CLASSES = "rhokit QMRegressor()", "rhokit DMKDClassifier()"
BOOSTED_VALUES = "HistGradientBoostingRegressor"
BOOSTED_CLASSES = "HistGradientBoostingClassifier"
FOREST_VALUES, FOREST_CLASSES = "RandomForestRegressor", "RandomForestClassifier"
NGBOOST = "NGBoost"
QUANTILES = "quantile boosting"
PROCESS = "GaussianProcessRegressor"


def _made(module, kind, **parameters):
    """An estimator from its module, which is imported only here."""
    return getattr(import_module(module), kind)(**parameters)


def _seeded(facts, seed, module, kind):
    return _made(module, kind, random_state=seed)


def _plain(facts, seed, module, kind):
    return _made(module, kind)


def _standardised(facts, seed, module, kind):
    """After a scaler of the columns."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), _made(module, kind))


def _vectors_of_values(facts, seed):
    """SVR's margin is in units of the target: it is standardised, too."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    inner = _standardised(facts, seed, "sklearn.svm", "SVR")
    return TransformedTargetRegressor(inner, transformer=StandardScaler())


def _vectors_of_classes(facts, seed):
    """SVC has no probabilities of its own: scikit-learn's way to have some."""
    from sklearn.calibration import CalibratedClassifierCV

    inner = _standardised(facts, seed, "sklearn.svm", "SVC")
    return CalibratedClassifierCV(inner, ensemble=False)


def _at_most(n):
    def takes(facts):
        if facts["n_fit"] <= n:
            return None
        return f"all pairs of rows: not tried on more than {n:,}"

    return takes


def _partitioned(facts, wrap, make):
    """A model for every split."""
    return Partitioned(lambda seed: wrap(partial(make, facts, seed)))


def _regressor(name, make, wrap=Values, package="sklearn", **others):
    build = partial(_partitioned, wrap=wrap, make=make)
    return Contestant(name, build, package, **others)


def _classifier(name, make, package="sklearn", **others):
    def build(facts):
        return _partitioned(facts, partial(Classes, n_classes=facts["classes"]), make)

    return Contestant(name, build, package, **others)


def _of(builder, module, kind):
    return partial(builder, module=module, kind=kind)


REGRESSORS = (
    _regressor(
        OUR_VALUES,
        _of(_seeded, "rhokit", "QMRegressor"),
        WithDistribution,
        "rhokit",
        ours=True,
    ),
    _regressor(BOOSTED_VALUES, _of(_seeded, "sklearn.ensemble", BOOSTED_VALUES)),
    _regressor(FOREST_VALUES, _of(_seeded, "sklearn.ensemble", FOREST_VALUES)),
    _regressor("Ridge", _of(_standardised, "sklearn.linear_model", "Ridge")),
    _regressor(
        "KNeighborsRegressor",
        _of(_standardised, "sklearn.neighbors", "KNeighborsRegressor"),
    ),
    _regressor("SVR", _vectors_of_values),
    _regressor(NGBOOST, _of(_seeded, "ngboost", "NGBRegressor"), Boosted, "ngboost"),
    _regressor(
        QUANTILES, _of(_seeded, "sklearn.ensemble", BOOSTED_VALUES), QuantileBoosted
    ),
    _regressor(
        PROCESS,
        _of(_seeded, "sklearn.gaussian_process", PROCESS),
        Process,
        takes=_at_most(_MOST_PROCESS_ROWS),
    ),
)
CLASSIFIERS = (
    _classifier(
        OUR_CLASSES, _of(_seeded, "rhokit", "DMKDClassifier"), "rhokit", ours=True
    ),
    _classifier(BOOSTED_CLASSES, _of(_seeded, "sklearn.ensemble", BOOSTED_CLASSES)),
    _classifier(FOREST_CLASSES, _of(_seeded, "sklearn.ensemble", FOREST_CLASSES)),
    _classifier(
        "LogisticRegression",
        _of(_standardised, "sklearn.linear_model", "LogisticRegression"),
    ),
    _classifier(
        "KNeighborsClassifier",
        _of(_standardised, "sklearn.neighbors", "KNeighborsClassifier"),
    ),
    _classifier("SVC", _vectors_of_classes, takes=_at_most(_MOST_MACHINE_ROWS)),
)
CONTESTANTS = (*REGRESSORS, *CLASSIFIERS)
# On the first splits alone: minutes for each of them.
SLOW = {QUANTILES, PROCESS}
