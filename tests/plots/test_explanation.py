"""Pictures of explanations: a bar per column, the largest contribution first."""

import numpy as np
import pytest

from rhokit import DMKDE
from rhokit.plots import ExplanationDisplay


def test_bars_of_a_row(iris):
    model = DMKDE(random_state=0).fit(iris)
    rows = iris.iloc[:2].copy()
    rows.iloc[1, 2] = 9.0
    why = model.explain(rows)
    display = ExplanationDisplay.from_estimator(model, rows, row=1, k=3)
    order = np.argsort(-why.contributions[1])[:3]
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, why.contributions[1][order])
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [iris.columns[place] for place in order]
    assert display.ax_.get_title(loc="left") == why.texts[1]
    assert display.order[0] == 2


def test_rows_that_are_not_there(iris):
    why = DMKDE(random_state=0).fit(iris).explain(iris.iloc[:2])
    with pytest.raises(ValueError, match="row must be from 0 to 1, got 2"):
        ExplanationDisplay.from_explanation(why, row=2)
    with pytest.raises(ValueError, match="k must"):
        ExplanationDisplay.from_explanation(why, k=0)
