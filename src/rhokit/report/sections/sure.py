"""The section on how sure a model is, for densities, classes and values."""

import math

import numpy as np

from rhokit.inspection import (
    Histogram,
    PredictedLabels,
    PredictedValues,
    histogram,
    score_histogram,
    view,
)
from rhokit.inspection.values import THE_VALUE
from rhokit.report import charts
from rhokit.report.facts import MAIN_COVERAGE, DensityFacts, Facts
from rhokit.report.sections.parts import Entry, Figure, Section
from rhokit.report.tables import confusion_table, coverage_table
from rhokit.report.words import count, fixed, number, percent

_LITTLE = 0.5  # reach below which a row is hardly represented
_MOST_CLASSES = 40  # a larger table says nothing
_KEY, _HEADING = "sure", "How sure it is"
_LEVELS = (0.1, 0.01, 0.001)  # p-values below which rows are counted
_SEEN = "The rows are those that the model was fitted to: new rows will do worse."


def sure_sections(facts: Facts) -> list[Section]:
    """Sections on what answers are worth; densities of a classifier come last."""
    if facts.classes is not None:
        return [_classes(facts, facts.classes), _strangeness(facts)]
    if facts.values:
        return [_values(facts)]
    if facts.fitted.kind == "outliers":
        return [_outliers(facts, facts.density)]
    return [_density(facts, facts.density)]


# ---- densities -------------------------------------------------------------------


def _density(facts: Facts, density: DensityFacts) -> Section:
    return Section(
        _KEY,
        _HEADING,
        entries=(
            *_log_density_entries(density),
            *_floor(facts, density),
            *_reach(density),
        ),
        figures=(*score_figures(facts, density), *_reach_figures(density)),
        about=_about_density(facts, density),
    )


def _outliers(facts: Facts, density: DensityFacts) -> Section:
    return Section(
        _KEY,
        _HEADING,
        entries=tuple(_p_value_entry(density, level) for level in _LEVELS),
        figures=tuple(score_figures(facts, density)),
        about="The p-value of a row is the share of the learned rows that are at least "
        "as odd when each of them is left out in turn: of new rows that are like them, "
        "a share of p has p or less. Rows that the model keeps are recognised and left "
        "out.",
    )


def _p_value_entry(density: DensityFacts, level: float) -> Entry:
    scores = density.scores.log_densities
    found = int((scores <= math.log(level)).sum())
    words = f"By chance alone there would be about {number(level * len(scores), 3)}."
    return Entry(f"p at most {level:g}", count(found, "row"), words)


def _strangeness(facts: Facts) -> Section:
    """Densities that a classifier knows on top of its answers."""
    return Section(
        "likely",
        "How likely the rows are",
        intro="Whatever their class: rows of low density are like none of those that "
        "were fitted.",
        entries=tuple(_log_density_entries(facts.density)),
        figures=tuple(score_figures(facts, facts.density)),
    )


def _log_density_entries(density: DensityFacts) -> list[Entry]:
    scores = density.scores
    left_out = ", each row left out of the model in turn" if scores.left_out else ""
    entries = [
        Entry("Mean log-density", fixed(scores.mean, 3), f"In nats per row{left_out}."),
        Entry("Median", fixed(scores.median, 3), "Half of the rows are likelier."),
    ]
    if math.isfinite(density.normal_mean):
        gain = scores.mean - density.normal_mean
        words = (
            "The mean log-density by a normal distribution with the mean and "
            f"covariance of these very rows. The model says {fixed(abs(gain), 2)} nats "
            f"{'more' if gain >= 0 else 'less'}."
        )
        entries.append(Entry("For comparison", fixed(density.normal_mean, 3), words))
    if scores.n_zero:
        words = "Their density is exactly zero: the mean leaves them out."
        entries.append(Entry("Zero density", count(scores.n_zero, "row"), words))
    return entries


def _floor(facts: Facts, density: DensityFacts) -> list[Entry]:
    floor = facts.fitted.floor
    if floor is None:
        return []
    if math.isinf(floor):
        return [Entry("Floor", "none", "Away from the data the density falls to zero.")]
    words = (
        "Lower log-densities cannot be told from zero; "
        f"{count(density.scores.n_below_floor, 'row lies', 'rows lie')} below."
    )
    return [Entry("Floor", fixed(floor, 2), words)]


def _reach(density: DensityFacts) -> list[Entry]:
    if density.reach is None:
        return []
    poor = float(np.mean(density.reach < _LITTLE))
    words = (
        f"The landmarks reach them to less than {_LITTLE}: their density comes out "
        "too small. More components would help."
        if poor > 0
        else f"The landmarks represent every row to more than {percent(_LITTLE, 0)}."
    )
    return [Entry("Poorly reached rows", percent(poor), words)]


def score_figures(facts: Facts, density: DensityFacts) -> list[Figure]:
    """How log-densities are distributed."""
    scores = density.scores.log_densities
    seen = scores[np.isfinite(scores)]
    if not len(seen):
        return []
    logs = score_histogram(scores, lowest=view(seen)[0])
    floor = facts.fitted.floor
    line = None if floor is None or math.isinf(floor) else (floor, "floor")
    svg = charts.histogram_chart(
        logs, facts.score_words, f"{_several(facts)}, {_ends(logs)}", line
    )
    notes = [f"{_several(facts)} of the rows, the least likely to the left."]
    if logs.n_outside:
        farther = count(logs.n_outside, "row lies", "rows lie")
        notes.append(f"{farther} farther left, outside the picture.")
    if density.scores.n_zero:
        rows = count(density.scores.n_zero, "row")
        notes.append(f"{rows} of zero density cannot be shown.")
    return [Figure(svg, " ".join(notes))]


def _several(facts: Facts) -> str:
    """Scores of rows, at the beginning of a sentence."""
    several = {"log-density": "Log-densities", "log p-value": "Logarithms of p-values"}
    return several[facts.score_words]


def _ends(part: Histogram) -> str:
    return f"from {number(part.edges[0], 3)} to {number(part.edges[-1], 3)}"


def _reach_figures(density: DensityFacts) -> list[Figure]:
    if density.reach is None:
        return []
    part = histogram(density.reach, 0.0, 1.0)
    svg = charts.histogram_chart(
        part, "reach", "Reach of the landmarks", (_LITTLE, str(_LITTLE))
    )
    return [Figure(svg, "Reach of the landmarks: 1 where a row is fully represented.")]


def _about_density(facts: Facts, density: DensityFacts) -> str:
    rows = _SEEN
    if density.scores.left_out:
        rows = (
            "The rows are those that the model was fitted to, so each was scored by "
            "the model without it, as a new row would be."
        )
    elif not facts.training:
        rows = "The rows are scored as new ones."
    return (
        "A log-density is the logarithm of probability per unit of the columns, so its "
        "size depends on their units: compare it with that of other models of the same "
        f"columns. {rows}"
    )


# ---- classes ---------------------------------------------------------------------


def _classes(facts: Facts, classes: PredictedLabels) -> Section:
    if classes.reliability is None:
        return _unlabelled(classes)
    figures = [
        Figure(
            charts.reliability_chart(classes.reliability),
            "Reliability: on the dashed line, answers of 80\u00a0% are right in 80 of "
            "100 rows. Below it the model is too sure, above it too modest.",
        )
    ]
    table = classes.confusion
    shown = table is not None and len(table.truths) <= _MOST_CLASSES
    return Section(
        _KEY,
        _HEADING,
        entries=tuple(_class_entries(classes)),
        figures=tuple(figures),
        tables=(confusion_table(table),) if table is not None and shown else (),
        about=_about_classes(facts),
    )


def _class_entries(classes: PredictedLabels) -> list[Entry]:
    words = f"The commonest label alone would be right in {_share(classes.baseline)}."
    entries = [Entry("Right answers", _share(classes.accuracy), words)]
    if classes.rejected_fraction is not None:
        words = (
            f"Rows unlike all that were fitted get no answer. Of the others, "
            f"{_share(classes.accuracy_of_answered)} are right."
        )
        entries.append(
            Entry("Without an answer", _share(classes.rejected_fraction), words)
        )
    if classes.rank_error is not None:
        words = "How many labels an answer is off, on average."
        entries.append(Entry("Mean error", fixed(classes.rank_error, 3), words))
    words = "How far probabilities are from the share of right answers, on average."
    curve = classes.reliability
    error = _share(None if curve is None else curve.error)
    entries.append(Entry("Calibration error", error, words))
    return entries


def _unlabelled(classes: PredictedLabels) -> Section:
    confidence = float(np.mean(classes.confidence))
    words = "Of the likeliest class. Whether it is deserved, labels would tell."
    return Section(
        _KEY,
        _HEADING,
        intro="No labels were given, so nothing is said about right and wrong.",
        entries=(Entry("Mean probability", percent(confidence), words),),
        figures=(
            Figure(
                charts.bar_chart("answer", tuple(classes.summary.counts.items())),
                "Answers of the model.",
            ),
            Figure(
                charts.histogram_chart(
                    histogram(classes.confidence, 0.0, 1.0),
                    "probability of the answer",
                    "Probabilities of the answers",
                ),
                "How sure the answers are.",
            ),
        ),
    )


def _about_classes(facts: Facts) -> str:
    rows = _SEEN if facts.training else "The rows are answered as new ones."
    return (
        "The calibration error sorts answers into ten bins by their probability, and "
        "averages the distance between probability and share of right answers. "
        "In the table, cells of stronger colour hold a larger share of their label. "
        f"{rows}"
    )


def _share(value: float | None) -> str:
    return "not known" if value is None else percent(value)


# ---- values ----------------------------------------------------------------------


def _values(facts: Facts) -> Section:
    known = facts.values[0].truth is not None
    entries = [entry for value in facts.values for entry in _value_entries(value)]
    figures = [figure for value in facts.values for figure in _value_figures(value)]
    rows = _SEEN if facts.training else "The rows are predicted as new ones."
    return Section(
        _KEY,
        _HEADING,
        intro=""
        if known
        else "No true values were given, so nothing is said of errors.",
        entries=tuple(entries),
        figures=tuple(figures),
        tables=(coverage_table(facts.values),),
        about="An interval of 90\u00a0% should hold the true value of 90 in 100 rows; "
        f"the narrower it is, the more it says. {rows}",
    )


def _value_entries(value: PredictedValues) -> list[Entry]:
    main = value.nominal.index(MAIN_COVERAGE)
    width = number(value.widths[main])
    name = "" if value.name == THE_VALUE else f" ({value.name})"
    if value.achieved is None or value.absolute_error is None or value.r2 is None:
        words = f"Mean width of the intervals of {percent(MAIN_COVERAGE, 0)}."
        return [Entry(f"Interval{name}", width, words)]
    words = f"The median of these values alone would be off by {_of(value.baseline)}."
    explained = "Share of the variance that the predictions explain: 1 is all of it."
    inside = (
        "This share of the true values lies in intervals of "
        f"{percent(MAIN_COVERAGE, 0)}, which are {width} wide on average."
    )
    return [
        Entry(f"Mean absolute error{name}", number(value.absolute_error), words),
        Entry(f"R²{name}", fixed(value.r2, 3), explained),
        Entry(f"Inside{name}", percent(value.achieved[main]), inside),
    ]


def _of(value: float | None) -> str:
    return "not known" if value is None else number(value)


def _value_figures(value: PredictedValues) -> list[Figure]:
    if value.truth is None:
        ends = float(value.predicted.min()), float(value.predicted.max())
        room = 0.5 if ends[0] == ends[1] else 0.0
        part = histogram(value.predicted, ends[0] - room, ends[1] + room)
        svg = charts.histogram_chart(part, "predicted", f"Predictions of {value.name}")
        return [Figure(svg, f"Predictions of {value.name}.")]
    lead = "" if value.name == THE_VALUE else f"{value.name}. "
    return [
        Figure(
            charts.interval_chart(value, MAIN_COVERAGE),
            f"{lead}Prediction and truth, with the interval of "
            f"{percent(MAIN_COVERAGE, 0)} as a line; rings lie outside of theirs.",
        ),
        Figure(
            charts.coverage_chart(value),
            f"{lead}Coverage: on the dashed line, intervals hold what they promise.",
        ),
    ]
