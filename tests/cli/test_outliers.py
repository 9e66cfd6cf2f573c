"""Models of outliers in the program, and why rows are unlikely."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import rhokit
from tests.cli.support import SMALL, refused, run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file in whose row 6 one column does not fit another."""
    rng = np.random.default_rng(0)
    distance = rng.gamma(3, 300, 400).round()
    rows = {
        "distance": distance,
        "air_time": (distance / 7 + 20 + rng.normal(0, 3, 400)).round(),
        "delay": rng.normal(0, 10, 400).round(1),
    }
    file = tmp_path_factory.mktemp("flights") / "flights.csv"
    frame = pd.DataFrame(rows)
    frame.loc[5] = [500.0, 400.0, 1.0]
    frame.to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def detector(table):
    file = table.with_name("detector.rho")
    run("fit", table, "--kind", "outliers", "-o", file).fine()
    return file


def test_a_detector_is_fitted_and_asked(table, detector):
    model = rhokit.load(detector)
    assert type(model).__name__ == "DMKDOutlierDetector"
    assert model.training == "contaminated"
    found = run("anomalies", detector, table, "-k", 3, "--json").fine().json
    scores = model.score_samples(pd.read_csv(table))
    lowest = np.argsort(scores)[:3]
    assert [row["row"] for row in found["anomalies"]] == (lowest + 1).tolist()
    given = [row["log_p_value"] for row in found["anomalies"]]
    assert_allclose(given, scores[lowest])
    assert found["leave_one_out"] is True
    assert 6 in [row["row"] for row in found["anomalies"]]


def test_why_names_the_columns_that_do_not_fit(table, detector):
    found = run("anomalies", detector, table, "-k", 3, "--why", "--json").fine().json
    why = next(row["why"] for row in found["anomalies"] if row["row"] == 6)
    assert why.startswith("odd because `")
    assert "air_time" in why
    shown = run("anomalies", detector, table, "-k", 3, "--why", screen=True).fine().out
    assert "row 6" in shown
    assert "is improbable" in shown


def test_why_of_a_density(table):
    file = table.with_name("density.rho")
    run("fit", table, "-o", file).fine()
    found = run("anomalies", file, table, "-k", 1, "--why", "--json").fine().json
    assert "log_density" in found["anomalies"][0]
    assert "why" in found["anomalies"][0]


def test_why_needs_columns_that_can_be_integrated(table):
    file = table.with_name("fourier.rho")
    run("fit", table, "--map", "fourier", *SMALL, "-o", file).fine()
    call = run("anomalies", file, table, "--why")
    refused(call, 1, "fourier.rho", "--why", "integrals")
    classes = table.with_name("classes.rho")
    run("fit", table, "--target", "delay", *SMALL, "-o", classes).fine()
    refused(run("anomalies", classes, table, "--why"), 1, "leave out --why")


def test_scores_are_logarithms_of_p_values(table, detector):
    found = run("score", detector, table, "--json").fine().json
    scores = rhokit.load(detector).score_samples(pd.read_csv(table))
    assert_allclose(found["mean_log_p_value"], scores.mean())
    shown = run("score", detector, table, screen=True).fine().out
    assert "mean log-p-value" in shown
    assert "left out of the model" in shown
    refused(run("predict", detector, table), 1, "predicts nothing")


def test_clean_rows(table):
    file = table.with_name("clean.rho")
    run("fit", table, "--kind", "outliers", "--clean", "-o", file).fine()
    assert rhokit.load(file).training == "clean"
    refused(run("fit", table, "--clean", "-o", file), 2, "--clean is for outliers")
    both = ("--kind", "outliers", "--rank", "3")
    refused(run("fit", table, *both, "-o", file), 2, "--rank")
    targeted = ("--kind", "outliers", "--target", "delay")
    refused(run("fit", table, *targeted, "-o", file), 2, "takes no --target")


def test_a_detector_has_a_report(table, detector):
    page = table.with_name("page.html")
    run("report", detector, table, "-o", page).fine()
    text = page.read_text()
    assert "DMKDOutlierDetector" in text
    assert "log p-value" in text
    assert "odd because" in text
    assert "log-densit" not in text.lower()
