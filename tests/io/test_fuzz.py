"""Mutated files: no crash, no hang, no code, little memory.

In a process of its own, because limits and audit hooks cannot be taken back. ``make
fuzz`` takes 100,000 of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rhokit
from tests.io import fuzz

ROOT = Path(__file__).parents[2]
SOURCE = Path(rhokit.__file__).parents[1]
COUNT = 3000

# Loaders that do what none may do, each for a few files.
BAD_LOADERS = """
import json, subprocess, sys, time
import numpy as np
import rhokit
from rhokit import ModelFileError
from tests.io import fuzz

fuzz.MOST_SECONDS = 0.3
fuzz.TRACED_EVERY = 1
fuzzer = fuzz.Fuzzer(0)
fuzzer.warm_up()
fuzzer.limit_memory()
good = rhokit.loads

def imports(data):
    sys.modules.pop("this_is_no_module", None)
    try:
        import this_is_no_module
    except ImportError:
        raise ModelFileError("no")

def opens(data):
    open(__file__ if "__file__" in globals() else sys.executable, "rb").close()

def evaluates(data):
    eval("1 + 1")

def starts(data):
    subprocess.Popen(["true"]).wait()

def hangs(data):
    while True:
        pass

def hangs_and_catches(data):
    while True:
        try:
            time.sleep(1)
        except Exception:
            pass

def fails(data):
    raise KeyError("no model file error")

def recurses(data):
    return recurses(data)

def takes_memory(data):
    np.ones(2**23).sum()
    raise ModelFileError("no")

def takes_all_memory(data):
    try:
        np.ones(2**40)
    except MemoryError as error:
        raise ModelFileError("no") from error

def predicts_too_much(data):
    class Model:
        def predict(self, rows):
            raise MemoryError
    return Model()

bad = [
    imports, opens, evaluates, starts, hangs, hangs_and_catches, fails, recurses,
    takes_memory, takes_all_memory, predicts_too_much,
]
found = {}
for loader in bad:
    fuzzer.report.findings.clear()
    rhokit.loads = loader
    fuzzer.check(1)
    found[loader.__name__] = list(fuzzer.report.findings)
rhokit.loads = good
fuzzer.report.findings.clear()
fuzzer.check(1)
found["good"] = list(fuzzer.report.findings)
print(json.dumps(found))
"""


def run(*arguments, timeout):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ROOT)]),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=timeout,
        env=environment,
    )


@pytest.fixture(scope="module")
def done():
    arguments = ["--count", str(COUNT), "--seed", "0"]
    return run("-m", "tests.io.fuzz", *arguments, timeout=300)


@pytest.fixture(scope="module")
def summary(done):
    # A crash leaves no summary: then what faulthandler wrote is the message.
    assert done.stdout.startswith("{"), f"{done.returncode}: {done.stderr[-3000:]}"
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found():
    """What the fuzzer finds in loaders that are bad."""
    done = run("-c", BAD_LOADERS, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


class TestMutatedFiles:
    def test_nothing_was_found(self, done, summary):
        assert summary["findings"] == []
        assert done.returncode == 0

    def test_all_were_loaded_or_refused(self, summary):
        assert summary["refused"] + summary["loaded"] == COUNT

    def test_loads_were_small(self, summary):
        assert summary["most memory of a load, bytes"] < fuzz.MOST_BYTES * 2

    def test_mutations_reach_every_corner(self, summary):
        """Some files load, and the others fall for very many reasons."""
        assert summary["loaded"] > COUNT // 50
        assert summary["kinds of refusals"] > 300


class TestTheFuzzer:
    @pytest.mark.parametrize(
        ("loader", "what"),
        [
            ("imports", "loading did import"),
            ("opens", "loading did open"),
            ("evaluates", "loading did compile"),
            ("starts", "loading did subprocess.Popen"),
            ("hangs", "TooSlow"),
            ("hangs_and_catches", "TooSlow"),
            ("fails", "KeyError"),
            ("recurses", "RecursionError"),
            ("takes_memory", "loading allocated"),
            ("takes_all_memory", "too much memory"),
            ("predicts_too_much", "predicting: MemoryError"),
        ],
    )
    def test_finds(self, found, loader, what):
        assert any(what in finding for finding in found[loader]), found[loader]

    def test_finds_nothing_in_what_is_right(self, found):
        assert found["good"] == []

    def test_makes_the_same_file_of_the_same_number(self):
        first, second = (fuzz.Mutator(3) for _ in range(2))
        for index in range(1, 201, 2):
            assert first.make(index) == second.make(index)

    def test_mutates_all_seeds(self):
        mutator = fuzz.Mutator(0)
        made = [mutator.make(index) for index in range(600)]
        assert {name for name, _ in made} == {*fuzz.SEEDS}
        changed = [data != mutator.files[name] for name, data in made]
        assert sum(changed) > 550
