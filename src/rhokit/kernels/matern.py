"""Matérn kernels: as smooth as one likes."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri, gammaln, kve

from rhokit.core import Kernel
from rhokit.core.kernel import squared_differences

# Bessel functions of higher orders come from an expansion for large ones, which is
# exact to 1e-8 from here on.
_LARGE_ORDER = 25.0
_LEAST = 1e-12


@dataclass(frozen=True)
class MaternKernel(Kernel):
    r"""The Matérn kernel of smoothness ν, of the length scale :math:`1/\sqrt\gamma`.

    .. math:: \kappa(x, y) = \frac{2^{1-\nu}}{\Gamma(\nu)}\, r^\nu K_\nu(r), \qquad
              r = \sqrt{2\nu\gamma}\,\|x-y\|

    ν = ½ is :math:`e^{-\sqrt\gamma\|x-y\|}`, and large ν the Gaussian kernel of
    overlaps, :math:`e^{-\frac\gamma2\|x-y\|^2}`. Frequencies have a multivariate t
    distribution of 2ν degrees of freedom.

    Parameters
    ----------
    gamma : float, default=1.0
    nu : float, default=1.5

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.kernels import MaternKernel
    >>> kernel = MaternKernel(gamma=1.0, nu=0.5)
    >>> kernel.overlaps(np.zeros((1, 2)), np.array([[3.0, 4.0]])).round(5)  # exp(-5)
    array([[0.00674]])
    """

    nu: float = 1.5

    name = "matern"
    is_round = True
    is_mixture = True

    def __post_init__(self) -> None:
        if not 0 < self.nu < math.inf:
            raise ValueError(
                f"MaternKernel: nu must be a positive number, got {self.nu!r}"
            )

    def log_overlaps(self, rows: Any, others: Any) -> Any:
        squares = squared_differences(rows, others)
        return log_matern(np.sqrt(2 * self.nu * self.gamma * squares), self.nu)

    def log_mass(self, d: int, power: int = 2) -> float:
        if power not in (1, 2):
            raise ValueError(f"a Matérn kernel has powers 1 and 2, got {power}")
        nu, exponent = self.nu, self.nu + d / 2
        volume = 0.5 * d * math.log(2 * math.pi * nu * self.gamma)
        peak = gammaln(exponent) - gammaln(nu) - volume  # of the density of frequencies
        if power == 1:
            return float(d * math.log(2 * math.pi) + peak)
        rest = volume + gammaln(2 * nu + d / 2) - gammaln(2 * nu + d)
        return float(d * math.log(2 * math.pi) + 2 * peak + rest)

    def column_overlaps(self, landmarks: Any) -> Any:
        """A Matérn kernel of the smoothness 2ν + d/2: its frequencies, squared."""
        squares = squared_differences(landmarks, landmarks)
        nu = 2 * self.nu + landmarks.shape[1] / 2
        return np.exp(log_matern(np.sqrt(2 * self.nu * self.gamma * squares), nu))

    def frequencies(self, normal: Any, mixing: Any = None) -> Any:
        likely = np.clip(mixing, _LEAST, 1 - _LEAST)
        return normal * np.sqrt(2 * self.nu * self.gamma / chdtri(2 * self.nu, likely))


def log_matern(r: Any, nu: float) -> Any:
    r"""Logarithm of :math:`2^{1-\nu} r^\nu K_\nu(r) / \Gamma(\nu)`, as precise as r."""
    closed = _CLOSED.get(nu)
    if closed is not None:
        return closed(r)
    wide = np.maximum(np.asarray(r, np.float64), 1e-100)
    large = nu > _LARGE_ORDER
    logs = _log_bessel_of_large_order(nu, wide) if large else _log_bessel(nu, wide)
    found = (1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(wide) + logs
    # Near to zero all digits cancel, and there κ is one but for r² / (4(ν - 1)).
    found = np.where(np.isfinite(found) & (wide > 1e-7), found, 0.0)
    return np.minimum(found, 0).astype(np.asarray(r).dtype)


_CLOSED = {
    0.5: lambda r: -r,
    1.5: lambda r: np.log1p(r) - r,
    2.5: lambda r: np.log1p(r + r**2 / 3) - r,
}


def _log_bessel(nu: float, r: Any) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.log(kve(nu, r)) - r


def _log_bessel_of_large_order(nu: float, r: Any) -> Any:
    """Logarithm of K_ν(r) by Debye's uniform expansion."""
    z = r / nu
    root = np.hypot(1, z)
    eta, t = root + np.log(z / (1 + root)), 1 / root
    first = (3 * t - 5 * t**3) / 24
    second = (81 * t**2 - 462 * t**4 + 385 * t**6) / 1152
    third = (30375 * t**3 - 369603 * t**5 + 765765 * t**7 - 425425 * t**9) / 414720
    series = -first / nu + second / nu**2 - third / nu**3
    lead = 0.5 * math.log(math.pi / (2 * nu)) - nu * eta - 0.5 * np.log(root)
    return lead + np.log1p(series)
