"""Mutated model files: ``python -m tests.io.fuzz --count 100000 --seed 0``.

Each file is a golden one with a few changes: half of them in its bytes, half in what it
says, packed again with the right digest. Loading it must end in a model or in a
``ModelFileError``, soon, with little memory, and without running, importing or opening
anything. A model that loads is asked for predictions, which may fail, but not for want
of memory or stack. Any other outcome is a finding, and makes the exit code 1.

``--only INDEX`` repeats one file.
"""

import argparse
import contextlib
import copy
import faulthandler
import json
import random
import resource
import signal
import sys
import time
import tracemalloc
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors.numpy import save
from sklearn.exceptions import NotFittedError

import rhokit
from rhokit import ModelFileError
from rhokit.features import MAPS
from rhokit.io import PROTOCOL
from rhokit.io.container import digest, pack, unpack
from rhokit.io.estimator_field import ONE_PASS, TRAINED
from rhokit.readouts import READOUTS
from tests.io.golden.make import HOME, decoded

FOLDER = HOME / f"protocol{PROTOCOL}"
# Few and small: every kind of field comes up in them.
SEEDS = (
    "density-structured",
    "density-complex-factor",
    "density-series-line",
    "density-series-bounds",
    "density-words",
    "density-mixed",
    "density-mosaic-bent",
    "density-mosaic-mixed",
    "density-mosaic-factor",
    "classes-mixed-factor",
    "classes-blend",
    "values-blend",
    "density-unfitted",
    "mean-complex",
    "classes-reject",
    "classes-reject-factor",
    "classes-words",
    "classes-series-reject",
    "joint-random-map",
    "ordinal-factor",
    "values-words",
    "values-factor",
    "values-series-line",
    "values-prepared",
    "density-series-prepared",
    "trained-density-start",
    "map-quadrature",
    "map-series-line",
    "map-series-space",
    "map-softmax",
    "state-sums",
    "state-series-space",
    "state-factor",
)
MOST_SECONDS = 20  # a hang, however busy the machine is
# Above what is there once everything is imported.
MEMORY_MARGIN = 2**29
# What one load may allocate: a fixed part, and a multiple of the file.
MOST_BYTES, MOST_TIMES = 50 * 2**20, 20
TRACED_EVERY = 10
FORBIDDEN = (
    "import",
    "exec",
    "compile",
    "open",
    "os.",
    "subprocess.",
    "socket.",
    "ctypes.",
    "pickle.",
    "marshal.",
    "shutil.",
    "urllib.",
    "code.",
    "function.",
    "tempfile.",
    "webbrowser.",
)
MOST_FINDINGS = 20

EXTREMES = (
    0,
    -1,
    1,
    2,
    3,
    255,
    2**20,
    2**31,
    2**53,
    2**63,
    2**64,
    10**12,
    10**30,
    10**400,
    0.0,
    -0.0,
    0.5,
    -1.5,
    1e-300,
    5e-324,
    1e300,
    1.7e308,
)
NAMES = (
    *MAPS,
    *READOUTS,
    *ONE_PASS,
    *TRAINED,
    "os.system",
    "subprocess.Popen",
    "builtins.eval",
    "__import__('os').system('true')",
    "rhokit.io",
    "FeatureMap",
    "object",
    "float32",
    "float64",
    "float16",
    "int64",
    "<U5",
    "<i8",
    "|i1",
    "|b1",
    "O",
    "U",
    "S9",
    "<M8[s]",
    "i8,i8",
    "(2,)i8",
    "0,i8",
    "sums",
    "series",
    "mean",
    "factor",
    "rows",
    "measured",
    "tensor",
    "complex tensor",
    "complex",
    "pair",
    "phase",
    "structured",
    "widen",
    "refuse",
    "auto",
    "loo",
    "elbow",
    "within",
    "nan",
    "inf",
    "../../etc/passwd",
    "\x00",
    "\ud800",
    "",
    "x" * 5000,
)
DTYPES = ("float32", "float64", "int8", "int64", "uint64", "bool", "int32", "float16")
NUMBERS = (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e308, -1e308, 5e-324, 1e-300, 3.5)


# ---- mutations -----------------------------------------------------------------------


def mutate_bytes(rng, data, other):
    """A few changes of the bytes, wherever they fall."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(data) + 1)
        if rng.random() < 0.3:  # where the structure is
            place = min(rng.randrange(4096), len(data))
        length = rng.choice((1, 1, 2, 8, 64, 1024))
        kind = rng.randrange(8)
        if kind == 0 and place < len(data):
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 1 and place < len(data):
            data[place] = rng.choice((0, 32, 34, 44, 48, 57, 91, 93, 123, 125, 255))
        elif kind == 2:
            data[place:place] = rng.randbytes(length)
        elif kind == 3:
            del data[place : place + length]
        elif kind == 4:
            del data[place:]
        elif kind == 5:
            start = rng.randrange(len(data) + 1)
            data[place:place] = data[start : start + length]
        elif kind == 6:
            start = rng.randrange(len(other))
            data[place:] = other[start:]
        else:
            number = rng.choice((0, 1, 2**31, 2**40, 2**63, len(data)))
            data[:8] = number.to_bytes(8, "little")
        if not data:
            break
    return bytes(data)


def mutate_text(rng, tree, tensors):
    """A few changes of the description's text, with the right digest."""
    text = json.dumps(tree)
    for _ in range(rng.randint(1, 3)):
        place, length = rng.randrange(len(text) + 1), rng.choice((1, 1, 2, 9, 90))
        start = rng.randrange(len(text) + 1)
        piece = rng.choice(
            (
                rng.choice('{}[]",:0123456789-.eE\\ '),
                rng.choice(("null", "true", "NaN", "-Infinity", "1e999", "9" * 5000)),
                "[" * rng.choice((10, 5000)),
                '{"a":' * rng.choice((10, 900)),
                text[start : start + length],
                "",
            )
        )
        text = text[:place] + piece + text[place + rng.choice((0, length)) :]
        if not text:
            break
    metadata = {"rhokit": text, "sha256": digest(text, tensors)}
    return bytes(save(tensors, metadata=metadata))


def mutate_content(rng, tree, tensors, other):
    """A few changes of what is said, and of the tensors, with the right digest."""
    tree, tensors = copy.deepcopy(tree), dict(tensors)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        chance = rng.random()
        if tensors and chance < 0.15:
            _resize(rng, tree, tensors)
        elif tensors and chance < 0.45:
            _change_tensor(rng, tensors, other[1])
        elif chance < 0.6:
            _change_number(rng, tree)
        else:
            _change_tree(rng, tree, other[0])
    return pack(tree, tensors)


def _places(node, found):
    """All (container, key) pairs of a tree."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        found.append((node, key))
        if isinstance(value, dict | list):
            _places(value, found)
    return found


def _change_tree(rng, tree, other):
    owner, key = rng.choice(_places(tree, []))
    value = owner[key]
    kind = rng.randrange(10)
    if kind <= 1:
        owner[key] = _extreme(rng, value)
    elif kind == 2:
        owner[key] = rng.choice(NAMES)
    elif kind == 3:
        owner[key] = rng.choice((None, True, False, [], {}, [[]], "tensor", 1, 0.5))
    elif kind == 4:
        del owner[key]
    elif kind == 5 and isinstance(owner, dict):
        owner[rng.choice(NAMES)] = owner.pop(key)
    elif kind == 5:
        owner.extend(owner[:] * rng.choice((1, 50)))
    elif kind == 6 and isinstance(owner, dict):
        owner[rng.choice(list(owner))] = copy.deepcopy(value)
    elif kind == 6:
        owner[key] = copy.deepcopy(rng.choice(owner))
    elif kind == 7:
        other_owner, other_key = rng.choice(_places(other, []))
        owner[key] = copy.deepcopy(other_owner[other_key])
    elif kind == 8:
        nest = value
        for _ in range(rng.choice((1, 2, 60))):
            nest = [nest] if rng.random() < 0.5 else {rng.choice(NAMES): nest}
        owner[key] = nest
    elif isinstance(owner, dict):
        owner[rng.choice(NAMES)] = rng.choice(NAMES)
    else:
        owner.append(rng.choice(NAMES))


def _change_number(rng, tree):
    places = _places(tree, [])
    numbers = [
        (owner, key) for owner, key in places if type(owner[key]) in (int, float)
    ]
    owner, key = rng.choice(numbers)
    owner[key] = rng.choice(EXTREMES)


def _resize(rng, tree, tensors):
    """Another size wherever one stands, so that all still agree about it."""
    sizes = sorted({size for array in tensors.values() for size in array.shape})
    old, new = rng.choice(sizes), rng.choice((0, 0, 1, 2, 3, 7, 64, 300))
    for name, array in tensors.items():
        shape = [new if size == old else size for size in array.shape]
        tensors[name] = np.resize(array, shape) if new else np.empty(shape, array.dtype)
    for owner, key in _places(tree, []):
        value = owner[key]
        if type(value) is int and value == old and rng.random() < 0.9:
            owner[key] = new
        elif type(value) is list and len(value) == old and value:
            owner[key] = [value[i % old] for i in range(new)]
    if not new and rng.random() < 0.7:
        _claim(rng, tree, tensors)


def _claim(rng, tree, tensors):
    """Where a size is zero there are no numbers, and the others may be anything."""
    dim = rng.choice((1000, 10**4, 10**5, 10**6))
    for name, array in tensors.items():
        if not array.size and array.ndim > 1 and array.shape[0] == 0:
            shape = 0, dim * (dim + 1) // 2, *array.shape[2:]
            tensors[name] = np.empty(shape, array.dtype)
    for owner, key in _places(tree, []):
        if key in ("rank", "dim") and isinstance(owner, dict) and "dim" in owner:
            owner[key] = dim


def _extreme(rng, value):
    if isinstance(value, str) and value and rng.random() < 0.5:
        return value[:-1] if rng.random() < 0.5 else value * rng.choice((2, 500))
    if isinstance(value, list):
        return rng.sample(value, len(value))
    number = rng.choice(EXTREMES)
    return number if rng.random() < 0.8 else str(number)


def _change_tensor(rng, tensors, other):
    name = rng.choice(list(tensors))
    array = tensors[name]
    kind = rng.randrange(11)
    if kind == 0:
        with np.errstate(all="ignore"):
            tensors[name] = array.astype(rng.choice(DTYPES))
    elif kind == 1:
        shape = rng.choice(
            ([-1], [1, *array.shape], [*array.shape, 1], array.shape[::-1])
        )
        tensors[name] = array.reshape(shape)
    elif kind == 2 and array.ndim:
        cut = [slice(rng.choice((0, 0, 1)), rng.choice((None, -1, 1, 0)))] * array.ndim
        tensors[name] = array[tuple(cut)]
    elif kind == 3:
        repeats = rng.choice((2, 3, 20))
        tensors[name] = np.concatenate([np.atleast_1d(array)] * repeats)
    elif kind == 4:
        # No numbers at all, in a shape that claims very many.
        shape = [0, rng.choice((1, 10**6, 10**9, 2 * 10**12 + 10**6, 2**40))]
        rng.shuffle(shape)
        tensors[name] = np.empty(shape, array.dtype)
    elif kind <= 7 and array.size:
        number = rng.choice(NUMBERS if array.dtype.kind == "f" else (0, 1, 2, 99, 127))
        array = array.copy()
        if rng.random() < 0.3:
            array[...] = number
        else:
            array.flat[rng.randrange(array.size)] = number
        tensors[name] = array
    elif kind == 8:
        del tensors[name]
        if rng.random() < 0.5:
            tensors[rng.choice(NAMES)] = array
    elif kind == 9 and other:
        tensors[name] = other[rng.choice(list(other))]
    else:
        second = rng.choice(list(tensors))
        tensors[name], tensors[second] = tensors[second], array


class Mutator:
    """Makes the file of any index, the same every time."""

    def __init__(self, seed):
        self._seed = seed
        self.files = {name: (FOLDER / f"{name}.rhokit").read_bytes() for name in SEEDS}
        self._contents = {name: unpack(data) for name, data in self.files.items()}

    def make(self, index):
        """The name of the file that was changed, and what became of it."""
        rng = random.Random(f"{self._seed} {index}")
        name, other = rng.choice(SEEDS), rng.choice(SEEDS)
        if index % 2:
            return name, mutate_bytes(rng, self.files[name], self.files[other])
        while True:
            try:
                if rng.random() < 0.2:
                    return name, mutate_text(rng, *self._contents[name])
                content, others = self._contents[name], self._contents[other]
                return name, mutate_content(rng, *content, others)
            except Exception:  # what cannot be packed is no file
                continue


# ---- what happens --------------------------------------------------------------------


class TooSlow(BaseException):
    """Not an Exception, so that nothing on the way may catch it."""


def _raise_too_slow(number, frame):
    raise TooSlow


@contextlib.contextmanager
def time_limit():
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class Watch:
    """Records what the interpreter is asked to do while it is on."""

    def __init__(self):
        self._on = False
        self.events = []
        sys.addaudithook(self._hook)  # there is no way to remove it

    def _hook(self, event, arguments):
        if self._on and event.startswith(FORBIDDEN):
            self.events.append(f"{event} {str(arguments)[:200]}")

    def __enter__(self):
        self.events.clear()
        self._on = True

    def __exit__(self, *error):
        self._on = False


@dataclass
class Report:
    """What was seen."""

    refused: int = 0
    loaded: int = 0
    slowest: float = 0.0
    most_memory: int = 0
    messages: Counter = field(default_factory=Counter)
    prediction_errors: Counter = field(default_factory=Counter)
    findings: list = field(default_factory=list)

    def find(self, index, name, what):
        self.findings.append(f"file {index}, made of {name}: {what}")
        print("FINDING", self.findings[-1], file=sys.stderr, flush=True)

    def summary(self):
        return {
            "refused": self.refused,
            "loaded": self.loaded,
            "slowest load, seconds": round(self.slowest, 3),
            "most memory of a load, bytes": self.most_memory,
            "kinds of refusals": len(self.messages),
            "predictions that failed": dict(self.prediction_errors),
            "findings": self.findings,
        }


class Fuzzer:
    def __init__(self, seed):
        self._mutator = Mutator(seed)
        expected = json.loads((FOLDER / "expected.json").read_text())
        self._queries = {name: decoded(expected[name]["queries"]) for name in SEEDS}
        self._watch = Watch()
        self.report = Report()
        signal.signal(signal.SIGALRM, _raise_too_slow)

    def warm_up(self):
        """Let imports and compilations that come late come now."""
        for name, data in self._mutator.files.items():
            with contextlib.suppress(NotFittedError):
                self._ask(rhokit.loads(data), self._queries[name])
        # NumPy imports what it needs for dtypes of several parts when it meets one.
        np.dtype("i8,i8")

    def limit_memory(self):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY_MARGIN
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def run(self, indices):
        start = time.perf_counter()
        for done, index in enumerate(indices, start=1):
            self.check(index)
            if done % 1000 == 0:
                speed = done / (time.perf_counter() - start)
                message = f"{done} files, {speed:.0f} per second"
                print(message, file=sys.stderr, flush=True)
            if len(self.report.findings) >= MOST_FINDINGS:
                break

    def check(self, index):
        name, data = self._mutator.make(index)
        model = self._load(index, name, data, traced=index % TRACED_EVERY == 0)
        if model is None:
            return
        self.report.loaded += 1
        try:
            with time_limit():
                self._ask(model, self._queries[name])
        except (MemoryError, RecursionError, SystemError, TooSlow) as error:
            self.report.find(index, name, f"predicting: {error!r}"[:300])
        except Exception as error:
            self.report.prediction_errors[type(error).__name__] += 1

    def _load(self, index, name, data, traced):
        """The model, None if the file was refused or something was found."""
        report, model = self.report, None
        if traced:
            tracemalloc.start()
        start = time.perf_counter()
        try:
            with time_limit(), self._watch:
                model = rhokit.loads(data)
        except ModelFileError as error:
            report.refused += 1
            report.messages[_kind(error)] += 1
            if _comes_from(error, MemoryError):
                report.find(index, name, f"asked for too much memory: {error}"[:300])
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            report.find(index, name, f"loading: {error!r}"[:300])
        seconds = time.perf_counter() - start
        report.slowest = max(report.slowest, seconds)
        if seconds > MOST_SECONDS:
            report.find(index, name, f"loading took {seconds:.1f} seconds")
        if traced:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            report.most_memory = max(report.most_memory, peak)
            if peak > MOST_BYTES + MOST_TIMES * len(data):
                what = f"{peak} bytes for a file of {len(data)}"
                report.find(index, name, f"loading allocated {what}")
        for event in self._watch.events:
            report.find(index, name, f"loading did {event}")
        return model

    def _ask(self, model, queries):
        for method in ("score_samples", "predict", "predict_proba", "transform"):
            if hasattr(model, method):
                getattr(model, method)(queries)
        if hasattr(model, "predict_interval"):
            model.predict_interval(queries)
        if hasattr(model, "normalized"):
            model.normalized()


def _kind(error):
    """A message without its numbers."""
    return "".join(c for c in str(error)[:60] if not c.isdigit())


def _comes_from(error, kind):
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__
    return False


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="one file")
    options = parser.parse_args(arguments)
    faulthandler.enable()
    # What NumPy thinks of absurd numbers is not the question; and the first warning
    # of a kind would open the source that it comes from.
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    fuzzer = Fuzzer(options.seed)
    fuzzer.warm_up()
    fuzzer.limit_memory()
    one = options.only
    fuzzer.run(range(options.count) if one is None else [one])
    print(json.dumps(fuzzer.report.summary(), indent=1))
    return 1 if fuzzer.report.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
