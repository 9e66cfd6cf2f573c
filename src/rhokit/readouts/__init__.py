"""Read-outs: from what outcomes measure to answers.

To add one, write a subclass of :class:`ReadOut`, and an estimator that makes it.
"""

from rhokit.readouts.base import ReadOut, TargetReadOut
from rhokit.readouts.classes import (
    DENSITY_SLACK,
    LEAST_PROBABILITY,
    ClassReadOut,
    DensityClassReadOut,
)
from rhokit.readouts.density import DensityReadOut
from rhokit.readouts.joint import DECISIONS, OUTPUT_MAPS, JointReadOut, OrderedReadOut
from rhokit.readouts.levels import LevelReadOut

__all__ = [
    "DECISIONS",
    "DENSITY_SLACK",
    "LEAST_PROBABILITY",
    "OUTPUT_MAPS",
    "ClassReadOut",
    "DensityClassReadOut",
    "DensityReadOut",
    "JointReadOut",
    "LevelReadOut",
    "OrderedReadOut",
    "ReadOut",
    "TargetReadOut",
]
