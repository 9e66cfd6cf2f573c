"""Everything that can be wrong: one line that names the file, nothing written."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rhokit
from tests.cli.support import ROWS, SMALL, refused, rows_table, run, write_csv

GARBAGE = np.random.default_rng(0).bytes(3000)


# ---- data that are wrong ----

# From the arguments of a command to its call, with data and an output.
WITH_DATA = {
    "fit": lambda models, data, out: ("fit", data, *ROWS, *SMALL, "-o", out / "m.rho"),
    "fit --like": lambda models, data, out: (
        *("fit", data, "--like", models["density"], "-o", out / "m.rho"),
    ),
    "score": lambda models, data, out: (
        *("score", models["density"], data, "-o", out / "s.parquet"),
    ),
    "predict": lambda models, data, out: (
        *("predict", models["classes"], data, "-o", out / "p.csv"),
    ),
    "anomalies": lambda models, data, out: (
        *("anomalies", models["values"], data, "-o", out / "a.csv"),
    ),
    "report": lambda models, data, out: (
        *("report", models["density"], data, "-o", out / "r.html"),
    ),
}


def nothing(folder):
    return folder / "nowhere.csv", ["nowhere.csv: no such file"]


def garbage(folder):
    (folder / "garbage.csv").write_bytes(GARBAGE)
    return folder / "garbage.csv", ["garbage.csv: "]


def garbage_for_parquet(folder):
    (folder / "garbage.parquet").write_bytes(GARBAGE)
    return folder / "garbage.parquet", ["garbage.parquet", "Parquet"]


def cut_off(folder):
    pq.write_table(rows_table(), folder / "cut.parquet")
    whole = (folder / "cut.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    return folder / "cut.parquet", ["cut.parquet"]


def empty(folder):
    (folder / "empty.csv").touch()
    return folder / "empty.csv", ["empty.csv: the file is empty"]


def names_alone(folder):
    (folder / "names.csv").write_text("a,b,c,side,price,grade\n")
    return folder / "names.csv", ["names.csv: ", "no rows"]


def no_rows(folder):
    pq.write_table(rows_table().slice(0, 0), folder / "none.parquet")
    return folder / "none.parquet", ["none.parquet: ", "no rows"]


def folder_without_tables(folder):
    (folder / "texts").mkdir()
    (folder / "texts" / "read.me").write_text("nothing")
    return folder / "texts", ["texts: holds no files that end in"]


def strange_ending(folder):
    (folder / "rows.xlsx").write_bytes(GARBAGE)
    return folder / "rows.xlsx", ["rows.xlsx: no readable Excel file"]


def other_columns(folder):
    file = write_csv(rows_table().drop_columns(["b"]), folder / "other.csv")
    return file, ["other.csv: there is no column 'b', only a, c, side"]


def text_among_numbers(folder):
    file = write_csv(rows_table(), folder / "text.csv")
    lines = file.read_text().splitlines()
    lines[150] = "1.5,much,3,left,1,1"
    file.write_text("\n".join(lines))
    return file, ["text.csv: row 150: column 'b': ", "'much'"]


def text_for_numbers(folder):
    table = rows_table().set_column(1, "b", pa.array(["x"] * 200))
    pq.write_table(table, folder / "text.parquet")
    return folder / "text.parquet", ["text.parquet: ", "'b'"]


def lines_of_other_lengths(folder):
    file = write_csv(rows_table(), folder / "torn.csv")
    file.write_text(file.read_text() + "1,2\n")
    return file, ["torn.csv: ", "expected 6 columns, got 2"]


def a_gap(folder):
    file = write_csv(rows_table(), folder / "gap.csv")
    lines = file.read_text().splitlines()
    lines[8] = '1.5,,3,"left",1,1'
    file.write_text("\n".join(lines))
    return file, ["gap.csv: row 8: column 'b': has no value (--missing "]


def infinity(folder):
    table = rows_table()
    values = table.column("b").to_numpy().copy()
    values[5] = np.inf
    pq.write_table(table.set_column(1, "b", pa.array(values)), folder / "far.parquet")
    return folder / "far.parquet", ["far.parquet: row 6: column 'b': ", "infinity"]


WRONG_DATA = [
    nothing,
    garbage,
    garbage_for_parquet,
    cut_off,
    empty,
    names_alone,
    no_rows,
    folder_without_tables,
    strange_ending,
    other_columns,
    text_among_numbers,
    text_for_numbers,
    lines_of_other_lengths,
    a_gap,
    infinity,
]
# What is no mistake: text is a category to learn, and a page leaves rows with gaps out.
NO_MISTAKE = {("fit", "text_for_numbers"), ("report", "a_gap")}


def pairs(mistakes, commands, *, always=()):
    """Every mistake with some commands, and with two of the others in turn.

    All commands read tables, and models, through the same functions.
    """
    others = [name for name in commands if name not in always]
    for index, spoil in enumerate(mistakes):
        turn = [others[(2 * index + step) % len(others)] for step in (0, 1)]
        for command in (*always, *turn):
            yield pytest.param(command, spoil, id=f"{command}-{spoil.__name__}")


@pytest.mark.parametrize(
    ("command", "spoil"), [*pairs(WRONG_DATA, WITH_DATA, always=("fit", "score"))]
)
def test_wrong_data(command, spoil, models, tmp_path):
    file, words = spoil(tmp_path)
    output = tmp_path / "output"
    output.mkdir()
    result = run(*WITH_DATA[command](models, file, output))
    if (command, spoil.__name__) in NO_MISTAKE:
        result.fine()
        return
    refused(result, 1, f"rhokit {command.split()[0]}: ", *words)
    assert list(output.iterdir()) == []


@pytest.fixture
def public(data, models):
    """A folder that everybody may enter, with rows and models."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in [data / "rows.csv", *models.values()]:
            shutil.copy(path, folder)
            (folder / path.name).chmod(0o644)
        (folder / "output").mkdir()
        (folder / "output").chmod(0o777)
        folder.chmod(0o755)
        yield folder


@pytest.mark.parametrize("command", WITH_DATA)
@pytest.mark.parametrize("secret", ["rows.csv", "model"])
def test_files_that_may_not_be_read(command, secret, public, models):
    if (command, secret) == ("fit", "model"):
        return  # it takes none
    own = {kind: public / path.name for kind, path in models.items()}
    call = WITH_DATA[command](own, public / "rows.csv", public / "output")
    run(*call).fine()  # imports everything
    call[-1].unlink()
    for path in [public / "rows.csv"] if secret == "rows.csv" else own.values():
        path.chmod(0)
    with nobody():
        result = run(*call)
    name = "rows.csv" if secret == "rows.csv" else ".rho"
    refused(result, 1, f"{name}: permission denied")
    assert list((public / "output").iterdir()) == []


@contextmanager
def nobody():
    """Be a user without rights, if this is one who may read everything."""
    own = os.geteuid()
    if own == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(own)


# ---- models that are wrong ----

WITH_MODEL = {
    "score": lambda bad, good, data, out: ("score", bad, data, "-o", out / "s.csv"),
    "predict": lambda bad, good, data, out: ("predict", bad, data, "-o", out / "p.csv"),
    "anomalies": lambda bad, good, data, out: (
        *("anomalies", bad, data, "-o", out / "a.csv"),
    ),
    "report": lambda bad, good, data, out: ("report", bad, data, "-o", out / "r.html"),
    "info": lambda bad, good, data, out: ("info", bad),
    "export": lambda bad, good, data, out: ("export", bad, "-o", out / "m.onnx"),
    "synthesize": lambda bad, good, data, out: ("synthesize", bad, "-o", out / "n.csv"),
    "merge": lambda bad, good, data, out: ("merge", good, bad, "-o", out / "m.rho"),
    "compare": lambda bad, good, data, out: ("compare", good, bad),
    "fit --like": lambda bad, good, data, out: (
        *("fit", data, "--like", bad, "-o", out / "m.rho"),
    ),
}


def no_file(folder):
    return "no such file"


def a_folder(folder):
    (folder / "bad.rho").mkdir()
    return "is a folder"


def no_model(folder):
    (folder / "bad.rho").write_bytes(GARBAGE)
    return "no model file"


def an_empty_file(folder):
    (folder / "bad.rho").touch()
    return "no model file"


def half_a_model(folder):
    model = rhokit.DMKDE(n_components=8).fit(np.random.default_rng(0).random((50, 3)))
    (folder / "bad.rho").write_bytes(rhokit.dumps(model)[:-100])
    return "no model file"


def a_state(folder):
    rows = np.random.default_rng(0).random((50, 4))
    model = rhokit.DMKDE(feature_map="landmarks", n_components=8).fit(rows)
    rhokit.save(model.state_, folder / "bad.rho")
    return "holds a DensityMatrix, which is no model"


def a_state_of_cells(folder):
    model = rhokit.DMKDE(random_state=0).fit(np.random.default_rng(0).random((50, 4)))
    rhokit.save(model.state_, folder / "bad.rho")
    return "holds a CellSums, which is no model"


def a_map(folder):
    rhokit.save(rhokit.LandmarkFeatures(), folder / "bad.rho")
    return "holds a LandmarkFeatures, which is no model"


def a_model_without_rows(folder):
    rhokit.save(rhokit.DMKDE(), folder / "bad.rho")
    return "this DMKDE holds no rows"


WRONG_MODELS = [
    no_file,
    a_folder,
    no_model,
    an_empty_file,
    half_a_model,
    a_state,
    a_state_of_cells,
    a_map,
    a_model_without_rows,
]


@pytest.mark.parametrize(
    ("command", "spoil"), [*pairs(WRONG_MODELS, WITH_MODEL, always=("info",))]
)
def test_wrong_models(command, spoil, data, models, tmp_path):
    words = spoil(tmp_path)
    output = tmp_path / "output"
    output.mkdir()
    bad, good = tmp_path / "bad.rho", models["density"]
    result = run(*WITH_MODEL[command](bad, good, data / "new.csv", output))
    if (command, spoil) == ("info", a_model_without_rows):
        result.fine()
        return
    refused(result, 1, f"rhokit {command.split()[0]}: {bad}: ", words)
    assert list(output.iterdir()) == []


def test_models_of_another_kind(data, models, tmp_path):
    density, classes = models["density"], models["classes"]
    call = ("predict", density, data / "new.csv", "-o", tmp_path / "p.csv")
    refused(run(*call), 1, f"{density}: was fitted without a target", "score")
    call = ("merge", density, classes, "-o", tmp_path / "m.rho")
    refused(run(*call), 1, f"{classes}: is a DMKDClassifier, but {density} is a DMKDE")
    assert list(tmp_path.iterdir()) == []


def test_models_of_another_plan(data, models, tmp_path):
    other = tmp_path / "other.rho"
    run("fit", data / "new.csv", *ROWS, *SMALL, "-o", other).fine()
    wanted = [f"{other}: differs", f"--like {models['density']}"]
    call = ("merge", models["density"], other, "-o", tmp_path / "m.rho")
    refused(run(*call), 1, *wanted)
    columns = tmp_path / "columns.rho"
    run("fit", data / "new.csv", "--columns", "a,b", *SMALL, "-o", columns).fine()
    target = tmp_path / "target.rho"
    call = ("fit", data / "new.csv", *ROWS, *SMALL, "--target", "grade", "-o", target)
    run(*call).fine()
    assert {path.name for path in tmp_path.iterdir()} == {
        "other.rho",
        "columns.rho",
        "target.rho",
    }
