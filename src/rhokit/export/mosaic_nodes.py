"""Mosaics as nodes: bent columns, their products, and one product with all cells."""

import numpy as np

from rhokit.export.exporters import REPRESENTATION_EXPORTERS
from rhokit.export.graph import DOUBLE, Value
from rhokit.features.cells import pairs
from rhokit.features.mosaic import MosaicFeatures
from rhokit.features.shapes import LOG, ColumnShapes
from rhokit.frames import Schema
from rhokit.models import Model
from rhokit.representations import MosaicRepresentation

# Squares of larger numbers are not needed, and would be infinite.
_FARTHEST = 1e100


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
    log_volume = numbers.column(0) * 0.0 - float(np.log(shapes.width).sum())
    columns = []
    for j, kind in enumerate(shapes.kind):
        x = numbers.column(j)
        if kind:
            away = (x - float(shapes.origin[j])) / float(shapes.unit[j])
            away = graph.clip(away, -_FARTHEST, _FARTHEST)
            if kind == LOG:
                inside = away > 0.0
                x = graph.log(graph.where(inside, away, 1.0))
                slope = graph.where(inside, x * -1.0, -np.inf)
            else:
                size = graph.node("Abs", away)
                root = graph.node("Sqrt", size * size + 1.0)
                bent = graph.log(size + root)
                x = graph.where(away >= 0.0, bent, bent * -1.0)
                slope = graph.log(root) * -1.0 - float(np.log(shapes.unit[j]))
            log_volume = log_volume + slope
        columns.append(x)
    z = graph.concat(columns, axis=1)
    return (z - shapes.centre[None]) / shapes.width[None], log_volume


def _categories(schema: Schema, rows: Value) -> list[Value]:
    """Ones and zeros (n, C) of every column of categories; NaN where there is none."""
    parts = []
    for column in schema.category_columns():
        states = schema.states(column)
        block = schema.blocks[column]
        own = rows.take(list(range(block.start, block.stop)), axis=1)
        overlaps = own @ states.T - (states**2).sum(axis=1)[None] / 2
        is_own = overlaps >= overlaps.max(1, keep=True)
        parts.append(is_own.cast(DOUBLE) + own.sum(1, keep=True) * 0.0)
    return parts
