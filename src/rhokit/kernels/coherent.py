"""The kernel of spin-coherent states."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy.special import bdtr, ndtr

from rhokit.kernels.product import ProductKernel


@dataclass(frozen=True)
class CoherentKernel(ProductKernel):
    r"""The kernel of products of spin-coherent states, one spin j per column.

    .. math:: \kappa(x, y) = \prod_c \cos^{2j}\big(\omega(x_c - y_c)\big),
              \qquad \omega = \sqrt{\gamma / 2j}

    An angle ω x encodes each column in a spin, as qubits do for j = ½: see
    :class:`rhokit.CoherentFeatures` for the states themselves. Near to zero, and
    everywhere for large j, this is the Gaussian kernel of γ; but it is periodic, so
    its square has no finite integral: it tells classes and values, not densities.
    Frequencies are binomial.

    Parameters
    ----------
    gamma : float, default=1.0
    spin : float, default=0.5
        j, a multiple of ½.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.kernels import CoherentKernel
    >>> kernel = CoherentKernel(gamma=2.0, spin=1.0)
    >>> x = np.array([[0.0], [0.5], [np.pi]])
    >>> kernel.overlaps(x[:1], x).round(4)  # cos(x)²
    array([[1.    , 0.7702, 1.    ]])
    """

    spin: float = 0.5

    name = "coherent"
    has_signs = True

    def __post_init__(self) -> None:
        if not (0 < self.spin <= 64 and float(2 * self.spin).is_integer()):
            raise ValueError(
                "CoherentKernel: spin must be a multiple of 0.5 from 0.5 to 64, got "
                f"{self.spin!r}"
            )

    @property
    def n_quanta(self) -> int:
        """2j, so many qubits in the same state."""
        return int(2 * self.spin)

    @property
    def angle(self) -> float:
        """ω, the angle per unit of a column."""
        return math.sqrt(self.gamma / self.n_quanta)

    def factor(self, differences: Any) -> Any:
        cosines = array_namespace(differences).cos(self.angle * differences)
        return cosines**self.n_quanta

    def log_factor(self, differences: Any) -> Any:
        xp = array_namespace(differences)
        with np.errstate(divide="ignore"):
            return self.n_quanta * xp.log(abs(xp.cos(self.angle * differences)))

    def log_mass(self, d: int, power: int = 2) -> float:
        return math.inf if d else 0.0

    def column_overlaps(self, landmarks: Any) -> Any:
        raise ValueError("the kernel of coherent states has no finite integral")

    def frequencies(self, normal: Any, mixing: Any = None) -> Any:
        n = self.n_quanta
        ends = bdtr(np.arange(n), n, 0.5)  # n of them, of n + 1 outcomes
        count = np.searchsorted(ends, ndtr(normal))
        return self.angle * (2.0 * count - n)
