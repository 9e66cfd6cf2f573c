"""Tables read for other ends than learning: frames to ask about, typical values."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from rhokit.streams.buffer import Reservoir
from rhokit.streams.columns import require_pyarrow
from rhokit.validation import check_count, generator

_TYPICAL_ROWS = 20_000
_READ_ROWS = 65_536


def read_frames(
    source: Any,
    columns: list[str] | None = None,
    *,
    schema: Any = None,
    batch_rows: int = _READ_ROWS,
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
    from rhokit.streams.tables import Table

    check_count("batch_rows", batch_rows)
    table = Table(source, columns=columns, mixed=True, numeric=False, schema=schema)
    yield from table.frames(batch_rows)


def typical_values(
    source: Any, columns: list[str] | None = None, *, random_state: Any = 0
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
    from rhokit.streams.arrow import numbers_of
    from rhokit.streams.tables import Table

    table = Table(source, columns=columns, mixed=True)
    numbers = [name for name in table.columns if name not in table.categories]
    counts: dict[str, Counter[Any]] = {name: Counter() for name in table.categories}
    sample = Reservoir(_TYPICAL_ROWS, generator(random_state))
    for frame in table.frames(_READ_ROWS):
        sample.add(numbers_of(frame, numbers))
        for name, counter in counts.items():
            for each in frame.column(name).value_counts().to_pylist():
                counter[each["values"]] += each["counts"]
    if not sample.n_passed:
        raise ValueError("the table holds no rows")
    found = dict(zip(numbers, _medians(sample.sample()[0], numbers), strict=True))
    for name, counter in counts.items():
        counter.pop(None, None)
        if not counter:
            raise ValueError(f"column {name!r} holds no value at all")
        found[name] = counter.most_common(1)[0][0]
    return {name: found[name] for name in table.columns}


def _medians(rows: np.ndarray, names: list[str]) -> list[float]:
    empty = np.isnan(rows).all(axis=0)
    if empty.any():
        name = names[int(empty.argmax())]
        raise ValueError(f"column {name!r} holds no value at all")
    return [float(value) for value in np.nanmedian(rows, axis=0)]
