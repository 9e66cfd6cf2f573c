"""Learning from what does not fit in memory, or never ends."""

from rhokit.streams.fitting import fit_batches, fit_files
from rhokit.streams.history import History, Period
from rhokit.streams.learner import Stream
from rhokit.streams.reading import read_frames, typical_values
from rhokit.streams.whole_tables import read_table

__all__ = [
    "History",
    "Period",
    "Stream",
    "fit_batches",
    "fit_files",
    "read_frames",
    "read_table",
    "typical_values",
]
