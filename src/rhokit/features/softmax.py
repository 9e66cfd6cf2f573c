"""Numbers as square roots of a softmax over landmarks."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rhokit.core import softmax_states
from rhokit.features.base import Columns, FeatureMap, bounding_box
from rhokit.features.registry import register
from rhokit.records import POSITIVE, ArrayField, Fields, Reader, Values, require
from rhokit.validation import Interval


@register
class SoftmaxFeatures(FeatureMap):
    r"""Numbers of an interval as states over equally spaced landmarks (eq. phi_sm).

    .. math:: \phi_i(y) = \sqrt{p_i(y)}, \qquad
              p_i(y) \propto e^{-\beta(u - \alpha_i)^2}, \quad
              \alpha_i = \tfrac{i-1}{m-1}, \quad
              u = \frac{y - \text{low}}{\text{high} - \text{low}}

    It is the map of the target in regression: the state is a small distribution over
    the landmarks. Several columns get a block of landmarks each, side by side, scaled
    so that the whole has length one.

    Parameters
    ----------
    n_components : int, default=32
        m, the number of landmarks of a column.
    beta : float, optional
        Sharpness, in units of the interval. Without it ``2(m-1)²``: a value between
        two landmarks is shared by these two, and by hardly any other.
    bounds : array-like of shape (2, d), optional
        Lowest and highest value of each column; learned from the rows without it.
        Values outside are treated as the nearest one inside.

    Attributes
    ----------
    low_, high_ : arrays of shape (d,)
    beta_ : float
    landmarks_ : array of shape (m, d)
        The landmarks in the units of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.features import SoftmaxFeatures
    >>> softmax = SoftmaxFeatures(n_components=3).fit([[0.0], [10.0]])
    >>> (softmax.transform([[0.0], [5.0], [6.0]]) ** 2).round(2)
    array([[0.88, 0.12, 0.  ],
           [0.11, 0.79, 0.11],
           [0.04, 0.73, 0.22]])
    """

    name = "softmax"
    file_fields: ClassVar[Fields] = {
        **FeatureMap.file_fields,
        "low": ArrayField(("d",)),
        "high": ArrayField(("d",)),
        "beta": POSITIVE,
        "landmarks": ArrayField((None, "d")),
    }
    _parameter_table: ClassVar[Mapping[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="neither"), None],
        "bounds": ["array-like", None],
    }

    def __init__(
        self,
        *,
        n_components: int = 32,
        beta: float | None = None,
        bounds: Any = None,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.bounds = bounds

    def _draw(self, rows: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        self.low_, self.high_ = bounding_box(self, rows, weights, self.bounds)
        m = self.n_components
        self.beta_ = 2.0 * max(m - 1, 1) ** 2 if self.beta is None else float(self.beta)
        steps = np.linspace(0, 1, m)[:, None]
        self.landmarks_ = self.low_ + steps * (self.high_ - self.low_)
        self.restore()

    @classmethod
    def check_file(cls, parameters: Values, fitted: Values, reader: Reader) -> None:
        """There must be as many landmarks as parameters say."""
        super().check_file(parameters, fitted, reader)
        n_levels, d = fitted["landmarks"].shape
        same = parameters["n_components"] == n_levels
        require(same, "n_components and landmarks differ")
        for size in ("m", "D"):
            reader.bind(size, n_levels * d, "landmarks")

    def restore(self) -> None:
        self.n_columns_ = self.n_components_ = self.landmarks_.size

    def columns(
        self,
        rows: NDArray[Any],
        *,
        relative: bool = False,
        row_scale: NDArray[Any] | None = None,
        out: NDArray[Any] | None = None,
    ) -> Columns:
        """Softmax states of checked rows; they are the states themselves."""
        width = np.where(self.high_ > self.low_, self.high_ - self.low_, 1.0)
        unit = np.clip((rows - self.low_) / width, 0, 1).astype(self.dtype_)
        blocks = [softmax_states(u, self.n_components, self.beta_) for u in unit.T]
        states = np.concatenate(blocks, axis=1) / np.sqrt(len(blocks))
        if row_scale is not None:
            states *= row_scale[:, None]
        return states.astype(self.dtype_, copy=False), None

    def _drawn(self) -> list[Any]:
        return [self.low_, self.high_, self.beta_, int(self.n_components)]
