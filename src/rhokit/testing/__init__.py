"""Laws that maps, representations and estimators obey, to be run on one's own.

Whoever writes a feature map, a representation or an estimator runs the same laws on it
as this library runs on its own:

- :func:`check_map` for a feature map,
- :func:`check_estimator` for an estimator,
- :func:`check_representation` for what a state is,

or law by law, as test runners like it: :data:`MAP_LAWS`, :data:`ESTIMATOR_LAWS` and
:data:`REPRESENTATION_LAWS` are functions by name, each of which takes a case and raises
an ``AssertionError`` where the law is broken.

Examples
--------
>>> from rhokit import LandmarkFeatures
>>> from rhokit.testing import check_map
>>> check_map(LandmarkFeatures(n_components=12, random_state=0))

With pytest, one test for each law:

>>> import pytest
>>> from rhokit.testing import MAP_LAWS, MapCase
>>> case = MapCase(LandmarkFeatures(n_components=12, random_state=0))
>>> @pytest.mark.parametrize("law", MAP_LAWS.values(), ids=MAP_LAWS.keys())
... def test_my_map(law):
...     law(case)
"""

from rhokit.testing.cases import EstimatorCase, MapCase, RepresentationCase
from rhokit.testing.checks import check_estimator, check_map, check_representation
from rhokit.testing.comparisons import (
    answers_of,
    assert_same_answers,
    assert_same_model,
    assert_same_state,
)
from rhokit.testing.estimator_laws import ESTIMATOR_LAWS
from rhokit.testing.map_laws import MAP_LAWS
from rhokit.testing.representation_laws import REPRESENTATION_LAWS

__all__ = [
    "ESTIMATOR_LAWS",
    "MAP_LAWS",
    "REPRESENTATION_LAWS",
    "EstimatorCase",
    "MapCase",
    "RepresentationCase",
    "answers_of",
    "assert_same_answers",
    "assert_same_model",
    "assert_same_state",
    "check_estimator",
    "check_map",
    "check_representation",
]
