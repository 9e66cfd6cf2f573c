"""Kernels that are products of one factor per column."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.special import gammaln, log_ndtr, ndtr

from rhokit.core import Kernel

# A quadrature goes so many widths 1/√γ, in which factors have fallen to nothing; the
# overlap of columns is tabulated at so many differences.
_FARTHEST, _NODES = 60.0, 1500


@dataclass(frozen=True)
class ProductKernel(Kernel):
    r"""A kernel :math:`\kappa(x, y) = \prod_j f(x_j - y_j)`.

    A kernel of one's own needs a ``name``, :meth:`log_factor` and :meth:`frequencies`;
    its integrals are found by quadrature, where it does not say them in closed form.

    Examples
    --------
    The kernel whose frequencies are uniform, :math:`f(x) = \sin(cx)/(cx)` with
    :math:`c = \sqrt{3\gamma}`, has negative values:

    >>> import numpy as np
    >>> from scipy.special import ndtr
    >>> from rhokit.kernels import ProductKernel
    >>> class SincKernel(ProductKernel):
    ...     name = "sinc"
    ...     has_signs = True
    ...     def factor(self, differences):
    ...         return np.sinc(np.sqrt(3 * self.gamma) * differences / np.pi)
    ...     def log_factor(self, differences):
    ...         return np.log(np.abs(self.factor(differences)))
    ...     def frequencies(self, normal, mixing=None):
    ...         return np.sqrt(3 * self.gamma) * (2 * ndtr(normal) - 1)
    >>> SincKernel(1.0).overlaps(np.zeros((1, 1)), np.array([[0.0], [1.0]])).round(3)
    array([[1.  , 0.57]])
    """

    @abstractmethod
    def log_factor(self, differences: Any) -> Any:
        """Logarithms of abs f at differences, an array of any shape."""

    def factor(self, differences: Any) -> Any:
        """Values of f at differences, an array of any shape."""
        return array_namespace(differences).exp(self.log_factor(differences))

    def log_overlaps(self, rows: Any, others: Any) -> Any:
        total = 0 * (rows[:, :1] - others[:, 0][None])
        for column in range(rows.shape[1]):
            differences = rows[:, column][:, None] - others[:, column][None]
            total = total + self.log_factor(differences)
        return total

    def overlaps(self, rows: Any, others: Any) -> Any:
        if not self.has_signs:
            return super().overlaps(rows, others)
        product = 1 + 0 * (rows[:, :1] - others[:, 0][None])
        for column in range(rows.shape[1]):
            differences = rows[:, column][:, None] - others[:, column][None]
            product = product * self.factor(differences)
        return product

    def log_mass(self, d: int, power: int = 2) -> float:
        return d * _log_integral(self, power)

    def log_factor_overlap(self, differences: Any) -> Any:
        """Logarithms of ``∫f(x)f(x - δ)dx`` over ``∫f²``, at differences δ."""
        return _overlap_table(self)(np.abs(differences))

    def column_overlaps(self, landmarks: Any) -> Any:
        total = 0 * (landmarks[:, :1] - landmarks[:, 0][None])
        for column in range(landmarks.shape[1]):
            places = landmarks[:, column]
            total = total + self.log_factor_overlap(places[:, None] - places[None])
        return array_namespace(total).exp(total)


@lru_cache(maxsize=256)
def _log_integral(kernel: ProductKernel, power: int) -> float:
    """Logarithm of the integral of a factor to a power, by quadrature."""

    def value(x: float) -> float:
        return float(kernel.factor(np.asarray(x)) ** power)

    unit = 1 / math.sqrt(kernel.gamma)
    near, _ = quad(value, 0, _FARTHEST * unit, limit=500)
    far, _ = quad(value, _FARTHEST * unit, np.inf, limit=500)
    return math.log(2 * (near + far))


@lru_cache(maxsize=64)
def _overlap_table(kernel: ProductKernel) -> Any:
    """Logarithm of the overlap of two factors, as a spline of their difference."""
    unit = 1 / math.sqrt(kernel.gamma)
    apart = np.linspace(0, _FARTHEST * unit, _NODES)
    x = np.arange(-2 * _FARTHEST, 2 * _FARTHEST, 0.005) * unit
    factor = kernel.factor(x)
    values = np.array([factor @ kernel.factor(x - each) for each in apart])
    logs = np.log(np.maximum(values / values[0], 1e-300))
    return CubicSpline(apart, logs, bc_type="natural")


@dataclass(frozen=True)
class LaplacianKernel(ProductKernel):
    r"""The Laplacian kernel :math:`\kappa(x, y) = e^{-\sqrt\gamma\,\|x-y\|_1}`.

    A density is made of :math:`k = e^{-2\sqrt\gamma\|x-y\|_1}`, whose standard
    deviation in each column is that of the Gaussian kernel of this γ,
    :math:`1/\sqrt{2\gamma}`. Frequencies are Cauchy-distributed.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.kernels import LaplacianKernel
    >>> LaplacianKernel(4.0).overlaps(np.zeros((1, 2)), np.ones((1, 2))).round(4)
    array([[0.0183]])
    """

    name = "laplacian"

    def log_factor(self, differences: Any) -> Any:
        return -math.sqrt(self.gamma) * abs(differences)

    def log_mass(self, d: int, power: int = 2) -> float:
        return d * math.log(2 / (power * math.sqrt(self.gamma)))

    def log_factor_overlap(self, differences: Any) -> Any:
        apart = math.sqrt(self.gamma) * abs(differences)
        return array_namespace(apart).log1p(apart) - apart

    def frequencies(self, normal: Any, mixing: Any = None) -> Any:
        # From the nearer end, so that no digit of far ones is lost.
        nearer = np.tan(np.pi * (0.5 - ndtr(-np.abs(normal))))
        return math.sqrt(self.gamma) * np.sign(normal) * nearer


@dataclass(frozen=True)
class CauchyKernel(ProductKernel):
    r"""The Cauchy kernel :math:`\kappa(x, y) = \prod_j 1/(1 + \gamma(x_j-y_j)^2/2)`.

    Near to zero it is the Gaussian kernel of this γ; far away it falls as a power
    alone. Frequencies are Laplace-distributed.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.kernels import CauchyKernel
    >>> CauchyKernel(2.0).overlaps(np.zeros((1, 2)), np.ones((1, 2)))
    array([[0.25]])
    """

    name = "cauchy"

    def log_factor(self, differences: Any) -> Any:
        squares = (self.gamma / 2) * differences**2
        return -array_namespace(squares).log1p(squares)

    def log_mass(self, d: int, power: int = 2) -> float:
        ratio = gammaln(power - 0.5) - gammaln(power)
        return float(d * (ratio + 0.5 * math.log(2 * math.pi / self.gamma)))

    def log_factor_overlap(self, differences: Any) -> Any:
        squares = (self.gamma / 8) * differences**2
        return -array_namespace(squares).log1p(squares)

    def frequencies(self, normal: Any, mixing: Any = None) -> Any:
        logs = log_ndtr(-np.abs(normal)) + math.log(2)
        return -math.sqrt(self.gamma / 2) * np.sign(normal) * logs
