"""Which map "auto" takes for one to three columns."""

import numpy as np
import pytest
from sklearn.base import clone

from rhokit import DMKDE, GridFeatures, LandmarkFeatures

one_landmark = pytest.mark.filterwarnings("ignore:the rows span too many widths")


def chosen(d, width, *, stream=False, **parameters):
    """The map for rows over a box of so many units of a kernel with γ = 1.

    More rows than landmarks, which otherwise would be all rows.
    """
    ends = np.array([[0.0], [width]]) * np.ones(d)
    parameters = {"n_components": 1, **parameters}
    model = DMKDE(gamma=1.0, scale=None, random_state=0, **parameters)
    return type((model.partial_fit if stream else model.fit)(ends).feature_map_)


@one_landmark
@pytest.mark.parametrize(
    ("d", "largest"),
    # Where the grid has about 2²² modes, or 2¹⁶ of three columns.
    [(1, 2e6), pytest.param(2, 700, marks=pytest.mark.slow), (3, 4)],
)
def test_grids_up_to_a_size(d, largest):
    assert chosen(d, 0.8 * largest) is GridFeatures
    assert chosen(d, 2 * largest) is LandmarkFeatures


@one_landmark
@pytest.mark.parametrize(("d", "width"), [(1, 4e5), (2, 300), (3, 3)])
def test_smaller_ones_for_streams(d, width):
    assert chosen(d, width) is GridFeatures
    assert chosen(d, width, stream=True) is LandmarkFeatures
    assert chosen(d, 1e-2 * width, stream=True) is (
        LandmarkFeatures if d == 3 else GridFeatures
    )


@pytest.mark.parametrize(("d", "width"), [(1, 4e5), (2, 300)])
class TestFewRows:
    """Where landmarks are all rows, a large grid would only cost more."""

    def test_take_landmarks(self, d, width):
        assert chosen(d, width, n_components=2) is LandmarkFeatures
        assert chosen(d, 1e-2 * width, n_components=2) is GridFeatures

    def test_copies_and_weights_are_no_more_rows(self, d, width):
        ends = np.array([[0.0], [width]]) * np.ones(d)
        some = np.linspace(0, 1, 9)[:, None] * ends[1]
        model = DMKDE(gamma=1.0, scale=None, random_state=0, n_components=2)
        copies = clone(model).fit(np.repeat(ends, 7, axis=0))
        weights = [1, 0, 0, 0, 0, 0, 0, 0, 2]
        weighted = clone(model).fit(some, sample_weight=weights)
        for each in (copies, weighted):
            assert type(each.feature_map_) is LandmarkFeatures
        assert type(model.fit(some).feature_map_) is GridFeatures


def test_none_for_four_columns_or_a_rank():
    assert chosen(4, 0.1) is LandmarkFeatures
    assert chosen(1, 1e4, rank=1) is LandmarkFeatures
