"""The hot loops for NumPy arrays; each has its slow twin in :mod:`rhokit.core`."""

from rhokit.fast.blocks import blas_threads, block_rows, map_blocks, small_algebra
from rhokit.fast.columns import cosine_columns, gaussian_columns
from rhokit.fast.gram import GramSum
from rhokit.fast.hadamard import HadamardFrequencies
from rhokit.fast.measure import Measurement

__all__ = [
    "GramSum",
    "HadamardFrequencies",
    "Measurement",
    "blas_threads",
    "block_rows",
    "cosine_columns",
    "gaussian_columns",
    "map_blocks",
    "small_algebra",
]
