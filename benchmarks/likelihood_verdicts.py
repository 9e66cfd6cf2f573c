"""What the lines of the likelihood section say: means, differences, verdicts.

Two contestants are compared on the splits that both have. The standard error of their
difference is the larger of two: that of blocks of test rows, and that of splits. Splits
share rows, so that the second alone would be too small, and the first does not know how
much a fit varies.
"""

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.contestants.likelihoods import (
    BAYES,
    CONTESTANTS,
    FLOW,
    KERNELS,
    MIXTURE,
    OURS,
)
from benchmarks.runs import SECONDS
from benchmarks.tables import number, text_table

METRIC = "held-out log-density, nats per row"
NAMES = tuple(contestant.name for contestant in CONTESTANTS)
_ENOUGH = 2.0  # standard errors


@dataclass(frozen=True)
class Outcome:
    """One contestant on one split: minus infinity where some row has no density.

    ``seconds`` to choose and fit are the clock's; with one thread they are the
    processor's, which other work on the machine does not lengthen.
    """

    mean: float
    blocks: tuple
    seconds: float
    answer_seconds: float
    threads: int
    reason: str | None


@dataclass(frozen=True)
class Difference:
    """Nats per row by which one is above the other, and the standard error of it."""

    mean: float
    error: float
    splits: int

    @property
    def not_below(self):
        """Whether it is at or above the other, within two standard errors."""
        return self.mean >= -_ENOUGH * self.error

    @property
    def above(self):
        """Whether its mean is higher."""
        return self.mean > 0


@dataclass(frozen=True)
class Verdict:
    """rhokit against the others on one set; None where the other has no line."""

    kernels: Difference | None
    mixture: Difference | None
    mixture_name: str | None
    flow: Difference | None
    time_ratio: float | None

    @property
    def judged(self):
        """Whether both exact KDE and a mixture are there."""
        return self.kernels is not None and self.mixture is not None

    @property
    def not_below(self):
        """At or above exact KDE and the best mixture, within two standard errors."""
        return self.kernels.not_below and self.mixture.not_below

    @property
    def above(self):
        """Above both."""
        return self.kernels.above and self.mixture.above


def outcomes(lines):
    """Outcomes by variant, set, contestant and split; the last line counts."""
    found = {}
    for line in lines:
        if line["metric"] == METRIC:
            facts = line["details"]
            of_set = found.setdefault(facts["variant"], {}).setdefault(facts["set"], {})
            splits = of_set.setdefault(facts["contestant"], {})
            splits[facts["split"]] = _outcome(line, facts)
    return found


def _outcome(line, facts):
    value = line["value"]
    asked = facts.get("answer_seconds") or {}
    return Outcome(
        -math.inf if value is None else value,
        tuple(facts.get("blocks") or ()),
        _fit_seconds(line["threads"], facts),
        next(iter(asked.values()), math.nan),
        line["threads"],
        facts.get("reason"),
    )


def _fit_seconds(threads, facts):
    alone = facts.get("fit_processor_seconds") if threads == 1 else None
    return alone or facts.get("fit_seconds") or math.nan


def mean_and_error(by_split):
    """Mean over the splits, and its standard error over them (None of a single one)."""
    means = np.array([outcome.mean for outcome in by_split.values()])
    if len(means) < 2 or not np.isfinite(means).all():
        return float(means.min() if np.isinf(means).any() else means.mean()), None
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means)))


def difference(ours, others):
    """How far one is above another on the splits of both; None without any."""
    common = sorted(set(ours or ()) & set(others or ()))
    if not common:
        return None
    pairs = [(ours[split], others[split]) for split in common]
    if not all(math.isfinite(a.mean) for a, _ in pairs):
        return Difference(-math.inf, 0.0, len(common))
    if not all(math.isfinite(b.mean) for _, b in pairs):
        return Difference(math.inf, 0.0, len(common))
    means = np.array([a.mean - b.mean for a, b in pairs])
    squares = [_block_error(a.blocks, b.blocks) ** 2 for a, b in pairs]
    error = math.sqrt(np.mean(squares) / len(common))
    if len(common) > 1:
        error = max(error, float(means.std(ddof=1)) / math.sqrt(len(common)))
    return Difference(float(means.mean()), error, len(common))


def _block_error(ours, others):
    """Standard error of the mean difference over blocks of the same rows."""
    differences = np.subtract(ours, others)
    return float(differences.std(ddof=1)) / math.sqrt(len(differences))


def best_mixture(of_set):
    """The mixture whose mean is higher on the splits of both; None without any."""
    chosen, bayes = of_set.get(MIXTURE), of_set.get(BAYES)
    if chosen is None or bayes is None:
        return MIXTURE if chosen else BAYES if bayes else None
    apart = difference(bayes, chosen)
    return BAYES if apart is not None and apart.above else MIXTURE


def verdict(of_set):
    """rhokit against the others on one set; None where it was not measured."""
    ours = of_set.get(OURS)
    if not ours:
        return None
    name = best_mixture({k: _on(v, ours) for k, v in of_set.items() if _on(v, ours)})
    return Verdict(
        difference(ours, of_set.get(KERNELS)),
        difference(ours, of_set.get(name)),
        name,
        difference(ours, of_set.get(FLOW)),
        _time_ratio(ours, of_set.get(MIXTURE) or {}),
    )


def _on(by_split, others):
    return {split: by_split[split] for split in by_split if split in others}


def _time_ratio(ours, others):
    """Median of fit over the mixture's choice and fit, with as many threads."""
    ratios = [
        ours[split].seconds / others[split].seconds
        for split in set(ours) & set(others)
        if ours[split].threads == others[split].threads
    ]
    known = [ratio for ratio in ratios if math.isfinite(ratio)]
    return float(np.median(known)) if known else None


def counts(verdicts):
    """Sentences on how many sets rhokit is where it was promised to be."""
    known = [each for each in verdicts if each is not None]
    judged = [each for each in known if each.judged]
    flows = [each for each in known if each.flow is not None]
    ratios = [each.time_ratio for each in known if each.time_ratio is not None]
    if not known:
        return [f"{OURS} was not measured yet."]
    sentences = [
        f"At or above exact KDE and the best mixture, within two standard errors, on "
        f"{sum(each.not_below for each in judged)} of {len(judged)} sets; above both "
        f"on {sum(each.above for each in judged)}.",
        f"Above the flow on {sum(each.flow.above for each in flows)} of {len(flows)}.",
    ]
    if ratios:
        sentences.append(
            f"Fit over the mixture's time to choose and fit: median "
            f"{number(float(np.median(ratios)))}, at most {number(max(ratios))}; no "
            f"slower on {sum(r <= 1 for r in ratios)} of {len(ratios)}."
        )
    return sentences


def cell(by_split):
    """Mean ± standard error over splits as text, with the number of splits if few."""
    if not by_split:
        return ""
    mean, error = mean_and_error(by_split)
    text = f"{mean:.2f}" if math.isfinite(mean) else "-inf"
    return text if error is None else f"{text} ± {error:.2f}"


def report(lines):
    """Tables and counts as text."""
    lines = [line for line in lines if line["metric"] != SECONDS]
    parts = []
    for variant, sets in outcomes(lines).items():
        rows = [_row(name, of_set) for name, of_set in sets.items()]
        parts.append(f"{METRIC}, rows {variant}: mean ± standard error over splits")
        parts.append(text_table(rows, {"set"}))
        parts.append("\n".join(counts([verdict(s) for s in sets.values()])))
    away = sorted({_absence(line) for line in lines if line["details"].get("reason")})
    return "\n\n".join([*parts, "\n".join(away)] if away else parts)


def _row(name, of_set):
    found = verdict(of_set)
    splits = max(len(by_split) for by_split in of_set.values())
    row = {"set": name, "splits": str(splits)}
    row |= {each: cell(of_set.get(each)) for each in NAMES}
    for key in ("kernels", "mixture", "flow"):
        apart = None if found is None else getattr(found, key)
        row[f"- {key}"] = "" if apart is None else f"{apart.mean:+.2f}"
    ratio = None if found is None else found.time_ratio
    return row | {"time / mixture": "" if ratio is None else number(ratio)}


def _absence(line):
    return f"{line['case']}: {line['details']['reason']}"
