"""The state: sums of ``φ(x)φ(x)†`` per outcome, exact or truncated."""

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace, device

from rhokit.core.arrays import (
    Array,
    adjoint,
    conj,
    real,
    wide,
    wide_sum_dtype,
)
from rhokit.core.html import state_html
from rhokit.core.measurement import factor_born
from rhokit.core.spectrum import (
    Rank,
    eigen_factor,
    square_root_factor,
)
from rhokit.core.sums import Sums, check_factor, checked_outcomes, inverse_weight


@dataclass(frozen=True, eq=False)
class DensityMatrix(Sums):
    r"""Exact sums over rows, one matrix per outcome (eq. rho_train of the paper).

    .. math:: S_k = \sum_i t_{ik}\, \phi(x_i)\phi(x_i)^\dagger, \qquad
              \rho_k = S_k / \sum_i t_{ik}

    Sums add: ``a + b`` is the state of both data sets, ``a - b`` forgets ``b``'s
    rows, and ``sum(parts)`` merges any number of them.

    Parameters
    ----------
    total : array of shape (K, D, D)
        Hermitian sums in double precision.
    weight : array of shape (K,)
        Total weight of the rows in each sum.

    Examples
    --------
    >>> import numpy as np
    >>> states = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> rho = DensityMatrix.from_states(states)
    >>> rho.born(states[:1]).round(4)
    array([[0.4533]])
    >>> halves = [DensityMatrix.from_states(part) for part in (states[:1], states[1:])]
    >>> np.abs(sum(halves).total - rho.total).max()
    np.float64(0.0)
    """

    is_square: ClassVar[bool] = True

    @classmethod
    def from_states(
        cls, states: Array, outcomes: Array | None = None
    ) -> "DensityMatrix":
        """Sum the outer products of ``states`` (n, D), weighted by ``outcomes`` (n, K).

        Rows with weight zero cost nothing, so one-hot outcomes cost ``n·D²``
        together, however many there are.
        """
        xp = array_namespace(states)
        outcomes = checked_outcomes(states, outcomes)
        sums = [
            wide(_weighted_gram(states, outcomes[:, k]))
            for k in range(outcomes.shape[1])
        ]
        weight = xp.sum(xp.astype(outcomes, wide_sum_dtype(states)), axis=0)
        return cls(xp.stack(sums), weight)

    @property
    def dim(self) -> int:
        """D, the dimension of the states."""
        return int(self.total.shape[1])

    def change_basis(self, basis: Array) -> "DensityMatrix":
        r"""The state of :math:`\phi(x) = B^\top c(x)`, given the sums of ``c(x)``.

        ``basis`` has shape (D, D'). The whitening of landmarks is applied here,
        once, instead of to every row.
        """
        xp = array_namespace(self.total)
        # matmul, not @: torch's operator refuses arrays of different dtypes.
        total = xp.matmul(xp.matmul(basis.mT, self.total), conj(basis))
        return DensityMatrix((total + adjoint(total)) / 2, self.weight)

    def born(self, states: Array) -> Array:
        r"""Born rule :math:`\phi^\dagger\rho_k\phi` for states (n, D): shape (n, K)."""
        xp = array_namespace(states)
        rho = xp.astype(self.normalized(), states.dtype)
        measured = [
            xp.sum(real(conj(states) * (states @ rho[k, ...].mT)), axis=1)
            for k in range(self.n_outcomes)
        ]
        return xp.stack(measured, axis=1)

    def eigenvalues(self) -> Array:
        """Spectrum of each density matrix, descending, shape (K, D)."""
        xp = array_namespace(self.total)
        values = xp.linalg.eigvalsh(self.normalized())
        return xp.clip(xp.flip(values, axis=-1), 0, None)

    def factorize(
        self, rank: Rank = None, *, energy: float | None = None
    ) -> "LowRankDensityMatrix":
        """Factors ``A_k`` with ``A_k†A_k ≈ ρ_k``, for prediction in ``O(r·D)``.

        Parameters
        ----------
        rank : int, float, "elbow" or None
            See :func:`rhokit.core.choose_rank`; None keeps everything.
        energy : float, optional
            Share of the trace to keep, instead of a rank.
        """
        rho = self.normalized()
        if rank is None and energy is None:
            factors = [square_root_factor(rho[k, ...]) for k in self._outcomes()]
        else:
            factors = [
                eigen_factor(rho[k, ...], rank, energy) for k in self._outcomes()
            ]
        return LowRankDensityMatrix(pad_and_stack(factors), self.weight)

    def _outcomes(self) -> range:
        return range(self.n_outcomes)


@dataclass(frozen=True, eq=False)
class LowRankDensityMatrix:
    r"""Factors of density matrices (eq. rho_train_factorization of the paper).

    .. math:: \rho_k \approx A_k^\dagger A_k, \qquad
              \phi^\dagger\rho_k\phi = \|A_k\phi\|^2

    Read-mostly: merging two truncated states loses something, so it is the named
    method :meth:`merge`, never ``+``.

    Parameters
    ----------
    factor : array of shape (K, r, D)
    weight : array of shape (K,)
    """

    takes_rows: ClassVar[bool] = False
    """Whether rows can be added and taken out."""

    factor: Array  # (K, r, D)
    weight: Array  # (K,)

    def __post_init__(self) -> None:
        shape = tuple(self.factor.shape)
        if len(shape) != 3:
            raise ValueError(f"factor must have shape (K, r, D), got {shape}")
        if tuple(self.weight.shape) != shape[:1]:
            raise ValueError(
                f"weight must have shape {shape[:1]} to match factor, "
                f"got {tuple(self.weight.shape)}"
            )

    @property
    def n_outcomes(self) -> int:
        """K, the number of outcomes."""
        return int(self.factor.shape[0])

    @property
    def rank(self) -> int:
        """r, the number of rows of the largest factor."""
        return int(self.factor.shape[1])

    @property
    def dim(self) -> int:
        """D, the dimension of the states."""
        return int(self.factor.shape[2])

    def born(self, states: Array) -> Array:
        """Born rule for states (n, D): shape (n, K)."""
        xp = array_namespace(states)
        return factor_born(states, xp.astype(self.factor, states.dtype))

    def change_basis(self, basis: Array) -> "LowRankDensityMatrix":
        r"""The state over :math:`B^\top c`: see :meth:`DensityMatrix.change_basis`."""
        xp = array_namespace(self.factor)
        return LowRankDensityMatrix(xp.matmul(self.factor, conj(basis)), self.weight)

    def fold(self, basis: Array) -> "LowRankDensityMatrix":
        r"""Measure columns ``c`` directly where :math:`\phi = B^\top c`."""
        xp = array_namespace(self.factor)
        return LowRankDensityMatrix(xp.matmul(self.factor, basis.mT), self.weight)

    def eigenvalues(self) -> Array:
        """Eigenvalues that the factors hold, descending, shape (K, min(r, D))."""
        xp = array_namespace(self.factor)
        return xp.linalg.svdvals(self.factor) ** 2

    def normalized(self) -> Array:
        """The truncated density matrices, shape (K, D, D)."""
        return adjoint(self.factor) @ self.factor

    def outcome(self, k: int) -> "LowRankDensityMatrix":
        """The state of one outcome."""
        return LowRankDensityMatrix(self.factor[k : k + 1, ...], self.weight[k : k + 1])

    def mix(self, shares: Array) -> DensityMatrix:
        """Weighted sums over the outcomes, for non-negative ``shares`` (J, K)."""
        xp = array_namespace(self.factor)
        roots = xp.sqrt(shares * self.weight)[:, :, None, None]  # (J, K, 1, 1)
        flat = (shares.shape[0], -1, self.dim)
        rows = xp.reshape(roots * self.factor[None, ...], flat)
        return DensityMatrix(adjoint(rows) @ rows, shares @ self.weight)

    def summed(self) -> DensityMatrix:
        """This state as sums, which can take up further rows."""
        total = self.normalized() * self.weight[:, None, None]
        return DensityMatrix(wide(total), self.weight)

    def scale(self, factor: float) -> "LowRankDensityMatrix":
        """All rows count ``factor`` times as much."""
        check_factor(factor)
        return LowRankDensityMatrix(self.factor, self.weight * factor)

    def merge(self, other: "LowRankDensityMatrix", rank: int) -> "LowRankDensityMatrix":
        """Best approximation of rank ``rank`` to the mixture of both states.

        What either side lost by truncation stays lost.
        """
        if self.n_outcomes != other.n_outcomes or self.dim != other.dim:
            raise ValueError(
                "states of different shapes do not combine: "
                f"(K, D) = ({self.n_outcomes}, {self.dim}) and "
                f"({other.n_outcomes}, {other.dim})"
            )
        if rank < 1:
            raise ValueError(f"rank must be an int >= 1, got {rank!r}")
        xp = array_namespace(self.factor)
        weight = self.weight + other.weight
        share = inverse_weight(weight)
        stacked = xp.concat(
            [
                xp.sqrt(side.weight * share)[:, None, None] * side.factor
                for side in (self, other)
            ],
            axis=1,
        )
        _, values, vectors = xp.linalg.svd(stacked, full_matrices=False)
        merged = values[:, :rank, None] * vectors[:, :rank, :]
        return LowRankDensityMatrix(merged, weight)

    @property
    def numbers(self) -> Array:
        """The factors, which are what is held."""
        return self.factor

    def _repr_html_(self) -> str:
        return state_html(self)


def pad_and_stack(factors: list[Array]) -> Array:
    """Stack factors of different ranks, filling up with rows of zeros."""
    xp = array_namespace(factors[0])
    rank = max(f.shape[0] for f in factors)

    def padded(factor: Array) -> Array:
        missing = rank - factor.shape[0]
        zeros = xp.zeros(
            (missing, factor.shape[1]), dtype=factor.dtype, device=device(factor)
        )
        return xp.concat([factor, zeros], axis=0) if missing else factor

    return xp.stack([padded(f) for f in factors])


def _weighted_gram(states: Array, weight: Array) -> Array:
    """``Σ_i w_i φ_i φ_i†`` over the rows whose weight is not zero."""
    xp = array_namespace(states)
    kept = weight != 0
    if not bool(xp.all(kept)):
        (rows,) = xp.nonzero(kept)
        states, weight = xp.take(states, rows, axis=0), xp.take(weight, rows)
    root = xp.sqrt(xp.astype(weight, real(states).dtype))
    rows = states * root[:, None]
    return rows.mT @ conj(rows)
