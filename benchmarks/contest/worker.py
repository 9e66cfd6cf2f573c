"""The process that one contestant lives in.

It reads orders from its input, one line of JSON each, and answers each with one line:
``open`` reads the rows and warms the model up, ``round`` fits and asks, ``answers``
writes what the model says to a file, ``close`` tells the size of the model.
"""

import json
import os
import pickle
import re
import sys
import time
from functools import partial

import numpy as np

from benchmarks.contest.cases import read_arrays
from benchmarks.contest.contestants import find
from benchmarks.memory import reset_peak, resident_megabytes

_WARM_ROWS = 300
_WARM_QUERIES = 200
_INSTANT = 0.1
_FIRST_QUERIES = 16
_GROWTH = 64


class Worker:
    """One contestant on one case.

    Parameters
    ----------
    module, name : str
        Where the contestant is.
    folder : str
        Of the case.
    facts : dict
    """

    def __init__(self, module, name, folder, facts):
        self._facts = facts
        self._contestant = find(module, name)
        self._rows, self._queries, self._target = read_arrays(folder)
        self._timed = {}
        self._model = self._build()
        self._warm_up()
        reset_peak()
        self._start = resident_megabytes()[0]

    def round(self, counts, budget):
        """Seconds to fit a new model, and to answer so many queries.

        What a model does once, at its first answer, counts as part of the fit.
        """
        self._model = None  # the memory of the last one does not count
        model = self._build()
        processor = time.process_time()
        fit = _seconds(lambda: model.fit(self._rows, self._target))
        processor = time.process_time() - processor
        self._model = model
        settling = self._settle()
        asked = {count: self._time_answers(count, budget) for count in counts}
        return {
            "fit_seconds": fit + settling,
            "fit_processor_seconds": processor + settling,
            "answer_seconds": {n: clock for n, (clock, _) in asked.items()},
            "answer_processor_seconds": {n: own for n, (_, own) in asked.items()},
            "timed_queries": self._timed,
            "start_megabytes": self._start,
            "peak_megabytes": resident_megabytes()[1],
        }

    def answers(self, count, path):
        """Write the answers to the first queries as an array, or what is judged."""
        answer = getattr(self._model, "judged", self._model.answer)
        np.save(path, np.asarray(answer(self._queries[:count])))
        return {}

    def close(self):
        """Size of the fitted model, in bytes and in columns where it has them.

        With what it chose, where it says so (``chosen``, a dictionary).
        """
        columns = getattr(self._model, "columns", None)
        size = {"model_bytes": _size(self._model), "columns": columns}
        return size | getattr(self._model, "chosen", {})

    def _build(self):
        model = self._contestant.build(self._facts)
        if hasattr(model, "prepare"):
            model.prepare(self._rows, self._queries)
        return model

    def _warm_up(self):
        """Load and compile what is loaded and compiled at first use.

        On ever more rows, while that takes an instant: some is for many rows alone.
        Models that would take long however few the rows warm themselves up.
        """
        if hasattr(self._model, "warm_up"):
            self._model.warm_up(self._rows, self._queries)
            return
        n = _WARM_ROWS
        while True:
            model = self._contestant.build(self._facts)
            target = None if self._target is None else self._target[:n]
            seconds = _seconds(partial(model.fit, self._rows[:n], target))
            if n >= len(self._rows) or seconds > _INSTANT:
                break
            n *= 4
        model.answer(self._queries[:_WARM_QUERIES])

    def _settle(self):
        """Seconds of what a model leaves to its first answer, and then does no more."""
        first, again = (
            _seconds(lambda: self._model.answer(self._queries[:_FIRST_QUERIES]))
            for _ in range(2)
        )
        return max(0.0, first - again)

    def _time_answers(self, count, budget):
        """Seconds for ``count`` queries; of as many as the budget allows, scaled up.

        By the clock, and by the processor, which works for nobody else.
        """
        n = self._timed.get(count, min(count, _FIRST_QUERIES))
        while True:
            queries = self._queries[:n]
            start = time.process_time()
            seconds = _seconds(lambda queries=queries: self._model.answer(queries))
            own = time.process_time() - start
            if n == count or count in self._timed or seconds > budget / 3:
                self._timed[count] = n
                return seconds * count / n, own * count / n
            n = min(count, int(n * budget / max(seconds, 1e-9)), n * _GROWTH)


def _seconds(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def _size(model):
    """Bytes of the model in a pickle; None where it cannot be had."""
    try:
        return len(pickle.dumps(model, protocol=5))
    except Exception:
        return None


def in_words(error):
    """One line, without the folders of this machine."""
    line = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {re.sub(r'/[^ ]*/', '', line)}"


def main():
    """Serve orders until the input ends."""
    # What packages print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = None
    for text in sys.stdin:
        order = json.loads(text)
        kind = order.pop("do")
        try:
            if kind == "open":
                worker, reply = Worker(**order), {}
            else:
                reply = getattr(worker, kind)(**order)
        except Exception as error:
            reply = {"error": in_words(error)}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
