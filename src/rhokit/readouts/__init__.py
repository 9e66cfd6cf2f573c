"""Read-outs: from what outcomes measure to answers.

To add one, write a subclass of :class:`ReadOut`, put it into :data:`READOUTS`, and
write an estimator that makes it.
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
from rhokit.readouts.outliers import OutlierReadOut

READOUTS: dict[str, type[ReadOut]] = {
    each.name: each
    for each in (
        DensityReadOut,
        DensityClassReadOut,
        JointReadOut,
        OrderedReadOut,
        LevelReadOut,
        OutlierReadOut,
    )
}
"""Every read-out that a model file can name."""

__all__ = [
    "DECISIONS",
    "DENSITY_SLACK",
    "LEAST_PROBABILITY",
    "OUTPUT_MAPS",
    "READOUTS",
    "ClassReadOut",
    "DensityClassReadOut",
    "DensityReadOut",
    "JointReadOut",
    "LevelReadOut",
    "OrderedReadOut",
    "OutlierReadOut",
    "ReadOut",
    "TargetReadOut",
]
