"""What all pictures have in common: they can be drawn, small and large, and kept."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rhokit import DMKDE
from rhokit.plots import (
    CalibrationDisplay,
    DensityDisplay,
    ImportanceDisplay,
    InformationDisplay,
    IntervalDisplay,
    ScoreDisplay,
    SpectrumDisplay,
)

DRAW = {
    "curve": lambda m, ax: DensityDisplay.from_estimator(
        *m["density"], columns=0, ax=ax
    ),
    "map": lambda m, ax: DensityDisplay.from_estimator(
        *m["density"], columns=[0, 1], ax=ax
    ),
    "pairs": lambda m, ax: DensityDisplay.from_estimator(*m["density"], n=20, ax=ax),
    "rows": lambda m, ax: DensityDisplay.from_estimator(*m["waves"], ax=ax),
    "score": lambda m, ax: ScoreDisplay.from_estimator(*m["density"], ax=ax),
    "spectrum": lambda m, ax: SpectrumDisplay.from_estimator(m["density"][0], ax=ax),
    "importance": lambda m, ax: ImportanceDisplay.from_estimator(
        m["classes"][0], ax=ax
    ),
    "information": lambda m, ax: InformationDisplay.from_estimator(
        m["classes"][0], ax=ax
    ),
    "interval": lambda m, ax: IntervalDisplay.from_estimator(*m["values"], ax=ax),
    "classes": lambda m, ax: CalibrationDisplay.from_estimator(*m["classes"], ax=ax),
    "coverage": lambda m, ax: CalibrationDisplay.from_estimator(*m["values"], ax=ax),
}


@pytest.fixture(scope="module")
def models(density, iris, patients, flowers):
    waves = DMKDE(
        n_components=32, gamma=1.0, scale=None, feature_map="fourier", random_state=0
    )
    return {
        "density": (density, iris),
        "waves": (waves.fit(iris), iris),
        "values": patients,
        "classes": flowers,
    }


def image_of(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="raw", dpi=40)
    return np.frombuffer(buffer.getvalue(), np.uint8)


@pytest.mark.parametrize("name", DRAW)
def test_it_can_be_drawn_alone_and_among_others(models, name):
    """Without a warning: those are errors here."""
    display = DRAW[name](models, None)
    assert len(np.unique(image_of(display.figure_))) > 10
    figure, axes = plt.subplots(1, 2, figsize=(8, 4))
    placed = DRAW[name](models, axes[1])
    assert placed.figure_ is figure
    assert len(np.unique(image_of(figure))) > 10
    assert not axes[0].has_data()


def test_the_same_picture_every_time(models):
    images = [image_of(DRAW["rows"](models, None).figure_) for _ in range(2)]
    np.testing.assert_array_equal(*images)


@pytest.mark.parametrize("name", DRAW)
def test_on_a_figure_that_pyplot_does_not_know(models, name):
    """As servers and reports draw: nothing is left in pyplot's list."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    display = DRAW[name](models, figure.subplots())
    assert display.figure_ is figure
    assert plt.get_fignums() == []
