"""Maps whose overlaps follow a kernel."""

from typing import Any

from rhokit.core import Kernel
from rhokit.features.base import FeatureMap
from rhokit.kernels import kernel_of
from rhokit.records import Values


class KernelFeatures(FeatureMap):
    r"""Common part of the maps with :math:`\langle\phi(x),\phi(y)\rangle \approx
    \kappa(x, y)`, so that squared overlaps follow the density's kernel κ²."""

    gamma: float
    kernel: Any = "gaussian"  # a parameter of those that may follow another one

    @property
    def kernel_(self) -> Kernel:
        """The kernel that overlaps follow."""
        kernel = kernel_of(self.kernel, float(self.gamma))
        if self.schema_ is not None and not kernel.is_gaussian:
            raise ValueError(
                f"The 'kernel' parameter of {type(self).__name__} must be 'gaussian' "
                "for columns of categories, whose distances are those of states. Got "
                f"{self.kernel!r} instead."
            )
        return kernel

    def log_mass(self, power: int = 2) -> float:
        r"""Logarithm of the integral of the kernel to this power."""
        if self.schema_ is not None:
            return self.schema_.log_mass(self.gamma * power / 2)
        return self.kernel_.log_mass(self.n_features_in_, power)

    @property
    def follows_gaussian(self) -> bool:
        """Whether the kernel is the Gaussian one."""
        return self.kernel_.is_gaussian

    def _kernel_drawn(self) -> list[str]:
        """What tells this kernel from others in a fingerprint."""
        return [] if self.kernel_.is_gaussian else [repr(self.kernel_)]

    @classmethod
    def check_constructor(cls, parameters: Values) -> None:
        super().check_constructor(parameters)
        if "kernel" in parameters:
            kernel_of(parameters["kernel"], 1.0)
