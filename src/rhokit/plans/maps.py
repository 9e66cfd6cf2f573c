"""Maps fitted to one set of rows, for any γ."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.features import FeatureMap, GridFeatures, group_rows
from rhokit.features.base import column_ends
from rhokit.features.box import FrequencyGrid
from rhokit.features.registry import MAPS, make_map
from rhokit.features.selection import select_landmarks
from rhokit.frames import Schema
from rhokit.plans.request import PlanRequest

# "auto" takes grids of at most so many modes, for one, two and three columns; of a
# stream, whose every batch costs an FFT, a part of it.
_MOST_MODES = (2**22, 2**22, 2**16)
_STREAM_PART = 16
# Where landmarks are all rows, which makes them as exact, larger grids than this only
# cost more: the waves between a few rows that lie far apart.
_MOST_FOR_FEW_ROWS = 2**18
# How much wider than the first rows of a stream its box is, to either side.
_STREAM_MARGIN = 0.5


@dataclass(eq=False)
class MapChooser:
    """Makes fitted maps for one set of rows and any γ.

    Parameters
    ----------
    request : PlanRequest
    rows : array of shape (n, d)
        Scaled rows.
    weights : array of shape (n,), optional
    groups : array of shape (n,), optional
        Groups of rows that get landmarks of their own.
    for_outcomes : bool
        Whether the map is to tell outcomes apart: landmarks then give states of
        length one, which do so better.
    schema : Schema, optional
        Where some of the columns are states of categories.
    """

    request: PlanRequest
    rows: NDArray[Any]
    weights: NDArray[np.float64] | None
    groups: NDArray[Any] | None = None
    for_outcomes: bool = False
    schema: Schema | None = None
    _fitted: dict[Any, FeatureMap] = field(default_factory=dict, repr=False)
    _latest: dict[Any, FeatureMap] = field(default_factory=dict, repr=False)

    def __call__(self, gamma: float | None) -> FeatureMap:
        """A map fitted to the rows for this γ; what γ does not touch is kept."""
        kind = self.kind(gamma)
        known = self._fitted.get(kind)
        if known is None:
            by_group = self.groups is not None and kind == "landmarks"
            known = make_map(
                kind,
                gamma=gamma,
                n_components=self.request.n_components,
                random_state=self.request.seed,
                margin=0.0 if self.request.bounded else _STREAM_MARGIN,
                normalize=self.for_outcomes,
                kernel=self.request.kernel,
                landmarks=self._landmarks_by_group() if by_group else None,
            )
            if self.request.power == 1 and isinstance(kind, str):
                known = known.linear()
            self._fitted[kind] = known.draw(self.rows, self.weights)
        if gamma is None or known.get_params()["gamma"] == gamma:
            return known
        latest = self._latest.get(kind, known)
        if latest.get_params()["gamma"] != gamma:  # one more is kept: maps are large
            latest = known.with_gamma(gamma, self.rows, self.weights)
            self._latest[kind] = latest
        return latest

    def kind(self, gamma: float | None) -> Any:
        """Name of the map that would be made, or the instance that was given."""
        wanted = self.request.feature_map
        if not (isinstance(wanted, str) and wanted == "auto"):
            return wanted
        d = self.rows.shape[1]
        has_grid = d <= len(_MOST_MODES) and self.request.is_gaussian
        if gamma is None or not has_grid or self.schema is not None:
            return "landmarks"
        bounded = self.request.bounded
        grid = FrequencyGrid.for_box(gamma, self._widths, GridFeatures().tol)
        fits_components = grid.n_points <= self.request.n_components
        if self.request.takes_series:
            # What tells outcomes apart far from all rows is below a grid's error:
            # for a narrow kernel, landmarks do better.
            most = _MOST_MODES[d - 1] // (1 if bounded else _STREAM_PART)
            fits = grid.n_modes <= most and (fits_components or not self.for_outcomes)
            fits = fits and not (
                grid.n_modes > _MOST_FOR_FEW_ROWS and self.has_few_rows
            )
            return "grid" if fits else "landmarks"
        return "quadrature" if bounded and d <= 2 and fits_components else "landmarks"

    def resolves(self, gamma: float | None) -> bool:
        """Whether the map for this γ follows the kernel itself, however narrow."""
        kind = self.kind(gamma)
        return bool((MAPS[kind] if isinstance(kind, str) else kind).resolves)

    @cached_property
    def has_few_rows(self) -> bool:
        """Whether all rows that differ could be landmarks."""
        seen = self.rows if self.weights is None else self.rows[self.weights > 0]
        most = self.request.n_components
        some = seen[: 4 * most]  # mostly tells already
        return len(group_rows(some)[0]) <= most and len(group_rows(seen)[0]) <= most

    @cached_property
    def _widths(self) -> NDArray[np.float64]:
        """Of the box of a grid, shape (d,)."""
        seen = self.rows if self.weights is None else self.rows[self.weights > 0]
        with np.errstate(over="ignore"):
            widths = column_ends(seen, np.max) - column_ends(seen, np.min)
            return widths if self.request.bounded else (1 + 2 * _STREAM_MARGIN) * widths

    @property
    def has_only_categories(self) -> bool:
        """Whether no column is of numbers."""
        return self.schema is not None and not self.schema.is_number.any()

    def log_mass(self, feature_map: Any) -> float:
        """Logarithm of the integral of the density's kernel, over all rows."""
        power = self.request.power
        if self.schema is not None:
            return self.schema.log_mass(feature_map.gamma * power / 2)
        return float(feature_map.log_mass(power))

    def _landmarks_by_group(self) -> NDArray[Any]:
        """Landmarks that each group has to itself; others select the map's own."""
        return select_landmarks(
            self.rows,
            self.weights,
            self.request.n_components,
            "kmeans",
            np.random.default_rng(self.request.seed),
            self.groups,
        )
