"""A run of a section: tasks in a row, kept as they end, taken up again after a stop.

The lines of a run that is under way are in ``<section>.part.jsonl``. Only tasks that
ended are there, so that the next run does the others; with the last one, the file takes
the place of ``<section>.jsonl``.

A ledger is for sections that take days: its lines go to ``<section>.jsonl`` at once and
stay, whatever else has changed, until those of a task are measured afresh.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.records import Result, append_lines, as_line, read_lines, surroundings

SECONDS = "seconds of the task"
_SAME = "section", "quick", "versions", "cpu", "cores"


@dataclass(frozen=True)
class Task:
    """A piece of a section that is done whole or not at all.

    Parameters
    ----------
    name : str
        No other task of the section has it.
    run : callable
        Returns the results, one after the other.
    """

    name: str
    run: Callable[[], Iterable[Result]]


class Run:
    """Lines of one run of a section.

    Parameters
    ----------
    folder : Path
    section : str
    quick : bool
        Whether the tasks are small ones.
    fresh : bool
        Begin anew, whatever an earlier run has left.
    """

    def __init__(self, folder, section, *, quick, fresh=False):
        self.path = Path(folder) / f"{section}.jsonl"
        self._part = self.path.with_suffix(".part.jsonl")
        self._common = {"section": section, "quick": quick, **surroundings()}
        if fresh or not self._continues():
            self._part.unlink(missing_ok=True)

    def lines(self):
        """Lines of the tasks that ended."""
        return list(read_lines(self._part)) if self._part.exists() else []

    def ended(self):
        """Names of the tasks that ended, with their seconds."""
        marks = (line for line in self.lines() if line["metric"] == SECONDS)
        return {line["task"]: line["value"] for line in marks}

    def do(self, task, progress):
        """Run a task and keep its lines, unless it has been done.

        Parameters
        ----------
        task : Task
        progress : callable
            Called with each line, as it comes.
        """
        if task.name in self.ended():
            return
        start, lines = time.perf_counter(), []
        for result in task.run():
            lines.append(self._line(task, result))
            progress(lines[-1])
        seconds = time.perf_counter() - start
        mark = self._line(task, Result(task.name, SECONDS, seconds))
        append_lines(self._part, [*lines, mark])

    def finish(self):
        """Put the lines in the place of the last run's, and return them."""
        os.replace(self._part, self.path)
        return list(read_lines(self.path))

    def _line(self, task, result):
        return self._common | {"task": task.name} | as_line(result)

    def _continues(self):
        """Whether what is there was measured with the same things."""
        try:
            lines = self.lines()
        except json.JSONDecodeError:  # stopped while writing
            return False
        return all(_sameness(line) == _sameness(self._common) for line in lines)


class Ledger(Run):
    """Lines of a section that grow task by task, over versions and machines.

    Several processes may do different tasks of it at the same time.

    Parameters
    ----------
    folder, section, quick
        As of :class:`Run`.
    fresh : bool
        Measure again what is there, each task once in the life of this object.
    """

    def __init__(self, folder, section, *, quick, fresh=False):
        super().__init__(folder, section, quick=quick)
        self._part, self._fresh, self._redone = self.path, fresh, set()

    def do(self, task, progress):
        """Run a task and keep its lines, unless it has been done."""
        if self._fresh and task.name not in self._redone:
            self._forget(task)
            self._redone.add(task.name)
        super().do(task, progress)

    def finish(self):
        """The lines: they are in their place."""
        return self.lines()

    def _continues(self):
        return True

    def _forget(self, task):
        """Write all lines but those of a task anew."""
        lines = self.lines()
        kept = [line for line in lines if line["task"] != task.name]
        if len(kept) < len(lines):
            new = self.path.with_suffix(".new.jsonl")
            new.unlink(missing_ok=True)
            append_lines(new, kept)
            os.replace(new, self.path)


def _sameness(line):
    flat = line | line["machine"]
    return {key: flat[key] for key in _SAME}


def one_of(sections):
    """The name of a section, for a command's arguments of which there may be none."""

    def check(name):
        if name in sections:
            return name
        raise argparse.ArgumentTypeError(
            f"must be one of {', '.join(sections)}, got {name!r}"
        )

    return check
