"""Whether data have changed, when, and in which columns."""

from rhokit.drift.comparing import compare
from rhokit.drift.comparison import ColumnChange, Comparison, PairChange
from rhokit.drift.finding import find_changes
from rhokit.drift.timeline import Timeline, Track
from rhokit.drift.watch import ChangePoint, Watch

__all__ = [
    "ChangePoint",
    "ColumnChange",
    "Comparison",
    "PairChange",
    "Timeline",
    "Track",
    "Watch",
    "compare",
    "find_changes",
]
