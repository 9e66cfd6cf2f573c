"""Pictures: well-formed, escaped, and with the numbers that they were given."""

import json
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rhokit.inspection import (
    Histogram,
    Spectrum,
    class_reliability,
    predict_values,
    spectrum,
)
from rhokit.report import charts
from rhokit.report.column_charts import column_chart
from rhokit.report.columns import ColumnShape
from rhokit.report.facts import gather
from rhokit.report.svg import Frame, Mark, chart, tag, ticks
from tests.inspection.models import case

HOSTILE = "\"'></svg></script><img src=x onerror=alert(1)>&lt;\ud800"


def parse(svg):
    """The root of a picture, its names and its marks."""
    root = ElementTree.fromstring(svg.encode("utf-8", "replace"))
    return root, json.loads(root.get("data-names")), json.loads(root.get("data-marks"))


def shapes(root, kind):
    """Elements of a class."""
    return [each for each in root.iter() if kind in (each.get("class") or "").split()]


@pytest.fixture(scope="module")
def facts():
    return gather(case("two columns").model, case("two columns").X, training=True)


def test_a_curve_has_the_models_numbers(facts):
    shape = facts.columns[0]
    root, names, marks = parse(column_chart(shape))
    assert names == [shape.name, "density"]
    (x,), density = shape.curve.axes, shape.curve.density
    assert_allclose([float(m[2]) for m in marks], x, rtol=1e-3)
    assert_allclose([float(m[3]) for m in marks], density, rtol=1e-3, atol=1e-300)
    heights = np.array([m[1] for m in marks])
    bottom = Frame((0.0, 1.0), (0.0, 1.0)).bottom
    scale = (bottom - heights.min()) / density.max()
    assert_allclose(bottom - heights, density * scale, atol=0.2)
    assert len(shapes(root, "bar")) == (shape.histogram.counts > 0).sum()


def test_bars_and_curve_share_the_scale(facts):
    shape = facts.columns[0]
    root, _, marks = parse(column_chart(shape))
    (line,) = shapes(root, "line")
    drawn = np.array(line.get("d")[1:].split(), dtype=float).reshape(-1, 2)
    assert_allclose(drawn, [m[:2] for m in marks], atol=0.06)
    bottom = Frame((0.0, 1.0), (0.0, 1.0)).bottom
    scale = (bottom - drawn[:, 1].min()) / shape.curve.density.max()
    bars = [float(bar.get("height")) for bar in shapes(root, "bar")]
    area = sum(bars) / scale * np.diff(shape.histogram.edges)[0]
    total = shape.histogram.counts.sum() + shape.histogram.n_outside
    assert_allclose(area, shape.histogram.counts.sum() / total, rtol=0.01)


def test_a_histogram_has_a_bar_for_every_count():
    counts = np.array([3, 0, 7, 1])
    part = Histogram(np.arange(5.0), counts)
    root, names, marks = parse(
        charts.histogram_chart(part, "x", "some", (2.0, "floor"))
    )
    assert names == ["x", "rows"]
    assert [int(m[3]) for m in marks] == counts.tolist()
    assert marks[0][2] == "0 to 1"
    heights = [float(bar.get("height")) for bar in shapes(root, "bar")]
    assert_allclose(np.array(heights) / heights[0], [1, 7 / 3, 1 / 3], rtol=0.01)
    assert len(shapes(root, "limit")) == 1


def test_a_line_outside_the_picture_is_not_drawn():
    part = Histogram(np.arange(3.0), np.array([1, 2]))
    root, *_ = parse(charts.histogram_chart(part, "x", "some", (-5.0, "floor")))
    assert not shapes(root, "limit")


def test_bars_and_the_models_probabilities():
    pairs = (("a", 30), ("b", 10))
    root, names, marks = parse(charts.bar_chart("letter", pairs, (0.5, 0.5)))
    assert names == ["letter", "rows", "share", "model"]
    assert [m[2:] for m in marks] == [
        ["a", "30", "75.0\u00a0%", "50.0\u00a0%"],
        ["b", "10", "25.0\u00a0%", "50.0\u00a0%"],
    ]
    widths = [float(bar.get("width")) for bar in shapes(root, "bar")]
    assert_allclose(widths[0] / widths[1], 3, rtol=0.01)
    assert len(shapes(root, "model")) == 2
    _, names, _ = parse(charts.bar_chart("letter", pairs))
    assert names == ["letter", "rows", "share"]


def test_reliability_has_a_dot_per_bin_at_its_place():
    model, X, y, _ = case("classes")
    (curve,) = class_reliability(model, X, y)
    root, _, marks = parse(charts.reliability_chart(curve))
    frame = Frame((0.0, 1.0), (0.0, 1.0), height=300)
    pairs = zip(curve.predicted, curve.observed, strict=True)
    places = [(frame.across(a), frame.up(b)) for a, b in pairs]
    assert_allclose([m[:2] for m in marks], places, atol=0.06)
    assert len(shapes(root, "dot")) == len(curve.counts)
    assert [int(m[4]) for m in marks] == curve.counts.tolist()


def test_intervals_tell_who_is_outside():
    model, X, y, _ = case("values")
    (found,) = predict_values(model, X, y)
    root, _, marks = parse(charts.interval_chart(found, 0.9))
    low, high = found.interval(0.9).T
    inside = (low <= found.truth) & (found.truth <= high)
    assert len(shapes(root, "dot")) == inside.sum()
    assert len(shapes(root, "ring")) == (~inside).sum()
    order = np.argsort(found.predicted, kind="stable")
    assert_allclose([float(m[3]) for m in marks], found.truth[order], rtol=1e-3)
    _, _, marks = parse(charts.coverage_chart(found))
    assert [m[2] for m in marks] == ["50\u00a0%", "80\u00a0%", "90\u00a0%", "95\u00a0%"]
    got = [float(m[3].removesuffix("\u00a0%")) / 100 for m in marks]
    assert_allclose(got, found.achieved, atol=6e-4)


def test_a_map_has_its_shades_and_numbers(facts):
    pair = facts.pair
    root, names, marks = parse(charts.pair_chart(pair))
    assert names == [*pair.names, "density"]
    assert len(shapes(root, "shade")) == 4
    assert len(marks) == 32 * 32
    x, y, value = (float(text) for text in marks[32 * 7 + 9][2:])
    assert_allclose([x, y], [pair.grid.axes[0][18], pair.grid.axes[1][14]], rtol=1e-3)
    assert_allclose(value, pair.grid.density[14, 18], rtol=1e-3)


def test_the_spectrum_marks_the_rank():
    found = Spectrum(np.array([[1.2, 0.6, 0.2, 0.0]]), 4)
    root, _, marks = parse(charts.spectrum_chart(found, 2))
    assert [m[2:] for m in marks] == [
        ["1", "60.000\u00a0%", "60.0\u00a0%"],
        ["2", "30.000\u00a0%", "90.0\u00a0%"],
        ["3", "10.000\u00a0%", "100.0\u00a0%"],
    ]
    assert len(shapes(root, "limit")) == 1
    for rank in (None, 4):
        root, *_ = parse(charts.spectrum_chart(found, rank))
        assert not shapes(root, "limit")


def test_hostile_names_stay_text(facts):
    shape = facts.columns[0]
    wild = ColumnShape(HOSTILE, "number", shape.histogram, shape.curve)
    pictures = [
        column_chart(wild),
        charts.histogram_chart(shape.histogram, HOSTILE, HOSTILE, (12.0, HOSTILE)),
        charts.bar_chart(HOSTILE, ((HOSTILE, 3), ("b", 1))),
    ]
    for svg in pictures:
        root, names, _ = parse(svg)
        assert "<img" not in svg
        assert "</script" not in svg
        assert names[0] == HOSTILE
        allowed = {"svg", "path", "rect", "text", "circle"}
        assert {each.tag.rpartition("}")[2] for each in root.iter()} <= allowed


def test_every_picture_says_what_it_shows(facts):
    pictures = [column_chart(shape) for shape in facts.columns]
    pictures += [charts.pair_chart(facts.pair)]
    pictures += [charts.spectrum_chart(spectrum(case("landmarks").model), None)]
    for svg in pictures:
        root, *_ = parse(svg)
        assert root.get("role") == "img"
        assert root.get("tabindex") == "0"
        assert len(root.get("aria-label")) > 10


def test_a_column_without_values_has_no_picture():
    assert column_chart(ColumnShape("empty", "number")) is None


# ---- the tools -------------------------------------------------------------------


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
)
def test_ticks_are_round_few_inside_and_told_apart(low, width):
    high = low + width
    found = ticks(low, high)
    values = list(found)
    assert 1 <= len(values) <= 6
    slack = 1e-6 * width + 1e-9
    assert all(low - slack <= value <= high + slack for value in values)
    assert len(set(found.values())) == len(values)
    if len(values) > 2:
        assert_allclose(np.diff(values), values[1] - values[0], rtol=1e-6)


def test_frames_put_ends_at_their_ends():
    frame = Frame((2.0, 4.0), (0.0, 10.0))
    assert frame.across(2) == frame.left
    assert frame.across(4) == frame.right
    assert frame.up(0) == frame.bottom
    assert frame.up(10) < frame.up(5) < frame.bottom


def test_tags_escape_attributes():
    svg = tag("g", "", data_x='"><script>')
    assert ElementTree.fromstring(svg).get("data-x") == '"><script>'


def test_numbers_that_are_none_are_words():
    mark = Mark(1.0, 2.0, ("minus infinity",))
    _, _, marks = parse(chart("", label="some words", names=["a"], marks=[mark]))
    assert marks == [[1.0, 2.0, "minus infinity"]]
    assert not math.isnan(marks[0][0])
