"""Runs that stop and go on, and the command that does them."""

import json

import pytest

from benchmarks import __main__ as command
from benchmarks.records import Result, read_lines
from benchmarks.runs import SECONDS, Run, Task


def make_tasks(log, fails=()):
    def results(name):
        log.append(name)
        yield Result(name, "value", 1.0)
        if name in fails:
            raise KeyboardInterrupt
        yield Result(name, "value", 2.0, details={"deep": [float("nan")]})

    return [Task(name, lambda name=name: results(name)) for name in ("a", "b", "c")]


def do_all(run, tasks):
    seen = []
    for task in tasks:
        run.do(task, seen.append)
    return seen


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    log = []
    run = Run(tmp_path, "section", quick=True)
    with pytest.raises(KeyboardInterrupt):
        do_all(run, make_tasks(log, fails={"b"}))
    assert not run.path.exists()  # nothing takes the place of an older run's lines
    run = Run(tmp_path, "section", quick=True)
    assert list(run.ended()) == ["a"]
    seen = do_all(run, make_tasks(log))
    assert log == ["a", "b", "b", "c"]
    assert [line["task"] for line in seen] == ["b", "b", "c", "c"]
    lines = run.finish()
    values = [(line["task"], line["value"]) for line in lines if not is_mark(line)]
    assert values == [(name, value) for name in "abc" for value in (1.0, 2.0)]
    assert lines[1]["details"] == {"deep": [None]}
    assert sum(map(is_mark, lines)) == 3
    assert not list(tmp_path.glob("*.part.*"))
    assert all(line["versions"]["numpy"] for line in lines)


def is_mark(line):
    return line["metric"] == SECONDS


def test_a_run_with_other_settings_or_half_a_line_begins_anew(tmp_path):
    part = tmp_path / "section.part.jsonl"

    def begin(**options):
        do_all(Run(tmp_path, "section", quick=True), make_tasks([])[:1])
        assert part.exists()
        return Run(tmp_path, "section", **{"quick": True} | options)

    assert begin().ended()
    assert not begin(quick=False).ended()
    assert not begin(fresh=True).ended()
    do_all(Run(tmp_path, "section", quick=True), make_tasks([])[:1])
    with part.open("a") as file:
        file.write('{"half": ')
    assert not Run(tmp_path, "section", quick=True).ended()
    line = dict.fromkeys(("section", "quick", "metric"), "x")
    line |= {"versions": {"numpy": "0.1"}, "machine": {"cpu": "z80", "cores": 1}}
    part.write_text(json.dumps(line) + "\n")
    assert not Run(tmp_path, "section", quick=True).ended()


def test_an_unknown_section_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["no-such-section"])
    assert "density" in capsys.readouterr().err


def test_the_command_measures_shows_and_writes(tmp_path, monkeypatch, capsys):
    log = []

    class Section:
        tasks = staticmethod(lambda quick: make_tasks(log))
        table = staticmethod(lambda lines: f"{len(lines)} lines")

    pages = []
    monkeypatch.setattr(command, "import_module", lambda name: Section)
    monkeypatch.setattr(command, "write_page", lambda *where: pages.append(where))
    command.main(["maps", "--quick", "--results", str(tmp_path), "--page", "there"])
    shown = capsys.readouterr()
    assert "9 lines" in shown.out
    assert "a: value 1" in shown.err
    assert len(list(read_lines(tmp_path / "maps.jsonl"))) == 9
    assert [str(folder) for _, folder in pages] == ["there"]
