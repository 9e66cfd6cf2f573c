"""Splines that mend what all layers together have too much or too little of."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rhokit.features.category_shares import CategoryShares
from rhokit.features.cells import mixed
from rhokit.features.margins import Margins
from rhokit.features.mixtures import Layer, improve_layer
from rhokit.features.shapes import ColumnShapes
from rhokit.features.weighted_rows import WeightedRows

Floats = NDArray[np.float64]

# How often splines are mended, and how many nats per held-out row that may cost: it
# moves rows, which narrow cells must follow. A column is left alone where its rows
# would be moved out of cells of more than one of these weights, the stricter one first.
_MENDINGS, _MOST_LOST, _MOST_TORN = 3, 0.02, (0.002, 0.02)


@dataclass(frozen=True, eq=False)
class Mending:
    """Mends shapes of columns once there are layers, if held-out rows allow it.

    Parameters
    ----------
    bent : callable
        Takes shapes, returns the rows under them and the logarithms of their volume.
    mass : array of shape (n,)
        Of the rows as layers follow them, with the shares that all rows have.
    margins : Margins
    shares : CategoryShares
    out : array of shape (n,)
        Which rows are held out.
    """

    bent: Callable[[ColumnShapes], tuple[WeightedRows, Floats]]
    mass: Floats
    margins: Margins
    shares: CategoryShares
    out: NDArray[np.bool_]

    def settled(
        self,
        shapes: ColumnShapes,
        layers: list[Layer],
        judges: list[Layer],
        weights: Floats,
    ) -> tuple[ColumnShapes, list[Layer]]:
        """Mended shapes and layers that have followed, or what they were.

        Judges are layers that have not seen the rows held out: they are mended first,
        and say what it costs. Those of all rows cannot, since what they made of chance
        is undone by whatever moves rows.
        """
        least, chosen = self._score(shapes, judges, weights) - _MOST_LOST, None
        for most_torn in _MOST_TORN:
            mended, moved = self._mended(shapes, judges, weights, ~self.out, most_torn)
            moved = self._followed(mended, moved, ~self.out)
            score = self._score(mended, moved, weights)
            if score <= least:
                break
            least, chosen = score, most_torn
        if chosen is None:
            return shapes, layers
        # They follow the last splines with the rows that are learned.
        every = np.ones(len(self.out), dtype=bool)
        return self._mended(shapes, layers, weights, every, chosen)

    def _mended(
        self,
        shapes: ColumnShapes,
        layers: list[Layer],
        weights: Floats,
        which: NDArray[np.bool_],
        most_torn: float,
    ) -> tuple[ColumnShapes, list[Layer]]:
        """Shapes, and layers that have followed all splines but the last."""
        for k in range(_MENDINGS):
            if k:
                layers = self._followed(shapes, layers, which)
            mixture = mixed([each.mixture(self.shares) for each in layers], weights)
            splines = self.margins.splines(shapes, mixture, most_torn=most_torn)
            shapes = shapes.mended(splines or shapes.splines)
        return shapes, layers

    def _followed(
        self, shapes: ColumnShapes, layers: list[Layer], which: NDArray[np.bool_]
    ) -> list[Layer]:
        """Layers after a step with some of the rows, where these are now."""
        rows = replace(self.bent(shapes)[0], mass=self.mass).among(which)
        return [improve_layer(each, rows, self.shares, 1) for each in layers]

    def _score(
        self, shapes: ColumnShapes, layers: list[Layer], weights: Floats
    ) -> float:
        """Mean log-density of the rows held out."""
        rows, log_volume = self.bent(shapes)
        mixture = mixed([each.mixture(self.shares) for each in layers], weights)
        logs = mixture.log_density(rows.among(self.out).cell_rows())
        own = rows.mass[self.out]
        return float(np.average(logs + log_volume[self.out], weights=own))


__all__ = ["Mending"]
