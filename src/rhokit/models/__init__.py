"""Models: plan, read-out and state as one frozen value that learns and answers."""

from rhokit.models.density_series import DensitySeries, series_of
from rhokit.models.explanation import Explanation, explanation_of
from rhokit.models.mass import measured_mass
from rhokit.models.model import Model
from rhokit.models.mosaic_density import MosaicDensity
from rhokit.models.planning import plan_outcomes
from rhokit.models.row_sample import MeasuredSample, RowSample
from rhokit.models.sampling import draw_samples

__all__ = [
    "DensitySeries",
    "Explanation",
    "MeasuredSample",
    "Model",
    "MosaicDensity",
    "RowSample",
    "draw_samples",
    "explanation_of",
    "measured_mass",
    "plan_outcomes",
    "series_of",
]
