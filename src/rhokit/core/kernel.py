"""The Gaussian kernel: the one place that writes out its formulas."""

import math
from dataclasses import dataclass
from typing import Self

from array_api_compat import array_namespace

from rhokit.core.arrays import Array


@dataclass(frozen=True)
class GaussianKernel:
    r"""The kernel :math:`k(x, y) = e^{-\gamma\|x-y\|^2}` of a density.

    Methods take squared distances, so that each caller computes these in its own way.
    Whoever wants a kernel of another shape writes a class with the same methods.

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

    gamma: float

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

    def log_mass(self, d: int) -> float:
        r"""Logarithm of the integral over d columns.

        .. math:: M_\gamma = \int e^{-\gamma\|x\|^2}\,dx = (\pi/\gamma)^{d/2}

        As a logarithm, because :math:`1/M_\gamma` overflows at d = 784.
        """
        return 0.5 * d * math.log(math.pi / self.gamma)

    def overlap_of_columns(self, squares: Array) -> Array:
        r"""Integrals of two columns, given the squared distances of their landmarks.

        .. math:: \int e^{-\frac\gamma2\|x-y\|^2} e^{-\frac\gamma2\|x-z\|^2}\,dx
                  = M_\gamma\, e^{-\frac\gamma4\|y-z\|^2}

        in units of the mass :math:`M_\gamma`.
        """
        return type(self)(self.gamma / 4)(squares)

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
