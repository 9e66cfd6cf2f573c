"""What the first answers of a model in a file cost, said before it is built."""

from typing import Any

from rhokit.io.parameter_field import defaults
from rhokit.records import OUTCOME_COST, Reader, Values, built
from rhokit.representations import REPRESENTATIONS

# Bytes for each sampled row and outcome, while rows are left out.
_LEFT_OUT = 48
# Rows of which the first drawn ones are chosen, and the time that it takes to compare
# one with an anchor, beside that for each column.
_PROPOSED, _COMPARED = 2000, 16
# Bytes of a number of the columns of rows.
_COMPLEX = 16


def claim_costs(cls: Any, parameters: Values, model: Values, reader: Reader) -> None:
    """Refuse a model whose first answer, or first row, would cost too much.

    Parameters
    ----------
    cls : type
        Of the estimator.
    parameters : mapping
        Of the estimator.
    model : mapping
        Parts of the model, not built yet.
    reader : Reader
        Which has read them.
    """
    sizes, readout = reader.sizes, model["readout"].of
    count = sizes["K"]
    reader.claim(OUTCOME_COST * count, f"{count} outcomes")
    if model["state"] is None:
        REPRESENTATIONS[model["plan"].parts["representation"]].claim_rows(reader)
    n_rows = sizes.get("s", 0)
    what = f"a sample of {n_rows} rows for {count} outcomes"
    reader.claim(_LEFT_OUT * n_rows * count, what)
    n_anchors = sizes.get("a", 0)
    compared = _PROPOSED * n_anchors * (_COMPARED + sizes["d"])
    reader.claim(compared, f"a proposal of {n_anchors} anchors")
    known = {name: built(value) for name, value in parameters.items()}
    width, batch_size = (
        max(sizes.get("m", 1), sizes.get("D", 1)),
        known.get("batch_size"),
    )
    if batch_size is not None:  # else blocks are as small as they must be
        columns = _COMPLEX * min(batch_size, _PROPOSED) * width
        reader.claim(columns, f"batch_size={batch_size}, with {width} columns,")
    learned = model["readout"].parts
    readout.claim_answers(defaults(cls) | known, learned, reader)
