"""What a stream is told about its memory, and what of it makes no sense."""

from numbers import Integral, Real
from typing import Any

from rhokit.estimators.base import OnePassEstimator


def check_memory(half_life: Any, window: Any) -> None:
    """Refuse what says nothing about how the past is to be kept."""
    if half_life is not None and window is not None:
        raise ValueError("give either half_life or window, not both")
    if half_life is not None and not _is_positive(half_life, Real):
        raise ValueError(f"half_life must be a positive number, got {half_life!r}")
    if window is not None:
        check_positive("window", window)


def check_level(learn_above: Any, estimator: OnePassEstimator) -> None:
    """Refuse what is no p-value, and models that have none."""
    if learn_above is None:
        return
    if not (_is_positive(learn_above, Real) and learn_above < 1):
        raise ValueError(
            f"learn_above must be a number between 0 and 1, got {learn_above!r}"
        )
    if not hasattr(estimator, "p_values"):
        raise TypeError(
            "learn_above needs p-values, which a DMKDOutlierDetector has and a "
            f"{type(estimator).__name__} has not"
        )


def check_positive(name: str, count: Any) -> None:
    if not _is_positive(count, Integral):
        raise ValueError(f"{name} must be an integer >= 1, got {count!r}")


def _is_positive(value: Any, kind: type) -> bool:
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    return is_number and bool(value > 0)
