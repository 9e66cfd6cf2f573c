"""A guarantee for random Fourier features: the paper's bound on DMKDE."""

import math
from dataclasses import dataclass
from numbers import Integral, Real

from scipy.special import wrightomega

from rhokit.core import GaussianKernel
from rhokit.validation import Interval, check_values

_LOG_ANCHORS = 8 * math.log(2)
_TABLE = {
    "gamma": [Interval(Real, 0, None, closed="neither")],
    "n_features": [Interval(Integral, 1, None, closed="left")],
    "diameter": [Interval(Real, 0, None, closed="neither")],
    "printed": ["boolean"],
    "error": [Interval(Real, 0, None, closed="neither")],
    "log_error": [Interval(Real, None, None, closed="neither")],
    "n_components": [Interval(Real, 0, None, closed="neither")],
    "delta": [Interval(Real, 0, 1, closed="neither")],
}


@dataclass(frozen=True, kw_only=True)
class FourierBound:
    r"""How likely Fourier features are to miss a kernel density by much.

    Of rows in a compact set of :math:`\mathbb R^d` and *unnormalised* Fourier features
    (``FourierFeatures(normalize=False)``), the density matrix's :math:`\hat f_\rho`
    and exact kernel density estimation :math:`\hat f_\gamma` satisfy

    .. math:: \Pr\Big[\sup_x |\hat f_\rho(x) - \hat f_\gamma(x)| \ge \epsilon\Big]
              \le 2^8 \Big(\frac{\sigma\,\mathrm{diam}}{u}\Big)^2
              \exp\Big(-\frac{D\,u^2}{4(d + 2)}\Big), \qquad
              u = \frac{M_\gamma\,\epsilon}{3}, \quad \sigma^2 = d\gamma,

    the supremum over all of the set, the probability over the draw of the features.
    γ is the density's, :math:`e^{-\gamma\|x-y\|^2}`, and
    :math:`M_\gamma = (\pi/\gamma)^{d/2}`.

    Parameters
    ----------
    gamma : float
        γ of the density.
    n_features : int
        d, the number of columns.
    diameter : float
        Largest distance between two points of the set, in the units of the rows.
    printed : bool, default=False
        The proposition as the paper prints it (prop. DMKDE-approximation), for
        reference: there :math:`u = 3 M_\gamma \epsilon` and
        :math:`\sigma^2 = 2d\gamma`. It is no bound: see the notes.

    Notes
    -----
    Where the constants come from. Features for the density's γ are drawn for the
    kernel :math:`k = e^{-\frac\gamma2\|x-y\|^2}`, whose spectrum has the second moment
    :math:`\sigma^2 = d\gamma`. The theorem of Rahimi and Recht bounds the chance that
    an overlap misses k by u or more, anywhere in the set, by the right-hand side.
    Overlaps are at most 2 and k at most 1, so squares differ by no more than 3u; the
    density, a mean of squares divided by :math:`M_\gamma`, by no more than
    :math:`3u/M_\gamma`: that is ε. The print multiplies where it has to divide, and
    its :math:`\sigma^2` is that of the kernel with γ, not γ/2.

    The theorem is taken as the paper cites it. Its proof counts D *pairs* of a cosine
    and a sine, whose terms lie in [-1, 1]: ``form="pair"`` with
    ``n_components = 2 * D``. With ``form="phase"`` terms lie in [-2, 2] and depend on
    both points, not on their difference alone; the same argument then has
    :math:`32(d + 1)` where :math:`4(d + 2)` stands, and other numbers in front. It
    also takes the set to be no smaller than :math:`\mathrm{diam} \ge u/\sigma`.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, 2007.
    D. J. Sutherland and J. Schneider, On the error of random Fourier features, 2015.

    Examples
    --------
    >>> from rhokit.features import FourierBound
    >>> bound = FourierBound(gamma=0.5, n_features=1, diameter=4.0)
    >>> bound.n_components(error=0.1, delta=0.05)
    26789
    >>> bound.probability(error=0.1, n_components=26_789) <= 0.05
    True
    >>> round(bound.error(n_components=26_789, delta=0.05), 4)
    0.1
    """

    gamma: float
    n_features: int
    diameter: float
    printed: bool = False

    def __post_init__(self) -> None:
        check_values(type(self).__name__, vars(self), _TABLE)

    def probability(self, error: float, n_components: float) -> float:
        """The most likely it is that the error is ``error`` or more, at most 1.

        Parameters
        ----------
        error : float
            ε, a difference of densities, in the units of the rows.
        n_components : int
            D.
        """
        self._check(error=error)
        return math.exp(min(0.0, self.log_probability(math.log(error), n_components)))

    def n_components(self, error: float, delta: float) -> int:
        """D with which the error is below ``error`` with probability 1 - ``delta``.

        Parameters
        ----------
        error : float
            ε, a difference of densities, in the units of the rows.
        delta : float in (0, 1)
        """
        self._check(error=error)
        log_count = self.log_n_components(math.log(error), delta)
        return math.ceil(_exp(log_count, "n_components"))

    def error(self, n_components: float, delta: float) -> float:
        """ε that D features stay below with probability 1 - ``delta``.

        Parameters
        ----------
        n_components : int
            D.
        delta : float in (0, 1)
        """
        return _exp(self.log_error(n_components, delta), "error")

    def log_probability(self, log_error: float, n_components: float) -> float:
        """Logarithm of the bound itself, which is above 0 where it says nothing."""
        self._check(log_error=log_error, n_components=n_components)
        log_u = self._log_u_per_error + log_error
        try:
            exponent = math.exp(self._log_rate(n_components) + 2 * log_u)
        except OverflowError:
            exponent = math.inf
        return self._log_factor - 2 * log_u - exponent

    def log_n_components(self, log_error: float, delta: float) -> float:
        """Logarithm of D, as a real number, with which the bound is ``delta``."""
        self._check(log_error=log_error, delta=delta)
        log_u = self._log_u_per_error + log_error
        needed = self._log_factor - 2 * log_u - math.log(delta)
        if needed <= 0:
            return 0.0  # in so small a set one feature is enough
        return max(0.0, math.log(needed) - self._log_rate(1) - 2 * log_u)

    def log_error(self, n_components: float, delta: float) -> float:
        r"""Logarithm of ε at which the bound is ``delta``.

        With :math:`v = Du^2/(4(d+2))` the bound is :math:`C e^{-v}/v`, so that
        :math:`v + \log v = \log(C/\delta)`: Wright's omega function.
        """
        self._check(n_components=n_components, delta=delta)
        log_rate = self._log_rate(n_components)
        v = float(wrightomega(self._log_factor + log_rate - math.log(delta)))
        return (math.log(v) - log_rate) / 2 - self._log_u_per_error

    @property
    def _kernel(self) -> GaussianKernel:
        return GaussianKernel(self.gamma)

    @property
    def _log_factor(self) -> float:
        """Logarithm of ``2⁸ σ² diam²``."""
        kernel = self._kernel if self.printed else self._kernel.of_overlaps()
        widths = 2 * math.log(kernel.spectral_width) + 2 * math.log(self.diameter)
        return _LOG_ANCHORS + math.log(self.n_features) + widths

    @property
    def _log_u_per_error(self) -> float:
        """Logarithm of ``u / ε``."""
        slack = math.log(3) if self.printed else -math.log(3)
        return self._kernel.log_mass(self.n_features) + slack

    def _log_rate(self, n_components: float) -> float:
        """Logarithm of ``D / (4(d + 2))``."""
        return math.log(n_components) - math.log(4 * (self.n_features + 2))

    def _check(self, **values: float) -> None:
        check_values(type(self).__name__, values, _TABLE)


def _exp(logarithm: float, name: str) -> float:
    """The exponential; where it overflows, tell of the function that does not."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        raise OverflowError(
            f"FourierBound: {name} is e^{logarithm:.0f}, more than a float can hold: "
            f"take log_{name}"
        ) from None
