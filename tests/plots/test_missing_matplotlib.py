"""Without matplotlib: displays can be imported, and say what drawing needs."""

import subprocess
import sys

from tests.support import without

SAYS_WHAT_IT_NEEDS = """
import numpy as np
from rhokit import DMKDE
from rhokit.plots import DensityDisplay, ScoreDisplay

X = np.random.default_rng(0).normal(size=(50, 2))
model = DMKDE(random_state=0).fit(X)
for draw in (
    lambda: DensityDisplay.from_estimator(model),
    lambda: DensityDisplay.from_estimator(model, columns=0),
    lambda: ScoreDisplay.from_estimator(model, X),
):
    try:
        draw()
    except ImportError as error:
        assert "Display needs matplotlib: pip install 'rhokit[plot]'" in str(error)
    else:
        raise AssertionError("nothing was said")
"""
NOTHING_IS_LOADED = """
import sys
import rhokit.plots
assert "matplotlib" not in sys.modules
"""


def test_importing_loads_nothing_and_drawing_says_what_it_needs():
    code = NOTHING_IS_LOADED + without("matplotlib") + SAYS_WHAT_IT_NEEDS
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
