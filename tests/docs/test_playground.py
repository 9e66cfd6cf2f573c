"""The page on which readers move a density: right, quiet, and fit for a phone."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.browsers import PHONE, chromium

PAGE = Path(__file__).parents[2] / "docs" / "playground" / "move-a-density.html"


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser):
    """The page; at the end, nothing may have gone wrong or left the machine."""
    said, asked = [], []
    tab = browser.new_page(viewport=PHONE)
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(PAGE.as_uri())
    yield tab
    tab.close()
    assert not said
    assert all(url.startswith("file:") for url in asked)


def answers(page, **settings):
    """What the page computes, as arrays."""
    found = page.evaluate(f"answers({json.dumps(settings)})")
    return {name: np.array(found[name]) for name in ("nodes", "density")}


@pytest.mark.parametrize("columns", [1, 2])
def test_all_rows_are_exact_kernel_density(page, columns):
    rows = np.array(page.evaluate(f"DATA[{columns}].rows"))
    found = answers(page, columns=columns, map="exact", gamma=3.0, size=None)
    squares = ((found["nodes"][:, None] - rows) ** 2).sum(axis=-1)
    expected = np.exp(-3.0 * squares).mean(axis=1) * (3.0 / np.pi) ** (columns / 2)
    assert_allclose(found["density"], expected, rtol=1e-12, atol=1e-300)


def test_maps_come_near_with_their_size(page):
    exact = answers(page, columns=1, map="exact", gamma=10.0, size=None)["density"]

    def miss(name, size):
        found = answers(page, columns=1, map=name, gamma=10.0, size=size)["density"]
        return np.linalg.norm(found - exact) / np.linalg.norm(exact)

    assert miss("landmarks", 32) < 1e-3 < miss("landmarks", 4)
    assert miss("fourier", 256) < 0.3 < miss("fourier", 4)


@pytest.mark.parametrize("columns", [1, 2])
def test_mosaics_integrate_to_one(page, columns):
    low, high = (page.evaluate(f"DATA[{columns}].{side}") for side in ("low", "high"))
    for each in page.evaluate(f"DATA[{columns}].mosaics.map(each => each.density)"):
        steps = len(each) ** (1 / columns) - 1
        cell = np.prod(np.subtract(high, low) / steps)
        assert_allclose(np.sum(each) * cell, 1, rtol=0.03)


def test_controls_change_the_picture_and_the_sentence(page):
    seen = set()
    for name in ("exact", "fourier", "landmarks", "mosaic"):
        for columns in (1, 2):
            page.check(f"input[name=columns][value='{columns}']")
            page.select_option("#map", name)
            size = page.locator("#size")
            assert size.is_disabled() == (name == "exact")  # which has no size
            if name != "exact":
                size.fill("4")
            assert "integrates to" in page.inner_text("#said")
            seen.add(page.evaluate("byId('picture').toDataURL()"))
    assert len(seen) == 8
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_features_are_drawn_again(page):
    page.select_option("#map", "fourier")
    before = page.inner_text("#said")
    page.click("#again")
    assert page.inner_text("#said") != before
