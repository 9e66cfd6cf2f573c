"""``rhokit synthesize``: rows like those of a table, and how like them they are."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rhokit
from tests.cli.support import refused, run


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    """A table of text, whole numbers, numbers above zero, and a constant order."""
    rng = np.random.default_rng(0)
    carrier = rng.choice(["AA", "B6", "UA"], 400, p=[0.2, 0.3, 0.5])
    distance = (rng.gamma(4, 200, 400) + 400 * (carrier == "UA")).round()
    frame = pd.DataFrame(
        {
            "carrier": carrier,
            "month": rng.integers(1, 13, 400),
            "distance": distance.astype(int),
            "air_time": distance / 7 + rng.gamma(9, 2, 400),
        }
    )
    file = tmp_path_factory.mktemp("flights") / "flights.csv"
    frame.to_csv(file, index=False)
    return file, frame


@pytest.fixture(scope="module")
def density(flights):
    file = flights[0].with_suffix(".rho")
    run("fit", flights[0], "-o", file).fine()
    return file


def test_rows_of_a_model(flights, density, tmp_path):
    _, frame = flights
    output, page = tmp_path / "made.parquet", tmp_path / "made.html"
    call = ("synthesize", density, "-o", output, "--report", page)
    told = run(*call, "--json").fine().json
    made = pq.read_table(output)
    assert told["rows"] == made.num_rows == 400
    assert made.schema.types[:3] == [pa.string(), pa.int64(), pa.int64()]
    rows = made.to_pandas()
    assert set(rows["carrier"]) == {"AA", "B6", "UA"}
    assert rows["month"].between(1, 12).all()
    assert (rows["distance"] >= 0).all()
    found = told["fidelity"]
    assert found["auc"] < 0.75
    assert found["column_distance"] < 0.12
    assert found["association_error"] < 0.12
    assert found["synthetic_copies"] == 0
    assert found["near_share"] < 0.15
    expected = rhokit.inspection.fidelity(rhokit.load(density), made)
    assert found["auc"] == expected.auc
    assert "Synthetic rows" in page.read_text(encoding="utf-8")
    assert "told apart" in run(*call, screen=True).fine().out
    again = tmp_path / "again.parquet"
    run("synthesize", density, "-o", again, "--no-check").fine()
    assert pq.read_table(again).equals(made)
    run("synthesize", density, "-o", again, "--no-check", "--seed", 1).fine()
    assert not pq.read_table(again).equals(made)
    assert len(frame) == 400


def test_rows_of_a_table(flights, tmp_path):
    output, model = tmp_path / "made.csv", tmp_path / "kept.rho"
    options = ("--drop", "month", "-n", 50, "--model", model)
    told = run("synthesize", flights[0], "-o", output, *options, "--json").fine().json
    rows = pd.read_csv(output)
    assert told["rows"] == len(rows) == 50
    assert list(rows) == ["carrier", "distance", "air_time"]
    assert rhokit.load(model).feature_names_in_.tolist() == list(rows)


def test_rows_with_given_values(density, tmp_path):
    output = tmp_path / "made.csv"
    given = ("--given", "carrier=UA", "--given", "month=7")
    call = ("synthesize", density, "-o", output, "-n", 40, *given)
    told = run(*call, "--json").fine().json
    rows = pd.read_csv(output)
    assert set(rows["carrier"]) == {"UA"}
    assert set(rows["month"]) == {7}
    assert told["conditions"] == {"carrier": "UA", "month": 7}
    assert told["fidelity"] is None


def test_what_cannot_be(flights, density, models, tmp_path):
    output = tmp_path / "made.csv"

    def call(source, *options):
        return run("synthesize", source, "-o", output, *options)

    refused(call(density, "--given", "color=UA"), 2, "COLUMN=VALUE", "carrier, month")
    refused(call(density, "--given", "month=July"), 2, "month must be a number")
    refused(call(density, "--given", "carrier=XX"), 1, "'XX' was not learned", "AA")
    refused(call(density, "--drop", "month"), 2, "are for tables")
    refused(call("-"), 2, "takes a file")
    refused(call(models["classes"]), 1, "fit one without --target")
    page = ("--report", tmp_path / "p.html", "--given", "month=7")
    refused(call(density, *page), 2, "without --given")
    assert not output.exists()
