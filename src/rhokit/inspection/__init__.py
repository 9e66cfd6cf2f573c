"""Numbers that tell what a fitted model knows, as frozen values of arrays.

Every function takes a fitted estimator, one-pass or trained, or plain arrays.
:mod:`rhokit.plots`, :mod:`rhokit.report` and the program draw what is computed here.
"""

from rhokit.core import Spectrum
from rhokit.inspection.description import ColumnDescription, Description, describe
from rhokit.inspection.fidelity import Fidelity, Nearness, fidelity
from rhokit.inspection.histograms import (
    Histogram,
    histogram,
    score_histogram,
    tail_start,
    value_edges,
    view,
)
from rhokit.inspection.information import (
    JointInformation,
    column_information,
    joint_information,
)
from rhokit.inspection.labels import (
    Confusion,
    PredictedLabels,
    confusion,
    predict_labels,
)
from rhokit.inspection.marginals import (
    DensityGrid,
    NoMarginalError,
    category_probabilities,
    marginal_density,
    marginal_grid,
    region_levels,
    strongest_pair,
)
from rhokit.inspection.recognition import learned_share
from rhokit.inspection.reliability import (
    ReliabilityCurve,
    class_reliability,
    interval_reliability,
    reliability,
)
from rhokit.inspection.rows import InspectedRows, inspect_rows
from rhokit.inspection.scores import (
    RowScores,
    can_leave_out,
    landmark_reach,
    least_likely,
    normal_score,
    score_rows,
)
from rhokit.inspection.spectra import matrix_size, spectrum, spectrum_of_state
from rhokit.inspection.subjects import kind_of, one_pass
from rhokit.inspection.summaries import LabelSummary, ScoreSummary, ValueSummary
from rhokit.inspection.values import (
    PredictedValues,
    inside,
    predict_values,
    target_names,
)

__all__ = [
    "ColumnDescription",
    "Confusion",
    "DensityGrid",
    "Description",
    "Fidelity",
    "Histogram",
    "InspectedRows",
    "JointInformation",
    "LabelSummary",
    "Nearness",
    "NoMarginalError",
    "PredictedLabels",
    "PredictedValues",
    "ReliabilityCurve",
    "RowScores",
    "ScoreSummary",
    "Spectrum",
    "ValueSummary",
    "can_leave_out",
    "category_probabilities",
    "class_reliability",
    "column_information",
    "confusion",
    "describe",
    "fidelity",
    "histogram",
    "inside",
    "inspect_rows",
    "interval_reliability",
    "joint_information",
    "kind_of",
    "landmark_reach",
    "learned_share",
    "least_likely",
    "marginal_density",
    "marginal_grid",
    "matrix_size",
    "normal_score",
    "one_pass",
    "predict_labels",
    "predict_values",
    "region_levels",
    "reliability",
    "score_histogram",
    "score_rows",
    "spectrum",
    "spectrum_of_state",
    "strongest_pair",
    "tail_start",
    "target_names",
    "value_edges",
    "view",
]
