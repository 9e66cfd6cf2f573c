"""``rhokit history``: when the rows of a table changed, and in which columns."""

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rhokit.cli.console import Output, listing, printable, properties
from rhokit.cli.failures import FINE, LIMIT_PASSED
from rhokit.cli.options import BlockRows, PageOutput
from rhokit.cli.reading_options import Reading

if TYPE_CHECKING:
    from rhokit.drift import Timeline


def history(
    out: Output,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A table whose rows are in order of time; - is standard input.",
            show_default=False,
        ),
    ],
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="When rows came, a number, a date or an ISO text: rows are put in "
            "this order.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Watch only these columns: a,b,c."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The target's column.")
    ] = None,
    false_alarms: Annotated[
        float,
        typer.Option(metavar="RATE", help="False alarms per row, at most."),
    ] = 1e-6,
    block_rows: BlockRows = None,
    report: PageOutput = None,
    reading: Reading = MappingProxyType({}),
) -> int:
    """When the rows of a table changed, and in which columns.

    Rows are taken to be independent of each other as long as nothing changes; where
    they are not, as in a time series, --block-rows allows for it. Ends with code 3 if
    the data have changed, with 0 if not.
    """
    from rhokit.cli.drift_sources import block_rows_of, read_table
    from rhokit.cli.sources import check_output
    from rhokit.drift import find_changes

    if report is not None:
        check_output(report, [Path(data)], (".html", ".htm"))
    size = block_rows_of(block_rows)
    wanted = None if columns is None else [c.strip() for c in columns.split(",")]
    if wanted is not None:
        wanted += [c for c in (time, target) if c is not None and c not in wanted]
    table = read_table(data, wanted, set(), None, reading, keep_dates=True)
    found = find_changes(
        table, time=time, target=target, block_rows=size, false_alarms=false_alarms
    )
    if report is not None:
        from rhokit.report import write_timeline

        write_timeline(found, report, source=data)
    out.result(_told(found, report), *_shown(found, data, report))
    return LIMIT_PASSED if found.changed else FINE


def _told(found: "Timeline", report: Path | None) -> dict[str, Any]:
    return {
        "changed": found.changed,
        "rows": found.n_rows,
        "block_rows": found.block_rows,
        "false_alarms": found.false_alarms,
        "watches_from": found.watches_from,
        "changes": [
            {
                "began": change.began,
                "noticed": change.noticed,
                "began_time": _plain(change.began_time),
                "noticed_time": _plain(change.noticed_time),
                "columns": list(change.columns),
                "pairs": [list(pair) for pair in change.pairs],
                "evidence": change.evidence,
            }
            for change in found.changes
        ],
        "notes": found.remarks(),
        "report": None if report is None else str(report),
    }


def _plain(time: Any) -> Any:
    return time if time is None or isinstance(time, float) else str(time)


def _shown(found: "Timeline", data: str, report: Path | None) -> list[Any]:
    pairs = [
        ("rows of", data),
        ("watched", found.rows_text),
        ("verdict", found.verdict),
        ("written to", None if report is None else str(report)),
    ]
    headers = ["began", "noticed", "changed"]
    table = listing(headers, found.lines(), text=set(headers))
    parts = [properties(pairs), *([table] if found.changed else [])]
    return [*parts, *map(printable, found.remarks())]
