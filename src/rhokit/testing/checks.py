"""All laws at once."""

from collections.abc import Iterable, Mapping
from typing import Any

from rhokit import DMKDE
from rhokit.features.registry import MAPS
from rhokit.testing.cases import (
    EstimatorCase,
    Law,
    MapCase,
    RepresentationCase,
    RowsOf,
    TargetOf,
    normal_rows,
)
from rhokit.testing.estimator_laws import ESTIMATOR_LAWS
from rhokit.testing.map_laws import MAP_LAWS
from rhokit.testing.representation_laws import REPRESENTATION_LAWS


def check_map(
    feature_map: Any,
    rows: RowsOf = normal_rows,
    *,
    skip: Iterable[str] = (),
    tolerance: float = 1e-10,
) -> None:
    """Run all laws of feature maps on a map, and those of a density with it.

    Parameters
    ----------
    feature_map : FeatureMap
        Not fitted.
    rows : callable, optional
        From a number of rows and a seed to an array of rows that the map takes.
    skip : iterable of str
        Names of laws to leave out.
    tolerance : float, default=1e-10
        Of states and overlaps.

    Raises
    ------
    AssertionError
        Where a law is broken; its name is noted.

    Examples
    --------
    >>> from rhokit import FourierFeatures
    >>> from rhokit.testing import check_map
    >>> check_map(FourierFeatures(n_components=16, random_state=0))
    """
    _run(MAP_LAWS, MapCase(feature_map, rows, tolerance), skip)
    known = MAPS.get(feature_map.name) is type(feature_map)
    density = DMKDE(gamma=0.7, feature_map=feature_map, scale=None, random_state=0)
    skip = [*skip, *([] if known else ["files", "refits"])]
    _run(ESTIMATOR_LAWS, EstimatorCase(density, rows), skip)


def check_estimator(
    estimator: Any,
    rows: RowsOf = normal_rows,
    target: TargetOf | None = None,
    *,
    skip: Iterable[str] = (),
    tolerance: float = 1e-7,
) -> None:
    """Run all laws of estimators on one.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    rows : callable, optional
        From a number of rows and a seed to an array or a pandas frame.
    target : callable, optional
        From rows and a seed to targets: see :class:`EstimatorCase`.
    skip : iterable of str
        Names of laws to leave out.
    tolerance : float, default=1e-7
        Of answers, where rows were added up in another order.

    Raises
    ------
    AssertionError
        Where a law is broken; its name is noted.

    Examples
    --------
    >>> from rhokit import DMKDE
    >>> from rhokit.testing import check_estimator
    >>> check_estimator(DMKDE(gamma=0.7, n_components=16, random_state=0))
    """
    case = EstimatorCase(estimator, rows, target, tolerance)
    _run(ESTIMATOR_LAWS, case, skip)


def check_representation(
    model: Any,
    rows: RowsOf = normal_rows,
    *,
    skip: Iterable[str] = (),
    tolerance: float = 1e-9,
) -> None:
    """Run all laws of representations on that of a model.

    Parameters
    ----------
    model : rhokit.models.Model
        Of one outcome; whether it holds rows does not matter.
    rows : callable, optional
        From a number of rows and a seed to an array, in the user's units.
    skip : iterable of str
        Names of laws to leave out.
    tolerance : float, default=1e-9
        Of measured values, over the largest.

    Raises
    ------
    AssertionError
        Where a law is broken; its name is noted.

    Examples
    --------
    >>> from rhokit import DMKDE
    >>> from rhokit.testing import check_representation
    >>> from rhokit.testing.cases import normal_rows
    >>> estimator = DMKDE(gamma=0.7, random_state=0).prepare(normal_rows(60, 1))
    >>> check_representation(estimator.prepared_model())
    """
    _run(REPRESENTATION_LAWS, RepresentationCase(model, rows, tolerance), skip)


def _run(laws: Mapping[str, Law], case: Any, skip: Iterable[str]) -> None:
    left_out = set(skip)
    for name, law in laws.items():
        if name not in left_out:
            try:
                law(case)
            except AssertionError as error:
                error.add_note(f"the law that is broken: {name}")
                raise
