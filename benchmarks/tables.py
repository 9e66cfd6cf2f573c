"""Readable tables, made from the lines of the results and from nothing else."""

from benchmarks.records import verdict

_LEFT = {"case", "metric"}
_VERDICTS = {True: "yes", False: "NO", None: ""}


def table(lines):
    """A table of result lines as text; columns that nobody fills are left out."""
    return text_table([_cells(line) for line in lines], _LEFT)


def text_table(rows, left=()):
    """Rows of texts as a table; columns that nobody fills are left out.

    Parameters
    ----------
    rows : list of dict of str to str
        Cells by heading, the same headings in all of them.
    left : collection of str
        The columns that begin at the left; numbers end at the right.
    """
    used = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    widths = {name: max(len(name), *(len(r[name]) for r in rows)) for name in used}
    heading = {name: name for name in used}
    ruler = {name: "-" * widths[name] for name in used}
    return "\n".join(_line(row, widths, left) for row in (heading, ruler, *rows))


def summary(lines):
    """One sentence: how many goals are met."""
    verdicts = [verdict(line) for line in lines]
    asked = [met for met in verdicts if met is not None]
    return f"{sum(asked)} of {len(asked)} goals met"


def heading(lines):
    """What the lines were measured on."""
    first = lines[0]
    versions = ", ".join(f"{name} {v}" for name, v in first["versions"].items() if v)
    machine = first["machine"]
    where = f"{machine['cpu']}, {machine['cores']} cores"
    return f"{where}, load at the start {machine['load']}; {versions}"


def _cells(line):
    threads = line["threads"]
    return {
        "case": line["case"],
        "metric": line["metric"],
        "threads": "" if threads is None else str(threads),
        "measured": number(line["value"]),
        "at best": "" if line["best"] is None else number(line["best"]),
        "goal": _goal(line["goal"]),
        "met": _VERDICTS[verdict(line)],
    }


def number(value):
    """Three digits, without an exponent where that is short."""
    if value is None:
        return "none"
    size = abs(value)
    if value == 0 or 0.01 <= size < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}" if 1000 <= size < 1e6 else f"{value:.1e}"


def _goal(goal):
    if goal is None:
        return ""
    low, high = goal["at_least"], goal["at_most"]
    if low is None:
        return f"≤ {number(high)}"
    return f"≥ {number(low)}" if high is None else f"{number(low)} to {number(high)}"


def _line(cells, widths, left):
    padded = [
        cells[name].ljust(width) if name in left else cells[name].rjust(width)
        for name, width in widths.items()
    ]
    return "  ".join(padded).rstrip()
