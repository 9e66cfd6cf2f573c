"""Constraints of the parameters that all trained models have."""

from numbers import Integral, Real
from pathlib import Path
from typing import Any

import torch

from rhokit.plans.request import GAMMA_RULES
from rhokit.validation import Interval, RealNotInt, StrOptions

TRAINING_RULES: dict[str, Any] = {
    "gamma": [
        Interval(Real, 0, None, closed="neither"),
        StrOptions({"auto", *GAMMA_RULES}),
    ],
    "rank": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="right"),
        StrOptions({"auto"}),
    ],
    "train_features": ["boolean"],
    "init": [StrOptions({"estimate", "random"})],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_epochs": [
        Interval(Integral, 1, None, closed="left"),
        StrOptions({"auto"}),
    ],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "weight_decay": [Interval(Real, 0, None, closed="left")],
    "early_stopping": ["boolean", StrOptions({"auto"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "patience": [Interval(Integral, 1, None, closed="left")],
    "warm_start": ["boolean"],
    "checkpoint": [str, Path, None],
    "device": [str, torch.device, None],
}
PATHS = tuple(name for name, rule in TRAINING_RULES.items() if Path in rule)
"""Parameters that name files, which no model file may give."""


def check_device(owner: str, device: Any) -> None:
    """Refuse a device that torch does not have here."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"The 'device' parameter of {owner} must be a device that torch has here. "
            f"Got {device!r} instead: {error}"
        ) from error
