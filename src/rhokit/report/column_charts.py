"""Pictures of single columns: rows as bars, and the model over them."""

import numpy as np

from rhokit.report.charts import ROOM, bar_chart, bars, histogram_chart
from rhokit.report.columns import ColumnShape
from rhokit.report.stretched import Stretched
from rhokit.report.svg import Frame, Mark, chart, tag
from rhokit.report.words import number, percent, plain_number


def column_chart(shape: ColumnShape) -> str | None:
    """One column: its values as bars, the model's density as a curve over them."""
    if shape.categories:
        return bar_chart(shape.name, shape.categories, shape.probabilities)
    if shape.histogram is None:
        return None
    if shape.stretched is not None:
        return _stretched_chart(shape, shape.stretched)
    if shape.curve is None:
        return histogram_chart(shape.histogram, shape.name, f"Values of {shape.name}")
    (x,), density = shape.curve.axes, shape.curve.density
    edges, heights = shape.histogram.edges, shape.histogram.density
    top = max(float(heights.max()), float(density.max()), 1e-300) * ROOM
    frame = Frame((edges[0], edges[-1]), (0.0, top))
    curve = frame.path(x, np.maximum(density, 0))
    first, last = frame.across(x[0]), frame.across(x[-1])
    body = [
        frame.axes(shape.name, "density"),
        bars(frame, edges, heights, "bar faint"),
        tag(
            "path", d=f"{curve}L{last:.2f} {frame.bottom:g}H{first:.2f}Z", class_="area"
        ),
        tag("path", d=curve, class_="line"),
    ]
    marks = [
        Mark(
            frame.across(at),
            frame.up(max(height, 0.0)),
            (plain_number(at), number(height)),
        )
        for at, height in zip(x.tolist(), density.tolist(), strict=True)
    ]
    peak = x[int(np.argmax(density))]
    label = f"Density of {shape.name}, highest at {plain_number(peak)}"
    return chart("".join(body), label=label, names=(shape.name, "density"), marks=marks)


def _stretched_chart(shape: ColumnShape, axis: Stretched) -> str:
    """A column of long tails on an axis of quantiles: equal steps, equal odds."""
    edges, heights = axis.places, axis.rows
    known = heights if axis.model is None else np.append(heights, axis.model)
    frame = Frame((edges[0], edges[-1]), (0.0, float(known.max()) * ROOM))
    words = {place: plain_number(at, 3) for place, at in axis.ticks}
    body = [
        frame.axes(
            f"{shape.name} (axis of quantiles)", "share of the rows", None, words
        ),
        bars(frame, edges, heights, "bar faint"),
    ]
    middles = (edges[1:] + edges[:-1]) / 2
    if axis.model is not None:
        body.append(tag("path", d=frame.path(middles, axis.model), class_="line"))
    told = heights if axis.model is None else axis.model
    values = axis.values.tolist()
    marks = [
        Mark(
            frame.across(place),
            frame.up(up),
            (_range(low, high), percent(share), percent(up)),
        )
        for place, low, high, share, up in zip(
            middles.tolist(),
            values[:-1],
            values[1:],
            heights.tolist(),
            told.tolist(),
            strict=True,
        )
    ]
    label = f"Values of {shape.name}, whose tails are long, on an axis of quantiles"
    names = (shape.name, "rows", "rows" if axis.model is None else "model")
    return chart("".join(body), label=label, names=names, marks=marks)


def _range(low: float, high: float) -> str:
    return f"{plain_number(low)} to {plain_number(high)}"
