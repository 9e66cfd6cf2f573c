"""The program itself: help, codes, JSON, and runs in processes of their own."""

import json
import os
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer

import rhokit
from rhokit.cli import commands as command_files
from rhokit.cli import failures, fit_request, main
from rhokit.cli.app import app
from rhokit.cli.console import byte_size, number, plain, short_list
from rhokit.cli.sources import digest
from rhokit.errors import DataError
from tests.cli.support import ROWS, SMALL, refused, rows_table, run

COMMANDS = [
    *("fit", "score", "predict", "anomalies", "merge"),
    *("compare", "detect", "history", "synthesize"),
    *("info", "report", "export", "demo"),
]


_INSTALLED = shutil.which("rhokit", path=str(Path(sys.executable).parent))
START = [_INSTALLED] if _INSTALLED else [sys.executable, "-m", "rhokit.cli"]


def program(*arguments):
    """Run the installed program, or the module where none is installed."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "80"}
    return subprocess.run(
        [*START, *arguments], capture_output=True, text=True, env=environment
    )


# ---- help ----


def test_help_lists_every_command():
    told = run("--help").fine()
    assert run().fine().out == told.out
    registered = [each.name for each in app.registered_commands]
    assert sorted(registered) == sorted(COMMANDS)
    for name in COMMANDS:
        assert f" {name} " in told.out
    assert "Exit codes: 0 fine" in told.out


def test_a_command_is_one_file_and_its_registration():
    registered = [each for panel in command_files.PANELS.values() for each in panel]
    files = [
        path.stem for path in Path(command_files.__file__).parent.glob("[a-z]*.py")
    ]
    assert sorted(each.__name__ for each in registered) == sorted(files)
    for each in registered:
        assert each.__module__ == f"{command_files.__name__}.{each.__name__}"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_shared_options(command):
    told = run(command, "--help").fine().out
    for option in ("--json", "--quiet", "--debug"):
        assert option in told


def test_the_version_is_the_packages():
    assert run("--version").fine().out == f"rhokit {rhokit.__version__}\n"


LATE = ["torch", "sklearn", "pandas", "pyarrow", "numpy", "rhokit.estimators", "scipy"]


def test_help_imports_nothing_large():
    code = f"""
import sys
from rhokit.cli import main
for arguments in (["--help"], ["fit", "--help"], ["--version"]):
    assert main(arguments) == 0
print([name for name in {LATE!r} if name in sys.modules], file=sys.stderr)
"""
    call = [sys.executable, "-c", code]
    told = subprocess.run(call, capture_output=True, text=True, check=True)
    assert told.stderr.strip() == "[]"
    assert told.stdout


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_packages_the_program_says_what_to_install(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "rhokit.cli.app")
    told = run("--help")
    assert (told.code, told.out) == (1, "")
    assert told.err == (
        f"rhokit: the command line needs {package}: pip install 'rhokit[cli]'\n"
    )


# ---- codes and errors ----


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), "nonsense"),
        (("fit",), "DATA"),
        (("fit", "x.csv"), "--output"),
        (("score", "m.rho", "x.csv", "--loud"), "--loud"),
        (("predict", "m.rho", "x.csv", "--coverage", "2"), "between 0 and 1"),
        (("anomalies", "m.rho", "x.csv", "-k", "0"), "-k"),
        (("fit", "-", "x.csv", "-o", "m.rho"), "standard input"),
    ],
)
def test_wrong_usage_has_code_2(arguments, words):
    refused(run(*arguments), 2, words)


def test_nothing_on_standard_input_is_said(tmp_path):
    refused(run("fit", "-", "-o", tmp_path / "m.rho"), 1, "nothing to read")


def test_tracebacks_are_for_those_who_ask(monkeypatch):
    assert "Traceback" not in run("info", "nowhere.rho").err
    told = run("info", "nowhere.rho", "--debug")
    assert told.code == 1
    assert "Traceback" in told.err
    assert told.err.splitlines()[-1] == "rhokit info: nowhere.rho: no such file"
    monkeypatch.setenv("RHOKIT_DEBUG", "1")
    assert "Traceback" in run("info", "nowhere.rho").err
    monkeypatch.setenv("RHOKIT_DEBUG", "0")
    assert "Traceback" not in run("info", "nowhere.rho").err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError("too much"), 1, "too much"),
        (ImportError("needs matplotlib: pip install 'rhokit[plot]'"), 1, "pip install"),
        (RuntimeError("a bug\nof ours"), 1, "unexpected RuntimeError: a bug of ours"),
    ],
)
def test_whatever_happens_is_one_line(error, code, words, data, tmp_path, monkeypatch):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(fit_request, "_fit", fail)
    call = ("fit", data / "rows.csv", *ROWS, "-o", tmp_path / "m.rho")
    refused(run(*call), code, words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("set dtype='float32'", "set --dtype float32"),
        ("memory_limit='1 MB' is little", "--memory-limit '1 MB' is little"),
        ("give bounds=(low, high) that", "give --bounds low,high that"),
        ("say so (categories=['x', 'y'])", "say so (--categories x,y)"),
        ("checkpoint='a.rho': old", "--checkpoint a.rho: old"),
        ("lower n_components (now 9)", "lower --components (now 9)"),
        ('take feature_map="grid"', "take --map grid"),
        ("of gamma=3", "of gamma=3"),
    ],
)
def test_parameters_of_the_library_are_options_here(said, shown):
    assert failures.one_line(ValueError(said)) == shown


def test_people_count_rows_from_one():
    error = DataError("is odd", file="x.csv", row=1233, column="a", value=3)
    assert failures.one_line(error) == "x.csv: row 1,234: column 'a': is odd"


def test_warnings_are_lines_and_said_once(capsys):
    with failures.warnings_as_lines("fit"):
        for _ in range(3):
            warnings.warn("twice\nover", stacklevel=1)
        warnings.warn("of other packages", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == "rhokit fit: warning: twice over\n"


def test_a_plan_that_widens_says_so_in_one_line(data, tmp_path):
    call = ("fit", data / "rows.csv", "--columns", "a", "-o", tmp_path / "a.rho")
    run(*call).fine()
    wide = rows_table(50, seed=2).select(["a"]).to_pandas() * 20
    wide.to_csv(tmp_path / "wide.csv", index=False)
    like = ("fit", tmp_path / "wide.csv", "--like", tmp_path / "a.rho")
    told = run(*like, "-o", tmp_path / "b.rho").fine()
    assert told.err.startswith("rhokit fit: warning: ")
    assert "outside the box" in told.err
    assert told.err.count("\n") == 1
    assert run(*like, "-o", tmp_path / "b.rho", "--quiet").fine().err == ""


# ---- JSON ----


def json_calls(data, models, folder):
    rows, new = data / "rows.csv", data / "new.csv"
    density, classes = models["density"], models["classes"]
    yield "fit", rows, *ROWS, *SMALL, "-o", folder / "m.rho"
    yield "score", density, new
    yield "score", density, new, "-o", folder / "s.csv"
    yield "predict", classes, new
    yield "predict", classes, new, "-o", folder / "p.csv"
    yield "anomalies", density, rows
    yield "merge", density, density, "-o", folder / "mm.rho"
    yield "compare", density, density
    yield "info", classes
    yield "report", density, new, "-o", folder / "r.html"
    yield "export", density, "-o", folder / "m.onnx"
    yield "export", classes, "--sql", "-o", folder / "m.sql"
    yield "synthesize", rows, *ROWS, "-n", 20, "-o", folder / "n.csv"


def test_every_command_speaks_json_and_can_be_quiet(data, models, tmp_path):
    for call in json_calls(data, models, tmp_path):
        told = run(*call, "--json").fine()
        assert isinstance(told.json, dict), call
        assert told.out.count("\n") == 1
        quiet = run(*call, "--quiet").fine()
        asks_for_rows = call[0] in ("score", "predict") and "-o" not in call
        assert bool(quiet.out) == asks_for_rows, call
        assert quiet.err == ""


def test_json_has_no_numbers_that_json_does_not_know():
    found = plain({"a": [np.float64("nan"), -np.inf, np.int64(3)], "b": np.arange(2)})
    assert json.dumps(found) == '{"a": [null, null, 3], "b": [0, 1]}'
    assert plain({1: Path("x")}) == {"1": "x"}


def test_words_for_people():
    assert number(1234567) == "1,234,567"
    assert number(True) == "True"
    assert number(None) == ""
    assert byte_size(999) == "999 bytes"
    assert byte_size(1_234_567) == "1.23 MB"
    assert short_list("abc") == "a, b, c"
    assert short_list("abcd", most=2) == "a, b and 2 more"


def test_digests_tell_large_files_apart(tmp_path):
    large = tmp_path / "large"
    large.write_bytes(bytes(65 * 2**20))
    before = digest(large)
    with open(large, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"x")
    assert digest(large) != before


# ---- the demo ----


def test_the_demo_is_the_librarys(monkeypatch, tmp_path):
    asked = []

    def pretend(arguments):
        asked.append(arguments)
        tmp_path.joinpath("picture.png").touch()
        print("chapter one")

    monkeypatch.setattr("rhokit.demo.__main__.main", pretend)
    assert "chapter one" in run("demo", "-o", tmp_path).fine().out
    told = run("demo", "-o", tmp_path, "--json").fine()
    assert told.json == {"output": str(tmp_path), "files": ["picture.png"]}
    assert asked == [["--output", str(tmp_path)]] * 2
    refused(run("demo", "-o", tmp_path / "picture.png"), 1, "is a file")


# ---- in processes of their own ----


def test_a_newcomers_way_from_a_table_to_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = load_breast_cancer(as_frame=True).frame.iloc[:, [0, 1, 4, 9, 30]]
    frame["target"] = np.where(frame["target"], "benign", "malignant")
    for name, part in {"1": frame[:300], "2": frame[300:], "all": frame}.items():
        part.to_csv(f"{name}.csv", index=False)
    told = program("fit", "1.csv", "--target", "target", *SMALL, "-o", "1.rho")
    assert (told.returncode, told.stderr) == (0, "")
    assert "classes (guessed: column 'target' holds text)" in told.stdout
    run("fit", "2.csv", "--like", "1.rho", "-o", "2.rho").fine()
    run("fit", "all.csv", "--like", "1.rho", "-o", "all.rho").fine()
    run("merge", "1.rho", "2.rho", "-o", "both.rho").fine()
    both, whole = (rhokit.load(f"{name}.rho") for name in ("both", "all"))
    assert_allclose(both.state_.total, whole.state_.total, atol=1e-12)
    told = run("predict", "both.rho", "2.csv", "-o", "p.csv", "--json").fine().json
    assert told["accuracy"] > 0.85
    run("score", "both.rho", "2.csv", "-o", "scores.parquet").fine()
    rows = frame.iloc[300:, :-1]
    logs = pd.read_parquet("scores.parquet")["log_density"]
    assert_allclose(logs, both.score_samples(rows), rtol=1e-12)
    run("report", "both.rho", "all.csv", "-o", "page.html").fine()
    assert Path("page.html").stat().st_size > 10_000
    run("export", "both.rho", "-o", "both.onnx").fine()
    session = onnxruntime.InferenceSession("both.onnx")
    single = rows.astype("float32")
    (probabilities,) = session.run(["probabilities"], {"X": single.to_numpy()})
    expected = both.predict_proba(single.astype(float))
    assert_allclose(probabilities, expected, rtol=1e-5, atol=1e-7)
    # In a fresh process, with the library alone.
    code = (
        "import pandas, rhokit\n"
        "model, rows = rhokit.load('both.rho'), pandas.read_csv('2.csv')\n"
        "print(repr(float(model.score_samples(rows.iloc[:, :-1]).sum())))"
    )
    call = [sys.executable, "-c", code]
    again = subprocess.run(call, capture_output=True, text=True)
    assert_allclose(float(again.stdout), logs.sum(), rtol=1e-12)


def test_a_pipe_that_is_closed_early_is_no_catastrophe(data, models):
    call = [*START, "score", models["density"], "-"]
    with (
        open(data / "rows.csv", "rb") as rows,
        subprocess.Popen(
            call, stdin=rows, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child,
    ):
        child.stdout.close()
        assert child.stderr.read() == b""


def test_a_signal_to_end_is_obeyed_and_restored():
    before = signal.getsignal(signal.SIGTERM)
    run("--version").fine()
    assert signal.getsignal(signal.SIGTERM) is before


def test_main_takes_the_arguments_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rhokit", "--version"])
    assert main() == 0
    assert capsys.readouterr().out == f"rhokit {rhokit.__version__}\n"
