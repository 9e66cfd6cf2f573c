"""What people have in place of frames: plans, readers and relations that make some."""

from typing import Any

from rhokit.errors import DataTypeError

# By library and class: the method that makes a frame in memory of it.
_MAKES_A_FRAME = {
    ("polars", "LazyFrame"): "collect",
    ("_duckdb", "DuckDBPyRelation"): "to_arrow_table",
    ("duckdb", "DuckDBPyRelation"): "to_arrow_table",
    ("pyarrow", "RecordBatchReader"): "read_all",
    ("pyarrow", "FileSystemDataset"): "to_table",
    ("pyarrow", "InMemoryDataset"): "to_table",
    ("pyarrow", "UnionDataset"): "to_table",
    ("pyarrow", "FilteredDataset"): "to_table",
}
_COLUMNS = {
    ("pandas", "Series"): "X.to_frame()",
    ("polars", "Series"): "X.to_frame()",
    ("pyarrow", "ChunkedArray"): "pyarrow.table({'name': X})",
}


def read_in(X: Any) -> Any:
    """Rows as a frame or an array, where they were still to be computed or read.

    A column by itself is refused, with what to call.

    Examples
    --------
    >>> import polars as pl
    >>> from rhokit.frame_sources import read_in
    >>> read_in(pl.LazyFrame({"x": [1, 2]}).filter(pl.col("x") > 1)).shape
    (1, 1)
    """
    kind = type(X)
    key = kind.__module__.split(".")[0], kind.__name__
    if key in _MAKES_A_FRAME:
        return getattr(X, _MAKES_A_FRAME[key])()
    if key == ("pyarrow", "RecordBatch"):
        import pyarrow as pa

        return pa.Table.from_batches([X])
    if key in _COLUMNS:
        raise DataTypeError(
            f"X must be rows of columns, got a {kind.__name__}, which is a single "
            f"column: give {_COLUMNS[key]}"
        )
    return X
