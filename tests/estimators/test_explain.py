"""Why rows are improbable: contributions of columns, partners, words."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks import real_data
from rhokit import DMKDE, DMKDOutlierDetector
from rhokit.models.column_surprises import column_surprises


def rows_of(n, seed=0):
    """Three columns, of which the last one follows the first, and one beside them."""
    rows = np.random.default_rng(seed).normal(size=(n, 4))
    rows[:, 3] = 2 * rows[:, 0] + 0.1 * rows[:, 3]
    return rows


def frame_of(n, seed=0):
    rows = rows_of(n, seed)
    group = pd.Categorical.from_codes((rows[:, 1] > 0).astype(int), ["low", "high"])
    return pd.DataFrame({"a": rows[:, 0], "group": group, "b": rows[:, 1]}).assign(
        c=rows[:, 3]
    )


@pytest.mark.parametrize("parameters", [{}, {"gamma": 1.0, "feature_map": "landmarks"}])
def test_surprises_of_columns_are_conditional_densities(parameters):
    model = DMKDE(random_state=0, **parameters).fit(rows_of(400))
    rows = rows_of(5, seed=1)
    found = column_surprises(model.fitted_model(), rows)
    for row, surprises in zip(rows, found, strict=True):
        for column, surprise in enumerate(surprises):
            line = np.linspace(-12, 12, 24_001)
            values = np.tile(row, (len(line), 1))
            values[:, column] = line
            density = model.score_samples([row])[0] - np.log(
                model.density(values).sum() * (line[1] - line[0])
            )
            assert_allclose(-surprise, density, atol=1e-4)


def test_a_conditional_model_says_the_same():
    frame = frame_of(800)
    model = DMKDE(feature_map="mosaic", random_state=0).fit(frame)
    rows = frame_of(4, seed=1)
    found = column_surprises(model.fitted_model(), model.check_query(rows))
    for place in range(4):
        row = rows.iloc[place]
        given = model.conditional({k: row[k] for k in ("a", "group", "b")})
        expected = -given.score_samples(rows.iloc[[place]][["c"]])
        assert_allclose(found[place, 3], expected[0], rtol=1e-6)
        given = model.conditional({k: row[k] for k in ("a", "b", "c")})
        expected = -given.score_samples(rows.iloc[[place]][["group"]])
        assert_allclose(found[place, 1], expected[0], rtol=1e-6)


@pytest.mark.parametrize("estimator", [DMKDE, DMKDOutlierDetector])
def test_a_pair_that_does_not_fit_is_named(estimator):
    rows = np.tile([0.0, 0.1, -0.1, 0.0], (3, 1))
    rows[0, 3], rows[1, 1] = -3.0, 9.0
    frame = pd.DataFrame(rows_of(1000), columns=list("abcd"))
    model = estimator(random_state=0).fit(frame)
    why = model.explain(pd.DataFrame(rows, columns=list("abcd")))
    assert why.contributions.shape == (3, 4)
    assert set(why.contributions[0].argsort()[-2:]) == {0, 3}
    assert why.partners[0] in ([0], [3])
    assert why.partners[1] == []
    assert " is improbable given `" in why.texts[0]
    assert why.texts[1:] == [
        "odd because `b` (9) is improbable",
        "no column stands out",
    ]


def test_usual_rows_have_small_contributions():
    model = DMKDE(random_state=0).fit(rows_of(1000))
    found = model.explain(rows_of(500, seed=1)).contributions
    assert_allclose(found.mean(axis=0), 0, atol=0.2)


def test_categories_are_named():
    frame = frame_of(1000)
    model = DMKDOutlierDetector(random_state=0, feature_map="mosaic").fit(frame)
    odd = frame.iloc[[0, 1]].assign(a=0.0, c=0.0, b=[2.0, -2.0])
    odd["group"] = pd.Categorical(["low", "high"], ["low", "high"])
    why = model.explain(odd)
    assert "`group` (low)" in why.texts[0]
    assert "`group` (high)" in why.texts[1]


def test_missing_values_contribute_nothing():
    model = DMKDE(missing="integrate", random_state=0).fit(rows_of(800))
    rows = np.array([[0.0, 9.0, 0.0, np.nan], [1.0, 0.0, np.nan, -2.0], [np.nan] * 4])
    why = model.explain(rows)
    assert_array_equal(why.contributions[np.isnan(rows)], 0)
    assert why.top[0] == 1
    assert why.top[1] in (0, 3)
    assert why.texts[2] == "no column stands out"


def test_explanations_are_frames_texts_and_tables():
    model = DMKDE(random_state=0).fit(rows_of(500))
    rows = rows_of(30, seed=1)
    rows[0, 1] = 8
    why = model.explain(rows)
    frame = why.to_frame()
    assert frame.columns.tolist() == [f"column {c}" for c in range(4)] + ["why"]
    assert_array_equal(frame.iloc[:, :4], why.contributions)
    lines = str(why).splitlines()
    assert lines[0] == "row 0: odd because `column 1` (8) is improbable"
    assert lines[-1] == "and 10 more rows"
    assert why._repr_html_().count("<tr>") == 21


def test_models_without_integrals_say_so():
    model = DMKDE(gamma=1.0, feature_map="fourier", random_state=0).fit(rows_of(50))
    with pytest.raises(ValueError, match="integrals are known"):
        model.explain(rows_of(2))


def test_one_column_is_odd_by_itself():
    model = DMKDOutlierDetector(random_state=0).fit(rows_of(300)[:, :1])
    assert model.explain([[9.0]]).texts == ["odd because `column 0` (9) is improbable"]


# ---- planted anomalies ---------------------------------------------------------------


def real_rows(name):
    if real_data.missing(name):
        pytest.skip(real_data.missing(name))
    rows = real_data.load_arrays(name)["X"].astype(float)
    order = np.random.default_rng(0).permutation(len(rows))
    return rows[order][:, :10] if name == "covtype" else rows[order]


@pytest.mark.parametrize("name", ["magic", "covtype", "letters"])
def test_the_planted_column_comes_first(name):
    rows = real_rows(name)
    learned, clean, others = rows[:4000], rows[5000:7000], rows[7000:9000]
    detector = DMKDOutlierDetector(random_state=0, training="clean").fit(learned)
    was_usual = detector.p_values(clean) > 0.05
    places = np.arange(2000)
    columns = np.random.default_rng(1).integers(rows.shape[1], size=2000)
    moved = clean + 5 * learned.std(axis=0)
    changed = {"scaled": 10 * clean, "moved": moved, "shuffled": others}
    for kind, values in changed.items():
        planted = clean.copy()
        planted[places, columns] = values[places, columns]
        # What is found; a row that was odd before may be so for another column.
        odd = was_usual & (detector.p_values(planted) <= 0.01)
        assert odd.mean() > (0.02 if kind == "shuffled" else 0.7)
        found = detector.explain(planted[odd]).top == columns[odd]
        assert found.mean() >= 0.95, kind
