"""The paper's map: random Fourier features."""

from collections.abc import Mapping
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.core import Kernel
from rhokit.fast import HadamardFrequencies, cosine_columns
from rhokit.features.adaptive import adapted
from rhokit.features.base import Columns
from rhokit.features.cosine import CosineFeatures
from rhokit.features.registry import register
from rhokit.features.sampling import SAMPLING_RULES, draw_frequencies, draw_signs
from rhokit.records import ArrayField, Fields, Maybe, Reader, Values, require
from rhokit.validation import Interval, StrOptions, generator

# Trained to follow the kernel on the rows of fit.
_ADAPTIVE = "adaptive"


@register
class FourierFeatures(CosineFeatures):
    r"""Random Fourier features of a kernel (eq. phi_rff, normalized_rff).

    .. math:: \phi_j(x) = \sqrt{2/D}\,\cos(w_j^\top x + b_j), \qquad
              w_j \sim N(0, \gamma I), \quad b_j \sim U[0, 2\pi]

    so that *squared* overlaps follow the kernel of the density,

    .. math:: \langle\phi(x), \phi(y)\rangle^2 \approx e^{-\gamma\|x-y\|^2}.

    That is the meaning of ``gamma`` everywhere in rhokit; inner products themselves
    approximate :math:`e^{-\frac\gamma2\|x-y\|^2}`. With another ``kernel`` κ, whose
    Fourier measure frequencies are then drawn from, they approximate κ, and squared
    overlaps its square.

    Random features cannot see overlaps below about ``1/D``: far from the data, a
    density made of them levels off (``log_floor_``) instead of falling.

    Parameters
    ----------
    gamma : float, default=1.0
        γ of the kernel of squared overlaps, in the units of the rows.
    n_components : int, default=1024
        D, the dimension of the states; rounded up to even with ``form="pair"``.
    sampling : str, default="iid"
        How frequencies are drawn: ``"iid"``, one by one. ``"orthogonal"`` helps in
        high dimensions, the low-discrepancy rules ``"sobol"`` and ``"halton"`` in low
        ones, both with ``form="pair"``; ``"structured"`` takes Hadamard matrices
        in ``O(D log d)`` per row, for columns in the thousands. ``"adaptive"`` starts
        from orthogonal ones and trains them, before any state is summed, so that
        overlaps follow the kernel between the rows of ``fit``: it helps most where few
        frequencies have to do, in few columns.
    form : {"phase", "pair", "complex"}, default="phase"
        ``cos(wx + b)`` as in the paper; ``cos(wx)`` and ``sin(wx)``; or ``exp(iwx)``.
    normalize : bool, default=True
        Scale states to length one, as the paper does.
    kernel : str or Kernel, default="gaussian"
        What overlaps follow: a name of :mod:`rhokit.kernels`, or a kernel of it.
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    frequencies_ : array of shape (d, F)
        F is D, or D/2 for pairs.
    phases_ : array of shape (D,), or None for complex features
    amplitudes_ : array of shape (D,)
    signs_, lengths_ : arrays of shape (n_blocks, 3, p) and (F,), or None
        What structured frequencies are made of.
    n_components_, log_floor_ :
        See :class:`rhokit.features.FeatureMap`.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.features import FourierFeatures
    >>> rows = np.array([[0.0, 0.0], [0.5, 0.5]])
    >>> phi = FourierFeatures(gamma=1.0, n_components=4096, sampling="sobol",
    ...                       form="pair", random_state=0).fit_transform(rows)
    >>> (phi[0] @ phi[1]) ** 2, np.exp(-0.5)  # doctest: +ELLIPSIS
    (np.float64(0.606...), np.float64(0.606...))
    """

    name = "fourier"
    settings = ("gamma", "n_components", "kernel", "random_state")
    mixes = True

    signs_: NDArray[np.int8] | None
    lengths_: NDArray[np.float64] | None
    file_fields: ClassVar[Fields] = {
        **CosineFeatures.file_fields,
        "signs": Maybe(ArrayField((None, 3, None), dtypes=("int8",))),
        "lengths": Maybe(ArrayField(("F",))),
    }
    _parameter_table: ClassVar[Mapping[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions({*SAMPLING_RULES, _ADAPTIVE})],
        "form": [StrOptions({"phase", "pair", "complex"})],
        "normalize": ["boolean"],
        "kernel": [str, Kernel],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        n_components: int = 1024,
        sampling: str = "iid",
        form: str = "phase",
        normalize: bool = True,
        kernel: Any = "gaussian",
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.sampling = sampling
        self.form = form
        self.normalize = normalize
        self.kernel = kernel
        self.random_state = random_state

    def _draw(self, rows: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        count, d = self._n_frequencies(), rows.shape[1]
        rng, kernel = generator(self.random_state), self.kernel_
        self.signs_, self.lengths_ = None, None
        if self.sampling == "structured":
            self._refuse_structure()
            self.signs_, lengths = draw_signs(d, count, rng)
            mixing = rng.random(count) if kernel.is_mixture else None
            self.lengths_ = kernel.frequencies(lengths, mixing)
            operator = HadamardFrequencies(self.signs_, self.lengths_)
            self.frequencies_ = np.eye(d) @ operator
            phases = rng.random(count)
        else:
            rule = "orthogonal" if self.sampling == _ADAPTIVE else self.sampling
            normal, phases, mixing = draw_frequencies(
                rule, d, count, rng, mixture=kernel.is_mixture
            )
            self.frequencies_ = kernel.frequencies(normal, mixing)
        phases = 2 * np.pi * phases
        if self.sampling == _ADAPTIVE:
            own = phases if self.form == "phase" else None
            found = adapted(self.frequencies_, own, rows, weights, kernel, rng)
            self.frequencies_ = found[0]
            phases = phases if found[1] is None else found[1]
        if self.form == "pair":
            phases = np.repeat([0.0, -np.pi / 2], count)  # cos, then sin
        dim = 2 * count if self.form == "pair" else count
        power = 1 / dim if self.form == "complex" else 2 / dim
        amplitudes = np.full(dim, np.sqrt(power))
        self._set_cosines(None if self.form == "complex" else phases, amplitudes)

    def _refuse_structure(self) -> None:
        if not self.kernel_.is_round:
            raise ValueError(
                "sampling='structured' turns frequencies, which changes kernels that "
                "are not functions of the distance alone: take 'orthogonal' or 'iid' "
                f"for kernel={self.kernel!r}"
            )

    def linear(self) -> Self:
        """Features as they are: their overlaps have no bias, of length one they do."""
        return self.set_params(normalize=False)

    def restore(self) -> None:
        super().restore()
        # The mean squared overlap of two unrelated unit states is 1/D in every form.
        self.log_floor_ = -float(np.log(self.n_components_))
        if self.signs_ is not None and self.lengths_ is not None:
            turns = HadamardFrequencies(self.signs_, self.lengths_ / (2 * np.pi))
            self._turns = self._wide_turns = turns

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """Signs must make the frequencies."""
        super().check_file(parameters, fitted, reader)
        signs, lengths = fitted["signs"], fitted["lengths"]
        require((signs is None) == (lengths is None), "signs need lengths")
        if signs is not None:
            n_blocks, _, width = signs.shape
            fits = width >= reader.sizes["d"] and n_blocks * width >= reader.sizes["F"]
            fits = fits and width & (width - 1) == 0 and (np.abs(signs) == 1).all()
            require(fits, "signs do not make frequencies of this number and length")

    def with_frequencies(
        self, frequencies: NDArray[Any], phases: NDArray[Any] | None
    ) -> Self:
        """This map with other frequencies (d, F) and phases (D,), as trained."""
        plain = copy(self)
        plain.signs_ = plain.lengths_ = None  # trained ones have lost their structure
        return super(FourierFeatures, plain).with_frequencies(frequencies, phases)

    @property
    def column_dtype_(self) -> np.dtype[Any]:
        """Dtype of the columns: complex if the form is."""
        if self.form == "complex":
            return np.result_type(self.dtype_, np.complex64)
        return self.dtype_

    def _n_frequencies(self) -> int:
        pair = self.form == "pair"
        return -(-self.n_components // 2) if pair else self.n_components

    def columns(
        self,
        rows: NDArray[Any],
        *,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        out: NDArray[Any] | None = None,
    ) -> Columns:
        """Columns of checked rows; they are the states themselves."""
        if self.form == "complex":
            return self._complex_columns(rows, row_scale), None
        # Pairs have length one already, up to rounding.
        normalize = self.normalize and self.form == "phase"
        return self._cosine_columns(rows, normalize, row_scale, out)

    def _complex_columns(
        self, rows: NDArray[Any], row_scale: NDArray[Any] | None
    ) -> NDArray[Any]:
        # A sine is a cosine a quarter turn later. Every entry has the same modulus, so
        # the states have length one as they are.
        zeros = self._phase_turns
        pairs = cosine_columns(
            *self._projection(rows),
            np.concatenate([zeros, zeros - zeros.dtype.type(0.25)]),
            np.concatenate([self._amplitudes, self._amplitudes]),
            normalize=False,
            row_scale=row_scale,
        )
        states = np.empty((len(rows), self.n_columns_), self.column_dtype_)
        states.real, states.imag = np.split(pairs, 2, axis=1)
        return states

    def _drawn(self) -> list[Any]:
        return [*super()._drawn(), bool(self.normalize), *self._kernel_drawn()]
