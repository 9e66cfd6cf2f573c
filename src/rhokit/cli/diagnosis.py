"""What is wrong with data that the library refused: the row, if it did not tell."""

import re

from rhokit.cli.errors import UserError
from rhokit.cli.tables import explained

_A_GAP = re.compile(r"column '(.+)' has \d+ missing values")
_TEXT = re.compile(r"column '(.+)' must be numbers, but the table holds")
_ADVICE = "--missing drop leaves such rows out, --missing impute fills them"


def diagnosed(source, rows, error):
    """What to say about an error of the library, after another look at the table."""
    text = str(error)
    if found := _A_GAP.search(text):
        return _first_gap(rows, found[1]) or f"{source.name}: {text}"
    found = _TEXT.search(text)
    if found and rows.is_text and (where := _first_text(rows, found[1])):
        return where
    return explained(source.name, error, rows.names)


def _first_gap(rows, name):
    import numpy as np

    for batch in rows.batches([name]):
        gaps = batch.table.column(name).is_null(nan_is_null=True).to_numpy()
        if gaps.any():
            row = batch.first_row + int(np.argmax(gaps))
            return (
                f"{batch.file}: row {row:,}: column {name!r} has no value ({_ADVICE})"
            )
    return None


def _first_text(rows, name):
    """What reading a column as numbers stumbles over."""
    import pyarrow as pa

    try:
        for _ in rows.batches([name], {name: pa.float64()}):
            pass
    except UserError as error:
        return str(error)
    return None
