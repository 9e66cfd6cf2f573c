"""Columns of other types than floats, rows without an answer, places of mistakes."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

import rhokit
from rhokit.cli import stored_models
from rhokit.streams import pieces
from tests.cli.support import ROWS, SMALL, refused, rows_table, run, write_csv
from tests.cli.test_mixed import flats


def scores(result):
    return [each["log_density"] for each in result.fine().json["records"]]


def test_whatever_is_a_number_is_asked_as_one(tmp_path):
    rng = np.random.default_rng(0)
    flags, codes = rng.random(100) < 0.5, rng.integers(0, 5, 100)
    X = np.column_stack([flags, codes, rng.normal(size=100)]).astype(float)
    model = rhokit.DMKDE(gamma=0.5, scale=None, n_components=32, random_state=0).fit(X)
    rhokit.save(model, tmp_path / "m.rho")
    table = pa.table(
        {
            "flag": flags,
            "code": pa.array(codes.astype(float)).dictionary_encode(),
            "x": X[:, 2],
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    found = run("score", tmp_path / "m.rho", tmp_path / "rows.parquet", "--json")
    assert_allclose(scores(found), model.score_samples(X), rtol=1e-12)


def test_rows_of_density_zero_are_counted_and_left_out_of_the_mean(data, tmp_path):
    fit = ("fit", data / "rows.csv", "--columns", "a", "--map", "landmarks", *SMALL)
    run(*fit, "-o", tmp_path / "m.rho").fine()
    write_csv(pa.table({"a": [0.0, 1e200, 1.0]}), tmp_path / "far.csv")
    call = ("score", tmp_path / "m.rho", tmp_path / "far.csv")
    found = run(*call, "--json").fine().json
    near = [found["records"][row]["log_density"] for row in (0, 2)]
    assert (found["zero_density"], found["lowest"]) == (1, None)
    assert_allclose(found["mean_log_density"], np.mean(near))
    assert "1 rows, left out of the mean" in run(*call, screen=True).fine().out
    write_csv(pa.table({"a": [1e200]}), tmp_path / "far.csv")
    told = run(*call, screen=True).fine().out
    assert "mean log-density" not in told


def test_models_that_cannot_integrate_say_so(data, tmp_path):
    rows = rows_table().select(["a", "b", "c"]).to_pandas()
    model = rhokit.MeanEmbeddingKDE(n_components=32, random_state=0).fit(rows)
    rhokit.save(model, tmp_path / "mean.rho")
    call = ("score", tmp_path / "mean.rho", data / "rows.csv")
    with np.errstate(invalid="ignore"):
        expected = model.score_samples(rows)
    assert_allclose(scores(run(*call, "--json")), expected, rtol=1e-9)
    words = "a MeanEmbeddingKDE cannot integrate over columns"
    refused(run(*call, "--missing", "integrate"), 1, words)


def test_a_batch_of_categories_without_whole_rows(tmp_path, monkeypatch):
    model, file = tmp_path / "m.rho", tmp_path / "rows.parquet"
    pq.write_table(flats(60), file)
    run("fit", file, "--drop", "price", *SMALL, "-o", model).fine()
    cities = [None] * 10 + flats(60).column("city").to_pylist()[10:]
    pq.write_table(flats(60).set_column(0, "city", pa.array(cities)), file)
    monkeypatch.setattr(pieces, "_RECORD_ROWS", 10)
    found = scores(run("score", model, file, "--missing", "empty", "--json"))
    assert found[:10] == [None] * 10
    assert None not in found[10:]


# ---- places ----


def spoiled(folder):
    """Two files whose second one has an infinity after rows that lack values."""
    folder.mkdir()
    write_csv(rows_table(20), folder / "1.csv")
    frame = rows_table(20, 1).to_pandas()
    frame.loc[[0, 3], "b"] = np.nan
    frame.loc[12, "c"] = np.inf
    frame.to_csv(folder / "2.csv", index=False)
    return folder


@pytest.mark.parametrize("command", ["fit", "score", "anomalies", "report"])
def test_the_place_of_a_mistake_is_that_in_its_file(command, models, tmp_path):
    folder = spoiled(tmp_path / "rows")
    output = tmp_path / ("out.html" if command == "report" else "out.csv")
    call = {
        "fit": ("fit", folder, *ROWS, *SMALL, "--missing", "drop"),
        "report": ("report", models["density"], folder),
    }.get(command, (command, models["density"], folder, "--missing", "empty"))
    words = f"{folder / '2.csv'}: row 13: column 'c': Input X contains infinity"
    refused(run(*call, "-o", output), 1, words)


def test_columns_of_one_name_are_refused(models, tmp_path):
    table = pa.table([[1.0], [2.0], [3.0]], names=["a", "b", "a"])
    pq.write_table(table, tmp_path / "twice.parquet")
    call = ("score", models["density"], tmp_path / "twice.parquet")
    refused(run(*call), 1, "twice.parquet could not be read", "duplicate field names")


def test_names_of_text_files_are_told_apart(models, tmp_path):
    (tmp_path / "twice.csv").write_text("a,b,a,c\n1,2,3,4\n")
    result = run("score", models["density"], tmp_path / "twice.csv").fine()
    assert "twice.csv: read with its second 'a' called 'a_2'" in result.err


def test_a_model_that_cannot_be_written_is_said(data, tmp_path, monkeypatch):
    def fail(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(stored_models, "write_atomically", fail)
    output = tmp_path / "m.rho"
    call = ("fit", data / "rows.csv", *ROWS, *SMALL, "-o", output)
    refused(run(*call), 1, f"{output}: could not be written: No space left on device")


def test_of_many_classes_the_first_are_listed(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table(
        {"x": rng.normal(size=400), "y": [f"c{i % 40}" for i in range(400)]}
    )
    file = write_csv(table, tmp_path / "rows.csv")
    call = ("fit", file, "--target", "y", "--gamma", "1", *SMALL)
    run(*call, "-o", tmp_path / "m.rho").fine()
    told = run("info", tmp_path / "m.rho").fine().out
    assert "and 10 more classes" in told
    few = run("predict", tmp_path / "m.rho", file, screen=True).fine().out
    assert "its probability" in few
