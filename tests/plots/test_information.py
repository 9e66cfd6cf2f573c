"""Tables of relative entropies between outcomes."""

import numpy as np
import pytest

from rhokit import DMKDE, DMKDClassifier, QMRegressor
from rhokit.inspection import joint_information
from rhokit.plots import InformationDisplay
from tests.inspection.models import case

SMALL = {"n_components": 32, "feature_map": "landmarks", "random_state": 0}


def texts(ax):
    return [each.get_text() for each in ax.texts]


def test_a_table_of_classes():
    model = case("joint classes").model
    display = InformationDisplay.from_estimator(model)
    found = joint_information(model)
    table = found.relative_entropies
    off = table[~np.eye(len(table), dtype=bool)]
    assert texts(display.ax_) == ["∞" if np.isinf(v) else f"{v:.1f}" for v in off]
    names = [each.get_text() for each in display.ax_.get_yticklabels()]
    assert names == model.classes_.tolist()
    title = display.ax_.get_title(loc="left")
    assert title.startswith(f"inputs tell {found.holevo:.2f} of 1.09 nats")
    drawn = display.ax_.images[0].get_array()
    assert np.isfinite(drawn).all()
    np.testing.assert_allclose(drawn[np.isfinite(table)], table[np.isfinite(table)])


def test_infinite_ones_are_the_darkest():
    X = np.array([[0.0], [0.0], [9.0], [9.0]])
    model = DMKDClassifier(gamma=4.0, scale=None, **SMALL).fit(X, [0, 0, 1, 1])
    display = InformationDisplay.from_estimator(model)
    assert texts(display.ax_) == ["∞", "∞"]
    assert display.ax_.images[0].get_array()[0, 1] > 0


def test_many_levels_have_colours_alone(patients):
    X, y = patients[1:]
    model = QMRegressor(**SMALL).fit(X, y)
    display = InformationDisplay.from_estimator(model)
    assert not texts(display.ax_)
    assert len(display.information.outcomes) == 32


def test_densities_have_none(iris):
    with pytest.raises(TypeError, match="models with a target"):
        InformationDisplay.from_estimator(DMKDE(**SMALL).fit(iris))
