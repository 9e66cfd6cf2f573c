"""Makes the golden files of today's protocol: ``python -m tests.io.golden.make``.

Golden files show for ever that files of an old protocol still load and still answer
what they did. They are made once, when a protocol is new; those of a protocol that a
release has written are never written again. ``--add`` makes those that are not there
yet, and leaves the others alone. ``--ask`` leaves all files alone, and notes what they
answer now: for changes of the answers that are meant, before a release.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import rhokit
from rhokit.io import PROTOCOL
from tests.io.models import CASES, MAPS, answers

HOME = Path(__file__).parent
MOST_BYTES = 60_000

# File: the model, and what is kept of it. Every class, map, form and precision.
FILES = {
    "density-fourier": ("density-phase-double", "exact"),
    "density-pair": ("density-pair-single", "exact"),
    "density-complex": ("density-complex-double", "exact"),
    "density-complex-factor": ("density-complex-single", "factor"),
    "density-structured": ("density-structured-double", "exact"),
    "density-landmarks": ("density-landmarks-double", "exact"),
    "density-landmarks-factor": ("density-rank", "factor"),
    "density-landmarks-single": ("density-share", "exact"),
    "density-quadrature": ("density-grid", "exact"),
    "density-series-line": ("density-series-line", "exact"),
    "density-series-space": ("density-series-space", "exact"),
    "density-series-bounds": ("density-series-bounds", "exact"),
    "density-series-whitened": ("density-series-whitened", "exact"),
    "density-series-prepared": ("density-series-prepared", "exact"),
    "density-words": ("density-words", "exact"),
    "density-mixed": ("density-mixed", "exact"),
    "density-mixed-factor": ("density-mixed-fourier", "factor"),
    "density-mixed-whitened": ("density-mixed-whitened", "exact"),
    "density-mosaic": ("density-mosaic", "exact"),
    "density-mosaic-factor": ("density-mosaic", "factor"),
    "density-mosaic-bent": ("density-mosaic-bent", "exact"),
    "density-mosaic-mixed": ("density-mosaic-mixed", "exact"),
    "outliers-mosaic": ("outliers-mosaic", "exact"),
    "outliers-mixed": ("outliers-mixed", "exact"),
    "outliers-clean": ("outliers-clean", "exact"),
    "density-whitened": ("density-wide", "exact"),
    "density-frame": ("density-frame", "exact"),
    "density-prepared": ("density-prepared", "exact"),
    "density-unfitted": ("density-unfitted", "exact"),
    "mean-landmarks": ("mean-landmarks-double", "exact"),
    "mean-complex": ("mean-complex-single", "exact"),
    "classes-text": ("classes-text", "exact"),
    "classes-bools": ("classes-bools", "exact"),
    "classes-objects": ("classes-objects", "exact"),
    "classes-words": ("classes-words", "exact"),
    "classes-mixed": ("classes-mixed-reject", "exact"),
    "classes-mixed-factor": ("classes-mixed", "factor"),
    "classes-reject": ("classes-reject", "exact"),
    "classes-reject-factor": ("classes-reject-single", "factor"),
    "classes-loo-rank": ("classes-loo-rank", "factor"),
    "classes-series-reject": ("classes-series-reject", "exact"),
    "classes-series-line": ("classes-series-line", "exact"),
    "joint-ints": ("joint-ints", "exact"),
    "joint-rank": ("joint-rank", "exact"),
    "joint-map": ("joint-map", "factor"),
    "joint-random-map": ("joint-random-map", "exact"),
    "ordinal": ("ordinal-chosen", "exact"),
    "ordinal-factor": ("ordinal-text", "factor"),
    "values": ("values-one", "exact"),
    "values-factor": ("values-within", "factor"),
    "values-two": ("values-two", "exact"),
    "values-words": ("values-words", "exact"),
    "values-mixed": ("values-mixed", "exact"),
    "values-raw": ("values-raw", "exact"),
    "values-series-line": ("values-series-line", "exact"),
    "values-prepared": ("values-prepared", "exact"),
    "classes-blend": ("classes-blend", "exact"),
    "values-blend": ("values-blend", "exact"),
    "trained-density": ("trained-density", "exact"),
    "trained-density-moved": ("trained-density-moved", "exact"),
    "trained-density-start": ("trained-density-start", "exact"),
    "trained-classes": ("trained-classes", "exact"),
    "trained-joint": ("trained-joint", "exact"),
    "trained-values": ("trained-values", "exact"),
    "map-fourier": ("phase-double", "exact"),
    "map-structured": ("structured-single", "exact"),
    "map-laplacian": ("laplacian-double", "exact"),
    "map-coherent": ("coherent-double", "exact"),
    "map-landmarks": ("normalized-double", "exact"),
    "map-quadrature": ("grid-double", "exact"),
    "map-series-line": ("series-line", "exact"),
    "map-series-space": ("series-space", "exact"),
    "map-mosaic": ("mosaic-double", "exact"),
    "map-blend": ("blend", "exact"),
    "map-words": ("words", "exact"),
    "map-mixed": ("map-of-mixed", "exact"),
    "map-softmax": ("softmax-double", "exact"),
}
# Bare states, with the models that they are taken from.
STATES = {
    "state-sums": ("classes-text", "exact"),
    "state-series-line": ("density-series-line", "exact"),
    "state-series-space": ("density-series-space", "exact"),
    "state-cells": ("density-mosaic", "exact"),
    "state-moments": ("density-mosaic", "factor"),
    "state-blend": ("classes-blend", "exact"),
    "state-mean": ("mean-phase-double", "exact"),
    "state-factor": ("classes-within", "factor"),
}
# Answers that follow from others, or depend on more than the file.
NOT_KEPT = ("sample", "density", "predict_log_proba", "decision_function")


def encoded(value):
    """An array or a frame as plain JSON."""
    if isinstance(value, pd.DataFrame):
        return {"columns": list(value.columns), "rows": value.to_numpy().tolist()}
    value = np.asarray(value)
    if value.dtype.kind == "c":
        parts = [value.real.tolist(), value.imag.tolist()]
        return {"dtype": value.dtype.str, "parts": parts}
    return {"dtype": value.dtype.str, "values": value.tolist()}


def decoded(given):
    """What :func:`encoded` was given."""
    if "columns" in given:
        return pd.DataFrame(given["rows"], columns=given["columns"])
    if "parts" in given:
        real, imaginary = (np.array(part) for part in given["parts"])
        return (real + 1j * imaginary).astype(given["dtype"])
    return np.array(given["values"], dtype=given["dtype"])


def questions(model, queries):
    """What a model of any kind answers, by name."""
    if hasattr(model, "normalized"):
        return {"normalized": model.normalized(), "weight": model.weight}
    is_asked = hasattr(model, "transform") or (
        getattr(model, "__sklearn_is_fitted__", bool)()
    )
    said = answers(model, queries) if is_asked else {}
    return {name: value for name, value in said.items() if name not in NOT_KEPT}


def content(name):
    """The bytes of a golden file, and rows to ask about."""
    if name in STATES:
        case, state = STATES[name]
        model = CASES[case].model
        bare = (model.compact() if state == "factor" else model).state_
        return rhokit.dumps(bare), np.zeros((0, 0))
    case, state = FILES[name]
    case = CASES.get(case) or MAPS[case]
    return rhokit.dumps(case.model, state=state), case.queries


def is_released():
    return "dev" not in rhokit.__version__


def make(home, *, again=False, add=False):
    """Write all golden files of today's protocol into a new directory.

    With ``add``, into one that has some, which stay as they are.
    """
    known = {}
    if add:
        known = json.loads((home / "expected.json").read_text())
    elif home.exists() and any(home.glob("*.rhokit")):
        if is_released():
            raise SystemExit(
                f"{home} holds files of protocol {PROTOCOL}, which rhokit "
                f"{rhokit.__version__} has released: they stay as they are"
            )
        if not again:
            raise SystemExit(f"{home} holds files already; --again replaces them")
    home.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name in (*FILES, *STATES):
        if name in known:
            expected[name] = known[name]
            continue
        data, queries = content(name)
        if len(data) > MOST_BYTES:
            raise SystemExit(f"{name} has {len(data)} bytes, more than {MOST_BYTES}")
        (home / f"{name}.rhokit").write_bytes(data)
        model = rhokit.loads(data)
        said = questions(model, queries)
        expected[name] = {
            "class": type(model).__name__,
            "sha256": hashlib.sha256(data).hexdigest(),
            "queries": encoded(queries),
            "answers": {each: encoded(value) for each, value in said.items()},
        }
    write(home, expected)


def ask_again(home):
    """Note what the files that are there answer now."""
    if is_released():
        raise SystemExit(f"{home}: answers of released files stay as they are")
    expected = json.loads((home / "expected.json").read_text())
    for name, each in expected.items():
        model = rhokit.load(home / f"{name}.rhokit")
        said = questions(model, decoded(each["queries"]))
        for what, value in each["answers"].items():
            if not is_same(said[what], decoded(value)):
                each["answers"][what] = encoded(said[what])
    write(home, expected)


def is_same(found, wanted):
    """Whether answers differ by no more than rounding."""
    found = np.asarray(found)
    if wanted.dtype.kind not in "fc":
        return np.array_equal(found, wanted)
    tol = 1e-5 if wanted.dtype.itemsize == 4 else 1e-9
    return np.allclose(found, wanted, rtol=tol, atol=tol, equal_nan=True)


def write(home, expected):
    text = ",\n".join(f"{json.dumps(n)}: {json.dumps(e)}" for n, e in expected.items())
    (home / "expected.json").write_text(f"{{\n{text}\n}}\n")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="replace unreleased files")
    parser.add_argument("--add", action="store_true", help="make missing files only")
    parser.add_argument("--ask", action="store_true", help="note today's answers")
    options = parser.parse_args(arguments)
    home = HOME / f"protocol{PROTOCOL}"
    if options.ask:
        return ask_again(home)
    make(home, again=options.again, add=options.add)


if __name__ == "__main__":
    main(sys.argv[1:])
