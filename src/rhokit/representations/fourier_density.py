"""A density as a Fourier series, and what follows from it in closed form."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfftn, next_fast_len

from rhokit.fast import Series
from rhokit.representations.fourier_integrals import (
    FINER_LINE,
    MOST_STEPS,
    STEP_TOL,
    contracted,
    integrated,
    power_integrals,
    row_quantiles,
    solve_increasing,
)
from rhokit.representations.fourier_points import (
    derivative_orders,
    derivatives,
    pays,
)

Floats = NDArray[np.float64]
_TURN = 2 * math.pi
# Nodes for each of a series' own, where its shape is looked at, by columns.
_FINER = {1: FINER_LINE, 2: 3, 3: 2}
# Boxes narrower than this, in angles, are integrated by themselves.
_NARROW = 1e-2
# Numbers of a block of series.
_BLOCK_NUMBERS = 2**21


@dataclass(frozen=True, eq=False)
class FourierDensity:
    r"""The density :math:`f(x) = \sum_l c_l\, e^{-i l\cdot\theta(x)}` of a box.

    Angles :math:`\theta = 2\pi (x - x_0) / L` run from -π to π, and the density
    vanishes towards both ends.

    Parameters
    ----------
    coefficients : complex array of shape (2 M_1 + 1, ..., 2 M_{d-1} + 1, M_d + 1)
        c; along the last axis from l = 0, the others being complex conjugates.
    middle, period : arrays of shape (d,)
        x_0 and L.
    tol : float
        Error of values, as a share of the coefficient at zero.
    """

    coefficients: NDArray[np.complex128]
    middle: NDArray[np.float64]
    period: NDArray[np.float64]
    tol: float

    @classmethod
    def over(cls, feature_map: Any, mean: NDArray[Any]) -> "FourierDensity":
        """The density of a mean over the rows of a grid's states."""
        return cls(
            np.asarray(mean * math.exp(-feature_map.log_mass()), dtype=complex),
            feature_map.middle_,
            feature_map.period_,
            feature_map.series_tol_,
        )

    def scaled_to(self, mass: float) -> "FourierDensity":
        """This density with another integral."""
        return replace(self, coefficients=self.coefficients * (mass / self.mass))

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.coefficients.ndim

    @cached_property
    def mass(self) -> float:
        """Integral over the box."""
        return self._constant * float(np.prod(self.period))

    @property
    def _constant(self) -> float:
        middle = [size // 2 for size in self.coefficients.shape[:-1]]
        return float(self.coefficients[(*middle, 0)].real)

    @property
    def _steps(self) -> Any:
        """The l of every axis, which broadcast to the coefficients' shape."""
        *others, last = self.coefficients.shape
        ranges = [np.arange(-(size // 2), size // 2 + 1) for size in others]
        return np.meshgrid(*ranges, np.arange(last), indexing="ij", sparse=True)

    def _full(self) -> NDArray[Any]:
        """Coefficients for negative l along the last axis, too."""
        mirrored = np.flip(self.coefficients[..., 1:]).conj()
        return np.concatenate([mirrored, self.coefficients], axis=-1)

    def _angles(self, rows: NDArray[Any]) -> Floats:
        """Angles of rows (n, d); at the end for rows outside."""
        turns = (np.asarray(rows, float) - self.middle) / self.period
        return _TURN * np.clip(turns, -0.5, 0.5)

    def _rows(self, angles: NDArray[Any]) -> Floats:
        return self.middle + angles * (self.period / _TURN)

    def _evaluator(self, *series: NDArray[Any]) -> Callable[[Floats], Floats]:
        """A function from angles (n, d) to the values of series, shape (n, k)."""
        return Series(np.stack(series), self.tol * self._constant).values

    # ---- parts ----------------------------------------------------------------------

    def marginal(self, kept: Any) -> "FourierDensity":
        """The density of some of the columns, whatever the others are."""
        full = self._full()
        for axis in reversed(range(self.d)):
            if axis not in kept:
                middle = full.shape[axis] // 2
                full = np.take(full, middle, axis=axis) * self.period[axis]
        return self._part(full, kept)

    def sliced(self, given: dict[int, float]) -> "FourierDensity":
        """The density along a line or plane: values of some columns, by axis.

        Its mass is the density of what is given.
        """
        full = self._full()
        for axis in sorted(given, reverse=True):
            turn = (given[axis] - self.middle[axis]) / self.period[axis]
            half = full.shape[axis] // 2
            wave = np.exp(-1j * _TURN * turn * np.arange(-half, half + 1))
            full = np.tensordot(full, wave, axes=(axis, 0))
        return self._part(full, [axis for axis in range(self.d) if axis not in given])

    def _part(self, full: NDArray[Any], kept: Any) -> "FourierDensity":
        half = full.shape[-1] // 2
        kept = list(kept)
        return FourierDensity(
            full[..., half:], self.middle[kept], self.period[kept], self.tol
        )

    # ---- probabilities --------------------------------------------------------------

    def values(self, rows: NDArray[Any]) -> Floats:
        """Density at rows (n, d) of the box, shape (n,)."""
        return self._evaluator(self.coefficients)(self._angles(rows))[:, 0]

    def box_probability(self, low: Floats, high: Floats) -> Floats:
        """Probability of boxes from rows ``low`` to ``high`` (n, d), shape (n,)."""
        low, high = self._angles(low), self._angles(high)
        if self.d > 1:
            return np.clip(self._integrals(low, high), 0, 1)
        below = self._distribution()
        share = below(high)[:, 0] - below(low)[:, 0]
        # A difference of nearly equal numbers has few digits.
        narrow = (high - low)[:, 0] < _NARROW
        if narrow.any():
            share[narrow] = self._integrals(low[narrow], high[narrow])
        return np.clip(share, 0, 1)

    def _distribution(self) -> Callable[[Floats], Floats]:
        """A function from angles (n, 1) to distribution function and density per angle.

        In one dimension, as shares of the mass.
        """
        integral = integrated(self.coefficients)
        evaluate = self._evaluator(integral, self.coefficients)
        start = evaluate(np.full((1, 1), -math.pi))[0, 0]
        unit = 1 / (_TURN * self._constant)

        def distribution(angles: Floats) -> Floats:
            both = evaluate(angles)
            both[:, 0] += self._constant * (angles[:, 0] + math.pi) - start
            return both * unit

        return distribution

    def _integrals(self, low: Floats, high: Floats) -> Floats:
        """Shares of the mass in boxes between angles (n, d), shape (n,)."""
        full = self._full()
        blocks = _blocks(len(low), self.coefficients.size)
        shares = [self._block_integrals(full, low[b], high[b]) for b in blocks]
        return np.concatenate(shares) / self._constant

    @staticmethod
    def _block_integrals(full: NDArray[Any], low: Floats, high: Floats) -> Floats:
        parts = []
        for axis, size in enumerate(full.shape):
            step = np.arange(-(size // 2), size // 2 + 1)
            a, b = low[:, axis, None], high[:, axis, None]
            # The integral of exp(-ilθ): small boxes keep their digits this way.
            turns = (b - a) / _TURN
            parts.append(np.exp(-0.5j * step * (a + b)) * turns * np.sinc(step * turns))
        return contracted(full, parts).real

    def quantile(self, shares: Floats) -> Floats:
        """Values of one column with these shares of the mass below them, (n,)."""
        nodes = np.linspace(-math.pi, math.pi, self._node_counts(_FINER[1])[0] + 1)
        distribution = self._distribution()
        reached = np.maximum.accumulate(distribution(nodes[:, None])[:, 0])
        place = np.clip(np.searchsorted(reached, shares), 1, len(nodes) - 1)

        def evaluate(angles: Floats) -> Floats:
            return distribution(angles[:, None]).T

        angles = solve_increasing(evaluate, shares, nodes[place - 1], nodes[place])
        return self._rows(angles[:, None])[:, 0]

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Rows (n, d), one column after the other, each given those before it."""
        shares = rng.random((n, self.d))
        rows = self.marginal([0]).quantile(shares[:, 0])[:, None]
        for axis in range(1, self.d):
            part = self.marginal(range(axis + 1))
            next_column = [
                part._last_given(rows[block], shares[block, axis])
                for block in _blocks(n, 8 * part.coefficients[0].size)
            ]
            rows = np.column_stack([rows, np.concatenate(next_column)])
        return rows

    def _last_given(self, known: Floats, shares: Floats) -> Floats:
        """Quantiles (n,) of the last column, given the others (n, d - 1)."""
        waves = []
        for axis, column in enumerate(known.T):
            turns = (column - self.middle[axis]) / self.period[axis]
            half = self.coefficients.shape[axis] // 2
            steps = np.arange(-half, half + 1)
            waves.append(np.exp(-1j * _TURN * turns[:, None] * steps))
        angles = row_quantiles(contracted(self.coefficients, waves), shares)
        return self.middle[-1] + angles * (self.period[-1] / _TURN)

    # ---- moments --------------------------------------------------------------------

    def angle_moments(self, most: int) -> Floats:
        """Moments of each column's angle up to an order, shape (d, most + 1)."""
        return np.array(
            [
                [self._angle_moment({axis: power}) for power in range(most + 1)]
                for axis in range(self.d)
            ]
        )

    def _angle_moment(self, powers: dict[int, int]) -> float:
        """Mean of a product of powers of angles, given by axis."""
        full = self._full()
        parts = [
            power_integrals(size, powers.get(axis, 0))[None]
            for axis, size in enumerate(full.shape)
        ]
        return float(contracted(full, parts)[0].real / self._constant)

    def mean_and_covariance(self) -> tuple[Floats, Floats]:
        """Mean (d,) and covariance (d, d)."""
        _, mean, square = self.angle_moments(2).T
        covariance = np.diag(square)
        for i in range(self.d):
            for j in range(i):
                covariance[i, j] = covariance[j, i] = self._angle_moment({i: 1, j: 1})
        covariance -= np.outer(mean, mean)
        unit = self.period / _TURN
        return self._rows(mean), covariance * unit * unit[:, None]

    # ---- shape ----------------------------------------------------------------------

    def gradient(self, rows: NDArray[Any]) -> tuple[Floats, Floats]:
        """Density (n,) and its gradient (n, d) at rows of the box."""
        slopes = [-1j * step * self.coefficients for step in self._steps]
        found = self._evaluator(self.coefficients, *slopes)(self._angles(rows))
        return found[:, 0], found[:, 1:] * (_TURN / self.period)

    def entropy(self) -> float:
        """Differential entropy, by the trapezoidal rule."""
        values = np.maximum(self._on_nodes(_FINER[self.d]), 0)
        shares = values / values.sum()
        seen = shares[shares > 0]
        cell = float(np.prod(self.period)) / values.size
        return float(-(seen * np.log(seen)).sum()) + math.log(cell)

    def modes(self, least: float) -> Floats:
        """Local maxima (m, d), the highest first, of at least this share of it."""
        values = self._on_nodes(_FINER[self.d])
        width = _TURN / np.array(values.shape)
        angles = _tops(values, least * values.max()) * width
        angles = np.where(angles > math.pi, angles - _TURN, angles)
        evaluate = self._derivatives(len(angles))
        angles = self._climb(evaluate, angles, width)
        heights = evaluate(angles)[:, 0]
        return self._rows(angles[np.argsort(-heights, kind="stable")])

    def _derivatives(self, n_points: int) -> Callable[[Floats], Floats]:
        """A function from angles (n, d) to values, slopes and bends there."""
        if pays(n_points, self.coefficients.shape):
            return partial(derivatives, self.coefficients)
        waves = [-1j * step for step in self._steps]
        series = [
            np.prod(np.broadcast_arrays(*map(np.power, waves, order)), axis=0)
            * self.coefficients
            for order in derivative_orders(self.d)
        ]
        return self._evaluator(*series)

    def _climb(
        self, evaluate: Callable[[Floats], Floats], starts: Floats, width: Floats
    ) -> Floats:
        """Newton's method for the top near each start, uphill where it bends up."""
        pairs = list(combinations_with_replacement(range(self.d), 2))
        angles = starts
        for _ in range(MOST_STEPS):
            found = evaluate(angles)[:, 1:]
            hessian = np.empty((len(angles), self.d, self.d))
            for place, (i, j) in enumerate(pairs, start=self.d):
                hessian[:, i, j] = hessian[:, j, i] = found[:, place]
            bend, axes = np.linalg.eigh(hessian)
            bend = np.maximum(np.abs(bend), np.finfo(float).tiny)
            slope = np.einsum("nij,ni->nj", axes, found[:, : self.d])
            move = np.einsum("nij,nj->ni", axes, slope / bend)
            move = np.clip(angles + move, starts - width, starts + width) - angles
            angles = angles + move
            if np.abs(move).max(initial=0) < STEP_TOL:
                break
        return angles

    def _node_counts(self, density: int) -> tuple[int, ...]:
        """Nodes per period, so many for each that the series needs."""
        *others, last = self.coefficients.shape
        return tuple(
            next_fast_len(density * size, real=True) for size in (*others, 2 * last - 1)
        )

    def _on_nodes(self, density: int) -> Floats:
        """Values on regular nodes of the period, from the middle on."""
        counts = self._node_counts(density)
        waves = np.zeros((*counts[:-1], counts[-1] // 2 + 1), complex)
        waves[np.ix_(*(step.ravel() for step in self._steps))] = (
            self.coefficients.conj()
        )
        return irfftn(waves, counts, norm="forward")

    def on_axes(self, axes: list[Floats]) -> Floats:
        """Density at all points of a grid with given values per column."""
        if self.d == 1:
            return self.values(axes[0][:, None])
        result = self._full()
        for axis, values in enumerate(axes):
            half = result.shape[0] // 2
            turns = (values - self.middle[axis]) / self.period[axis]
            waves = np.exp(-1j * _TURN * turns[:, None] * np.arange(-half, half + 1))
            # The axis that is done goes last, so the next one is first.
            result = np.tensordot(result, waves, axes=(0, 1))
        return result.real


def _tops(values: Floats, least: float) -> NDArray[np.intp]:
    """Places (m, d) of nodes above ``least`` that no neighbour exceeds.

    Of equal neighbours, one.
    """
    places = np.stack(np.nonzero(values > least))
    for neighbour in np.ndindex(*[3] * values.ndim):
        shift = tuple(1 - index for index in neighbour)
        if any(shift):
            others = [
                (place + step) % size
                for place, step, size in zip(places, shift, values.shape, strict=True)
            ]
            mine, other = values[tuple(places)], values[tuple(others)]
            is_later = shift > (0,) * values.ndim
            places = places[:, mine >= other if is_later else mine > other]
    return places.T


def _blocks(n: int, numbers_per_row: int) -> list[slice]:
    """Slices of so many rows that their numbers fit a block."""
    size = max(1, _BLOCK_NUMBERS // numbers_per_row)
    return [slice(start, start + size) for start in range(0, max(n, 1), size)]
