r"""Some columns of a density over landmarks, the others integrated over.

Over landmarks the density is a quadratic form :math:`c(x)^\top R\, c(x)` of kernel
columns, which are products over the columns of the rows; so integrating over some of
them leaves a quadratic form of the others,

.. math:: \int c(x)^\top R\, c(x)\, dx_S = c(x_O)^\top (R \circ G)\, c(x_O),
          \qquad G_{ij} = \int c_i(x_S)\, c_j(x_S)\, dx_S,

with ``G`` known in closed form: exact for what the model holds, and positive, as a
product of positive matrices entry by entry is.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from rhokit.core import GaussianKernel, log_measured
from rhokit.fast import small_algebra, thin_factor
from rhokit.frames import Schema
from rhokit.plans import Plan, Scaling


class LandmarkIntegrals:
    """Integrals of the kernel columns of a plan over landmarks.

    Parameters
    ----------
    plan : Plan
    kept : list of int
        The columns that are not integrated over.
    """

    def __init__(self, plan: Plan, kept: list[int]) -> None:
        self.whole, self.kept = plan, kept
        self.places = plan.columns.places(kept)

    @cached_property
    def scaling(self) -> Scaling:
        """The scaling of what is kept."""
        return self.whole.scaling.marginal(self.places)

    @cached_property
    def landmarks(self) -> NDArray[np.float64]:
        """The landmarks in what is kept, scaled, (m, d')."""
        return self.whole.scaling.carry(self._landmarks, self.places)

    @property
    def _landmarks(self) -> NDArray[np.float64]:
        feature_map: Any = self.whole.feature_map
        return np.asarray(feature_map.landmarks_, dtype=np.float64)

    def plan(self, dtype: Any = None) -> Plan:
        """The plan of what is kept, whose map gives kernel columns themselves."""
        feature_map: Any = self.whole.feature_map
        proposal = self.whole.proposal
        if proposal is not None:
            old = self.whole.scaling
            proposal = proposal.marginal(self.places, old, self.scaling)
        return Plan(
            self.whole.columns.part(self.kept),
            self.scaling,
            self.whole.gamma,
            feature_map.with_columns_of(self.landmarks, dtype),
            compares_outcomes=self.whole.compares_outcomes,
            proposal=proposal,
            sample_rows=self.whole.sample_rows,
        )

    def overlaps(self) -> NDArray[np.float64]:
        """G: overlaps of kernel columns over what is left out, (m, m).

        In units of the kernel's own mass there.
        """
        schema, gamma = self.whole.columns.schema, self.whole.gamma
        assert gamma is not None
        kernel = GaussianKernel(gamma)
        old = self._landmarks
        numbers = np.ones(old.shape[1], bool) if schema is None else schema.is_number
        left = self.landmarks[:, numbers[self.places]] if self.places else old[:, :0]
        gone = _squares(old[:, numbers]) - _squares(left)
        overlaps = kernel.overlap_of_columns(np.maximum(gone, 0))
        if schema is not None:
            gone_categories = set(schema.category_columns()) - set(self.kept)
            for column in sorted(gone_categories):
                overlaps *= self._category_overlaps(schema, column, kernel)
        return np.asarray(overlaps)

    def products_at(self, row: NDArray[Any], places: list[int]) -> NDArray[np.float64]:
        """Products (m, m) of kernel columns at the values of a scaled row (1, w).

        Of some places only, and in units of the nearest landmark's.
        """
        gamma = self.whole.gamma
        assert gamma is not None
        kernel = GaussianKernel(gamma)
        squares = ((self._landmarks[:, places] - row[:, places]) ** 2).sum(axis=1)
        if not kernel(squares.min()) > 0:
            raise ValueError("conditional: the density is zero where these values are")
        columns = kernel.of_overlaps()(squares - squares.min())
        return np.outer(columns, columns)

    def column_masses(self) -> NDArray[np.float64]:
        """Integrals (m,) of columns that follow the kernel, of all columns of rows.

        In units of the kernel's own mass: one, but for categories with an order.
        """
        schema, gamma = self.whole.columns.schema, self.whole.gamma
        assert gamma is not None
        kernel, masses = GaussianKernel(gamma), np.ones(len(self._landmarks))
        if schema is not None:
            for column in schema.category_columns():
                values = self._weighted_values(schema, column, kernel)
                masses *= values.sum(axis=1) / _category_mass(schema, column, kernel)
        return masses

    def _category_overlaps(
        self, schema: Schema, column: int, kernel: GaussianKernel
    ) -> NDArray[np.float64]:
        """Overlaps of kernel columns over the values of a category, (m, m)."""
        columns = np.sqrt(self._weighted_values(schema, column, kernel))
        return np.asarray(columns @ columns.T / _category_mass(schema, column, kernel))

    def _weighted_values(
        self, schema: Schema, column: int, kernel: GaussianKernel
    ) -> NDArray[np.float64]:
        """Kernel at the outcomes of a category, times their weights, (m, C + 1)."""
        logs = kernel.log(self._category_squares(schema, column))
        return np.exp(logs + schema.log_outcome_weights(column, kernel.gamma))

    def _category_squares(self, schema: Schema, column: int) -> NDArray[np.float64]:
        """Squared distances of landmarks and outcomes of a category, (m, C + 1)."""
        own = self._landmarks[:, schema.blocks[column]]
        return np.asarray(cdist(own, schema.outcomes(column), "sqeuclidean"))

    @staticmethod
    def integrated(factor: NDArray[Any], overlaps: NDArray[np.float64]) -> NDArray[Any]:
        """Factor of a quadratic form of columns, some of them integrated over."""
        with small_algebra(len(overlaps)):
            return thin_factor((factor.T @ factor) * overlaps)


class ColumnForms:
    """Answers of a model over landmarks for rows that have only some of the columns.

    Rows lack values in many ways, most of them few times: so the quadratic forms
    ``R∘G`` are measured as they are, and never decomposed.

    Parameters
    ----------
    integrals : LandmarkIntegrals
    forms : list of arrays of shape (m, m)
        R of every outcome.
    """

    def __init__(
        self, integrals: LandmarkIntegrals, forms: list[NDArray[np.float64]]
    ) -> None:
        # In double precision: unlike factors, forms lose digits to cancellation.
        self._plan = integrals.plan(np.float64)
        overlaps = integrals.overlaps()
        self._forms = [form * overlaps for form in forms]

    def log_measured(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Logarithms (n, K) of what rows (n, d') of these columns measure."""

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> NDArray[Any]:
            measured = np.empty((len(columns), len(self._forms)))
            for k, form in enumerate(self._forms):
                measured[:, k] = np.vecdot(columns @ form, columns)
            return np.asarray(log_measured(np.maximum(measured, 0), log_scale))

        wide = rows.astype(np.float64)
        return np.concatenate(self._plan.for_blocks(wide, use, relative=True))


def _category_mass(schema: Schema, column: int, kernel: GaussianKernel) -> float:
    """Sum of the kernel over the values of a category, in the mean over them."""
    return float(schema.category_kernel(column, kernel.gamma).sum(axis=0).mean())


def _squares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances between rows, (m, m)."""
    if not rows.shape[1]:
        return np.zeros((len(rows), len(rows)))
    return np.asarray(cdist(rows, rows, "sqeuclidean"))
