"""Tables and numbers in Markdown."""

import re

from benchmarks.tables import number

NOTHING = "–"
_RULES = {"l": ":--", "r": "--:"}
_LONGEST = 160
_FOLDERS = re.compile(r"(?<![\w/])/(?:[^\s/:'\"]+/)+")


def table(headings, rows, align=None):
    """A table.

    Parameters
    ----------
    headings : list of str
    rows : iterable of list of str
    align : str, optional
        A letter for each column, ``l`` or ``r``; without it, all but the first are
        numbers.
    """
    align = align or "l" + "r" * (len(headings) - 1)
    rules = [_RULES[letter] for letter in align]
    return "\n".join(_row(cells) for cells in (headings, rules, *rows)) + "\n"


def folded(summary, text):
    """Text that is shown when its summary is clicked."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n</details>\n"


def bold(text, when=True):
    """Text in bold, if there is reason to."""
    return f"**{text}**" if when else text


def shown(value):
    """A number of three digits, or a dash where there is none."""
    return NOTHING if value is None else number(value)


def seconds(value):
    """Seconds, without exponents."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def fixed(value, digits=3):
    """A share with so many decimals."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def megabytes(value):
    """Megabytes, without decimals where they say nothing."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def percent(share):
    """A share in hundredths."""
    return f"{100 * share:.2g} %"


def phrase(text):
    """Any text as part of a line: what packages say may have breaks and folders."""
    words = _FOLDERS.sub("", " ".join(str(text).split()))
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def listed(words):
    """Words with commas and a final "and"; semicolons where they have commas."""
    words = list(words)
    if any("," in word for word in words):
        return "; ".join(words)
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def _row(cells):
    safe = [cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells]
    return f"| {' | '.join(safe)} |"
