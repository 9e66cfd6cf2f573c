"""Digits and their classes: which one is it, and when is it none of those known?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from rhokit import DMKDClassifier
from rhokit.demo.densities import bandwidth_of
from rhokit.demo.shared import (
    BLUE,
    FAINT,
    INK,
    MAP_NOTES,
    NOTE,
    RED,
    SEED,
    TITLE,
    Split,
    columns,
    draw_digit,
    duration,
    entry,
    hold_out_a_quarter,
    label,
    map_entry,
    percent,
    save,
    show,
    timed,
)
from rhokit.plans import Candidate
from rhokit.progress import progress

_KNOWN = 8  # the digits below it, when a model is shown others
_REJECT = 0.05
_DOUBTS_IN_A_ROW = 4

_SCALINGS = {
    "std": "std: every column is divided by its own spread",
    "common": "common: all columns are divided by one width",
    "within": "within: columns are whitened by the covariance inside the digits",
    "learned": "learned: columns weigh what they tell of rows left out",
}


@dataclass(frozen=True, eq=False)
class Predicted:
    """Labels that a classifier predicted; its seconds to fit, and for 1,000 rows."""

    model: Any
    answers: NDArray[Any]
    fit_time: float
    answer_time: float


@dataclass(frozen=True, eq=False)
class Strangers:
    """A model that may say "unknown", with log-densities of known and new digits."""

    model: Any
    known_logs: NDArray[np.float64]
    new_logs: NDArray[np.float64]


def tell(output: Path) -> None:
    """Print the chapter, and draw its picture into the folder ``output``."""
    data = load_digits()
    split = hold_out_a_quarter(data.data, data.target)
    print("3. Handwritten digits again: which one is it?")
    show(f"{len(split.train):,} are fitted, {len(split.held_out):,} held out", "")
    with progress("Classifying the digits"):
        warm_up(split)
        results = {name: run(model, split) for name, model in classifiers().items()}
    ours = next(iter(results.values()))
    show(*describe(ours.model), "", *candidates_table(ours.model.candidates_), "")
    show(*table(split, results), "")
    with progress("Meeting digits never seen"):
        strangers = meet_strangers(split, data.data[data.target >= _KNOWN])
    show(*tell_strangers(split, strangers))
    save(draw, output / "classified-digits.png", split, ours, strangers)


# ---- the work --------------------------------------------------------------------


def classifiers() -> dict[str, Any]:
    """Classifiers at their defaults, by name; ours is the first."""
    return {
        "DMKDClassifier": DMKDClassifier(random_state=SEED),
        "5 nearest neighbours": KNeighborsClassifier(),
        "Gaussian naive Bayes": GaussianNB(),
    }


def warm_up(split: Split) -> None:
    """Let numba compile for rows like these, so that no clock counts it."""
    rows, labels = split.train[:64], split.train_target[:64]
    DMKDClassifier(gamma=1.0, n_components=16).fit(rows, labels).predict(rows)


def run(model: Any, split: Split) -> Predicted:
    """Let a classifier learn, and predict the images that were held out."""
    _, fit_time = timed(model.fit, split.train, split.train_target)
    answers, answer_time = timed(model.predict, split.held_out, repeats=3)
    return Predicted(model, answers, fit_time, answer_time / len(split.held_out) * 1000)


def meet_strangers(split: Split, new: NDArray[Any]) -> Strangers:
    """Fit the known digits alone; score held-out ones and those never seen."""
    known = split.train_target < _KNOWN
    model = DMKDClassifier(reject=_REJECT, random_state=SEED)
    model.fit(split.train[known], split.train_target[known])
    held_out = split.held_out[split.target < _KNOWN]
    return Strangers(model, model.score_samples(held_out), model.score_samples(new))


def chosen(model: Any) -> Candidate:
    """The candidate that became the model."""
    tried: list[Candidate] = model.candidates_
    return next(c for c in reversed(tried) if c.gamma == model.gamma_)


def doubtful(split: Split, result: Predicted, count: int) -> NDArray[np.intp]:
    """Places of wrong predictions, then of those the model is least sure of."""
    sure = result.model.predict_proba(split.held_out).max(axis=1)
    order = np.lexsort((sure, result.answers == split.target))
    return np.asarray(order[:count])


# ---- the words -------------------------------------------------------------------


def describe(model: Any) -> list[str]:
    """What the model chose."""
    scale, width = str(chosen(model).scale), bandwidth_of(model)
    return [
        *entry("scaling", _SCALINGS.get(scale, scale)),
        *map_entry(model),
        *entry(
            "gamma",
            f"{model.gamma_:.3g}: the kernel is {width:.2g} wide, in scaled columns",
        ),
    ]


def candidates_table(candidates: Sequence[Candidate]) -> list[str]:
    """The best candidate of every scaling and map."""
    kinds: dict[tuple[str, str], list[Candidate]] = {}
    for each in candidates:
        kinds.setdefault((str(each.scale), each.feature_map), []).append(each)
    rows = [("scaling, map", "gammas tried", "best gamma", "rows left out", "score")]
    for (scale, feature_map), tried in kinds.items():
        best = max(tried, key=lambda each: (each.n_probes, each.score))
        short = MAP_NOTES.get(feature_map, "exact kernel:").split(":")[0]
        rows.append(
            (
                f"{scale}, {short}",
                f"{len({each.gamma for each in tried})}",
                f"{best.gamma:.3g}",
                f"{best.n_probes:,}",
                f"{best.score:.3f}",
            )
        )
    return [
        f"Chosen from {len(candidates)} candidates, each scored by rows left out in "
        "turn: the share",
        "predicted rightly, less a little where the right label is improbable.",
        "",
        *columns(rows, (22, 14, 13, 15, 9)),
    ]


def table(split: Split, results: dict[str, Predicted]) -> list[str]:
    """How many held-out images every classifier got wrong, and its times."""
    count = len(split.target)
    rows = [
        ("", f"wrong of {count:,}", "right", "time", "to predict"),
        ("", "held out", "", "to fit", "1,000 rows"),
    ]
    for name, result in results.items():
        wrong = int((result.answers != split.target).sum())
        times = duration(result.fit_time), duration(result.answer_time)
        rows.append((name, f"{wrong}", percent(1 - wrong / count), *times))
    return [
        *columns(rows, (22, 14, 10, 11, 16)),
        "",
        "DMKDClassifier's time to fit includes the choice of scaling, map and gamma;",
        "the others are taken as they come.",
    ]


def tell_strangers(split: Split, strangers: Strangers) -> list[str]:
    """How often the model says "unknown", where it should not and where it should."""
    threshold = strangers.model.threshold_
    reject = percent(_REJECT, 0)
    last, count = _KNOWN - 1, int((split.train_target < _KNOWN).sum())
    groups = {
        f"0 to {last}, held out": strangers.known_logs,
        f"{_KNOWN} and 9, never seen": strangers.new_logs,
    }
    rows = [("", "images", 'answered "unknown"')]
    rows += [
        (name, f"{len(logs):,}", percent((logs < threshold).mean()))
        for name, logs in groups.items()
    ]
    return [
        f"A second model learns the digits 0 to {last} alone, {count:,} images, with "
        f"reject={_REJECT}:",
        f'"unknown" is its answer where the density is lower than for {reject} of its',
        "own images, each left out of the model in turn.",
        "",
        *columns(rows, (22, 8, 22)),
    ]


# ---- the picture -----------------------------------------------------------------


def draw(figure: Any, split: Split, result: Predicted, strangers: Strangers) -> None:
    """The doubtful digits with their probabilities, and densities of strangers."""
    figure.set_size_inches(11, 6.4)
    left, right = figure.subfigures(1, 2, width_ratios=[1.15, 1])
    places = doubtful(split, result, 2 * _DOUBTS_IN_A_ROW)
    wrong = int((result.answers != split.target)[places].sum())
    title = f"Held-out digits: {wrong} predicted wrongly, then the least sure"
    left.suptitle(title, x=0.008, ha="left", **TITLE)
    grid = left.subplots(4, _DOUBTS_IN_A_ROW, height_ratios=[1, 0.5, 1, 0.5])
    images, bars = grid[::2].ravel(), grid[1::2].ravel()
    probabilities = result.model.predict_proba(split.held_out[places])
    for i, place in enumerate(places):
        truth, answer = split.target[place], result.answers[place]
        draw_digit(images[i], split.held_out[place])
        _caption(images[i], truth, answer)
        _draw_bars(bars[i], result.model.classes_, probabilities[i], truth)
    left.supxlabel("bars: the probability of each digit; blue: the right one", **NOTE)
    _draw_strangers(right.subplots(), strangers)


def _caption(axes: Any, truth: Any, answer: Any) -> None:
    words = f"{truth}" if truth == answer else f"{truth}, predicted {answer}"
    colour = FAINT if truth == answer else RED
    axes.set_title(words, fontsize=9, color=colour, pad=4)


def _draw_bars(
    axes: Any, digits: NDArray[Any], probabilities: NDArray[np.float64], truth: Any
) -> None:
    names = [str(digit) for digit in digits]
    axes.bar(names, probabilities, color=[BLUE if d == truth else RED for d in digits])
    axes.set(ylim=(0, 1), yticks=[])
    axes.tick_params(axis="x", length=0, pad=2, labelsize=8, labelcolor=FAINT)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#cccccc")


def _draw_strangers(axes: Any, strangers: Strangers) -> None:
    groups = {
        f"0 to {_KNOWN - 1}, held out": (strangers.known_logs, BLUE),
        f"{_KNOWN} and 9, never seen": (strangers.new_logs, RED),
    }
    both = np.concatenate([logs for logs, _ in groups.values()])
    bins = np.linspace(both.min(), both.max(), 40)
    for name, (logs, colour) in groups.items():
        weights = np.full(len(logs), 1 / len(logs))
        axes.hist(logs, bins, weights=weights, color=colour, alpha=0.65, label=name)
    axes.axvline(strangers.model.threshold_, color=INK, linewidth=1)
    axes.annotate(
        'answered "unknown" ',
        (strangers.model.threshold_, 1.0),
        xycoords=("data", "axes fraction"),
        ha="right",
        va="top",
        **NOTE,
    )
    title = f"A model of 0 to {_KNOWN - 1} alone: how likely it finds an image"
    label(axes, title, "log-density", "share of the images")
    axes.yaxis.set_major_formatter(lambda part, _: percent(part, 0))
    below_note = {"loc": "upper left", "bbox_to_anchor": (0, 0.95)}
    axes.legend(fontsize=9, labelcolor=FAINT, frameon=False, **below_note)
