"""States of blends: sums that ridge regression and cells of trees are made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rhokit.core import BlendSums, DensityMatrix
from rhokit.fast import GramSum, add_to_cells, small_algebra, sum_over_cells
from rhokit.features import BlendFeatures
from rhokit.features.blend import BlendRows
from rhokit.features.links import LEAST_VALUE, LINKS, Link, Told
from rhokit.features.ridge import (
    Ridge,
    packed,
    triangle_side,
    triangle_size,
    unpacked,
)
from rhokit.plans import Plan
from rhokit.records import ArrayField, Reader, Record, Values, require
from rhokit.representations.base import Measure, Outcomes, Representation, State
from rhokit.representations.memory import Load, MemoryEstimate, estimate_blend_memory

Floats = NDArray[np.float64]

# Weights of cells below this share of all rows are what rounding left of none.
_NO_WEIGHT = 1e-9


def _check_sums(values: Values, reader: Reader) -> None:
    """As many sums as there are features and cells, of weights not below zero."""
    total, weight, products = (values[k] for k in ("total", "weight", "products"))
    n_features = triangle_side(len(products))
    # A bare state has no map that would say how many there are.
    cells = reader.sizes.get("C", total.shape[1] - n_features)
    require(
        triangle_size(n_features) == len(products),
        "products must be those of whole rows of a triangle",
    )
    require(
        total.shape[1] == n_features + cells and cells > 0,
        f"total must have sums of {n_features} features and {max(cells, 1)} cells",
    )
    rounding = 1e-6 * max(1.0, float(weight.max()))
    require((total[:, n_features:] >= -rounding).all(), "total has negative weights")


@dataclass(frozen=True, eq=False)
class Solution:
    """What a state says of rows: a ridge regression, and the means of cells.

    Parameters
    ----------
    blend : BlendFeatures
    ridge : Ridge
        Of whitened features, of outcomes less their priors.
    table : array of shape (C, K)
        Weights of the outcomes in every cell of trees, and about every prototype.
    prior : array of shape (K,)
        Of a row of weight one.
    link_of : type
    total_weight : float
        Of all rows.
    """

    blend: BlendFeatures
    ridge: Ridge
    table: Floats
    prior: Floats
    link_of: type[Link]
    total_weight: float

    @classmethod
    def of(
        cls, blend: BlendFeatures, state: State, link_of: type[Link], strength: float
    ) -> "Solution":
        """The solution of a state, with a ridge of λ for every unit of weight."""
        products, cross, prior, total = centred_sums(blend, state, link_of)
        with small_algebra(len(products)):
            ridge = Ridge.of(products, cross, strength * total)
        table = np.ascontiguousarray(state.total[:, blend.n_features :].T)
        return cls(blend, ridge, table, prior, link_of, total)

    def told(self, rows: BlendRows, weights: Floats) -> Told:
        """What is told of rows, by coefficients of their features as they are."""
        ridge = rows.features.astype(np.float64) @ weights + self.prior
        votes = sum_over_cells(rows.cells, self.means)
        near = None if rows.near is None else self._near(rows.near @ self.counts)
        return Told(ridge, self._mean_of(votes), rows.noise, near)

    @property
    def coefficients(self) -> Floats:
        """Of features that are not whitened, shape (F, K)."""
        return self.blend.unwhitened(self.ridge.coefficients)

    @cached_property
    def means(self) -> Floats:
        """Means of the outcomes in the trees' cells, and which have rows (C, K + 1)."""
        return self._shares(self.table[: self.blend.forest_.n_cells])

    @property
    def counts(self) -> Floats:
        """Weights of the outcomes about prototypes, shape (P, K)."""
        return self.table[self.blend.forest_.n_cells :]

    def _near(self, sums: Floats) -> Floats:
        """Sums (n, K) of weighted kernels as shares of all rows, above zero."""
        prototypes = self.blend.prototypes_
        assert prototypes is not None
        floor = prototypes.floor * self.prior
        shares = np.maximum(sums.astype(np.float64) / self.total_weight, 0) + floor
        return np.maximum(shares, LEAST_VALUE)

    def _shares(self, table: Floats) -> Floats:
        mass = self.link_of.row_mass(table)
        seen = mass > _NO_WEIGHT * self.total_weight
        shares = np.zeros((len(table), table.shape[1] + 1))
        shares[:, :-1][seen] = table[seen] / mass[seen, None]
        shares[:, -1] = seen
        return shares

    def _mean_of(self, votes: Floats) -> Floats:
        """The mean of the trees that had an answer; the priors where none had."""
        count = votes[:, -1:]
        return np.where(count > 0, votes[:, :-1] / np.maximum(count, 1), self.prior)

    def told_without(self, columns: NDArray[Any], mass: Floats) -> Told:
        """What is told of rows by all others.

        Trees that know a row are not asked for it.

        Parameters
        ----------
        columns : array of shape (n, d)
        mass : array of shape (n, K)
            Weights of the rows in the outcomes.
        """
        blend, weight = self.blend, self.link_of.row_mass(mass)
        truth = mass / np.where(weight > 0, weight, 1)[:, None]
        features = blend.whitened(blend.features(columns)).astype(np.float64)
        ridge = self.ridge.values_without(features, truth - self.prior, weight)
        means = blend.noise_
        noise = None if means is None else means.told_apart(columns)
        votes = self._votes_apart(columns, mass)
        near = self._near_without(columns, mass)
        return Told(ridge + self.prior, self._mean_of(votes), noise, near)

    def _votes_apart(self, columns: NDArray[Any], mass: Floats) -> Floats:
        """Sums (n, K + 1) over the cells of trees that do not know rows."""
        forest = self.blend.forest_
        codes = forest.codes(columns)
        cells, apart = forest.cells(codes), forest.apart(codes)
        votes = np.zeros((len(columns), len(self.prior) + 1))
        for own, asked in zip(cells.T, apart.T, strict=True):
            left = np.maximum(self.table[own[asked]] - mass[asked], 0)
            votes[asked] += self._shares(left)
        return votes

    def _near_without(self, columns: NDArray[Any], mass: Floats) -> Floats | None:
        """What outcomes weigh about rows, but for these themselves."""
        prototypes = self.blend.prototypes_
        if prototypes is None:
            return None
        sums = prototypes.kernel(columns) @ self.counts
        own = prototypes.kernel_at(columns, prototypes.nearest(columns))
        return self._near(sums - own[:, None] * mass)


def centred_sums(
    blend: BlendFeatures, state: State, link_of: type[Link]
) -> tuple[Floats, Floats, Floats, float]:
    """Sums of whitened features, and with outcomes less their priors; both of these.

    Returns
    -------
    products, cross : arrays of shapes (F, F) and (F, K)
    prior : array of shape (K,)
    total_weight : float
    """
    total = float(link_of.row_mass(np.asarray(state.weight)[None])[0])
    prior = np.asarray(state.weight) / total
    products = unpacked(state.products)
    cross = state.total[:, : blend.n_features].T
    # The constant is among the features, whose sums are so known.
    sums = products[:, blend.n_kernels] / blend.constant
    return products, cross - np.outer(sums, prior), prior, total


def _masses(which: Any, weights: Floats | None, outcomes: Outcomes) -> Floats:
    """Weights of rows in their outcomes, shape (b, K)."""
    if outcomes.roots_of is None:
        mass = np.ones(which.stop - which.start) if weights is None else weights[which]
        return np.repeat(mass[:, None], outcomes.count, axis=1)
    masses = outcomes.roots_of(which) ** 2
    return masses if weights is None else masses * weights[which, None]


class BlendRepresentation(Representation):
    """Sums of features, their products, and the cells that rows are in."""

    name = "blend"
    has_matrix = False
    is_linear = False
    shares_sums = True
    subtracts_own = False
    state_records: ClassVar[dict[str, Record]] = {
        "blend": Record(
            BlendSums,
            _check_sums,
            total=ArrayField(("K", "p")),
            weight=ArrayField(("K",), low=0),
            products=ArrayField(("f",)),
        )
    }

    @classmethod
    def claim_rows(cls, reader: Reader) -> None:
        """Sums for every cell of every outcome."""
        count, cells, features = (reader.sizes[name] for name in "KCF")
        what = f"rows, which would be summed up to {count} times {cells} cells,"
        reader.claim(16 * count * (cells + features) + 16 * features**2, what)

    @property
    def blend(self) -> BlendFeatures:
        """The map."""
        blend: Any = self.plan.feature_map
        return blend

    # ---- learning -------------------------------------------------------------------

    def total(
        self, rows: NDArray[Any], weights: Floats | None, outcomes: Outcomes
    ) -> BlendSums:
        """Sum features and cells up, per outcome."""
        blend, count = self.blend, outcomes.count
        size, cells = blend.n_features, blend.n_cells
        grams: dict[int, GramSum] = {}
        cross: dict[int, Floats] = {}
        tables: dict[int, Floats] = {}

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Floats:
            if worker not in grams:
                grams[worker] = GramSum(size, blend.dtype_)
                cross[worker] = np.zeros((size, count))
                tables[worker] = np.zeros((cells, count))
            masses = _masses(which, weights, outcomes)
            features = blend.whitened(blend.features(columns))
            cross[worker] += features.T.astype(np.float64) @ masses
            add_to_cells(blend.counted(columns), masses, tables[worker])
            if weights is not None:
                features *= np.sqrt(weights[which]).astype(blend.dtype_)[:, None]
            grams[worker].add(features)
            return np.asarray(masses.sum(axis=0))

        found = self.plan.for_blocks(rows, use, batch_size=self.batch_size)
        workers = sorted(grams)
        products = [packed(grams[w].total().astype(np.float64)) for w in workers]
        sums = [
            np.sum([part[w] for w in workers], axis=0).T for part in (cross, tables)
        ]
        return BlendSums(
            np.concatenate(sums, axis=1),
            np.sum(found, axis=0),
            np.sum(products, axis=0),
        )

    def cell_sums(
        self, rows: NDArray[Any], weights: Floats | None, outcomes: Outcomes
    ) -> Floats:
        """The part of a total that cells have (K, C), which is quickly summed up."""
        blend = self.blend
        tables: dict[int, Floats] = {}

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> None:
            shape = blend.n_cells, outcomes.count
            own = tables.setdefault(worker, np.zeros(shape))
            masses = _masses(which, weights, outcomes)
            add_to_cells(blend.counted(columns), masses, own)

        self.plan.for_blocks(rows, use, batch_size=self.batch_size)
        return np.asarray(np.sum([tables[w] for w in sorted(tables)], axis=0).T)

    def check_rank(self, rank: Any, owner: str) -> None:
        """Refuse any rank: there is one matrix for all outcomes."""
        if rank is not None:
            raise ValueError(
                f"The 'rank' parameter of {owner} must be None for a blend, which has "
                f"one matrix for all outcomes. Got {rank!r} instead: set it before "
                'fit, or take feature_map="landmarks"'
            )

    # ---- measuring ------------------------------------------------------------------

    def solution(self, state: State) -> Solution:
        """The ridge regression and the cells of a state."""
        blend = self.blend
        link_of = LINKS[blend.link_]
        return Solution.of(blend, state, link_of, blend.strength_)

    def measure(
        self, states: Sequence[State], rank: Any, *, projector: bool = False
    ) -> Measure:
        """Logarithms of what outcomes measure, which priors are to be added to."""
        link = self.blend.link
        solutions = [self.solution(state) for state in states]
        parts = [(each, each.coefficients) for each in solutions]

        def measured(columns: NDArray[Any]) -> Floats:
            rows = self.blend.read(columns)
            logs = [
                link.logs(solution.told(rows, weights), solution.prior)
                for solution, weights in parts
            ]
            return np.concatenate(logs, axis=1)

        return measured

    def logarithms(self, measured: NDArray[Any], log_scale: Any) -> Floats:
        """What was measured are logarithms already."""
        return np.asarray(measured, dtype=np.float64)

    def log_left_out(self, state: State, rows: NDArray[Any], mass: Floats) -> Floats:
        """Logarithms that rows measure without themselves."""
        solution, link = self.solution(state), self.blend.link

        def use(worker: int, which: Any, columns: Any, log_scale: Any) -> Floats:
            return link.logs(
                solution.told_without(columns, mass[which]), solution.prior
            )

        return np.concatenate(
            self.plan.for_blocks(rows, use, batch_size=self.batch_size)
        )

    def inputs(self, state: State) -> tuple[Plan, State]:
        """Plan and density matrix of the rows, whatever their outcomes."""
        m = self.blend.n_kernels
        states = unpacked(np.asarray(state.products))[:m, :m]
        weight = LINKS[self.blend.link_].row_mass(np.asarray(state.weight)[None])
        plan = Plan(
            self.plan.columns,
            self.plan.scaling,
            self.plan.gamma,
            self.blend.kernel_,
            importances=self.plan.importances,
        )
        return plan, DensityMatrix(self.blend.over_columns(states)[None], weight)

    def overlap_vector(self, state: State) -> NDArray[Any]:
        r"""Shares of the cells, for the kernel that rows of the same cells have.

        .. math:: k(x, y) = \frac1T \sum_c 1_c(x)\, 1_c(y) \le 1
        """
        first, forest = self.blend.n_features, self.blend.forest_
        shares = state.normalized()[0, first : first + forest.n_cells]
        return np.asarray(shares / np.sqrt(forest.n_trees))

    def cannot_integrate(self) -> ValueError:
        """The error that says which models have integrals in closed form."""
        return ValueError(
            "integrals over columns are not known for a blend, which tells outcomes by "
            'whole rows: fit with feature_map="landmarks", or, for the density of the '
            "rows, DMKDE"
        )

    # ---- memory ---------------------------------------------------------------------

    def memory(self, load: Load) -> MemoryEstimate:
        """Bytes that learning takes at most."""
        return estimate_blend_memory(self.blend, load)
