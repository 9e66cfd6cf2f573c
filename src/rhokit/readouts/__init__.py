"""Read-outs: from what outcomes measure to answers.

To add one, write a subclass of :class:`ReadOut`, put it into :data:`READOUTS`, and
write an estimator that makes it.
"""

from typing import Any

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
from rhokit.readouts.located import LocatedReadOut
from rhokit.readouts.ordered_blend import BlendedOrderedReadOut
from rhokit.readouts.outliers import OutlierReadOut

READOUTS: dict[str, type[ReadOut]] = {
    each.name: each
    for each in (
        DensityReadOut,
        DensityClassReadOut,
        JointReadOut,
        OrderedReadOut,
        BlendedOrderedReadOut,
        LevelReadOut,
        LocatedReadOut,
        OutlierReadOut,
    )
}
"""Every read-out that a model file can name."""


def blended(readout: TargetReadOut) -> TargetReadOut:
    """The read-out of the same targets for a blend."""
    cls: Any = READOUTS[str(readout.blended)]
    made: TargetReadOut = cls.for_blend(readout)
    return made


__all__ = [
    "DECISIONS",
    "DENSITY_SLACK",
    "LEAST_PROBABILITY",
    "OUTPUT_MAPS",
    "READOUTS",
    "BlendedOrderedReadOut",
    "ClassReadOut",
    "DensityClassReadOut",
    "DensityReadOut",
    "JointReadOut",
    "LevelReadOut",
    "LocatedReadOut",
    "OrderedReadOut",
    "OutlierReadOut",
    "ReadOut",
    "TargetReadOut",
    "blended",
]
