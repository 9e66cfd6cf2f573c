"""When two states, two models or two sets of answers are the same."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

# Methods that answer from rows alone with numbers that hardly move if states do.
SMOOTH = (
    "score_samples",
    "predict_proba",
    "predict_distribution",
    "predict_state",
    "predict_interval",
)


def answers_of(estimator: Any, rows: Any) -> dict[str, Any]:
    """Everything that an estimator answers for rows, by the name of the method."""
    names = [*SMOOTH, "predict"]
    return {
        name: _as_array(getattr(estimator, name)(rows))
        for name in names
        if hasattr(estimator, name)
    }


def _as_array(answer: Any) -> Any:
    """One array; several targets answer with one each."""
    if isinstance(answer, list | tuple):
        return np.concatenate([np.ravel(part) for part in answer])
    return np.asarray(answer)


def assert_same_answers(
    actual: dict[str, Any], expected: dict[str, Any], tolerance: float = 0.0
) -> None:
    """Equal answers, up to a share of the largest; labels only where it is zero.

    Densities are compared by themselves, not by their logarithms, of which those far
    from all rows are uncertain.
    """
    assert actual.keys() == expected.keys()
    for name, right in expected.items():
        left = actual[name]
        if tolerance == 0:
            assert_array_equal(left, right, err_msg=name)
        elif name in SMOOTH or right.dtype.kind == "f":
            if name == "score_samples":
                top = right.max()
                top = top if np.isfinite(top) else 0.0  # no density anywhere
                left, right = np.exp(left - top), np.exp(right - top)
            size = np.abs(right).max(initial=1e-300)
            assert_allclose(
                left, right, rtol=0, atol=tolerance * size, err_msg=name, equal_nan=True
            )


def assert_same_state(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Equal arrays in all fields of a state, each up to a share of its largest."""
    assert type(actual) is type(expected)
    for field in fields(expected):
        left, right = (getattr(each, field.name) for each in (actual, expected))
        if isinstance(right, np.ndarray):
            size = np.abs(right).max(initial=1e-300)
            assert_allclose(
                left, right, rtol=0, atol=tolerance * size, err_msg=field.name
            )


def assert_same_sample(actual: Any, expected: Any) -> None:
    """Equal rows, targets and weights that are kept to be left out."""
    assert (actual is None) == (expected is None)
    if expected is not None:
        for name in ("keys", "rows", "target"):
            left, right = (getattr(each, name, None) for each in (actual, expected))
            assert_array_equal(left, right, err_msg=name)
        assert_allclose(actual.weight, expected.weight, rtol=1e-9)
        assert getattr(actual, "bound", None) == getattr(expected, "bound", None)


def assert_same_model(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Estimators of equal plans, states, labels and samples."""
    assert actual.fingerprint() == expected.fingerprint()
    assert_same_state(actual.state_, expected.state_, tolerance)
    if hasattr(expected, "classes_"):
        assert_array_equal(actual.classes_, expected.classes_)
    assert_same_sample(actual.sample_, expected.sample_)
