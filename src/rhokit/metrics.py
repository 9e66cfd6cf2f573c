"""How far apart two data sets are, told from their models alone."""

import math
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core import FeatureMean, ToeplitzDensityMatrix

# Share of its largest value below which a spectrum is rounding.
_LEAST_POWER = 1e-12
# Where the mean of two squared normal numbers is as likely as a single one.
_LEAST_BOUNDED = 1.5365


@dataclass(frozen=True)
class Discrepancy:
    r"""A maximum mean discrepancy, and what chance alone would make of it.

    Parameters
    ----------
    value : float
        The discrepancy: 0 for equal data sets, at most :math:`\sqrt2`.
    chance : float
        Root mean square of the discrepancy of two samples of one distribution, of as
        many rows as these two.
    ratio : float
        ``value / chance``. Two samples of one distribution have a ratio of about one.

    Examples
    --------
    >>> print(Discrepancy(value=0.031, chance=0.01, ratio=3.1))
    0.031, 3.1 times as large as by chance (0.01; p < 0.0019)
    """

    value: float
    chance: float
    ratio: float

    @property
    def p_value(self) -> float:
        r"""At most so likely is such a ratio, or a larger one, by chance alone.

        Under no change the squared ratio is a weighted mean of squared standard
        normal numbers, as the rows become many. From 1.54 on no such mean is reached
        more often than a single squared number reaches it (Székely and Bakirov,
        2003), which is the bound; below, there is none, and this is one.
        """
        if self.ratio**2 < _LEAST_BOUNDED:
            return 1.0
        return math.erfc(self.ratio / math.sqrt(2))

    def __str__(self) -> str:
        times = f"{self.value:.3g}, {self.ratio:.2g} times as large as by chance"
        p = f"; p < {max(self.p_value, 1e-99):.2g}" if self.p_value < 1 else ""
        return f"{times} ({self.chance:.3g}{p})"


def maximum_mean_discrepancy(a: Any, b: Any) -> Discrepancy:
    r"""Distance of the data that two models have seen, without those data.

    The maximum mean discrepancy of two samples under the density's own kernel,

    .. math:: \mathrm{MMD}^2 = \frac1{n^2}\sum_{ij} k(x_i, x_j)
              - \frac2{nm}\sum_{ij} k(x_i, y_j) + \frac1{m^2}\sum_{ij} k(y_i, y_j),
              \qquad k(x, y) = e^{-\gamma\|x - y\|^2},

    is the Hilbert-Schmidt distance :math:`\|\rho - \sigma\|` of their density matrices,
    so it costs the same however many rows there were. It is exact as far as the map
    is: to about the square root of ``tol`` on grids, and where landmarks represent the
    rows.

    Parameters
    ----------
    a, b : fitted one-pass models
        Of one class, with the same scaling, γ and map: see :meth:`~rhokit.DMKDE.blank`.
        Of models with a target, all rows are compared, whatever their target.

    Returns
    -------
    discrepancy : Discrepancy
        The expected size under no change is
        :math:`\sqrt{(1/n + 1/m)\,(\overline{k(x, x)} - \mathrm{tr}\,\rho^2)}` with the
        pooled state ρ. Weights count as numbers of rows: what was weighted unevenly
        has a larger discrepancy by chance than is said here.

    See Also
    --------
    class_discrepancies : The same for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.metrics import maximum_mean_discrepancy
    >>> rng = np.random.default_rng(0)
    >>> model = DMKDE(n_components=128, random_state=0)
    >>> monday = model.fit(rng.normal(size=(1000, 3)))
    >>> tuesday = monday.blank().partial_fit(rng.normal(size=(1000, 3)))
    >>> friday = monday.blank().partial_fit(rng.normal(0.5, 1, size=(1000, 3)))
    >>> round(maximum_mean_discrepancy(monday, tuesday).ratio, 1)
    1.0
    >>> round(maximum_mean_discrepancy(monday, friday).ratio, 1)
    3.0
    """
    _check_comparable(a, b)
    return _compare(_pooled(a), _pooled(b))


def class_discrepancies(a: Any, b: Any) -> dict[Any, Discrepancy]:
    """The maximum mean discrepancy of every class that both models have rows of.

    Parameters
    ----------
    a, b : fitted classifiers
        As for :func:`maximum_mean_discrepancy`.

    Returns
    -------
    discrepancies : dict
        From labels to discrepancies, in the order of ``a.classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDClassifier
    >>> from rhokit.metrics import class_discrepancies
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(600, 3)), np.repeat(["left", "right"], 300)
    >>> model = DMKDClassifier(gamma=0.2, n_components=64, random_state=0)
    >>> old = model.fit(X, y)
    >>> moved = X + 0.7 * (y == "right")[:, None]
    >>> new = old.blank().partial_fit(moved[::2], y[::2])
    >>> found = class_discrepancies(old, new)
    >>> {label: found[label].ratio > 2 for label in found}
    {'left': False, 'right': True}
    """
    _check_comparable(a, b)
    if not hasattr(a, "classes_"):
        raise TypeError(
            "class_discrepancies compares classifiers, got a "
            f"{type(a).__name__}: take maximum_mean_discrepancy"
        )
    places = {label: k for k, label in enumerate(b.classes_.tolist())}
    return {
        label: _compare(_of_class(a, k), _of_class(b, places[label]))
        for k, label in enumerate(a.classes_.tolist())
        if a.state_.weight[k] > 0 and label in places
        if b.state_.weight[places[label]] > 0
    }


def _check_comparable(a: Any, b: Any) -> None:
    """Refuse models whose states do not live in one space."""
    for name, model in (("a", a), ("b", b)):
        if not hasattr(model, "fingerprint"):
            raise TypeError(
                f"{name} must be a fitted one-pass model of rhokit, got a "
                f"{type(model).__name__}"
            )
        model._require_rows()
    if type(a) is not type(b):
        raise TypeError(
            f"models of one class can be compared, got a {type(a).__name__} and a "
            f"{type(b).__name__}"
        )
    if a.fingerprint() != b.fingerprint():
        raise ValueError(
            "the models differ in scaling, gamma or feature map, so their states "
            "cannot be compared: fit the second one from a copy of the first, "
            "a.blank().partial_fit(X), or on the command line with fit --like"
        )


def _pooled(model: Any) -> Any:
    """A copy with one outcome: all rows, whatever their target."""
    state = model.state_
    if state.n_outcomes == 1:
        return model
    shares = np.ones((1, state.n_outcomes))
    # Every target of a row has levels of its own, and each set of them is all rows.
    n_targets = len(getattr(model, "output_maps_", [None]))
    shares[0, state.n_outcomes // n_targets :] = 0
    if hasattr(state, "mix"):
        return _with_state(model, state.mix(shares))
    weight = state.weight * shares[0]
    roots = np.sqrt(weight / weight.sum())
    factor = (state.factor * roots[:, None, None]).reshape(1, -1, state.dim)
    total = np.array([weight.sum()])
    return _with_state(model, replace(state, factor=factor, weight=total))


def _of_class(model: Any, k: int) -> Any:
    """A copy that holds the rows of one class alone."""
    state = model.state_
    if hasattr(state, "outcome"):
        return _with_state(model, state.outcome(k))
    one = slice(k, k + 1)
    return _with_state(
        model, replace(state, factor=state.factor[one], weight=state.weight[one])
    )


def _with_state(model: Any, state: Any) -> Any:
    other = copy(model)
    other._set_state(state)
    return other


def _compare(a: Any, b: Any) -> Discrepancy:
    """Compare two models of one outcome each."""
    n, m = float(a.state_.weight[0]), float(b.state_.weight[0])
    left, right = _vectors(a, b)
    pooled = (n * left + m * right) / (n + m)
    value = float(np.linalg.norm(left - right))
    own = (n * _own_overlap(a, left) + m * _own_overlap(b, right)) / (n + m)
    spread = max(own - float(np.linalg.norm(pooled)) ** 2, 0.0)
    chance = math.sqrt((1 / n + 1 / m) * spread)
    ratio = value / chance if chance else (math.inf if value else 0.0)
    return Discrepancy(value, chance, ratio)


def _vectors(a: Any, b: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """States at trace one as vectors, whose products are those of the states."""
    if isinstance(a.state_, ToeplitzDensityMatrix):
        a = copy(a)
        b = a._share_box(b)  # widens that of ``a`` too, where it must
    return _vector(a), _vector(b)


def _vector(model: Any) -> NDArray[Any]:
    state = model.state_
    if isinstance(state, ToeplitzDensityMatrix):
        return _series_vector(state, model.feature_map_.spectrum_)
    if isinstance(state, FeatureMean):
        whitening = model.feature_map_.whitening_
        if whitening is not None:
            state = state.change_basis(whitening.astype(np.float64))
        return np.asarray(state.normalized()[0])
    return np.asarray(model.density_matrix_.normalized()[0]).ravel()


def _series_vector(
    state: ToeplitzDensityMatrix, spectrum: NDArray[np.float64]
) -> NDArray[Any]:
    r"""``√P C`` of a series of coefficients ``P C``.

    Since :math:`\mathrm{tr}\,\rho\sigma = \sum_{jk} a_j^2 a_k^2 C_{j-k} \bar C'_{j-k} =
    \sum_l P_l C_l \bar C'_l`, no matrix is needed. Along the last axis, differences
    above zero stand for their mirror images, too.
    """
    known = spectrum > _LEAST_POWER * spectrum.max()
    counts = np.full(spectrum.shape[-1], 2.0)
    counts[0] = 1.0
    factor = np.sqrt(counts / np.where(known, spectrum, np.inf))
    return np.asarray(state.normalized()[0] * factor).ravel()


def _own_overlap(model: Any, vector: NDArray[Any]) -> float:
    r"""Mean of :math:`k(x, x) = \|\phi(x)\|^4` over the rows of a model, or a bound.

    States of length one have one. Landmarks make shorter ones where they do not reach;
    of these the trace is known, the mean of :math:`\|\phi(x)\|^2`, which is no less.
    """
    if isinstance(model.state_, FeatureMean | ToeplitzDensityMatrix):
        return 1.0
    dim = math.isqrt(vector.size)
    trace = float(vector[:: dim + 1].real.sum())
    return max(trace, trace**2)
