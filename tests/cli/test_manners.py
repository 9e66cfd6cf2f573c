"""The same manners in all commands: exit codes, --json, --quiet, --seed, times."""

import io
import json

import pytest

from rhokit import progress
from rhokit.cli.commands import PANELS
from rhokit.progress import ProgressBar
from tests.cli.support import ROWS, SMALL, run

COMMANDS = [function.__name__ for panel in PANELS.values() for function in panel]
# Each as it goes well; "demo" would run for minutes.
CALLS = {
    "fit": lambda m, data, out: ("fit", data, *ROWS, *SMALL, "-o", out / "m.rho"),
    "merge": lambda m, data, out: (
        *("merge", m["density"], m["density"], "-o", out / "m.rho"),
    ),
    "detect": lambda m, data, out: ("detect", data, "--columns", "a,b,c", "-k", 2),
    "score": lambda m, data, out: ("score", m["density"], data),
    "predict": lambda m, data, out: ("predict", m["classes"], data),
    "anomalies": lambda m, data, out: ("anomalies", m["density"], data, "-k", 2),
    "compare": lambda m, data, out: ("compare", m["density"], data),
    "synthesize": lambda m, data, out: (
        *("synthesize", m["density"], "-n", 20, "-o", out / "s.csv"),
    ),
    "history": lambda m, data, out: ("history", data),
    "info": lambda m, data, out: ("info", m["density"]),
    "report": lambda m, data, out: ("report", m["density"], data, "-o", out / "r.html"),
    "export": lambda m, data, out: ("export", m["density"], "-o", out / "m.onnx"),
}
# Files that are not there, in place of data or of a model.
NOWHERE = {
    "fit": lambda m, out: ("fit", out / "no.csv", "-o", out / "m.rho"),
    "merge": lambda m, out: ("merge", out / "a", out / "b", "-o", out / "m.rho"),
    "detect": lambda m, out: ("detect", out / "no.csv"),
    "score": lambda m, out: ("score", m["density"], out / "no.csv"),
    "predict": lambda m, out: ("predict", m["classes"], out / "no.csv"),
    "anomalies": lambda m, out: ("anomalies", m["density"], out / "no.csv"),
    "compare": lambda m, out: ("compare", m["density"], out / "no.csv"),
    "synthesize": lambda m, out: (
        *("synthesize", out / "no.rho", "-o", out / "s.csv"),
    ),
    "history": lambda m, out: ("history", out / "no.csv"),
    "info": lambda m, out: ("info", out / "no.rho"),
    "report": lambda m, out: (
        "report",
        out / "no.rho",
        out / "x",
        "-o",
        out / "r.html",
    ),
    "export": lambda m, out: ("export", out / "no.rho", "-o", out / "m.onnx"),
}
GIVES_ROWS = {"score", "predict"}  # which go to a pipe though nothing else is said


@pytest.fixture
def call(models, data, tmp_path):
    return lambda name: CALLS[name](models, data / "rows.csv", tmp_path)


def test_every_command_is_here():
    assert {*CALLS, "demo"} == {*COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_options_that_all_have(name):
    page = run(name, "--help").fine().out
    for option in ("--json", "--quiet", "--seed", "--debug", "--help"):
        assert option in page


@pytest.mark.parametrize("name", CALLS)
def test_json_is_one_object_and_nothing_else(name, call):
    result = run(*call(name), "--json")
    assert result.code in (0, 3)
    assert isinstance(json.loads(result.out), dict)
    assert result.out.count("\n") == 1


@pytest.mark.parametrize("name", CALLS)
def test_quiet_says_nothing(name, call):
    result = run(*call(name), "--quiet")
    assert result.code in (0, 3)
    assert result.err == ""
    assert bool(result.out) == (name in GIVES_ROWS)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_seed_gives_the_same(name, call):
    first, again = (run(*call(name), "--json", "--seed", 7) for _ in range(2))
    told = [{k: v for k, v in r.json.items() if k != "seconds"} for r in (first, again)]
    assert told[0] == told[1]


@pytest.mark.parametrize("name", CALLS)
def test_the_code_tells_what_was_wrong(name, models, tmp_path):
    wrong = run(*NOWHERE[name](models, tmp_path))
    assert wrong.code == 1
    assert wrong.err.startswith(f"rhokit {name}: ")
    assert wrong.err.count("\n") == 1
    assert run(name, "--no-such-option").code == 2
    assert run(name, "--seed", "red").code == 2


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("fit", ["Looking at the columns", "Fitting DMKDE"]),
        ("score", ["Scoring"]),
        ("predict", ["Predicting"]),
        ("anomalies", ["Looking for anomalies"]),
        ("compare", ["Reading"]),
        ("report", ["Reading"]),
    ],
)
def test_every_pass_has_a_bar(name, labels, call, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setattr(progress, "_REFRESH", -1.0)
    screen, start = _Terminal(), ProgressBar.__init__

    def on_screen(self, label, stream=None):
        start(self, label, screen)

    monkeypatch.setattr(ProgressBar, "__init__", on_screen)
    arguments = [each for each in call(name) if each not in ROWS]
    assert run(*arguments).code in (0, 3)
    for label in labels:
        assert label in screen.getvalue()
