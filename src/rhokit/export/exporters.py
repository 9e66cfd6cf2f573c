"""Registries of the functions that turn the parts of a model into nodes.

A feature map, a representation and a read-out are known by their names. Whoever adds
one registers a function for it here, and nothing else of this package changes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rhokit.export.graph import Value
from rhokit.models import Model

Exporter = TypeVar("Exporter", bound=Callable[..., Any])


class Exporters(Generic[Exporter]):
    """Functions by the name of what they turn into nodes.

    Parameters
    ----------
    what : str
        What they are for, in the words of an error.

    Examples
    --------
    >>> from rhokit.export import MAP_EXPORTERS
    >>> {"fourier", "landmarks"} <= set(MAP_EXPORTERS.names())
    True
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._functions: dict[str, Exporter] = {}

    def register(self, name: str) -> Callable[[Exporter], Exporter]:
        """Decorator of the function for what has this name."""
        if not name or name in self._functions:
            raise ValueError(
                f"name must be one that no other {self._what} is exported under, got "
                f"{name!r}: known are {', '.join(self.names())}"
            )

        def keep(function: Exporter) -> Exporter:
            self._functions[name] = function
            return function

        return keep

    def find(self, name: str, owner: Any) -> Exporter:
        """The function for a name; ``owner`` is what has it, for the error."""
        if name not in self._functions:
            raise ValueError(
                f"export knows the {self._what}s {', '.join(self.names())}, not "
                f"{owner!r}, whose name is {name!r}: register a function that turns it "
                "into values of a graph in rhokit.export"
            )
        return self._functions[name]

    def names(self) -> list[str]:
        """Names that are known, in alphabetical order."""
        return sorted(self._functions)


class MapColumns(NamedTuple):
    """Columns (n, m) and the logarithm (n, 1) of what was taken out of them."""

    values: Value
    log_scale: Value | None = None


@dataclass(frozen=True)
class Wanted:
    """Options of the outputs that predict values.

    Parameters
    ----------
    coverage : float
        Of the intervals.
    quantiles : array-like of shape (q,), optional
        Probabilities of the quantiles.
    """

    coverage: float = 0.9
    quantiles: Any = None


MAP_EXPORTERS: Exporters[Callable[[Any, Value], MapColumns]] = Exporters("feature map")
"""From a fitted map and scaled rows (n, d) to columns (n, m).

Complex columns are their real parts, then their imaginary ones.
"""

REPRESENTATION_EXPORTERS: Exporters[Callable[[Any, Model, Value], Value]] = Exporters(
    "representation"
)
"""From a representation, its model and scaled rows to measured logarithms (n, K)."""

READOUT_EXPORTERS: Exporters[Callable[[Any, Model, Value, Wanted], None]] = Exporters(
    "read-out"
)
"""From a read-out, its model and scaled rows to the outputs of the graph."""


def map_columns(model: Model, rows: Value) -> MapColumns:
    """Columns of scaled rows as they are measured, in the precision of the model.

    Everything up to them is computed in double precision, whatever the model works in:
    it costs little, and offsets, distances and phases lose no digits.
    """
    feature_map = model.plan.measured_map
    export = MAP_EXPORTERS.find(feature_map.name, feature_map)
    values, log_scale = export(feature_map, rows)
    return MapColumns(values.cast(feature_map.dtype_), log_scale)


def log_measured(model: Model, rows: Value) -> Value:
    """Logarithms (n, K) of what scaled rows measure, however far away they are."""
    representation = model.representation
    export = REPRESENTATION_EXPORTERS.find(representation.name, representation)
    return export(representation, model, rows)


def fitted_model(estimator: Any, caller: str) -> Model:
    """One snapshot of what an estimator knows, which must hold rows."""
    if hasattr(estimator, "to_estimator") and not isinstance(estimator, type):
        check_is_fitted(estimator)
        estimator = estimator.estimator_  # what training ended with
    if isinstance(estimator, type) or not hasattr(estimator, "fitted_model"):
        raise TypeError(
            f"{caller} takes a fitted estimator of rhokit, got "
            f"{estimator if isinstance(estimator, type) else type(estimator).__name__}"
        )
    model: Model = estimator.fitted_model()
    return model


def check_quantiles(estimator: Any, model: Model, quantiles: Any) -> None:
    """Refuse quantiles of what predicts no values."""
    if quantiles is not None and model.readout.kind != "values":
        raise ValueError(
            f"quantiles must be None for a {type(estimator).__name__}, which predicts "
            f"no values. Got {quantiles!r} instead."
        )


def add_outputs(model: Model, rows: Value, wanted: Wanted) -> None:
    """All outputs of the model's read-out."""
    export = READOUT_EXPORTERS.find(model.readout.name, model.readout)
    export(model.readout, model, rows, wanted)


def real_weights(weights: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Complex weights (m, r) for columns of real and imaginary parts, (2m, 2r).

    Products are real parts, then imaginary ones; real weights stay as they are.
    """
    if not np.iscomplexobj(weights):
        return weights
    real, imaginary = weights.real, weights.imag
    return np.block([[real, imaginary], [-imaginary, real]])
