"""The work of ``rhokit synthesize``: rows drawn, written, and compared."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rhokit.cli.failures import UsageError, UserError
from rhokit.cli.stored_models import StoredModel
from rhokit.cli.writers import written
from rhokit.inspection import Fidelity, fidelity

# Rows that are drawn and written at a time, and those that are compared.
_AT_A_TIME, _COMPARED = 100_000, 5_000


def conditions_of(stored: StoredModel, given: Sequence[str]) -> dict[str, Any]:
    """Values of columns by name, from texts like ``column=value``."""
    columns = stored.estimator.fitted_model().plan.columns
    names = stored.columns or [f"column {k}" for k in range(columns.n_features)]
    found: dict[str, Any] = {}
    for text in given:
        # A name may hold the sign, too.
        matching = [name for name in names if text.startswith(f"{name}=")]
        if not matching:
            raise UsageError(
                f"--given must be COLUMN=VALUE, where columns are {', '.join(names)}, "
                f"got {text!r}"
            )
        name = max(matching, key=len)
        known = columns.categories[names.index(name)]
        found[name] = _value(name, text[len(name) + 1 :], known)
    return found


def _value(name: str, text: str, known: Sequence[Any] | None) -> Any:
    """A number, or the category that is written like this."""
    if known is None:
        try:
            return float(text)
        except ValueError as error:
            raise UsageError(
                f"--given {name} must be a number, got {text!r}"
            ) from error
    for category in known:
        if str(category) == text:
            return category
    some = ", ".join(map(str, known[:8]))
    raise UserError(f"--given {name}: {text!r} was not learned, but {some}")


def write_rows(
    stored: StoredModel,
    output: Path,
    n_rows: int,
    conditions: dict[str, Any],
    seed: int,
    escape: bool,
) -> pa.Table:
    """Draw rows and write them; returns some of them, to be looked at."""
    rng, kept = np.random.default_rng(seed), None
    with ExitStack() as stack:
        add = stack.enter_context(written(output, escape=escape))
        for start in range(0, n_rows, _AT_A_TIME):
            size = min(_AT_A_TIME, n_rows - start)
            rows = stored.estimator.sample(size, rng, conditions=conditions or None)
            table = _as_table(rows, stored)
            kept = table.slice(0, _COMPARED) if kept is None else kept
            add(table)
    assert kept is not None
    return kept


def _as_table(rows: Any, stored: StoredModel) -> pa.Table:
    """Rows of any kind as columns of Arrow."""
    if isinstance(rows, pa.Table):
        return rows
    if hasattr(rows, "to_arrow"):
        return rows.to_arrow()
    if hasattr(rows, "columns"):
        return pa.Table.from_pandas(rows, preserve_index=False)
    names = stored.columns or [f"column {k}" for k in range(rows.shape[1])]
    return pa.table(dict(zip(names, map(pa.array, rows.T.tolist()), strict=True)))


def compared(stored: StoredModel, rows: pa.Table, seed: int) -> Fidelity:
    """How like the learned rows, of which the model keeps a sample, these are."""
    real: Any = stored.estimator
    synthetic: Any = rows
    if stored.columns is None:  # as the model has them: without names
        synthetic = np.column_stack([column.to_numpy() for column in rows.columns])
    return fidelity(real, synthetic, random_state=seed)
