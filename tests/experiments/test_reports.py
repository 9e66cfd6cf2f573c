"""Pages of results: what they say follows from the lines alone."""

import numpy as np
import pytest

from benchmarks.records import Goal
from experiments.__main__ import main
from experiments.registry import EXPERIMENTS, SIZES, part
from experiments.reports import (
    Report,
    Verdict,
    mean_and_spread,
    over_seeds,
    write_index,
)
from experiments.runs import SECONDS


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("size", SIZES)
def test_tasks_have_names_of_their_own(name, size):
    tasks = part(name, "run").tasks(size)
    assert tasks
    assert len({task.name for task in tasks}) == len(tasks)
    assert part(name, "config").TITLE


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_report_of_nothing_is_a_page(name, tmp_path, capsys):
    folders = ["--results", str(tmp_path), "--pages", str(tmp_path)]
    assert main([name, "--report-only", "--tiny", *folders]) == 0
    assert (tmp_path / f"{name}.md").read_text().startswith("# ")
    assert "not run" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize(
    ("value", "goal", "met"),
    [
        (0.95, Goal(at_least=0.944), True),
        (0.94, Goal(at_least=0.944), False),
        (None, Goal(at_least=0.944), None),
        (0.5, Goal(at_most=0.4), False),
    ],
)
def test_verdicts(value, goal, met):
    assert Verdict("something", value, goal).met is met


def test_the_index_counts_goals_and_hours(tmp_path):
    verdicts = [
        Verdict("this", 0.95, Goal(at_least=0.9)),
        Verdict("that", 0.85, Goal(at_least=0.9)),
        Verdict("not yet", None, Goal(at_least=0.9)),
    ]
    mark = {"metric": SECONDS, "value": 1800.0, "threads": 2}
    lines = {"lenet": [mark]}
    path = write_index({"lenet": Report("text", verdicts)}, lines, tmp_path)
    text = path.read_text()
    assert "| [lenet](lenet.md) |" in text
    assert "| 1 of 3 | 1 | 1.00 |" in text
    assert text.index("**NO**") < text.index("| yes |")
    assert "not measured" in text


def test_values_are_gathered_over_seeds():
    lines = [
        {"case": case, "seed": seed, "value": value}
        for case, seed, value in (("a", 0, 1.0), ("b", 0, 5.0), ("a", 1, 2.0))
    ]
    found = over_seeds(lines, lambda line: (line["case"],))
    np.testing.assert_array_equal(found["a",], [1, 2])
    assert mean_and_spread(found["a",]) == "1.500 ± 0.707"
    assert mean_and_spread(found["b",], 1) == "5.0"
    assert mean_and_spread(None) == "–"


def test_wrong_words_on_the_command_line(capsys):
    with pytest.raises(SystemExit):
        main(["lenets"])
    assert "choose from" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["lenet", "--jobs", "-1"])
    assert "whole number from 0 on, got -1" in capsys.readouterr().err
