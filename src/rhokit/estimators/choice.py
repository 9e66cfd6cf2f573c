"""What a model chooses from its rows: the feature map, and γ by leave-one-out."""

import math
from functools import cache, cached_property

import numpy as np
from sklearn.base import clone

from rhokit.core import leave_one_out
from rhokit.core.arrays import safe_log
from rhokit.features import (
    FeatureMap,
    FourierFeatures,
    GridFeatures,
    LandmarkFeatures,
    QuadratureFeatures,
    distinct_rows,
    gamma_by_rule,
)
from rhokit.features.bandwidth import RULES
from rhokit.features.base import column_ends
from rhokit.features.box import BoxFeatures, FrequencyGrid
from rhokit.features.landmarks import select_landmarks

MAP_NAMES = ("auto", "fourier", "grid", "landmarks", "quadrature")
GAMMA_RULES = ("loo", *RULES)

# Leave-one-out probes so many rows, against a state of so many.
_LOO_PROBES = 2048
_LOO_ROWS = 6000
_LOO_MOST_STEPS = 12
# The same on a grid, where they cost little.
_GRID_LOO_ROWS = 2**17
# "auto" takes grids of at most so many modes, for one, two and three columns; of a
# stream, whose every batch costs an FFT, a part of it.
_MOST_MODES = (2**22, 2**22, 2**16)
_STREAM_PART = 16
# How much wider than the first rows of a stream its box is, to either side.
_STREAM_MARGIN = 0.5
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
        Whether these are all the rows that will come. The grid of a stream is given
        room to spare; a quadrature needs to know its box.
    groups : array of shape (n,), optional
        Groups of rows that get landmarks of their own.
    for_outcomes : bool
        Whether the map is to tell outcomes apart: landmarks then give states of
        length one, which do so better.
    grids : bool
        Whether the states may be Fourier series over a grid.
    schema : Schema, optional
        Where some of the columns are states of categories.
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
        grids=False,
        schema=None,
    ):
        self.wanted = wanted
        self.rows = rows
        self.weights = weights
        self.n_components = n_components
        self.seed = seed
        self.bounded = bounded
        self.groups = groups
        self.for_outcomes = for_outcomes
        self.grids = grids
        self.schema = schema
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
        d = self.rows.shape[1]
        if d > len(_MOST_MODES) or self.schema is not None:
            return "landmarks"
        grid = FrequencyGrid.for_box(gamma, self._widths, GridFeatures().tol)
        if self.grids:
            # What tells outcomes apart far from all rows is below a grid's error:
            # for a narrow kernel, landmarks do better.
            most = _MOST_MODES[d - 1] // (1 if self.bounded else _STREAM_PART)
            fits = grid.n_modes <= most
            if self.for_outcomes:
                fits = fits and grid.n_points <= self.n_components
            return "grid" if fits else "landmarks"
        if self.bounded and d <= 2 and grid.n_points <= self.n_components:
            return "quadrature"
        return "landmarks"

    @cached_property
    def _widths(self):
        """Of the box of a grid, shape (d,)."""
        seen = self.rows if self.weights is None else self.rows[self.weights > 0]
        with np.errstate(over="ignore"):
            widths = column_ends(seen, np.max) - column_ends(seen, np.min)
            return widths if self.bounded else (1 + 2 * _STREAM_MARGIN) * widths

    @property
    def has_only_categories(self):
        """Whether no column is of numbers."""
        return self.schema is not None and not self.schema.is_number.any()

    def log_mass(self, feature_map, power):
        """Logarithm of the integral of the kernel of a density, over all rows."""
        if self.schema is not None:
            return self.schema.log_mass(feature_map.gamma * power / 2)
        return feature_map.log_mass(power)

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
        if kind == "grid":
            margin = 0.0 if self.bounded else _STREAM_MARGIN
            return GridFeatures(gamma=gamma, margin=margin)
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
    most = _GRID_LOO_ROWS if gamma == "sheather-jones" else _LOO_ROWS
    rows, mass = distinct_rows(chooser.rows, chooser.weights, most, rng)
    if len(rows) < 2:
        raise ValueError(
            f"gamma={gamma!r} cannot be computed from rows that are all equal "
            f"(n_samples={len(chooser.rows)}): give gamma as a number"
        )
    total = len(chooser.rows) if chooser.weights is None else chooser.weights.sum()
    if gamma != "loo":
        return gamma_by_rule(gamma, rows, mass, n_rows=total, rng=rng)

    start = gamma_by_rule("scott", rows, mass)
    if is_grid(chooser.kind(map_gamma(start, power))) and chooser.grids:
        rows, mass = distinct_rows(chooser.rows, chooser.weights, _GRID_LOO_ROWS, rng)
    first = chooser(map_gamma(start, power))
    smallest = max(first.log_floor_ * power / 2, _LOG_TINY)
    least = smallest + math.log(_LEAST_OVER_FLOOR) - chooser.log_mass(first, power)

    # Copies of numbers go together: otherwise repeated values, as integers have, would
    # each find its twin at distance zero, and the best kernel would be infinitely
    # narrow. Categories are there to be repeated.
    out = np.minimum(mass, 1) if chooser.has_only_categories else mass

    @cache
    def likelihood(gamma):
        feature_map = chooser(map_gamma(gamma, power))
        log_mass = chooser.log_mass(feature_map, power)
        return _loo_likelihood(feature_map, rows, mass, out, power, least, log_mass)

    _, best = climb(likelihood, start, _LOO_MOST_STEPS)
    best *= 2 ** _top_of_parabola(*(likelihood(best * step) for step in (0.5, 1, 2)))
    if not is_grid(chooser.kind(map_gamma(best, power))):
        return best
    # A grid resolves any bandwidth: go on to that of all rows, by the usual rate.
    d = rows.shape[1]
    return float(best * (total / mass.sum()) ** (2 / (d + 4)))


def is_grid(kind):
    """Whether what :meth:`MapChooser.kind` says resolves any bandwidth."""
    return isinstance(kind, BoxFeatures) or kind in ("grid", "quadrature")


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


def _loo_likelihood(feature_map, rows, mass, out, power, least, log_mass):
    """Mean log-density of rows, each with a mass of ``out`` (n,) of it left out.

    Log-densities below ``least`` count as that.
    """
    rows = rows.astype(feature_map.dtype_, copy=False)
    if isinstance(feature_map, GridFeatures):
        probes = np.arange(len(rows))
        measured, lengths = _measured_on_grid(feature_map, rows, mass)
    else:
        probes = np.linspace(0, len(rows) - 1, min(len(rows), _LOO_PROBES)).astype(int)
        measured, lengths = _measured(feature_map.states(rows), probes, mass, power)
    left = leave_one_out(measured, lengths**power, out[probes], float(mass.sum()))
    # What unrelated rows measure of each other is no density: counted as one, it would
    # ask for ever narrower kernels. Below twice of it all is noise.
    floor = math.exp(feature_map.log_floor_ * power / 2)
    seen = np.where(left > 2 * floor, left - floor, 0)
    logs = safe_log(seen) - log_mass
    return float(np.average(np.maximum(logs, least), weights=mass[probes]))


def _measured_on_grid(feature_map, rows, mass):
    """What rows measure, and their squared lengths."""
    angles, _ = feature_map.columns(rows)
    sums = feature_map.sums(1)
    sums.add(0, angles, mass[:, None])
    measured = feature_map.series(sums.total() / mass.sum()).born(angles)[:, 0]
    return measured, np.ones(len(rows))


def _measured(states, probes, mass, power):
    """What probes among states (n, D) measure, and their squared lengths."""
    probed = states[probes]
    lengths = np.vecdot(probed, probed).real
    if power == 2:
        weighted = states * np.sqrt(mass).astype(states.real.dtype)[:, None]
        total = weighted.T @ weighted.conj()
        measured = np.vecdot(probed, probed @ total.T).real / mass.sum()
    else:
        total = mass.astype(states.dtype) @ states
        measured = (probed @ total.conj()).real / mass.sum()
    return measured.astype(np.float64), lengths.astype(np.float64)


def check_map(wanted, takes_grids=True):
    """Refuse what is neither a name nor a map, and grids where they do not serve."""
    on_grid = isinstance(wanted, GridFeatures) or (
        isinstance(wanted, str) and wanted == "grid"
    )
    if on_grid and not takes_grids:
        raise ValueError(
            "The 'feature_map' parameter must not be a grid where a matrix is needed, "
            "as it is for a rank, for joint states and for training: take "
            f"'quadrature'. Got {wanted!r} instead."
        )
    if isinstance(wanted, FeatureMap) or wanted in MAP_NAMES:
        return
    raise ValueError(
        f"The 'feature_map' parameter must be one of {MAP_NAMES} or an instance of "
        f"FeatureMap. Got {wanted!r} instead."
    )
