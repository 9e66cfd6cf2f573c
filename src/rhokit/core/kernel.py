"""Kernels of states, and the Gaussian one: where its formulas are written out."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from array_api_compat import array_namespace

from rhokit.core.arrays import Array


@dataclass(frozen=True)
class Kernel(ABC):
    r"""A kernel κ that overlaps of states follow; a density has its square.

    .. math:: \langle\phi(x), \phi(y)\rangle \approx \kappa(x, y), \qquad
              k(x, y) = \kappa(x, y)^2

    See :mod:`rhokit.kernels` for those that there are, and for how to write one.

    Parameters
    ----------
    gamma : float, default=1.0
        γ, in the units of the rows: frequencies are as wide as :math:`\sqrt\gamma`.
    """

    gamma: float = 1.0

    name: ClassVar[str] = ""
    """Name by which :mod:`rhokit.kernels` knows the kernel."""
    is_gaussian: ClassVar[bool] = False
    """Whether rows on grids, in cells and of categories follow this kernel."""
    is_round: ClassVar[bool] = False
    """Whether values depend on the distance of rows alone."""
    has_signs: ClassVar[bool] = False
    """Whether overlaps may be negative, so that they have no logarithm."""
    is_mixture: ClassVar[bool] = False
    """Whether frequencies are normal ones, each with a width of its own."""

    def with_gamma(self, gamma: float) -> Self:
        """This kernel for another γ."""
        return replace(self, gamma=gamma)

    @abstractmethod
    def log_overlaps(self, rows: Array, others: Array) -> Array:
        """Logarithms of abs κ between rows (n, d) and others (m, d), shape (n, m)."""

    def overlaps(self, rows: Array, others: Array) -> Array:
        """Values of κ between rows (n, d) and others (m, d), shape (n, m)."""
        return array_namespace(rows).exp(self.log_overlaps(rows, others))

    @abstractmethod
    def log_mass(self, d: int, power: int = 2) -> float:
        r"""Logarithm of :math:`\int \kappa(x, y)^p\,dy` over d columns.

        Infinite where the integral is not finite: then there is no density.
        """

    @abstractmethod
    def column_overlaps(self, landmarks: Array) -> Array:
        r"""Integrals (m, m) of :math:`\kappa(x, l_i)\,\kappa(x, l_j)` over all x.

        In units of the mass of :math:`\kappa^2`.
        """

    @abstractmethod
    def frequencies(self, normal: Array, mixing: Array | None = None) -> Array:
        """Frequencies (d, F) drawn from the kernel's Fourier measure (Bochner).

        Parameters
        ----------
        normal : array of shape (d, F)
            Standard normal numbers, each of which becomes one of the measure.
        mixing : array of shape (F,), optional
            Uniform numbers, for :attr:`is_mixture`: the width of each frequency.
        """


@dataclass(frozen=True)
class GaussianKernel(Kernel):
    r"""The kernel :math:`k(x, y) = e^{-\gamma\|x-y\|^2}` of a density.

    Methods that other kernels lack take squared distances, so that each caller computes
    these in its own way.

    Parameters
    ----------
    gamma : float
        γ, in the units of the rows.

    Notes
    -----
    Three rates occur. *Squared* overlaps of states follow k itself, overlaps its root
    with γ/2 (:meth:`of_overlaps`), and the integral over all x of two columns
    :math:`\sqrt{k(x, y)\,k(x, z)}` has γ/4 (:meth:`overlap_of_columns`).

    The kernel is a product of one factor per column, and so are its mass and its
    Fourier measure: integrated over some columns, it is its mass there times the same
    kernel of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.core import GaussianKernel
    >>> kernel = GaussianKernel(2.0)
    >>> kernel(np.array([0.0, 0.5])).round(4)
    array([1.    , 0.3679])
    >>> kernel.of_overlaps(), kernel.bandwidth
    (GaussianKernel(gamma=1.0), 0.5)
    """

    name = "gaussian"
    is_gaussian = True
    is_round = True

    @classmethod
    def from_bandwidth(cls, bandwidth: float) -> Self:
        """The kernel that is a normal density of this standard deviation."""
        return cls(1 / (2 * bandwidth**2))

    @property
    def bandwidth(self) -> float:
        r"""Standard deviation :math:`h = 1/\sqrt{2\gamma}` of the normal density."""
        return 1 / math.sqrt(2 * self.gamma)

    # ---- values ---------------------------------------------------------------------

    def __call__(self, squares: Array) -> Array:
        """Values at squared distances, an array of any shape, in its precision."""
        return array_namespace(squares).exp(-float(self.gamma) * squares)

    def log(self, squares: Array) -> Array:
        """Logarithms of the values at squared distances, numbers or arrays."""
        return -float(self.gamma) * squares

    def log_overlaps(self, rows: Array, others: Array) -> Array:
        return -float(self.gamma) / 2 * squared_differences(rows, others)

    def distance(self, value: float) -> float:
        """Distance at which the kernel has fallen to this value."""
        return math.sqrt(-math.log(value) / self.gamma)

    # ---- powers ---------------------------------------------------------------------

    def of_overlaps(self) -> Self:
        """The kernel that overlaps of states follow, whose square this one is."""
        return type(self)(self.gamma / 2)

    def at_power(self, power: int) -> Self:
        """The kernel that overlaps to this power follow: this one for the square."""
        return type(self)(self.gamma * power / 2)

    def of_map(self, power: int) -> Self:
        """The kernel of a map whose overlaps to this power follow this one."""
        return type(self)(self.gamma * 2 / power)

    # ---- integrals ------------------------------------------------------------------

    def log_mass(self, d: int, power: int = 2) -> float:
        r"""Logarithm of the integral over d columns, of overlaps to a power.

        .. math:: M_\gamma = \int e^{-\gamma\|x\|^2}\,dx = (\pi/\gamma)^{d/2}

        As a logarithm, because :math:`1/M_\gamma` overflows at d = 784.
        """
        return 0.5 * d * math.log(math.pi / self.at_power(power).gamma)

    def overlap_of_columns(self, squares: Array) -> Array:
        r"""Integrals of two columns, given the squared distances of their landmarks.

        .. math:: \int e^{-\frac\gamma2\|x-y\|^2} e^{-\frac\gamma2\|x-z\|^2}\,dx
                  = M_\gamma\, e^{-\frac\gamma4\|y-z\|^2}

        in units of the mass :math:`M_\gamma`.
        """
        return type(self)(self.gamma / 4)(squares)

    def column_overlaps(self, landmarks: Array) -> Array:
        return self.overlap_of_columns(squared_differences(landmarks, landmarks))

    # ---- Fourier measure ------------------------------------------------------------

    @property
    def spectral_width(self) -> float:
        r"""Standard deviation of frequencies: :math:`k(x, y) = E \cos(w^\top(x-y))`.

        Frequencies are normal, :math:`w \sim N(0, 2\gamma I)`; those of states have the
        width of :meth:`of_overlaps`, :math:`\sqrt\gamma`.
        """
        return math.sqrt(2 * self.gamma)

    def spectral_weight(self, squares: Array) -> Array:
        """Density of frequencies of these squared lengths, over that of zero."""
        return array_namespace(squares).exp(-squares / (4 * float(self.gamma)))

    def frequencies(self, normal: Array, mixing: Array | None = None) -> Array:
        return self.of_overlaps().spectral_width * normal


def squared_differences(rows: Array, others: Array) -> Array:
    """Squared distances of rows (n, d) and others (m, d), shape (n, m)."""
    total = 0 * (rows[:, :1] - others[:, 0][None])
    for column in range(rows.shape[1]):
        total = total + (rows[:, column][:, None] - others[:, column][None]) ** 2
    return total
