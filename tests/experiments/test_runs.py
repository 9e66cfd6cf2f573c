"""Runs of experiments: kept line by line, taken up again, never done twice."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments import __main__ as command
from experiments.runs import ABSENT, SECONDS, Notebook, Task, perform, run
from tests.experiments.work import failing, process, squares, without_data


def task(name, work=squares, values=(1, 2)):
    return Task(name, work, {"values": list(values)})


@pytest.fixture
def notebook(tmp_path):
    return Notebook(tmp_path / "deep" / "lines.jsonl")


def results(lines):
    return [line["value"] for line in lines if line["metric"] == "value"]


def test_lines_come_in_the_order_of_the_tasks(notebook):
    tasks = [task("first"), task("second", values=(3,))]
    assert run("numbers", tasks, notebook, jobs=2) == {}
    assert results(notebook.lines(tasks)) == [1, 4, 9]
    assert results(notebook.lines(tasks[::-1])) == [9, 1, 4]
    line = notebook.lines(tasks)[0]
    assert line["experiment"] == "numbers"
    assert line["settings"] == {"values": [1, 2]}
    assert {"versions", "machine", "date", "seed"} <= line.keys()


@pytest.mark.parametrize(("jobs", "is_here"), [(0, True), (1, False)])
def test_tasks_have_processes_of_their_own_but_without_jobs(
    notebook, monkeypatch, jobs, is_here
):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    tasks = [task("good", process), task("bad", failing)]
    assert run("numbers", tasks, notebook, jobs) == {
        "bad": "ZeroDivisionError: no luck"
    }
    (found,) = results(notebook.lines(tasks))
    assert (found == os.getpid()) == is_here
    assert os.environ["OMP_NUM_THREADS"] == "7"  # as it was
    assert "NUMBA_NUM_THREADS" not in os.environ


def test_what_the_lines_of_a_task_share_is_written_once(notebook):
    run("numbers", [task("first", values=range(9))], notebook, jobs=0)
    text = notebook.path.read_text()
    assert [text.count(f'"{name}"') for name in ("versions", "settings")] == [1, 1]


def test_what_ended_is_not_done_again(notebook):
    tasks = [task("first"), task("second")]
    run("numbers", tasks[:1], notebook, jobs=0)
    before = notebook.path.read_text()
    run("numbers", tasks, notebook, jobs=0)
    after = notebook.path.read_text()
    assert after.startswith(before)
    assert after.count(SECONDS) == 2


def test_other_settings_are_another_task(notebook):
    run("numbers", [task("first")], notebook, jobs=0)
    changed = [task("first", values=(5,))]
    assert notebook.lines(changed) == []
    run("numbers", changed, notebook, jobs=0)
    assert results(notebook.lines(changed)) == [25]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 0.99])
def test_a_run_that_was_killed_while_writing_goes_on(notebook, share):
    tasks = [task("first"), task("second", values=(3,))]
    notebook.add(perform(tasks[0]))
    whole = notebook.path.read_text()
    notebook.add(perform(tasks[1]))
    written = notebook.path.read_text().removeprefix(whole)
    notebook.path.write_text(whole + written[: int(share * len(written))])
    assert notebook.ended() == {tasks[0].key}
    assert results(notebook.lines(tasks)) == [1, 4]
    run("numbers", tasks, notebook, jobs=0)
    assert results(notebook.lines(tasks)) == [1, 4, 9]
    for text in notebook.path.read_text().splitlines():
        json.loads(text)


def test_an_error_is_told_and_the_rest_runs(notebook, capfd):
    tasks = [task("bad", failing), task("good")]
    failures = run("numbers", tasks, notebook, jobs=0)
    assert failures == {"bad": "ZeroDivisionError: no luck"}
    assert results(notebook.lines(tasks)) == [1, 4]
    assert "no luck" in capfd.readouterr().err


def test_missing_data_leave_a_line_until_they_are_there(notebook, monkeypatch):
    tasks = [task("moon", without_data), task("good")]
    assert run("numbers", tasks, notebook, jobs=0) == {}
    (absent,) = [line for line in notebook.lines(tasks) if line["metric"] == ABSENT]
    assert absent["details"] == {"why": "moon: nobody brought any"}
    assert tasks[0].key not in notebook.ended()
    before = notebook.path.read_text()
    run("numbers", tasks, notebook, jobs=0)  # tries again, says nothing new
    assert notebook.path.read_text() == before
    notebook.add(perform(task("moon")))  # same name and settings, now with data
    assert [line["metric"] for line in notebook.lines(tasks[:1])][-1] == SECONDS
    assert results(notebook.lines(tasks)) == [1, 4, 1, 4]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_processes_end_when_the_run_is_killed(tmp_path):
    place = tmp_path / "process"
    code = (
        "from experiments.runs import Notebook, Task, run\n"
        "from tests.experiments.work import waiting\n"
        "if __name__ == '__main__':\n"
        f"    task = Task('long', waiting, {{'path': {str(place)!r}}})\n"
        f"    run('numbers', [task], Notebook({str(tmp_path / 'lines')!r}), 1)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    here = Path(__file__).parents[2]
    paths = [str(here), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    parent = subprocess.Popen([sys.executable, str(script)], env=environment)
    try:
        wait_for(lambda: place.exists() and place.read_text())
    finally:
        parent.kill()
        parent.wait()
    worker = Path("/proc") / place.read_text()
    wait_for(lambda: not worker.exists())


def wait_for(condition, seconds=120):
    for _ in range(10 * seconds):
        if condition():
            return
        time.sleep(0.1)
    raise TimeoutError


# ---- stages --------------------------------------------------------------------------


def one_less(size, lines):
    """For every number that has been squared, the one below it, down to zero."""
    numbers = [round(value**0.5) for value in results(lines)]
    return [task(f"{n - 1}", values=(n - 1,)) for n in numbers if n]


def test_stages_go_on_as_long_as_lines_lead_to_tasks(notebook, monkeypatch):
    module = SimpleNamespace(tasks=lambda size: [task("2", values=(2,))])
    monkeypatch.setattr(command, "part", lambda name, which: module)
    assert command.run_stages("numbers", "tiny", notebook, jobs=0) == {}
    assert results(command.lines_of("numbers", "tiny", notebook)) == [4]
    module.then = one_less
    assert command.run_stages("numbers", "tiny", notebook, jobs=0) == {}
    assert results(command.lines_of("numbers", "tiny", notebook)) == [4, 1, 0]
