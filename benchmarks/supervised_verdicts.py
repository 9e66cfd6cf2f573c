"""What the lines of the supervised section say: means, winners, verdicts.

Two contestants are compared by their means over the splits that both have. Seconds are
the clock's; with one thread they are the processor's, which other work on the machine
does not lengthen.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.contestants.learners import (
    BOOSTED_CLASSES,
    BOOSTED_VALUES,
    CLASSIFIERS,
    FOREST_CLASSES,
    FOREST_VALUES,
    NGBOOST,
    OUR_CLASSES,
    OUR_VALUES,
    QUANTILES,
    REGRESSORS,
)
from benchmarks.runs import SECONDS
from benchmarks.supervised_sets import CLASSES, VALUES, sets
from benchmarks.tables import number, text_table


@dataclass(frozen=True)
class Measure:
    """A number of every split.

    Parameters
    ----------
    key : str
        In the details of a line, but for the first one of a kind, which is its value.
    title : str
    digits : int
        Decimals in tables.
    sign : int
        1 if less is better, -1 if more is.
    """

    key: str
    title: str
    digits: int = 3
    sign: int = 1


ERROR = Measure("value", "RMSE")
LIKELIHOOD = Measure("nll", "negative log-likelihood")
CRPS = Measure("crps", "CRPS")
COVERAGE = Measure("coverage", "coverage of 90 % intervals")
WIDTH = Measure("width", "width of 90 % intervals")
SHARE = Measure("value", "accuracy", 4, -1)
LOSS = Measure("log_loss", "log-loss", 4)
FIT = Measure("fit", "seconds to fit")
PREDICTION = Measure("prediction", "seconds to predict")
BYTES = Measure("model_bytes", "bytes of the model")
QUALITIES = {VALUES: (ERROR, LIKELIHOOD, CRPS), CLASSES: (SHARE, LOSS)}


@dataclass(frozen=True)
class Mean:
    """A mean over splits, with its standard error; None of a single one."""

    value: float
    error: float | None
    splits: int


class Outcomes:
    """The lines of one kind of sets; of a split that is there twice, the last one.

    Parameters
    ----------
    lines : iterable of dict
    kind : {"values", "classes"}
    """

    def __init__(self, lines, kind):
        self.kind, self._found = kind, {}
        for line in lines:
            facts = line["details"]
            if line["metric"] != SECONDS and facts.get("kind") == kind:
                of_set = self._found.setdefault(facts["set"], {})
                of_set.setdefault(facts["contestant"], {})[facts["split"]] = line

    @cached_property
    def sets(self):
        """Names of the sets, in the section's order; strangers first."""
        places = {each.name: i for i, each in enumerate(sets(quick=False))}
        return sorted(self._found, key=lambda given: places.get(given, -1))

    @cached_property
    def names(self):
        """Names of the contestants that have a value somewhere."""
        known = REGRESSORS if self.kind == VALUES else CLASSIFIERS
        first = QUALITIES[self.kind][0]
        return [
            each.name
            for each in known
            if any(self.by_split(given, each.name, first) for given in self.sets)
        ]

    def sizes(self, given):
        """Rows and columns of a set, as text; nothing where no line has them."""
        for splits in self._found[given].values():
            for line in splits.values():
                if line["details"].get("n") is not None:
                    return "{n:,} × {d}".format(**line["details"])
        return ""

    def by_split(self, given, name, measure):
        """The numbers of a contestant on a set, by split."""
        splits = self._found.get(given, {}).get(name, {})
        pairs = ((i, _number(line, measure.key)) for i, line in splits.items())
        return {i: value for i, value in pairs if value is not None}

    def mean(self, given, name, measure):
        """Mean of a contestant on a set; None where it has no number."""
        values = list(self.by_split(given, name, measure).values())
        if not values:
            return None
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if values[1:] else None
        return Mean(float(np.mean(values)), error, len(values))

    def pair(self, given, one, other, measure):
        """Means of two on the splits of both; None without any."""
        ours, theirs = (self.by_split(given, name, measure) for name in (one, other))
        common = ours.keys() & theirs.keys()
        if not common:
            return None
        return tuple(np.mean([each[i] for i in common]) for each in (ours, theirs))

    def best(self, given, measure):
        """Who is beaten by the fewest on a set, by nobody as a rule; None without any.

        Some have fewer splits than others, and splits differ: so pairs are compared.
        """
        known = [name for name in self.names if self.mean(given, name, measure)]

        def losses(name):
            pairs = (self.pair(given, name, other, measure) for other in known)
            return sum(measure.sign * (a - b) > 0 for a, b in filter(None, pairs))

        return min(known, key=losses) if known else None

    def most_splits(self, given, measure):
        """How many splits the one with the most has on a set."""
        means = (self.mean(given, name, measure) for name in self.names)
        return max((mean.splits for mean in means if mean), default=0)

    def absences(self):
        """Why some have no numbers: names of sets by contestant and reason."""
        found = {}
        for given, contestants in self._found.items():
            for name, splits in contestants.items():
                reasons = {line["details"].get("reason") for line in splits.values()}
                for reason in reasons - {None}:
                    found.setdefault((name, reason), []).append(given)
        return found


def _number(line, key):
    if key == "value":
        return line["value"]
    facts, alone = line["details"], line["threads"] == 1
    if key == "fit":
        own = facts.get("fit_processor_seconds") if alone else None
        return own or facts.get("fit_seconds")
    if key == "prediction":
        own = facts.get("answer_processor_seconds") if alone else None
        return next(iter((own or facts.get("answer_seconds") or {}).values()), None)
    return facts.get(key)


# ---- verdicts ------------------------------------------------------------------------


def sentences(outcomes):
    """Where rhokit is, of all sets of a kind."""
    ours = OUR_VALUES if outcomes.kind == VALUES else OUR_CLASSES
    if ours not in outcomes.names:
        made = [f"{ours} was not measured yet."]
    else:
        say = _of_values if outcomes.kind == VALUES else _of_classes
        made = [each for each in say(outcomes) if each]
    return made + [
        each for m in QUALITIES[outcomes.kind] if (each := _winners(outcomes, m))
    ]


def _of_values(outcomes):
    yield _against_trees(outcomes, OUR_VALUES, (BOOSTED_VALUES, FOREST_VALUES), ERROR)
    for measure, rival in ((LIKELIHOOD, NGBOOST), (CRPS, NGBOOST), (CRPS, QUANTILES)):
        yield _below(outcomes, OUR_VALUES, rival, measure)
    yield _coverage(outcomes, OUR_VALUES)
    yield _seconds(outcomes, OUR_VALUES, BOOSTED_VALUES)
    yield _seconds(outcomes, OUR_VALUES, NGBOOST)


def _of_classes(outcomes):
    trees = BOOSTED_CLASSES, FOREST_CLASSES
    yield _against_trees(outcomes, OUR_CLASSES, trees, SHARE)
    yield _below(outcomes, OUR_CLASSES, BOOSTED_CLASSES, LOSS)
    yield _seconds(outcomes, OUR_CLASSES, BOOSTED_CLASSES)


def _pairs(outcomes, ours, rivals, measure):
    """Our mean and that of the best of the rivals, set by set."""
    for given in outcomes.sets:
        pairs = [outcomes.pair(given, ours, each, measure) for each in rivals]
        if all(pairs):
            yield min(pairs, key=lambda pair: measure.sign * pair[1])


def _against_trees(outcomes, ours, trees, measure):
    pairs = list(_pairs(outcomes, ours, trees, measure))
    if not pairs:
        return None
    kept = sum(measure.sign * (a - b) <= 0 for a, b in pairs)
    words = "at or below" if measure.sign > 0 else "at or above"
    text = (
        f"{_capital(measure)} {words} the better of boosting and forest on {kept} of "
        f"{len(pairs)} sets; "
    )
    if measure.sign < 0:
        points = 100 * np.mean([a - b for a, b in pairs])
        return f"{text}{points:+.2f} points from it on average."
    return f"{text}mean ratio to it {_geometric([a / b for a, b in pairs])}."


def _below(outcomes, ours, rival, measure):
    pairs = list(_pairs(outcomes, ours, (rival,), measure))
    if not pairs:
        return None
    kept = sum(a < b for a, b in pairs)
    text = f"{_capital(measure)} below that of {rival} on {kept} of {len(pairs)} sets; "
    if measure is LIKELIHOOD:  # may be of any sign
        return f"{text}{np.mean([a - b for a, b in pairs]):+.3f} nats on average."
    return f"{text}mean ratio {_geometric([a / b for a, b in pairs])}."


def _coverage(outcomes, ours):
    means = [outcomes.mean(given, ours, COVERAGE) for given in outcomes.sets]
    known = [mean.value for mean in means if mean]
    if not known:
        return None
    return (
        f"Intervals of 90 % hold {100 * np.mean(known):.1f} %, on single sets "
        f"{100 * min(known):.1f} to {100 * max(known):.1f} %."
    )


def _seconds(outcomes, ours, rival):
    ratios = [
        [a / b for a, b in _pairs(outcomes, ours, (rival,), measure)]
        for measure in (FIT, PREDICTION)
    ]
    if not all(ratios):
        return None
    fit, prediction = (
        f"{_geometric(each)} times ({number(min(each))} to {number(max(each))})"
        for each in ratios
    )
    return f"Seconds over those of {rival}: fit {fit}, prediction {prediction}."


def _winners(outcomes, measure):
    names = [outcomes.best(given, measure) for given in outcomes.sets]
    counted = Counter(name for name in names if name is not None)
    if not counted:
        return None
    listed = ", ".join(f"{name} {count}" for name, count in counted.most_common())
    return f"Best {measure.title}: {listed}."


def _capital(measure):
    """Its title at the beginning of a sentence."""
    return measure.title[:1].upper() + measure.title[1:]


def _geometric(ratios):
    """Geometric mean as text."""
    return number(float(np.exp(np.mean(np.log(ratios)))))


# ---- tables --------------------------------------------------------------------------


def shown(mean, measure, most):
    """A mean with its standard error, as text; with the number of splits if few."""
    text = f"{mean.value:.{measure.digits}f}"
    if mean.error is not None:
        text += f" ± {mean.error:.{measure.digits}f}"
    return text if mean.splits == most else f"{text} ({mean.splits})"


def report(lines):
    """Tables and verdicts as text."""
    lines = list(lines)
    parts = []
    for kind, measures in QUALITIES.items():
        outcomes = Outcomes(lines, kind)
        for measure in (*measures, FIT, PREDICTION) if outcomes.names else ():
            parts += [f"{kind}: {measure.title}", _text(outcomes, measure)]
        if outcomes.sets:
            parts.append("\n".join(sentences(outcomes)))
        parts += [
            f"{name}: {reason} ({', '.join(given)})"
            for (name, reason), given in outcomes.absences().items()
        ]
    return "\n\n".join(part for part in parts if part)


def _text(outcomes, measure):
    rows = []
    for given in outcomes.sets:
        means = {name: outcomes.mean(given, name, measure) for name in outcomes.names}
        most = outcomes.most_splits(given, measure)
        cells = {name: _cell(mean, measure, most) for name, mean in means.items()}
        rows.append({"set": given, "rows": outcomes.sizes(given)} | cells)
    return text_table(rows, {"set"})


def _cell(mean, measure, most):
    if mean is None:
        return ""
    if measure in (FIT, PREDICTION):
        return number(mean.value)
    return shown(mean, measure, most)
