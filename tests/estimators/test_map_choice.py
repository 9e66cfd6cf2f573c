"""Which map "auto" takes for one to three columns."""

import numpy as np
import pytest

from rhokit import DMKDE, GridFeatures, LandmarkFeatures


def chosen(d, width, *, stream=False, **parameters):
    """The map for rows over a box of so many units of a kernel with γ = 1."""
    ends = np.array([[0.0], [width]]) * np.ones(d)
    model = DMKDE(gamma=1.0, scale=None, random_state=0, **parameters)
    return type((model.partial_fit if stream else model.fit)(ends).feature_map_)


@pytest.mark.parametrize(
    ("d", "largest"),
    # Where the grid has about 2²² modes, or 2¹⁶ of three columns.
    [(1, 2e6), pytest.param(2, 700, marks=pytest.mark.slow), (3, 4)],
)
def test_grids_up_to_a_size(d, largest):
    assert chosen(d, 0.8 * largest) is GridFeatures
    assert chosen(d, 2 * largest) is LandmarkFeatures


@pytest.mark.parametrize(("d", "width"), [(1, 4e5), (2, 300), (3, 3)])
def test_smaller_ones_for_streams(d, width):
    assert chosen(d, width) is GridFeatures
    assert chosen(d, width, stream=True) is LandmarkFeatures
    assert chosen(d, 1e-2 * width, stream=True) is (
        LandmarkFeatures if d == 3 else GridFeatures
    )


def test_none_for_four_columns_or_a_rank():
    assert chosen(4, 0.1) is LandmarkFeatures
    assert chosen(1, 1e4, rank=1) is LandmarkFeatures
