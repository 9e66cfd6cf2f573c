"""Results become lines, and lines become tables."""

import json

import pytest

from benchmarks import records, tables
from benchmarks.goals import __main__ as command
from benchmarks.goals import accuracy

RESULTS = [
    records.Result(
        "fit", "share", 0.9, records.Goal(at_least=0.8), threads=1, best=0.95
    ),
    records.Result(
        "predict", "ratio", 12.0, records.Goal(at_least=9, at_most=11), seed=3
    ),
    records.Result("rival", "error", 1.5e-8),
    records.Result("linear", "log error", float("inf"), records.Goal(at_most=1)),
]


@pytest.fixture
def lines(tmp_path):
    log = records.ResultLog(tmp_path / "new" / "speed.jsonl", "speed", "run-1")
    for result in RESULTS:
        log.append(result)
    return log.lines()


def test_lines_carry_what_was_measured_and_where(lines):
    line = lines[1]
    assert line["case"] == "predict"
    assert line["value"] == 12.0
    assert line["goal"] == {"at_least": 9, "at_most": 11}
    assert line["seed"] == 3
    assert line["threads"] >= 1
    assert line["machine"]["cores"] >= 1
    assert set(line["versions"]) >= {"python", "numpy", "scipy", "numba", "rhokit"}
    assert line["date"].endswith("+00:00")


def test_lines_are_strict_json_without_infinities(lines):
    assert lines[3]["value"] is None
    assert json.loads(json.dumps(lines[3], allow_nan=False)) == lines[3]


def test_verdicts_follow_the_goals(lines):
    assert [records.verdict(line) for line in lines] == [True, False, None, False]
    assert [line["case"] for line in records.missed(lines)] == ["predict", "linear"]
    assert tables.summary(lines) == "1 of 3 goals met"


def test_a_log_reads_only_its_own_run(tmp_path):
    path = tmp_path / "all.jsonl"
    first, second = (records.ResultLog(path, "speed", f"run-{i}") for i in range(2))
    first.append(RESULTS[0])
    second.append(RESULTS[1])
    assert len(list(records.read_lines(path))) == 2
    assert [line["case"] for line in second.lines()] == ["predict"]


def test_table_shows_goal_value_and_verdict(lines):
    rows = tables.table(lines).splitlines()
    for heading in ("case", "metric", "threads", "measured", "at best", "goal", "met"):
        assert heading in rows[0]
    assert rows[2].split() == ["fit", "share", "1", "0.9", "0.95", "≥", "0.8", "yes"]
    assert "9 to 11" in rows[3]
    assert rows[3].endswith("NO")
    assert rows[5].split()[-4:] == ["none", "≤", "1", "NO"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.123456, "0.123"), (1e-7, "1.0e-07"), (12345.6, "12,346")],
)
def test_numbers_are_short(value, text):
    assert tables.number(value) == text


def test_command_measures_writes_and_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(accuracy, "run", lambda repeats: RESULTS[:repeats])
    path = tmp_path / "out.jsonl"
    command.main(["accuracy", "--repeats", "2", "--output", str(path)])
    assert len(list(records.read_lines(path))) == 2
    assert "1 of 2 goals met" in capsys.readouterr().out


def test_command_refuses_no_repetitions(capsys):
    with pytest.raises(SystemExit):
        command.main(["--repeats", "0"])
    assert "at least 1" in capsys.readouterr().err
