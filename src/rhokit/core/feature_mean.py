"""The linear state: sums of ``φ(x)`` itself instead of its outer products."""

from dataclasses import dataclass

from array_api_compat import array_namespace

from rhokit.core.arrays import Array, conj, real, wide, wide_sum_dtype
from rhokit.core.sums import Sums, checked_outcomes


@dataclass(frozen=True, eq=False)
class FeatureMean(Sums):
    r"""Sums of features (:math:`\Phi_{train}`, eq. phi_density_estimation).

    .. math:: s_k = \sum_i t_{ik}\, \phi(x_i), \qquad
              \langle \Phi_k, \phi(x) \rangle = s_k^\dagger \phi(x) / \sum_i t_{ik}

    It adds, forgets and decays as :class:`DensityMatrix` does and costs ``D`` numbers
    instead of ``D²``, but what it measures may be negative.

    Parameters
    ----------
    total : array of shape (K, D)
    weight : array of shape (K,)
    """

    def __post_init__(self) -> None:
        shape = tuple(self.total.shape)
        if len(shape) != 2:
            raise ValueError(f"total must have shape (K, D), got {shape}")
        super().__post_init__()

    @classmethod
    def from_states(cls, states: Array, outcomes: Array | None = None) -> "FeatureMean":
        """Sum ``states`` (n, D), weighted by ``outcomes`` (n, K)."""
        xp = array_namespace(states)
        outcomes = checked_outcomes(states, outcomes)
        weight = xp.sum(xp.astype(outcomes, wide_sum_dtype(states)), axis=0)
        weights = xp.astype(outcomes.mT, states.dtype)
        return cls(wide(weights @ states), weight)

    @property
    def dim(self) -> int:
        """D, the dimension of the states."""
        return int(self.total.shape[1])

    def change_basis(self, basis: Array) -> "FeatureMean":
        """The sums of ``φ(x) = Bᵀc(x)``, given those of ``c(x)``."""
        xp = array_namespace(self.total)
        return FeatureMean(xp.matmul(self.total, basis), self.weight)

    def overlap(self, states: Array) -> Array:
        """Inner products with states (n, D): shape (n, K); may be negative."""
        xp = array_namespace(states)
        mean = xp.astype(conj(self.normalized()), states.dtype)
        return real(states @ mean.mT)
