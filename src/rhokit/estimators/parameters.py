"""Tables of what parameters may be, for those that several estimators have."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from rhokit.core import Kernel
from rhokit.plans.request import GAMMA_RULES
from rhokit.plans.scaling import SCALE_RULES, TARGET_RULES
from rhokit.validation import Interval, RealNotInt, StrOptions

COMMON: dict[str, Any] = {
    "gamma": [
        Interval(Real, 0, None, closed="neither"),
        StrOptions(set(GAMMA_RULES)),
        None,
    ],
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "kernel": [str, Kernel, tuple, list],
    "scale": [StrOptions({"auto", *SCALE_RULES}), "array-like", None],
    "unseen": [StrOptions({"allow", "raise"})],
    "batch_size": [Interval(Integral, 1, None, closed="left"), None],
    "dtype": [StrOptions({"float32", "float64"}), type, np.dtype, None],
    "random_state": ["random_state", np.random.Generator],
}
MATRIX: dict[str, Any] = COMMON | {
    "rank": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="right"),
        StrOptions({"elbow"}),
        None,
    ],
    "missing": [StrOptions({"raise", "integrate"})],
}
TARGET: dict[str, Any] = MATRIX | {
    "scale": [StrOptions({"auto", *SCALE_RULES, *TARGET_RULES}), "array-like", None],
    "rank": [*MATRIX["rank"], StrOptions({"loo"})],
}
