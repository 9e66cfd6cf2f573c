"""Spin-coherent states: each column an angle, each row a product of spins."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from rhokit.features.base import Columns
from rhokit.features.kernel_features import KernelFeatures
from rhokit.features.registry import register
from rhokit.kernels import CoherentKernel
from rhokit.records import Fields, Number, Reader, Values, require
from rhokit.validation import Interval, StrOptions


@register
class CoherentFeatures(KernelFeatures):
    r"""Products of spin-coherent states, one spin j per column, exactly.

    .. math:: \phi(x) = \bigotimes_c |\omega x_c\rangle, \qquad
              |\theta\rangle_m = \sqrt{\tbinom{2j}{m}}\,
              \cos^{2j-m}\theta\, \sin^m\theta, \quad m = 0, \ldots, 2j

    with :math:`\omega = \sqrt{\gamma/2j}`: overlaps are
    :math:`\prod_c \cos^{2j}(\omega(x_c - y_c))`, the kernel
    :class:`rhokit.kernels.CoherentKernel`. States have length one and :math:`(2j+1)^d`
    components; for more columns than that allows, random features follow the same
    kernel: ``FourierFeatures(kernel="coherent")``. The kernel is periodic, so there is
    no density: the map is for classes and values.

    Parameters
    ----------
    gamma : float, default=1.0
        γ of the kernel, which sets the angle ω per unit of a column.
    spin : float, default=0.5
        j, a multiple of ½; ½ is a qubit per column.
    form : {"real", "complex"}, default="real"
        Spins that turn about an axis in the plane of real states, as above, or about
        another one, by phases: :math:`\sqrt{\tbinom{2j}{m}/2^{2j}}\,
        e^{i(2m-2j)\theta}`. Overlaps are the same.
    max_components : int, default=8192
        Refuse states that are larger than this.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import CoherentFeatures
    >>> rows = np.array([[0.0, 0.0], [0.5, 1.0]])
    >>> phi = CoherentFeatures(gamma=1.0).fit_transform(rows)
    >>> phi.shape, round(float(phi[0] @ phi[1]), 4), round(np.cos(0.5) * np.cos(1.0), 4)
    ((2, 4), 0.4742, np.float64(0.4742))
    """

    name = "coherent"
    settings = ("gamma",)
    resolves = True
    _parameter_table: ClassVar[Mapping[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "spin": [Interval(Real, 0, 64, closed="right")],
        "form": [StrOptions({"real", "complex"})],
        "max_components": [Interval(Integral, 1, None, closed="left")],
    }
    file_fields: ClassVar[Fields] = {
        **KernelFeatures.file_fields,
        "n_columns": Number(1, integer=True, size="D"),
    }

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        spin: float = 0.5,
        form: str = "real",
        max_components: int = 8192,
    ) -> None:
        self.gamma = gamma
        self.spin = spin
        self.form = form
        self.max_components = max_components

    @property
    def kernel(self) -> CoherentKernel:
        """The kernel that overlaps follow, for γ = 1."""
        return CoherentKernel(spin=self.spin)

    def size(self, d: int) -> float:
        """Components of the states of so many columns, a number that may be huge."""
        return float(self.kernel.n_quanta + 1) ** d

    def _draw(self, rows: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        size = self.size(rows.shape[1])
        if size > self.max_components:
            raise ValueError(
                f"CoherentFeatures needs {size:.4g} components for {rows.shape[1]} "
                f"columns of spin {self.spin:g}, more than max_components="
                f"{self.max_components:,}: take FourierFeatures(kernel=CoherentKernel("
                f"spin={self.spin:g})), whose random features follow the same kernel"
            )
        self.n_columns_ = int(size)
        self.restore()

    def restore(self) -> None:
        self.n_components_ = self.n_columns_

    @property
    def column_dtype_(self) -> np.dtype[Any]:
        """Dtype of the columns: complex if the form is."""
        if self.form == "complex":
            return np.result_type(self.dtype_, np.complex64)
        return self.dtype_

    def columns(
        self,
        rows: NDArray[Any],
        *,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        out: NDArray[Any] | None = None,
    ) -> Columns:
        """States of checked rows, which are their columns."""
        angles = self.kernel.with_gamma(self.gamma).angle * rows.astype(np.float64)
        states = np.ones((len(rows), 1))
        for column in angles.T:
            spins = self._spins(column)
            states = (states[:, :, None] * spins[:, None, :]).reshape(len(rows), -1)
        if row_scale is not None:
            states = states * row_scale[:, None]
        if out is None:
            return states.astype(self.column_dtype_), None
        out[...] = states
        return out, None

    def _spins(self, angles: NDArray[np.float64]) -> NDArray[Any]:
        """States (n, 2j + 1) of one spin each."""
        n = self.kernel.n_quanta
        up = np.arange(n + 1)
        roots = np.sqrt(comb(n, up))
        if self.form == "complex":
            return np.asarray(
                roots / 2 ** (n / 2) * np.exp(1j * np.outer(angles, 2 * up - n))
            )
        cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
        return np.asarray(roots * cosines ** (n - up) * sines**up)

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """As many components as spins of so many columns have."""
        quanta = CoherentKernel(spin=parameters["spin"]).n_quanta
        size = float(quanta + 1) ** reader.sizes["d"]
        require(fitted["n_columns"] == size, "components are not those of the spins")
        reader.bind("m", int(size), "n_columns")
        complex_ = parameters["form"] == "complex"
        reader.agree("whether columns are complex", complex_, "form")

    def _drawn(self) -> list[Any]:
        return [self.n_columns_, self.form, *self._kernel_drawn()]
