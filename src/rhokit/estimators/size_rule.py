"""How many landmarks or random features an accuracy takes, by trying."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import t
from sklearn.base import clone
from sklearn.utils import check_array

from rhokit.core.arrays import safe_log
from rhokit.features import FeatureMap, FourierFeatures, KernelSum, LandmarkFeatures
from rhokit.features.kernel_features import KernelFeatures
from rhokit.plans import PlanRequest, Scaling
from rhokit.plans.bandwidth import choose_gamma
from rhokit.plans.maps import MapChooser
from rhokit.plans.request import GAMMA_RULES
from rhokit.plans.scaling import SCALE_RULES
from rhokit.validation import Interval, StrOptions, check_values, generator

_MAPS: dict[str, Any] = {"fourier": FourierFeatures, "landmarks": LandmarkFeatures}
# The density of so many rows is looked at from so many others.
_SAMPLE_ROWS = 4096
_PROBE_ROWS = 512
_PROBE_SHARE = 0.25
# Draws of a map that must all be good enough, more of small ones, which cost less; and
# with how much confidence the next one is then good enough, too.
_MOST_DRAWS, _FEWEST_DRAWS = 16, 6
_CONFIDENCE = 0.95
_COMPONENTS_OF_ALL_DRAWS = 4096
_SMALLEST = 16
_BLOCK_ROWS = 1024
# For γ by leave-one-out, which looks at maps as large as a model has by default.
_USUAL_SIZE = 1024
_TABLE = {
    "error": [Interval(Real, 0, None, closed="neither")],
    "gamma": [
        Interval(Real, 0, None, closed="neither"),
        StrOptions(set(GAMMA_RULES)),
    ],
    "feature_map": [StrOptions(set(_MAPS)), KernelFeatures],
    "scale": [StrOptions({"auto", *SCALE_RULES}), "array-like", None],
    "max_components": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state", np.random.Generator],
}


def n_components_for(
    error: float,
    X: Any,
    *,
    gamma: float | str = "scott",
    feature_map: Any = "landmarks",
    scale: Any = "auto",
    max_components: int = 2048,
    random_state: Any = None,
) -> int:
    r"""``n_components`` with which a :class:`rhokit.DMKDE` has a wanted accuracy.

    The error is the relative RMSE of the density against exact kernel density
    estimation of the same rows, at P rows left out of the fit,

    .. math:: \sqrt{\frac{\sum_p \big(\hat f_\rho(x_p) - \hat f_\gamma(x_p)\big)^2}
                         {\sum_p \hat f_\gamma(x_p)^2}}.

    It is measured: maps of 16, 24, 32, 48, 64, ... components are fitted to the rows,
    16 draws of each (fewer beyond 256 components, six at last). The answer is the
    first size of which all draws are good enough, and the next one will be, too, with
    a confidence of 95 %: Student's prediction bound of the logarithms of their errors
    is below that of the wanted one. Densities are those of 4,096 rows at 512 others,
    at most, so that the time hardly depends on the number of rows.

    Parameters
    ----------
    error : float
        The relative error that is wanted, such as 0.1.
    X : array-like of shape (n, d)
        Of numbers.
    gamma : float or str, default="scott"
        As of the model. ``"loo"`` takes as long as fitting a model, and that of a
        larger model is another one: fit once, and give its ``gamma_`` and ``scale``.
    feature_map : {"landmarks", "fourier"} or map, default="landmarks"
        As of the model; an instance of a map of a kernel that has
        ``n_components`` is cloned. Grids choose their size themselves.
    scale : {"auto", "std", "robust", "whiten"}, array-like of shape (d,) or None
        As of the model.
    max_components : int, default=2048
        The largest size to try. Time grows with it: for random features in
        proportion, for landmarks with its third power.
    random_state : int, RandomState or Generator, optional

    Returns
    -------
    n_components : int

    Raises
    ------
    ValueError
        If no size up to ``max_components`` is good enough; it says what the smallest
        error was. Landmarks cannot follow a kernel that is narrow for the number of
        columns.

    See Also
    --------
    rhokit.features.FourierBound : What theory promises, which is far less.
    rhokit.MosaicFeatures : Cells, which follow narrow kernels with far fewer numbers.

    Examples
    --------
    >>> from rhokit import n_components_for
    >>> from rhokit.datasets import bimodal
    >>> X = bimodal(5000, random_state=0)
    >>> n_components_for(0.1, X, gamma=16.0, scale=None, random_state=0)
    64
    >>> n_components_for(
    ...     0.1, X, gamma=16.0, scale=None, feature_map="fourier", random_state=0
    ... )
    1024
    """
    given = {
        "error": error,
        "gamma": gamma,
        "feature_map": feature_map,
        "scale": scale,
        "max_components": max_components,
        "random_state": random_state,
    }
    check_values("n_components_for", given, _TABLE)
    trial = Trial.from_rows(X, gamma, feature_map, scale, generator(random_state))
    size, smallest = first_good_size(trial.error, error, max_components)
    if size is not None:
        return size
    raise ValueError(
        f"n_components_for: error={error!r} is not reached with up to "
        f"max_components={max_components}, the smallest error was {smallest:.2g}: "
        "allow a larger error or more components, or take a smaller gamma, that is a "
        "wider kernel"
    )


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows to try maps on, with the exact answers.

    Parameters
    ----------
    like : KernelFeatures
        A map with the γ of the density, to be fitted in other sizes.
    rows : array of shape (n, d)
        Scaled rows that maps are fitted to; the first of them make the density.
    probes : array of shape (P, d)
        Scaled rows at which the density is compared.
    exact_logs : array of shape (P,)
        Logarithm of the mean kernel there.
    seed : int
    """

    like: KernelFeatures
    rows: NDArray[Any]
    probes: NDArray[Any]
    exact_logs: NDArray[np.float64]
    seed: int

    @classmethod
    def from_rows(
        cls, X: Any, gamma: Any, feature_map: Any, scale: Any, rng: np.random.Generator
    ) -> Self:
        """Leave some of the rows out, and choose scaling and γ from the others."""
        like = _map_of(feature_map)
        rows = check_array(
            X, dtype=[np.float64, np.float32], ensure_min_samples=2, input_name="X"
        )
        n_probes = min(_PROBE_ROWS, max(1, int(_PROBE_SHARE * len(rows))))
        rows = rows[rng.permutation(len(rows))]
        probes, rows = rows[:n_probes], rows[n_probes:]
        if isinstance(scale, str) and scale == "auto":
            scale = "std"
        scaling = Scaling.from_rows(scale, rows)
        rows, probes = scaling.apply(rows), scaling.apply(probes)
        seed = int(rng.integers(2**31 - _MOST_DRAWS))
        request = PlanRequest(
            feature_map, gamma, _USUAL_SIZE, scale, seed, kernel=like.kernel
        )
        chooser = MapChooser(request, rows, None)
        if isinstance(gamma, str):
            gamma = choose_gamma(gamma, chooser, rng)
        like.set_params(gamma=gamma)
        exact = _log_mean_kernel(like, rows[:_SAMPLE_ROWS], probes)
        return cls(like, rows, probes, exact, seed)

    def error(self, size: int, draw: int) -> float:
        """Relative RMSE of the density with a map of this size, one draw of it.

        Or the share of the rows' kernels that the map misses, if that is more: rows in
        the tails hardly count in the one, and as much as all others in the other.
        """
        feature_map = clone(self.like).set_params(
            n_components=size, random_state=self.seed + draw
        )
        feature_map.fit(self.rows)
        measured = mean_kernel(feature_map, self.rows[:_SAMPLE_ROWS], self.probes)
        top = self.exact_logs.max()  # nothing but ratios matters, and none overflows,
        exact = np.exp(self.exact_logs - top)
        with np.errstate(over="ignore"):  # but for what a map sees where nothing is
            misses = np.exp(safe_log(measured) - top) - exact
            error = float(np.sqrt((misses**2).sum() / (exact**2).sum()))
        missed = 1 - float(np.mean(feature_map.reach(self.rows[:_SAMPLE_ROWS]) ** 2))
        return max(error, missed)


def _log_mean_kernel(
    like: KernelFeatures, rows: NDArray[Any], probes: NDArray[Any]
) -> NDArray[np.float64]:
    """Logarithm of the mean over rows of the density's kernel with each probe, (P,)."""
    if like.follows_gaussian:
        return KernelSum(rows, None, like.gamma).log_mean(probes)
    logs = 2 * like.kernel_.log_overlaps(probes, rows)
    return np.asarray(logsumexp(logs, axis=1) - np.log(len(rows)))


def _map_of(wanted: Any) -> Any:
    """A map that can be had in any size."""
    like = _MAPS[wanted]() if isinstance(wanted, str) else clone(wanted)
    if "n_components" not in like.get_params():
        raise ValueError(
            "The 'feature_map' parameter of n_components_for must have n_components: "
            f"{type(like).__name__} chooses its size itself. Got {wanted!r} instead."
        )
    return like


def first_good_size(
    measure: Callable[[int, int], float], wanted: float, largest: int
) -> tuple[int | None, float]:
    """The first size that can be relied on, or None; and the smallest error seen.

    Parameters
    ----------
    measure : callable
        The error of a size and the number of a draw.
    wanted : float
    largest : int
    """
    smallest = float("inf")
    for size in _sizes(largest):
        errors = []
        for draw in range(_n_draws(size)):
            errors.append(measure(size, draw))
            if not errors[-1] <= wanted:
                break
        smallest = min(smallest, *errors)
        if _next_error(errors) <= wanted:
            return size, smallest
    return None, smallest


def _next_error(errors: list[float]) -> float:
    """Bound that the next error will not exceed, as far as those seen can tell."""
    largest, n = max(errors), len(errors)
    if n < _FEWEST_DRAWS or not 0 < largest < np.inf:
        return largest
    logs = np.log(np.maximum(errors, np.finfo(float).tiny))
    spread = logs.std(ddof=1) * np.sqrt(1 + 1 / n)
    highest = np.exp(logs.mean() + t.ppf(_CONFIDENCE, n - 1) * spread)
    return max(largest, float(highest))


def _sizes(largest: int) -> Iterator[int]:
    """16, 24, 32, 48, 64, ... and the largest itself."""
    for step in count():
        size = (2 + step % 2) * _SMALLEST // 2 << step // 2
        if size >= largest:
            break
        yield size
    yield largest


def _n_draws(size: int) -> int:
    draws = _COMPONENTS_OF_ALL_DRAWS // size
    return max(_FEWEST_DRAWS, min(_MOST_DRAWS, draws))


def mean_kernel(
    feature_map: FeatureMap, rows: NDArray[Any], probes: NDArray[Any]
) -> NDArray[np.float64]:
    """The mean over rows (n, d) of squared overlaps with each probe (P, d), (P,).

    What the density matrix of the rows measures, without the matrix.
    """
    states = feature_map.states(probes)  # (P, D)
    if feature_map.whitening_ is not None:
        states = states @ feature_map.whitening_.T  # (P, m), as columns are
    total = np.zeros(len(probes))
    for start in range(0, len(rows), _BLOCK_ROWS):
        columns, _ = feature_map.columns(rows[start : start + _BLOCK_ROWS])
        overlaps = columns @ states.conj().T
        total += np.vecdot(overlaps.T, overlaps.T).real
    return np.asarray(total / len(rows))
