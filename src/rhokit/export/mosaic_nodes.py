"""Mosaics as nodes: bent columns, their products, and one product with all cells."""

import numpy as np

from rhokit.export.exporters import REPRESENTATION_EXPORTERS
from rhokit.export.graph import DOUBLE, INTEGER, Value
from rhokit.features.bends import LINEAR, LOG
from rhokit.features.cell_rows import pairs
from rhokit.features.mosaic import MosaicFeatures
from rhokit.features.shapes import ColumnShapes
from rhokit.features.splines import Splines
from rhokit.frames import Schema
from rhokit.models import Model
from rhokit.representations import MosaicRepresentation

# Squares of larger numbers are not needed, and would be infinite.
_FARTHEST = 1e100
# Distances from an end, in widths of its bend: no smaller ones count, and below the
# other a series has more digits than a difference.
_NEAREST, _SMALL = 1e-300, 1e-3


@REPRESENTATION_EXPORTERS.register(MosaicRepresentation.name)
def _mosaic_logs(
    representation: MosaicRepresentation, model: Model, rows: Value
) -> Value:
    """Logarithms (n, K) of the mixtures, with the volume that bending makes."""
    graph, mosaic = rows.graph, representation.mosaic
    features, log_volume = _features(mosaic, rows)
    parts = []
    for mixture in representation.mixtures(model.state):
        coefficients = graph.constant(mixture.coefficients(), "cells")
        logs = features @ coefficients
        top = logs.max(1, keep=True)
        parts.append(graph.log(graph.exp(logs - top).sum(1, keep=True)) + top)
    return graph.concat(parts, axis=1) + log_volume


def _features(mosaic: MosaicFeatures, rows: Value) -> tuple[Value, Value]:
    """Features (n, q + w) of scaled rows, and logarithms of volumes (n, 1)."""
    graph, schema = rows.graph, mosaic.schema_
    numbers = rows
    if schema is not None:
        numbers = rows.take(np.flatnonzero(schema.is_number).tolist(), axis=1)
    z, log_volume = _bent(mosaic.shapes_, numbers)
    first, second = (each.tolist() for each in pairs(mosaic.n_numbers))
    one = z.column(0) * 0.0 + 1.0
    parts = [one, z, z.take(first, axis=1) * z.take(second, axis=1)]
    if schema is not None:
        parts += _categories(schema, rows)
    return graph.concat(parts, axis=1), log_volume


def _bent(shapes: ColumnShapes, numbers: Value) -> tuple[Value, Value]:
    """Bent columns (n, d), and logarithms of the volume that bending makes, (n, 1)."""
    graph = numbers.graph
    log_volume = numbers.column(0) * 0.0
    columns = []
    for j in range(len(shapes.kind)):
        x = numbers.column(j)
        inside, x = _inside(shapes, j, x)
        turns = [
            float(each) for each in np.clip(shapes.turns(j), -_FARTHEST, _FARTHEST)
        ]
        beyond = x - graph.clip(x, *turns)
        v, slope = _curved(shapes, j, x - beyond)
        u, more = _softened(shapes, j, v)
        z = (u - float(shapes.centre[j])) / float(shapes.width[j])
        slope = slope + more - float(np.log(shapes.width[j]))
        size = graph.node("Abs", beyond)
        more = graph.log(size * graph.exp(slope) + 1.0)
        z = z + graph.node("Sign", beyond) * more
        slope = slope - more
        if len(shapes.splines):
            z, more = _splined(shapes.splines, j, z)
            slope = slope + more
        columns.append(z)
        log_volume = log_volume + graph.where(inside, slope, -np.inf)
    return graph.concat(columns, axis=1), log_volume


def _inside(shapes: ColumnShapes, j: int, x: Value) -> tuple[Value, Value]:
    """Whether values are inside of ends that hold for good; places for others."""
    graph = x.graph
    inside = x.column(0) * 0.0 >= 0.0
    low, high = shapes.places(j)
    if np.isfinite(low):
        end = float(shapes.low[j])
        inside, x = x >= end, graph.where(x > end, x, low)
    if np.isfinite(high):
        end = float(shapes.high[j])
        inside, x = inside & (x <= end), graph.where(x < end, x, high)
    return inside, x


def _curved(shapes: ColumnShapes, j: int, x: Value) -> tuple[Value, Value]:
    """A column as a line, a logarithm or asinh, and the logarithm of its slope."""
    graph, kind = x.graph, shapes.kind[j]
    if kind == LINEAR:
        return x, x * 0.0
    away = (x - float(shapes.origin[j])) / float(shapes.unit[j])
    away = graph.clip(away, -_FARTHEST, _FARTHEST)
    if kind == LOG:
        bent = graph.log(away)
        return bent, bent * -1.0
    size = graph.node("Abs", away)
    root = graph.node("Sqrt", size * size + 1.0)
    bent = graph.log(size + root)
    slope = graph.log(root) * -1.0 - float(np.log(shapes.unit[j]))
    return graph.where(away >= 0.0, bent, bent * -1.0), slope


def _softened(shapes: ColumnShapes, j: int, v: Value) -> tuple[Value, Value]:
    """A column that goes to infinity at its ends, and the logarithm of its slope."""
    graph, soft = v.graph, float(shapes.soft[j])
    low, high = shapes.bent_ends(j)
    u, more = v, v * 0.0
    for end, sign in ((low, 1.0), (high, -1.0)):
        if np.isfinite(end):
            away = graph.clip((v - end) * (sign / soft), _NEAREST, _FARTHEST)
            # 1 - exp(-a), for which there is no operator of its own, by its series.
            series = away * (1.0 - away * (0.5 - away * (1 / 6 - away * (1 / 24))))
            rest = graph.exp(away * -1.0)
            gone = graph.where(away < _SMALL, series, 1.0 - rest)
            u = u + graph.log(gone) * (sign * soft)
            more = more + graph.node("Div", rest, gone)
    return u, graph.log(more + 1.0)


def _splined(splines: Splines, j: int, x: Value) -> tuple[Value, Value]:
    """The spline of a column, and the logarithm of its slope."""
    graph, knots = x.graph, splines.knots[:, j]
    reached = (x >= knots[None, 1:-1]).cast(INTEGER)
    piece = reached.sum(1, keep=True)
    parts = [
        graph.node("Gather", graph.constant(each), piece, axis=0)
        for each in splines.pieces(j)
    ]
    x0, y0, width, chord, a, b = parts
    at = graph.clip(graph.node("Div", x - x0, width), 0.0, 1.0)
    left = 1.0 - at
    both = at * left
    below = chord + (a + b - chord * 2.0) * both
    y = y0 + graph.node("Div", width * chord * (chord * at * at + a * both), below)
    rise = b * at * at + chord * both * 2.0 + a * left * left
    slope = graph.log(chord * chord * rise) - graph.log(below) * 2.0
    beyond = x - graph.clip(x, float(knots[0]), float(knots[-1]))
    return y + beyond * graph.where(beyond < 0.0, a, b), slope


def _categories(schema: Schema, rows: Value) -> list[Value]:
    """Ones and zeros (n, C) of every column of categories; NaN where there is none."""
    parts = []
    for column in schema.category_columns():
        states = schema.states(column)
        block = schema.blocks[column]
        own = rows.take(list(range(block.start, block.stop)), axis=1)
        overlaps = own @ states.T - (states**2).sum(axis=1)[None] / 2
        is_own = (overlaps >= overlaps.max(1, keep=True)).cast(DOUBLE)
        # States have length one; what is unseen has a state of zero, and no ones.
        is_own = is_own * ((own * own).sum(1, keep=True) > 0.5).cast(DOUBLE)
        parts.append(is_own + own.sum(1, keep=True) * 0.0)
    return parts
