"""DMKDE against fast approximations of KDE, which the paper leaves as future work.

Made from the lines of the benchmarks, which measure all of them on the same rows.
"""

from pathlib import Path

import benchmarks
from benchmarks.figures.density import ERROR, MANY, Field
from benchmarks.figures.markdown import bold, listed, seconds, shown, table
from benchmarks.figures.readings import front, grouped, of_metric, results
from benchmarks.records import read_lines

_LINES = Path(benchmarks.__file__).with_name("results") / "density.jsonl"
_PAGE = "../benchmarks.md"
_COLUMNS, _ROWS = (1, 2, 10, 40), (100_000, 1_000_000)
_SETS = "bimodal", "spirals", "clusters"
_PAPERS, _AUTO, _LINEAR = "rhokit fourier", "rhokit auto", "linear landmarks"
_FUSED, _HALF = "fused exact", 0.5
_EXACT = 1e-5  # what is left is rounding, and no reason to wait longer
_HEADING = "## DMKDE against fast approximations of KDE\n"
_ABOUT = f"""\
The paper leaves this comparison as future work. Here it is, from the
[benchmarks]({_PAGE}): seconds of a fit and {MANY:,} answers, and the relative RMSE
against exact KDE, on the same rows. Listed are those models than which no other one is
both faster and more accurate, the fastest first (errors below {_EXACT:.0e} count as
none), and below them, where they are not among these, the paper's map (rhokit fourier)
and what rhokit chooses itself (auto). In bold: rhokit. *Fused exact* sums over all
rows, *same cost* over as many of them as take no longer than auto.
"""


def approximations(path=_LINES):
    """The chapter; words alone where the benchmarks have not been run."""
    fields = _fields(list(read_lines(path))) if Path(path).exists() else []
    if not fields:
        return f"{_HEADING}\nThe benchmarks of densities have not been run.\n"
    rows = [row for field in fields for row in _rows(field)]
    heads = [
        "d",
        "N",
        "bandwidth",
        "model",
        "seconds",
        "relative RMSE",
        "fastest for its error",
    ]
    return "\n".join(
        [_HEADING, _ABOUT, _reading(fields), table(heads, rows, "rrllrrl")]
    )


def _fields(lines):
    """The cases that are shown, in order."""
    groups = grouped(of_metric(results(lines), ERROR), lambda line: line["task"])
    fields = [Field(group) for group in groups.values()]
    wanted = [
        field
        for field in fields
        if field.d in _COLUMNS and field.n in _ROWS and field.data in _SETS
    ]
    return sorted(wanted, key=Field.order)


def best(field):
    """Entries that no other one beats in both time and error, the fastest first."""
    there = [entry for entry in field.entries if entry.took_part]
    kept = front(_place(entry) for entry in there)
    chosen = [entry for entry in there if _place(entry) in kept]
    return sorted(chosen, key=_place)


def _place(entry):
    return entry.seconds(MANY), max(entry.quality, _EXACT)


def _rows(field):
    first = best(field)
    others = [
        entry
        for entry in field.entries
        if entry.took_part and entry not in first and (entry.name in (_PAPERS, _AUTO))
    ]
    return [
        [
            str(field.d),
            f"{field.n:,}",
            field.bandwidth,
            bold(entry.name, _is_ours(entry)),
            seconds(entry.seconds(MANY)),
            shown(entry.quality),
            "yes" if entry in first else "no",
        ]
        for entry in (*first, *others)
    ]


def _is_ours(entry):
    return entry.ours or entry.name == _LINEAR


def _reading(fields):
    """Where the paper's map is beaten in both, and who else is best somewhere."""
    beaten = [field for field in fields if _paper_is_beaten(field)]
    winners = (entry for field in fields for entry in best(field))
    names = {entry.name for entry in winners if not _is_ours(entry)}
    others = listed(sorted(names)) if names else "none"
    return (
        f"The paper's map is beaten in time and error at once in {len(beaten)} of "
        f"{len(fields)} cases. Others than rhokit that are the fastest for their error "
        f"in some case: {others}.{_limits(fields)}\n"
    )


def _limits(fields):
    """Where nothing but exact sums will do."""
    lost = [f"d = {f.d}, N = {f.n:,}, {f.bandwidth}" for f in fields if _is_lost(f)]
    if not lost:
        return ""
    return f" Nothing faster than exact sums is even half right at {listed(lost)}."


def _is_lost(field):
    there = [entry for entry in field.entries if entry.took_part]
    exact = [entry.seconds(MANY) for entry in there if entry.name == _FUSED]
    faster = [e.quality for e in there if exact and e.seconds(MANY) < exact[0]]
    return bool(faster) and min(faster) > _HALF


def _paper_is_beaten(field):
    first = best(field)
    there = [e for e in field.entries if e.name == _PAPERS and e.took_part]
    return any(entry not in first for entry in there)
