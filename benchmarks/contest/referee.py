"""Lets contestants take turns on a case, and notes what each of them took."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.records import n_cores

_ROOT = Path(__file__).resolve().parents[2]
PAUSE = 0.25
# Seconds in which a process must have loaded its packages and be warm.
_OPENING = 60.0
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RHOKIT_BENCH_THREADS",
)


@dataclass(frozen=True)
class Limits:
    """How long a contest may take.

    Parameters
    ----------
    rounds : int
        Of every contestant.
    budget : float
        Seconds for the queries of a round; who needs more is timed on fewer of them.
    patience : float
        Seconds until a contestant that does not answer is out.
    slow : float
        A contestant whose round takes longer has only one.
    """

    rounds: int = 3
    budget: float = 2.0
    patience: float = 60.0
    slow: float = 30.0


@dataclass(eq=False)
class Score:
    """What one contestant took on a case.

    ``seconds`` of a number of queries include the fit. ``reason`` says why there are no
    figures, and is None where there are.
    """

    name: str
    ours: bool
    reason: str | None = None
    rounds: list = field(default_factory=list)
    answers: np.ndarray | None = None
    size: dict = field(default_factory=dict)

    @property
    def fit_seconds(self):
        """Median over the rounds."""
        return float(np.median([r["fit_seconds"] for r in self.rounds]))

    def answer_seconds(self, count):
        """Median over the rounds, without the fit."""
        return float(np.median([r["answer_seconds"][str(count)] for r in self.rounds]))

    def seconds(self, count):
        """Median over the rounds of fit and ``count`` queries."""
        return float(np.median(self._totals(count)))

    def details(self):
        """Everything for the lines of the results."""
        common = {"contestant": self.name, "ours": self.ours, "reason": self.reason}
        if self.reason is not None:
            return common
        last = self.rounds[-1]
        counts = [int(count) for count in last["answer_seconds"]]
        return common | {
            "rounds": len(self.rounds),
            "fit_seconds": self.fit_seconds,
            "fit_processor_seconds": last.get("fit_processor_seconds"),
            "answer_seconds": {str(n): self.answer_seconds(n) for n in counts},
            "answer_processor_seconds": last.get("answer_processor_seconds"),
            "total_seconds": {str(n): self.seconds(n) for n in counts},
            "best_seconds": {str(n): float(min(self._totals(n))) for n in counts},
            "timed_queries": last["timed_queries"],
            "start_megabytes": last["start_megabytes"],
            "peak_megabytes": max(r["peak_megabytes"] for r in self.rounds),
            **self.size,
        }

    def _totals(self, count):
        return [r["fit_seconds"] + r["answer_seconds"][str(count)] for r in self.rounds]


def compete(case, module, contestants, counts, checked, limits=None, threads=None):
    """All contestants on one case, in turn.

    Parameters
    ----------
    case : Case
    module : str
        That lists the contestants.
    contestants : sequence of Contestant
    counts : sequence of int
        Numbers of queries to time.
    checked : int
        How many answers to keep.
    limits : Limits, optional
    threads : int, optional
        For everybody; all cores without it.

    Returns
    -------
    scores : list of Score
        In the order of the contestants.
    """
    limits, threads = limits or Limits(), threads or n_cores()
    facts = case.facts | case.sizes | {"threads": threads}
    with tempfile.TemporaryDirectory(prefix="rhokit-bench-") as folder:
        case.write(folder)
        seats = [
            _Seat(contestant, module, folder, facts, limits, max(counts))
            for contestant in contestants
        ]
        try:
            for _ in range(limits.rounds):
                for seat in seats:
                    seat.play(seats, counts)
            for seat in seats:
                seat.leave(checked)
        finally:
            for seat in seats:
                seat.stop()
    return [seat.score for seat in seats]


class _Seat:
    """One contestant's process, and its score."""

    def __init__(self, contestant, module, folder, facts, limits, most):
        self.contestant = contestant
        self.score = Score(contestant.name, contestant.ours, contestant.absence(facts))
        self._module, self._folder, self._facts = module, folder, facts
        self._limits, self._most = limits, most
        self._process = None
        self._last_round = 0.0

    def play(self, seats, counts):
        """One round, if the contestant is still in and not a slow one."""
        if self.score.reason is None and self._process is None:
            self._open(seats)
        if self.score.reason is not None or self._last_round > self._limits.slow:
            return
        time.sleep(PAUSE)  # threads of the last one may still spin
        order = {"do": "round", "counts": list(counts), "budget": self._limits.budget}
        start = time.perf_counter()
        reply = self._ask(order)
        self._last_round = time.perf_counter() - start
        if reply is not None:
            self.score.rounds.append(reply)

    def leave(self, checked):
        """Keep answers and size of the model that was fitted last."""
        if self.score.reason is not None:
            return
        path = Path(self._folder) / "answers.npy"
        if self._ask({"do": "answers", "count": checked, "path": str(path)}) is None:
            return
        self.score.answers = np.load(path)
        self.score.size = self._ask({"do": "close"}) or {}

    def stop(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.stdout.close()

    def _open(self, seats):
        """Start the process, and wait until the rows are read and the model is warm."""
        facts = dict(self._facts)
        if self.contestant.after is not None:
            other = next(s for s in seats if s.contestant.name == self.contestant.after)
            if other.score.reason is not None:
                self.score.reason = f"{other.contestant.name}: {other.score.reason}"
                return
            facts["seconds"] = other.score.seconds(self._most)
        threads = dict.fromkeys(_THREAD_VARIABLES, str(facts["threads"]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.contest.worker"],
            cwd=_ROOT,
            env=os.environ | threads,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        order = {"do": "open", "module": self._module, "name": self.contestant.name}
        self._send(order | {"folder": self._folder, "facts": facts})
        self._receive(_OPENING)

    def _ask(self, order):
        """Send an order; the reply, or None with the reason noted."""
        self._send(order)
        return self._receive(self._limits.patience)

    def _send(self, order):
        with suppress(BrokenPipeError):  # then there is no reply, either
            print(json.dumps(order), file=self._process.stdin, flush=True)

    def _receive(self, patience):
        ready, _, _ = select.select([self._process.stdout], [], [], patience)
        if not ready:
            return self._out(f"more than {patience:g} s", kill=True)
        text = self._process.stdout.readline()
        if not text:
            return self._out(f"ended with code {self._process.wait()}")
        reply = json.loads(text)
        return self._out(reply["error"]) if "error" in reply else reply

    def _out(self, reason, *, kill=False):
        if kill:
            self._process.kill()
        self.score.reason = reason
        return None
