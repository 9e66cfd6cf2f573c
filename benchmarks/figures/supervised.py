"""Classes and values: how often learners are right, in what time and with what size."""

import math
from dataclasses import replace

from benchmarks.figures.markdown import (
    bold,
    fixed,
    megabytes,
    phrase,
    seconds,
    table,
)
from benchmarks.figures.readings import entries, grouped, of_metric, results
from benchmarks.figures.scatter import scatter
from benchmarks.figures.style import Looks

SHARE, DISTANCE = "accuracy", "mean absolute error"
_METHOD = """\
Each learner sees the training rows of a set, chooses whatever it chooses from them
alone, and predicts the test rows; times are those of a process of its own with all
cores, everything that is chosen included. All kernel approximations of a set have the
same number of features. *Model* is the size of the pickle, *peak* the memory of the
process. rhokit's names are bold; *estimation* is one pass without an optimiser,
*gradient* is trained.
"""


def chapter(lines, album):
    """A table for every set, and quality against time."""
    groups = grouped(of_metric(results(lines), SHARE, DISTANCE), _place)
    if not groups:
        return "No set has been measured.\n"
    parts = [_METHOD]
    for (metric, name), group in groups.items():
        parts += [_heading(name, group), _table(metric, entries(group))]
    for metric in (SHARE, DISTANCE):
        sets = {
            name: entries(group)
            for (other, name), group in groups.items()
            if other == metric
        }
        parts += _picture(metric, sets, album)
    return "\n".join(parts)


def _place(line):
    name = line["details"].get("set") or line["case"].rpartition(": ")[0]
    return line["metric"], name


def _heading(name, group):
    facts = group[0]["details"]
    known = [
        text.format(facts[key])
        for key, text in (
            ("n", "{:,} training rows"),
            ("d", "{} columns"),
            ("features", "{:,} features"),
        )
        if facts.get(key) is not None
    ]
    if (facts.get("partitions") or 1) > 1:
        known.append(f"mean over {facts['partitions']} partitions")
    return f"### {name}\n" + (f"\n{', '.join(known)}\n" if known else "")


def _table(metric, group):
    sign = -1 if metric == SHARE else 1

    def place(entry):
        absent = entry.quality is None
        return absent, math.inf if absent else sign * entry.quality, entry.name

    return table(
        [
            "learner",
            metric,
            "fit, s",
            "predict, s",
            "model, MB",
            "peak, MB",
            "note",
        ],
        [_row(metric, entry) for entry in sorted(group, key=place)],
        "lrrrrrl",
    )


def _row(metric, entry):
    size = entry.details.get("model_bytes")
    return [
        bold(entry.name, entry.ours),
        fixed(entry.quality, 4 if metric == SHARE else 3),
        seconds(entry.fit_seconds),
        seconds(entry.answer_seconds()),
        megabytes(None if size is None else size / 1e6),
        megabytes(entry.details.get("peak_megabytes")),
        phrase(entry.reason or entry.details.get("training") or ""),
    ]


def _picture(metric, sets, album):
    looks = Looks(entry for group in sets.values() for entry in group)
    words, name = "mean absolute error", "supervised-values"
    if metric == SHARE:
        sets = {title: [_mistakes(e) for e in group] for title, group in sets.items()}
        words, name = "share of mistakes", "supervised-classes"
    figure = scatter(sets, looks, ("fit and predictions, seconds", words))
    if figure is not None:
        heading = "Mistakes" if metric == SHARE else "Error"
        yield f"### {heading} against time\n\nLower left is better.\n"
        yield album.add(name, figure, f"{words.capitalize()} against time")


def _mistakes(entry):
    if entry.quality is None:
        return entry
    return replace(entry, quality=1 - entry.quality)
