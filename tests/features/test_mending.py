"""Splines that are mended once there are layers: what they gain, and who judges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.features import mending
from rhokit.features.category_shares import NO_CATEGORIES
from rhokit.features.cells import mixed
from rhokit.features.ends import ColumnEnds
from rhokit.features.margins import Margins
from rhokit.features.mending import Mending
from rhokit.features.mixtures import fit_layer
from rhokit.features.shape_fields import reading_of
from rhokit.features.shapes import ColumnShapes
from rhokit.features.weighted_rows import WeightedRows

N = 5000


def mended(x, known=None, n_cells=3):
    """What mending makes of a layer of a straight column; quantiles are of ``known``.

    Returns shapes, layers, and the layers that were there before.
    """
    rows, rng = x[:, None], np.random.default_rng(1)
    mass, out = np.ones(len(x)), np.arange(len(x)) % 5 == 0

    def bent(shapes):
        z, log_volume = shapes.apply(rows)
        return WeightedRows(z, np.zeros((len(z), 0)), mass), log_volume

    def layer(some):
        return fit_layer(some, n_cells, 3.0, 1e-6, NO_CATEGORIES, rng)

    known = rows if known is None else known[:, None]
    margins = Margins.of(known, mass, reading_of([ColumnEnds()]))
    shapes = ColumnShapes.lines(1)
    every = bent(shapes)[0]
    layers, judges = [layer(every)], [layer(every.among(~out))]
    found = Mending(bent, mass, margins, NO_CATEGORIES, out)
    return *found.settled(shapes, layers, judges, np.ones(1)), layers


def test_tails_are_those_of_the_rows():
    x = np.random.default_rng(0).standard_t(3, N)
    shapes, layers, before = mended(x, n_cells=2)
    far = np.quantile(x, [0.003, 0.997])[:, None]
    expected, misses = [0.003, 0.997], []
    for own, z in ((before, far), (layers, shapes.apply(far)[0])):
        reached = mixed([each.mixture(NO_CATEGORIES) for each in own], np.ones(1))
        misses.append(np.abs(reached.cdf(0, z[:, 0]) - expected))
    assert len(shapes.splines)
    assert misses[1].max() < misses[0].max() / 2
    assert_allclose(misses[1], 0, atol=0.0005)


@pytest.mark.parametrize("allowed", [0.02, np.inf])
def test_rows_held_out_refuse_what_costs_them(monkeypatch, allowed):
    """Spikes that quantiles of other rows move out of cells that do not follow."""
    monkeypatch.setattr(mending, "improve_layer", lambda layer, *rest: layer)
    rng = np.random.default_rng(0)
    x = rng.integers(8, size=N) + 0.01 * rng.normal(size=N)
    monkeypatch.setattr(mending, "_MOST_TORN", (1.0,))
    monkeypatch.setattr(mending, "_MOST_LOST", allowed)
    shapes, layers, before = mended(x, x + 0.3, n_cells=8)
    is_kept = not len(shapes.splines)
    assert is_kept == np.isfinite(allowed)
    if is_kept:
        assert_array_equal(layers[0].moments, before[0].moments)


def test_strict_mending_is_kept_where_loose_mending_costs_more(monkeypatch):
    tried = []

    def splines(self, shapes, mixture, *, most_torn):
        tried.append(most_torn)
        found = plain(self, shapes, mixture, most_torn=1.0)
        return found if most_torn == 1.0 else None

    plain = Margins.splines
    monkeypatch.setattr(Margins, "splines", splines)
    monkeypatch.setattr(mending, "improve_layer", lambda layer, *rest: layer)
    monkeypatch.setattr(mending, "_MOST_TORN", (0.0, 1.0))
    rng = np.random.default_rng(0)
    x = rng.integers(8, size=N) + 0.01 * rng.normal(size=N)
    shapes, _, _ = mended(x, x + 0.3, n_cells=8)
    assert set(tried) == {0.0, 1.0}
    assert tried[-1] == 0.0
    assert not len(shapes.splines)
