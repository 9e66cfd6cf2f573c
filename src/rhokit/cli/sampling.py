"""An even sample of the rows of a table of any size."""

from dataclasses import dataclass
from typing import Any

from rhokit.cli.errors import UserError


@dataclass(frozen=True)
class Sample:
    """Rows, and their targets if the table has them.

    Parameters
    ----------
    table : pyarrow.Table
        The model's columns.
    target : array of shape (n,) or (n, t), or None
    n_rows : int
        Rows of the whole table.
    """

    table: Any
    target: Any
    n_rows: int


def sampled(question, most, seed=0):
    """Rows of a question that lack no value: all, or ``most`` of them at random.

    Every row gets a random number, and those with the lowest are kept, in their order.
    """
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    tables, targets, numbers, n_rows, held = [], [], [], 0, 0
    for batch in question.batches():
        _, whole = question.rows.values(batch)
        n_rows += len(whole)
        tables.append(batch.table.filter(pa.array(whole)))
        if question.rows.has_target:
            targets.append(question.rows.targets(batch)[whole])
        numbers.append(rng.random(int(whole.sum())))
        held += len(numbers[-1])
        if held > 2 * most:
            tables, targets, numbers = _lowest(tables, targets, numbers, most)
            held = most
    if not held:
        what = "are no rows that lack no value" if n_rows else "are no rows"
        raise UserError(f"{question.source.name}: there {what}")
    tables, targets, numbers = _lowest(tables, targets, numbers, most)
    table = tables[0].select(question.rows.columns)
    return Sample(table, targets[0] if targets else None, n_rows)


def _lowest(tables, targets, numbers, most):
    """The rows with the lowest numbers, in their order, each list of length one."""
    import numpy as np
    import pyarrow as pa

    drawn = np.concatenate(numbers)
    chosen = np.sort(np.argsort(drawn, kind="stable")[:most])
    table = pa.concat_tables(tables).take(pa.array(chosen))
    target = [np.concatenate(targets)[chosen]] if targets else []
    return [table], target, [drawn[chosen]]
