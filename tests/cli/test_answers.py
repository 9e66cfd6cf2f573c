"""``score``, ``predict`` and ``anomalies``: what the library answers, row by row."""

import csv
import io
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit.streams import pieces
from tests.cli.support import ROLES, SMALL, refused, rows_table, run, write_csv

TARGETS = {"classes": "side", "values": "price", "ordinal": "grade"}


def frame(n=60, seed=1):
    return rows_table(n, seed).select(["a", "b", "c"]).to_pandas()


def parsed(text):
    """Columns of a CSV text, by name."""
    header, *lines = csv.reader(io.StringIO(text))
    return dict(zip(header, map(list, zip(*lines, strict=True)), strict=True))


def numbers(values):
    return np.array(values, float)


# ---- score ----


def test_scores_are_those_of_the_model(data, models):
    found = parsed(run("score", models["density"], data / "new.csv").fine().out)
    expected = rhokit.load(models["density"]).score_samples(frame())
    assert list(found) == ["log_density"]
    assert_array_equal(numbers(found["log_density"]), expected)


@pytest.mark.parametrize("kind", ["classes", "values", "ordinal"])
def test_the_density_of_rows_is_the_mixture_of_all_outcomes(kind, data, models):
    found = parsed(run("score", models[kind], data / "new.csv").fine().out)
    model = rhokit.load(models[kind])
    # The definition: states of the outcomes, measured and weighted one by one.
    unit = model.feature_map_.unnormalized()
    scaled = model.scaling_.apply(frame().to_numpy())
    states = unit.transform(scaled)
    weight = model.state_.weight
    matrices = model.density_matrix_.normalized()
    measured = np.einsum("nd,kde,ne->nk", states, matrices, states)
    norm = model.scaling_.log_volume - unit.log_mass(2)
    total = measured @ weight / weight.sum()
    there = total > 1e-250  # what underflows here does not there
    assert there.sum() > 50
    # Divided by what it integrates to, as rows do, one by one.
    mass = np.einsum("kde,de->k", matrices, unit.mass_matrix()) @ weight / weight.sum()
    logs = np.log(total[there] / mass) + norm
    assert_allclose(numbers(found["log_density"])[there], logs, rtol=1e-6)


@pytest.mark.parametrize("kind", ROLES)
def test_a_row_left_out_is_a_row_unlearned(kind, data, models):
    call = ("score", models[kind], data / "rows.csv", "--leave-one-out", "--json")
    told = run(*call).fine().json
    found = numbers([each["log_density"] for each in told["records"]])
    model, table = rhokit.load(models[kind]), rows_table()
    rows = table.select(["a", "b", "c"]).to_pandas()
    target = table.column(TARGETS[kind]).to_pandas() if kind in TARGETS else None
    for row in (0, 17, 199):
        one = slice(row, row + 1)
        rest = rhokit.loads(rhokit.dumps(model))
        rest.unlearn(rows[one], None if target is None else target[one])
        assert_allclose(found[row], rest.score_samples(rows[one])[0], rtol=1e-5)
    assert told["training_rows"]


def test_what_was_left_out_does_not_flatter(data, models, tmp_path):
    call = ("score", models["density"], data / "rows.csv", "-o", tmp_path / "s.csv")
    assert "flatters" in run(*call).fine().out
    told = run(*call, "--leave-one-out").fine().out
    assert "left out of the model one by one" in told
    assert "flatters" not in told


def test_a_row_of_several_targets_is_left_out_once(data, tmp_path):
    path = tmp_path / "two.rho"
    call = ("fit", data / "rows.csv", "--columns", "a,b,c", "--target", "price,grade")
    run(*call, *SMALL, "-o", path).fine()
    call = ("score", path, data / "rows.csv", "--leave-one-out", "--json")
    found = run(*call).fine().json["records"][3]["log_density"]
    table, model = rows_table().to_pandas(), rhokit.load(path)
    rows, target = table[["a", "b", "c"]], table[["price", "grade"]].to_numpy()
    model.unlearn(rows[3:4], target[3:4])
    assert_allclose(found, model.score_samples(rows[3:4])[0], rtol=1e-5)


def test_leaving_out_needs_what_was_summed(data, models, tmp_path):
    small = tmp_path / "small.rho"
    rhokit.save(rhokit.load(models["density"]), small, state="factor")
    call = ("score", small, data / "rows.csv", "--leave-one-out")
    refused(run(*call), 1, "small.rho", "exact sums")
    without = write_csv(rows_table().select(["a", "b", "c"]), tmp_path / "rows.csv")
    call = ("score", models["classes"], without, "--leave-one-out")
    refused(run(*call), 1, "the target's column")
    weighted = tmp_path / "weighted.rho"
    fit = ("fit", data / "rows.csv", "--columns", "a,b,c", "--weight", "grade")
    run(*fit, *SMALL, "-o", weighted).fine()
    call = ("score", weighted, data / "rows.csv", "--leave-one-out")
    refused(run(*call), 1, "rows had weights (column 'grade')")
    assert not run("anomalies", *call[1:3], "--json").json["leave_one_out"]
    call = ("score", models["density"], data / "rows.csv", "--leave-one-out")
    refused(run(*call, "--missing", "integrate"), 1, "--missing empty")
    call = ("anomalies", models["density"], data / "rows.csv", "--json")
    assert not run(*call, "--missing", "integrate").fine().json["leave_one_out"]


# ---- predict ----


@pytest.mark.parametrize("kind", ["classes", "ordinal"])
def test_classes_come_with_all_probabilities(kind, data, models):
    found = parsed(run("predict", models[kind], data / "new.csv").fine().out)
    model = rhokit.load(models[kind])
    labels = model.classes_.tolist()
    assert list(found) == ["prediction", *(f"probability_{each}" for each in labels)]
    assert_array_equal(found["prediction"], model.predict(frame()).astype(str))
    probabilities = numbers(list(found.values())[1:]).T
    assert_allclose(probabilities, model.predict_proba(frame()), rtol=1e-12)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_values_come_with_intervals(coverage, data, models):
    call = ("predict", models["values"], data / "new.csv", "--coverage", coverage)
    found = parsed(run(*call).fine().out)
    model = rhokit.load(models["values"])
    mean, std = model.predict(frame(), return_std=True)
    low, high = model.predict_interval(frame(), coverage=coverage).T
    expected = {"prediction": mean, "std": std, "low": low, "high": high}
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert_allclose(numbers(found[name]), values, rtol=1e-12)


def test_predictions_are_compared_with_what_is_known(data, models, tmp_path):
    table = rows_table(60, seed=1)
    told = run("predict", models["classes"], data / "new.csv", "--json").fine().json
    model = rhokit.load(models["classes"])
    labels = table.column("side").to_numpy().astype(str)
    assert_allclose(told["accuracy"], (model.predict(frame()) == labels).mean())
    assert sum(told["predicted"].values()) == told["rows"] == 60
    assert not told["training_rows"]
    told = run("predict", models["values"], data / "new.csv", "--json").fine().json
    model, truth = rhokit.load(models["values"]), table.column("price").to_numpy()
    error = np.abs(model.predict(frame()) - truth).mean()
    assert_allclose(told["mean_absolute_error"], error)
    low, high = model.predict_interval(frame()).T
    inside = ((low <= truth) & (truth <= high)).mean()
    assert_allclose(told["inside_interval"], inside)
    some = table.to_pandas().assign(side=["left"] * 7 + [None] * 53)
    some.to_csv(tmp_path / "some.csv", index=False)
    told = run("predict", models["classes"], tmp_path / "some.csv", "--json").json
    expected = rhokit.load(models["classes"]).predict(frame())[:7] == "left"
    assert_allclose(told["accuracy"], expected.mean())
    unknown = write_csv(table.select(["a", "b", "c"]), tmp_path / "unknown.csv")
    told = run("predict", models["values"], unknown, "--json").fine().json
    assert "mean_absolute_error" not in told


def test_rows_that_were_learned_are_said_to_flatter(data, models, tmp_path):
    call = ("predict", models["classes"], data / "rows.csv", "-o", tmp_path / "p.csv")
    assert "fitted to, which flatters" in run(*call).fine().out


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "feather"])
def test_output_is_what_its_ending_says(ending, data, models, tmp_path):
    output = tmp_path / f"out.{ending}"
    call = ("predict", models["values"], data / "new.csv", "--keep", "side,a")
    told = run(*call, "-o", output).fine()
    assert str(output) in told.out
    assert "records" not in told.out
    found = {
        "csv": pa_csv.read_csv,
        "csv.gz": pa_csv.read_csv,
        "tsv": lambda path: pa_csv.read_csv(
            path, parse_options=pa_csv.ParseOptions(delimiter="\t")
        ),
        "parquet": pq.read_table,
        "feather": pa_feather.read_table,
    }[ending](output)
    assert found.column_names == ["side", "a", "prediction", "std", "low", "high"]
    expected = rhokit.load(models["values"]).predict(frame())
    assert_allclose(found.column("prediction").to_numpy(), expected, rtol=1e-9)
    assert_allclose(found.column("a").to_numpy(), frame()["a"], rtol=1e-12)
    assert list(tmp_path.iterdir()) == [output]  # no temporary file stays


def test_kept_columns_are_copied_letter_by_letter(models, tmp_path):
    table = rows_table(5, seed=1).select(["a", "b", "c"])
    codes = pa.array(["007", "1e3", "x,y", "", '"'])
    file = tmp_path / "new.csv"
    table.append_column("code", codes).to_pandas().to_csv(file, index=False)
    found = run("score", models["density"], file, "--keep", "code").fine().out
    assert parsed(found)["code"] == codes.to_pylist()
    call = ("score", models["density"], file, "--keep", "all", "-o", tmp_path / "o.csv")
    run(*call).fine()
    names = pa_csv.read_csv(tmp_path / "o.csv").column_names
    assert names == ["a", "b", "c", "code", "log_density"]


def test_a_kept_column_must_not_hide_an_answer(models, tmp_path):
    table = rows_table(5).rename_columns(["a", "b", "c", "log_density", "x", "y"])
    file = write_csv(table, tmp_path / "new.csv")
    run("score", models["density"], file).fine()
    call = ("score", models["density"], file, "--keep", "all")
    refused(run(*call, "-o", tmp_path / "o.csv"), 1, "'log_density'", "--keep")
    refused(run(*call[:-1], "nothing"), 1, "no column 'nothing'")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_rows_keep_their_order_batch_by_batch(format, models, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "_RECORD_ROWS", 17)
    paths = [tmp_path / f"{name}.{format}" for name in ("1", "2")]
    for seed, path in enumerate(paths, start=1):
        table = rows_table(60, seed)
        pq.write_table(table, path) if format == "parquet" else write_csv(table, path)
    found = parsed(run("score", models["density"], *paths).fine().out)
    model = rhokit.load(models["density"])
    expected = [model.score_samples(frame(seed=seed)) for seed in (1, 2)]
    assert_allclose(numbers(found["log_density"]), np.concatenate(expected), rtol=1e-12)


def test_a_batch_without_whole_rows_is_left_unanswered(models, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "_RECORD_ROWS", 10)
    table = rows_table(30)
    gone = [None] * 10 + table.column("a").to_pylist()[10:]
    path, output = tmp_path / "new.parquet", tmp_path / "out.parquet"
    pq.write_table(table.set_column(0, "a", pa.array(gone, pa.float64())), path)
    for command, kind, name in [
        ("score", "density", "log_density"),
        ("score", "classes", "log_density"),
        ("predict", "classes", "prediction"),
        ("predict", "values", "high"),
    ]:
        run(command, models[kind], path, "--missing", "empty", "-o", output).fine()
        found = pq.read_table(output).column(name)
        assert found.null_count == 10
        assert found.slice(0, 10).null_count == 10


def widest_line(text):
    """Characters of the longest line, colours not counted."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return max(map(len, plain.splitlines()))


def test_a_terminal_shows_a_few_rows_and_a_summary(data, models):
    told = run("predict", models["classes"], data / "new.csv", screen=True).fine().out
    assert "50 more rows: -o FILE writes all" in told
    assert widest_line(told) <= 80
    wide = ("anomalies", models["ordinal"], data / "new.csv")
    told = run(*wide, screen=True).fine().out
    assert widest_line(told) <= 80
    wide = ("predict", models["ordinal"], data / "new.csv", "--keep", "all")
    told = run(*wide, screen=True).fine().out
    table, _, _ = told.partition(" more column")
    assert len(table.splitlines()) == 4 + 10 + 1  # a line for each row, none folded
    assert widest_line(told) <= 80
    told = run("score", models["density"], data / "new.csv", screen=True).fine().out
    assert "mean log-density" in told
    quiet = run("score", models["density"], data / "new.csv", "-q").fine()
    assert quiet.out.startswith("log_density\n")
    assert quiet.err == ""


# ---- anomalies ----


@pytest.mark.parametrize("kind", ROLES)
def test_the_least_likely_rows_come_first(kind, data, models, monkeypatch):
    monkeypatch.setattr(pieces, "_RECORD_ROWS", 13)
    call = ("anomalies", models[kind], data / "new.csv", "-k", 4, "--json")
    told = run(*call).fine().json
    expected = rhokit.load(models[kind]).score_samples(frame())
    order = np.argsort(expected)[:4]
    found = told["anomalies"]
    assert [each["row"] for each in found] == (order + 1).tolist()
    assert_allclose([each["log_density"] for each in found], expected[order], rtol=1e-9)
    assert_allclose([each["b"] for each in found], frame()["b"].to_numpy()[order])
    assert not told["leave_one_out"]


@pytest.mark.parametrize("kind", ROLES)
def test_training_rows_are_recognised_and_left_out(kind, data, models, tmp_path):
    copied = tmp_path / "other-name.csv"
    copied.write_bytes((data / "rows.csv").read_bytes())
    told = run("anomalies", models[kind], copied, "--json").fine().json
    assert told["leave_one_out"]
    table = rows_table()
    rows = table.select(["a", "b", "c"]).to_pandas()
    target = table.column(TARGETS[kind]).to_pandas() if kind in TARGETS else None
    model = rhokit.load(models[kind])
    expected = model.score_samples(rows, target, leave_one_out=True)
    found = [each["log_density"] for each in told["anomalies"]]
    assert_allclose(found, np.sort(expected)[:20], rtol=1e-9)
    lines = copied.read_text().splitlines()
    lines[5], lines[6] = lines[6], lines[5]  # of the same size, and yet another file
    copied.write_text("\n".join([*lines, ""]))
    assert not run("anomalies", models[kind], copied, "--json").json["leave_one_out"]


def test_an_odd_row_is_found_among_several_files(data, models, tmp_path):
    odd = frame(5).assign(a=[0, 0, 50.0, 0, 0])
    odd.to_csv(tmp_path / "odd.csv", index=False)
    write_csv(rows_table(30, 2).select(["a", "b", "c"]), tmp_path / "plain.csv")
    call = ("anomalies", models["density"], tmp_path, "-k", 1, "--json")
    (found,) = run(*call).fine().json["anomalies"]
    assert (found["row"], found["file"]) == (3, str(tmp_path / "odd.csv"))
    told = run(*call[:-1], "-k", 20).fine().out
    assert "odd.csv" in told  # several files are told apart


def test_a_limit_ends_with_code_3(data, models, tmp_path):
    output = tmp_path / "odd.csv"
    scores = rhokit.load(models["density"]).score_samples(frame())
    call = ("anomalies", models["density"], data / "new.csv", "-o", output)
    for limit, code in [(np.sort(scores)[2] + 1e-9, 3), (scores.min() - 1e-9, 0)]:
        told = run(*call, "--fail-below", limit, "-k", 2, "--json")
        assert told.code == code
        assert told.json["below"] == (3 if code else 0)
        assert told.json["failed"] == bool(code)
    assert pa_csv.read_csv(output).num_rows == 2
    assert run(*call, "--fail-below", 0, "--quiet").code == 3
