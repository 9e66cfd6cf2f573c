"""States that are means of features: the paper's linear variant."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rhokit.core import FeatureMean
from rhokit.records import ArrayField, Reader, Record, Values
from rhokit.representations.base import Measure, Outcomes, Representation, State
from rhokit.representations.integrals import LandmarkIntegrals


def _check_mean(values: Values, reader: Reader) -> None:
    is_complex = np.iscomplexobj(values["total"])
    reader.agree("whether columns are complex", is_complex, "total")


class MeanRepresentation(Representation):
    """One vector: the mean of the rows' states."""

    name = "mean"
    has_matrix = False
    power = 1
    state_records: ClassVar[dict[str, Record]] = {
        "mean": Record(
            FeatureMean,
            _check_mean,
            total=ArrayField(("K", "m"), may_be_complex=True),
            weight=ArrayField(("K",), low=0),
        )
    }

    def total(
        self,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None,
        outcomes: Outcomes,
    ) -> FeatureMean:
        """The sum of the rows' columns."""
        feature_map = self.plan.feature_map
        wide = np.result_type(feature_map.column_dtype_, np.float64)
        sums: dict[int, Any] = {}
        scale = None if weights is None else weights.astype(feature_map.dtype_)

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> None:
            ones = np.ones(len(columns), columns.dtype)
            sums[worker] = sums.get(worker, 0) + (ones @ columns).astype(wide)

        self.plan.for_blocks(rows, use, row_scale=scale, batch_size=self.batch_size)
        weight = len(rows) if weights is None else weights.sum()
        total = sum(sums[worker] for worker in sorted(sums))
        return FeatureMean(total[None], np.array([float(weight)]))

    def measure(
        self, states: Sequence[State], rank: Any, *, projector: bool = False
    ) -> Measure:
        """Overlaps with the means."""
        weights = np.concatenate([self.weights(state) for state in states], axis=1)
        weights = weights.astype(self.plan.feature_map.column_dtype_)
        return lambda columns: (columns @ weights).real

    def weights(self, state: State) -> NDArray[Any]:
        """Weights that columns are multiplied by, shape (m, K)."""
        return self._over_columns(state.normalized().conj().T)

    def _over_columns(self, mean: NDArray[Any]) -> NDArray[Any]:
        """From means of columns (m, ...) to what columns are multiplied by."""
        whitening = self.plan.feature_map.whitening_
        if whitening is None:
            return np.asarray(mean)
        wide = whitening.astype(np.float64)
        return np.asarray(wide @ (wide.T @ mean))

    def masses(self, state: State, rank: Any) -> NDArray[np.float64] | None:
        """Means of the columns' integrals, which may be negative as densities may."""
        columns = self._column_masses()
        if columns is None:
            return None
        return np.asarray((columns @ self.weights(state)).real)

    def own_masses(self, state: State, rank: Any) -> Measure | None:
        """The same of each row."""
        columns = self._column_masses()
        if columns is None:
            return None
        weights = self._over_columns(columns).astype(self.plan.feature_map.dtype_)
        return lambda rows: (rows @ weights[:, None]).real

    def _column_masses(self) -> NDArray[np.float64] | None:
        """Integrals of columns (m,), in units of the kernel's."""
        if self.plan.columns.schema is None:
            return self.plan.feature_map.mass_vector()
        if not self.plan.feature_map.can_integrate:
            return None
        return LandmarkIntegrals(self.plan, []).column_masses()
