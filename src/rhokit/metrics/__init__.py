"""How good predicted distributions are, and how far apart two models' data.

Arguments are in scikit-learn's order: the truth, what was predicted, and keywords.
"""

from rhokit.metrics.discrepancy import (
    Discrepancy,
    class_discrepancies,
    maximum_mean_discrepancy,
)
from rhokit.metrics.intervals import (
    CoverageByWidth,
    coverage_by_width,
    interval_coverage,
    interval_width,
)
from rhokit.metrics.scores import crps, pinball_loss, ranked_probability_score

__all__ = [
    "CoverageByWidth",
    "Discrepancy",
    "class_discrepancies",
    "coverage_by_width",
    "crps",
    "interval_coverage",
    "interval_width",
    "maximum_mean_discrepancy",
    "pinball_loss",
    "ranked_probability_score",
]
