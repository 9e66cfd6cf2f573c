"""The page: whole, escaped, in sections that the model can answer."""

import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rhokit import DMKDE, OneHotFeatures
from rhokit.report import gather, render, write_report
from rhokit.report import page as page_module
from rhokit.report.facts import MAX_ROWS
from tests.inspection.models import MAKERS, case, tumours
from tests.support import without

HOSTILE = "</script></style><img src=x onerror=alert(1)>{{ 7*7 }}\"'"
VOID = {"meta", "img", "br", "hr", "input", "link"}

SECTIONS = {
    "density": ["sure", "columns", "unlikely", "spectrum", "fitted"],
    "classes": ["sure", "columns", "wrong", "spectrum", "fitted"],
    "values": ["sure", "columns", "missed", "spectrum", "fitted"],
}
SECTIONS["ordered"] = SECTIONS["classes"]


class Page(HTMLParser):
    """Tags, attributes and text of a page; an error where tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.ids, self.words, self.attributes = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def page_of(name, with_target=True, **options):
    model, X, y, training = case(name)
    y = y if with_target else None
    return Page(render(gather(model, X, y=y, training=training, **options)))


@pytest.mark.parametrize("name", MAKERS)
def test_every_model_has_its_sections(name):
    model, X, y, training = case(name)
    facts = gather(model, X, y=y, training=training)
    page = Page(render(facts))
    expected = list(SECTIONS[facts.fitted.kind])
    # No matrix, a large one, many small ones, and one for all outcomes.
    if name in ("mean", "two columns", "mosaic", "mixed mosaic"):
        expected.remove("spectrum")
    if name in ("values", "two targets"):
        expected.remove("spectrum")
    if facts.classes is not None:
        expected[1:1] = ["likely"]
        expected[3:3] = ["unlikely"]
    if facts.fitted.kind == "values":
        expected[2:2] = ["unlikely"]
    if facts.classes is not None and not len(facts.classes.wrong):
        expected.remove("wrong")
    found = [key for key in page.ids if not key.endswith("-heading") and key != "main"]
    assert found == expected
    assert type(model).__name__ in page.text
    assert f"fitted to {facts.fitted.weight:,.0f} rows" in page.text
    assert not re.search(r"\bnan\b|\binf\b|None", page.text)


@pytest.mark.parametrize(
    "name", ["classes", "values", "two targets", "ordered classes"]
)
def test_without_targets_the_page_says_so(name):
    page = page_of(name, with_target=False)
    assert "were given, so nothing is said" in page.text
    assert "wrong" not in page.ids
    assert "missed" not in page.ids


def test_the_page_has_the_figures_of_its_facts():
    model, X, _, _ = case("landmarks")
    facts = gather(model, X, training=True)
    text = Page(render(facts)).text
    assert f"{facts.density.scores.mean:.3f}" in text
    assert f"{100 * (facts.density.reach < 0.5).mean():.1f} %" in text
    assert f"{facts.spectrum.effective_rank[0]:.1f}" in text
    assert "each row left out of the model in turn" in text
    assert "each row left out" not in page_text_of_new_rows(model, X)


def page_text_of_new_rows(model, X):
    return Page(render(gather(model, X, training=False))).text


def test_least_likely_rows_come_first_with_their_values():
    model, X, _, _ = case("landmarks")
    text = render(gather(model, X, training=True))
    table = text[text.index('id="unlikely"') :]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.S)[1:]
    logs = model.score_samples(X, leave_one_out=True)
    order = np.argsort(logs, kind="stable")[:20]
    for row, place in list(zip(rows, order, strict=False))[::5]:
        label, score, why, *values = re.findall(r'data-value="([^"]*)"', row)
        assert unescape(why) == model.explain(X.iloc[[place]]).texts[0]
        np.testing.assert_allclose(
            [float(value) for value in (label, score, *values)],
            [place, logs[place], *X.iloc[place]],
            rtol=1e-12,
        )


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "array"])
def test_frames_and_arrays_give_one_page(kind):
    frame = tumours(2)
    tables = {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "pyarrow": pa.Table.from_pandas(frame, preserve_index=False),
        "array": frame.to_numpy(),
    }
    model = case("two columns").model
    expected = render(gather(model, frame))
    if kind == "array":
        with pytest.warns(UserWarning, match="feature names"):
            assert render(gather(model, tables[kind])) == expected
    else:
        assert render(gather(model, tables[kind])) == expected


def test_a_sample_is_said_to_be_one():
    model, X, *_ = case("two columns")
    text = Page(render(gather(model, X, max_rows=100))).text
    assert "a random sample of 100 of 569 rows" in text
    assert "Of a sample of 100 rows." in text
    assert "sample" not in Page(render(gather(model, X))).text


@pytest.mark.parametrize("name", ["two columns", "classes", "values"])
def test_how_many_rows_are_looked_at_depends_on_what_they_cost(name, monkeypatch):
    model, X, *_ = case(name)
    kind = gather(model, X[:20]).fitted.kind
    assert MAX_ROWS["density"] >= MAX_ROWS["classes"] >= MAX_ROWS["values"]
    monkeypatch.setitem(MAX_ROWS, kind, 15)
    assert len(gather(model, X[:20]).rows) == 15
    assert len(gather(model, X[:20], max_rows=18).rows) == 18


def test_hostile_names_and_values_stay_text():
    rng = np.random.default_rng(0)
    words = pd.Categorical(rng.choice([HOSTILE, "plain"], 80))
    frame = pd.DataFrame({HOSTILE: rng.normal(size=80), f"kind{HOSTILE}": words})
    frame.index = [f"{HOSTILE}{k}" for k in range(80)]
    model = DMKDE(n_components=16, random_state=0).fit(frame)
    text = render(gather(model, frame, title=HOSTILE, source=HOSTILE, training=True))
    page = Page(text)
    assert "img" not in page.tags
    assert page.tags.count("script") == page.tags.count("style") == 1
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.text.count(HOSTILE) > 20
    assert "49" not in Page(render(gather(model, frame, title=HOSTILE))).text[:120]


def test_halves_of_characters_do_not_stop_the_page(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 1))
    model = DMKDE(random_state=0).fit(X)
    path = write_report(model, X, tmp_path / "page.html", title="half \ud800 done")
    assert "half ? done" in path.read_text(encoding="utf-8")


def test_the_page_needs_nothing_from_elsewhere():
    for name in ("landmarks", "classes", "values"):
        page = page_of(name)
        addresses = [
            value
            for name, value in page.attributes
            if name in ("src", "href", "action", "data", "srcset")
        ]
        assert all(value.startswith("#") for value in addresses)
        assert {value[1:] for value in addresses} <= set(page.ids)
        assert "style" not in {name for name, _ in page.attributes}
    styles = page_module._read("page.css") + page_module._read("page.js")
    assert "url(" not in styles
    assert "@import" not in styles
    assert "fetch(" not in styles


def test_the_page_can_be_read_by_machines_for_people():
    page = page_of("classes")
    assert ("lang", "en") in page.attributes
    assert page.tags.count("h1") == 1
    assert page.tags.count("h2") == page.tags.count("section")
    assert page.tags.count("caption") == page.tags.count("table")
    assert len(set(page.ids)) == len(page.ids)
    labelled = [value for name, value in page.attributes if name == "aria-labelledby"]
    assert set(labelled) <= set(page.ids)


def test_the_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    model, X, *_ = case("one column")
    path = tmp_path / "page.html"
    assert write_report(model, X, str(path), title="First") == path
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=r"page\.html' could not be written: disk full"):
        write_report(model, X, path, title="Second")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_titles_say_what_the_model_is():
    model, X, y, _ = case("classes")
    assert "3 classes from 13 columns" in page_of("classes").text
    assert "target from 10 columns" in page_of("values").text
    assert "Density of 1 column " in page_of("one column").text
    facts = gather(model, X, y=y, title="My title", source="cellar.csv")
    text = Page(render(facts)).text
    assert "My title" in text
    assert "Source: cellar.csv" in text


def test_flattering_figures_are_called_so():
    model, X, y, _ = case("classes")
    text = Page(render(gather(model, X, y=y, training=True))).text
    assert "new rows will do worse" in text
    assert "new rows will do worse" not in page_of("classes").text


def test_many_columns_are_cut_and_the_page_says_so():
    X = np.random.default_rng(0).normal(size=(60, 50))
    model = DMKDE(n_components=16, random_state=0).fit(X)
    text = Page(render(gather(model, X))).text
    assert "The first 12 of 50 columns." in text
    assert "10 more columns are not shown." in text


@pytest.mark.parametrize(
    "rows",
    [[[0.0, 0.0]], [[0.0, 0.0]] * 5, [[1e9, -1e9], [0.1, 0.2]], [[1e-300, 0.0]]],
    ids=["one", "equal", "far", "tiny"],
)
def test_odd_rows_have_a_page(rows):
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = DMKDE(gamma=1.0, scale=None, feature_map="landmarks", n_components=16).fit(
        X
    )
    page = Page(render(gather(model, np.array(rows))))
    assert "unlikely" in page.ids
    assert not re.search(r"\bnan\b|\binf\b", page.text)


def test_zero_density_is_a_word():
    X = np.random.default_rng(0).normal(size=(100, 1))
    model = DMKDE(random_state=0).fit(X)
    text = render(gather(model, np.array([[1e9], [0.0]])))
    assert 'data-value="-inf">zero density<' in text
    assert "1 row of zero density cannot be shown." in text


@pytest.mark.parametrize("max_rows", [0, -1, 2.5, True, "many"])
def test_max_rows_must_be_a_count(max_rows):
    model, X, *_ = case("one column")
    with pytest.raises(ValueError, match="max_rows must be an integer >= 1"):
        gather(model, X, max_rows=max_rows)


def test_the_same_facts_give_the_same_page():
    model, X, y, _ = case("values")
    assert render(gather(model, X, y=y)) == render(gather(model, X, y=y))


def test_without_jinja2_it_says_what_to_install():
    code = (
        "import sys\n"
        "import numpy as np\n"
        "from rhokit.report import gather, write_report\n"
        "print([p for p in ('torch', 'polars', 'matplotlib') if p in sys.modules])\n"
        "write_report(None, np.zeros((2, 1)), 'nowhere.html')"
    )
    done = subprocess.run(
        [sys.executable, "-c", without("jinja2") + code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "[]"
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last == "ImportError: reports need jinja2: pip install 'rhokit[report]'"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("low rank", "8 They hold "),
        ("landmarks", "all Nothing is cut off."),
        ("trained density", "6 Of each matrix."),
    ],
)
def test_the_rank_that_is_kept(name, words):
    text = page_of(name).text
    assert f"Rank kept {words}" in text


def test_rows_with_gaps_are_scored_and_not_left_out():
    X = np.random.default_rng(0).normal(size=(100, 4))
    options = {"n_components": 32, "missing": "integrate", "random_state": 0}
    model = DMKDE(feature_map="landmarks", **options).fit(X)
    mosaic = DMKDE(**options).fit(X)
    X[::4, 2] = np.nan
    facts = gather(model, X, training=True)
    assert np.isfinite(facts.density.scores.log_densities).all()
    assert not facts.density.scores.left_out
    whole = X[~np.isnan(X[:, 2])]
    np.testing.assert_allclose(facts.density.reach, model.reach(whole))
    without_landmarks = gather(mosaic, X, training=True).density
    assert np.isfinite(without_landmarks.scores.log_densities).all()
    assert without_landmarks.reach is None
    X[:, 2] = np.nan
    assert gather(model, X).density.reach is None


@pytest.mark.parametrize("name", ["mosaic", "mixed mosaic"])
def test_a_mosaic_is_said_to_be_one(name):
    model, X, _, _ = case(name)
    facts = gather(model, X, training=True)
    text = Page(render(facts)).text
    cells, layers = model.feature_map_.n_cells_, len(model.feature_map_.stops_)
    assert "Feature map mosaic" in text
    assert f"{cells} cells in {layers} layers, each with its own metric" in text
    assert "no bandwidth" in text
    for untrue in ("Kernel", "landmark", "one density matrix", "mixed by the scaling"):
        assert untrue not in text
    assert facts.density.reach is None
    assert facts.density.scores.left_out
    numbers = [shape for shape in facts.columns if shape.kind == "number"]
    assert all(shape.curve is not None for shape in numbers)
    for shape in facts.columns:
        assert np.isfinite(shape.probabilities).all()


def test_a_large_matrix_is_not_decomposed():
    X = np.random.default_rng(0).normal(size=(500, 2))
    model = DMKDE(gamma=300.0, scale=None).fit(X)
    assert model.feature_map_.n_components_ > 1024
    assert gather(model, X).spectrum is None


def test_categories_alone_have_a_page():
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b"], size=(60, 2))
    model = DMKDE(feature_map=OneHotFeatures()).fit(words)
    page = Page(render(gather(model, words)))
    assert "Categories are counted among the rows" in page.text
    assert "Kernel" not in page.text  # nor is there a scaling
    assert "Scaling" not in page.text
