"""What notebooks show of states: right numbers, safe and self-contained HTML."""

import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from rhokit.core import (
    DensityMatrix,
    FeatureMean,
    LowRankDensityMatrix,
    ToeplitzDensityMatrix,
    effective_rank,
)
from tests.support import random_states, to_numpy

KINDS = {
    "DensityMatrix": lambda states, weights: DensityMatrix.from_states(states, weights),
    "LowRankDensityMatrix": lambda states, weights: DensityMatrix.from_states(
        states, weights
    ).factorize(2),
    "FeatureMean": lambda states, weights: FeatureMean.from_states(states, weights),
}
HEIGHT, DECADES = 40, 8  # of the chart


class Page(HTMLParser):
    """Texts and tags of a snippet; every tag must be closed in its turn."""

    def __init__(self, snippet):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(snippet)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def facts(self):
        """The table, by the name of its rows."""
        rows = re.findall(r"<th[^>]*>(.*?)</th><td[^>]*>(.*?)</td>", self.rawdata_all)
        return {name: unescape(value) for name, value in rows}

    def feed(self, snippet):
        self.rawdata_all = snippet
        super().feed(snippet)

    def bars(self):
        return np.array(
            [float(attrs["height"]) for tag, attrs in self.tags if tag == "rect"]
        )


def show(state):
    return Page(state._repr_html_())


def make(kind, xp, dtype="float64", n=40, dim=5, n_outcomes=3):
    rng = np.random.default_rng(0)
    states = random_states(rng, n, dim, dtype)
    weights = rng.integers(0, 3, size=(n, n_outcomes)).astype(float)
    return KINDS[kind](xp.asarray(states), xp.asarray(weights)), states, weights


@pytest.mark.parametrize("kind", KINDS)
def test_facts(xp, dtype, kind):
    state, _, weights = make(kind, xp, dtype)
    page = show(state)
    facts = page.facts()
    assert page.texts[0] == kind
    assert facts["outcomes"] == "3"
    assert facts["dimension"] == "5"
    total, *parts = (float(text) for text in re.split("[=+]", facts["weight"]))
    np.testing.assert_allclose(parts, weights.sum(axis=0))
    np.testing.assert_allclose(total, weights.sum())
    numbers = state.factor if kind == "LowRankDensityMatrix" else state.total
    memory, unit, name = facts["memory"].replace(",", "").split()
    np.testing.assert_allclose(float(memory), to_numpy(numbers).nbytes / 1e6, rtol=5e-3)
    assert (unit, name) == ("MB", dtype)
    assert facts.get("rank") == ("2" if kind == "LowRankDensityMatrix" else None)


@pytest.mark.parametrize("kind", ["DensityMatrix", "LowRankDensityMatrix"])
def test_bars_are_the_logarithms_of_the_eigenvalues(xp, dtype, kind):
    state, states, weights = make(kind, xp, dtype)
    if kind == "DensityMatrix":
        mass = weights.sum(axis=1)
        rho = (states.T * mass) @ states.conj() / mass.sum()
    else:
        shares = weights.sum(axis=0) / weights.sum()
        rho = np.tensordot(shares, to_numpy(state.normalized()), axes=1)
    values = np.linalg.eigvalsh(rho)[::-1]
    page = show(state)
    expected = HEIGHT * (1 + np.log10(values / values[0]) / DECADES)
    np.testing.assert_allclose(page.bars(), expected, atol=0.051)
    words = page.texts[-1]
    assert f"the largest {values[0]:.3g}," in words
    assert f"effective rank {float(effective_rank(rho)):.3g}" in words
    assert "of all outcomes" in words


def test_one_outcome_is_not_called_all(xp):
    state, _, weights = make("DensityMatrix", xp, n_outcomes=1)
    page = show(state)
    assert page.facts()["weight"] == f"{weights.sum():.6g}"
    assert "of all outcomes" not in page.texts[-1]


def test_values_below_the_chart_are_left_out():
    page = show(DensityMatrix(np.diag([1.0, 1e-3, 1e-9, 0.0])[None], np.ones(1)))
    np.testing.assert_allclose(page.bars(), [40, 25], atol=0.051)


@pytest.mark.parametrize(("dim", "drawn"), [(256, 48), (257, 0)])
def test_large_states_are_not_decomposed(dim, drawn):
    page = show(DensityMatrix(np.eye(dim)[None], np.ones(1)))
    assert len(page.bars()) == drawn
    assert any("48 of 256 eigenvalues" in text for text in page.texts) == bool(drawn)


def test_a_series():
    spectrum = np.exp(-(np.arange(-3, 4.0)[:, None] ** 2) - np.arange(5.0) ** 2)
    angles = np.random.default_rng(0).uniform(-1, 1, size=(7, 2))
    page = show(ToeplitzDensityMatrix.from_angles(angles, spectrum))
    facts = page.facts()
    assert facts["columns"] == "2"
    assert facts["coefficients"] == "7 × 5"
    assert float(facts["memory"].split()[0]) == pytest.approx(7 * 5 * 16 / 1e6)
    assert facts["weight"] == "7"
    assert len(page.bars()) == 0


@pytest.mark.parametrize(
    "total",
    [
        np.full((1, 2, 2), np.nan),
        np.full((1, 2, 2), np.inf),
        np.zeros((1, 2, 2)),
        np.zeros((0, 2, 2)),
    ],
    ids=["nan", "infinity", "zero", "no outcome"],
)
def test_states_without_a_spectrum(xp, total):
    state = DensityMatrix(xp.asarray(total), xp.asarray(np.ones(len(total))))
    page = show(state)
    assert len(page.bars()) == 0


def test_weights_that_are_not_finite():
    state = DensityMatrix(np.eye(2)[None], np.array([np.nan]))
    assert show(state).facts()["weight"] == "nan"


def test_names_are_escaped():
    hostile = type("<script>alert('&')</script>", (DensityMatrix,), {})
    page = show(hostile(np.eye(2)[None], np.ones(1)))
    assert page.texts[0].startswith("<script>")
    assert "script" not in {tag for tag, _ in page.tags}


@pytest.mark.parametrize("kind", KINDS)
def test_it_needs_nothing_else_and_suits_any_background(kind):
    snippet = make(kind, np)[0]._repr_html_()
    assert not re.search(r"<(script|style|link|img)|https?:|url\(|src=|\bid=", snippet)
    # Grey lines apart, all colours are those of the page.
    assert not re.search(r"#[0-9a-fA-F]{3}|background:(?!none)", snippet)


@pytest.mark.parametrize("many", [7, 32])
def test_weights_of_many_outcomes_are_added_up(many):
    state = LowRankDensityMatrix(np.ones((many, 1, 2)), np.full(many, 0.5))
    assert show(state).facts()["weight"] == f"{many / 2:g}"
