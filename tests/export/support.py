"""What tests of exported models share: running a file, and comparing with the model."""

import functools

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine

from benchmarks import real_data
from rhokit.export import export_onnx

# Of log-densities, relative to max(1, |value|); of values, to the target's spread.
# The promise is 1e-5; models in double precision do far better.
DOUBLE = 1e-9
SINGLE = 1e-4
PROBABILITY = 1e-6


def session_of(model, folder, **options):
    """The runtime's session of an exported model, on one thread."""
    path = folder / "model.onnx"
    export_onnx(model, path, **{"output_dtype": "float64"} | options)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        path, settings, providers=["CPUExecutionProvider"]
    )


def answers(session, feeds):
    """All outputs by name."""
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


def run(model, rows, folder, **options):
    """What the exported model says of rows (n, d) of numbers."""
    feeds = {"X": np.asarray(rows, dtype=np.float32)}
    return answers(session_of(model, folder, **options), feeds)


def single(rows):
    """Rows as a file takes them: what single precision holds, in double."""
    return np.asarray(rows, dtype=np.float32).astype(np.float64)


def assert_same_density(found, expected, tolerance=DOUBLE, floor=-np.inf):
    """Equal log-densities; below the floor, where all is noise, both must be."""
    seen = expected > floor
    assert seen.any()
    scale = np.maximum(1, np.abs(expected[seen]))
    assert_allclose(found[seen] / scale, expected[seen] / scale, 0, tolerance)
    # Noise above zero by a little more, or by less, is noise all the same.
    assert (found[~seen] < max(floor, np.finfo(float).min) + 0.1).all()


def assert_same_probabilities(found, model, rows, tolerance=PROBABILITY):
    """Equal probabilities, absolutely and relatively, and equal labels."""
    expected = model.predict_proba(rows)
    assert found["probabilities"].dtype == np.float64
    assert_allclose(found["probabilities"], expected, 0, tolerance)
    large = expected > 1e-3
    assert_allclose(found["probabilities"][large], expected[large], tolerance)
    labels = model.predict(rows)
    if labels.dtype.kind == "b":
        labels = labels.astype(int)
    assert_array_equal(found["label"], labels)


def assert_same_values(found, model, rows, spread, tolerance=DOUBLE, **options):
    """Equal means, deviations, intervals and quantiles."""
    mean, std = model.predict(rows, return_std=True)
    coverage = options.get("coverage", 0.9)
    expected = {
        "mean": mean,
        "std": std,
        "interval": model.predict_interval(rows, coverage),
    }
    levels = options.get("quantiles")
    if levels is not None:
        expected["quantiles"] = model.predict_quantiles(rows, levels)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].shape == values.shape, name
        assert found[name].dtype == np.float64
        wide = np.reshape(spread, (-1, *[1] * (values.ndim - np.ndim(spread) - 1)))
        error = (found[name] - values) / wide
        assert_allclose(error, 0, 0, tolerance, err_msg=name)


@functools.cache
def wine():
    """178 rows of 13 columns and three classes."""
    X, y = load_wine(return_X_y=True)
    return single(X), y


def frame_columns():
    """Columns of every kind, and what depends on them."""
    rng, n = np.random.default_rng(0), 300
    table = {
        "width": single(rng.normal(size=n)),
        "colour": rng.choice(["red", "blue", "green"], n),
        "size": rng.choice(["S", "M", "L"], n),
        "doors": rng.integers(2, 6, n),
        "tax": rng.choice([0.1, 0.25, 1.5], n),
        "new": rng.random(n) < 0.3,
        "mean": single(rng.normal(size=n) + 1e4),
    }
    value = table["width"] + (table["colour"] == "red") * 2 + table["doors"]
    return table, value


def frame():
    """The columns as a frame, some of them categories."""
    table, _ = frame_columns()
    sizes = pd.Categorical(table["size"], categories=["S", "M", "L"], ordered=True)
    categories = {name: pd.Categorical(table[name]) for name in ("colour", "doors")}
    return pd.DataFrame(
        table | categories | {"size": sizes, "tax": pd.Categorical(table["tax"])}
    )


def feeds():
    """The columns as inputs of a file."""
    table, _ = frame_columns()
    types = {"U": object, "i": np.int64, "f": np.float32, "b": bool}
    parts = {
        name: values[:, None].astype(types[values.dtype.kind])
        for name, values in table.items()
    }
    return {name + "_" * (name == "mean"): part for name, part in parts.items()}


def real(name):
    """The arrays of a set of real data, or a skipped test where it is not there."""
    folder = real_data.data_folder()
    if folder is None or not (folder / f"{name}.npz").is_file():
        pytest.skip(f"no data: set {real_data.VARIABLE} to a folder with {name}.npz")
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        return {key: file[key] for key in file.files}
