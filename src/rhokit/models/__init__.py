"""Models: plan, read-out and state as one frozen value that learns and answers."""

from rhokit.models.column_distribution import (
    CategoryDistribution,
    NumberDistribution,
    distribution_of,
)
from rhokit.models.density_series import DensitySeries, series_of
from rhokit.models.explanation import Explanation, explanation_of
from rhokit.models.imputation import fill_gaps
from rhokit.models.mass import measured_mass
from rhokit.models.model import Model
from rhokit.models.mosaic_density import MosaicDensity
from rhokit.models.planning import plan_outcomes, takes_blend
from rhokit.models.row_sample import MeasuredSample, RowSample
from rhokit.models.sampling import draw_samples

__all__ = [
    "CategoryDistribution",
    "DensitySeries",
    "Explanation",
    "MeasuredSample",
    "Model",
    "MosaicDensity",
    "NumberDistribution",
    "RowSample",
    "distribution_of",
    "draw_samples",
    "explanation_of",
    "fill_gaps",
    "measured_mass",
    "plan_outcomes",
    "series_of",
    "takes_blend",
]
