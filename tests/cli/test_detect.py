"""``rhokit detect``: a model of outliers fitted and asked at once."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import rhokit
from tests.cli.support import refused, run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file in whose row 6 two columns do not fit, and whose row 9 lacks a value."""
    rng = np.random.default_rng(0)
    distance = rng.gamma(3, 300, 300).round()
    rows = {
        "distance": distance,
        "air_time": (distance / 7 + 20 + rng.normal(0, 3, 300)).round(),
        "delay": rng.normal(0, 10, 300).round(1),
        "id": np.arange(300),
    }
    frame = pd.DataFrame(rows)
    frame.loc[5, ["distance", "air_time", "delay"]] = [500.0, 400.0, 1.0]
    frame.loc[8, ["air_time", "delay"]] = [np.nan, 300.0]
    file = tmp_path_factory.mktemp("flights") / "flights.csv"
    frame.to_csv(file, index=False)
    return file


def test_finds_odd_rows_and_says_why(table):
    kept = table.with_name("kept.rho")
    given = ("--drop", "id", "-k", 5, "--model", kept)
    found = run("detect", table, *given, "--json").fine().json
    rows = {row["row"]: row for row in found["anomalies"]}
    assert found["anomalies"][0]["row"] == 9
    assert "delay" in rows[9]["why"]
    assert "air_time" in rows[6]["why"]
    assert found["rows"] == 300
    model = rhokit.load(kept)
    assert model.training == "contaminated"
    assert model.feature_names_in_.tolist() == ["distance", "air_time", "delay"]
    row = pd.read_csv(table).iloc[[5]][["distance", "air_time", "delay"]]
    assert_allclose(model.score_samples(row)[0], rows[6]["log_p_value"])
    shown = run("detect", table, "--drop", "id", "-k", 5, screen=True).fine().out
    assert "row 6" in shown
    assert "is improbable" in shown


def test_compares_with_usual_rows(table):
    usual = table.with_name("usual.csv")
    frame = pd.read_csv(table).dropna()
    frame.drop(index=5).to_csv(usual, index=False)
    kept, limit = table.with_name("clean.rho"), ("--fail-below", "0.003")
    call = run("detect", table, "--usual", usual, "--model", kept, "--json", *limit)
    assert call.code == 3
    assert call.json["below"] >= 1
    assert_allclose(call.json["fail_below"], np.log(0.003))
    assert rhokit.load(kept).training == "clean"


def test_writes_all_rows_and_keeps_no_model_by_itself(table):
    before = set(table.parent.iterdir())
    output = table.with_name("odd.csv")
    run("detect", table, "-k", 300, "-o", output).fine()
    written = pd.read_csv(output)
    assert len(written) == 300
    assert {"row", "log_p_value", "why", "id"} <= set(written.columns)
    assert set(table.parent.iterdir()) - before == {output}


def test_what_cannot_be(table):
    refused(run("detect", "-"), 2, "reads its data twice")
    refused(run("detect", table, "--fail-below", "2"), 2, "--fail-below", "p-value")
    refused(run("detect", table.with_name("no.csv")), 1, "no.csv")
    refused(run("detect", table, "--drop", "nothing"), 1, "nothing")
