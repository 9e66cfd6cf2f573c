"""Sides of a comparison as the command line names them: model files and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rhokit.cli.failures import UsageError, UserError
from rhokit.cli.reading_options import Reading
from rhokit.cli.sources import STANDARD_INPUT, opened
from rhokit.cli.stored_models import StoredModel, load_model
from rhokit.cli.table_files import TableFiles
from rhokit.progress import counted
from rhokit.streams.files import format_of


@dataclass(frozen=True)
class ComparedSide:
    """A model file or a table.

    Parameters
    ----------
    name : str
    stored : StoredModel, optional
        The model of a model file.
    """

    name: str
    stored: StoredModel | None

    def for_comparison(
        self,
        sides: Sequence[ComparedSide],
        target: str | None,
        reading: Reading,
    ) -> Any:
        """What :func:`rhokit.compare` is given: an estimator, or a table."""
        if self.stored is not None:
            return self.stored.estimator
        models = [each.stored for each in sides if each.stored is not None]
        apart = {name for each in models for name in each.note.not_columns}
        columns = next((each.columns for each in models if each.columns), None)
        return read_table(self.name, columns, apart - {target}, target, reading)


def compared_side(name: str) -> ComparedSide:
    """A side by its name: what ends like a table is one, else it is a model file."""
    path = Path(name)
    if name == STANDARD_INPUT or path.is_dir() or format_of(path):
        return ComparedSide(name, None)
    return ComparedSide(name, load_model(path))


def target_of(sides: Sequence[ComparedSide], given: str | None) -> str | None:
    """The name of the target, where somebody knows it and there is one."""
    if given is not None:
        return given
    for each in sides:
        if each.stored is not None and len(each.stored.note.target) == 1:
            return each.stored.note.target[0]
    return None


def read_table(
    name: str,
    columns: list[str] | None,
    apart: set[str],
    target: str | None,
    reading: Reading,
    *,
    keep_dates: bool = False,
) -> pa.Table:
    """The rows of a source: some columns and the target, or all but some."""
    with opened([name], reading) as source:
        table = TableFiles(source, columns, keep_dates=keep_dates)
        if columns is None:
            wanted = [each for each in table.names if each not in apart]
        else:
            table.require(columns)
            also = [target] if target in table.names and target is not None else []
            wanted = [*columns, *(each for each in also if each not in columns)]
        batches = [each.table for each in counted("Reading", table.batches(wanted))]
    if not batches:
        raise UserError(f"{name}: holds no rows")
    return pa.concat_tables(batches, promote_options="permissive")


def block_rows_of(given: str | None) -> int | str | None:
    """A number of rows, or ``"auto"``."""
    if given is None or given == "auto":
        return given
    try:
        count = int(given)
    except ValueError:
        count = 0
    if count < 1:
        raise UsageError(f"--block-rows must be auto or an integer >= 1, got {given}")
    return count
