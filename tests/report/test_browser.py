"""The page in a real browser: it sorts, shows values, fits a phone, and is quiet."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rhokit import DMKDE
from rhokit.report import write_report
from tests.browsers import PHONE, chromium
from tests.inspection.models import case

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Paths of reports, by name."""
    folder = tmp_path_factory.mktemp("reports")
    paths = {}
    for name in ("two columns", "rejecting", "values"):
        model, X, y, training = case(name)
        paths[name] = write_report(
            model, X, folder / f"{name}.html", y=y, training=training
        )
    paths["hostile"] = _hostile_page(folder / "hostile.html")
    return paths


def _hostile_page(path):
    rng = np.random.default_rng(0)
    words = pd.Categorical(rng.choice([HOSTILE, "plain"], 60))
    frame = pd.DataFrame({HOSTILE: rng.normal(size=60), f"kind{HOSTILE}": words})
    model = DMKDE(n_components=16, random_state=0).fit(frame)
    return write_report(model, frame, path, title=HOSTILE, source=HOSTILE)


@pytest.fixture
def visit(browser, pages):
    """Open a report; at the end, nobody may have complained or asked the network."""
    contexts, complaints, requests = [], [], []

    def open_page(name, **options):
        context = browser.new_context(
            **({"viewport": {"width": 1200, "height": 800}} | options),
            reduced_motion="reduce",
        )
        context.set_default_timeout(5000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(pages[name].as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert set(requests) <= {path.as_uri() for path in pages.values()}


def column(page, table, place):
    """What cells of a column are sorted by."""
    cells = page.locator(f"{table} tbody tr > :nth-child({place})")
    return cells.evaluate_all("all => all.map(cell => cell.dataset.value ?? null)")


def tip(page):
    """The tooltip's lines, as pairs of name and value."""
    lines = page.locator(".tip div")
    pairs = lines.evaluate_all(
        "all => all.map(l => [...l.children].map(c => c.textContent))"
    )
    return dict(pairs)


@pytest.mark.parametrize("name", ["two columns", "rejecting", "values", "hostile"])
def test_pages_are_quiet_and_fit_a_phone(visit, name):
    page = visit(name, viewport=PHONE, has_touch=True)
    widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    assert page.locator("h1").is_visible()
    assert page.locator("img").count() == 0
    # Wide tables scroll by themselves.
    table = page.locator(".scroll").last
    assert table.evaluate("t => getComputedStyle(t).overflowX") == "auto"


def test_numbers_sort_as_numbers(visit):
    page = visit("two columns")
    header = page.locator("#unlikely thead th").nth(3)
    before = [float(v) for v in column(page, "#unlikely", 4)]
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert [float(v) for v in column(page, "#unlikely", 4)] == sorted(before)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    falling = [float(v) for v in column(page, "#unlikely", 4)]
    assert falling == sorted(before, reverse=True)
    assert falling != sorted(map(str, falling), reverse=True)  # texts would differ
    page.locator("#unlikely thead th").first.locator("button").click()
    assert header.get_attribute("aria-sort") is None
    assert page.locator("#unlikely [aria-sort]").count() == 1


def test_sorting_is_stable_both_ways_and_gaps_stay_last(visit):
    page = visit("two columns")
    page.evaluate(
        """values => {
          const body = document.querySelector("#unlikely tbody");
          const rows = [...body.rows].slice(0, values.length);
          body.replaceChildren(...rows);
          rows.forEach((row, k) => {
            row.cells[0].dataset.value = k;
            if (values[k] === null) delete row.cells[1].dataset.value;
            else row.cells[1].dataset.value = values[k];
          });
        }""",
        ["2", None, "10", "2", "-inf", "10", "-3"],
    )
    button = page.locator("#unlikely thead th").nth(1).locator("button")
    button.click()
    assert column(page, "#unlikely", 1) == ["4", "6", "0", "3", "2", "5", "1"]
    button.click()
    assert column(page, "#unlikely", 1) == ["2", "5", "0", "3", "6", "4", "1"]


def test_words_sort_as_words_with_the_keyboard(visit):
    page = visit("rejecting")
    button = page.locator("#fitted thead th").first.locator("button")
    button.focus()
    page.keyboard.press("Enter")
    names = column(page, "#fitted", 1)
    assert names == sorted(names)
    page.keyboard.press("Space")
    assert column(page, "#fitted", 1) == sorted(names, reverse=True)


def scroll_to(page, chart):
    """Bring a chart into view; the page hears of it with the next picture."""
    chart.scroll_into_view_if_needed()
    picture = "new Promise(done => requestAnimationFrame(done))"
    page.evaluate(f"async () => {{ await {picture}; await {picture}; }}")


def hover(page, chart, across, down):
    """Point at a share of a chart's width and height."""
    scroll_to(page, chart)
    box = chart.bounding_box()
    page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])


def test_pointing_shows_the_models_density(visit):
    model = case("two columns").model
    page = visit("two columns")
    chart = page.locator("#columns .chart").nth(1)
    hover(page, chart, 0.4, 0.5)
    shown = tip(page)
    assert page.locator(".tip").is_visible()
    assert set(shown) == {"mean radius", "density"}
    part = model.marginal([0])
    point = pd.DataFrame({"mean radius": [float(shown["mean radius"])]})
    assert_allclose(float(shown["density"]), part.density(point)[0], rtol=5e-3)
    hover(page, chart, 0.6, 0.5)
    assert float(tip(page)["mean radius"]) > float(shown["mean radius"])
    page.mouse.move(1, 1)
    assert page.locator(".tip").is_hidden()


def test_pointing_at_a_map_shows_the_density_there(visit):
    model = case("two columns").model
    page = visit("two columns")
    hover(page, page.locator("#columns .chart").first, 0.5, 0.5)
    shown = tip(page)
    point = pd.DataFrame(
        {name: [float(shown[name])] for name in model.feature_names_in_}
    )
    expected = model.density(point)[0]
    assert_allclose(float(shown["density"]), expected, rtol=2e-2)


def test_pointing_at_an_interval_shows_a_row(visit):
    model, X, y, _ = case("values")
    page = visit("values")
    hover(page, page.locator("#sure .chart").first, 0.5, 0.5)
    shown = tip(page)
    predicted = model.predict(X)
    place = np.abs(predicted - float(shown["predicted"])).argmin()
    assert_allclose(float(shown["true"]), np.asarray(y)[place], rtol=1e-3)
    low, high = model.predict_interval(X)[place]
    ends = [float(word) for word in shown["90\u00a0% interval"].split(" to ")]
    assert_allclose(ends, [low, high], rtol=1e-3)


@pytest.mark.parametrize("name", ["two columns", "hostile"])
def test_a_finger_shows_values_that_stay(visit, name):
    page = visit(name, viewport=PHONE, has_touch=True)
    chart = page.locator("#columns .chart").first
    scroll_to(page, chart)
    chart.tap()
    assert page.locator(".tip").is_visible()
    box = page.locator(".tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 375


def test_arrow_keys_step_through_values(visit):
    page = visit("two columns")
    chart = page.locator("#columns .chart").nth(1)
    marks = json.loads(chart.get_attribute("data-marks"))
    page.locator("#columns .chart").first.focus()
    page.keyboard.press("Tab")
    assert chart.evaluate("c => c === document.activeElement")
    steps = {
        "ArrowRight": 1,
        "End": len(marks) - 1,
        "ArrowLeft": len(marks) - 2,
        "Home": 0,
    }
    for key, place in steps.items():
        page.keyboard.press(key)
        assert list(tip(page).values()) == marks[place][2:], key
    assert page.locator(".tip").is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".tip").is_hidden()


def test_values_follow_a_focused_chart_when_the_page_scrolls(visit):
    page = visit("two columns")
    page.locator("#columns .chart").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    before = page.locator(".tip").bounding_box()
    page.evaluate("() => scrollBy({ top: 40, behavior: 'instant' })")
    page.wait_for_function(
        "top => document.querySelector('.tip').getBoundingClientRect().top < top - 39",
        arg=before["y"],
    )
    assert page.locator(".tip").is_visible()


def test_values_under_a_pointer_go_when_the_page_scrolls(visit):
    page = visit("two columns")
    hover(page, page.locator("#columns .chart").nth(1), 0.4, 0.5)
    assert page.locator(".tip").is_visible()
    page.evaluate("() => scrollBy({ top: -40, behavior: 'instant' })")
    page.locator(".tip").wait_for(state="hidden")


def test_arrow_keys_walk_over_a_map(visit):
    page = visit("two columns")
    page.locator("#columns .chart").first.focus()
    page.keyboard.press("Home")
    start = [float(v) for v in tip(page).values()]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    end = [float(v) for v in tip(page).values()]
    assert end[0] > start[0]
    assert end[1] > start[1]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert [float(v) for v in tip(page).values()] == start


def colours(page):
    return page.evaluate(
        """() => {
          const style = getComputedStyle(document.body);
          const card = getComputedStyle(document.querySelector("figure"));
          return [style.backgroundColor, style.color, card.backgroundColor];
        }"""
    )


def test_light_dark_and_the_button_between_them(visit):
    light = visit("rejecting", color_scheme="light")
    dark = visit("rejecting", color_scheme="dark")
    bright, dim = colours(light), colours(dark)
    assert not set(bright) & set(dim)
    button = light.locator(".theme")
    assert button.text_content() == "Dark"
    assert button.get_attribute("aria-label") == "Switch to dark colours"
    button.click()
    assert colours(light) == dim
    assert button.text_content() == "Light"
    for _ in range(5):  # a browser writes what it keeps when it has time
        light.reload()
        if colours(light) == dim:
            break
    assert colours(light) == dim  # remembered
    light.locator(".theme").click()
    assert colours(light) == bright
    dark.locator(".theme").click()
    assert colours(dark) == bright


# Every text with its colour and what it stands on, as red, green and blue.
TEXTS = """() => {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const mixed = (layers) => {
    for (const layer of ["white", ...layers]) {
      pen.fillStyle = layer;
      pen.fillRect(0, 0, 1, 1);
    }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement)
      layers.unshift(getComputedStyle(e).backgroundColor);
    return layers;
  };
  const kinds = "h1,h2,p,dt,dd,a,button,caption,figcaption,th,td,text,span,time";
  return [...document.querySelectorAll(kinds)]
    .filter((e) => e.textContent.trim() && e.getClientRects().length)
    .map((e) => {
      const style = getComputedStyle(e);
      const ink = e.namespaceURI.endsWith("svg") ? style.fill : style.color;
      const paper = behind(e);
      return [e.tagName, mixed([...paper, ink]), mixed(paper)];
    });
}"""


def contrast(first, second):
    """As the accessibility guidelines compute it."""

    def luminance(colour):
        parts = np.array(colour) / 255
        linear = np.where(
            parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4
        )
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_texts_stand_out(visit, scheme):
    page = visit("rejecting", color_scheme=scheme)
    assert page.locator(".heat-9").count() > 0
    pairs = {json.dumps(pair) for pair in page.evaluate(TEXTS)}
    for name, ink, paper in map(json.loads, pairs):
        assert contrast(ink, paper) >= 4.5, (name, ink, paper)


def test_print_is_light_and_without_controls(visit):
    page = visit("rejecting", color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(".theme").is_hidden()
    assert page.locator("nav").is_hidden()
    ink = page.evaluate("getComputedStyle(document.body).color")
    page.emulate_media(media="screen", color_scheme="light")
    assert ink == page.evaluate("getComputedStyle(document.body).color")


def test_hostile_names_are_shown_as_they_are(visit):
    page = visit("hostile")
    assert page.locator("h1").text_content() == HOSTILE
    assert page.locator("body img, body svg image").count() == 0
    assert page.locator("script").count() == 1
    hover(page, page.locator("#columns .chart").first, 0.5, 0.5)
    assert HOSTILE in tip(page)


def test_without_scripts_the_page_still_reads(visit):
    page = visit("two columns", java_script_enabled=False)
    assert page.locator("#unlikely tbody tr").count() == 20
    assert page.locator(".theme").is_hidden()
    assert page.locator(".chart").first.is_visible()
