"""Maps whose squared overlaps follow a Gaussian kernel."""

from rhokit.core import gaussian_log_norm
from rhokit.features.base import FeatureMap


class GaussianFeatures(FeatureMap):
    r"""Common part of the maps with :math:`\langle\phi(x),\phi(y)\rangle^2 \approx
    e^{-\gamma\|x-y\|^2}`."""

    gamma: float

    def log_mass(self, power: int = 2) -> float:
        r"""``log M_γ`` of the kernel that the overlap to this power follows."""
        rate = self.gamma * power / 2
        if self.schema_ is not None:
            return self.schema_.log_mass(rate)
        return gaussian_log_norm(rate, self.n_features_in_)
