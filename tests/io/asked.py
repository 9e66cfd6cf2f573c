"""Model files, loaded and asked in processes that may only use so much.

A process that asks has a gigabyte and a few seconds of one core for each file. What
goes beyond ends in ``MemoryError`` or in the end of the process, which its parent sees.
"""

import contextlib
import math
import os
import resource
import signal
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import NotFittedError

import rhokit
from rhokit import ModelFileError

MOST_SECONDS = 5  # of one core, for one file
MOST_BYTES = 2**30  # beyond what is there once everything is imported
# What a question may end in: a model says what is wrong with itself or the rows.
REFUSALS = (ValueError, TypeError, NotFittedError)
_ANSWERS = ("predict", "score_samples", "predict_proba", "predict_state", "transform")


def ask(model, rows, data=None):
    """Ask everything that a model can be asked, and teach it rows.

    Nothing that is asked may fail but by saying what is wrong; saving may not fail.
    What it was loaded from may be given as ``data``: if that is what is saved, loading
    and saving it again has just been done.
    """
    saved = rhokit.dumps(model)
    if saved != data and rhokit.dumps(rhokit.loads(saved)) != saved:
        raise AssertionError("saved again, it is another model")
    for name in _ANSWERS:
        if hasattr(model, name):
            _put(getattr(model, name), rows)
    if hasattr(model, "predict_interval"):
        _put(model.predict_interval, rows)
    if hasattr(model, "sample"):
        _put(model.sample, 2)
    if hasattr(model, "partial_fit") and getattr(model, "is_prepared", False):
        _put(lambda: model.partial_fit(rows, *_target(model, rows)))


def _put(question, *arguments):
    with contextlib.suppress(*REFUSALS):
        question(*arguments)


def _target(model, rows):
    """Targets that the model knows, where it needs some."""
    readout = model.readout_
    if not readout.has_target:
        return []
    if readout.kind == "values":
        low = readout.low if readout.one_target else readout.low[None]
        return [np.repeat(low, len(rows), axis=0)]
    return [np.resize(readout.classes, len(rows))]


def outcome_of(data, rows):
    """``"refused"``, ``"asked"``, or what must not happen."""
    try:
        model = rhokit.loads(data)
    except ModelFileError as error:
        return "memory" if _comes_from(error, MemoryError) else "refused"
    except BaseException as error:
        return f"loading: {error!r}"[:300]
    try:
        ask(model, rows, data)
    except BaseException as error:
        return f"asking: {error!r}"[:300]
    return "asked"


def _comes_from(error, kind):
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__
    return False


def be_quiet():
    """What NumPy thinks of absurd numbers is not the question."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")


def limit_memory():
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_seconds():
    """From now on; the process ends, wherever it is, when they are over."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(used.ru_utime + used.ru_stime) + MOST_SECONDS
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


def in_child(data, rows):
    """The outcome of one file, in a copy of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        limit_memory()
        limit_seconds()
        os.write(writing, outcome_of(data, rows).encode()[:2000])
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        said = file.read().decode()
    _, status = os.waitpid(child, 0)
    return said or ended_by(status)


def ended_by(status):
    """How a process ended that did not say so itself."""
    if not os.WIFSIGNALED(status):
        return f"ended with code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    return "hang" if number == signal.SIGXCPU else f"crash: signal {number}"
