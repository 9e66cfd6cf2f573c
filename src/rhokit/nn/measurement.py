"""Measurement of states with a learned density matrix."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rhokit.core import factor_born, factor_trace, reduced_states

TRACES = ("joint", "each")


class Measurement(nn.Module):
    r"""The Born rule with learned density matrices, one per outcome.

    .. math:: m_k(\phi) = \|A_k\phi\|^2 / \mathrm{tr}

    The factor :math:`A = \Lambda^{1/2}V` is trained whole, and the trace is divided
    out, so any factor is a valid state: no eigenvalue can die, and no gradient passes
    through a decomposition.

    Parameters
    ----------
    dim : int
        D, the dimension of the states.
    rank : int
        r, of each outcome's matrix.
    n_outcomes : int, default=1
        K.
    trace : {"joint", "each"}, default="joint"
        What is one: the trace of all matrices together, as of one joint state of
        inputs and outcomes, or of each, as of conditional states.
    models : tuple of int, default=()
        Leading axes: so many models side by side.
    random_state : int or Generator, optional
    dtype, device : optional

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import Measurement
    >>> measure = Measurement(8, 2, 3, random_state=0)
    >>> states = torch.eye(8)
    >>> measured = measure(states)
    >>> measured.shape, round(measured.sum().item(), 5)
    (torch.Size([8, 3]), 1.0)
    """

    lengths: Tensor | None

    def __init__(
        self,
        dim: int,
        rank: int,
        n_outcomes: int = 1,
        *,
        trace: str = "joint",
        models: tuple[int, ...] = (),
        random_state: Any = None,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> None:
        super().__init__()
        if trace not in TRACES:
            raise ValueError(f"trace must be one of {TRACES}, got {trace!r}")
        self.trace = trace
        dtype = dtype or torch.get_default_dtype()
        rng = np.random.default_rng(random_state)
        drawn = rng.normal(size=(*models, n_outcomes, rank, dim))
        if dtype.is_complex:
            drawn = drawn + 1j * rng.normal(size=drawn.shape)
        drawn /= np.sqrt(dim * rank)
        self.factor = nn.Parameter(torch.tensor(drawn, dtype=dtype, device=device))
        # Of the basis that states are given in, where it is not of unit vectors.
        self.register_buffer("lengths", None)

    def forward(self, states: Tensor) -> Tensor:
        """What states (..., n, D) measure, shape (..., n, K)."""
        measured: Tensor = factor_born(states, self.factor)
        return measured / self.traces()[..., None, :]

    def traces(self) -> Tensor:
        """What the factor's matrices are divided by, shape (..., K)."""
        factor = self.factor if self.lengths is None else self.factor * self.lengths
        each: Tensor = factor_trace(factor)
        if self.trace == "joint":
            each = each.sum(dim=-1, keepdim=True).expand(each.shape)
        return torch.where(each > 0, each, 1)  # what is empty stays empty

    def scaled_factor(self) -> Tensor:
        """The factor of trace one, shape (..., K, r, D)."""
        return self.factor / self.traces()[..., None, None].sqrt()

    def extra_repr(self) -> str:
        """Shapes, for printing."""
        *_, outcomes, rank, dim = self.factor.shape
        return f"{dim}, rank={rank}, outcomes={outcomes}, trace={self.trace!r}"


class JointMeasurement(Measurement):
    r"""Measures the input part of a learned joint state of inputs and outputs.

    .. math:: \rho_Y(x) = \frac{\mathrm{Tr}_X[\pi_x\rho\,\pi_x]}
              {\mathrm{Tr}[\pi_x\rho\,\pi_x]}, \qquad
              \pi_x = \phi(x)\phi(x)^\top \otimes I

    (section 5.3 of the paper), with the factor :math:`A \in \mathbb{R}^{r\times D D_Y}`
    of a joint state. The Kronecker product is never formed.

    Parameters
    ----------
    dim : int
        D, of the inputs' states.
    rank : int
        r, of the joint matrix.
    n_outputs : int
        D_Y, of the outputs' states.
    models, random_state, dtype, device :
        As for :class:`Measurement`.

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import JointMeasurement
    >>> measure = JointMeasurement(8, 4, 3, random_state=0)
    >>> rho = measure(torch.eye(8))
    >>> rho.shape, round(rho[0].trace().item(), 5)
    (torch.Size([8, 3, 3]), 1.0)
    """

    def __init__(
        self,
        dim: int,
        rank: int,
        n_outputs: int,
        *,
        models: tuple[int, ...] = (),
        random_state: Any = None,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            dim,
            rank,
            n_outputs,
            models=models,
            random_state=random_state,
            dtype=dtype,
            device=device,
        )

    def forward(self, states: Tensor) -> Tensor:
        """Density matrices of the outputs, shape (..., n, D_Y, D_Y), trace one."""
        reduced: Tensor = reduced_states(states, self.factor)
        trace = reduced.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        safe = torch.where(trace == 0, 1, trace)  # of a state that is zero, nothing
        return reduced / safe[..., None, None]
