"""The maths, on any array that follows the array API (NumPy, torch)."""

from rhokit.core.bipartite import (
    entanglement_entropy,
    mutual_information,
    negativity,
    partial_trace,
    partial_transpose,
)
from rhokit.core.blend import BlendSums
from rhokit.core.cells import CellMoments, CellSums
from rhokit.core.density_matrix import DensityMatrix, LowRankDensityMatrix
from rhokit.core.feature_mean import FeatureMean
from rhokit.core.information import (
    effective_rank,
    fidelity,
    hilbert_schmidt_distance,
    holevo_bound,
    purity,
    relative_entropies,
    relative_entropy,
    trace_distance,
    von_neumann_entropy,
)
from rhokit.core.kernel import GaussianKernel, Kernel
from rhokit.core.losses import (
    cross_entropy,
    negative_log_likelihood,
    share_cross_entropy,
    squared_error_and_variance,
)
from rhokit.core.measurement import (
    amplitudes,
    factor_born,
    factor_trace,
    reduced_states,
)
from rhokit.core.readouts import (
    gaussian_log_norm,
    leave_one_out,
    log_measured,
    log_posterior,
)
from rhokit.core.spectrum import Spectrum, choose_rank, state_spectrum
from rhokit.core.states import (
    cosine_states,
    gaussian_columns,
    normalize_states,
    onehot_states,
    softmax_states,
)
from rhokit.core.toeplitz import ToeplitzDensityMatrix

__all__ = [
    "BlendSums",
    "CellMoments",
    "CellSums",
    "DensityMatrix",
    "FeatureMean",
    "GaussianKernel",
    "Kernel",
    "LowRankDensityMatrix",
    "Spectrum",
    "ToeplitzDensityMatrix",
    "amplitudes",
    "choose_rank",
    "cosine_states",
    "cross_entropy",
    "effective_rank",
    "entanglement_entropy",
    "factor_born",
    "factor_trace",
    "fidelity",
    "gaussian_columns",
    "gaussian_log_norm",
    "hilbert_schmidt_distance",
    "holevo_bound",
    "leave_one_out",
    "log_measured",
    "log_posterior",
    "mutual_information",
    "negative_log_likelihood",
    "negativity",
    "normalize_states",
    "onehot_states",
    "partial_trace",
    "partial_transpose",
    "purity",
    "reduced_states",
    "relative_entropies",
    "relative_entropy",
    "share_cross_entropy",
    "softmax_states",
    "squared_error_and_variance",
    "state_spectrum",
    "trace_distance",
    "von_neumann_entropy",
]
