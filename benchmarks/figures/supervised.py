"""Values and classes: tables of means, who is best, and quality against time."""

from benchmarks.contestants.learners import CONTESTANTS, OUR_CLASSES, OUR_VALUES
from benchmarks.figures.markdown import (
    NOTHING,
    bold,
    folded,
    megabytes,
    phrase,
    seconds,
    table,
)
from benchmarks.figures.readings import Entry
from benchmarks.figures.scatter import scatter
from benchmarks.figures.style import Looks
from benchmarks.supervised_sets import CLASSES, VALUES
from benchmarks.supervised_verdicts import (
    BYTES,
    COVERAGE,
    ERROR,
    FIT,
    PREDICTION,
    QUALITIES,
    SHARE,
    WIDTH,
    Measure,
    Outcomes,
    sentences,
    shown,
)

_OURS = {OUR_VALUES, OUR_CLASSES}
_METHOD = """\
Defaults against defaults: nobody is given settings, and what a model chooses counts as
part of its fit. Linear models, neighbours and support vectors have standardised
columns; SVR and the Gaussian process have a standardised target, too, and the latter a
length scale for every column and noise; SVC has probabilities by
`CalibratedClassifierCV`. Tables have means over splits ± their standard errors, in
brackets the number of splits where it is smaller; bold is whom nobody beats on the
splits of both, and verdicts are on the splits of both, too. Mean ratios are geometric.
Seconds are those of one split; with one thread, they are the processor's, which other
work on the machine does not lengthen.
"""
_OF = {
    VALUES: """\
Six sets of the UCI repository on their 20 published splits, a tenth held out; values in
their own units. Everybody with a distribution is asked for 19 quantiles, of which CRPS
is taken (`rhokit.metrics.crps`), for an interval of 90 %, and for the density at the
true value: NGBoost and the Gaussian process are normal distributions, quantile boosting
has no density, and its value is the mean of its quantiles.
""",
    CLASSES: """\
USPS and MNIST on their published splits; 14,000 letters and 6,000 to judge by; 100,000
cover types and 50,000 others, and all of them but a tenth; the sets of ADBench with
2,000 rows or more, 30 % held out on three seeds, stratified. Log-loss clips
probabilities at 2.2e-16, as scikit-learn does.
""",
}
_NARROW = Measure("coverage_by_width", "coverage by width")


def chapter(lines, album):
    """For values and for classes: verdicts, tables, a picture."""
    lines = list(lines)
    parts = [_METHOD]
    for kind in QUALITIES:
        outcomes = Outcomes(lines, kind)
        if outcomes.names:
            parts += _kind(outcomes, album)
    if not parts[1:]:
        return "No set has been measured.\n"
    return "\n".join(parts)


def _kind(outcomes, album):
    yield f"### {outcomes.kind.capitalize()}\n\n{_OF[outcomes.kind]}"
    yield "".join(f"- {sentence}\n" for sentence in sentences(outcomes))
    for measure in QUALITIES[outcomes.kind]:
        if any(outcomes.best(given, measure) for given in outcomes.sets):
            yield f"#### {measure.title}\n\n{_means(outcomes, measure)}"
    if outcomes.kind == VALUES:
        yield from _intervals(outcomes)
    yield from _picture(outcomes, album)
    yield folded("Seconds to fit + to predict", _costs(outcomes, _seconds))
    yield folded("Size of the model, MB", _costs(outcomes, _size))
    yield from _absences(outcomes)


def _heads(names):
    return [bold(name, name in _OURS) for name in names]


def _means(outcomes, measure):
    names = [
        name
        for name in outcomes.names
        if any(outcomes.by_split(given, name, measure) for given in outcomes.sets)
    ]
    rows = [
        [given, outcomes.sizes(given), *_cells(outcomes, given, names, measure)]
        for given in outcomes.sets
    ]
    return table(["set", "rows fitted", *_heads(names)], rows)


def _cells(outcomes, given, names, measure):
    means = {name: outcomes.mean(given, name, measure) for name in names}
    most = outcomes.most_splits(given, measure)
    best = outcomes.best(given, measure)
    for name, mean in means.items():
        text = NOTHING if mean is None else shown(mean, measure, most)
        yield bold(text, name == best)


# ---- intervals -----------------------------------------------------------------------


def _intervals(outcomes):
    """Coverage of all, and of the narrowest and widest fifth; mean width."""
    names = [
        name
        for name in outcomes.names
        if any(outcomes.by_split(given, name, COVERAGE) for given in outcomes.sets)
    ]
    if names:
        rows = [
            [given, *(_interval(outcomes, given, name) for name in names)]
            for given in outcomes.sets
        ]
        yield (
            "#### Intervals of 90 %\n\nHow many of the true values they hold, in "
            "brackets among the narrowest and the widest fifth; mean width.\n\n"
            + table(["set", *_heads(names)], rows)
        )


def _interval(outcomes, given, name):
    held, width = (outcomes.mean(given, name, each) for each in (COVERAGE, WIDTH))
    if held is None:
        return NOTHING
    by_width = outcomes.by_split(given, name, _NARROW).values()
    ends = [sum(each[i] for each in by_width) / len(by_width) for i in (0, -1)]
    narrow, wide = (f"{100 * end:.0f}" for end in ends)
    return f"{100 * held.value:.1f} % ({narrow}, {wide}); {width.value:.3g}"


# ---- costs ---------------------------------------------------------------------------


def _costs(outcomes, cell):
    rows = [
        [given, *(cell(outcomes, given, name) for name in outcomes.names)]
        for given in outcomes.sets
    ]
    return table(["set", *_heads(outcomes.names)], rows)


def _seconds(outcomes, given, name):
    means = [outcomes.mean(given, name, each) for each in (FIT, PREDICTION)]
    if not all(means):
        return NOTHING
    return " + ".join(seconds(mean.value) for mean in means)


def _size(outcomes, given, name):
    mean = outcomes.mean(given, name, BYTES)
    return megabytes(None if mean is None else mean.value / 1e6)


def _picture(outcomes, album):
    """Errors against time, of sets with a published split."""
    of_values = outcomes.kind == VALUES
    shown_sets = [given for given in outcomes.sets if not given.startswith("adbench")]
    looks = Looks(Entry(c.name, c.ours, None, {}) for c in CONTESTANTS)
    words = "RMSE" if of_values else "share of mistakes"
    groups = {given: _entries(outcomes, given) for given in shown_sets}
    figure = scatter(groups, looks, ("fit and predictions, seconds", words))
    if figure is not None:
        yield f"#### {words} against time\n\nLower left is better.\n"
        name = f"supervised-{outcomes.kind}"
        yield album.add(name, figure, f"{words} against time")


def _entries(outcomes, given):
    measure = ERROR if outcomes.kind == VALUES else SHARE
    found = []
    for name in outcomes.names:
        parts = [
            outcomes.mean(given, name, each) for each in (measure, FIT, PREDICTION)
        ]
        if all(parts):
            quality, fit, prediction = (part.value for part in parts)
            quality = quality if outcomes.kind == VALUES else 1 - quality
            times = {"total_seconds": {"1": fit + prediction}}
            found.append(Entry(name, name in _OURS, quality, times))
    return found


def _absences(outcomes):
    for (name, reason), sets in outcomes.absences().items():
        yield f"- {name}: {phrase(reason)} ({'; '.join(sets)})"
    yield ""
