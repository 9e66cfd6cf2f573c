"""What the lines of the results say, in a form that tables and pictures can use."""

import math
from dataclasses import dataclass

from benchmarks.runs import SECONDS


@dataclass(frozen=True)
class Entry:
    """What one contestant did on one case.

    ``quality`` is the value of the line, None where there is none; ``reason`` then says
    why.
    """

    name: str
    ours: bool
    quality: float | None
    details: dict

    @property
    def reason(self):
        """Why there are no figures; None where there are."""
        return self.details.get("reason")

    @property
    def fit_seconds(self):
        """Median over the rounds, or None."""
        return self.details.get("fit_seconds")

    @property
    def took_part(self):
        """Whether there are both a time and a quality."""
        return self.quality is not None and self.seconds() is not None

    def seconds(self, count=None):
        """Fit and so many queries (the most, without a number); None if unknown."""
        return _of(self.details.get("total_seconds"), count)

    def answer_seconds(self, count=None):
        """So many queries without the fit; None if unknown."""
        return _of(self.details.get("answer_seconds"), count)

    def timed(self, count):
        """On how many queries the time of ``count`` was measured."""
        return (self.details.get("timed_queries") or {}).get(str(count), count)


def results(lines):
    """The lines without those that only mark the end of a task."""
    return [line for line in lines if line["metric"] != SECONDS]


def of_metric(lines, *metrics):
    """The lines of these metrics."""
    return [line for line in lines if line["metric"] in metrics]


def grouped(things, key):
    """Lists of things by key, in the order of their first appearance."""
    groups = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups


def entries(lines):
    """The contestants of contest lines, in their order."""
    return [entry(line) for line in lines]


def entry(line):
    """The contestant of a contest line."""
    details = line["details"]
    name = details.get("contestant") or line["case"].rpartition(": ")[2]
    return Entry(name, bool(details.get("ours")), finite(line["value"]), details)


def finite(value):
    """The value, or None if it is not a number."""
    return value if value is not None and math.isfinite(value) else None


def front(points):
    """Of pairs, those that no other one beats in both; in order of the first number."""
    best, kept = math.inf, []
    for x, y in sorted(points):
        if y < best:
            kept.append((x, y))
            best = y
    return kept


def _of(table, count):
    """The entry of a table by count; of the largest count without one."""
    if not table:
        return None
    key = str(count) if count is not None else max(table, key=int)
    return finite(table.get(key))
