"""How a mosaic is chosen: shapes of columns, layers of cells, and their weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rhokit.fast import map_jobs
from rhokit.features.base import column_ends
from rhokit.features.category_shares import NO_CATEGORIES, CategoryShares, blocks_of
from rhokit.features.cells import CellMixture
from rhokit.features.ends import ColumnEnds
from rhokit.features.margins import Margins
from rhokit.features.mending import Mending
from rhokit.features.mixtures import (
    Layer,
    fit_layer,
    fit_layers,
    improve_layer,
    kernel_layer,
    settings,
    stacked_weights,
    worthwhile,
)
from rhokit.features.reading import Reading
from rhokit.features.sample import distinct_rows
from rhokit.features.shape_fields import reading_of
from rhokit.features.shapes import ColumnShapes
from rhokit.features.weighted_rows import WeightedRows
from rhokit.frames import Schema
from rhokit.validation import generator

Floats = NDArray[np.float64]

# A mosaic is chosen from at most so many rows; one of few cells, from so many of them
# per cell, and at least some.
_ROWS, _ROWS_PER_CELL, _LEAST_ROWS = 20_000, 400, 2000
# Quantiles of columns are those of at most so many.
_MARGIN_ROWS = 200_000
# Of fewer rows than the first, a fifth is held out, three times; of fewer than the
# second, twice; of more, once.
_FEW_ROWS, _SOME_ROWS = 500, 2000
_FOLDS = 5
# Rows of a cell are few if they are less than so many for each column.
_ROWS_PER_COLUMN = 2
# Shapes are chosen from about so many rows, and compared by mixtures of so many cells.
_SHAPE_ROWS, _SHAPE_CELLS, _SHAPE_STRENGTH, _SHAPE_STEPS = 2000, 10, 3.0, 10
_KERNEL_CELLS = 1024
# Rows that a cell of a kernel density stands for, at least.
_KERNEL_ROWS = 2


@dataclass(frozen=True)
class TriedLayer:
    """A layer that was tried, or all together, and what held-out rows said of it.

    Parameters
    ----------
    n_cells : int
    strength : float
        Of the prior, in rows.
    score : float
        Mean log-density of rows that were held out, in bent and scaled units.
    weight : float
        How much the layer counts.
    n_probes : int
        How many rows were held out.
    """

    n_cells: int
    strength: float
    score: float
    weight: float
    n_probes: int


def onehot_of(schema: Schema | None, rows: NDArray[Any]) -> Floats:
    """Categories of wide rows (n, width) as ones and zeros, shape (n, w).

    Those that were not learned have zeros alone.
    """
    if schema is None:
        return np.zeros((len(rows), 0))
    parts = []
    for column in schema.category_columns():
        known: Any = schema.categories[column]
        ones = np.eye(len(known) + 1, len(known))
        parts.append(ones[schema.codes(column, rows)])
    return np.concatenate(parts, axis=1)


class MosaicChoice:
    """Finds the shapes and the layers of a mosaic; keeps what it compared.

    Parameters
    ----------
    rows : array of shape (n, width)
        Scaled; wide where some columns are categories.
    weights : array of shape (n,), optional
    zeros : array of shape (width,)
        The user's zero, in scaled units.
    schema : Schema, optional
    floor : float
        Variance that every cell has in every direction.
    n_cells : int, optional
        Of the one layer beside the background, instead of layers of several.
    random_state : int, RandomState or Generator, optional
    """

    def __init__(
        self,
        rows: NDArray[Any],
        weights: NDArray[np.float64] | None,
        zeros: Floats,
        schema: Schema | None,
        floor: float,
        n_cells: int | None,
        random_state: Any,
    ) -> None:
        self.tried: list[TriedLayer] = []
        self._floor, self._n_cells = floor, n_cells
        rng = generator(random_state)
        self._seed = int(rng.integers(2**31 - 1))
        total = float(len(rows) if weights is None else weights.sum())
        is_number = np.ones(rows.shape[1], bool) if schema is None else schema.is_number
        every, own = rows if schema is None else rows[:, is_number], weights
        if weights is not None:
            every, own = every[weights > 0], weights[weights > 0]
        most = _most_rows(n_cells)
        self._is_whole = len(every) <= most
        rows, mass = distinct_rows(rows, weights, most, rng)
        fold = np.empty(len(rows), dtype=np.intp)
        fold[rng.permutation(len(rows))] = np.arange(len(rows)) % _FOLDS
        numbers = rows[:, is_number].astype(np.float64)
        self.ends = _ends(numbers, mass, fold, zeros[is_number], every)
        # Of tails, all rows know more, where there is time to ask them.
        n_margin = _MARGIN_ROWS if n_cells is None else most
        self._margins = _margins(every, own, n_margin, rng, reading_of(self.ends))
        # Units of columns change the last digits of scaled rows, which must not count,
        # nor take a row beyond an end.
        rows = rows.astype(np.float32).astype(np.float64)
        if len(numbers):
            numbers = np.clip(rows[:, is_number], numbers.min(0), numbers.max(0))
        # Masses of all rows: priors count for less, the more there are.
        mass *= total / mass.sum()
        self._numbers, self._mass = numbers, mass
        self._onehot = onehot_of(schema, rows)
        self.shares = _shares(schema, mass @ self._onehot)
        n_folds = 1 + (len(rows) <= _FEW_ROWS) + (len(rows) <= _SOME_ROWS)
        self._held_out = [fold == k for k in range(min(n_folds, len(rows)))]

    def run(self, *, as_kernel: bool) -> tuple[ColumnShapes, list[Layer], Floats]:
        """Shapes, layers and their weights (L,).

        With ``as_kernel``, for the kernel density estimate of a kernel as wide as the
        floor; else for what makes held-out rows likeliest.
        """
        if as_kernel:
            self.ends = [ColumnEnds() for _ in self.ends]
            shapes = ColumnShapes.lines(len(self.ends))
            rows, _ = self._bent(shapes)
            most = max(1, len(rows) // _KERNEL_ROWS)
            n_cells = min(self._n_cells or _KERNEL_CELLS, most)
            rng = np.random.default_rng(self._seed)
            return shapes, [kernel_layer(rows, n_cells, self._floor, rng)], np.ones(1)
        shapes = self._shapes()
        layers, judges, weights = self._layers(self._bent(shapes)[0])
        if self._margins.has_tails:
            mending = self._mending()
            shapes, layers = mending.settled(shapes, layers, judges, weights)
        return shapes, layers, weights

    # ---- shapes ---------------------------------------------------------------------

    def _shapes(self) -> ColumnShapes:
        """Bent columns where they make held-out rows likelier, else straight ones.

        Splines mend what a mixture of few cells has too much or too little of.
        """
        some = slice(None, None, max(1, len(self._numbers) // _SHAPE_ROWS))
        straight, bent = (
            ColumnShapes.chosen(
                self._numbers[some], self._mass[some], self.ends, straight
            )
            for straight in (True, False)
        )
        if self._held_out[0].all():
            return straight
        best, (score, mixture) = straight, self._score(straight)
        if not bent.are_lines:
            own, its_mixture = self._score(bent)
            if own > score:
                best, score, mixture = bent, own, its_mixture
        splines = self._margins.splines(best, mixture, most_torn=1.0)
        if splines is None:
            return best
        mended = best.mended(splines)
        return mended if self._score(mended)[0] > score else best

    def _mending(self) -> Mending:
        """What mends shapes once there are layers."""
        mass, margins = self._mass, self._margins
        if not self._is_whole:
            mass = margins.raked(self._numbers, mass)
        return Mending(self._bent, mass, margins, self.shares, self._held_out[0])

    def _score(self, shapes: ColumnShapes) -> tuple[float, CellMixture]:
        """Log-density of held-out rows under a mixture of few cells, and that."""
        rows, log_volume = self._bent(shapes)
        out = self._held_out[0]
        inside = rows.among(~out)
        n_cells = min(self._n_cells or _SHAPE_CELLS, _SHAPE_CELLS, len(inside) // 8)
        layer = fit_layer(
            inside,
            max(1, n_cells),
            _SHAPE_STRENGTH,
            self._floor,
            self.shares,
            np.random.default_rng([n_cells, self._seed]),
            steps=_SHAPE_STEPS,
        )
        mixture = layer.mixture(self.shares)
        logs = mixture.log_density(rows.among(out).cell_rows()) + log_volume[out]
        return float(np.average(logs, weights=self._mass[out])), mixture

    def _bent(self, shapes: ColumnShapes) -> tuple[WeightedRows, Floats]:
        z, log_volume = shapes.apply(self._numbers)
        return WeightedRows(z, self._onehot, self._mass), log_volume

    # ---- layers ---------------------------------------------------------------------

    def _layers(self, rows: WeightedRows) -> tuple[list[Layer], list[Layer], Floats]:
        """Layers that count, of all rows and of the first fold, and weights (L,)."""
        n_left = int((~self._held_out[0]).sum())
        if not n_left:
            layers = self._fit(rows, 1, (1.0,))
            return layers, layers, np.ones(1)
        rungs = list(settings(n_left, rows.z.shape[1], self._n_cells))
        tried = [(n, strength) for n, strengths in rungs for strength in strengths]
        folds = [rows.among(~out) for out in self._held_out]
        jobs = [(fold, *rung) for fold in folds for rung in rungs]
        # Layers of most cells take longest, and come first.
        parts = map_jobs(lambda job: self._fit(*job), jobs[::-1])[::-1]
        found = [layer for part in parts for layer in part]
        logs = []
        for fold, out in enumerate(self._held_out):
            own = rows.among(out).cell_rows()
            layers = found[fold * len(tried) : (fold + 1) * len(tried)]
            mixtures = [layer.mixture(self.shares) for layer in layers]
            logs.append(np.stack([m.log_density(own) for m in mixtures], axis=1))
        every = np.concatenate(logs)
        mass = np.concatenate([self._mass[out] for out in self._held_out])
        weights = stacked_weights(every, mass)
        self._keep(tried, every, mass, weights)
        kept = np.flatnonzero(worthwhile(weights))

        def of_all_rows(k: int) -> Layer:
            # Each from another fold in turn, since layers that differ say more.
            fold = k % len(folds)
            return improve_layer(found[fold * len(tried) + k], rows, self.shares)

        layers = map_jobs(of_all_rows, kept[::-1].tolist())[::-1]
        return layers, [found[k] for k in kept], weights[kept] / weights[kept].sum()

    def _fit(
        self, rows: WeightedRows, n_cells: int, strengths: Sequence[float]
    ) -> list[Layer]:
        """Layers of so many cells, by which they are seeded."""
        rng = np.random.default_rng([n_cells, self._seed])
        # Of few rows for their columns, the layer without a prior is held.
        few = len(rows) < _ROWS_PER_COLUMN * rows.z.shape[1] * n_cells
        held = few or len(self._held_out) > 1
        return fit_layers(
            rows, n_cells, strengths, self._floor, self.shares, rng, held=held
        )

    def _keep(
        self,
        tried: list[tuple[int, float]],
        logs: Floats,
        mass: Floats,
        weights: Floats,
    ) -> None:
        """Note how well each layer did, and all of them together."""
        scores = np.average(logs, axis=0, weights=mass)
        self.tried = [
            TriedLayer(*setting, float(score), float(weight), len(logs))
            for setting, score, weight in zip(tried, scores, weights, strict=True)
        ]
        together = logsumexp(logs + np.log(weights), axis=1)
        total = sum(n_cells for n_cells, _ in tried)
        score = float(np.average(together, weights=mass))
        self.tried.append(TriedLayer(total, np.nan, score, 1.0, len(logs)))


def _ends(
    numbers: Floats,
    mass: Floats,
    fold: NDArray[np.intp],
    zeros: Floats,
    every: NDArray[Any],
) -> list[ColumnEnds]:
    """Ends of columns (n, d) that no rows deny, of which ``every`` has all."""
    extremes = zip(
        zeros, column_ends(every, np.min), column_ends(every, np.max), strict=True
    )
    return [
        ColumnEnds.of(column, mass, *map(float, rest)).confirmed(column, mass, fold)
        for column, rest in zip(numbers.T, extremes, strict=True)
    ]


def _margins(
    rows: NDArray[Any],
    weights: NDArray[np.float64] | None,
    most: int,
    rng: np.random.Generator,
    reading: Reading,
) -> Margins:
    """Quantiles of columns, from at most so many rows."""
    if len(rows) > most:
        some = rng.choice(len(rows), most, replace=False)
        rows, weights = rows[some], None if weights is None else weights[some]
    mass = np.ones(len(rows)) if weights is None else weights
    return Margins.of(rows.astype(np.float64), mass, reading)


def _most_rows(n_cells: int | None) -> int:
    """How many rows a mosaic is chosen from."""
    if n_cells is None:
        return _ROWS
    return min(_ROWS, max(_LEAST_ROWS, _ROWS_PER_CELL * n_cells))


def _shares(schema: Schema | None, counts: Floats) -> CategoryShares:
    """Shares of categories (w,) of which there are so many rows.

    With one row of all of a column alike, so that none is impossible.
    """
    if schema is None:
        return NO_CATEGORIES
    columns = schema.category_columns()
    sizes = tuple(len(schema.categories[column] or ()) for column in columns)
    shares = []
    for column, own in zip(columns, blocks_of(sizes), strict=True):
        known = (counts[own] + 1 / len(counts[own])) / (counts[own].sum() + 1)
        shares.append(known * (1 - schema.unseen[column]))
    return CategoryShares(np.concatenate(shares), sizes)
