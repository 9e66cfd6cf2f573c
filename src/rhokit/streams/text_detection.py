"""How a text file is written, told from its first part."""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from rhokit.errors import DataError
from rhokit.streams.text_format import USUAL_MARKS, TextFormat

HEAD_BYTES = 2**20
"""Of a file, these are looked at."""
_HEAD_ROWS = 400
_DELIMITERS = (",", ";", "\t", "|")
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SAID_BY_SPREADSHEETS = re.compile(r"sep=(.)\s*$")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf|INF)")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?%?")
_GROUPED = {
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?%?"),
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?%?"),
    " ": re.compile(r"[+-]?[1-9]\d{0,2}([ \u00a0\u202f]\d{3})+([.,]\d*)?%?"),
    "'": re.compile(r"[+-]?[1-9]\d{0,2}('\d{3})+(\.\d*)?%?"),
}
_MARKS = {
    *("?", "-", "--", "---", "–", "—", ".", "..", "...", "*", "**", "none"),
    *("None", "NONE", "missing", "Missing", "MISSING", "unknown", "Unknown", "nil"),
    *("na", "Na", "N.A.", "n.a.", "n.a", "#VALUE!", "#DIV/0!", "#REF!", "#NAME?"),
    *("#NUM!", "#NULL!", "(null)", "\\N", "NaT", "k.A.", "k. A.", "keine Angabe", "/"),
}
_TOTALS = re.compile(
    r"(grand |sub)?total\w*|sum|sums|summe|gesamt|insgesamt|somme|suma|average|mean",
    re.IGNORECASE,
)
_UNIT = re.compile(r"[\[(<].*[\])>]|[^\d]{1,12}|[^\d]{0,4}[a-zµμΩ°%]+[²³\d]?(/.{1,6})?")
# Quotes within quotes.
_DOUBLED = re.compile(r'[^\\,;\t|\n]""[^,;\t|\r\n]')
_ENOUGH = 0.9

Row = list[str]


def detected(head: bytes, is_whole: bool, options: Mapping[str, Any]) -> TextFormat:
    """The format of a text file that starts with these bytes.

    Parameters
    ----------
    head : bytes
    is_whole : bool
        Whether nothing comes after them.
    options : dict
        What need not be detected, by the names of a :class:`TextFormat`.

    Examples
    --------
    >>> from rhokit.streams.text_detection import detected
    >>> detected(b"a;b\\n1,5;?\\n2,5;3\\n", True, {}).said()
    "delimiter=';', decimal=',', missing_marks=['?']"
    """
    encoding = options.get("encoding") or encoding_of(head)
    text = decoded(head, encoding, is_whole)
    form = TextFormat(encoding=encoding)
    skipped = _comment_lines(text)
    lines = text.splitlines(keepends=True)
    hint = _SAID_BY_SPREADSHEETS.match(lines[skipped]) if skipped < len(lines) else None
    skipped += hint is not None
    text = "".join(lines[skipped:])
    if '\\"' in text and not _DOUBLED.search(text):
        form = replace(form, escape="\\")
    quote = options.get("quote", form.quote)
    known = options.get("delimiter") or (hint and hint[1])
    form = replace(form, quote=quote, delimiter=known or _delimiter(text, form))
    beside = re.compile(rf" {re.escape(form.delimiter)}|{re.escape(form.delimiter)} ")
    form = replace(form, padded=beside.search(text) is not None)
    rows, ends = rows_of(text, form, is_whole)
    form, rows, skipped = _without_titles(form, rows, ends, skipped, options)
    return _with_values(form, rows, is_whole, options).given(
        {**options, "skipped_lines": skipped}
    )


# ---- letters ----------------------------------------------------------------------


def encoding_of(head: bytes) -> str:
    """The encoding that bytes must be of; UTF-8 unless they cannot be."""
    for mark, name in _BOMS.items():
        if head.startswith(mark):
            return name
    if b"\0" in head:
        return _wide_encoding(head)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        try:  # which has letters where Latin-1 has control characters
            head.decode("cp1252")
        except UnicodeDecodeError:
            return "latin-1"
        return "cp1252" if re.search(rb"[\x80-\x9f]", head) else "latin-1"
    return "utf-8"


def _wide_encoding(head: bytes) -> str:
    """UTF-16 without a mark has a zero in most pairs of bytes."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) / 4
    if odd > half and even < odd / 8:
        return "utf-16-le"
    if even > half and odd < even / 8:
        return "utf-16-be"
    line = head[: head.index(b"\0")].count(b"\n")
    raise DataError(
        f"line {line + 1:,} holds a byte of zero: this is no table of text, or it was "
        "damaged"
    )


def decoded(head: bytes, encoding: str, is_whole: bool) -> str:
    """The text of the first bytes; of a file that goes on, whole lines only."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head, final=is_whole)
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n")
        raise DataError(
            f"line {line + 1:,} is no {encoding} text ({error.reason}): give the "
            "encoding, such as encoding='latin-1'"
        ) from error
    text = text.removeprefix("\ufeff")
    if is_whole or "\n" not in text:
        return text
    return text[: text.rindex("\n") + 1]


def _comment_lines(text: str) -> int:
    """How many lines at the beginning are comments or empty."""
    for count, line in enumerate(text.splitlines()):
        is_comment = line.startswith("#") and not line.startswith("#N/A")
        if line.strip(" \t,;|") and not is_comment:
            return count
    return 0


# ---- columns ----------------------------------------------------------------------


def rows_of(
    text: str, form: TextFormat, is_whole: bool, most: int = _HEAD_ROWS
) -> tuple[list[Row], list[int]]:
    """Rows of cells, and the number of lines up to the end of each."""
    options: dict[str, Any] = {"delimiter": form.delimiter}
    if form.quote:
        options |= {"quotechar": form.quote, "escapechar": form.escape or None}
    else:
        options |= {"quoting": csv.QUOTE_NONE}
    lines = text.splitlines(keepends=True)
    reader = csv.reader(lines, **options)
    rows: list[Row] = []
    ends: list[int] = []
    try:
        for row in reader:
            if row:
                rows.append([cell.strip() for cell in row])
                ends.append(reader.line_num)
            if len(rows) >= most:
                break
    except csv.Error:  # a cell that never ends
        pass
    return rows, ends


def _delimiter(text: str, form: TextFormat) -> str:
    """The delimiter that cuts most lines into equally many, clean cells."""
    scores = {}
    for place, delimiter in enumerate(_DELIMITERS):
        rows, _ = rows_of(text, replace(form, delimiter=delimiter), True, 200)
        widths = Counter(map(len, rows))
        if not widths:
            return ","
        width, count = max(widths.items(), key=lambda item: (item[0] > 1, item[1]))
        if width < 2:
            continue
        others = "".join({";", "\t", "|"} - {delimiter})
        cells = [cell for row in rows for cell in row]
        clean = sum(not any(o in cell for o in others) for cell in cells) / len(cells)
        scores[delimiter] = (round(count / len(rows) * clean, 2), width, -place)
    return max(scores, key=lambda each: scores[each], default=",")


def _without_titles(
    form: TextFormat,
    rows: list[Row],
    ends: list[int],
    skipped: int,
    options: Mapping[str, Any],
) -> tuple[TextFormat, list[Row], int]:
    """The format and its rows, without lines above the names that are no rows."""
    widths = Counter(len(row) for row in rows if len(row) > 1)
    if len(rows) > 3 and widths:
        usual = widths.most_common(1)[0][0]
        for place, row in enumerate(rows[:20]):
            filled = sum(bool(cell) for cell in row)
            if len(row) >= usual - 1 and filled > max(1, usual // 2):
                if place:
                    return form, rows[place:], skipped + ends[place - 1]
                break
    return form, rows, skipped


# ---- values -----------------------------------------------------------------------


def _with_values(
    form: TextFormat, rows: list[Row], is_whole: bool, options: Mapping[str, Any]
) -> TextFormat:
    """The format with what cells tell: signs in numbers, names, marks of gaps."""
    form = _with_signs(form, rows[1:], options)
    form = form.given({k: options[k] for k in ("decimal", "thousands") if k in options})
    header = options.get("header")
    if header is None:
        header = _has_names(form, rows)
    form = replace(form, header=header)
    body = rows[1:] if header else rows
    units = header and _has_units(form, body)
    if units:
        body = body[1:]
    marks = _marks(form, body)
    form = replace(form, units=units, missing_marks=(*USUAL_MARKS, *marks))
    if is_whole and len(rows) < _HEAD_ROWS:
        form = replace(form, n_last=int(_has_totals(form, body)))
    return form


def _with_signs(
    form: TextFormat, rows: list[Row], options: Mapping[str, Any]
) -> TextFormat:
    """Decimal sign and sign between thousands, as most numbers have them."""
    cells = [cell.strip("$€£ ") for row in rows for cell in row]
    cells = [cell for cell in cells if cell[-1:].isdigit() or cell.endswith("%")]
    grouped = {
        sign: {cell for cell in cells if pattern.fullmatch(cell)}
        for sign, pattern in _GROUPED.items()
    }
    comma = {cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)}
    points = {cell for cell in cells if "." in cell and _NUMBER.fullmatch(cell)}
    both = {sign: _certain(each, sign) for sign, each in grouped.items()}
    if options.get("decimal") is None and (
        both["."] or (comma - grouped[","] and not points - grouped["."])
    ):
        form = replace(form, decimal=",")
    elif comma and not points and not both[","] and form.delimiter != ",":
        form = replace(form, decimal=options.get("decimal") or ",")
    for sign in ("." if form.decimal == "," else ",", " ", "'"):
        # 1.234 has a decimal point, unless another number says otherwise.
        if both[sign] if sign == "." else grouped[sign]:
            return replace(form, thousands=sign)
    return form


def _certain(cells: set[str], sign: str) -> bool:
    """Whether a sign stands twice in a number, or beside another one."""
    other = {".": ",", ",": "."}.get(sign)
    return any(cell.count(sign) > 1 or (other and other in cell) for cell in cells)


def is_number(cell: str, form: TextFormat) -> bool:
    """Whether a cell is a number as a format has them."""
    if form.thousands:
        cell = cell.replace(form.thousands, "")
    if form.decimal != ".":
        cell = cell.replace(form.decimal, ".")
    return bool(_NUMBER.fullmatch(cell.strip("$€£% ")))


def _is_gap(cell: str, marks: Sequence[str] = ()) -> bool:
    return not cell or cell in USUAL_MARKS or cell in _MARKS or cell in marks


def _columns(rows: list[Row]) -> list[Row]:
    """Cells by column, of the rows that are as wide as most."""
    widths = Counter(map(len, rows))
    if not widths:
        return []
    width = widths.most_common(1)[0][0]
    return [list(cells) for cells in zip(*(r for r in rows if len(r) == width))]  # noqa: B905


def _share_of_numbers(cells: Row, form: TextFormat) -> float:
    values = [cell for cell in cells if not _is_gap(cell)]
    if not values:
        return 0.0
    return sum(is_number(cell, form) for cell in values) / len(values)


def _has_names(form: TextFormat, rows: list[Row]) -> bool:
    """Whether the first row holds names, and no values."""
    if not rows:
        return True
    first = rows[0]
    if len(rows) == 1:
        return not any(is_number(cell, form) for cell in first)
    if any(is_number(cell, form) for cell in first):
        return _are_years([cell for cell in first if is_number(cell, form)])
    columns = _columns(rows[1:])
    below = [_share_of_numbers(cells, form) for cells in columns]
    if not any(share >= _ENOUGH for share in below):
        return not any(_is_gap(cell) and cell for cell in first)
    pairs = zip(first, below, strict=False)
    no_names = {"", "?", *USUAL_MARKS}
    return any(cell not in no_names for cell, share in pairs if share >= _ENOUGH)


def _are_years(cells: Row) -> bool:
    """Whether numbers are years that follow each other: names of columns."""
    if len(cells) < 2 or not all(re.fullmatch(r"[12]\d{3}", cell) for cell in cells):
        return False
    years = list(map(int, cells))
    steps = {b - a for a, b in pairwise(years)}
    return len(steps) == 1 and steps.pop() > 0


def _has_units(form: TextFormat, body: list[Row]) -> bool:
    """Whether the first row holds units: short texts above columns of numbers."""
    if len(body) < 3:
        return False
    above = [
        body[0][place]
        for place, cells in enumerate(_columns(body[1:]))
        if place < len(body[0]) and _share_of_numbers(cells, form) >= _ENOUGH
    ]
    texts = [cell for cell in above if not _is_gap(cell)]
    are_units = all(_UNIT.fullmatch(cell) for cell in texts)
    bracketed = all(cell[:1] in "[(<" for cell in texts)
    enough = len(texts) > 1 or (len(texts) == 1 and bracketed)
    return enough and are_units and not any(is_number(c, form) for c in texts)


def _marks(form: TextFormat, body: list[Row]) -> list[str]:
    """Cells that mark gaps: among numbers, or a question mark."""
    found: dict[str, None] = {}
    for cells in _columns(body):
        others = {cell for cell in cells if not is_number(cell, form)}
        strange = others - set(USUAL_MARKS) - {""}
        among_numbers = len(strange) < len(set(cells)) and strange <= _MARKS
        for mark in sorted(strange):
            if (
                among_numbers and any(is_number(c, form) for c in cells)
            ) or mark == "?":
                found[mark] = None
    return list(found)


def _has_totals(form: TextFormat, body: list[Row]) -> bool:
    """Whether the last row sums the others up, and says so."""
    if len(body) < 3:
        return False
    texts = [cell for cell in body[-1] if not is_number(cell, form)]
    named = [cell for cell in texts if _TOTALS.fullmatch(cell.rstrip(":"))]
    before = {cell for row in body[:-1] for cell in row}
    return any(cell not in before for cell in named) and any(
        is_number(cell, form) for cell in body[-1]
    )
