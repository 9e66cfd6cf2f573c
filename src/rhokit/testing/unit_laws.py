"""What every estimator keeps to when columns or targets change their units."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

from rhokit.testing.cases import EstimatorCase, Law
from rhokit.testing.comparisons import answers_of, assert_same_answers

Floats = NDArray[np.float64]
Change = Callable[[Floats], Floats]

_TOLERANCE = 1e-9
# Logarithms are compared of densities at most so far below the highest.
_DEPTH = 30.0
# Exponents of ten of units, and of two of offsets in spreads, by precision.
_UNITS = {np.dtype(np.float64): 300, np.dtype(np.float32): 30}
_OFFSETS = {np.dtype(np.float64): 50, np.dtype(np.float32): 21}


def units(case: EstimatorCase) -> None:
    """Columns in other units give the same answers, and densities by their volume.

    Scores of outliers are p-values, which have no units.
    """
    numbers = _numbers(case)
    if numbers is None:
        return
    d, power = numbers.shape[1], _UNITS[numbers.dtype]
    signs = np.ones(d) if _rule(case) == "common" else (-1.0) ** np.arange(d)
    expected = _answers(case, np.ones(d))
    for sign in (1, -1):
        factors = 10.0 ** (sign * power * signs)
        found = _answers(case, factors, partial(np.multiply, factors))
        if get_tags(case.estimator).estimator_type != "outlier_detector":
            found["score_samples"] = found["score_samples"] + np.log(factors).sum()
        _assert_same(case, found, expected)


def offsets(case: EstimatorCase) -> None:
    """Columns that count from another zero, up to 1e15 spreads away, give the same."""
    numbers = _numbers(case)
    if numbers is None or not isinstance(_rule(case), str):
        return
    spread = numbers.std(axis=0, dtype=np.float64)
    width = 2.0 ** np.ceil(np.log2(spread))
    offset = 2.0 ** _OFFSETS[numbers.dtype] * width

    def near(rows: Floats) -> Floats:
        """Rows rounded to the digits that they have far away, too."""
        return np.round(4 * rows / width) / 4 * width

    ones = np.ones(len(width))
    expected = _answers(case, ones, near)
    for sign in (1, -1):

        def far(rows: Floats, away: Floats = sign * offset) -> Floats:
            return near(rows) + away

        _assert_same(case, _answers(case, ones, far), expected)


def target_units(case: EstimatorCase) -> None:
    """Targets in other units are predicted in these units, with their intervals."""
    target = case.data(60, 1)[1]
    if get_tags(case.estimator).estimator_type != "regressor":
        return
    ones = np.ones(0 if (numbers := _numbers(case)) is None else numbers.shape[1])
    expected = _answers(case, ones)
    for unit in (1e300, 1e-300):
        found = _answers(case, ones, target=target * unit)
        for name in ("predict", "predict_interval"):
            found[name] = found[name] / unit
        _assert_same(case, found, expected)


UNIT_LAWS: dict[str, Law] = {
    law.__name__: law for law in (units, offsets, target_units)
}


def _numbers(case: EstimatorCase) -> Any:
    """The columns of numbers that are scaled, as an array; None without any."""
    parameters, rows = case.estimator.get_params(), case.rows(60, 1)
    takes_numbers = getattr(parameters.get("feature_map"), "numeric_rows", True)
    if "scale" not in parameters or not takes_numbers:
        return None
    found = rows.select_dtypes("float").to_numpy() if hasattr(rows, "iloc") else rows
    return found if found.dtype in _UNITS and found.shape[1] else None


def _rule(case: EstimatorCase) -> Any:
    """The rule of scaling: of γ in the user's units, one that has none is taken."""
    rule = case.estimator.get_params()["scale"]
    chosen = rule is None or (isinstance(rule, str) and rule == "auto")
    return "std" if chosen else rule


def _answers(
    case: EstimatorCase,
    factors: Floats,
    change: Change = np.positive,
    target: Any = None,
) -> dict[str, Any]:
    """Answers of a model fitted to, and asked for, rows in other units."""
    rows, known = case.data(60, 1)
    rule, estimator = _rule(case), clone(case.estimator)
    estimator.set_params(scale=rule if isinstance(rule, str) else rule * factors)
    if _keeps_apart(case):
        estimator.set_params(n_components=len(rows))
    model = estimator.fit(_changed(rows, change), known if target is None else target)
    return answers_of(model, _changed(case.queries(), change))


def _keeps_apart(case: EstimatorCase) -> bool:
    """Whether rows are kept apart from landmarks: which, goes by their digits.

    With as many landmarks as rows there are none.
    """
    return case.estimator.get_params().get("reject") is not None


def _changed(rows: Any, change: Change) -> Any:
    """Rows whose numbers are changed, in their precision."""
    if not hasattr(rows, "iloc"):
        return change(rows.astype(np.float64)).astype(rows.dtype)
    names = rows.select_dtypes("float").columns
    return rows.assign(
        **dict(zip(names, change(rows[names].to_numpy()).T, strict=True))
    )


def _assert_same(case: EstimatorCase, found: Any, expected: Any) -> None:
    """Equal answers, and logarithms of densities wherever these are not tiny."""
    single = getattr(case.rows(2, 1), "dtype", None) == np.float32
    tolerance = case.tolerance if single or _keeps_apart(case) else _TOLERANCE
    assert_same_answers(found, expected, tolerance)
    left, right = (each["score_samples"] for each in (found, expected))
    seen = right > right.max() - _DEPTH
    assert_allclose(left[seen], right[seen], rtol=0, atol=100 * tolerance)
