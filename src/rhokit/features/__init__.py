"""Feature maps as scikit-learn transformers, and rules for their bandwidth."""

from rhokit.core import GaussianKernel
from rhokit.features.bandwidth import gamma_by_rule
from rhokit.features.base import FeatureMap
from rhokit.features.blend import BlendFeatures
from rhokit.features.bound import FourierBound
from rhokit.features.coherent import CoherentFeatures
from rhokit.features.fourier import FourierFeatures
from rhokit.features.grid import GridFeatures
from rhokit.features.kernel_sum import KernelSum
from rhokit.features.landmarks import LandmarkFeatures
from rhokit.features.mosaic import MosaicFeatures
from rhokit.features.onehot import OneHotFeatures
from rhokit.features.plugin import sheather_jones
from rhokit.features.quadrature import QuadratureFeatures
from rhokit.features.registry import MAPS, make_map, planned_names, register
from rhokit.features.sample import distinct_rows, group_rows, row_keys
from rhokit.features.softmax import SoftmaxFeatures

__all__ = [
    "MAPS",
    "BlendFeatures",
    "CoherentFeatures",
    "FeatureMap",
    "FourierBound",
    "FourierFeatures",
    "GaussianKernel",
    "GridFeatures",
    "KernelSum",
    "LandmarkFeatures",
    "MosaicFeatures",
    "OneHotFeatures",
    "QuadratureFeatures",
    "SoftmaxFeatures",
    "distinct_rows",
    "gamma_by_rule",
    "group_rows",
    "make_map",
    "planned_names",
    "register",
    "row_keys",
    "sheather_jones",
]
