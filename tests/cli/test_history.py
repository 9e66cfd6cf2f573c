"""``rhokit history``: when the rows of a table changed."""

import numpy as np
import pandas as pd
import pytest

from tests.cli.support import refused, run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Hourly rows of which a column rises and a category comes, out of order."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "hour": pd.date_range("2021-01-01", periods=2000, freq="h"),
            "flow": rng.normal(size=2000).round(3),
            "heat": rng.normal(size=2000).round(3),
            "valve": rng.choice(["open", "shut"], 2000),
        }
    )
    frame.loc[900:, "flow"] += 1
    frame.loc[1500:, "valve"] = rng.choice(["open", "shut", "stuck"], 500)
    file = tmp_path_factory.mktemp("plant") / "plant.csv"
    frame.sample(frac=1, random_state=0).to_csv(file, index=False)
    return file


def test_says_when_and_in_which_columns(table):
    call = run("history", table, "--time", "hour", "--json")
    assert call.code == 3
    found = call.json
    assert [c["columns"] for c in found["changes"]] == [["flow"], ["valve"]]
    assert abs(found["changes"][0]["began"] - 900) < 30
    assert found["changes"][0]["began_time"].startswith("2021-02-0")
    shown = run("history", table, "--time", "hour", screen=True).out
    assert "the data have changed twice" in shown
    assert "2021-02-0" in shown


def test_some_columns_and_a_page(table):
    page = table.with_name("page.html")
    given = ("--time", "hour", "--columns", "heat,valve", "--report", page)
    call = run("history", table, *given, "--json")
    assert [c["columns"] for c in call.json["changes"]] == [["valve"]]
    assert "stuck" in page.read_text()


def test_without_a_change(table):
    call = run("history", table, "--time", "hour", "--columns", "heat").fine()
    assert "no change was found" in call.out
    shuffled = run("history", table, "--columns", "flow,heat,valve", "--json").fine()
    assert shuffled.json["changes"] == []


def test_refusals(table):
    refused(run("history", table, "--block-rows", "x"), 2, "--block-rows")
    refused(run("history", table, "--time", "nothing"), 1, "nothing")
    refused(run("history", table, "--false-alarms", "2"), 1, "false_alarms")
