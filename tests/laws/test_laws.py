"""Every law of :mod:`rhokit.testing`, over everything in the catalogue."""

import pytest

from rhokit.features.registry import MAPS as NAMED_MAPS
from rhokit.representations import REPRESENTATIONS as NAMED_REPRESENTATIONS
from rhokit.testing import ESTIMATOR_LAWS, MAP_LAWS, REPRESENTATION_LAWS
from tests import catalogue


def every(cases, laws):
    """All laws, each over all cases."""
    return pytest.mark.parametrize(
        ("law", "case"),
        [
            pytest.param(law, case, id=f"{name}-{case_name}")
            for name, law in laws.items()
            for case_name, case in cases.items()
        ],
    )


@every(catalogue.ESTIMATORS, ESTIMATOR_LAWS)
def test_estimators(law, case):
    law(case)


@every(catalogue.MAPS, MAP_LAWS)
def test_maps(law, case):
    law(case)


@every(catalogue.REPRESENTATIONS, REPRESENTATION_LAWS)
def test_representations(law, case):
    law(case)


# Mosaics and blends have no states φ(x) of their own, whose overlaps laws of maps are
# about: laws of representations and of estimators apply.
WITHOUT_STATES = {"blend", "mosaic"}


def test_every_map_is_in_the_catalogue():
    tried = {type(case.feature_map) for case in catalogue.MAPS.values()}
    named = {name for name, cls in NAMED_MAPS.items() if cls not in tried}
    assert named == WITHOUT_STATES


def test_every_representation_is_in_the_catalogue():
    tried = {
        case.model.plan.representation for case in catalogue.REPRESENTATIONS.values()
    }
    assert tried == set(NAMED_REPRESENTATIONS)
