"""The pictures of the guide: ``python -m tests.report.screenshots``.

Writes ``docs/images/report-{light,dark,phone}.png`` with the Chromium that the
browser's tests use.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

from rhokit import DMKDE, QMRegressor
from rhokit.report import write_report

IMAGES = Path(__file__).parents[2] / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COLUMNS = ["mean radius", "mean texture", "mean smoothness", "mean compactness"]


def density_page(folder):
    """The report of the guide: likely and unlikely tumours."""
    X = load_breast_cancer(as_frame=True).data[COLUMNS]
    return write_report(
        DMKDE(random_state=0).fit(X),
        X,
        folder / "density.html",
        training=True,
        title="Likely and unlikely tumours",
        source="breast cancer, Wisconsin",
    )


def values_page(folder):
    """Values with intervals."""
    X, y = load_diabetes(as_frame=True, scaled=False, return_X_y=True)
    train, new, train_y, new_y = train_test_split(X, y, random_state=0)
    return write_report(
        QMRegressor(random_state=0).fit(train, train_y),
        new,
        folder / "values.html",
        y=new_y,
        title="How diabetes goes on within a year",
        source="diabetes, scikit-learn",
    )


def shoot(browser, path, name, *, scheme, size, at=None, hover=None):
    """Photograph a page, perhaps from a section on, pointing at one of its charts."""
    page = browser.new_page(
        color_scheme=scheme, viewport={"width": size[0], "height": size[1]}
    )
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(path.as_uri())
    if at is not None:
        page.locator(at).evaluate("section => section.scrollIntoView()")
    if hover is not None:
        box = page.locator(f"{at} .chart").nth(hover).bounding_box()
        page.mouse.move(box["x"] + 0.45 * box["width"], box["y"] + 0.5 * box["height"])
    page.screenshot(path=IMAGES / f"report-{name}.png")
    page.close()


def main():
    """Write the pages into a temporary folder, and photograph them."""
    path = next(filter(None, map(shutil.which, BROWSERS)))
    folder = Path(tempfile.mkdtemp())
    density, values = density_page(folder), values_page(folder)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        shoot(browser, density, "light", scheme="light", size=(1100, 1180))
        shoot(
            browser,
            density,
            "dark",
            scheme="dark",
            size=(1100, 900),
            at="#columns",
            hover=1,
        )
        shoot(
            browser,
            values,
            "phone",
            scheme="light",
            size=(375, 1100),
            at="#sure",
            hover=0,
        )
        browser.close()


if __name__ == "__main__":
    main()
