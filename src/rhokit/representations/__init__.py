"""Representations: what a state is, chosen by the plan.

To add one, write a subclass of :class:`Representation` and put it into
:data:`REPRESENTATIONS`; a map asks for it by the name in its ``representation``.
"""

from rhokit.representations.base import Outcomes, Representation, State
from rhokit.representations.blend import BlendRepresentation
from rhokit.representations.blend_choice import plan_blend
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
        BlendRepresentation,
    )
}


__all__ = [
    "REPRESENTATIONS",
    "BlendRepresentation",
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
    "plan_blend",
    "series_state",
]
