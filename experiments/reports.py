"""Pages of results: text, pictures and what became of the goals.

Each experiment has a function ``report(lines, album)`` that returns a :class:`Report`;
numbers in it come from the lines alone. Here the pages are put together, with an index
that lists every goal.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.figures.markdown import bold, table
from benchmarks.figures.style import Album
from benchmarks.records import Goal
from benchmarks.tables import number
from experiments.registry import EXPERIMENTS, FULL, part
from experiments.runs import ABSENT, SECONDS

INDEX = "README.md"
_PICTURES = "images"


@dataclass(frozen=True)
class Verdict:
    """A goal, and what was measured.

    Parameters
    ----------
    what : str
        Such as "Letters, DMKDC-SGD: accuracy".
    value : float or None
        None where it has not been measured.
    goal : Goal
    """

    what: str
    value: float | None
    goal: Goal

    @property
    def met(self):
        """Whether the goal is met; None where nothing was measured."""
        return None if self.value is None else self.goal.is_met(self.value)


@dataclass(frozen=True)
class Report:
    """What an experiment found: Markdown below the page's title, and its goals."""

    text: str
    verdicts: list[Verdict] = field(default_factory=list)


def measured(lines):
    """The lines that hold results, without marks and absences."""
    return [line for line in lines if line["metric"] not in (SECONDS, ABSENT)]


def absent(lines):
    """The lines of tasks that have no data."""
    return [line for line in lines if line["metric"] == ABSENT]


def absences(lines):
    """Why tasks have no data, each reason once."""
    return list(dict.fromkeys(line["details"]["why"] for line in absent(lines)))


def over_seeds(lines, key: Callable[[dict], tuple]) -> dict[tuple, np.ndarray]:
    """Values of the lines that share a key, as arrays over seeds."""
    groups: dict[tuple, list[float]] = {}
    for line in lines:
        groups.setdefault(key(line), []).append(line["value"])
    return {name: np.array(values, dtype=float) for name, values in groups.items()}


def mean_and_spread(values, digits=3):
    """Such as ".944 ± .002", for tables; a dash where there is nothing."""
    if values is None or not len(values):
        return "–"
    text = f"{np.mean(values):.{digits}f}"
    return text if len(values) == 1 else f"{text} ± {np.std(values, ddof=1):.{digits}f}"


# ---- pages ---------------------------------------------------------------------------


def write(name, lines, size, folder):
    """Write the page of one experiment with its pictures.

    Parameters
    ----------
    name : str
    lines : list of dict
    size : {"full", "quick", "tiny"}
    folder : Path

    Returns
    -------
    report : Report
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    report = part(name, "report").report(lines, Album(folder, _PICTURES))
    pieces = [
        f"# {part(name, 'config').TITLE}\n",
        _origin(name, lines, size),
        report.text.rstrip() + "\n",
        _goal_chapter(report.verdicts),
        _surroundings(lines),
    ]
    text = "\n".join(piece for piece in pieces if piece)
    (folder / f"{name}.md").write_text(text.rstrip() + "\n", encoding="utf-8")
    return report


def write_index(reports, lines, folder):
    """The first page: every experiment, every goal, and how long it all took.

    Parameters
    ----------
    reports : dict of str to Report
        By name; experiments that have no results are listed as such.
    lines : dict of str to list of dict
    folder : Path
    """
    rows = [_row(name, reports.get(name), lines.get(name, [])) for name in EXPERIMENTS]
    heads = ["experiment", "what it shows", "goals met", "tasks", "hours of one core"]
    verdicts = [each for report in reports.values() for each in report.verdicts]
    reading = Path(__file__).with_name("reading.md")
    pieces = [
        "# The paper, made again\n",
        "Made by `python -m experiments all` from `experiments/results/*.jsonl`: do "
        "not edit.\n",
        reading.read_text(encoding="utf-8") if reading.exists() else "",
        table(heads, rows, "llrrr"),
        _goal_chapter(verdicts),
    ]
    path = Path(folder) / INDEX
    path.write_text("\n".join(filter(None, pieces)).rstrip() + "\n", encoding="utf-8")
    return path


def _row(name, report, lines):
    config = part(name, "config")
    marks = [line for line in lines if line["metric"] == SECONDS]
    if report is None or not marks:
        return [name, config.TITLE, "not run", "0", "–"]
    known = [each for each in report.verdicts if each.met is not None]
    met = f"{sum(each.met for each in known)} of {len(report.verdicts)}"
    hours = sum(mark["value"] * mark["threads"] for mark in marks) / 3600
    link = f"[{name}]({name}.md)"
    goals = met if report.verdicts else "–"
    return [link, config.TITLE, goals, str(len(marks)), f"{hours:.2f}"]


def _origin(name, lines, size):
    flag = "" if size == FULL else f" --{size}"
    text = f"Made by `python -m experiments {name}{flag}`: do not edit. "
    if size != FULL:
        text += f"**This is the {size} form, which shows that it works, and no more.** "
    missing = [f"\n- {why}" for why in absences(lines)]
    return text + ("\n\nNot to be had:\n" + "".join(missing) if missing else "") + "\n"


def _goal_chapter(verdicts):
    if not verdicts:
        return ""
    ordered = sorted(verdicts, key=lambda each: bool(each.met))
    rows = [
        [
            each.what,
            "–" if each.value is None else _precise(each.value),
            _bounds(each.goal),
            {True: "yes", False: bold("NO"), None: "not measured"}[each.met],
        ]
        for each in ordered
    ]
    met = sum(bool(each.met) for each in verdicts)
    heading = f"## Goals\n\n{met} of {len(verdicts)} are met.\n\n"
    return heading + table(["goal", "measured", "asked for", "met"], rows, "lrrl")


def _precise(value):
    return f"{value:.4f}" if 0.01 <= abs(value) < 10 else number(value)


def _bounds(goal):
    low, high = goal.at_least, goal.at_most
    if low is None:
        return f"≤ {number(high)}"
    return f"≥ {number(low)}" if high is None else f"{number(low)} to {number(high)}"


def _surroundings(lines):
    marks = [line for line in lines if line["metric"] == SECONDS]
    if not marks:
        return ""
    known = ", ".join(f"{k} {v}" for k, v in marks[-1]["versions"].items() if v)
    machines = " and ".join(sorted({mark["machine"]["cpu"] for mark in marks}))
    days = sorted({line["date"][:10] for line in marks})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    minutes = sum(mark["value"] for mark in marks) / 60
    return (
        f"## Run\n\n{len(marks)} tasks, {minutes:.1f} minutes of work, {when}, on "
        f"{machines}; {known}.\n"
    )
