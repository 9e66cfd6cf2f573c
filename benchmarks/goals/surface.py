"""What users meet first: how soon the program answers, ONNX, categories, gaps."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd

import rhokit
from benchmarks.real_data import load_arrays, readable
from benchmarks.records import Goal, Result
from benchmarks.timing import compare, interleaved
from rhokit import DMKDE, DMKDClassifier, QMRegressor

_PROMISED_ERROR = 1e-5
_MOST_HELP_SECONDS = 0.5
_MOST_OVER_ARRAY = 1.2
_GAPS = 0.3
# Sets, with what is made of them and from which array.
_EXPORTED = {
    "density_magic": (DMKDE, None),
    "letters": (DMKDClassifier, "y"),
    "boston_housing": (QMRegressor, "y_continuous"),
}


def run(repeats, seed=0):
    """All results of the section."""
    yield help_time(repeats)
    for name in readable(_EXPORTED):
        yield from exported(name, repeats, seed)
    for _ in readable(("covtype",)):
        yield from categories(repeats, seed)
    for name in readable(("abalone", "boston_housing", "letters")):
        yield gaps(name, seed)


def help_time(repeats):
    """How much longer ``rhokit --help`` takes than importing NumPy."""
    commands = {
        "help": [sys.executable, "-m", "rhokit.cli", "--help"],
        "numpy": [sys.executable, "-c", "import numpy"],
    }
    jobs = {name: _process(command) for name, command in commands.items()}
    times = interleaved(jobs, repeats)
    value, best = compare(lambda a, b: a - b, times["help"], times["numpy"])
    return Result(
        "rhokit --help, less importing NumPy",
        "seconds",
        value,
        Goal(at_most=_MOST_HELP_SECONDS),
        best=best,
        details=times["help"].details("help") | times["numpy"].details("numpy"),
    )


def _process(command):
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


# ---- ONNX --------------------------------------------------------------------------


def exported(name, repeats, seed=0, n=4000, n_components=256):
    """Error of an exported model on rows it has not seen, and its time."""
    model, rows = _fitted(name, n, n_components, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        rhokit.export_onnx(model, path)
        session = onnxruntime.InferenceSession(path)
        size = path.stat().st_size
    single = rows.astype(np.float32)
    names = [each.name for each in session.get_outputs() if each.name != "label"]
    found = dict(zip(names, session.run(names, {"X": single}), strict=True))
    expected = _answers(model, single.astype(np.float64))
    error = max(_error(found[each], expected[each]) for each in expected)
    asked = next(iter(expected))
    jobs = {
        "onnx": lambda: session.run([asked], {"X": single}),
        "model": lambda: _answers(model, rows),
    }
    times = interleaved(jobs, repeats)
    ratio, best = compare(lambda a, b: a / b, times["onnx"], times["model"])
    yield Result(
        f"ONNX, {type(model).__name__} of {name}",
        "largest relative error",
        error,
        Goal(at_most=_PROMISED_ERROR),
        seed=seed,
        details={"rows": len(rows), "outputs": sorted(expected), "bytes": size},
    )
    yield Result(
        f"ONNX, {type(model).__name__} of {name}",
        "onnxruntime / rhokit, time",
        ratio,
        best=best,
        seed=seed,
        details=times["onnx"].details("onnx") | times["model"].details("model"),
    )


def _fitted(name, n, n_components, seed):
    """A model of a set's first rows, and the others."""
    arrays = load_arrays(name)
    options = {"n_components": n_components, "random_state": seed}
    order = np.random.default_rng(seed).permutation(len(arrays["X"]))
    X = arrays["X"][order].astype(np.float32).astype(np.float64)
    n = min(n, len(X) // 2)
    kind, target = _EXPORTED[name]
    y = None if target is None else arrays[target][order][:n]
    return kind(**options).fit(X[:n], y), X[n:]


def _answers(model, rows):
    if isinstance(model, DMKDClassifier):
        return {"probabilities": model.predict_proba(rows)}
    if isinstance(model, QMRegressor):
        mean = model.predict(rows, return_std=True)[0]
        return {"mean": mean, "interval": model.predict_interval(rows)}
    return {"log_density": model.score_samples(rows)}


def _error(found, expected):
    """Relative to the value; of what is below a thousandth, to that."""
    return float(np.max(np.abs(found - expected) / np.maximum(np.abs(expected), 1e-3)))


# ---- categories --------------------------------------------------------------------


def categories(repeats, seed=0, n=8000, n_test=4000, n_components=1000):
    """Cover types: two columns of categories beside ten of numbers."""
    arrays = load_arrays("covtype")
    order = np.random.default_rng(seed).permutation(len(arrays["X"]))[: n + n_test]
    X, y = arrays["X"][order].astype(float), arrays["y"][order]
    frame = pd.DataFrame(X[:, :10], columns=[f"x{i}" for i in range(10)])
    frame["wilderness"] = pd.Categorical(X[:, 10:14].argmax(axis=1))
    frame["soil"] = pd.Categorical(X[:, 14:].argmax(axis=1))
    options = {"n_components": n_components, "random_state": seed}
    scores = {
        "categories": _accuracy(frame, y, n, options),
        "as 0 and 1": _accuracy(pd.DataFrame(X), y, n, options),
        "without": _accuracy(frame.iloc[:, :10], y, n, options),
    }
    yield Result(
        "covtype, DMKDClassifier, categories as categories",
        "accuracy",
        scores["categories"],
        Goal(at_least=scores["without"]),
        seed=seed,
        details={"rows": n, **scores},
    )
    density = DMKDE(gamma=1.0, scale=None, **options).prepare(frame[:n])
    wide = density.check_batch(density.schema_.encode(frame), encoded=True)
    jobs = {
        "frame": lambda: density.blank().partial_fit(frame),
        "array": lambda: density.blank().partial_fit(wide),
    }
    times = interleaved(jobs, repeats)
    ratio, best = compare(lambda a, b: a / b, times["frame"], times["array"])
    yield Result(
        "covtype, DMKDE, a frame with categories / the same numbers",
        "time to add rows",
        ratio,
        Goal(at_most=_MOST_OVER_ARRAY),
        best=best,
        seed=seed,
        details=times["frame"].details("frame") | times["array"].details("array"),
    )


def _accuracy(frame, y, n, options):
    model = DMKDClassifier(**options).fit(frame[:n], y[:n])
    return float(model.score(frame[n:], y[n:]))


# ---- gaps --------------------------------------------------------------------------


def gaps(name, seed=0, n=3000, n_components=500):
    """Rows that lack values: integrated over, or filled with medians."""
    arrays = load_arrays(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(arrays["X"]))
    X = arrays["X"][order].astype(float)
    y = arrays["y_continuous" if "y_continuous" in arrays else "y"][order]
    n = min(n, len(X) // 2)
    kind = QMRegressor if "y_continuous" in arrays else DMKDClassifier
    model = kind(
        n_components=n_components,
        feature_map="landmarks",
        missing="integrate",
        random_state=seed,
    ).fit(X[:n], y[:n])
    test, truth = X[n : n + 300], y[n : n + 300]
    holes = np.where(rng.random(test.shape) < _GAPS, np.nan, test)
    filled = np.where(np.isnan(holes), np.median(X[:n], axis=0), holes)
    errors = {
        "integrated": _loss(model, holes, truth),
        "filled": _loss(model, filled, truth),
        "whole": _loss(model, test, truth),
    }
    return Result(
        f"{name}, {_GAPS:.0%} of the values missing, {kind.__name__}",
        "error, integrated / filled with medians",
        errors["integrated"] / errors["filled"],
        Goal(at_most=1.0),
        seed=seed,
        details={"rows": len(test), "columns": X.shape[1], **errors},
    )


def _loss(model, rows, truth):
    """Mean absolute error of values, share of wrong labels."""
    answers = model.predict(rows)
    if isinstance(model, QMRegressor):
        return float(np.abs(answers - truth).mean())
    return float((answers != truth).mean())
