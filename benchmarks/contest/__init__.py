"""Several models on the same rows, each in a process of its own.

``cases`` are rows on disk, ``contestants`` say how a model is made, ``worker`` is the
process that one of them lives in, ``referee`` lets them take turns and notes what they
took. Nothing here knows what the models are for.
"""

from benchmarks.contest.cases import Case, Facts
from benchmarks.contest.contestants import Contestant
from benchmarks.contest.referee import Limits, Score, compete

__all__ = ["Case", "Contestant", "Facts", "Limits", "Score", "compete"]
