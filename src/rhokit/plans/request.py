"""Demands that the parameters of an estimator make on its plan."""

import math
from dataclasses import dataclass
from typing import Any

from rhokit.batch import Columns
from rhokit.features import FeatureMap
from rhokit.features.bandwidth import BANDWIDTH_RULES
from rhokit.features.registry import MAPS, planned_names
from rhokit.kernels import check_kernel, kernel_of, wanted_kernels
from rhokit.kernels.registry import GAUSSIAN, one_word

GAMMA_RULES = ("loo", *BANDWIDTH_RULES)
# Rules of scaling that mix columns, which a mosaic bends one by one.
MIXING_SCALES = ("whiten", "within", "learned")
# "auto" takes mosaics where columns are more than a grid holds well, and no more than
# cells can have covariances of.
_LEAST_MOSAIC_COLUMNS, _MOST_MOSAIC_COLUMNS = 3, 200


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """The wanted map, kernel and scaling, as parameters say it.

    Parameters
    ----------
    feature_map : str or FeatureMap
        ``"auto"``, a registered name, or an instance to be cloned and given the γ.
    gamma : float or str
    n_components : int
    scale : str, array-like or None
    seed : int
        What everything random in the choice follows from.
    bounded : bool
        Whether these are all the rows that will come. The grid of a stream is given
        room to spare; a quadrature needs to know its box.
    power : int
        2 where the density is a square of overlaps, 1 where it is an overlap.
    takes_series : bool
        Whether the state may be a Fourier series.
    may_blend : bool
        Whether the state may be that of a blend.
    representation : str
        Name of what it is otherwise.
    has_gaps : bool
        Whether answers are to be given from some of the columns, too. A metric that is
        learned from whole rows neglects columns that could stand in for others.
    kernel : str, Kernel or tuple of these
        What overlaps of states follow; of several, what rows left out say.
    """

    feature_map: Any
    gamma: Any
    n_components: int
    scale: Any
    seed: int = 0
    bounded: bool = True
    power: int = 2
    takes_series: bool = False
    may_blend: bool = False
    representation: str = "matrix"
    has_gaps: bool = False
    kernel: Any = "gaussian"

    @property
    def kernels(self) -> tuple[Any, ...]:
        """The kernels to choose from, one or several."""
        return wanted_kernels(self.kernel)

    @property
    def is_gaussian(self) -> bool:
        """Whether the kernel is the Gaussian one, and nothing is to be compared."""
        return isinstance(self.kernel, str) and self.kernel == GAUSSIAN

    @property
    def has_gamma(self) -> bool:
        """Whether the map has a γ to choose."""
        wanted = self.feature_map
        return isinstance(wanted, str) or "gamma" in wanted.get_params()

    @property
    def scale_rule(self) -> Any:
        """The rule of the scaling, where nothing is to be compared."""
        is_auto = isinstance(self.scale, str) and self.scale == "auto"
        if numeric_rows(self.feature_map):
            return "std" if is_auto else self.scale
        if is_auto or self.scale is None:
            return None
        raise ValueError("The 'scale' parameter must be None for categories.")

    @property
    def scales_by_itself(self) -> bool:
        """Whether the scaling is to be chosen; with a target, by leave-one-out.

        It does not depend on γ, so that a γ which was chosen can be given back.
        """
        return isinstance(self.scale, str) and self.scale == "auto"

    def density_family(self, columns: Columns) -> str:
        """What a density of these columns is to be.

        ``"mosaic"``, ``"kernel"``, or ``"given"`` of a map without γ.
        """
        wanted = self.feature_map
        if not isinstance(wanted, str):
            if wanted.representation == "mosaic":
                return "mosaic"
            return "kernel" if "gamma" in wanted.get_params() else "given"
        if wanted != "auto":
            return "mosaic" if wanted == "mosaic" else "kernel"
        is_mosaic = self.gamma == "loo" and self.may_be_mosaic(columns)
        return "mosaic" if is_mosaic else "kernel"

    def may_be_mosaic(self, columns: Columns) -> bool:
        """Whether the map is free to be a mosaic of these columns."""
        free = isinstance(self.feature_map, str) and self.feature_map == "auto"
        mixes = isinstance(self.scale, str) and self.scale in MIXING_SCALES
        schema = columns.schema
        if schema is not None and self.gamma != "loo":
            return False  # kernels of categories are none that cells could follow
        has_numbers = schema is None or bool(schema.is_number.any())
        fits = _LEAST_MOSAIC_COLUMNS <= columns.width <= _MOST_MOSAIC_COLUMNS
        fits = fits and self.is_gaussian
        return free and self.takes_series and not mixes and has_numbers and fits

    @property
    def map_gamma_factor(self) -> float:
        """γ of the map over γ of the density that its overlaps make."""
        return 2 / self.power


def numeric_rows(wanted: Any) -> bool:
    """Whether the rows of a wanted map must be numbers."""
    return not isinstance(wanted, FeatureMap) or wanted.numeric_rows


def takes_categories(wanted: Any) -> bool:
    """Whether a wanted map lets columns of categories stand beside numbers."""
    if isinstance(wanted, FeatureMap):
        return wanted.mixes
    return bool(wanted == "auto" or MAPS[wanted].mixes)


def check_map(wanted: Any, takes_series: bool = True) -> None:
    """Refuse what is neither a name nor a map, and grids where they do not serve."""
    made: Any = wanted
    if isinstance(wanted, str):
        made = FeatureMap if wanted == "auto" else MAPS.get(wanted)
        if wanted != "auto" and (made is None or "gamma" not in made.settings):
            raise _no_map(wanted)
    elif not isinstance(wanted, FeatureMap):
        raise _no_map(wanted)
    if made.representation == "series" and not takes_series:
        raise ValueError(
            "The 'feature_map' parameter must not be a grid where a matrix is needed, "
            "as it is for a rank, for joint states and for training: take "
            f"'quadrature'. Got {wanted!r} instead."
        )


def _no_map(wanted: Any) -> ValueError:
    names = ("auto", *planned_names())
    return ValueError(
        f"The 'feature_map' parameter must be one of {names} or an instance of "
        f"FeatureMap. Got {wanted!r} instead."
    )


def refuse_maps_of_numbers(wanted: Any, columns: Columns) -> None:
    """Refuse a map of numbers for columns of categories."""
    if columns.schema is None or takes_categories(wanted):
        return
    schema = columns.schema
    names = [schema.names[i] for i in schema.category_columns()]
    raise ValueError(
        f"The 'feature_map' parameter must be 'auto', 'landmarks' or 'fourier' "
        f"for columns of categories, of which there are {names}. Got "
        f"{wanted!r} instead."
    )


def own_kernel(wanted: Any, kernel: Any, owner: str) -> Any:
    """The kernel of a wanted map: that of the parameter, or of a map that has one.

    Refuses kernels that the map cannot follow.
    """
    if not (isinstance(kernel, str) and kernel == GAUSSIAN):
        check_kernel(kernel, owner)
        kernel = one_word(kernel)
    named = isinstance(wanted, str)
    if named and (wanted == "auto" or "kernel" in MAPS[wanted].settings):
        return kernel
    own = one_word(getattr(MAPS[wanted]() if named else wanted, "kernel", GAUSSIAN))
    if kernel in (GAUSSIAN, own):
        return own
    follow = [name for name in MAPS if "kernel" in MAPS[name].settings]
    raise ValueError(
        f"The 'kernel' parameter of {owner} must be left alone for feature_map="
        f"{wanted!r}, which follows {own!r} and no other: {follow} follow any that "
        f"they are given by name. Got {kernel!r} instead."
    )


def refuse_categories(kernel: Any, columns: Columns) -> None:
    """Refuse other kernels than the Gaussian for columns of categories."""
    schema = columns.schema
    if schema is None or kernel == GAUSSIAN:
        return
    names = [schema.names[i] for i in schema.category_columns()]
    raise ValueError(
        "The 'kernel' parameter must be 'gaussian' for columns of categories, whose "
        f"distances are those of states; {names} are some. Got {kernel!r} instead."
    )


def refuse_endless(kernel: Any, power: int) -> None:
    """Refuse kernels that no density can be made of."""
    found = kernel_of(kernel, 1.0)
    if found.log_mass(1, power) == math.inf:
        raise ValueError(
            "The 'kernel' parameter must be one whose square has a finite integral for "
            f"a density, which {found!r} has not: it is for classes and values. Take "
            "'gaussian', 'laplacian', 'matern' or 'cauchy'."
        )
