"""Results of commands: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console, RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text

# Numbers from here on are shown without a fraction.
_LARGE = 1_000
_CELL_PADDING = 3
# Zero width, between letters of many scripts and within emoji.
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"


class Output:
    """The place for a command's results.

    Parameters
    ----------
    json : bool
        One JSON object on stdout, and nothing else there.
    quiet : bool
        No tables, no progress, no warnings; errors, and rows that were asked for.

    Examples
    --------
    >>> from rhokit.cli.console import Output
    >>> Output(json=True).result({"rows": 3, "mean": float("-inf")})
    {"rows": 3, "mean": null}
    """

    def __init__(self, *, json: bool = False, quiet: bool = False) -> None:
        self.json = json
        self.quiet = quiet

    def result(self, data: dict[str, Any], *shown: RenderableType) -> None:
        """Print what was found: as JSON, or what rich makes of tables and texts."""
        if self.json:
            print(json.dumps(plain(data)))
        elif not self.quiet:
            from rich.text import Text

            console = rich_console()
            for each in shown:
                text = Text(printable(each)) if isinstance(each, str) else each
                # Lines stay lines: paths in them can be copied whole.
                console.print(text, soft_wrap=isinstance(text, Text))

    @property
    def shows_tables(self) -> bool:
        """Whether a person is looking at stdout."""
        return not self.json and sys.stdout.isatty()

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Let the library's bars be seen on stderr, unless they are not wanted."""
        if not self.quiet:
            yield
            return
        with redirect_stderr(StringIO()):
            yield


def rich_console() -> Console:
    """A console on stdout, as it is now: tests and pipes replace it."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, soft_wrap=False)


def plain(value: Any) -> Any:
    """A value as JSON can hold it; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):  # of NumPy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    known = value is None or isinstance(value, str | int | float | bool)
    return value if known else str(value)


def number(value: Any, digits: int = 4) -> str:
    """A number for people: thousands apart, and few digits.

    Examples
    --------
    >>> from rhokit.cli.console import number
    >>> [number(x) for x in (1234567, 12345.678, 0.00012345, -2.5, float("-inf"))]
    ['1,234,567', '12,346', '0.0001234', '-2.5', '-inf']
    """
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.{digits}g}"


def printable(text: str) -> str:
    """Text that says nothing to a terminal: control characters are written out.

    Names and values are whatever a file holds. Spaces of all kinds are spaces, and
    what joins letters stays.

    Examples
    --------
    >>> from rhokit.cli.console import printable
    >>> print(printable("red \x1b[31m alert\x07"))
    red \\x1b[31m alert\\x07
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _shown(each) for each in text)


def _shown(character: str) -> str:
    """A character that is no letter, as one may see it."""
    if character in _JOINERS:
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode()


def byte_size(count: int) -> str:
    """Bytes for people: ``1.2 MB``."""
    size, unit = float(count), "bytes"
    for unit in ("bytes", "KB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.3g} {unit}"


def properties(pairs: Iterable[tuple[str, Any]]) -> Text:
    """Names and values as lines; those whose value is None are left out."""
    from rich.text import Text

    lines = [(name, value) for name, value in pairs if value is not None]
    width = max(len(name) for name, _ in lines)
    text = Text()
    for index, (name, value) in enumerate(lines):
        text.append("\n" if index else "")
        text.append(f"{name:<{width}}", style="bold")
        text.append(f"  {printable(number(value))}")
    return text


def listing(
    headers: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    text: Iterable[str] = (),
) -> RichTable:
    """Rows under headers; columns are numbers, but for those named in ``text``."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for header in headers:
        table.add_column(
            _escaped(header),
            justify="left" if header in text else "right",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(_escaped(cell) for cell in row))
    return table


def preview(table: pa.Table, remark: str | None = None) -> RenderableType:
    """The rows of a pyarrow table, as many of its columns as the screen is wide."""
    from rich.console import Group
    from rich.text import Text

    from rhokit.frame_times import time_writer

    columns, names = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        heading, write = time_writer(name) or (name, number)
        cells = column.to_pylist()
        columns.append([printable(_cell_text(cell, write)) for cell in cells])
        names.append(printable(heading))
    rows = [list(row) for row in zip(*columns, strict=True)]
    fits = _fitting(names, rows, rich_console().width)
    kinds = zip(names, table.columns, strict=True)
    text = {name for name, column in kinds if "string" in str(column.type)}
    shown = listing(names[:fits], [row[:fits] for row in rows], text=text)
    hidden = len(names) - fits
    noun = "column" if hidden == 1 else "columns"
    remarks = [f"{hidden:,} more {noun}"] if hidden else []
    remarks += [remark] if remark else []
    return Group(shown, Text(", ".join(remarks), style="dim")) if remarks else shown


def _cell_text(cell: Any, write: Callable[[Any], str]) -> str:
    """A cell by its column's own writer, if it holds a number."""
    return write(cell) if isinstance(cell, int | float) else number(cell)


def _fitting(names: list[str], rows: list[list[str]], width: int) -> int:
    """How many columns stand side by side on a screen."""
    used = _CELL_PADDING
    for index, name in enumerate(names):
        used += max([len(name), *(len(row[index]) for row in rows)]) + _CELL_PADDING
        if used > width:
            return max(index, 1)
    return len(names)


def short_list(names: Iterable[Any], most: int = 8) -> str:
    """Names in a row, of many only the first ones."""
    texts = [str(name) for name in names]
    if len(texts) <= most:
        return ", ".join(texts)
    return f"{', '.join(texts[:most])} and {len(texts) - most:,} more"


def _escaped(value: Any) -> str:
    """Text in which nothing is markup."""
    from rich.markup import escape

    return escape(printable(number(value)))
