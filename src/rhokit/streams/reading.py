"""Tables read for other ends than learning: frames to ask about, typical values."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch, Columns
from rhokit.errors import DataError
from rhokit.frames import Schema
from rhokit.progress import counted
from rhokit.streams.buffer import Reservoir
from rhokit.streams.learning import require_pyarrow
from rhokit.streams.text_format import ReadingOptions
from rhokit.validation import check_count, generator

_TYPICAL_ROWS = 20_000
_READ_ROWS = 65_536


def read_frames(
    source: Any,
    columns: list[str] | None = None,
    *,
    schema: Schema | None = None,
    batch_rows: int = _READ_ROWS,
    **reading: Unpack[ReadingOptions],
) -> Iterator[Any]:
    """Columns of files of any size as Arrow tables, batch by batch, in their order.

    For predictions: ``model.predict(frame)`` of each. Values that are missing stay so.

    Parameters
    ----------
    source : path, list of paths or pyarrow Dataset
        As :func:`rhokit.fit_files` takes it.
    columns : list of str, optional
        All without it.
    schema : Schema, optional
        ``model.schema_``, so that categories of text files are read as the model knows
        them, whatever they look like.
    batch_rows : int, default=65_536
        The most rows of a table.
    **reading
        How text is read, where it shall not be detected: as :func:`rhokit.fit_files`
        takes it.

    Yields
    ------
    frame : pyarrow.Table

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rhokit.streams import read_frames
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("a,b\\n1,x\\n2,y\\n3,z\\n")
    >>> [frame.num_rows for frame in read_frames(path, ["b"], batch_rows=2)]
    [2, 1]
    """
    require_pyarrow()
    from rhokit.streams.tables import TableReader

    check_count("batch_rows", batch_rows)
    reader = TableReader(
        source,
        columns=columns,
        mixed=True,
        numeric=False,
        schema=schema,
        reading=reading,
    )
    yield from reader.frames(batch_rows)


def typical_values(
    source: Any,
    columns: list[str] | None = None,
    *,
    random_state: Any = 0,
    **reading: Unpack[ReadingOptions],
) -> dict[str, Any]:
    """A value for each column to stand where one is missing.

    The median of numbers (of 20,000 rows drawn from the files), and the most frequent
    category; for ``missing=`` of :func:`rhokit.fit_files`.

    Parameters
    ----------
    source : path, list of paths or pyarrow Dataset
    columns : list of str, optional
        All without it.
    random_state : int, RandomState or Generator, optional
    **reading
        How text is read: as :func:`rhokit.fit_files` takes it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rhokit.streams import typical_values
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("a,b\\n1,x\\n,x\\n3,\\n")
    >>> typical_values(path)
    {'a': 2.0, 'b': 'x'}
    """
    require_pyarrow()
    from rhokit.streams.tables import TableReader

    reader = TableReader(source, columns=columns, mixed=True, reading=reading)
    roles = reader.roles
    numbers = [name for name in roles.columns if name not in roles.categories]
    counts: dict[str, Counter[Any]] = {name: Counter() for name in roles.categories}
    sample = Reservoir(_TYPICAL_ROWS, generator(random_state))
    for frame in counted("Looking for typical values", reader.frames(_READ_ROWS)):
        _count(frame, counts)
        sample.add(_numbers(frame, numbers))
    if not sample.n_passed:
        raise ValueError("the table holds no rows")
    found: dict[str, Any] = dict(
        zip(numbers, _medians(sample.sample().rows, numbers), strict=True)
    )
    found |= {name: _most_frequent(name, counter) for name, counter in counts.items()}
    return {name: found[name] for name in roles.columns}


def _count(frame: Any, counts: dict[str, Counter[Any]]) -> None:
    """Count the categories of some columns of an Arrow table."""
    for name, counter in counts.items():
        for each in frame.column(name).value_counts().to_pylist():
            counter[each["values"]] += each["counts"]


def _numbers(frame: Any, names: list[str]) -> Batch:
    """Columns of numbers, NaN where a value is missing."""
    from rhokit.streams.arrow import numbers_of

    return Batch(numbers_of(frame, names), Columns(len(names), tuple(names)))


def _most_frequent(name: str, counter: Counter[Any]) -> Any:
    counter.pop(None, None)
    if not counter:
        raise DataError("holds no value at all", column=name)
    return counter.most_common(1)[0][0]


def _medians(rows: NDArray[np.float64], names: list[str]) -> list[float]:
    empty = np.isnan(rows).all(axis=0)
    if empty.any():
        raise DataError("holds no value at all", column=names[int(empty.argmax())])
    return [float(value) for value in np.nanmedian(rows, axis=0)]
