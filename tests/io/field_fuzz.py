"""Good files with fields at their limits, loaded and asked.

``python -m tests.io.field_fuzz --count 1000000 --seed 0`` makes so many files of the
golden ones (:mod:`tests.io.field_limits`). Each must be refused, or be a model that can
be saved again, and answers, samples and learns, or says what is wrong, within a
gigabyte and a few seconds of one core. Everything happens in a process that ends where
it goes beyond; another one goes on with the next file. Any other outcome is a finding,
and makes the exit code 1.

``--jobs N`` asks in so many processes at once, not in one for every core; a file is
the same whoever makes it.
``--only INDEX`` repeats one file.
"""

import argparse
import contextlib
import gc
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from sklearn.exceptions import NotFittedError

import rhokit
from rhokit.io import PROTOCOL
from tests.io import asked
from tests.io.field_limits import GoodFile, changed, words_of
from tests.io.golden.make import HOME, decoded

FOLDER = HOME / f"protocol{PROTOCOL}"
MOST_FINDINGS = 50
FILES_PER_PROCESS = 10_000
_DONE = "done"


class Maker:
    """Makes the file of any index, the same every time."""

    def __init__(self, seed):
        self._seed = seed
        expected = json.loads((FOLDER / "expected.json").read_text())
        paths = sorted(FOLDER.glob("*.rhokit"))
        self.good = {
            path.stem: GoodFile(path.stem, path.read_bytes()) for path in paths
        }
        self.rows = {n: _rows(expected[n]) for n in self.good}
        self.words = words_of(self.good.values())

    def generator(self, index):
        return random.Random(f"{self._seed} {index}")

    def make(self, index):
        """The name of a good file, and what became of it."""
        rng = self.generator(index)
        name = rng.choice(sorted(self.good))
        while True:
            # Files that lack what is to be changed, or cannot be packed.
            with contextlib.suppress(LookupError, ValueError, AttributeError):
                return name, changed(rng, self.good[name], self.words).data()


def _rows(expected):
    rows = expected.get("queries")
    return None if rows is None else decoded(rows)[:3]


# ---- the process that asks -----------------------------------------------------------


def work(seed, start, stop):
    """Ask the files of a range, and say what became of each."""
    asked.be_quiet()
    # LAPACK writes what it thinks of absurd numbers to where results are expected.
    said = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    maker = Maker(seed)
    for name, file in maker.good.items():  # imports that come late come now
        with contextlib.suppress(NotFittedError, ValueError):
            asked.ask(rhokit.loads(file.draft().data()), maker.rows[name])
    gc.collect()
    gc.freeze()  # modules need not be looked through again for every large file
    asked.limit_memory()
    for index in range(start, stop):
        name, data = maker.make(index)
        asked.limit_seconds()
        outcome = asked.outcome_of(data, maker.rows[name])
        print(json.dumps([index, name, outcome]), file=said)
    print(json.dumps([stop, "", _DONE]), file=said)


# ---- the process that watches --------------------------------------------------------


class Watcher:
    """Has all files of a range asked by processes, several of them at once."""

    def __init__(self, seed, start, stop, jobs=1):
        self._seed, self._jobs = seed, jobs
        size = max(1, min(FILES_PER_PROCESS, -(-(stop - start) // jobs)))
        self._parts = [
            range(first, min(first + size, stop)) for first in range(start, stop, size)
        ]
        self._writing = threading.Lock()
        self._began = time.perf_counter()
        self.outcomes = Counter()
        self.findings = []

    def run(self):
        with ThreadPoolExecutor(self._jobs) as pool:
            for _ in pool.map(self._run_part, self._parts):
                pass

    def _run_part(self, part):
        """Processes for a part of the range, each until it ends."""
        index = part.start
        while index < part.stop and len(self.findings) < MOST_FINDINGS:
            index = self._run_one(index, part.stop)
        done = self.outcomes.total()
        speed = done / (time.perf_counter() - self._began)
        print(f"{done} files, {speed:.0f} a second", file=sys.stderr, flush=True)

    def _run_one(self, start, stop):
        """One process, until it ends; what is to be asked next."""
        numbers = map(str, (self._seed, start, stop))
        arguments = [sys.executable, "-m", "tests.io.field_fuzz", "--work", *numbers]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, env=environment, text=True
        )
        following = start
        for line in process.stdout:
            index, name, outcome = json.loads(line)
            if outcome == _DONE:
                break
            following = index + 1
            self._note(index, name, outcome)
        if process.wait():
            status = process.returncode
            how = asked.ended_by(-status if status < 0 else status << 8)
            self._note(following, "", how)
            following += 1
        return following

    def _note(self, index, name, outcome):
        known = outcome in ("refused", "asked")
        with self._writing:
            self.outcomes[outcome if known else "found"] += 1
        if not known:
            self.findings.append(f"file {index}, made of {name or '?'}: {outcome}")
            print("FINDING", self.findings[-1], file=sys.stderr, flush=True)

    def summary(self):
        return {**self.outcomes, "findings": self.findings}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", type=int, help="one file")
    parser.add_argument("--work", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        work(*options.work)
        return 0
    start, count = options.start, options.count
    if options.only is not None:
        start, count = options.only, 1
    watcher = Watcher(options.seed, start, start + count, options.jobs)
    watcher.run()
    print(json.dumps(watcher.summary(), indent=1))
    return 1 if watcher.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
