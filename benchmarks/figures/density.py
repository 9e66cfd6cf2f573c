"""Densities: who is how fast and how exact, case by case."""

import math

from benchmarks.figures import density_pictures
from benchmarks.figures.markdown import (
    NOTHING,
    bold,
    folded,
    listed,
    megabytes,
    percent,
    phrase,
    seconds,
    shown,
    table,
)
from benchmarks.figures.readings import entries, grouped, of_metric, results

ERROR = "relative RMSE"
BEATEN = "rivals both faster and more accurate"
FEW, MANY = 1_000, 100_000
_AUTO = "auto"
_METHOD = """\
Every contestant of a case is given the same rows and the same bandwidth, lives in a
process of its own, and may use all cores. A round is a fit and the queries; the
contestants take turns round by round, and times are medians over the rounds (at most
{rounds}). Packages are loaded and compiled before the clock starts. *Relative RMSE* is
`rms(f - f_exact) / rms(f_exact)` at 1,000 held-out rows against the exact kernel
density in double precision, *nats* the median error of the log-density there. A time
with ~ was taken on fewer queries and scaled up. Contestants that were out of time or
cannot take part stand last in their tables, with the reason. Memory is the peak of the
contestant's process, its rows included. `benchmarks/contestants/densities.py` says how
each of them is set.
"""


def chapter(lines, album):
    """Summary, pictures, and a table for every case."""
    lines = results(lines)
    cases = [
        Field(group)
        for group in grouped(lines, _case).values()
        if of_metric(group, ERROR)
    ]
    cases.sort(key=Field.order)
    if not cases:
        return "No case has been measured.\n"
    parts = [
        _METHOD.format(rounds=max(case.rounds for case in cases)),
        _verdict(cases),
        _summary(cases),
        *density_pictures.pictures(cases, album),
        "### Every case\n",
        "Sorted by the time of a fit and 100,000 queries; rhokit in bold.\n",
        *(folded(case.headline(), case.table()) for case in cases),
    ]
    return "\n".join(parts)


class Field:
    """The contestants of one case, and who beats rhokit's own choice.

    Parameters
    ----------
    lines : list of dict
        All lines of the case.
    """

    def __init__(self, lines):
        scores = of_metric(lines, ERROR)
        self.entries = entries(scores)
        facts = scores[0]["details"]
        self.data, self.bandwidth = facts.get("data", ""), facts.get("bandwidth", "")
        self.d, self.n = facts.get("d", 0), facts.get("n", 0)
        verdicts = of_metric(lines, BEATEN)
        self.judged = bool(verdicts)
        details = verdicts[0]["details"] if verdicts else {}
        self.beaten_by = details.get("rivals") or []
        self._choice = details.get("judged") or _AUTO

    @property
    def auto(self):
        """rhokit's own choice; None where it is not there."""
        return next((e for e in self.entries if self.is_auto(e)), None)

    @property
    def rounds(self):
        """The most that anybody had."""
        return max(e.details.get("rounds", 1) for e in self.entries)

    def is_auto(self, entry):
        """Whether an entry is the one that rhokit chooses itself."""
        return entry.ours and self._choice in entry.name

    def order(self):
        """By dimension, data, bandwidth (the plain one first), rows."""
        return self.d, self.data, len(self.bandwidth), self.bandwidth, self.n

    def title(self):
        """What is the same for all numbers of rows."""
        return f"{self.data}, d = {self.d}, {self.bandwidth}"

    def headline(self):
        """Case and verdict in one line."""
        beaten = f"beaten by {self.beaten()}" if self.beaten_by else "not beaten"
        verdict = beaten if self.judged else "not judged"
        return f"{self.title()}, N = {self.n:,}: {verdict}"

    def beaten(self):
        """Who is both faster and more accurate, in words."""
        if not self.judged:
            return "not judged"
        return listed(self.beaten_by) if self.beaten_by else "nobody"

    def table(self):
        """All contestants by time; those without figures last."""
        return table(
            [
                "contestant",
                "fit, s",
                "+ 1,000 queries",
                "+ 100,000 queries",
                "relative RMSE",
                "nats",
                "peak, MB",
                "note",
            ],
            [self._row(entry) for entry in sorted(self.entries, key=_by_time)],
            "lrrrrrrl",
        )

    def _row(self, entry):
        details = entry.details
        return [
            bold(entry.name, entry.ours),
            seconds(entry.fit_seconds),
            _time(entry, FEW),
            _time(entry, MANY),
            shown(entry.quality),
            shown(details.get("nats")),
            megabytes(details.get("peak_megabytes")),
            self._note(entry),
        ]

    def _note(self, entry):
        notes = []
        if entry.name in self.beaten_by:
            notes.append(bold("beats rhokit"))
        if entry.reason is not None:
            notes.append(phrase(entry.reason))
        elif entry.timed(MANY) < MANY:
            notes.append(f"timed on {entry.timed(MANY):,} queries")
        if entry.details.get("nothing"):
            share = percent(entry.details["nothing"])
            notes.append(f"no density at {share} of the queries")
        return "; ".join(notes)


def _case(line):
    details = line["details"]
    keys = "case", "data", "d", "n", "bandwidth"
    return tuple(details.get(key) for key in keys)


def _by_time(entry):
    known = entry.seconds(MANY)
    return (entry.reason is not None, math.inf if known is None else known, entry.name)


def _time(entry, count):
    value = entry.seconds(count)
    scaled = value is not None and entry.timed(count) < count
    return ("~" if scaled else "") + seconds(value)


def _verdict(cases):
    judged = [case for case in cases if case.judged]
    lost = [case for case in judged if case.beaten_by]
    text = (
        f"In {len(judged) - len(lost)} of {len(judged)} cases no rival is both faster "
        "and more accurate than what rhokit chooses itself (*auto*)"
    )
    if lost:
        names = sorted({name for case in lost for name in case.beaten_by})
        text += f"; in {len(lost)} there is one or more: {listed(names)}"
    return text + ".\n"


def _summary(cases):
    return table(
        [
            "data",
            "d",
            "N",
            "bandwidth",
            "auto: fit, s",
            "+ 1,000 queries",
            "+ 100,000 queries",
            "relative RMSE",
            "both faster and more accurate",
        ],
        [_summary_row(case) for case in cases],
        "lrrlrrrrl",
    )


def _summary_row(case):
    auto = case.auto
    facts = [case.data, str(case.d), f"{case.n:,}", case.bandwidth]
    if auto is None or auto.reason is not None:
        reason = "did not take part" if auto is None else phrase(auto.reason)
        return [*facts, *[NOTHING] * 4, f"auto: {reason}"]
    return [
        *facts,
        seconds(auto.fit_seconds),
        _time(auto, FEW),
        _time(auto, MANY),
        shown(auto.quality),
        bold(case.beaten(), bool(case.beaten_by)),
    ]
