"""Densities that are judged by held-out likelihood; each chooses from its own rows."""

import time
import warnings
from functools import partial

import numpy as np

from benchmarks.contest import Contestant
from benchmarks.contestants.exact_kde import ExactKDE
from benchmarks.contestants.flow import SplineFlow

OURS = "rhokit DMKDE()"
KERNELS = "exact KDE"
MIXTURE = "GaussianMixture"
BAYES = "BayesianGaussianMixture"
FLOW = "neural spline flow"
_PARTS = 1, 3, 10, 30, 100, 300
_BAYES_PARTS = 30
_VALIDATION = 0.2
_TWICE = 2


class Density:
    """rhokit's DMKDE without any setting but the seed."""

    def __init__(self, facts):
        from rhokit import DMKDE

        self._model = DMKDE(random_state=facts.get("seed", 0))

    def fit(self, rows, target=None):
        """Fit."""
        self._model.fit(rows)

    @property
    def chosen(self):
        """The map that was chosen, for the lines."""
        return {"map": type(self._model.feature_map_).__name__}

    def answer(self, queries):
        """Log-density of each query."""
        return self._model.score_samples(queries)


class ChosenMixture:
    """scikit-learn's mixture, with the number of parts that validation prefers.

    A fifth of the rows is held out, ever more parts are tried until the likelihood of
    these rows has clearly fallen, or has been below the best twice in a row (a few rows
    far away may hide that it is clear), and the best number is fitted to all rows.

    Parameters
    ----------
    parts : sequence of int
    seed : int
    """

    def __init__(self, parts=_PARTS, seed=0):
        self._parts, self._seed = parts, seed
        self.tried_ = {}

    def warm_up(self, rows, queries):
        """One part: nothing is compiled."""
        brief = ChosenMixture((1,), self._seed)
        brief.fit(rows[:500])
        brief.answer(queries[:500])

    def fit(self, rows, target=None):
        """Choose and fit."""
        order = np.random.default_rng(self._seed).permutation(len(rows))
        n_held_out = max(2, round(_VALIDATION * len(rows)))
        held_out, kept = rows[order[:n_held_out]], rows[order[n_held_out:]]
        self.parts_, best, below = None, None, 0
        for parts in self._parts:
            logs = self._try(parts, kept, held_out)
            if logs is None:
                break
            if best is None or logs.mean() > best.mean():
                self.parts_, best, below = parts, logs, 0
                continue
            below += 1
            if below == _TWICE or _clearly_below(logs, best):
                break
        if best is None:
            raise ValueError("no mixture could be fitted")
        self._model = _fitted(self._mixture(self.parts_), rows)
        return self

    @property
    def chosen(self):
        """What was tried and chosen, for the lines."""
        return {"parts": self.parts_, "tried": self.tried_}

    def answer(self, queries):
        """Log-density of each query."""
        return self._model.score_samples(queries)

    def _try(self, parts, kept, held_out):
        """Log-densities of the held-out rows; None where there is no such mixture."""
        if parts > len(kept):
            return None
        start = time.perf_counter()
        try:
            logs = _fitted(self._mixture(parts), kept).score_samples(held_out)
        except ValueError:  # a covariance that is none
            return None
        seconds = time.perf_counter() - start
        self.tried_[str(parts)] = {"validation": float(logs.mean()), "seconds": seconds}
        return logs

    def _mixture(self, parts):
        from sklearn.mixture import GaussianMixture

        return GaussianMixture(parts, random_state=self._seed)


class BayesianMixture:
    """scikit-learn's Bayesian mixture of at most 30 parts, its defaults else.

    Its own ``score_samples`` takes expectations of logarithms, which is a bound and
    integrates to less than one. The mixture of the weights, means and covariances that
    it found is a density, and was higher on the sets that were tried.
    """

    def __init__(self, facts):
        self._seed = facts.get("seed", 0)

    def fit(self, rows, target=None):
        """Fit."""
        from sklearn.mixture import BayesianGaussianMixture

        parts = min(_BAYES_PARTS, len(rows))
        model = BayesianGaussianMixture(n_components=parts, random_state=self._seed)
        self._model = _plain(_fitted(model, rows))

    def answer(self, queries):
        """Log-density of each query."""
        return self._model.score_samples(queries)


def _plain(found):
    """The mixture of the parts that a Bayesian one has found."""
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(found.n_components)
    mixture.weights_, mixture.means_ = found.weights_, found.means_
    mixture.precisions_cholesky_ = found.precisions_cholesky_
    return mixture


def _fitted(model, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged: defaults are kept
        return model.fit(rows)


def _clearly_below(logs, best):
    """Whether the mean is lower by more than two standard errors of the difference."""
    differences = best - logs
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return differences.mean() > 2 * error


def _exact(facts):
    return ExactKDE(facts.get("seed", 0), facts.get("n_choosing", 5_000))


def _mixture(facts):
    most = facts.get("most_parts", max(_PARTS))
    return ChosenMixture([n for n in _PARTS if n <= most], facts.get("seed", 0))


def _flow(facts):
    seconds = facts["flow_seconds"]
    return SplineFlow(seconds, facts["threads"], facts.get("seed", 0))


_sklearn = partial(Contestant, package="sklearn")
CONTESTANTS = (
    Contestant(OURS, Density, ours=True),
    Contestant(KERNELS, _exact),
    _sklearn(BAYES, BayesianMixture),
    _sklearn(MIXTURE, _mixture),
    Contestant(FLOW, _flow, package="zuko"),
)
