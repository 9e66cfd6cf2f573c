"""Several processes and machines: the same reduction, wherever the rows are.

:mod:`rhokit.parallel.dask` fits and predicts Dask collections.
"""

from rhokit.parallel.code import code_version
from rhokit.parallel.reduce import merge

__all__ = ["code_version", "merge"]
