"""Representations: what a state is, chosen by the plan.

To add one, write a subclass of :class:`Representation` and put it into
:data:`REPRESENTATIONS`; a map asks for it by the name in its ``representation``.
"""

from rhokit.representations.base import Outcomes, Representation, State
from rhokit.representations.cache import Cache
from rhokit.representations.fourier_density import FourierDensity
from rhokit.representations.matrix import MatrixRepresentation
from rhokit.representations.mean import MeanRepresentation
from rhokit.representations.memory import Load, MemoryEstimate, estimate_memory
from rhokit.representations.mosaic import MosaicRepresentation
from rhokit.representations.series import SeriesRepresentation, series_state

REPRESENTATIONS: dict[str, type[Representation]] = {
    each.name: each
    for each in (
        MatrixRepresentation,
        SeriesRepresentation,
        MeanRepresentation,
        MosaicRepresentation,
    )
}


__all__ = [
    "REPRESENTATIONS",
    "Cache",
    "FourierDensity",
    "Load",
    "MatrixRepresentation",
    "MeanRepresentation",
    "MemoryEstimate",
    "MosaicRepresentation",
    "Outcomes",
    "Representation",
    "SeriesRepresentation",
    "State",
    "estimate_memory",
    "series_state",
]
