"""Classifiers and regressors: rhokit's, and those of scikit-learn.

Everybody chooses settings from the training rows alone, and the time that takes counts
as time of the fit. Kernel approximations have as many features as rhokit's models (the
fact ``features``), and a width and a penalty that are the best of a few on rows held
out, as a competent user would find them.
"""

from functools import partial
from importlib import import_module

import numpy as np

from benchmarks.contest import Contestant

# Settings are chosen on a share of the training rows, by models of at most so many.
_JUDGES = 0.15
_MOST_JUDGES = 2_000
_MOST_TUNING_ROWS = 2_000
# γ over the median rule; which one is first does not matter.
_CLASS_WIDTHS = (4.0, 1.0, 2.0, 8.0, 16.0)
_VALUE_WIDTHS = (1.0, 0.1, 0.3, 3.0, 10.0)
# What a row counts against the penalty: LogisticRegression's C.
_WEIGHTS = (16.0, 1.0, 256.0, 4096.0)
_MOST_STEPS = 200
_MOST_EPOCHS = 30
_RIDGES = 10.0 ** np.arange(-7, 2)
_NEIGHBOURS = (5, 1, 3, 9, 17)
# Exact kernels try so many γ over the median rule, each on all pairs of rows.
_EXACT_WIDTHS = 2.0 ** np.arange(-3, 11.5, 0.5)
_MOST_PAIRED_ROWS = 20_000
_BLOCK_QUERIES = 500


class Learner:
    """A scikit-learn estimator as contests want it."""

    def __init__(self, estimator):
        self._estimator = estimator

    def fit(self, rows, target):
        """Fit."""
        self._estimator.fit(rows, target)

    def answer(self, queries):
        """Predictions."""
        return self._estimator.predict(queries)


class Tuned:
    """An estimator whose settings are the best ones on training rows held out.

    Settings are chosen one after the other, beginning with the first value of each.

    Parameters
    ----------
    scaler : transformer
        Of the columns.
    make : callable
        Takes settings, returns an estimator. Among the settings are ``n``, the rows
        that it will be fitted to, and ``gamma``, ``width`` times the median rule.
    choices : dict of str to tuple
        What the settings are chosen from.
    seed : int
    """

    def __init__(self, scaler, make, choices, seed=0):
        self._scaler, self._make = scaler, make
        self._choices, self._seed = choices, seed

    def fit(self, rows, target):
        """Choose settings, then fit to all rows."""
        scaled = self._scaler.fit_transform(rows)
        order = np.random.default_rng(self._seed).permutation(len(rows))
        n_judges = min(int(_JUDGES * len(rows)), _MOST_JUDGES)
        judges, others = np.split(order, [n_judges])
        others = others[:_MOST_TUNING_ROWS]
        median = self._median(scaled[others])

        def score(settings):
            model = self._made(settings, median, len(others))
            model.fit(scaled[others], target[others])
            return model.score(scaled[judges], target[judges])

        self.settings_ = best_settings(score, self._choices)
        self._model = self._made(self.settings_, median, len(rows))
        self._model.fit(scaled, target)

    def answer(self, queries):
        """Predictions."""
        return self._model.predict(self._scaler.transform(queries))

    def _made(self, settings, median, n):
        gamma = settings.get("width", 1.0) * median
        return self._make(settings | {"gamma": gamma, "n": n})

    def _median(self, rows):
        """γ of the median rule, where there is a width to be chosen."""
        if "width" not in self._choices:
            return 1.0
        from rhokit.features import gamma_by_rule

        rng = np.random.default_rng(self._seed)
        return gamma_by_rule("median", rows, rng=rng)


def best_settings(score, choices):
    """Settings with the highest score, each chosen after those before it.

    Parameters
    ----------
    score : callable
        Of settings.
    choices : dict of str to tuple
        Values by name; where to begin is the first of each.
    """
    kept = {name: values[0] for name, values in choices.items()}
    highest = score(kept)
    for name, values in choices.items():
        others = [kept | {name: value} for value in values if value != kept[name]]
        scores = [score(each) for each in others]
        if max(scores, default=highest) > highest:
            highest = max(scores)
            kept = others[scores.index(highest)]
    return kept


class Smoother:
    """Means of the targets, weighed by exact kernels (Nadaraya and Watson).

    Columns are standardised. γ is the one around the median rule with the smallest
    squared error when each row is left out.
    """

    def fit(self, rows, target):
        """Keep all rows; choose γ."""
        from sklearn.preprocessing import StandardScaler

        from rhokit.features import gamma_by_rule

        self._scaler = StandardScaler().fit(rows)
        self._rows, self._target = self._scaler.transform(rows), target
        gammas = gamma_by_rule("median", self._rows) * _EXACT_WIDTHS
        means = self._means(self._rows, gammas, leave_one_out=True)
        errors = ((means - target) ** 2).mean(axis=1)
        self.gamma_ = float(gammas[errors.argmin()])

    def answer(self, queries):
        """Weighted means."""
        return self._means(self._scaler.transform(queries), [self.gamma_])[0]

    def _means(self, queries, gammas, *, leave_one_out=False):
        """Means for every γ, shape (G, n)."""
        from scipy.spatial.distance import cdist

        blocks = []
        for start in range(0, len(queries), _BLOCK_QUERIES):
            block = queries[start : start + _BLOCK_QUERIES]
            squares = cdist(block, self._rows, "sqeuclidean")
            if leave_one_out:
                own = np.arange(len(block))
                squares[own, start + own] = np.inf
            squares -= squares.min(axis=1, keepdims=True)  # nothing underflows
            kernels = (np.exp(-gamma * squares) for gamma in gammas)
            blocks.append([k @ self._target / k.sum(axis=1) for k in kernels])
        return np.concatenate(blocks, axis=1)


class Partitioned:
    """A model for every partition of a set; the first column is its number.

    Small sets are judged on several partitions. One process for all of them saves the
    time that processes take to start.

    Parameters
    ----------
    make : callable
        Returns a model.
    """

    def __init__(self, make):
        self._make = make

    def fit(self, rows, target):
        """Fit one model after the other."""
        self._models = {}
        for number in np.unique(rows[:, 0]):
            chosen = rows[:, 0] == number
            self._models[number] = self._make()
            self._models[number].fit(rows[chosen, 1:], target[chosen])

    def answer(self, queries):
        """Predictions; NaN for partitions that were not among the rows."""
        answers = np.full(len(queries), np.nan)
        for number, model in self._models.items():
            chosen = queries[:, 0] == number
            if chosen.any():
                answers[chosen] = model.answer(queries[chosen, 1:])
        return answers


# ---- how each of them is made --------------------------------------------------------


def _seed(facts):
    return facts.get("seed", 0)


def _made(module, kind, **parameters):
    """An estimator from its module, which is imported only here."""
    return getattr(import_module(module), kind)(**parameters)


def _ours(facts, kind):
    given = {"n_components": facts["features"], "random_state": _seed(facts)}
    return Learner(_made("rhokit", kind, **given))


def _bayes(facts):
    return Learner(_made("sklearn.naive_bayes", "GaussianNB"))


def _constant(facts):
    return Learner(_made("sklearn.dummy", "DummyRegressor", strategy="median"))


def _boosted(facts, kind):
    return Learner(_made("sklearn.ensemble", kind, random_state=_seed(facts)))


def _exact_means(facts):
    return Smoother()


def _exact_classes(facts):
    from benchmarks.rivals import ExactKernelClassifier

    return Learner(ExactKernelClassifier(_seed(facts)))


def _few_rows(facts):
    if facts["n"] <= _MOST_PAIRED_ROWS:
        return None
    return f"all pairs of rows: not tried on more than {_MOST_PAIRED_ROWS:,}"


def _logistic(facts, settings):
    given = {"C": settings["weight"], "max_iter": _MOST_STEPS}
    return _made("sklearn.linear_model", "LogisticRegression", **given)


def _stochastic(facts, settings):
    return _made(
        "sklearn.linear_model",
        "SGDClassifier",
        loss="log_loss",
        alpha=1 / (settings["weight"] * settings["n"]),
        max_iter=_MOST_EPOCHS,
        n_jobs=facts["threads"],
        random_state=_seed(facts),
    )


def _ridge(facts, settings):
    return _made("sklearn.linear_model", "RidgeCV", alphas=_RIDGES)


def _approximated(facts, settings, kind, head):
    """A kernel approximation and a linear model."""
    from sklearn.pipeline import make_pipeline

    size = facts["features"]
    if kind == "Nystroem":
        size = min(size, settings["n"])
    features = _made(
        "sklearn.kernel_approximation",
        kind,
        gamma=settings["gamma"],
        n_components=size,
        random_state=_seed(facts),
    )
    return make_pipeline(features, head(facts, settings))


def _neighbours(facts, settings, kind):
    given = {"n_neighbors": settings["neighbours"], "n_jobs": facts["threads"]}
    return _made("sklearn.neighbors", kind, **given)


def _tuned(facts, scaler, make, choices):
    return Tuned(
        _made("sklearn.preprocessing", scaler),
        partial(make, facts),
        choices,
        _seed(facts),
    )


def _class_approximation(facts, kind, head):
    """Pixels and counts, as the sets of classes have them, fill a box."""
    return _tuned(
        facts,
        "MinMaxScaler",
        partial(_approximated, kind=kind, head=head),
        {"width": _CLASS_WIDTHS, "weight": _WEIGHTS},
    )


def _value_approximation(facts, kind):
    return _tuned(
        facts,
        "StandardScaler",
        partial(_approximated, kind=kind, head=_ridge),
        {"width": _VALUE_WIDTHS},
    )


def _neighbour_model(facts, scaler, kind):
    return _tuned(
        facts, scaler, partial(_neighbours, kind=kind), {"neighbours": _NEIGHBOURS}
    )


def _of_values(name, build, package="sklearn", **others):
    """A contestant with a model for every partition."""

    def build_all(facts):
        return Partitioned(partial(build, facts))

    return Contestant(name, build_all, package, **others)


CLASSIFIERS = (
    Contestant(
        "rhokit DMKDClassifier", partial(_ours, kind="DMKDClassifier"), ours=True
    ),
    Contestant(
        "rhokit DMKDClassifierSGD",
        partial(_ours, kind="DMKDClassifierSGD"),
        "torch",
        ours=True,
    ),
    *(
        Contestant(
            f"{kind} + {linear}",
            partial(_class_approximation, kind=kind, head=head),
            "sklearn",
        )
        for kind in ("RBFSampler", "Nystroem")
        for linear, head in (
            ("LogisticRegression", _logistic),
            ("SGDClassifier", _stochastic),
        )
    ),
    Contestant(
        "KNeighborsClassifier",
        partial(_neighbour_model, scaler="MinMaxScaler", kind="KNeighborsClassifier"),
        "sklearn",
    ),
    Contestant("GaussianNB", _bayes, "sklearn"),
    Contestant(
        "HistGradientBoostingClassifier",
        partial(_boosted, kind="HistGradientBoostingClassifier"),
        "sklearn",
    ),
    Contestant("exact kernel classes", _exact_classes, "numba", takes=_few_rows),
)
REGRESSORS = (
    _of_values("rhokit QMRegressor", partial(_ours, kind="QMRegressor"), ours=True),
    _of_values(
        "rhokit QMRegressorSGD",
        partial(_ours, kind="QMRegressorSGD"),
        "torch",
        ours=True,
    ),
    *(
        _of_values(f"{kind} + Ridge", partial(_value_approximation, kind=kind))
        for kind in ("RBFSampler", "Nystroem")
    ),
    _of_values(
        "KNeighborsRegressor",
        partial(_neighbour_model, scaler="StandardScaler", kind="KNeighborsRegressor"),
    ),
    _of_values(
        "HistGradientBoostingRegressor",
        partial(_boosted, kind="HistGradientBoostingRegressor"),
    ),
    _of_values("exact kernel means", _exact_means),
    _of_values("constant median", _constant),
)
CONTESTANTS = (*CLASSIFIERS, *REGRESSORS)
TRAINING = {
    each.name: "gradient" if each.package == "torch" else "estimation"
    for each in CONTESTANTS
    if each.ours
}
