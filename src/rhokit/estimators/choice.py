"""From an estimator's parameters and the first rows to a model without rows."""

from dataclasses import dataclass
from typing import Any

from rhokit.batch import Batch
from rhokit.models import Model, plan_outcomes
from rhokit.plans import PlanRequest
from rhokit.plans.request import refuse_maps_of_numbers
from rhokit.readouts import ReadOut
from rhokit.representations import REPRESENTATIONS
from rhokit.validation import generator


@dataclass(frozen=True, eq=False)
class Choice:
    """What parameters leave to the rows, and how it is chosen.

    Parameters
    ----------
    estimator : OnePassEstimator
        Whose parameters count; it is left as it is.
    readout : ReadOut
        Of the parameters, which knows no target yet.
    takes_series : bool
        Whether a state may be a Fourier series.
    bounded : bool
        Whether these are all the rows that will come.
    foreseen : array-like, optional
        Targets that will come and that the rows may lack.
    """

    estimator: Any
    readout: ReadOut
    takes_series: bool
    bounded: bool
    foreseen: Any = None

    def model(self, batch: Batch) -> Model:
        """The model without rows whose plan and read-out these rows choose."""
        owner, rank = type(self.estimator).__name__, self._rank
        refuse_maps_of_numbers(self.estimator.feature_map, batch.columns)
        self.readout.check_rank(rank, owner)
        readout: Any = self.readout.learn(
            batch.target, batch.weights, self.foreseen, owner
        )
        representation, request = self._representation, self._request()
        if not readout.has_target:
            return Model(representation.plan_density(request, batch), readout)
        by_rank = isinstance(rank, str) and rank == "loo"
        return Model(
            *plan_outcomes(request, batch, readout, representation, by_rank=by_rank)
        )

    def _request(self) -> PlanRequest:
        parameters = self.estimator
        return PlanRequest(
            parameters.feature_map,
            parameters.gamma,
            parameters.n_components,
            parameters.scale,
            seed=int(generator(parameters.random_state).integers(2**31 - 1)),
            bounded=self.bounded,
            power=self._representation.power,
            takes_series=self.takes_series,
        )

    @property
    def _representation(self) -> Any:
        return REPRESENTATIONS[self.estimator.representation]

    @property
    def _rank(self) -> Any:
        return getattr(self.estimator, "rank", None)
