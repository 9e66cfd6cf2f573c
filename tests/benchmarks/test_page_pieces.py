"""Pieces that tables and pictures of the page are made of."""

import numpy as np
import pytest
from PIL import Image

from benchmarks.figures import markdown, readings, style


def test_the_front_is_what_nobody_beats():
    points = np.random.default_rng(0).integers(0, 12, (60, 2)).tolist()
    unbeaten = {
        (x, y)
        for x, y in points
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
    }
    found = readings.front(map(tuple, points))
    assert set(found) == unbeaten
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b", "c"], "a, b and c"),
        (["exact", "exact, fused"], "exact; exact, fused"),
    ],
)
def test_lists_are_read_in_one_way(words, text):
    assert markdown.listed(words) == text


def test_what_packages_say_fits_in_a_line_and_names_no_folder():
    said = "ImportError: no 'x'\n  from (/home/me/project/x.py), 3 rows/s"
    assert markdown.phrase(said) == "ImportError: no 'x' from (x.py), 3 rows/s"
    assert len(markdown.phrase("word " * 100)) <= 160


def test_no_two_contestants_look_the_same():
    entries = [readings.Entry(str(i), i < 9, None, {}) for i in range(40)]
    looks = style.Looks(entries)
    seen = {(looks[e.name].colour, looks[e.name].mark) for e in entries}
    assert len(seen) == len(entries)
    assert {looks[e.name].colour for e in entries if e.ours} <= set(style.OURS)
    assert not set(style.OURS) & set(style.OTHERS)


def test_small_palettes_keep_the_colours(tmp_path):
    figure, (ax,) = style.panels(1)
    for i, colour in enumerate(style.OURS + style.OTHERS):
        ax.plot([0, 1], [i, 2 * i], "o-", color=colour, markersize=3)
    style.save(figure, tmp_path / "marks.png")
    figure.savefig(tmp_path / "plain.png", dpi=150)
    kept, plain = (
        np.asarray(Image.open(tmp_path / name).convert("RGB")).astype(int)
        for name in ("marks.png", "plain.png")
    )
    assert np.abs(kept - plain).max() <= 16


@pytest.mark.parametrize("count", [1, 2, 5])
def test_legends_fit_below_their_panels(count):
    names = [f"a rather long name of a contestant {i}" for i in range(9)]
    figure, axes = style.panels(count, names=names)
    for name in names:
        axes[0].plot([1, 2], [1, 2], label=name)
    handles = style.handles_by_name(axes)
    assert list(handles) == names
    style.legend_below(figure, list(handles.values()), names)
    figure.draw_without_rendering()
    whole, legend = figure.bbox, figure.legends[0].get_window_extent()
    assert whole.x0 <= legend.x0 < legend.x1 <= whole.x1
    assert whole.y0 <= legend.y0
    assert legend.y1 <= min(ax.get_tightbbox().y0 for ax in axes) + 1
