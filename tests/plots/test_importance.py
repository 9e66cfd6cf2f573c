"""Pictures of importances: a bar per column, the largest first."""

import numpy as np
import pytest

from rhokit import DMKDE, QMRegressor
from rhokit.plots import ImportanceDisplay


def bars(ax):
    return [bar.get_width() for bar in ax.patches]


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_of_a_model(iris):
    rows, values = iris.iloc[:, :3], iris.iloc[:, 3]
    model = QMRegressor(n_components=32, scale="learned", random_state=0)
    shares = model.fit(rows, values).feature_importances_
    display = ImportanceDisplay.from_estimator(model)
    order = np.argsort(-shares)
    np.testing.assert_allclose(bars(display.ax_), 100 * shares[order])
    assert names(display.ax_) == [rows.columns[place] for place in order]
    np.testing.assert_allclose(display.ax_.lines[0].get_xdata(), 100 / 3)


def test_the_rest_is_one_bar():
    display = ImportanceDisplay(importances=np.array([0.1, 0.5, 0.15, 0.25]), k=2)
    ax = display.plot().ax_
    np.testing.assert_allclose(bars(ax), [50, 25, 25])
    assert names(ax) == ["column 1", "column 3", "2 more"]


def test_models_without_any(iris):
    with pytest.raises(AttributeError, match="feature_importances_"):
        ImportanceDisplay.from_estimator(DMKDE(n_components=16).fit(iris))
    with pytest.raises(ValueError, match="k must"):
        ImportanceDisplay.from_estimator(DMKDE(), k=0)
