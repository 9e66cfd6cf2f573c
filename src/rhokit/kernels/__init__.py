r"""Kernels that states may follow, each a value for one γ.

A kernel κ is what overlaps of states follow, :math:`\langle\phi(x),\phi(y)\rangle
\approx \kappa(x, y)`. What a density is made of is its square,
:math:`k = \kappa^2 \approx \langle\phi(x),\phi(y)\rangle^2`.
"""

from rhokit.core import GaussianKernel, Kernel
from rhokit.kernels.coherent import CoherentKernel
from rhokit.kernels.matern import MaternKernel
from rhokit.kernels.product import CauchyKernel, LaplacianKernel, ProductKernel
from rhokit.kernels.registry import (
    KERNELS,
    check_kernel,
    kernel_of,
    register_kernel,
    wanted_kernels,
)

for _kernel in (
    GaussianKernel,
    LaplacianKernel,
    MaternKernel,
    CauchyKernel,
    CoherentKernel,
):
    register_kernel(_kernel)

__all__ = [
    "KERNELS",
    "CauchyKernel",
    "CoherentKernel",
    "GaussianKernel",
    "Kernel",
    "LaplacianKernel",
    "MaternKernel",
    "ProductKernel",
    "check_kernel",
    "kernel_of",
    "register_kernel",
    "wanted_kernels",
]
