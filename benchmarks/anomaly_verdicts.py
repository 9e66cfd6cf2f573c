"""What the lines of the anomalies section say: means over seeds and sets, ranks."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import rankdata

from benchmarks.figures.readings import grouped
from benchmarks.runs import SECONDS
from benchmarks.tables import number, text_table

AREA = "ROC AUC"
OURS = "rhokit detector"
SETS = (
    "aloi",
    "annthyroid",
    "breastw",
    "cardiotocography",
    "cover",
    "donors",
    "glass",
    "http",
    "internetads",
    "landsat",
    "letter",
    "magic_gamma",
    "mnist",
    "musk",
    "optdigits",
    "pima",
    "satimage-2",
    "shuttle",
    "spambase",
    "thyroid",
    "vertebral",
    "wbc",
    "wilt",
    "wpbc",
)
SEEN = SETS[::2]
SELECTIONS = {
    "all sets": SETS,
    "sets that choices were made on": SEEN,
    "sets kept for confirmation": SETS[1::2],
}
# Areas and precisions of who has no figure: those of chance.
_CHANCE = 0.5


@dataclass(frozen=True)
class Standing:
    """What one detector has over some sets, each a mean over seeds."""

    name: str
    ours: bool
    area: float
    rank: float
    precision: float
    above: float | None
    error: float | None
    seconds: float
    n_sets: int


class Outcomes:
    """Lines of one setting, of which the last one counts where there are two.

    Parameters
    ----------
    lines : iterable of dict
    setting : {"contaminated", "clean"}
    """

    def __init__(self, lines, setting):
        self._lines = {}
        for line in lines:
            facts = line["details"]
            if line["metric"] == AREA and facts["setting"] == setting:
                key = facts["set"], facts["contestant"], line["seed"]
                self._lines[key] = line

    @cached_property
    def sets(self):
        """Names of the sets, in alphabetical order."""
        return sorted({key[0] for key in self._lines})

    @cached_property
    def seeds(self):
        """How many seeds everybody has on every set, at least and at most."""
        counts = [
            len(own) for own in grouped(self._lines, lambda key: key[:2]).values()
        ]
        return min(counts), max(counts)

    @cached_property
    def contestants(self):
        """Whether they are rhokit's, by their names."""
        facts = [line["details"] for line in self._lines.values()]
        return {each["contestant"]: each["ours"] for each in facts}

    def lines(self, given, name):
        """The lines of a detector on a set, seed by seed."""
        keys = sorted(key for key in self._lines if key[:2] == (given, name))
        return [self._lines[key] for key in keys]

    def mean(self, given, name, value):
        """Mean over seeds of what a function has of lines; None if one has none."""
        values = [value(line) for line in self.lines(given, name)]
        known = values and all(each is not None for each in values)
        return float(np.mean(values)) if known else None

    def areas(self, name, sets, absent=_CHANCE):
        """Mean areas of a detector on some sets."""
        return self._means(name, sets, lambda line: line["value"], absent)

    def _means(self, name, sets, value, absent):
        means = [self.mean(given, name, value) for given in sets]
        return np.array([absent if mean is None else mean for mean in means])

    def standings(self, wanted):
        """Every detector over those of the sets that there are, the best area first."""
        sets = [given for given in self.sets if given in wanted]
        if not sets or not self.contestants:
            return []
        ranks = self._ranks(sets)
        first = self.areas(OURS, sets) if OURS in self.contestants else None
        found = [
            self._standing(name, sets, first, ranks[name]) for name in self.contestants
        ]
        return sorted(found, key=lambda each: -each.area)

    def _ranks(self, sets):
        """Mean rank over the sets; who has no figure is last."""
        areas = [self.areas(name, sets, -np.inf) for name in self.contestants]
        ranks = rankdata(-np.array(areas), axis=0).mean(axis=1)
        return dict(zip(self.contestants, ranks.tolist(), strict=True))

    def _standing(self, name, sets, first, rank):
        areas = self.areas(name, sets)
        difference = error = None
        if first is not None and name != OURS:
            difference = float((first - areas).mean())
            if len(sets) > 1:
                error = float((first - areas).std(ddof=1) / np.sqrt(len(sets)))
        times = [self.mean(given, name, _seconds) for given in sets]
        times = [each for each in times if each is not None]
        return Standing(
            name,
            self.contestants[name],
            float(areas.mean()),
            rank,
            float(self._means(name, sets, _precision, 0.0).mean()),
            difference,
            error,
            float(np.mean(times)) if times else float("nan"),
            len(times),
        )

    def absences(self):
        """Texts: who has no figure where, and why."""
        reasons = [
            (line["details"]["contestant"], line["details"]["reason"], given)
            for (given, _, _), line in self._lines.items()
            if line["details"]["reason"]
        ]
        return [
            f"{name} on {', '.join(dict.fromkeys(each[2] for each in own))}: {reason}"
            for (name, reason), own in grouped(reasons, lambda r: r[:2]).items()
        ]


def outcomes_by_setting(lines):
    """The outcomes of every setting that there are lines of."""
    lines = [line for line in lines if line["metric"] != SECONDS]
    settings = dict.fromkeys(line["details"]["setting"] for line in lines)
    return {setting: Outcomes(lines, setting) for setting in settings}


def difference(standing, digits=3):
    """By how much rhokit's is above, with the standard error of it."""
    if standing.above is None:
        return "-"
    text = f"{standing.above:+.{digits}f}"
    return text if standing.error is None else f"{text} ± {standing.error:.{digits}f}"


def report(lines):
    """Tables as text: each setting, all sets and each half of them."""
    texts = [f"{AREA}, means over seeds and sets; *: rhokit's. {_NOTE}\n"]
    for setting, outcomes in outcomes_by_setting(lines).items():
        least, most = outcomes.seeds
        for of, wanted in SELECTIONS.items():
            if rows := [_row(each) for each in outcomes.standings(wanted)]:
                texts += [f"{setting}, {of}", text_table(rows, ("detector",)), ""]
        texts += [f"seeds: {least} to {most}", *outcomes.absences(), ""]
    return "\n".join(texts).rstrip()


_NOTE = """\
Mean rank: without a figure is last; such count as 0.5 in the mean. Above: rhokit's less
this one, with the standard error of the difference over sets. Seconds: of the
processor, fit and scores."""


def _row(standing):
    return {
        "detector": ("* " if standing.ours else "  ") + standing.name,
        "mean": f"{standing.area:.3f}",
        "mean rank": f"{standing.rank:.2f}",
        "above": difference(standing),
        "precision": f"{standing.precision:.3f}",
        "sets": str(standing.n_sets),
        "seconds": number(standing.seconds),
    }


def _precision(line):
    return line["details"]["average_precision"]


def _seconds(line):
    times = line["details"].get("total_seconds")
    return None if not times else next(iter(times.values()))
