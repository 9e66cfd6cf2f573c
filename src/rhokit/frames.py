"""Frames with columns of categories: what the columns are, as rows of numbers.

A category is a state like any other: a one-hot vector, or, where categories have an
order, the softmax state of its place. Rows of numbers and such states side by side
have a Gaussian kernel that is the product of the kernels of the columns,

    exp(-γ‖x - y‖²) · ∏_c exp(-γ‖ψ(a_c) - ψ(b_c)‖²),

so every map of the Gaussian kernel is a map of mixed columns too, and whatever sums,
measures, merges or trains rows of numbers does so with categories.

A category that was not learned is the outcome *unseen*, whose state is zero, as near to
one category as to any other. Places on a circle, such as months, are always known."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core import GaussianKernel, softmax_states
from rhokit.errors import DataError, listed
from rhokit.frame_columns import (
    CATEGORY_TYPES,
    MOST_CATEGORIES,
    categories_of,
    columns_of,
    dictionary_of,
    is_ordered,
    numbers_of_column,
)
from rhokit.frame_times import CYCLES, cycle_states
from rhokit.validation import is_missing, refuse_non_finite

__all__ = ["MOST_CATEGORIES", "Schema"]

# How fast the overlap of ordered categories falls with the places between: to half.
_SHARPNESS = 2.8
_CLOSED = (None, (False, True), *CYCLES.values())


@dataclass(frozen=True)
class Schema:
    """Names and kinds of the columns of a frame.

    A row of d columns is encoded as a *wide* row of numbers: a column of numbers is one
    of its entries, a column of C categories is C of them, the state of the category.

    Parameters
    ----------
    names : tuple of str, of length d
    categories : tuple of length d
        The values of a column of categories, None for a column of numbers.
    ordered : tuple of bool, of length d
        Whether the categories of a column have an order.
    unseen : tuple of float, of length d
        Probability of a category that was not learned, of each column; zero where
        there can be none, as of numbers and truth values.

    Examples
    --------
    >>> import pandas as pd
    >>> from rhokit.frames import Schema
    >>> size = pd.Categorical(["S", "M"], categories=["S", "M", "L"], ordered=True)
    >>> frame = pd.DataFrame({"price": [1.5, 2.0], "size": size, "new": [True, False]})
    >>> schema = Schema.of(frame)
    >>> schema.kinds
    ('number', 'ordered', 'category')
    >>> schema.encode(frame).round(2)
    array([[1.5 , 0.97, 0.24, 0.  , 0.  , 1.  ],
           [2.  , 0.23, 0.94, 0.23, 1.  , 0.  ]])
    """

    names: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]
    ordered: tuple[bool, ...]
    unseen: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.unseen:
            object.__setattr__(self, "unseen", (0.0,) * len(self.names))

    @classmethod
    def of(cls, X: Any) -> "Schema | None":
        """The schema of a frame; None of what is no frame or has numbers only."""
        columns = columns_of(X)
        if not any(isinstance(each.dtype, CATEGORY_TYPES) for each in columns.values()):
            return None
        return cls(
            tuple(columns),
            tuple(categories_of(column) for column in columns.values()),
            tuple(is_ordered(column) for column in columns.values()),
        )

    # ---- what the columns are ------------------------------------------------------

    @property
    def kinds(self) -> tuple[str, ...]:
        """``"number"``, ``"category"`` or ``"ordered"`` for each column."""
        return tuple(
            "number" if known is None else "ordered" if ordered else "category"
            for known, ordered in zip(self.categories, self.ordered, strict=True)
        )

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """Where each column stands in a wide row."""
        widths = [1 if known is None else len(known) for known in self.categories]
        stops = np.cumsum(widths).tolist()
        starts = [0, *stops[:-1]]
        return tuple(slice(a, b) for a, b in zip(starts, stops, strict=True))

    @property
    def width(self) -> int:
        """Numbers of a wide row."""
        return self.blocks[-1].stop

    @cached_property
    def is_number(self) -> NDArray[np.bool_]:
        """Which entries of a wide row are numbers, shape (width,)."""
        mask = np.zeros(self.width, bool)
        for block, known in zip(self.blocks, self.categories, strict=True):
            mask[block] = known is None
        return mask

    def states(self, column: int) -> NDArray[np.float64]:
        """States of a column's categories, shape (C, C)."""
        known = self.categories[column]
        assert known is not None
        count = len(known)
        if known in CYCLES.values():
            return cycle_states(count)
        if not self.ordered[column] or count == 1:
            return np.eye(count)
        places = np.linspace(0, 1, count)
        return np.asarray(softmax_states(places, count, _SHARPNESS * (count - 1) ** 2))

    def is_open(self, column: int) -> bool:
        """Whether a column may hold categories that were not learned."""
        return self.categories[column] not in _CLOSED

    def outcomes(self, column: int) -> NDArray[np.float64]:
        """States of whatever a column of categories may hold: with *unseen*, last."""
        states = self.states(column)
        if not self.is_open(column):
            return states
        return np.vstack([states, np.zeros(len(states))])

    def name_of(self, entry: int) -> str:
        """Name of the column that an entry of a wide row is of."""
        stops = [block.stop for block in self.blocks]
        return self.names[int(np.searchsorted(stops, entry, side="right"))]

    def category_columns(self) -> list[int]:
        """Which of the columns hold categories."""
        return [i for i, known in enumerate(self.categories) if known is not None]

    def part(self, columns: list[int]) -> "Schema":
        """The schema of some of the columns."""
        return Schema(
            tuple(self.names[i] for i in columns),
            tuple(self.categories[i] for i in columns),
            tuple(self.ordered[i] for i in columns),
            tuple(self.unseen[i] for i in columns),
        )

    # ---- categories that were not learned -------------------------------------------

    def expecting(
        self, rows: NDArray[Any], weights: NDArray[np.float64] | None = None
    ) -> "Schema":
        r"""This schema with probabilities of unseen categories, by leave-one-out.

        A row left out is of an unseen category if no other row has its own: with
        :math:`n_1` such rows, and half a row more that any column may meet,

        .. math:: \varepsilon = \frac{n_1 + 1/2}{n + 1}.

        Parameters
        ----------
        rows : array of shape (n, width)
            Wide ones.
        weights : array of shape (n,), optional
            Above zero; a weight of k counts as k copies.
        """
        mass = np.ones(len(rows)) if weights is None else weights
        found = [0.0] * len(self.names)
        for column in filter(self.is_open, self.category_columns()):
            codes = self.codes(column, rows)
            found[column] = _unseen_probability(codes[codes >= 0], mass[codes >= 0])
        return replace(self, unseen=tuple(found))

    def codes(self, column: int, rows: NDArray[Any]) -> NDArray[np.intp]:
        """Codes of the categories of wide rows (n,): C of *unseen*, -1 of gaps."""
        own = rows[:, self.blocks[column]]
        codes = np.where(own.any(axis=1), self.nearest(column, rows), own.shape[1])
        return np.where(np.isnan(own[:, 0]), -1, codes)

    def log_measure(self, rows: NDArray[Any], gamma: float) -> NDArray[np.float64]:
        r"""What a kernel's density is multiplied by for each row's outcomes, (n,).

        The kernel of a state of zero is :math:`e^{-\gamma}` for any category, so that
        what it measures there is the density of the other columns, times that over the
        mass of the column. A density that has *unseen* with the probability ε times
        that of the other columns, and all else 1 - ε times, is the kernel's, times
        this.
        """
        logs = np.zeros(len(rows))
        for column in self.category_columns():
            if self.unseen[column]:
                known, unseen = self.log_outcome_weights(column, gamma)[[0, -1]]
                own = rows[:, self.blocks[column]]
                logs += np.where(own.any(axis=1), known, unseen)
                logs -= np.where(np.isnan(own[:, 0]), known, 0)
        return logs

    def log_outcome_weights(self, column: int, gamma: float) -> NDArray[np.float64]:
        """Logarithms of weights of a column's outcomes: see :meth:`log_measure`.

        The weight of *unseen* grows as e^γ, beyond all numbers where kernels are
        narrow; what it is multiplied by falls as fast.
        """
        kernel = self.category_kernel(column, gamma)
        logs = np.full(len(kernel), math.log1p(-self.unseen[column]))
        if not self.is_open(column):
            return logs
        with np.errstate(divide="ignore"):  # where none is expected: zero
            unseen = np.log(self.unseen[column] * kernel.sum(axis=0).mean())
        return np.append(logs, unseen + gamma)

    def log_mass(self, gamma: float) -> float:
        r"""Logarithm of :math:`\int e^{-\gamma\|x-y\|^2}dx` over wide rows.

        Over numbers an integral, over categories a sum; where these have an order, it
        depends on the place, and this is its mean over the places.
        """
        mass = GaussianKernel(gamma).log_mass(int(self.is_number.sum()))
        for column in self.category_columns():
            overlaps = self.category_kernel(column, gamma)
            mass += math.log(overlaps.sum(axis=0).mean())
        return mass

    def category_kernel(self, column: int, gamma: float) -> NDArray[np.float64]:
        """Kernel of any two categories of a column, shape (C, C)."""
        states = self.states(column)
        squares = ((states[:, None] - states) ** 2).sum(axis=2)
        return np.asarray(GaussianKernel(gamma)(squares))

    # ---- rows -----------------------------------------------------------------------

    def encode(
        self, X: Any, dtype: Any = np.float64, *, is_closed: bool = False
    ) -> NDArray[Any]:
        """A frame as wide rows of numbers (n, width), NaN for what is missing.

        With ``is_closed``, a category that was not learned is an error.
        """
        columns = columns_of(X)
        if not columns:
            raise TypeError(
                "a frame with columns of categories was learned from, so rows must "
                f"come as a frame too, got {type(X).__name__}"
            )
        self._compare(list(columns))
        rows = np.empty((len(columns[self.names[0]]), self.width), dtype)
        for index, block in enumerate(self.blocks):
            column = columns[self.names[index]]
            if self.categories[index] is None:
                rows[:, block.start] = numbers_of_column(column)
                continue
            codes = self._codes(index, column, is_closed)
            states = np.vstack(
                [self.outcomes(index), np.full(block.stop - block.start, np.nan)]
            )
            rows[:, block] = states[codes]  # code -1 is the last: a gap
        return rows

    def encode_row(
        self, values: list[Any], *, may_miss: bool = False, is_closed: bool = False
    ) -> NDArray[np.float64]:
        """The values of a single row, in the order of the columns, as a wide one."""
        row = np.empty(self.width)
        for index, (value, block) in enumerate(zip(values, self.blocks, strict=True)):
            known = self.categories[index]
            if is_missing(value):
                row[block] = np.nan
            elif known is None:
                row[block] = self._number(index, value)
            else:
                row[block] = self.outcomes(index)[self._code(index, value, is_closed)]
        if not may_miss:
            refuse_non_finite(row[None], "a row", self.name_of)
        return row

    def decode(self, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Wide rows as columns by name; None stands for what is unseen or missing."""
        columns = {}
        for index, (name, block) in enumerate(
            zip(self.names, self.blocks, strict=True)
        ):
            known = self.categories[index]
            if known is None:
                columns[name] = rows[:, block.start]
                continue
            values = np.empty(len(known) + 2, object)
            values[: len(known)] = known
            columns[name] = values[self.codes(index, rows)]
        return columns

    def nearest(self, column: int, rows: NDArray[Any]) -> NDArray[np.intp]:
        """Codes of the categories nearest to what stands in wide rows, shape (n,)."""
        states = self.states(column)
        overlaps = rows[:, self.blocks[column]] @ states.T - (states**2).sum(axis=1) / 2
        return np.asarray(overlaps.argmax(axis=1))

    def _codes(
        self, index: int, column: Any, is_closed: bool = False
    ) -> NDArray[np.intp]:
        """Place of each value among the column's outcomes, -1 for a gap."""
        values, places = dictionary_of(column)
        lookup = self._lookup(index)
        # A last place stands for gaps.
        codes_of = np.array(
            [-1 if is_missing(v) else lookup.get(v, -2) for v in values] + [-1]
        )
        codes = codes_of[places]
        is_strange = codes == -2
        if is_strange.any():
            row = int(is_strange.argmax())
            codes[is_strange] = self._unseen(index, values[places[row]], row, is_closed)
        return np.asarray(codes)

    def _code(self, index: int, value: Any, is_closed: bool = False) -> int:
        found = self._lookup(index).get(value)
        return self._unseen(index, value, None, is_closed) if found is None else found

    def _lookup(self, index: int) -> dict[Any, int]:
        """Codes of a column's categories."""
        return {value: code for code, value in enumerate(self.categories[index] or ())}

    def _unseen(self, index: int, value: Any, row: int | None, is_closed: bool) -> int:
        """Code of an unseen category, where there may be one."""
        if is_closed or not self.is_open(index):
            raise self._unknown(index, value, row)
        return len(self.categories[index] or ())

    def refuse_unseen(self, rows: NDArray[Any]) -> None:
        """Raise for wide rows of categories that were not learned."""
        for column in self.category_columns():
            is_unseen = ~rows[:, self.blocks[column]].any(axis=1)
            if is_unseen.any():
                raise self._unknown(column, None, int(is_unseen.argmax()))

    def _unknown(self, index: int, value: Any, row: int | None = None) -> DataError:
        known = self.categories[index] or ()
        what = "what" if value is None else f"{value!r}, which"
        return DataError(
            f"holds {what} is not among the categories that were learned: "
            f'{listed(known)} (with unseen="allow" it is an outcome of its own)',
            row=row,
            column=self.names[index],
            value=value,
        )

    def _number(self, index: int, value: Any) -> float:
        if isinstance(value, int | float | np.number):
            return float(value)
        name = self.names[index]
        raise DataError(f"must be a number, got {value!r}", column=name, value=value)

    def _compare(self, names: list[str]) -> None:
        """Refuse other columns than those that were learned, by name."""
        if names == list(self.names):
            return
        missing = [name for name in self.names if name not in names]
        unknown = [name for name in names if name not in self.names]
        problem = " and ".join(
            text
            for text in (
                f"lacks {missing}" if missing else "",
                f"also has {unknown}" if unknown else "",
            )
            if text
        )
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"{list(self.names)}; the frame {problem or 'has them in another order'}"
        )


def _unseen_probability(codes: NDArray[np.intp], mass: NDArray[np.float64]) -> float:
    """Probability of a category that no other row has, by leaving rows out."""
    _, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    totals = np.bincount(places, mass)
    # Weights that are no copies, such as shares of one, are rows all the same.
    n, total = max(float(mass.sum()), float(len(mass))), max(mass.sum(), 1e-300)
    lonely = totals[(counts == 1) & (totals < 2)].sum() / total
    return float((n * lonely + 0.5) / (n + 1))
