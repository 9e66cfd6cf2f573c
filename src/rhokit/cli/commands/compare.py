"""``rhokit compare``: whether data have changed, told from models or tables."""

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rhokit.cli.console import Output, listing, printable, properties
from rhokit.cli.failures import FINE, LIMIT_PASSED
from rhokit.cli.options import BlockRows, PageOutput, Target
from rhokit.cli.reading_options import Reading

if TYPE_CHECKING:
    from rhokit.drift import Comparison


def compare(
    out: Output,
    old: Annotated[
        str,
        typer.Argument(metavar="OLD", help="A model or a table.", show_default=False),
    ],
    new: Annotated[
        str,
        typer.Argument(metavar="NEW", help="A model or a table.", show_default=False),
    ],
    target: Target = None,
    level: Annotated[
        float,
        typer.Option(
            metavar="P",
            help="The p-value from which downwards the data have changed: how often "
            "that is said though nothing has.",
        ),
    ] = 0.05,
    block_rows: BlockRows = None,
    report: PageOutput = None,
    seed: int = 0,
    reading: Reading = MappingProxyType({}),
) -> int:
    """Whether data have changed, by how much, and in which columns.

    Each side is a model file or a table. Models may have been fitted apart: they keep a
    sample of their rows. Ends with code 3 if the data have changed, with 0 if not.
    """
    from rhokit.cli.drift_sources import block_rows_of, compared_side, target_of
    from rhokit.cli.sources import check_output
    from rhokit.drift import compare as compared

    if report is not None:
        inputs = [Path(each) for each in (old, new)]
        check_output(report, inputs, (".html", ".htm"))
    size = block_rows_of(block_rows)
    sides = [compared_side(each) for each in (old, new)]
    name = target_of(sides, target)
    tables = [each.for_comparison(sides, name, reading) for each in sides]
    found = compared(
        *tables, target=name, level=level, block_rows=size, random_state=seed
    )
    if report is not None:
        from rhokit.report import write_comparison

        write_comparison(found, report, source=f"{old} and {new}")
    out.result(_told(found, report), *_shown(found, old, new, report))
    return LIMIT_PASSED if found.changed else FINE


def _told(found: "Comparison", report: Path | None) -> dict[str, Any]:
    columns = [
        {
            "column": c.name,
            "role": c.role,
            "kind": c.kind,
            "p_value": c.p_value,
            "distance": c.distance,
            "old": c.old,
            "new": c.new,
            "old_missing": c.old_missing,
            "new_missing": c.new_missing,
            "appeared": c.appeared,
            "vanished": c.vanished,
        }
        for c in (*found.columns, *found.predictions)
    ]
    pairs = [
        {"columns": p.names, "p_value": p.p_value, "old": p.old, "new": p.new}
        for p in found.pairs
    ]
    return {
        "changed": found.changed,
        "p_value": found.p_value,
        "effect": found.effect,
        "level": found.level,
        "rows": [found.n_old, found.n_new],
        "block_rows": found.block_rows,
        "columns": columns,
        "pairs": pairs,
        "skipped": found.skipped,
        "report": None if report is None else str(report),
    }


def _shown(found: "Comparison", old: str, new: str, report: Path | None) -> list[Any]:
    pairs = [
        ("old", old),
        ("new", new),
        ("compared", found.rows_text),
        ("verdict", found.verdict),
        ("written to", None if report is None else str(report)),
    ]
    headers = ["column", "change", "distance", "p"]
    lines = [
        (name, change, distance, p.removeprefix("p ").removeprefix("= "))
        for name, change, distance, p in found.lines()
    ]
    table = listing(headers, lines, text={"column", "change"})
    return [properties(pairs), table, *map(printable, found.remarks())]
