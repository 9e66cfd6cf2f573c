"""Learning from what does not fit in memory, or never ends."""

from rhokit.streams.fitting import fit_batches, fit_files
from rhokit.streams.learner import Stream

__all__ = ["Stream", "fit_batches", "fit_files"]
