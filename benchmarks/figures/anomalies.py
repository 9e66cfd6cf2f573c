"""Anomalies: how well detectors rank the rows of labelled sets, and in what time."""

import numpy as np
from scipy.stats import rankdata

from benchmarks.figures.markdown import bold, fixed, listed, phrase, seconds, table
from benchmarks.figures.readings import entries, grouped, of_metric, results
from benchmarks.figures.scatter import scatter
from benchmarks.figures.style import Looks

AREA = "ROC AUC"
_METHOD = """\
Detectors see the rows of a set, standardised and without labels, and score the same
rows (*contaminated*), or they see half of the rows that are no anomalies and score the
others and the anomalies (*clean*); labels only judge them. rhokit leaves each row out
of its own density. Area under the ROC curve: 1 is perfect, 0.5 is chance. Each detector
has a process of its own and all cores. rhokit's names are bold, and so is the best
figure of each set. *Mean rank* counts those without a figure as last.
"""


def chapter(lines, album):
    """Areas, precisions and times, sets across."""
    settings = grouped(of_metric(results(lines), AREA), _setting)
    if not settings:
        return "No set has been measured.\n"
    parts = [_METHOD]
    for setting, own in settings.items():
        sets = {name: entries(group) for name, group in grouped(own, _set).items()}
        parts += _of_setting(setting, sets)
        parts += _picture(sets, album, setting)
    return "\n".join(part for part in parts if part)


def _of_setting(setting, sets):
    """Tables of one setting."""
    names = {e.name: e.ours for group in sets.values() for e in group}
    return [
        f"### {setting.capitalize()}\n",
        f"Sets: {listed(_describe(name, group) for name, group in sets.items())}.\n",
        "Area under the ROC curve:\n",
        _areas(sets, names),
        "Average precision:\n",
        _precisions(sets, names),
        "Seconds of fit and scores:\n",
        _times(sets, names),
        _absences(sets),
    ]


def _setting(line):
    return line["details"].get("setting", "contaminated")


def _set(line):
    return line["details"].get("set") or line["case"].rpartition(": ")[0]


def _describe(name, group):
    facts = group[0].details
    if facts.get("n") is None:
        return name
    return f"{name} ({facts['n']:,} × {facts.get('d')})"


def _areas(sets, names):
    ranks = _mean_ranks(sets, names)
    rows = _matrix(sets, names, lambda entry: entry.quality, fixed, max)
    order = sorted(range(len(rows)), key=lambda i: ranks[i])
    return table(
        ["detector", *sets, "mean rank"],
        [[*rows[i], f"{ranks[i]:.1f}"] for i in order],
    )


def _precisions(sets, names):
    def precision(entry):
        return entry.details.get("average_precision")

    return table(["detector", *sets], _matrix(sets, names, precision, fixed, max))


def _times(sets, names):
    rows = _matrix(sets, names, lambda entry: entry.seconds(), seconds, min)
    return table(["detector", *sets], rows)


def _matrix(sets, names, value, show, best):
    """Cells of a table, detectors down and sets across, the best of a set in bold."""
    columns = []
    for group in sets.values():
        values = {entry.name: value(entry) for entry in group}
        known = [each for each in values.values() if each is not None]
        top = show(best(known)) if known else None
        texts = {name: show(values.get(name)) for name in names}
        columns.append([bold(text, text == top) for text in texts.values()])
    heads = [bold(name, ours) for name, ours in names.items()]
    return [list(row) for row in zip(heads, *columns, strict=True)]


def _mean_ranks(sets, names):
    """Mean over the sets of a detector's rank by area; ties share the middle."""
    areas = np.full((len(sets), len(names)), -np.inf)
    places = {name: i for i, name in enumerate(names)}
    for row, group in zip(areas, sets.values(), strict=True):
        for entry in group:
            if entry.quality is not None:
                row[places[entry.name]] = entry.quality
    return rankdata(-areas, axis=1).mean(axis=0).tolist()


def _absences(sets):
    away = [
        (entry.name, phrase(entry.reason), name)
        for name, group in sets.items()
        for entry in group
        if entry.reason is not None
    ]
    notes = [
        f"- {name} on {listed(each[2] for each in group)}: {reason}\n"
        for (name, reason), group in grouped(away, lambda each: each[:2]).items()
    ]
    return "Without figures:\n\n" + "".join(notes) if notes else ""


def _picture(sets, album, setting):
    figure = scatter(
        sets,
        Looks(entry for group in sets.values() for entry in group),
        ("fit and scores, seconds", AREA),
        more=True,
        height=2.4,
    )
    if figure is not None:
        yield "Area against time: upper left is better.\n"
        name = "anomalies" if setting == "contaminated" else f"anomalies_{setting}"
        yield album.add(name, figure, "Area under the curve against time")
