"""How far apart two data sets are, told from their models alone.

What chance would make of a discrepancy is known for independent rows. Rows that depend
on one another, such as those of a time series, hold less than their number says: two
stretches of one source then differ by more than that, and look changed though nothing
is. Thin them first, to a row for every few correlation times. Without that,
autoregressive rows of correlation .5, .9 and .99 have p < .05 in about 10, 68 and 98 %
of cases.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhokit.models import Model

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
        ``value / chance``. Two samples of one distribution have a ratio of about one,
        if their rows are independent.

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

        Under no change of independent rows the squared ratio is a weighted mean of
        squared standard normal numbers, as the rows become many. From 1.54 on no such
        mean is reached more often than a single squared number reaches it (Székely and
        Bakirov, 2003), which is the bound; below, there is none, and this is one.
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
        has a larger discrepancy by chance than is said here. So have rows that are not
        independent of one another, as those of a time series: thin them before.

    See Also
    --------
    class_discrepancies : One discrepancy for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.metrics import maximum_mean_discrepancy
    >>> rng = np.random.default_rng(0)
    >>> model = DMKDE(feature_map="landmarks", n_components=128, random_state=0)
    >>> monday = model.fit(rng.normal(size=(1000, 3)))
    >>> tuesday = monday.blank().partial_fit(rng.normal(size=(1000, 3)))
    >>> friday = monday.blank().partial_fit(rng.normal(0.5, 1, size=(1000, 3)))
    >>> round(maximum_mean_discrepancy(monday, tuesday).ratio, 1)
    1.0
    >>> round(maximum_mean_discrepancy(monday, friday).ratio, 1)
    3.0
    """
    one, other = _comparable(a, b)
    return _compare(_pooled(one), _pooled(other))


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
    >>> model = DMKDClassifier(gamma=0.2, scale=None, n_components=64, random_state=0)
    >>> old = model.fit(X, y)
    >>> moved = X + 0.7 * (y == "right")[:, None]
    >>> new = old.blank().partial_fit(moved[::2], y[::2])
    >>> found = class_discrepancies(old, new)
    >>> {label: found[label].ratio > 2 for label in found}
    {'left': False, 'right': True}
    """
    one, other = _comparable(a, b)
    if not hasattr(a, "classes_"):
        raise TypeError(
            "class_discrepancies compares classifiers, got a "
            f"{type(a).__name__}: take maximum_mean_discrepancy"
        )
    left, right = _by_class(one), _by_class(other)
    return {k: _compare(left[k], right[k]) for k in left if k in right}


def _comparable(a: Any, b: Any) -> tuple[Model, Model]:
    """Models that hold rows and whose states live in one space; others are refused."""
    for name, estimator in (("a", a), ("b", b)):
        if not _is_one_pass(estimator):
            raise TypeError(
                f"{name} must be a fitted one-pass model of rhokit, got a "
                f"{type(estimator).__name__}"
            )
    one, other = a.fitted_model(), b.fitted_model()
    if type(a) is not type(b):
        raise TypeError(
            f"models of one class can be compared, got a {type(a).__name__} and a "
            f"{type(b).__name__}"
        )
    if one.fingerprint() != other.fingerprint():
        raise ValueError(
            "the models differ in scaling, gamma or feature map, so their states "
            "cannot be compared: fit the second one from a copy of the first, "
            "a.blank().partial_fit(X), or on the command line with fit --like"
        )
    return one, other


def _is_one_pass(estimator: Any) -> bool:
    """Whether states are sums over rows; what was trained has lost them."""
    return hasattr(estimator, "fitted_model") and not hasattr(estimator, "to_estimator")


def _pooled(model: Model) -> Model:
    """The model with one outcome: all rows, whatever their target."""
    model = model.inputs() or model
    assert model.state is not None
    if model.state.n_outcomes == 1:
        return model
    counted = np.zeros((1, model.state.n_outcomes))
    counted[0, model.readout.parts[0]] = 1
    return model.with_state(model.state.mix(counted))


def _by_class(model: Model) -> dict[Any, Model]:
    """The rows of each class that has some."""
    assert model.state is not None
    return {
        label: model.with_state(model.state.outcome(k))
        for k, label in enumerate(model.readout.classes.tolist())
        if model.weight[k] > 0
    }


def _compare(a: Model, b: Model) -> Discrepancy:
    """Compare two models of one outcome each."""
    plan = a.representation.common_plan(b.plan)
    a, b = a.moved_to(plan), b.moved_to(plan)
    n, m = float(a.weight[0]), float(b.weight[0])
    left, right = (each.representation.overlap_vector(each.state) for each in (a, b))
    pooled = (n * left + m * right) / (n + m)
    value = float(np.linalg.norm(left - right))
    own_overlap = a.representation.own_overlap
    own = (n * own_overlap(left) + m * own_overlap(right)) / (n + m)
    spread = max(own - float(np.linalg.norm(pooled)) ** 2, 0.0)
    chance = math.sqrt((1 / n + 1 / m) * spread)
    ratio = value / chance if chance else (math.inf if value else 0.0)
    return Discrepancy(value, chance, ratio)
