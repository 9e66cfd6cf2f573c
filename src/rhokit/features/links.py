"""How a ridge regression and the cells of trees are brought together to one answer."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

Floats = NDArray[np.float64]

# So much of the classes' shares is mixed into what cells say: what no cell has seen may
# yet be.
PRIOR_SHARE = 1e-3
# Of the range of values: no prediction is more certain.
LEAST_SPREAD = 1e-6
LEAST_VALUE = 1e-300
# Of logarithms of spreads, on the way to those that are likeliest.
_MOST_LOG = 20.0
# How far noise is trusted: its trees have seen the errors of neighbours, which matters
# where rows are few.
_FEW_ROWS, _MOST_NOISE_OF_FEW, _MOST_NOISE = 1000, 0.5, 1.0
# Coefficients of the ridge regression below this are none.
_NO_SAY = 1e-3
# Coefficients of classes to start from; and the share of the log-loss that prototypes
# must spare.
_FIRST, _LEAST_GAIN = [4.0, 0.5, 0.5], 0.01
MOMENTS = 3


@dataclass(frozen=True, eq=False)
class Told:
    """What is told of rows: by ridge regression, by cells, and by prototypes.

    Parameters
    ----------
    ridge, cells : arrays of shape (n, K)
        Expectations of the outcomes' weights of a row of weight one.
    noise : array of shape (n, t), optional
        Logarithms of squared errors.
    near : array of shape (n, K), optional
        Weights of the outcomes about a row, above zero.
    """

    ridge: Floats
    cells: Floats
    noise: Floats | None = None
    near: Floats | None = None


@dataclass(frozen=True, eq=False)
class Link(ABC):
    """Logarithms of what outcomes measure, from what is told of rows.

    Parameters
    ----------
    coefficients : array of shape (t, q)
        For each target; they are learned from rows left out.
    """

    coefficients: Floats

    name: ClassVar[str]
    n_coefficients: ClassVar[int]
    has_noise: ClassVar[bool] = False
    """Whether it matters how large errors are."""
    may_have_prototypes: ClassVar[bool] = False
    """Whether what prototypes say can be brought in."""

    @property
    def needs_ridge(self) -> bool:
        """Whether the ridge regression has a say."""
        return bool(self.coefficients[:, 0].max() > _NO_SAY)

    @property
    def needs_prototypes(self) -> bool:
        """Whether prototypes have a say."""
        return False

    @classmethod
    def log_errors(cls, told: Told, truth: Floats, mass: Floats) -> Floats:
        """Logarithms of squared errors (n, t) of rows left out."""
        raise TypeError(f"errors of {cls.name} have no size")

    @classmethod
    @abstractmethod
    def fitted(cls, told: Told, truth: Floats, mass: Floats, prior: Floats) -> "Link":
        """The link that suits rows left out, of which the truth (n, K) is known."""

    @abstractmethod
    def logs(self, told: Told, prior: Floats) -> Floats:
        """Logarithms (n, K) of likelihoods, which priors (K,) are to be added to."""

    @staticmethod
    @abstractmethod
    def row_mass(masses: Floats) -> Floats:
        """Weights (n,) of rows or cells, of their outcomes' weights (n, K)."""


class ClassLink(Link):
    r"""Softmax of all: :math:`p_k \propto e^{a\,r_k}\, c_k^{\,b}\, s_k^{\,t}`."""

    name, n_coefficients, may_have_prototypes = "classes", 3, True

    @property
    def needs_prototypes(self) -> bool:
        """Whether prototypes have a say."""
        return bool(self.coefficients[0, 2] > 0)

    @staticmethod
    def row_mass(masses: Floats) -> Floats:
        """A row has one class."""
        return np.asarray(masses.sum(axis=1))

    @classmethod
    def fitted(cls, told: Told, truth: Floats, mass: Floats, prior: Floats) -> Link:
        """Coefficients with the least log-loss; none of prototypes for a small gain."""
        parts = _parts(told, prior)
        found, least = fitted_softmax(parts[:2], _FIRST[:2], truth, mass)
        if len(parts) > 2:
            more, value = fitted_softmax(parts, _FIRST, truth, mass)
            if value < (1 - _LEAST_GAIN) * least:
                found = more
        return cls(np.pad(found, (0, cls.n_coefficients - len(found)))[None])

    def logs(self, told: Told, prior: Floats) -> Floats:
        """Logarithms of the probabilities over the priors."""
        parts = zip(self.coefficients[0], _parts(told, prior), strict=False)
        log_prior = np.log(np.maximum(prior, LEAST_VALUE))
        joint = sum(own * part for own, part in parts)
        return np.asarray(log_softmax(joint, axis=1) - log_prior)


class ValueLink(Link):
    r"""A mean between both, and a spread that follows what is told of errors.

    Outcomes of a target are its moments, :math:`1, u, u^2`. With the cells' mean
    :math:`\bar u` and variance v, the ridge regression's value r, the gap
    :math:`g = (r - \bar u)^2` and the noise z,

    .. math:: m = a\,r + (1 - a)\,\bar u, \qquad
              \log s^2 = c_0 + c_1 \log(v + g + \epsilon) + c_2\,z

    Quantities are in units of the targets' range.
    """

    name, n_coefficients, has_noise = "values", 5, True

    @staticmethod
    def row_mass(masses: Floats) -> Floats:
        """The first moment is that of order zero."""
        return np.asarray(masses[:, 0])

    @classmethod
    def log_errors(cls, told: Told, truth: Floats, mass: Floats) -> Floats:
        """Of the means with the least squared error."""
        errors = []
        for k in range(0, truth.shape[1], MOMENTS):
            error = _errors(told, truth, mass, k)[1]
            errors.append(np.log(error + _floor(error, mass)))
        return np.stack(errors, axis=1)

    @classmethod
    def fitted(cls, told: Told, truth: Floats, mass: Floats, prior: Floats) -> Link:
        """Weights with the least squared error, spreads with the most likelihood."""
        targets = range(0, truth.shape[1], MOMENTS)
        return cls(np.array([cls._of_target(told, truth, mass, k) for k in targets]))

    @staticmethod
    def _of_target(told: Told, truth: Floats, mass: Floats, k: int) -> Floats:
        a, error = _errors(told, truth, mass, k)
        floor = _floor(error, mass)
        share = mass / mass.sum()
        about = _signs(told, k, floor)  # (n, 2), of the size of errors
        centre = share @ about
        signs = np.column_stack([np.ones(len(about)), about - centre])

        def loss(t: Floats) -> tuple[float, Floats]:
            # Of Student's t with four degrees of freedom, which outliers do not rule.
            log_s = np.clip(signs @ t / 2, -_MOST_LOG, _MOST_LOG)
            ratio = error * np.exp(-2 * log_s) / 4
            value = share @ (log_s + 2.5 * np.log1p(ratio))
            slope = 0.5 * share * (1 - 5 * ratio / (1 + ratio))
            return float(value), np.asarray(slope @ signs)

        start = [float(np.log(max(share @ error, floor))), 0.5, 0.0]
        most = _MOST_NOISE_OF_FEW if len(mass) < _FEW_ROWS else _MOST_NOISE
        bounds = [(None, None), (0, 2), (0, most)]
        t = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
        return np.array([a, t[0] - t[1:] @ centre, t[1], t[2], floor])

    def logs(self, told: Told, prior: Floats) -> Floats:
        """Logarithms of the moments of every target."""
        moments = np.empty_like(told.ridge)
        for place, (a, c0, c1, c2, floor) in enumerate(self.coefficients):
            k = MOMENTS * place
            ridge, cells = told.ridge[:, k + 1], told.cells[:, k + 1]
            mean = np.clip(a * ridge + (1 - a) * cells, 0, 1)
            log_square = c0 + _signs(told, k, floor) @ [c1, c2]
            spread = np.clip(np.exp(log_square / 2), LEAST_SPREAD, 1)
            moments[:, k] = 1
            moments[:, k + 1] = mean
            moments[:, k + 2] = mean**2 + spread**2
        return np.log(np.maximum(moments, LEAST_VALUE))


def _errors(told: Told, truth: Floats, mass: Floats, k: int) -> tuple[float, Floats]:
    """The ridge regression's weight a, and squared errors (n,) of the means."""
    u, cells = truth[:, k + 1], told.cells[:, k + 1]
    apart = told.ridge[:, k + 1] - cells
    squares = float(mass @ apart**2)
    a = float(mass @ (apart * (u - cells))) / squares if squares else 0.0
    a = min(max(a, 0.0), 1.0)
    return a, (u - cells - a * apart) ** 2


def _floor(error: Floats, mass: Floats) -> float:
    """What is added to squared errors before their logarithm is taken."""
    return max(float(np.average(error, weights=mass)) * 1e-2, LEAST_SPREAD**2)


def _signs(told: Told, k: int, floor: float) -> Floats:
    """What tells the size of errors: of cells and the gap, and noise, (n, 2)."""
    cells = told.cells
    variance = np.maximum(cells[:, k + 2] - cells[:, k + 1] ** 2, 0)
    gap = (told.ridge[:, k + 1] - cells[:, k + 1]) ** 2
    noise = np.zeros(len(cells)) if told.noise is None else told.noise[:, k // MOMENTS]
    return np.column_stack([np.log(variance + gap + floor), noise])


def fitted_softmax(
    parts: list[Floats], start: list[float], truth: Floats, mass: Floats
) -> tuple[Floats, float]:
    """Coefficients (q,) of parts (n, K) whose softmax has the least log-loss, and it.

    Parameters
    ----------
    parts : list of arrays of shape (n, K)
    start : list of float
    truth : array of shape (n, K)
    mass : array of shape (n,)
    """
    share = mass / mass.sum()

    def loss(t: Floats) -> tuple[float, Floats]:
        joint = sum(own * part for own, part in zip(t, parts, strict=True))
        logs = log_softmax(joint, axis=1)
        missed = (np.exp(logs) - truth) * share[:, None]
        slope = [float((missed * part).sum()) for part in parts]
        return -float((truth * logs * share[:, None]).sum()), np.array(slope)

    bounds = [(0, 1e3)] * len(parts)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x), float(found.fun)


def _parts(told: Told, prior: Floats) -> list[Floats]:
    """What a softmax of classes is taken of, each of shape (n, K)."""
    near = [] if told.near is None else [np.log(told.near)]
    return [told.ridge, _log_shares(told.cells, prior), *near]


def _log_shares(cells: Floats, prior: Floats) -> Floats:
    mixed = (1 - PRIOR_SHARE) * cells + PRIOR_SHARE * prior
    return np.asarray(np.log(np.maximum(mixed, LEAST_VALUE)))


LINKS: dict[str, type[Link]] = {cls.name: cls for cls in (ClassLink, ValueLink)}
"""Links by name."""
