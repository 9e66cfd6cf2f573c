"""Feature maps by name."""

from typing import Any, TypeVar

from rhokit.features.base import FeatureMap

MAPS: dict[str, type[FeatureMap]] = {}
"""Every map that a plan or a model file can name."""

Map = TypeVar("Map", bound=type[FeatureMap])


def register(cls: Map) -> Map:
    """Class decorator that makes a map known by its ``name``.

    Examples
    --------
    >>> from rhokit.features.registry import MAPS
    >>> MAPS["landmarks"].__name__
    'LandmarkFeatures'
    """
    known = MAPS.setdefault(cls.name, cls)
    if not cls.name or known is not cls:
        raise ValueError(
            f"a feature map needs a name of its own: {cls.__name__} has {cls.name!r}, "
            f"which is that of {known.__name__}"
        )
    return cls


def planned_names() -> tuple[str, ...]:
    """Names of the maps that can be made for a γ alone, in alphabetical order."""
    return tuple(sorted(name for name, cls in MAPS.items() if "gamma" in cls.settings))


def make_map(wanted: str | FeatureMap, **settings: Any) -> FeatureMap:
    """A map by its name, or a copy of one that is given; not fitted.

    Parameters
    ----------
    wanted : str or FeatureMap
    **settings
        ``gamma``, ``random_state``, ``n_components``, ``margin``, ``normalize``,
        ``landmarks``: those among the map's ``settings`` are used, others ignored; a
        map that is given takes a γ and a seed, see :meth:`FeatureMap.copy_for`.

    Examples
    --------
    >>> from rhokit.features.registry import make_map
    >>> make_map("fourier", gamma=2.0, n_components=64, margin=0.5, random_state=0)
    FourierFeatures(gamma=2.0, n_components=64, random_state=0)
    """
    if isinstance(wanted, FeatureMap):
        return wanted.copy_for(
            gamma=settings["gamma"], random_state=settings.get("random_state")
        )
    cls = MAPS[wanted]
    return cls(**{name: settings[name] for name in cls.settings if name in settings})
