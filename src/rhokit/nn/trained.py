"""What a training ends with."""

from dataclasses import dataclass
from typing import Any

from rhokit.nn.heads import Head


@dataclass(frozen=True, eq=False)
class Trained:
    """A one-pass estimator with what was learned, and how that went.

    Parameters
    ----------
    estimator : OnePassEstimator
    history : dict of lists
    improved : bool
        Whether what was learned was better than the start, and is kept.
    module : Head, optional
        None where no module computes the model.
    """

    estimator: Any
    history: dict[str, list[Any]]
    improved: bool
    module: Head | None = None
