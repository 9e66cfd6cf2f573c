"""The hot loops for NumPy arrays; each has its slow twin in :mod:`rhokit.core`."""

from rhokit.fast.blocks import (
    blas_threads,
    block_rows,
    map_blocks,
    map_jobs,
    one_worker,
    small_algebra,
)
from rhokit.fast.columns import (
    cosine_columns,
    distance_product,
    gaussian_columns,
    gaussian_sums,
)
from rhokit.fast.gram import GramSum, OutcomeSums
from rhokit.fast.hadamard import HadamardFrequencies
from rhokit.fast.joint import joint_factor
from rhokit.fast.measure import (
    FactorMeasurement,
    may_be_thin,
    pivoted_factor,
    thin_factor,
)
from rhokit.fast.series import Series, SeriesSums
from rhokit.fast.trees import add_to_cells, sum_over_cells, tree_cells

__all__ = [
    "FactorMeasurement",
    "GramSum",
    "HadamardFrequencies",
    "OutcomeSums",
    "Series",
    "SeriesSums",
    "add_to_cells",
    "blas_threads",
    "block_rows",
    "cosine_columns",
    "distance_product",
    "gaussian_columns",
    "gaussian_sums",
    "joint_factor",
    "map_blocks",
    "map_jobs",
    "may_be_thin",
    "one_worker",
    "pivoted_factor",
    "small_algebra",
    "sum_over_cells",
    "thin_factor",
    "tree_cells",
]
