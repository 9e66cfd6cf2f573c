"""Runs that are kept line by line, and taken up again where they stopped.

An experiment is a list of tasks. The lines of a task are appended when it ends, the
last of them a mark with its seconds, so a task that was cut off is done again and one
that ended is not. What all lines of a task share, such as settings and versions, stands
on the mark. A task whose settings have changed is another task. Where data cannot be
had, a line says why, and the next run tries again.
"""

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from benchmarks.records import Result, append_lines, as_line, n_cores, surroundings
from experiments.data import DataNotAvailable
from rhokit.progress import ProgressBar

SECONDS = "seconds of the task"
ABSENT = "not to be had"
_OWN = "case", "metric", "value", "seed", "details"  # of each line, beside its key
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
# Threads that wait should not burn a core. Memory that was given back is kept for the
# next step: asking the system for it anew takes up to a sixth of a network's training.
_HABITS = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**32),
}


@dataclass(frozen=True)
class Task:
    """A piece of an experiment that is done whole or not at all.

    Parameters
    ----------
    name : str
        No other task of the experiment has it.
    work : callable
        A function of a module, called with the settings; returns results.
    settings : dict
        Numbers, words and lists of them: all that the work depends on.
    alone : bool
        Whether it is timed, so that no other task may run beside it.
    """

    name: str
    work: Callable[..., Iterator[Result]]
    settings: dict = field(default_factory=dict)
    alone: bool = False

    @property
    def key(self):
        """Name and settings in short."""
        text = json.dumps(self.settings, sort_keys=True)
        return f"{self.name} {hashlib.sha256(text.encode()).hexdigest()[:12]}"


class Notebook:
    """The lines of one experiment in a file.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path):
        self.path = Path(path)

    def lines(self, tasks):
        """Lines of those of the tasks that ended, in the order of the tasks.

        Each has what its mark says, too. Where a task has no data, the line that says
        so.
        """
        by_key = {task.key: [] for task in tasks}
        for line in self._whole_lines():
            if line["key"] in by_key:
                by_key[line["key"]].append(line)
        for key, lines in by_key.items():
            by_key[key] = [lines[-1] | line for line in lines]
        return [line for lines in by_key.values() for line in _without_past(lines)]

    def ended(self):
        """Keys of the tasks that ended."""
        lines = self._whole_lines()
        return {line["key"] for line in lines if line["metric"] == SECONDS}

    def add(self, lines):
        """Append the lines of a task that ended, whole or not at all.

        That data are still missing need not be said again.
        """
        if _absence(lines[-1]) in map(_absence, self._absences()):
            return
        self._mend()
        append_lines(self.path, lines)

    def _absences(self):
        return [line for line in self._whole_lines() if line["metric"] == ABSENT]

    def _whole_lines(self):
        """Lines of tasks that have their mark, and of those without data.

        What was cut off is passed over.
        """
        if not self.path.exists():
            return []
        texts = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        lines = [json.loads(text) for text in texts if text.endswith("\n")]
        marks = [line for line in lines if line["metric"] in (SECONDS, ABSENT)]
        marked = {line["key"] for line in marks}
        return [line for line in lines if line["key"] in marked]

    def _mend(self):
        """Take away what a run that was killed has left behind its last whole task."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        kept = self._whole_lines()
        if text and (len(kept) < text.count("\n") or not text.endswith("\n")):
            rewritten = self.path.with_suffix(".mended.jsonl")
            rewritten.unlink(missing_ok=True)
            append_lines(rewritten, kept)
            os.replace(rewritten, self.path)


def _absence(line):
    return line["key"], line["details"].get("why")


def _without_past(lines):
    """The lines of a task, less those that say what it lacked before it was done."""
    done = [line for line in lines if line["metric"] != ABSENT]
    return done or lines[-1:]


def run(experiment, tasks, notebook, jobs):
    """Do the tasks that are not done yet, several at a time.

    Parameters
    ----------
    experiment : str
    tasks : list of Task
    notebook : Notebook
    jobs : int
        Processes; each has its part of the cores. 0: all in this one.

    Returns
    -------
    failures : dict of str to str
        What went wrong, by the name of the task.
    """
    ended = notebook.ended()
    left = [task for task in tasks if task.key not in ended]
    say(f"{experiment}: {len(tasks)} tasks, {len(tasks) - len(left)} of them done")
    failures, common = {}, {"experiment": experiment, **surroundings()}
    with ProgressBar(experiment) as bar:
        for number, (task, outcome) in enumerate(_outcomes(left, jobs), 1):
            if isinstance(outcome, Exception):
                failures[task.name] = f"{type(outcome).__name__}: {outcome}"
                say(f"  {task.name}: {failures[task.name]}")
                continue
            notebook.add([*outcome[:-1], common | outcome[-1]])
            bar.update(number / len(left), f"{number} of {len(left)} tasks")
            say(f"  {number:4d} of {len(left)}  {task.name}, {_outcome(outcome[-1])}")
    return failures


def _outcomes(tasks, jobs):
    """Every task with its lines or its error, as they end; those alone at last."""
    if jobs == 0:
        yield from ((task, _attempt(task)) for task in tasks)
        return
    shared = [task for task in tasks if not task.alone]
    single = [task for task in tasks if task.alone]
    for group, workers in ((shared, min(jobs, len(shared))), (single, 1)):
        if not group:
            continue
        with _workers(workers) as pool:
            waiting = {pool.submit(perform, task): task for task in group}
            try:
                for future in as_completed(waiting):
                    error = future.exception()
                    yield waiting[future], future.result() if error is None else error
            except GeneratorExit:
                pool.shutdown(cancel_futures=True)
                raise


def _attempt(task):
    """A task's lines, or its error."""
    try:
        return perform(task)
    except Exception as error:
        return error


@contextmanager
def _workers(count):
    """Processes that share the cores out among themselves."""
    threads = str(max(1, n_cores() // count))
    before = {name: os.environ.get(name) for name in (*_THREADS, *_HABITS)}
    os.environ |= dict.fromkeys(_THREADS, threads) | _HABITS  # read when they start
    try:
        context = get_context("spawn")
        with ProcessPoolExecutor(count, context, _end_with_parent) as pool:
            yield pool
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _end_with_parent():
    """See to it that this process does not go on when a run has been killed."""
    parent = os.getppid()

    def watch():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def perform(task):
    """Do a task here; its lines, the last of them a mark, or why it has no data."""
    start = time.perf_counter()
    try:
        results = list(task.work(**task.settings))
    except DataNotAvailable as reason:
        results, mark = [], Result(task.name, ABSENT, 0, details={"why": str(reason)})
    else:
        mark = Result(task.name, SECONDS, time.perf_counter() - start)
    about = {"key": task.key, "task": task.name, "settings": task.settings}
    return [*(_own_line(task, each) for each in results), about | as_line(mark)]


def _own_line(task, result):
    line = as_line(result)
    return {"key": task.key} | {name: line[name] for name in _OWN}


def _outcome(mark):
    if mark["metric"] == ABSENT:
        return mark["details"]["why"]
    return f"{mark['value']:.1f} s"


def say(text):
    """A line for whoever watches."""
    print(text, file=sys.stderr, flush=True)
