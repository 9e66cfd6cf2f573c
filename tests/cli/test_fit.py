"""``rhokit fit``: the model that the library would make, in a file that tells more."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit.cli.kinds import guess_kind
from rhokit.cli.sources import Source
from rhokit.cli.stored_models import KINDS, load_model
from rhokit.cli.table_files import TableFiles
from tests.cli.support import ROLES, ROWS, SMALL, refused, rows_table, run, write_csv
from tests.support import assert_same_state

TARGETS = {"density": None, "classes": "side", "values": "price", "ordinal": "grade"}


@pytest.mark.parametrize("kind", ROLES)
def test_a_model_is_that_of_the_library(kind, data, models):
    feature_map = "landmarks" if "--map" in ROLES[kind] else "auto"
    model = getattr(rhokit, KINDS[kind])(
        n_components=32, feature_map=feature_map, random_state=0
    )
    rhokit.fit_files(
        model, data / "rows.csv", columns=["a", "b", "c"], target=TARGETS[kind]
    )
    loaded = rhokit.load(models[kind])
    assert type(loaded) is type(model)
    assert loaded.fingerprint() == model.fingerprint()
    assert_same_state(loaded.state_, model.state_)
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize("kind", ROLES)
def test_a_file_tells_its_target_and_where_it_comes_from(kind, data, models):
    note = load_model(models[kind]).note
    assert note.target == ((TARGETS[kind],) if TARGETS[kind] else ())
    (source,) = note.sources
    assert source["name"] == "rows.csv"
    assert source["rows"] == 200
    assert source["bytes"] == (data / "rows.csv").stat().st_size
    assert note.has_seen([data / "rows.csv"])
    assert not note.has_seen([data / "rows.csv", data / "new.csv"])
    assert not note.has_seen([])


def test_the_same_call_writes_the_same_bytes(data, models, tmp_path):
    again = tmp_path / "again.rho"
    run("fit", data / "rows.csv", *ROWS, *SMALL, "-o", again).fine()
    assert again.read_bytes() == models["density"].read_bytes()


def writers():
    def as_parquet(table, folder):
        pq.write_table(table, folder / "rows.parquet", row_group_size=70)
        return [folder / "rows.parquet"]

    def as_feather(table, folder):
        pa_feather.write_feather(table, folder / "rows.feather")
        return [folder / "rows.feather"]

    def as_folder(table, folder):
        write_csv(table.slice(0, 90), folder / "1.csv")
        write_csv(table.slice(90), folder / "2.csv")
        return [folder]

    def as_files(table, folder):
        as_folder(table, folder)
        return [folder / "1.csv", folder / "2.csv"]

    def as_gzip(table, folder):
        file = write_csv(table, folder / "plain.csv")
        (folder / "rows.csv.gz").write_bytes(gzip.compress(file.read_bytes()))
        return [folder / "rows.csv.gz"]

    def as_tabs(table, folder):
        text = write_csv(table, folder / "plain.csv").read_text()
        (folder / "rows.tsv").write_text(text.replace(",", "\t"))
        return [folder / "rows.tsv"]

    return [as_parquet, as_feather, as_folder, as_files, as_gzip, as_tabs]


@pytest.mark.parametrize("write", writers(), ids=lambda write: write.__name__)
def test_all_formats_give_one_model(write, models, tmp_path):
    paths = write(rows_table(), tmp_path)
    output = tmp_path / "out.rho"
    run("fit", *paths, *ROWS, *SMALL, "-o", output).fine()
    expected = rhokit.load(models["density"])
    assert_same_state(rhokit.load(output).state_, expected.state_)


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "arrow"])
def test_standard_input_is_recognised(format, data, models, tmp_path):
    table, file = rows_table(), tmp_path / f"rows.{format}"
    if format == "parquet":
        pq.write_table(table, file)
    elif format == "arrow":
        pa_feather.write_feather(table, file)
    else:
        text = (data / "rows.csv").read_text()
        file.write_text(text.replace(",", "\t") if format == "tsv" else text)
    output = tmp_path / "out.rho"
    run("fit", "-", *ROWS, *SMALL, "-o", output, stdin=file.read_bytes()).fine()
    expected = rhokit.load(models["density"])
    assert_same_state(rhokit.load(output).state_, expected.state_)
    assert load_model(output).note.sources[0]["name"] == "standard input"


def many(values):
    return [values[i % len(values)] for i in range(120)]


TARGET_COLUMNS = {
    "text": (many(["x", "y"]), "classes"),
    "truth": (many([True, False]), "classes"),
    "few whole numbers": (many([1, 2, 7]), "classes"),
    "few whole floats": (many([0.0, 1.0]), "classes"),
    "twenty": (many(list(range(20))), "classes"),
    "many whole numbers": (many(list(range(21))), "values"),
    "fractions": (many([0.5, 1.5]), "values"),
    "few, but hardly ever twice": (list(range(15)), "values"),
    "gaps among classes": ([None, *many([1, 2])], "classes"),
}


@pytest.mark.parametrize("name", TARGET_COLUMNS)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_target_tells_what_is_wanted(name, ending, tmp_path):
    values, expected = TARGET_COLUMNS[name]
    table, file = pa.table({"y": values, "x": np.arange(len(values))}), tmp_path / "t"
    file = file.with_suffix(ending)
    write_csv(table, file) if ending == ".csv" else pq.write_table(table, file)
    kind, reason = guess_kind(TableFiles(Source((file,), (file,))), ["y"])
    assert kind == expected
    assert "'y'" in reason


def test_a_guess_is_said_and_can_be_overruled(data, tmp_path):
    output = tmp_path / "out.rho"
    call = ("fit", data / "rows.csv", *ROWS, *SMALL, "--target", "grade", "-o", output)
    told = run(*call).fine()
    assert "classes (guessed: column 'grade' holds 5 different whole" in told.out
    told = run(*call, "--kind", "values", "--json").fine()
    assert told.json["kind"] == "values"
    assert told.json["guessed_because"] is None


def test_options_reach_the_model(data, tmp_path):
    output = tmp_path / "out.rho"
    options = "--gamma 0.5 --rank 7 --map fourier --scale robust --seed 3"
    options += " --dtype float32 --components 40"
    run("fit", data / "rows.csv", *ROWS, *options.split(), "-o", output).fine()
    found = rhokit.load(output).get_params()
    expected = {
        "gamma": 0.5,
        "rank": 7,
        "feature_map": "fourier",
        "scale": "robust",
        "random_state": 3,
        "dtype": "float32",
        "n_components": 40,
    }
    assert {name: found[name] for name in expected} == expected


def test_columns_are_chosen_and_dropped(data, tmp_path):
    output = tmp_path / "out.rho"
    for options in [
        ("--columns", "a", "--columns", "c"),
        ("--drop", "b,side,price,grade"),
    ]:
        run("fit", data / "rows.csv", *options, *SMALL, "-o", output).fine()
        assert rhokit.load(output).feature_names_in_.tolist() == ["a", "c"]


def test_names_with_commas_are_names(tmp_path):
    table = rows_table().select(["a", "b"]).rename_columns(["x, in metres", "y"])
    file, output = write_csv(table, tmp_path / "rows.csv"), tmp_path / "out.rho"
    run("fit", file, "--columns", "x, in metres", *SMALL, "-o", output).fine()
    assert rhokit.load(output).feature_names_in_.tolist() == ["x, in metres"]


def test_weights_and_several_targets(data, tmp_path):
    output = tmp_path / "out.rho"
    call = ("fit", data / "rows.csv", "--target", "price,b", "--weight", "grade")
    told = run(*call, "--columns", "a,c", *SMALL, "-o", output, "--json").fine().json
    grades = rows_table().column("grade").to_numpy()
    assert_allclose(told["rows"], grades.sum())
    assert told["target"] == ["price", "b"]
    assert told["weight"] == "grade"
    answers = run("predict", output, data / "new.csv").fine().out
    assert answers.startswith("prediction_price,std_price,low_price,high_price,")


def test_memory_is_limited_before_any_work(data, tmp_path):
    output = tmp_path / "out.rho"
    call = ("fit", data / "rows.csv", *ROWS, "-o", output, "--memory-limit")
    refused(run(*call, "1 MB"), 1, "--memory-limit '1 MB'", "lower --components")
    refused(run(*call, "much"), 1, "memory")
    assert not output.exists()


def test_a_checkpoint_is_gone_on_from(data, models, tmp_path):
    output, checkpoint = tmp_path / "out.rho", tmp_path / "half.rho"
    call = ("fit", data / "rows.csv", *ROWS, *SMALL, "-o", output)
    for _ in range(2):
        run(*call, "--checkpoint", checkpoint).fine()
        assert checkpoint.exists()
        assert output.read_bytes() == models["density"].read_bytes()
    refused(run(*call, "--checkpoint", checkpoint, "--seed", 1), 1, "another fit")
    refused(run(*call, "--checkpoint", output), 2, f"--checkpoint {output}")


# ---- rows that lack values ----


@pytest.fixture
def gaps(tmp_path):
    """A file in which every tenth row lacks a value, and the whole rows."""
    table = rows_table().select(["a", "b", "c"])
    values = table.column("b").to_pylist()
    values[3::10] = [None] * len(values[3::10])
    file = write_csv(table.set_column(1, "b", pa.array(values)), tmp_path / "gaps.csv")
    whole = table.filter(pa.array([value is not None for value in values]))
    return (
        file,
        write_csv(whole, tmp_path / "whole.csv"),
        np.median([value for value in values if value is not None]),
    )


def test_rows_with_gaps_are_refused_dropped_or_filled(gaps, tmp_path):
    file, whole, median = gaps
    output, other = tmp_path / "out.rho", tmp_path / "other.rho"
    refused(run("fit", file, *SMALL, "-o", output), 1, file, "'b'")
    assert not output.exists()
    run("fit", file, *SMALL, "--missing", "drop", "-o", output).fine()
    run("fit", whole, *SMALL, "-o", other).fine()
    assert_same_state(rhokit.load(output).state_, rhokit.load(other).state_)
    run("fit", file, *SMALL, "--missing", "impute", "-o", output).fine()
    loaded = load_model(output)
    assert loaded.model.state_.weight.tolist() == [200]
    assert_allclose(loaded.note.fill["b"], median)


def test_gaps_are_answered_as_is_asked(gaps, tmp_path):
    file, whole, _ = gaps
    model = tmp_path / "out.rho"
    run("fit", whole, *SMALL, "-o", model).fine()
    refused(run("score", model, file), 1, f"{file}: row 4: column 'b'", "--missing")
    told = run("score", model, file, "--missing", "empty", "--json").fine().json
    scores = np.array([each["log_density"] for each in told["records"]], float)
    assert told["unanswered"] == 20
    assert_array_equal(np.flatnonzero(np.isnan(scores)), np.arange(3, 200, 10))
    expected = run("score", model, whole, "--json").fine().json["records"]
    assert_allclose(
        scores[~np.isnan(scores)], [each["log_density"] for each in expected]
    )
    refused(run("score", model, file, "--missing", "impute"), 1, "no values to fill")
    empty = tmp_path / "empty.csv"
    empty.write_text("a,b,c\n1,,100\n,,\n")
    refused(
        run("score", model, empty, "--missing", "integrate"), 1, "row 2: column 'a'"
    )
    told = run("score", model, file, "--missing", "integrate", "--json").fine().json
    found = rhokit.load(model).marginal(["a", "c"])
    lacking = rows_table().select(["a", "c"]).slice(3, 1).to_pandas()
    assert_allclose(
        told["records"][3]["log_density"], found.score_samples(lacking)[0], rtol=1e-6
    )


def test_gaps_are_filled_at_prediction_as_they_were_at_fit(gaps, tmp_path):
    file, _, median = gaps
    model = tmp_path / "out.rho"
    run("fit", file, *SMALL, "--missing", "impute", "-o", model).fine()
    told = run("score", model, file, "--missing", "impute", "--json").fine().json
    table = rows_table().select(["a", "b", "c"]).slice(3, 1).to_pandas()
    table["b"] = median
    expected = rhokit.load(model).score_samples(table)[0]
    assert_allclose(told["records"][3]["log_density"], expected)
    # And what takes over the plan takes over the values.
    few, other = tmp_path / "few.csv", tmp_path / "other.rho"
    few.write_text("".join(file.read_text().splitlines(keepends=True)[:40]))
    run("fit", few, "--like", model, "--missing", "impute", "-o", other).fine()
    assert load_model(other).note.fill == load_model(model).note.fill


# ---- models that shall merge ----


@pytest.fixture(scope="module", params=ROLES)
def halves(request, data, tmp_path_factory):
    """Models of two halves and of the whole, of one plan."""
    folder, role = tmp_path_factory.mktemp("halves"), ROLES[request.param]
    table = rows_table()
    # The first half decides the range of values that the second may have.
    order = np.argsort(-np.abs(table.column("price").to_numpy()), kind="stable")
    table = table.take(order)
    parts = {"first": table.slice(0, 100), "second": table.slice(100), "whole": table}
    for name, part in parts.items():
        write_csv(part, folder / f"{name}.csv")
    call = (*ROWS, *SMALL)
    first = folder / "first.rho"
    run("fit", folder / "first.csv", *call, *role, "-o", first).fine()
    for name in ("second", "whole"):
        output = folder / f"{name}.rho"
        run("fit", folder / f"{name}.csv", "--like", first, "-o", output).fine()
    return folder


def test_halves_merge_to_the_whole(halves):
    output = halves / "merged.rho"
    parts = halves / "first.rho", halves / "second.rho"
    told = run("merge", *parts, "-o", output, "--json").fine().json
    assert told["rows"] == pytest.approx(200)
    merged, whole = load_model(output), load_model(halves / "whole.rho")
    assert_allclose(merged.model.state_.total, whole.model.state_.total, atol=1e-12)
    assert_allclose(merged.model.state_.weight, whole.model.state_.weight, rtol=1e-12)
    names = [each["name"] for each in merged.note.sources]
    assert names == ["first.csv", "second.csv"]
    assert merged.note.target == whole.note.target
    assert merged.note.has_seen([halves / "first.csv", halves / "second.csv"])


def test_rows_that_are_merged_twice_are_pointed_out(halves):
    first, output = halves / "first.rho", halves / "twice.rho"
    told = run("merge", first, first, "-o", output).fine()
    assert "warning: the rows of first.csv are counted twice" in told.err


def test_a_plan_leaves_nothing_to_choose(data, models, tmp_path):
    output, model = tmp_path / "out.rho", models["classes"]
    call = ("fit", data / "new.csv", "-o", output, "--like")
    refused(run(*call, model, "--gamma", "1", *SMALL), 2, "--gamma, --components")
    refused(run(*call, model, "--kind", "values"), 2, "of kind classes")
    refused(run(*call, model, "--target", "grade"), 2, "has the target side")
    refused(run(*call, model, "--columns", "a"), 2, "has the columns a, b, c")
    refused(run(*call, model, "--drop", "a"), 2, "has the columns a, b, c")
    refused(run(*call, tmp_path / "none.rho"), 1, "none.rho: no such file")
    refused(run(*call, data / "rows.csv"), 1, "rows.csv: damaged, or no model file")
    run(*call, model, "--target", "side").fine()


def test_values_beyond_the_range_are_refused_until_it_is_given(data, tmp_path):
    first, output = tmp_path / "first.rho", tmp_path / "out.rho"
    wide = rows_table(60, seed=1).to_pandas()
    wide["price"] *= 10
    file = write_csv(pa.table(wide), tmp_path / "wide.csv")
    call = ("fit", data / "rows.csv", *ROWS, *ROLES["values"], *SMALL, "-o", first)
    run(*call).fine()
    like = ("fit", file, "--like", first, "-o", output)
    refused(run(*like), 1, file, "--bounds low,high")
    run(*call, "--bounds", "-200,200").fine()
    run(*like).fine()


USAGE = {
    "no target": (("--kind", "classes"), "needs a --target"),
    "a target of a density": (
        ("--kind", "density", "--target", "price"),
        "takes no --target",
    ),
    "a column twice": (("--target", "a", "--columns", "a,b"), "--columns a is also"),
    "nothing left": (("--drop", "a,b,c,side,price,grade"), "no columns are left"),
    "gamma": (("--gamma", "-1"), "--gamma must be"),
    "bounds": (("--bounds", "3"), "--bounds must be two numbers"),
    "bounds in reverse": (("--bounds", "3,1"), "lowest, then highest"),
    "bounds of classes": (
        ("--target", "side", "--bounds", "0,1"),
        "--bounds is for values",
    ),
    "no such map": (("--map", "wavelets"), "wavelets"),
    "no such option": (("--colour", "red"), "--colour"),
}


@pytest.mark.parametrize("name", USAGE)
def test_what_cannot_be_meant_is_wrong_usage(name, data, tmp_path):
    options, words = USAGE[name]
    output = tmp_path / "out.rho"
    refused(run("fit", data / "rows.csv", *options, "-o", output), 2, words)
    assert list(tmp_path.iterdir()) == []
