"""What tables that nobody prepared ask of a page: names, years, tails, known rows."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from rhokit import DMKDE, DMKDClassifier, LandmarkFeatures, QMRegressor
from rhokit.inspection import learned_share
from rhokit.report import gather, render
from rhokit.report.column_charts import column_chart
from rhokit.report.stretched import Stretched, has_long_tails
from tests.report.test_page import Page

SMALL = {"feature_map": LandmarkFeatures(n_components=16), "random_state": 0}


def table(n=240, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "year": rng.integers(1990, 2021, n),
            "delay": rng.pareto(1.0, n) * 10,
            "width": rng.normal(size=n),
        }
    )
    frame.index = [f"row {k}" for k in range(n)]
    return frame


ROWS = table()
PRICE = pd.Series(ROWS["width"] * 2 + 1, name="price")
KIND = pd.Series(np.where(ROWS["width"] > 0, "wide", "thin"), ROWS.index, name="kind")


@pytest.fixture(scope="module")
def density():
    return DMKDE(random_state=0).fit(ROWS)


def test_years_and_numbers_of_things_have_no_marks_between_thousands(density):
    text = render(gather(density, ROWS))
    assert re.search(r">20[01]\d<", text)
    assert not re.search(r"\b[12],[09]\d\d\b", text)


def test_the_answer_comes_first_and_gamma_last():
    model = DMKDClassifier(**SMALL).fit(ROWS, KIND)
    text = render(gather(model, ROWS, y=KIND))
    assert text.index('id="sure"') < text.index('id="fitted"')
    terms = re.findall(r"<dt>(.*?)</dt>", text[text.index('id="fitted"') :], re.S)
    assert terms[-1].strip() == "Kernel"


def test_the_target_has_its_name():
    model = QMRegressor(**SMALL).fit(ROWS, PRICE)
    page = Page(render(gather(model, ROWS, y=PRICE)))
    assert "price from 3 columns" in page.text
    assert "Farthest off: price" in page.text
    assert "of the value" not in page.text.replace("The range of the value", "")
    named = gather(model, ROWS, y=PRICE.to_numpy(), targets=["cost"])
    assert named.values[0].name == "cost"
    classes = DMKDClassifier(**SMALL).fit(ROWS, KIND)
    assert "2 classes of kind" in Page(render(gather(classes, ROWS, y=KIND))).text


def test_rows_are_called_as_one_says(density):
    labels = np.arange(1, 241)
    facts = gather(density, ROWS, labels=labels, max_rows=100)
    assert set(facts.rows.labels) <= set(labels.tolist())
    assert facts.rows.X.index.tolist() == [f"row {k - 1}" for k in facts.rows.labels]
    with pytest.raises(ValueError, match="labels must be one for each of the 240"):
        gather(density, ROWS, labels=labels[:3])


# ---- rows that the model knows -------------------------------------------------------


def test_training_rows_are_recognised_by_what_they_hold():
    model = DMKDClassifier(**SMALL).fit(ROWS, KIND)
    copy = ROWS.sample(frac=1, random_state=0)
    page = Page(render(gather(model, copy, y=KIND[copy.index])))
    assert "that it was fitted to" in page.text
    assert "of rows it was fitted to" in page.text
    new = table(seed=1)
    page = Page(render(gather(model, new, y=KIND.to_numpy())))
    assert "given to this report" in page.text
    both = pd.concat([new, ROWS[:80]])
    assert learned_share(model, both) == pytest.approx(0.25)
    assert "About 25 % of them" in Page(render(gather(model, both))).text.replace(
        "\u00a0", " "
    )


def test_what_is_kept_of_many_rows_tells_of_all():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9000, 2))
    model = DMKDE(feature_map="landmarks", n_components=16, random_state=0).fit(rows)
    assert learned_share(model, rows[:3000]) == pytest.approx(1, abs=0.15)
    mixed = np.concatenate([rows[:1500], rng.normal(size=(1500, 2))])
    assert learned_share(model, mixed) == pytest.approx(0.5, abs=0.1)
    assert learned_share(model, rng.normal(size=(3000, 2))) == 0


def test_learned_rows_among_others_are_told_but_not_left_out():
    model = QMRegressor(**SMALL).fit(ROWS[:150], PRICE[:150])
    facts = gather(model, ROWS, y=PRICE * 1.5)  # beyond the values that it knows
    assert facts.learned_share == pytest.approx(150 / 240)
    assert not facts.training


def test_rows_that_come_again_and_again_prove_nothing():
    rows = np.random.default_rng(0).integers(0, 3, (300, 2)).astype(float)
    model = DMKDE(random_state=0).fit(rows)
    assert np.isnan(learned_share(model, rows))


# ---- long tails ----------------------------------------------------------------------


def test_long_tails_are_drawn_on_an_axis_of_quantiles(density):
    shapes = {shape.name: shape for shape in gather(density, ROWS).columns}
    assert shapes["width"].stretched is None
    assert shapes["delay"].stretched is not None
    picture = column_chart(shapes["delay"])
    assert "axis of quantiles" in picture
    assert "line" in picture


def test_the_axis_of_quantiles_holds_all_rows_and_the_models_probability():
    rng = np.random.default_rng(0)
    values = rng.standard_cauchy(4000)
    found = Stretched.of(values, lambda x: 1 / (np.pi * (1 + x**2)))
    assert found.rows.sum() == pytest.approx(1)
    assert found.model.sum() == pytest.approx(1, abs=0.01)
    # Where steps are equal odds of a normal variable, rows are spread as one.
    np.testing.assert_allclose(
        found.rows, np.diff(norm.cdf(found.places)), rtol=0, atol=0.02
    )
    np.testing.assert_allclose(found.model, found.rows, rtol=0, atol=0.02)
    places = [place for place, _ in found.ticks]
    assert min(np.diff(places)) > 0.05 * (found.places[-1] - found.places[0])
    assert not has_long_tails(rng.normal(size=4000))
    assert Stretched.of(np.repeat([0.0, 1.0, 1e9], 50), lambda x: None) is None
