"""What learners are asked: predictions, whose time counts, and whole distributions.

A regressor's queries have the true value in their last column. Nobody looks at it but
``log_density``, which cannot be asked without.
"""

from dataclasses import dataclass

import numpy as np

COVERAGE = 0.9
LEVELS = np.arange(1, 20) / 20
"""Probabilities of the quantiles that everybody is asked for; the outer ones are the
ends of intervals that hold 90 %."""


@dataclass(frozen=True, eq=False)
class Predicted:
    """What is known of the target of each query.

    Parameters
    ----------
    value : array of shape (n,)
    log_density : array of shape (n,)
        At the true value; NaN of models that have none.
    interval : array of shape (n, 2)
    quantiles : array of shape (n, 19)
    """

    value: np.ndarray
    log_density: np.ndarray
    interval: np.ndarray
    quantiles: np.ndarray

    def array(self):
        """As one array, which a process hands over."""
        return np.column_stack(
            [self.value, self.log_density, self.interval, self.quantiles]
        )

    @classmethod
    def of(cls, array):
        """From the array."""
        return cls(array[:, 0], array[:, 1], array[:, 2:4], array[:, 4:])


class Values:
    """A regressor of scikit-learn's kind, which predicts values.

    Parameters
    ----------
    make : callable
        Returns the estimator; takes other parameters of it.
    """

    def __init__(self, make):
        self._estimator = make()

    def fit(self, rows, target):
        """Fit."""
        self._estimator.fit(rows, target)

    def answer(self, queries):
        """Predicted values (n,)."""
        return self._estimator.predict(queries[:, :-1])

    def judged(self, queries):
        """Predicted values alone, (n, 1)."""
        return self.answer(queries)[:, None]


class WithDistribution(Values):
    """rhokit's regressor: quantiles and intervals, corrected as it does by default."""

    def judged(self, queries):
        """Everything, as :class:`Predicted` has it."""
        model, rows, truth = self._estimator, queries[:, :-1], queries[:, -1]
        known = hasattr(model, "log_density")
        return Predicted(
            model.predict(rows),
            model.log_density(rows, truth) if known else np.full(len(rows), np.nan),
            model.predict_interval(rows, COVERAGE),
            model.predict_quantiles(rows, LEVELS),
        ).array()


class Boosted(Values):
    """NGBoost: a normal distribution, whose mean and spread are boosted."""

    def __init__(self, make):
        super().__init__(lambda: make().set_params(verbose=False))

    def judged(self, queries):
        """Everything, as :class:`Predicted` has it."""
        found = self._estimator.pred_dist(queries[:, :-1])
        return normal(found.params["loc"], found.params["scale"], queries[:, -1])


class Process(Values):
    """A Gaussian process, columns and target standardised, a scale for every column."""

    def __init__(self, make):
        super().__init__(make)
        self._estimator.set_params(normalize_y=True)

    def fit(self, rows, target):
        """Fit."""
        from sklearn.gaussian_process.kernels import (
            RBF,
            ConstantKernel,
            WhiteKernel,
        )
        from sklearn.preprocessing import StandardScaler

        self._scaler = StandardScaler().fit(rows)
        smooth = ConstantKernel() * RBF(np.ones(rows.shape[1]))
        self._estimator.set_params(kernel=smooth + WhiteKernel())
        self._estimator.fit(self._scaler.transform(rows), target)

    def answer(self, queries):
        """Predicted values (n,)."""
        return self._estimator.predict(self._scaler.transform(queries[:, :-1]))

    def judged(self, queries):
        """Everything, as :class:`Predicted` has it; noise is part of the spread."""
        rows = self._scaler.transform(queries[:, :-1])
        found = self._estimator.predict(rows, return_std=True)
        return normal(*found, queries[:, -1])


class QuantileBoosted:
    """Gradient boosting of every quantile by itself; its value is their mean.

    Parameters
    ----------
    make : callable
        Returns an estimator with ``loss`` and ``quantile``.
    """

    def __init__(self, make):
        self._models = [
            make().set_params(loss="quantile", quantile=level) for level in LEVELS
        ]

    def fit(self, rows, target):
        """Fit one after the other."""
        for model in self._models:
            model.fit(rows, target)

    def answer(self, queries):
        """Predicted values (n,)."""
        return self._quantiles(queries).mean(axis=1)

    def judged(self, queries):
        """Everything but the density, as :class:`Predicted` has it."""
        quantiles = np.sort(self._quantiles(queries), axis=1)  # they may cross
        nothing = np.full(len(queries), np.nan)
        ends = quantiles[:, [0, -1]]
        return Predicted(quantiles.mean(axis=1), nothing, ends, quantiles).array()

    def _quantiles(self, queries):
        rows = queries[:, :-1]
        return np.column_stack([model.predict(rows) for model in self._models])


class Classes:
    """A classifier of scikit-learn's kind.

    Parameters
    ----------
    make : callable
        Returns the estimator.
    n_classes : int
        Labels are numbers below.
    """

    def __init__(self, make, n_classes):
        self._estimator, self._n_classes = make(), n_classes

    def fit(self, rows, target):
        """Fit."""
        self._estimator.fit(rows, target)

    def answer(self, queries):
        """Predicted labels (n,)."""
        return self._estimator.predict(queries)

    def judged(self, queries):
        """Labels and probabilities of all classes, (n, 1 + K)."""
        found = np.zeros((len(queries), 1 + self._n_classes))
        found[:, 0] = self._estimator.predict(queries)
        known = 1 + np.asarray(self._estimator.classes_, dtype=int)
        found[:, known] = self._estimator.predict_proba(queries)
        return found


class Partitioned:
    """A model for every split of a set; the first column is the split's number.

    One process for several splits saves the time that processes take to start.

    Parameters
    ----------
    make : callable
        Takes the number of a split, returns a model.
    """

    def __init__(self, make):
        self._make = make

    def __getstate__(self):
        """What was fitted, whose bytes are counted."""
        return self._models

    def fit(self, rows, target):
        """Fit one model after the other."""
        self._models = {}
        for number in np.unique(rows[:, 0]).astype(int).tolist():
            chosen = rows[:, 0] == number
            self._models[number] = self._make(number)
            self._models[number].fit(rows[chosen, 1:], target[chosen])

    def answer(self, queries):
        """Predictions; NaN for splits that were not among the rows."""
        return self._ask("answer", queries)

    def judged(self, queries):
        """What models are judged by, (n, k)."""
        return self._ask("judged", queries)

    def _ask(self, method, queries):
        answers = None
        for number, model in self._models.items():
            chosen = queries[:, 0] == number
            if chosen.any():
                found = getattr(model, method)(queries[chosen, 1:])
                if answers is None:
                    answers = np.full((len(queries), *found.shape[1:]), np.nan)
                answers[chosen] = found
        return answers


def normal(mean, spread, truth):
    """What a normal distribution says, as :class:`Predicted` has it."""
    from scipy.stats import norm

    quantiles = mean[:, None] + np.outer(spread, norm.ppf(LEVELS))
    logs = norm.logpdf(truth, mean, spread)
    return Predicted(mean, logs, quantiles[:, [0, -1]], quantiles).array()
