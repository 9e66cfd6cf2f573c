"""Whether the compiled loops are there, and worth loading."""

import os
from functools import cache
from types import ModuleType

# Below this many numbers NumPy is done before the compiled loops are loaded. The
# choice depends on the block's size alone: the same rows always give the same bits.
_FEW_NUMBERS = 2**18


@cache
def compiled_loops() -> ModuleType | None:
    """The numba loops, or None where numba is missing or switched off.

    Set the environment variable ``RHOKIT_NUMBA=0`` to switch them off.
    """
    if os.environ.get("RHOKIT_NUMBA", "1") == "0":
        return None
    try:
        from rhokit.fast import loops
    except ImportError:
        return None
    return loops


def loops_for(size: int) -> ModuleType | None:
    """The compiled loops, if so many numbers are worth it."""
    return compiled_loops() if size >= _FEW_NUMBERS else None
