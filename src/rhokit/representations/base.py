"""The base of representations: how rows become one, and how it is measured."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.core import log_measured
from rhokit.plans import Plan, PlanRequest, SupervisedChoice, plan_density
from rhokit.records import Reader, Record
from rhokit.representations.cache import Cache
from rhokit.representations.fourier_density import FourierDensity
from rhokit.representations.memory import Load, MemoryEstimate, estimate_memory

# A state of rhokit.core: sums of one kind or another, or a factor of them.
State = Any
# From columns (n, m) to what every outcome measures, (n, K).
Measure = Callable[[NDArray[Any]], NDArray[Any]]
# From an index of rows to the square roots of their outcome weights, (b, K).
RootsOf = Callable[[Any], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """To which of K outcomes rows belong, and how much.

    Parameters
    ----------
    count : int
        K.
    roots_of : callable, optional
        From an index of rows to the square roots of their outcome weights (b, K).
        None for one outcome that every row belongs to.
    order : array of shape (n,), optional
        An order in which rows of the same outcome stand together.
    """

    count: int = 1
    roots_of: RootsOf | None = None
    order: NDArray[np.intp] | None = None


@dataclass(frozen=True, eq=False)
class Representation(ABC):
    """How the states of a plan are made, measured, moved and cut down.

    States themselves are values that add up (:mod:`rhokit.core`). A new kind of state
    is a new subclass, registered by its name in :mod:`rhokit.representations`.

    Parameters
    ----------
    plan : Plan
    batch_size : int, optional
        Rows per block; chosen for speed without it.
    cache : Cache, optional
        Keeps what follows from the state of a model.
    """

    plan: Plan
    batch_size: int | None = None
    cache: Cache = field(default_factory=Cache, repr=False)

    name: ClassVar[str]
    power: ClassVar[int] = 2
    """Of overlaps, that a density adds up: 2 for density matrices."""
    may_be_series: ClassVar[bool] = False
    """Whether a map of series may take its place."""
    has_matrix: ClassVar[bool] = True
    """Whether a state is one density matrix per outcome, or stands for one."""
    is_linear: ClassVar[bool] = True
    """Whether a sum of states measures the mean of what each of them does."""
    shares_sums: ClassVar[bool] = False
    """Whether the outcomes of a state are of the same rows, and share sums."""
    subtracts_own: ClassVar[bool] = True
    """Whether a row is left out by subtracting what it measures of itself."""
    state_records: ClassVar[dict[str, Record]] = {}
    """Records of a model file for each kind of state, by the name of the kind."""

    # ---- what a subclass says -------------------------------------------------------

    @abstractmethod
    def total(
        self,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None,
        outcomes: Outcomes,
    ) -> State:
        """The state of checked rows."""

    @abstractmethod
    def measure(
        self, states: Sequence[State], rank: Any, *, projector: bool = False
    ) -> Measure:
        """Function that measures columns with the outcomes of states, one by one.

        With ``projector``, only how much the rank keeps of each state is measured.
        """

    # ---- what may be special --------------------------------------------------------

    def logarithms(
        self, measured: NDArray[Any], log_scale: NDArray[Any] | None
    ) -> NDArray[np.float64]:
        """Logarithms (n, K) of what was measured, with the scale of the columns."""
        measured = measured.astype(np.float64)
        return np.asarray(log_measured(measured, log_scale, self.power))

    def log_left_out(
        self, state: State, rows: NDArray[Any], mass: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Logarithms (n, K) that rows measure without themselves.

        Asked for where :attr:`subtracts_own` is False.

        Parameters
        ----------
        state : state
        rows : array of shape (n, w)
        mass : array of shape (n, K)
            Weight of each row in each outcome.
        """
        raise TypeError(f"{self.name} subtracts what rows measure of themselves")

    def draw(
        self,
        state: State,
        probabilities: NDArray[np.float64],
        n: int,
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Rows (n, w) of the density in scaled units, where that needs no chains."""
        _, density = self.series(state, None, probabilities)
        return density.sample(n, rng)

    def placed(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows (n, w) that were drawn, in the user's units."""
        return np.asarray(self.plan.scaling.invert(scaled))

    def conditional(
        self, state: State, rank: Any, given: dict[int, Any]
    ) -> tuple[Plan, State]:
        """Plan and state of the other columns, where some have values.

        Parameters
        ----------
        state : state
        rank : int, float, "elbow" or None
        given : dict
            From columns to their values as wide rows have them, in the user's units.
        """
        raise ValueError(
            "conditional: known for mosaics, landmarks and grids, not for "
            f"{type(self.plan.feature_map).__name__}"
        )

    def scaled_values(self, given: dict[int, Any], what: str) -> NDArray[Any]:
        """Given values in a row (1, width) of scaled units, where columns are apart."""
        if not self.plan.scaling.by_columns:
            raise ValueError(
                f"{what} needs columns that are scaled one by one, which this model's "
                "scaling does not do: take scale='std' or 'robust'"
            )
        columns = self.plan.columns
        row = np.zeros((1, columns.width))
        for column, value in given.items():
            row[:, columns.places([column])] = value
        return np.asarray(self.plan.scaling.apply(row))

    @classmethod  # noqa: B027
    def claim_rows(cls, reader: Reader) -> None:
        """Refuse a model file without rows, whose first ones would cost too much."""

    def inputs(self, state: State) -> tuple[Plan, State] | None:
        """Plan and state of the rows' own density, where outcomes do not hold it."""
        return None

    @property
    def noise(self) -> float:
        """Error of a measured value: what is smaller says nothing."""
        return 0.0

    def plan_for(self, batch: Batch) -> Plan:
        """The plan, changed where it must be to take these rows; or an error."""
        if self.plan.feature_map.has_outsiders:
            rows = self.plan.scale(batch.seen().rows)
            self.plan.feature_map.refuse_outsiders(rows)
        return self.plan

    def common_plan(self, other: Plan) -> Plan:
        """A plan that the states of both can be moved to."""
        return self.plan

    def moved(self, state: State, plan: Plan) -> State:
        """A state of this plan as one of another, which can hold it."""
        return state

    def check_rank(self, rank: Any, owner: str) -> None:  # noqa: B027
        """Refuse a rank that states of this kind do not have."""

    def compact(self, state: State, rank: Any) -> State:
        """The smallest state that predicts the same, and may learn no more."""
        return state

    def density_matrix(self, state: State) -> State:
        """ρ in the basis of the map's states."""
        whitening = self.plan.feature_map.whitening_
        if whitening is None:
            return state
        return state.change_basis(whitening.astype(np.float64))

    def as_matrix(self, state: State) -> tuple[Plan, State]:
        """Plan and state of the same model as a matrix, for what trains one."""
        return self.plan, state

    def overlap_vector(self, state: State) -> NDArray[Any]:
        """A state of one outcome, at trace one, as a vector.

        Inner products of such vectors are those of the states.
        """
        return np.asarray(self.density_matrix(state).normalized()[0]).ravel()

    def own_overlap(self, vector: NDArray[Any]) -> float:
        r"""Mean of :math:`\|\phi(x)\|^{2p}` over the rows of a vector, or a bound."""
        return 1.0

    @property
    def can_integrate(self) -> bool:
        """Whether columns can be left out in closed form."""
        return False

    def marginal(self, state: State, rank: Any, kept: list[int]) -> tuple[Plan, State]:
        """Plan and state of some of the columns, whatever the others are."""
        raise self.cannot_integrate()

    def measured_by_part(
        self, state: State, rank: Any, kept: list[int]
    ) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        """From rows that have some of the columns to measured logarithms (n, K)."""
        raise self.cannot_integrate()

    def series(
        self, state: State, rank: Any, probabilities: NDArray[np.float64]
    ) -> tuple[Any, FourierDensity]:
        """A Fourier series of the density, and the grid that it is on.

        Of one to three columns of numbers, in scaled units.

        Parameters
        ----------
        state : state
        rank : int, float, "elbow" or None
        probabilities : array of shape (K,)
            Of the outcomes, whose densities are mixed.
        """
        raise self.cannot_integrate()

    def cannot_integrate(self) -> ValueError:
        """The error that says which models have integrals in closed form."""
        return ValueError(
            "integrals are known for models on a grid or over landmarks that are not "
            'normalised, of the Gaussian kernel: fit with feature_map="auto" (this one '
            "has "
            f"{self.plan.feature_map!r})"
        )

    def masses(self, state: State, rank: Any) -> NDArray[np.float64] | None:
        """Integrals of the outcomes' densities (K,), in units of the kernel's.

        What a model answers is divided by them. None where they are not known: such
        densities are left as they are.
        """
        return None

    def own_masses(self, state: State, rank: Any) -> Measure | None:
        """Function from columns (n, m) to integrals of densities of each row alone.

        As wide as what is measured, (n, K), for rows that a state is asked without.
        None where these are as large as those of the whole state, or not known.
        """
        return None

    def extent(self, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest scaled values (d,) that rows have, about."""
        proposal = self.plan.proposal
        assert proposal is not None
        anchors, widths = proposal.anchors, proposal.widths
        low = (anchors - 2 * widths).min(axis=0)
        return low, (anchors + 2 * widths).max(axis=0)

    def coordinates(
        self, rows: NDArray[Any], places: list[int]
    ) -> list[NDArray[np.float64]]:
        """Rows (n, w) in the units that distances are measured in, (n, p) each.

        Parameters
        ----------
        rows : array of shape (n, w)
            In the user's units; only the numbers at some places need to be there.
        places : list of int

        Returns
        -------
        metrics : list of arrays of shape (n, p)
            One or several; none of rows that are no numbers.
        """
        plan = self.plan
        if not plan.feature_map.numeric_rows:
            return []
        whole = len(places) == rows.shape[1]
        scaling = plan.scaling if whole else plan.scaling.marginal(places)
        return [scaling.apply(rows[:, places]).astype(np.float64)]

    # ---- planning -------------------------------------------------------------------

    plan_density: ClassVar[Callable[[PlanRequest, Batch], Plan]] = staticmethod(
        plan_density
    )
    """Chooses the plan of a density of these rows."""

    @classmethod
    def plan_outcomes(cls, choice: SupervisedChoice) -> Plan:
        """The plan that predicts the targets of rows left out best."""
        return choice.run()

    # ---- memory ---------------------------------------------------------------------

    @classmethod
    def foreseen_memory(
        cls, n_features: int, n_components: int, itemsize: int, load: Load
    ) -> MemoryEstimate:
        """Bytes that learning takes at most, said before there is a plan."""
        matrix = cls.power == 2
        return estimate_memory(n_features, n_components, itemsize, load, matrix=matrix)

    def memory(self, load: Load) -> MemoryEstimate:
        """Bytes that learning takes at most."""
        feature_map = self.plan.feature_map
        return self.foreseen_memory(
            self.plan.columns.width,
            feature_map.n_columns_,
            feature_map.column_dtype_.itemsize,
            load,
        )
