"""Maps whose squared overlaps follow a Gaussian kernel."""

from rhokit.core import GaussianKernel
from rhokit.features.base import FeatureMap


class GaussianFeatures(FeatureMap):
    r"""Common part of the maps with :math:`\langle\phi(x),\phi(y)\rangle^2 \approx
    e^{-\gamma\|x-y\|^2}`."""

    gamma: float

    @property
    def kernel(self) -> GaussianKernel:
        """The kernel that squared overlaps follow."""
        return GaussianKernel(self.gamma)

    def log_mass(self, power: int = 2) -> float:
        r"""``log M_γ`` of the kernel that the overlap to this power follows."""
        kernel = self.kernel.at_power(power)
        if self.schema_ is not None:
            return self.schema_.log_mass(kernel.gamma)
        return kernel.log_mass(self.n_features_in_)
