"""The bandwidth of Sheather and Jones, at the cost of an FFT."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rhokit.fast.series import transform_for

# Pilot bandwidths and the step between them, of a normal reference.
_PILOT_4, _PILOT_6, _STEP = 1.24, 1.23, 1.357
# The bandwidth that oversmooths any density, over the spread and n^(1/5).
_OVERSMOOTHING = 1.144
_NARROWEST_SHARE = 1e-3
# Waves beyond this many over the narrowest pilot are below rounding.
_LAST_WAVE = 9.5
# Distance, in pilots, that keeps rows and their periodic images apart.
_GAP = 10.0
_MOST_WAVES = 2**21
_TOL = 1e-10


def sheather_jones(values: NDArray[Any], mass: NDArray[np.float64]) -> float:
    r"""Bandwidth h of a Gaussian kernel that solves Sheather and Jones's equation.

    .. math:: h = \Big(\frac{1}{2\sqrt\pi\, n\, \hat\psi_4(\alpha(h))}\Big)^{1/5},
              \qquad \hat\psi_r(g) = \frac{1}{n(n-1)}\sum_{ij}
              \phi_g^{(r)}(x_i - x_j),

    with a pilot bandwidth :math:`\alpha(h) \propto h^{5/7}` (their equation 12). The
    double sums are integrals over the characteristic function of the data,

    .. math:: \sum_{ij} \phi_g^{(r)}(x_i - x_j) = \frac{(-1)^{r/2}}{2\pi}
              \int t^r e^{-g^2 t^2/2}\, \Big|\sum_i e^{i t x_i}\Big|^2 dt,

    which one FFT gives for all g; nothing is binned. Rows that are rounded to a few
    values ask for a bandwidth below the distance of these.

    Parameters
    ----------
    values : array of shape (n,)
    mass : array of shape (n,)
        Weights of the values; one of k counts as k copies.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.random.default_rng(0).normal(size=1000)
    >>> round(sheather_jones(values, np.ones(1000)), 3)
    0.263
    """
    n, width = float(mass.sum()), float(np.ptp(values))
    if not (n > 1 and width > 0):
        raise ValueError(
            'gamma="sheather-jones" needs two rows that differ, and weights that add '
            f"up to more than one (their sum is {n:.6g}): give gamma as a number"
        )
    units = (values.astype(np.float64) - values.min()) / width
    return width * _solution(units, mass, n)


def _solution(values: NDArray[Any], mass: NDArray[np.float64], n: float) -> float:
    """The bandwidth for values between 0 and 1."""
    spread = _spread(values, mass)
    widest = _OVERSMOOTHING * spread * n ** (-1 / 5)
    pilots = _PILOT_4 * spread * n ** (-1 / 7), _PILOT_6 * spread * n ** (-1 / 9)
    functional = _functionals(values, mass)
    curvature, slope = functional(pilots[0], 4), -functional(pilots[1], 6)
    step = _STEP * abs(curvature / slope) ** (1 / 7) if slope else 0.0

    def excess(h: float) -> float:
        psi = functional(step * h ** (5 / 7), 4)
        return float(abs(2 * math.sqrt(math.pi) * n * psi) ** (-1 / 5)) - h

    low, high = 0.1 * widest, widest
    if curvature > 0 and slope > 0:
        while excess(low) < 0 and low > _NARROWEST_SHARE * widest:
            low /= 2
        while excess(high) > 0 and high < widest / _NARROWEST_SHARE:
            high *= 2
        if excess(low) * excess(high) <= 0:
            return float(brentq(excess, low, high, xtol=1e-10 * widest))
    raise ValueError(
        'gamma="sheather-jones" finds no bandwidth for these rows: too many of them '
        'are equal. Take gamma="loo", or give it as a number'
    )


def _functionals(
    values: NDArray[Any], mass: NDArray[np.float64]
) -> Callable[[float, int], float]:
    """ψ_r(g) as a function of pilot bandwidth and order.

    The characteristic function is summed up as far as the narrowest pilot so far needs
    it, and over so long a period as the widest one does.
    """
    centred = values - (values.min() + values.max()) / 2
    width = float(np.ptp(values))
    n = float(mass.sum())
    known: dict[str, Any] = {"narrowest": math.inf, "widest": 0.0}

    def functional(pilot: float, order: int) -> float:
        if not known["narrowest"] <= pilot <= known["widest"]:
            known["narrowest"] = min(known["narrowest"], pilot / 2)
            known["widest"] = max(known["widest"], 2 * pilot)
            period = width + _GAP * known["widest"]
            t, squares = _squared_sums(centred, mass, period, known["narrowest"])
            known["t"], known["squares"] = t, squares
        t = known["t"]
        terms = t**order * np.exp(-((pilot * t) ** 2) / 2) * known["squares"]
        integral = 2 * float(terms.sum()) * float(t[1] - t[0])
        sign = -1 if order % 4 else 1
        return sign * integral / (2 * math.pi * n * (n - 1))

    return functional


def _squared_sums(
    values: NDArray[Any], mass: NDArray[np.float64], period: float, narrowest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frequencies t (m,) of a period, and ``|Σ_i exp(i t x_i)|²``."""
    last = _LAST_WAVE / narrowest
    count = last * period / (2 * math.pi) + 2
    if count > _MOST_WAVES:
        raise ValueError(
            f'gamma="sheather-jones" needs {count:.3g} waves: some rows lie too far '
            "away from the others, or too many are equal. Take "
            'gamma="loo", or give it as a number'
        )
    t = np.arange(int(count), dtype=np.float64) * (2 * math.pi / period)
    sizes = np.exp(-((narrowest * t) ** 2) / 4)
    angles = values.astype(np.float64)[:, None] * (2 * math.pi / period)
    sums = transform_for(sizes / sizes.sum(), _TOL).sums(angles, mass)
    return t, np.abs(sums) ** 2


def _spread(values: NDArray[Any], mass: NDArray[np.float64]) -> float:
    """The lesser of the standard deviation and what the quartiles say of it."""
    n = float(mass.sum())
    mean = np.average(values, weights=mass)
    deviation = math.sqrt(float(mass @ (values - mean) ** 2) / (n - 1))
    order = np.argsort(values)
    reached = np.cumsum(mass[order])

    def quantile(share: float) -> float:
        # Between the two nearest of all copies.
        place = share * (n - 1)
        below = math.floor(place)
        ends = np.searchsorted(reached, [below, below + 1], side="right")
        low, high = values[order[np.minimum(ends, len(order) - 1)]].astype(float)
        return float(low + (place - below) * (high - low))

    quartiles = (quantile(0.75) - quantile(0.25)) / 1.349
    return min(deviation, quartiles) if quartiles > 0 else deviation
