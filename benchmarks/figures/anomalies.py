"""Anomalies: how well detectors rank the rows of labelled sets, and in what time."""

from benchmarks.anomaly_verdicts import (
    AREA,
    SELECTIONS,
    difference,
    outcomes_by_setting,
)
from benchmarks.figures.markdown import NOTHING, bold, fixed, folded, seconds, table
from benchmarks.figures.readings import Entry
from benchmarks.figures.scatter import scatter
from benchmarks.figures.style import Looks

_METHOD = """\
Detectors see the rows of a set, at most 2,000, standardised and without labels, and
score the same rows (*contaminated*), or they see half of the rows that are no anomalies
and score the others and the anomalies (*clean*); labels only judge them. Everybody has
defaults; rhokit's is told the setting (`training=`). Area under the ROC curve: 1 is
perfect, 0.5 is chance; means over seeds, which draw rows and halves, then over sets.
*Mean rank* counts those without a figure as last, and their area as 0.5. *Difference*
is rhokit's mean area less this one, with its standard error over sets. Seconds are the
processor's, of a fit and all scores. Seven of the nine single sets of the data folder
are among these, row by row, and two are larger draws of `http` and `shuttle`.
"""


def chapter(lines, album):
    """Standings, areas and times of each setting."""
    found = outcomes_by_setting(lines)
    if not any(outcomes.sets for outcomes in found.values()):
        return "No set has been measured.\n"
    parts = [_METHOD]
    for setting, outcomes in found.items():
        parts += _of_setting(setting, outcomes)
    return "\n".join([*parts, *_picture(found, album)])


def _of_setting(setting, outcomes):
    """The tables of one setting."""
    least, most = outcomes.seeds
    seeds = f"{most}" if least == most else f"{least} to {most}"
    yield f"### {setting.capitalize()}\n\n{len(outcomes.sets)} sets, seeds: {seeds}.\n"
    for of, wanted in SELECTIONS.items():
        if standings := outcomes.standings(wanted):
            yield f"{of[0].upper()}{of[1:]}:\n\n{_standings(standings)}"
    areas = _areas(outcomes)
    yield folded("Area under the curve, set by set", areas)
    if absences := outcomes.absences():
        notes = "".join(f"- {text}\n" for text in absences)
        yield f"Without figures:\n\n{notes}"


def _standings(standings):
    best = {
        "area": max(each.area for each in standings),
        "rank": min(each.rank for each in standings),
        "precision": max(each.precision for each in standings),
    }
    heads = ["detector", AREA, "mean rank", "average precision", "difference"]
    return table(
        [*heads, "seconds", "sets"],
        [
            [
                bold(each.name, each.ours),
                bold(fixed(each.area), each.area == best["area"]),
                bold(fixed(each.rank, 2), each.rank == best["rank"]),
                bold(fixed(each.precision), each.precision == best["precision"]),
                NOTHING if each.above is None else difference(each),
                seconds(each.seconds) if each.n_sets else NOTHING,
                str(each.n_sets),
            ]
            for each in standings
        ],
    )


def _areas(outcomes):
    """Sets down, detectors across; the best of a set in bold."""
    names = list(outcomes.contestants)
    rows = []
    for given in outcomes.sets:
        areas = [outcomes.mean(given, n, lambda line: line["value"]) for n in names]
        top = max((area for area in areas if area is not None), default=None)
        rows.append([given, *(bold(fixed(a), a == top) for a in areas)])
    return table(["set", *(name.removeprefix("PyOD ") for name in names)], rows)


def _picture(found, album):
    """Mean area against mean seconds, a panel for each setting."""
    panels = {
        setting: [_entry(each) for each in outcomes.standings(outcomes.sets)]
        for setting, outcomes in found.items()
    }
    looks = Looks(entry for entries in panels.values() for entry in entries)
    words = "fit and scores, processor seconds", f"mean {AREA}"
    figure = scatter(panels, looks, words, more=True, height=3.0)
    if figure is not None:
        yield "Area against time: upper left is better.\n"
        yield album.add("anomalies", figure, "Area under the curve against time")


def _entry(standing):
    taken = {"1": standing.seconds} if standing.n_sets else None
    return Entry(standing.name, standing.ours, standing.area, {"total_seconds": taken})
