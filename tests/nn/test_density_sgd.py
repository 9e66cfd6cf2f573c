"""DMKDESGD: densities that integrate to one, and are likelier than their start."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from rhokit import DMKDE, DMKDESGD, LandmarkFeatures, QuadratureFeatures
from rhokit.datasets import bimodal, spirals
from rhokit.nn import TrainingWarning

# Name: rows to train on, rows to judge by, a grid over all of the mass, its cell.
AXIS = np.linspace(-0.3, 1.3, 161)
LINE = np.linspace(-12, 17, 6001)[:, None]
DATA = {
    "bimodal": (
        bimodal(2000, random_state=0),
        bimodal(2000, random_state=1),
        LINE,
        float(LINE[1, 0] - LINE[0, 0]),
    ),
    "spirals": (
        spirals(2000, random_state=0)[0],
        spirals(2000, random_state=1)[0],
        np.stack(np.meshgrid(AXIS, AXIS), axis=-1).reshape(-1, 2),
        float(AXIS[1] - AXIS[0]) ** 2,
    ),
}


def mass(model, grid, cell):
    return model.density(grid).sum() * cell


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("bimodal", {"rank": 8}),
        ("bimodal", {"rank": 8, "init": "random"}),
        ("bimodal", {"rank": 8, "feature_map": "landmarks", "n_components": 64}),
        ("spirals", {"rank": 30, "n_components": 128}),
    ],
    ids=str,
)
def test_likelier_than_one_pass_at_the_same_mass(name, settings):
    """Also if the one-pass model is given back the mass that truncation took."""
    rows, new, grid, cell = DATA[name]
    trained = DMKDESGD(random_state=0, **settings).fit(rows)
    assert_allclose(mass(trained, grid, cell), 1, atol=1e-2)
    shared = {key: value for key, value in settings.items() if key != "init"}
    start = DMKDE(random_state=0, **shared).fit(rows)
    lost = mass(start, grid, cell)
    assert lost < 1.01
    assert trained.score(new) > start.score(new) - np.log(lost) + 0.01


@pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
@pytest.mark.parametrize("settings", [{}, {"train_features": True}], ids=str)
def test_trained_landmarks_keep_the_mass_at_one(settings):
    rows, _, grid, cell = DATA["bimodal"]
    model = DMKDESGD(
        rank=8,
        feature_map="landmarks",
        n_components=32,
        max_epochs=10,
        random_state=0,
        **settings,
    ).fit(rows)
    assert isinstance(model.estimator_.feature_map_, LandmarkFeatures)
    assert_allclose(mass(model, grid, cell), 1, atol=1e-6)


def test_mass_does_not_depend_on_units():
    rows, _, grid, cell = DATA["bimodal"]
    model = DMKDESGD(rank=4, random_state=0).fit(rows * 1000)
    assert isinstance(model.estimator_.feature_map_, QuadratureFeatures)
    assert_allclose(mass(model, grid * 1000, cell * 1000), 1, atol=1e-6)


class TestFourier:
    def test_trained_frequencies_warn_of_singularities(self):
        model = DMKDESGD(
            feature_map="fourier",
            n_components=32,
            train_features=True,
            max_epochs=2,
            random_state=0,
        )
        with pytest.warns(TrainingWarning, match="random features.*singularities"):
            model.fit(DATA["bimodal"][0][:200])

    def test_frozen_frequencies_do_not(self):
        rows, new, *_ = DATA["bimodal"]
        model = DMKDESGD(
            feature_map="fourier", n_components=128, max_epochs=5, random_state=0
        ).fit(rows)
        assert np.isfinite(model.score(new))

    def test_likelihood_is_bounded(self):
        """By as much as the mass can grow: a factor of the root of two in 1-D."""
        rows, _, grid, cell = DATA["bimodal"]
        model = DMKDESGD(
            feature_map="fourier", n_components=512, rank=8, random_state=0
        ).fit(rows)
        inside = (grid[:, 0] > -5) & (grid[:, 0] < 10)
        assert mass(model, grid[inside], cell) < 1.6


@pytest.fixture(scope="module")
def model():
    return DMKDESGD(rank=8, random_state=0).fit(DATA["bimodal"][0])


class TestAnswers:
    def test_score_is_the_mean_of_log_densities(self, model):
        new = DATA["bimodal"][1]
        logs = model.score_samples(new)
        assert_allclose(np.exp(logs), model.density(new))
        assert_allclose(model.score(new), logs.mean())
        weight = np.arange(len(new))
        assert_allclose(
            model.score(new, sample_weight=weight), np.average(logs, weights=weight)
        )

    def test_samples_follow_the_trained_density(self, model):
        drawn = model.sample(2000, random_state=0)
        assert drawn.shape == (2000, 1)
        _, _, grid, cell = DATA["bimodal"]
        density = model.density(grid)
        for edge in (-1.0, 0.0, 2.5, 4.0, 5.0, 6.0):
            below = density[grid[:, 0] < edge].sum() * cell
            assert_allclose((drawn < edge).mean(), below, atol=0.04)

    def test_reach_and_floor(self, model):
        assert_allclose(model.reach([[0.0], [5.0]]), 1, atol=1e-3)
        assert model.floor_ == model.estimator_.floor_

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            DMKDESGD().sample()


def test_validation_row_of_density_zero():
    """Outside a grid's box: whatever is done about it, the user is told."""
    rows = DATA["bimodal"][0][:200]
    with pytest.raises((ValueError, TrainingWarning)):
        DMKDESGD(rank=4, random_state=0).fit(
            rows, validation_data=(np.array([[0.0], [1e3]]),)
        )


def test_validation_rows_need_no_tuple():
    rows, new, *_ = DATA["bimodal"]
    settings = {"rank": 8, "max_epochs": 15, "random_state": 0}
    bare = DMKDESGD(**settings).fit(rows, validation_data=new)
    packed = DMKDESGD(**settings).fit(rows, validation_data=(new,))
    assert bare.history_ == packed.history_


@pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
@pytest.mark.parametrize("rank", [1, 4])
def test_one_row(rank):
    """All mass about it, by a γ that is given: none can be learned."""
    model = DMKDESGD(gamma=2.0, scale=None, rank=rank, max_epochs=3, random_state=0)
    model.fit([[3.0]])
    axis = np.linspace(-3, 9, 4001)[:, None]
    density = model.density(axis)
    assert_allclose(density.sum() * (axis[1, 0] - axis[0, 0]), 1, atol=1e-2)
    assert abs(axis[density.argmax(), 0] - 3.0) < 0.5
    with pytest.raises(ValueError, match="gamma"):
        DMKDESGD().fit([[3.0]])
