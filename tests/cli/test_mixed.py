"""Columns of categories beside numbers, and columns that stand in folders' names."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

import rhokit
from tests.cli.support import SMALL, refused, run, write_csv


def flats(n=200, seed=0):
    """Flats with their city, kind (a code), area, garden and price."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Bern", "Genf", "Uri"], n)
    kind = rng.integers(1, 4, n)
    area = rng.gamma(20, 4, n) + 10 * kind
    price = area * np.where(city == "Genf", 9, 6) + rng.normal(0, 20, n)
    garden = rng.random(n) < 0.3
    columns = {"city": city, "kind": kind, "area": area, "garden": garden}
    return pa.table(columns | {"price": price})


@pytest.fixture(scope="module", params=["csv", "parquet"])
def sold(request, tmp_path_factory):
    """Files of flats, and models of their prices and of themselves."""
    folder = tmp_path_factory.mktemp("flats")
    for name, table in {"rows": flats(), "new": flats(50, 1)}.items():
        path = folder / f"{name}.{request.param}"
        write_csv(table, path) if path.suffix == ".csv" else pq.write_table(table, path)
    call = ("fit", folder / f"rows.{request.param}", "--categories", "kind", *SMALL)
    run(*call, "--target", "price", "-o", folder / "values.rho").fine()
    run(*call, "--drop", "price", "-o", folder / "density.rho").fine()
    return folder, request.param


def as_learned(table, format):
    """A table as estimators take it, with the categories that the file had."""
    names = ["city", "kind", "area", "garden"]
    frame = table.select(names).to_pandas()
    if format == "csv":  # where all categories are words
        frame["kind"] = frame["kind"].astype(str)
        frame["garden"] = frame["garden"].map({True: "true", False: "false"})
    return frame.astype({"city": "category", "kind": "category", "garden": "category"})


def test_text_and_codes_are_categories(sold):
    folder, format = sold
    model = rhokit.load(folder / "density.rho")
    assert model.schema_.kinds == ("category", "category", "number", "category")
    told = run("info", folder / "density.rho", "--json").fine().json
    assert told["categories"]["city"] == ["Bern", "Genf", "Uri"]
    assert len(told["categories"]["kind"]) == 3
    told = run("score", folder / "density.rho", folder / f"new.{format}", "--json")
    scores = [each["log_density"] for each in told.fine().json["records"]]
    expected = model.score_samples(as_learned(flats(50, 1), format))
    assert_allclose(scores, expected, rtol=1e-9)


def test_prices_follow_the_city(sold):
    folder, format = sold
    call = ("predict", folder / "values.rho", folder / f"new.{format}", "--json")
    told = run(*call, "--keep", "city").fine().json
    assert told["mean_absolute_error"] < 80
    assert told["records"][0].keys() == {"city", "prediction", "std", "low", "high"}


def test_training_rows_are_left_out(sold):
    folder, format = sold
    call = ("anomalies", folder / "values.rho", folder / f"rows.{format}", "--json")
    told = run(*call).fine().json
    assert told["leave_one_out"]
    model, table = rhokit.load(folder / "values.rho"), flats()
    rows, price = as_learned(table, format), table.column("price").to_numpy()
    expected = np.sort(model.score_samples(rows, price, leave_one_out=True))[:20]
    found = [each["log_density"] for each in told["anomalies"]]
    assert_allclose(found, expected, rtol=1e-6)


def test_halves_merge_and_compare(sold, tmp_path):
    folder, format = sold
    model, other = folder / "density.rho", tmp_path / "other.rho"
    run("fit", folder / f"new.{format}", "--like", model, "-o", other).fine()
    assert not run("compare", model, other, "--json").fine().json["changed"]
    call = ("merge", model, other, "-o", tmp_path / "both.rho", "--json")
    assert run(*call).fine().json["rows"] == 250


def test_categories_that_are_new_have_answers(sold, tmp_path):
    folder, _ = sold
    table = flats(50, 1)
    cities = table.column("city").to_pylist()
    cities[30] = "Basel"
    file = tmp_path / "new.csv"
    write_csv(table.set_column(0, "city", pa.array(cities)), file)
    for call in (
        ("score", folder / "density.rho", file, "-o", tmp_path / "s.csv"),
        ("predict", folder / "values.rho", file, "-o", tmp_path / "s.csv"),
        ("anomalies", folder / "density.rho", file, "-o", tmp_path / "s.csv"),
    ):
        run(*call).fine()
        assert (tmp_path / "s.csv").exists()


def test_gaps_in_categories(sold, tmp_path):
    folder, _ = sold
    table = flats(50, 1)
    cities = table.column("city").to_pylist()
    cities[30] = None
    file = tmp_path / "new.csv"
    write_csv(table.set_column(0, "city", pa.array(cities)), file)
    call = ("score", folder / "density.rho", file, "--json")
    refused(run(*call), 1, "row 31: column 'city': has no value")
    assert run(*call, "--missing", "empty").fine().json["unanswered"] == 1
    assert run(*call, "--missing", "integrate").fine().json["unanswered"] == 0


def test_columns_in_the_names_of_folders(tmp_path):
    for city in ("Bern", "Genf"):
        part = flats(80, seed=len(city)).select(["area", "price"])
        (tmp_path / "flats" / f"city={city}").mkdir(parents=True)
        pq.write_table(part, tmp_path / "flats" / f"city={city}" / "rows.parquet")
    model = tmp_path / "m.rho"
    call = ("fit", tmp_path / "flats", *SMALL, "--target", "price", "-o", model)
    assert set(run(*call, "--json").fine().json["columns"]) == {"city", "area"}
    told = run("predict", model, tmp_path / "flats", "--json").fine().json
    assert told["rows"] == 160
    assert "mean_absolute_error" in told
