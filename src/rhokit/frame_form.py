"""The kind of frame that rows came as, so that rows can be given back as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rhokit.frame_columns import CATEGORY_TYPES
from rhokit.frame_times import with_times

FORMS = ("pandas", "polars", "arrow", "numpy")
"""What rows may have come as, if they had types that numbers alone do not tell."""
WHOLE = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
"""Types of whole numbers."""
DTYPES = (*WHOLE, "float32", "float64", "bool", "category", "text")
"""Types of columns: truth values, numbers, and categories marked as such or not."""
OF_CATEGORIES = ("bool", "category", "text")
"""Those of columns of categories."""
Categories = Sequence[tuple[Any, ...] | None]


@dataclass(frozen=True)
class FrameForm:
    """The library of a frame, and the types of its columns.

    Parameters
    ----------
    kind : one of :data:`FORMS`
    dtypes : tuple of str
        One of :data:`DTYPES` for each column.

    Examples
    --------
    >>> import pandas as pd
    >>> from rhokit.frame_form import FrameForm
    >>> frame = pd.DataFrame({"rooms": [1, 2], "town": pd.Categorical(["Ulm", "Bonn"])})
    >>> FrameForm.of(frame, [None, ("Bonn", "Ulm")])
    FrameForm(kind='pandas', dtypes=('int64', 'category'))
    """

    kind: str
    dtypes: tuple[str, ...]

    @classmethod
    def of(cls, X: Any, categories: Categories) -> "FrameForm | None":
        """The form of a frame or of an array of whole numbers; None of other rows.

        Parameters
        ----------
        X : array-like or frame
        categories : sequence of tuple or None
            The values of columns of categories, None for columns of numbers.
        """
        if isinstance(X, np.ndarray):
            is_whole = X.ndim == 2 and X.dtype.name in WHOLE
            return cls("numpy", (X.dtype.name,) * X.shape[1]) if is_whole else None
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame) or frame.shape[1] != len(categories):
            return None
        kind = str(frame.implementation.value).replace("pyarrow", "arrow")
        if kind not in FORMS:
            return None
        pairs = zip(frame.iter_columns(), categories, strict=True)
        return cls(
            kind, tuple(_dtype_of(column.dtype, known) for column, known in pairs)
        )

    def fits(self, categories: Categories) -> bool:
        """Whether columns of numbers and of these categories can have such types."""
        if self.kind == "numpy" and (len(set(self.dtypes)) > 1 or any(categories)):
            return False
        return len(self.dtypes) == len(categories) and all(
            dtype not in OF_CATEGORIES
            if known is None
            # Truth values are those alone.
            else dtype in OF_CATEGORIES and (dtype != "bool" or known == (False, True))
            for dtype, known in zip(self.dtypes, categories, strict=True)
        )

    def part(self, columns: list[int]) -> "FrameForm":
        """The form of some of the columns."""
        return FrameForm(self.kind, tuple(self.dtypes[i] for i in columns))

    def frame(
        self,
        columns: Mapping[Any, NDArray[Any]],
        categories: Mapping[Any, tuple[tuple[Any, ...], bool]],
        like: Any = None,
    ) -> Any:
        """Columns by name as such a frame, or as an array.

        Parameters
        ----------
        columns : dict of arrays of shape (n,)
            Numbers, NaN where they are missing, and values of categories, or None.
        categories : dict
            Of columns that have some: these, and whether they have an order.
        like : frame, optional
            Whose index rows get, of pandas.
        """
        dtypes = dict(zip(columns, self.dtypes, strict=True))
        typed = {}
        for name, values in with_times(columns).items():
            dtype = dtypes.get(name, "float64")
            is_other = name in categories or values.dtype.kind == "M"
            typed[name] = values if is_other else _as_numbers(values, dtype), dtype
        if self.kind == "numpy":
            return np.stack([values for values, _ in typed.values()], axis=1)
        make = {"pandas": _pandas, "polars": _polars, "arrow": _arrow}[self.kind]
        made = make(typed, categories)
        return made.set_index(like.index) if hasattr(like, "index") else made


def _dtype_of(dtype: Any, known: tuple[Any, ...] | None) -> str:
    """Type of a narwhals column, as one of :data:`DTYPES` that fits its categories."""
    if known is None:
        name = str(dtype).lower()
        return name if name in (*WHOLE, "float32") else "float64"
    if dtype == nw.Boolean and known == (False, True):
        return "bool"
    return "category" if isinstance(dtype, CATEGORY_TYPES[:2]) else "text"


def _as_numbers(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Numbers as a type has them, whole ones rounded; floats if one is missing."""
    if dtype not in WHOLE:
        return values.astype("float32" if dtype == "float32" else "float64")
    if np.isnan(values).any():
        return values.astype("float64")
    # The largest 64-bit numbers have no double of their own.
    ends = np.iinfo(dtype)
    high = np.nextafter(float(ends.max), 0) if ends.bits == 64 else float(ends.max)
    return np.rint(values).clip(float(ends.min), high).astype(dtype)


Typed = Mapping[Any, tuple[NDArray[Any], str]]
Known = Mapping[Any, tuple[tuple[Any, ...], bool]]


def _is_closed(values: NDArray[Any]) -> bool:
    """Whether no value is missing."""
    return not any(value is None for value in values)


def _pandas(columns: Typed, categories: Known) -> Any:
    import pandas as pd

    made = {}
    for name, (values, dtype) in columns.items():
        if name in categories and dtype == "category":
            known, ordered = categories[name]
            made[name] = pd.Categorical(values, list(known), ordered=ordered)
        elif dtype == "bool" and _is_closed(values):
            made[name] = values.astype(bool)
        else:
            made[name] = values
    return pd.DataFrame(made)


def _polars(columns: Typed, categories: Known) -> Any:
    import polars as pl

    made = []
    for name, (values, dtype) in columns.items():
        if dtype == "category":
            known, ordered = categories[name]
            kind = pl.Enum(list(known)) if ordered else pl.Categorical
            made.append(pl.Series(name, values.tolist(), kind))
        else:
            made.append(
                pl.Series(name, values.tolist() if name in categories else values)
            )
    return pl.DataFrame(made)


def _arrow(columns: Typed, categories: Known) -> Any:
    import pyarrow as pa

    made = {}
    for name, (values, dtype) in columns.items():
        if dtype == "category":
            known, ordered = categories[name]
            lookup = {value: code for code, value in enumerate(known)}
            codes = pa.array([lookup.get(value) for value in values], pa.int32())
            made[str(name)] = pa.DictionaryArray.from_arrays(
                codes, pa.array(list(known)), ordered=ordered
            )
        else:
            made[str(name)] = pa.array(
                values.tolist() if name in categories else values
            )
    return pa.table(made)
