"""``merge``, ``compare``, ``info``, ``report`` and ``export``: about models."""

import json

import numpy as np
import onnxruntime
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit.cli import table_sample
from rhokit.cli.responses import Question
from rhokit.cli.sources import Source
from rhokit.cli.stored_models import Note, load_model
from rhokit.cli.table_sample import sampled
from rhokit.io.model_files import pack_model
from rhokit.streams import pieces
from tests.cli.support import ROLES, refused, rows_table, run, write_csv


@pytest.fixture(scope="module")
def moved(models, tmp_path_factory):
    """Models of rows of the same source, and of rows that have moved, by kind."""
    folder, found = tmp_path_factory.mktemp("moved"), {}
    table = rows_table(150, seed=5)
    far = table.set_column(0, "a", pa.array(table.column("a").to_numpy() + 1.5))
    # Values must stay in the range that the first model knows.
    for name, rows in {"same": table, "moved": far}.items():
        price = np.clip(rows.column("price").to_numpy(), -7, 7)
        place = rows.column_names.index("price")
        write_csv(
            rows.set_column(place, "price", pa.array(price)), folder / f"{name}.csv"
        )
    for kind, model in models.items():
        for name in ("same", "moved"):
            output = folder / f"{kind}-{name}.rho"
            call = ("fit", folder / f"{name}.csv", "--like", model, "-o", output)
            run(*call).fine()
            found[kind, name] = output
    return found


# ---- compare ----


@pytest.mark.parametrize("kind", ROLES)
def test_a_change_is_told_from_chance(kind, models, moved):
    same = run("compare", models[kind], moved[kind, "same"], "--json").fine().json
    result = run("compare", models[kind], moved[kind, "moved"], "--json")
    assert result.code == 3
    told = result.json
    assert told["changed"]
    assert not same["changed"]
    assert told["columns"][0]["column"] == "a"
    pair = rhokit.load(models[kind]), rhokit.load(moved[kind, "moved"])
    target = {"classes": "side", "values": "price", "ordinal": "grade"}.get(kind)
    expected = rhokit.compare(*pair, target=target)
    assert told["p_value"] == expected.p_value
    assert told["effect"] == expected.effect
    roles = {each["role"] for each in told["columns"]}
    assert ("target" in roles) == (kind in ("classes", "values", "ordinal"))


def test_models_and_tables_are_compared(data, models, moved, tmp_path):
    folder = moved["density", "moved"].parent
    table = folder / "moved.csv"
    for pair in ((models["density"], table), (folder / "same.csv", table)):
        told = run("compare", *pair, "--json")
        assert told.code == 3, told.err
        assert told.json["columns"][0]["column"] == "a"
    run("compare", models["density"], folder / "same.csv").fine()
    page = tmp_path / "page.html"
    call = ("compare", models["density"], table, "--report", page)
    shown = run(*call)
    assert shown.code == 3
    assert "the data have changed" in shown.out
    assert "The data have changed" in page.read_text()


def test_levels_decide_the_code(models, moved):
    pair = models["density"], moved["density", "same"]
    p = run("compare", *pair, "--json").fine().json["p_value"]
    silent = run("compare", *pair, "--level", min(p * 1.01, 0.999), "--quiet")
    assert (silent.code, silent.out, silent.err) == (3, "", "")
    refused(run("compare", *pair, "--level", 2), 1, "level must be between 0 and 1")
    refused(run("compare", *pair, "--block-rows", "x"), 2, "--block-rows must be auto")


# ---- merge ----


def test_merging_adds_rows_and_notes(models, moved, tmp_path):
    output = tmp_path / "all.rho"
    parts = [models["density"], moved["density", "same"], moved["density", "moved"]]
    told = run("merge", *parts, "-o", output).fine()
    assert "500" in told.out
    merged = load_model(output)
    assert merged.model.state_.weight.tolist() == [500]
    names = [each["name"] for each in merged.note.sources]
    assert names == ["rows.csv", "same.csv", "moved.csv"]
    refused(run("merge", parts[0], "-o", output), 2, "two models or more")


def test_models_of_the_library_merge_too(models, tmp_path):
    model = rhokit.load(models["density"])
    rows = rows_table(40, 9).select(["a", "b", "c"]).to_pandas()
    rhokit.save(model.blank().partial_fit(rows), tmp_path / "own.rho")
    call = ("merge", models["density"], tmp_path / "own.rho", "-o", tmp_path / "m.rho")
    assert run(*call, "--json").fine().json["rows"] == 240


# ---- models without a note, and notes that say nothing ----


def test_models_of_the_library_are_asked_without_a_note(data, tmp_path):
    table = rows_table()
    rows, side = table.select(["a", "b", "c"]), table.column("side").to_numpy()
    named = rhokit.DMKDClassifier(n_components=32, random_state=0)
    rhokit.save(named.fit(rows.to_pandas(), side.astype(str)), tmp_path / "named.rho")
    told = (
        run("predict", tmp_path / "named.rho", data / "new.csv", "--json").fine().json
    )
    assert "accuracy" not in told
    call = ("predict", tmp_path / "named.rho", data / "new.csv", "--target", "side")
    assert run(*call, "--json").fine().json["accuracy"] > 0.8
    # Of arrays: the columns have no names, so all of the table's are taken.
    plain = rhokit.DMKDE(n_components=32, random_state=0)
    rhokit.save(plain.fit(rows.to_pandas().to_numpy()), tmp_path / "plain.rho")
    write_csv(rows_table(60, 1).select(["a", "b", "c"]), tmp_path / "rows.csv")
    told = run("score", tmp_path / "plain.rho", tmp_path / "rows.csv", "--json").json
    expected = plain.score_samples(
        rows_table(60, 1).select(["a", "b", "c"]).to_pandas().to_numpy()
    )
    assert_allclose([each["log_density"] for each in told["records"]], expected)
    call = ("score", tmp_path / "plain.rho", data / "new.csv")
    refused(run(*call), 1, "the model takes 3 columns, got 6")


@pytest.mark.parametrize(
    "note",
    [
        None,
        {},
        {"batch_rows": 3},
        {"command line": 7},
        {"command line": {"target": "side", "sources": 3, "fill": [], "weight": 4}},
        {"command line": {"target": [1, None], "sources": ["x", {}, {"bytes": "y"}]}},
    ],
)
def test_strange_notes_are_no_notes(note, data, models, tmp_path):
    path = tmp_path / "strange.rho"
    path.write_bytes(pack_model(rhokit.load(models["density"]), note))
    found = load_model(path).note
    assert found.target == ()
    assert found.weight is None
    assert found.fill == {}
    assert not found.has_seen([data / "rows.csv"])
    run("info", path).fine()


def test_a_note_comes_back_as_it_was():
    note = Note(("a", "b"), "w", ({"name": "x", "bytes": 3},), {"c": 1.5})
    assert Note.from_json(json.loads(json.dumps(note.to_json()))) == note


# ---- info ----


@pytest.mark.parametrize("kind", ROLES)
def test_info_tells_what_a_model_is(kind, models):
    told = run("info", models[kind], "--json").fine().json
    model = rhokit.load(models[kind])
    assert told["kind"] == kind
    assert told["class"] == type(model).__name__
    assert told["rows"] == pytest.approx(200)
    assert told["columns"] == ["a", "b", "c"]
    assert told["gamma"] == model.gamma_
    assert told["fingerprint"] == model.fingerprint()
    assert told["learns"]
    assert told["sources"][0]["name"] == "rows.csv"
    if kind == "classes":
        counts = model.class_count_.tolist()
        expected = dict(zip(model.classes_.tolist(), counts, strict=True))
        assert told["classes"] == expected
    shown = run("info", models[kind]).fine().out
    assert "a, b, c" in shown
    assert max(map(len, shown.splitlines())) <= 200


EARLY = {
    "DMKDE": "density",
    "DMKDClassifier": "classes",
    "QMOrdinalClassifier": "ordinal",
    "QMRegressor": "values",
}


@pytest.mark.parametrize("name", EARLY)
def test_info_tells_of_models_without_rows(name, tmp_path):
    table, path = rows_table().to_pandas(), tmp_path / "early.rho"
    model = getattr(rhokit, name)(n_components=16, random_state=0)
    rhokit.save(model, path)
    told = run("info", path, "--json").fine().json
    assert (told["kind"], told["rows"], told["map"]) == (EARLY[name], None, None)
    target = None if name == "DMKDE" else table["grade"]
    rhokit.save(model.prepare(table[["a", "b", "c"]], target), path)
    told = run("info", path, "--json").fine().json
    assert (told["kind"], told["rows"], told["learns"]) == (EARLY[name], 0, False)
    assert told["columns"] == ["a", "b", "c"]
    assert told["fingerprint"] == model.fingerprint()
    assert told["dimension"] == model.feature_map_.n_components_
    assert told["lowest"] == (0.0 if name == "QMRegressor" else None)


def test_info_tells_the_kind_of_a_model_that_is_not_trained_yet(tmp_path):
    rhokit.save(rhokit.QMRegressorSGD(), tmp_path / "early.rho")
    told = run("info", tmp_path / "early.rho", "--json").fine().json
    assert (told["kind"], told["class"]) == ("values", "QMRegressorSGD")


# ---- report and export ----


@pytest.mark.parametrize("kind", ROLES)
def test_a_report_is_a_page(kind, data, models, tmp_path):
    output = tmp_path / "page.html"
    call = (
        "report",
        models[kind],
        data / "new.csv",
        "-o",
        output,
        "--title",
        "Rows & co",
    )
    told = run(*call, "--json").fine().json
    page = output.read_text(encoding="utf-8")
    assert "Rows &amp; co" in page
    assert "new.csv" in page
    assert told["bytes"] == output.stat().st_size
    assert not told["training_rows"]
    call = ("report", models[kind], data / "rows.csv", "-o", output, "--json")
    assert run(*call).fine().json["training_rows"]


def test_a_page_about_many_rows_is_about_a_sample(data, models, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "_RECORD_ROWS", 30)
    path = tmp_path / "rows.parquet"
    pq.write_table(rows_table(500), path)
    source, loaded = Source((path,), (path,)), load_model(models["classes"])
    question = Question(loaded, source, None, None, "empty", None)
    sample = sampled(question, 100)
    assert (sample.n_rows, sample.table.num_rows) == (500, 100)
    every = rows_table(500).column("a").to_numpy()
    places = np.searchsorted(np.sort(every), sample.table.column("a").to_numpy())
    rows = np.argsort(every)[places]
    assert (np.diff(rows) > 0).all()  # in their order
    assert 200 < rows.mean() < 300  # from everywhere
    sides = rows_table(500).column("side").to_numpy()
    assert_array_equal(sample.target, sides[rows].astype(str))
    whole = sampled(question, 1000)
    assert_array_equal(whole.table.column("a").to_numpy(), every)
    monkeypatch.setattr(table_sample, "MOST_SAMPLED_ROWS", 100)
    call = ("report", models["classes"], path, "-o", tmp_path / "page.html")
    assert run(*call, "--json").fine().json["rows"] == 500
    assert "100 of 500 rows" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_trained_models_are_asked_but_do_not_add_up(data, tmp_path):
    table, path = rows_table().to_pandas(), tmp_path / "trained.rho"
    model = rhokit.DMKDClassifierSGD(n_components=16, max_epochs=2, random_state=0)
    rhokit.save(model.fit(table[["a", "b", "c"]], table["side"]), path)
    assert run("info", path, "--json").fine().json["rows"] is None
    call = ("predict", path, data / "new.csv", "--target", "side", "--json")
    assert run(*call).fine().json["rows"] == 60
    told = run("score", path, data / "new.csv", "--json").fine().json
    rows = rows_table(60, 1).to_pandas()[["a", "b", "c"]]
    found = [each["log_density"] for each in told["records"]]
    assert_allclose(found, rhokit.load(path).score_samples(rows), rtol=1e-9)
    call = ("score", path, data / "new.csv", "--target", "side", "--leave-one-out")
    refused(run(*call), 1, "exact sums")
    call = ("fit", data / "new.csv", "--like", path, "-o", tmp_path / "o.rho")
    refused(run(*call), 1, "is trained")


def test_an_onnx_graph_answers_as_the_model_does(data, models, tmp_path):
    rows = rows_table(60, 1).select(["a", "b", "c"]).to_pandas()
    given = {"X": rows.to_numpy().astype(np.float32)}

    def graph(kind, *options):
        output = tmp_path / f"{kind}.onnx"
        run("export", models[kind], "-o", output, *options).fine()
        session = onnxruntime.InferenceSession(output)
        names = [each.name for each in session.get_outputs()]
        return dict(zip(names, session.run(None, given), strict=True))

    found = graph("density")["log_density"].ravel()
    expected = rhokit.load(models["density"]).score_samples(rows)
    assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    model = rhokit.load(models["classes"])
    found = graph("classes")
    assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-4)
    assert_array_equal(found["label"].ravel().astype(str), model.predict(rows))
    model = rhokit.load(models["values"])
    found = graph("values", "--coverage", 0.5)
    assert_allclose(found["mean"].ravel(), model.predict(rows), atol=1e-3)
    expected = model.predict_interval(rows, coverage=0.5)
    assert_allclose(found["interval"].reshape(-1, 2), expected, atol=1e-2)
    assert found["mean"].dtype == np.float32
    assert graph("values", "--dtype", "float64")["mean"].dtype == np.float64
    call = ("export", models["values"], "-o", tmp_path / "v.onnx", "--coverage", 2)
    refused(run(*call), 2, "--coverage must be between 0 and 1")
