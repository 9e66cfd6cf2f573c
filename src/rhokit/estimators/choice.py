"""What a model chooses from its rows: the feature map, and γ by leave-one-out."""

import math
from functools import cache

import numpy as np
from sklearn.base import clone

from rhokit.core import leave_one_out
from rhokit.core.arrays import safe_log
from rhokit.features import (
    FeatureMap,
    FourierFeatures,
    LandmarkFeatures,
    QuadratureFeatures,
    distinct_rows,
    gamma_by_rule,
)
from rhokit.features.landmarks import select_landmarks
from rhokit.features.quadrature import grid_size

MAP_NAMES = ("auto", "fourier", "landmarks", "quadrature")
GAMMA_RULES = ("loo", "median", "scott", "silverman")

# Leave-one-out probes so many rows, against a state of so many.
_LOO_PROBES = 2048
_LOO_ROWS = 6000
_LOO_MOST_STEPS = 12
# The same least density for all γ, as a share of what the first map can see.
_LEAST_OVER_FLOOR = 0.01
_LOG_TINY = math.log(1e-298)


class MapChooser:
    """Makes fitted maps for one set of rows and any γ.

    Parameters
    ----------
    wanted : str or FeatureMap
        A name of :data:`MAP_NAMES`, or an instance to be cloned and given the γ.
    rows : array of shape (n, d)
        Scaled rows.
    weights : array of shape (n,), optional
    n_components : int
    seed : int
    bounded : bool
        Whether these are all the rows that will come. A grid needs to know its box,
        so ``"auto"`` does not take one for a stream.
    groups : array of shape (n,), optional
        Groups of rows that get landmarks of their own.
    for_outcomes : bool
        Whether the map is to tell outcomes apart: landmarks then give states of
        length one, which do so better.
    """

    def __init__(
        self,
        wanted,
        rows,
        weights,
        n_components,
        seed,
        bounded,
        groups=None,
        for_outcomes=False,
    ):
        self.wanted = wanted
        self.rows = rows
        self.weights = weights
        self.n_components = n_components
        self.seed = seed
        self.bounded = bounded
        self.groups = groups
        self.for_outcomes = for_outcomes
        self._fitted = {}

    def __call__(self, gamma):
        """A map fitted to the rows for this γ; what γ does not touch is kept."""
        kind = self.kind(gamma)
        known = self._fitted.get(kind)
        if known is None:
            known = self._make(kind, gamma).fit(self.rows, sample_weight=self.weights)
            self._fitted[kind] = known
        elif known.gamma != gamma:
            return known.with_gamma(gamma, self.rows, self.weights)
        return known

    def kind(self, gamma):
        """Name of the map that would be made, or the instance that was given."""
        if self.wanted != "auto":
            return self.wanted
        if self.bounded and self.rows.shape[1] <= 2:
            seen = self.rows if self.weights is None else self.rows[self.weights > 0]
            widths = np.ptp(seen, axis=0).astype(float)
            tol = QuadratureFeatures().tol
            if grid_size(gamma, widths, tol) <= self.n_components:
                return "quadrature"
        return "landmarks"

    def _make(self, kind, gamma):
        common = {
            "gamma": gamma,
            "n_components": self.n_components,
            "random_state": self.seed,
        }
        if kind == "landmarks":
            return LandmarkFeatures(
                **common, normalize=self.for_outcomes, landmarks=self._landmarks()
            )
        if kind == "fourier":
            return FourierFeatures(**common)
        if kind == "quadrature":
            return QuadratureFeatures(gamma=gamma)
        return self._given(gamma)

    def _landmarks(self):
        """Landmarks of groups; None leaves the selection to the map."""
        if self.groups is None:
            return None
        rng = np.random.default_rng(self.seed)
        return select_landmarks(
            self.rows, self.weights, self.n_components, "kmeans", rng, self.groups
        )

    def _given(self, gamma):
        feature_map = clone(self.wanted)
        parameters = feature_map.get_params()
        if "gamma" in parameters:
            feature_map.set_params(gamma=gamma)
        if parameters.get("random_state", 0) is None:
            feature_map.set_params(random_state=self.seed)
        return feature_map


def choose_gamma(gamma, chooser, power, rng):
    """γ for a model: the number itself, by a rule, or by leave-one-out.

    Parameters
    ----------
    gamma : float or str
    chooser : MapChooser
        Makes the maps whose leave-one-out likelihood is compared.
    power : int
        2 for a density matrix, 1 for a mean of features.
    rng : numpy.random.Generator
    """
    if not isinstance(gamma, str):
        return float(gamma)
    rows, mass = distinct_rows(chooser.rows, chooser.weights, _LOO_ROWS, rng)
    if len(rows) < 2:
        raise ValueError(
            f"gamma={gamma!r} cannot be computed from rows that are all equal "
            f"(n_samples={len(chooser.rows)}): give gamma as a number"
        )
    total = len(chooser.rows) if chooser.weights is None else chooser.weights.sum()
    if gamma != "loo":
        return gamma_by_rule(gamma, rows, mass, n_rows=total, rng=rng)

    start = gamma_by_rule("scott", rows, mass)
    first = chooser(map_gamma(start, power))
    smallest = max(first.log_floor_ * power / 2, _LOG_TINY)
    least = smallest + math.log(_LEAST_OVER_FLOOR) - first.log_mass(power)

    @cache
    def likelihood(gamma):
        feature_map = chooser(map_gamma(gamma, power))
        return _loo_likelihood(feature_map, rows, mass, power, least)

    _, best = climb(likelihood, start, _LOO_MOST_STEPS)
    best *= 2 ** _top_of_parabola(*(likelihood(best * step) for step in (0.5, 1, 2)))
    if chooser.kind(map_gamma(best, power)) != "quadrature":
        return best
    # A grid resolves any bandwidth: go on to that of all rows, by the usual rate.
    d = rows.shape[1]
    return best * (total / mass.sum()) ** (2 / (d + 4))


def map_gamma(gamma, power):
    """γ of the map whose overlaps to this power follow the density's kernel."""
    return gamma * 2 / power


def climb(score, start, most_steps):
    """The best score by steps of two up or down from a start, with its γ."""
    scores = {0: score(start)}

    def at(step):
        if step not in scores:
            scores[step] = score(start * 2.0**step)
        return scores[step]

    best = 0
    if most_steps:
        direction = 1 if at(1) > at(0) else -1
        while abs(best) < most_steps and at(best + direction) > at(best):
            best += direction
    return scores[best], start * 2.0**best


def _top_of_parabola(left, middle, right):
    """Where a parabola through values at -1, 0, 1 has its top, at most ½ away."""
    curvature = left - 2 * middle + right
    offset = 0.5 * (left - right) / curvature if curvature < 0 else 0.0
    return max(-0.5, min(0.5, offset)) if math.isfinite(offset) else 0.0


def _loo_likelihood(feature_map, rows, mass, power, least):
    """Mean log-density of rows, each with all copies of itself left out.

    Copies go together: otherwise repeated values, as integers have, would each
    find its twin at distance zero, and the best kernel would be infinitely narrow.
    Log-densities below ``least`` count as that.
    """
    states = feature_map.states(rows.astype(feature_map.dtype_, copy=False))
    probes = np.linspace(0, len(rows) - 1, min(len(rows), _LOO_PROBES)).astype(int)
    probed = states[probes]
    lengths = np.vecdot(probed, probed).real
    if power == 2:
        weighted = states * np.sqrt(mass).astype(states.real.dtype)[:, None]
        total = weighted.T @ weighted.conj()
        measured = np.vecdot(probed, probed @ total.T).real / mass.sum()
    else:
        total = mass.astype(states.dtype) @ states
        measured = (probed @ total.conj()).real / mass.sum()
    left = leave_one_out(
        measured.astype(np.float64),
        lengths.astype(np.float64) ** power,
        mass[probes],
        float(mass.sum()),
    )
    # What unrelated rows measure of each other is no density: counted as one, it would
    # ask for ever narrower kernels. Below twice of it all is noise.
    floor = math.exp(feature_map.log_floor_ * power / 2)
    seen = np.where(left > 2 * floor, left - floor, 0)
    logs = safe_log(seen) - feature_map.log_mass(power)
    return float(np.average(np.maximum(logs, least), weights=mass[probes]))


def check_map(wanted):
    """Refuse what is neither a name nor a map."""
    if isinstance(wanted, FeatureMap) or wanted in MAP_NAMES:
        return
    raise ValueError(
        f"The 'feature_map' parameter must be one of {MAP_NAMES} or an instance of "
        f"FeatureMap. Got {wanted!r} instead."
    )
