"""Pictures of fitted models, as scikit-learn's displays are.

Every display holds the numbers of its picture, which ``from_estimator`` computes, and
draws them with ``plot``. None of them opens a window: a notebook shows what was drawn,
a script saves ``display.figure_``. matplotlib is loaded when something is drawn.
"""

from rhokit.plots.calibration import CalibrationDisplay
from rhokit.plots.comparison import ComparisonDisplay
from rhokit.plots.density import DensityDisplay
from rhokit.plots.explanation import ExplanationDisplay
from rhokit.plots.importance import ImportanceDisplay
from rhokit.plots.information import InformationDisplay
from rhokit.plots.interval import IntervalDisplay
from rhokit.plots.score import ScoreDisplay
from rhokit.plots.spectrum import SpectrumDisplay
from rhokit.plots.timeline import TimelineDisplay

__all__ = [
    "CalibrationDisplay",
    "ComparisonDisplay",
    "DensityDisplay",
    "ExplanationDisplay",
    "ImportanceDisplay",
    "InformationDisplay",
    "IntervalDisplay",
    "ScoreDisplay",
    "SpectrumDisplay",
    "TimelineDisplay",
]
