"""Everything that is fixed before the one pass: columns, scaling, kernel and map."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Columns
from rhokit.core import GaussianKernel
from rhokit.fast import map_blocks
from rhokit.features import FeatureMap
from rhokit.plans.proposal import Proposal
from rhokit.plans.scaling import Scaling

# Rows that are kept to learn from what they measure when left out.
SAMPLE_ROWS = 2000

Use = Callable[[int, Any, NDArray[Any], NDArray[Any] | None], Any]


@dataclass(frozen=True)
class Candidate:
    """A choice that was tried, and how well it did when each row was left out.

    Parameters
    ----------
    scale : str, array or None
        Rule of the scaling.
    feature_map : str
        Name of the map; ``"exact"`` is the kernel itself.
    gamma : float, or None
        None for mosaics, whose cells have widths of their own.
    score : float
        More is better; to be compared among equal numbers of probes.
    n_probes : int
        How many rows were left out in turn.
    kernel : str
        Name of the kernel.
    """

    scale: object
    feature_map: str
    gamma: float | None
    score: float
    n_probes: int
    kernel: str = "gaussian"


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that two models must share for their states to add up.

    Parameters
    ----------
    columns : Columns
    scaling : Scaling
    gamma : float, or None
        γ of the density's kernel; None for maps without one.
    feature_map : FeatureMap
        Fitted, over scaled rows.
    representation : str
        Name of what a state is: see :mod:`rhokit.representations`.
    compares_outcomes : bool
        Whether only ratios of what is measured count, so that the states of rows that
        are asked for need not be normalised.
    proposal : Proposal, optional
        What rows are drawn from, to be accepted or not by the density.
    sample_rows : int
        How many rows a model keeps to leave them out again.
    loo_rank : int, optional
        The rank that predicts rows left out best, where it was looked for.
    importances : array of shape (d,), optional
        Spreads of the columns after scaling, as shares of their sum.
    candidates : tuple of Candidate
        What was compared.
    """

    columns: Columns
    scaling: Scaling
    gamma: float | None
    feature_map: FeatureMap
    representation: str = "matrix"
    compares_outcomes: bool = False
    proposal: Proposal | None = None
    sample_rows: int = SAMPLE_ROWS
    loo_rank: int | None = None
    importances: NDArray[np.float64] | None = None
    candidates: tuple[Candidate, ...] = ()

    # ---- rows ----------------------------------------------------------------------

    def scale(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Checked rows in the units of the map."""
        return self.scaling.apply(rows) if self.feature_map.numeric_rows else rows

    @property
    def measured_map(self) -> FeatureMap:
        """The map of rows that are asked for."""
        whole = self.feature_map
        return whole.unnormalized() if self.compares_outcomes else whole

    def for_blocks(
        self,
        rows: NDArray[Any],
        use: Use,
        *,
        n_outcomes: int = 1,
        batch_size: int | None = None,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        order: NDArray[Any] | None = None,
        stretch: int = 1,
    ) -> list[Any]:
        """Call ``use(worker, which, columns, log_scale)`` block by block, over threads.

        ``which`` indexes the rows of the block; with ``order``, they are taken in it.
        The columns are in memory that the worker uses again for its next block.
        """
        feature_map = self.measured_map if relative else self.feature_map
        size = feature_map.rows_per_block(len(rows), n_outcomes, batch_size, stretch)
        buffers: dict[int, NDArray[Any]] = {}

        def work(worker: int, block: slice) -> Any:
            if worker not in buffers:
                shape = (min(size, len(rows)), feature_map.n_columns_)
                buffers[worker] = np.empty(shape, feature_map.column_dtype_)
            which = block if order is None else order[block]
            part = self.scaling.apply(rows[which])
            columns, log_scale = feature_map.columns(
                part,
                relative=relative,
                row_scale=None if row_scale is None else row_scale[which],
                out=buffers[worker][: len(part)],
            )
            return use(worker, which, columns, log_scale)

        return map_blocks(work, len(rows), size)

    def chosen_rank(self, wanted: Any) -> Any:
        """A rank, or that which ``"loo"`` chose: None where all is worth keeping."""
        if not (isinstance(wanted, str) and wanted == "loo"):
            return wanted
        if self.loo_rank is None:
            raise ValueError(
                "The 'rank' parameter was set to 'loo' after the model had chosen: set "
                "it before fit"
            )
        return (
            None if self.loo_rank >= self.feature_map.n_components_ else self.loo_rank
        )

    # ---- units ---------------------------------------------------------------------

    def log_norm(self, power: int) -> float:
        """Term from a measured logarithm to a log-density in the user's units."""
        schema = self.columns.schema
        if schema is None or self.gamma is None:
            mass = self.feature_map.log_mass(power)
        else:
            mass = schema.log_mass(self.gamma)
        return self.scaling.log_volume - mass

    def log_norm_of(self, kept: list[int]) -> float:
        """Such a term for a log-density of some of the columns."""
        places = self.columns.places(kept)
        schema = self.columns.schema
        if self.gamma is None:
            mass = 0.0
        elif schema is not None and kept:
            mass = schema.part(kept).log_mass(self.gamma)
        else:
            mass = GaussianKernel(self.gamma).log_mass(len(places))
        return self.scaling.marginal(places).log_volume - mass

    def log_measure(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Logarithms of what outcomes of categories weigh beside the kernel, (n,)."""
        schema = self.columns.schema
        if schema is None or self.gamma is None:
            return np.zeros(len(rows))
        return schema.log_measure(rows, self.gamma)

    # ---- comparing -----------------------------------------------------------------

    def fingerprint(self, more: str = "") -> str:
        """Digest of columns, scaling and map: states of equal plans add up."""
        scaling = (self.scaling.centre.tolist(), self.scaling.matrix.tolist())
        text = f"{self.feature_map.fingerprint()} {scaling} {more}"
        if self.columns.schema is not None:
            text += f" {self.columns.schema!r}"
        return hashlib.sha256(text.encode()).hexdigest()

    def with_map(self, feature_map: FeatureMap, **changes: Any) -> "Plan":
        """This plan over another map."""
        return replace(self, feature_map=feature_map, **changes)

    def with_gamma(
        self,
        gamma: float,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None,
    ) -> "Plan":
        """This plan for another γ of rows in the user's units."""
        scaled = self.scale(rows)
        return self.with_map(
            self.feature_map.with_gamma(gamma, scaled, weights), gamma=gamma
        )
