"""Tables that fit into memory, read from files as frames."""

from collections.abc import Iterable
from typing import Any, Literal, Unpack

from rhokit.frame_columns import MOST_CATEGORIES
from rhokit.progress import counted
from rhokit.streams.learning import require_pyarrow
from rhokit.streams.text_format import ReadingOptions

_FRAMES = ("pandas", "polars", "arrow")


def read_table(
    source: Any,
    columns: list[str] | None = None,
    *,
    frame: Literal["pandas", "polars", "arrow"] = "pandas",
    categories: Iterable[str] = (),
    keep_all: bool = False,
    **reading: Unpack[ReadingOptions],
) -> Any:
    """Read files into a frame as models take it, by the rules of the program.

    Text is categories, dates are dates, marks of missing values are missing values.
    What was detected and is unusual is said in a :class:`~rhokit.errors.DataNote`, a
    warning.

    Parameters
    ----------
    source : path, list of paths or pyarrow Dataset
        As :func:`rhokit.fit_files` takes it.
    columns : list of str, optional
        Without it all but those that say nothing about a row: names and numbers of
        rows, and what is the same in all of them.
    frame : {"pandas", "polars", "arrow"}, default="pandas"
        The library of the frame.
    categories : list of str
        Columns that are categories whatever they look like, as numbers that are codes.
    keep_all : bool, default=False
        Whether columns that say nothing are kept.
    **reading
        How text is read, where it shall not be detected: as :func:`rhokit.fit_files`
        takes it.

    Returns
    -------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import rhokit
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("size;town\\n1,5;Ulm\\n2,5;Bonn\\n?;Ulm\\n")
    >>> table = rhokit.read_table(path, delimiter=";", decimal=",", missing_marks=["?"])
    >>> table["size"].tolist(), table["town"].dtype.name
    ([1.5, 2.5, nan], 'category')
    """
    if frame not in _FRAMES:
        raise ValueError(f"frame must be one of {_FRAMES}, got {frame!r}")
    require_pyarrow()
    import pyarrow as pa

    from rhokit.streams.files import open_table, tell
    from rhokit.streams.idle_columns import without_idle
    from rhokit.streams.roles import TableRoles

    table = open_table(source, reading)
    tell(table)
    roles = TableRoles.of(table.schema, columns, None, None)
    named = roles.checked_names(categories)
    names = list(roles.columns)
    if columns is None and not keep_all:
        names = without_idle(table, names)
    typed = table.typed(dict.fromkeys(named, pa.string()))
    kinds = pa.schema([typed.schema.field(name) for name in names])
    records = [
        record.cast(kinds) if record.schema != kinds else record
        for piece in typed.pieces(names, lambda *_: None)
        for record in counted("Reading", piece.records(names))
    ]
    found = pa.Table.from_batches(records, kinds)
    return _as_frame(_with_categories(found, named, table), frame)


def _with_categories(found: Any, named: list[str], table: Any) -> Any:
    """A table whose texts are dictionaries, unless there are too many."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from rhokit.streams.text_values import refuse_numbers

    for place, name in enumerate(found.column_names):
        column = found.column(place)
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(
            column.type
        )
        if name in named and not is_text:
            column, is_text = column.cast(pa.string()), True
        if not is_text:
            continue
        values = pc.unique(column.drop_null())
        if table.is_guessed and name not in named:
            refuse_numbers(name, values.to_pylist(), table)
        if len(values) <= MOST_CATEGORIES:
            encoded = column.dictionary_encode().unify_dictionaries()
            found = found.set_column(place, name, encoded)
    return found


def _as_frame(table: Any, frame: str) -> Any:
    if frame == "arrow":
        return table
    try:
        if frame == "polars":
            import polars as pl

            return pl.from_arrow(table)
        import pandas  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"a frame of {frame} needs {frame}: install it, or take frame='arrow'"
        ) from error
    return table.to_pandas()
