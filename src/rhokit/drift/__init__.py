"""Whether data have changed, when, and in which columns."""

from rhokit.drift.comparing import compare
from rhokit.drift.comparison import ColumnChange, Comparison, PairChange

__all__ = ["ColumnChange", "Comparison", "PairChange", "compare"]
