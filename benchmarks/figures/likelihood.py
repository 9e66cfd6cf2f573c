"""Held-out likelihood: means by set, who is above whom, and how far."""

import math
from types import SimpleNamespace

import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.contestants.likelihoods import CONTESTANTS, FLOW, MIXTURE, OURS
from benchmarks.figures.markdown import NOTHING, bold, folded, phrase, seconds, table
from benchmarks.figures.readings import grouped, of_metric, results
from benchmarks.figures.style import FAINT, Looks, label, panels
from benchmarks.likelihood_verdicts import (
    METRIC,
    NAMES,
    best_mixture,
    counts,
    difference,
    mean_and_error,
    outcomes,
    verdict,
)

_METHOD = """\
Mean log-density of rows that were not fitted, in nats per row; higher is better. A
random four fifths of a set are fitted, the others are asked for, on up to five splits.
Columns are moved and scaled by mean and standard deviation of the training rows, and
those that are constant there are dropped: log-densities are of these columns, so that
sets compare. Everybody chooses everything from the training rows, and that counts as
part of the fit: exact KDE its width by leave-one-out (up to 5,000 rows, each against
all others), `GaussianMixture` its 1 to 300 parts by a fifth of the rows, after which it
is fitted to all of them; `BayesianGaussianMixture` has 30 parts and scikit-learn's
defaults, and is asked as the mixture that it found, since its own `score_samples` is a
bound that integrates to less than one; the flow is zuko's neural spline flow (5
transforms, 128 × 128) with early stopping on a tenth of the rows and a time limit
(below). `DMKDE()` has no settings. Seconds to fit with one thread are the processor's,
which other work on the machine does not lengthen.

Many columns are whole numbers or have few values. There a density may be as high as its
regularisation lets it be, by a narrow spike on every value: likelihoods of such columns
reward spikes, for everyone alike. *Dequantised* sets have uniform noise of one step,
the smallest gap between two values, added to these columns: spikes narrower than a step
gain nothing there. Where values are unevenly spaced a step is small, and so is the
change.

*Within two standard errors* is of the paired difference on the same rows: the larger of
the standard error over blocks of test rows and that over splits. The best mixture is
whichever of the two has the higher mean on these same test rows, which favours it.
"""
_ASIDE = 0.13  # of a line's height: dots of one set stand one below the other


def chapter(lines, album):
    """For each variant: counts, table, picture, times."""
    lines = of_metric(results(lines), METRIC)
    found = outcomes(lines)
    if not found:
        return "No set has been measured.\n"
    parts = [_METHOD]
    for variant, sets in found.items():
        parts += _variant(variant, sets, _sizes(lines), album)
    return "\n".join([*parts, _limits(lines), _absences(lines)])


def _variant(variant, sets, sizes, album):
    verdicts = {name: verdict(of_set) for name, of_set in sets.items()}
    yield f"### Rows {variant}\n"
    yield " ".join(counts(verdicts.values())) + "\n"
    yield _means(sets, sizes)
    if any(_gaps(of_set) for of_set in sets.values()):
        file = "likelihood" if variant == "as they are" else f"likelihood-{variant}"
        words = f"Differences to the best mixture, rows {variant}"
        yield (
            "Each dot is a contestant's difference to the best mixture, with two "
            "standard errors; the axis is logarithmic beyond one nat. An arrow at the "
            "edge is a density of zero at some row.\n"
        )
        yield album.add(file, _figure(sets), words)
    if any(each is not None for each in verdicts.values()):
        yield _verdicts(verdicts)
    yield folded("Seconds to choose and fit, and to predict", _times(sets))


def _sizes(lines):
    facts = (line["details"] for line in lines)
    return {
        each["set"]: f"{each['n']:,} × {each['d']}" for each in facts if "n" in each
    }


def _means(sets, sizes):
    rows = [
        [name, sizes.get(name, NOTHING), str(_n_splits(of_set)), *_cells(of_set)]
        for name, of_set in sets.items()
    ]
    return table(["set", "rows fitted", "splits", *_heads()], rows)


def _heads():
    return [bold(name, name == OURS) for name in NAMES]


def _n_splits(of_set):
    return max(len(by_split) for by_split in of_set.values())


def _cells(of_set):
    """Mean ± standard error over splits, the best in bold."""
    means = {name: mean_and_error(by_split) for name, by_split in of_set.items()}
    top = max(mean for mean, _ in means.values())
    for name in NAMES:
        mean, error = means.get(name, (None, None))
        if mean is None:
            yield NOTHING
            continue
        text = f"{mean:.2f}" if math.isfinite(mean) else "-∞"
        text += "" if error is None else f" ± {error:.2f}"
        if len(of_set[name]) < _n_splits(of_set):
            text += f" ({len(of_set[name])})"
        yield bold(text, mean == top and math.isfinite(mean))


# ---- the picture ---------------------------------------------------------------------


def _gaps(of_set):
    """Differences of all contestants to the best mixture, which has zero."""
    best = best_mixture(of_set)
    others = of_set.get(best)
    gaps = {
        n: difference(of_set[n], others) for n in NAMES if n in of_set and n != best
    }
    known = {name: gap for name, gap in gaps.items() if gap is not None}
    if not any(math.isfinite(o.mean) for o in (others or {}).values()):
        return {}
    return {best: None} | known if known else {}


def _figure(sets):
    """Sets down, nats across; the best mixture is the line at zero."""
    rows = {name: gaps for name, of_set in sets.items() if (gaps := _gaps(of_set))}
    looks = Looks(SimpleNamespace(name=c.name, ours=c.ours) for c in CONTESTANTS)
    shown = [name for name in NAMES if any(name in gaps for gaps in rows.values())]
    figure, (ax,) = panels(1, height=0.9 + 0.3 * len(rows), names=shown)
    figure.set_figwidth(8)
    low, high = _ends(rows)
    for i, name in enumerate(shown):
        ax.plot([], [], label=name, **looks[name].dots())
        aside = _ASIDE * (i - (len(shown) - 1) / 2)
        for y, gaps in enumerate(rows.values()):
            if name in gaps:
                _dot(ax, y + aside, gaps[name], looks[name], low, high)
    _axes(ax, list(rows), low, high)
    looks.legend(figure, [ax])
    return figure


def _axes(ax, names, low, high):
    """Linear between -1 and 1, logarithmic beyond: gaps differ a thousandfold."""
    ax.axvline(0, color=FAINT, linewidth=1.0, zorder=1)
    ax.set_xscale("symlog", linthresh=1.0, linscale=0.8)
    steps = [0.5, *(k * 10**p for p in range(4) for k in (1, 3))]
    ticks = [0, *steps, *(-step for step in steps)]
    ax.set_xticks([tick for tick in ticks if low <= tick <= high])
    ax.xaxis.set_major_formatter(FuncFormatter(_signed))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlim(low, high)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    label(ax, "", "nats per row above the best mixture", "")


def _signed(value, _):
    return f"{value:+,g}" if value else "0"


def _ends(rows):
    """Where the axis begins and ends: room for every dot that is somewhere."""
    gaps = [gap for of_set in rows.values() for gap in of_set.values() if gap]
    ends = [g.mean + s * 2 * g.error for g in gaps for s in (-1, 1)]
    known = [end for end in ends if math.isfinite(end)]
    return 1.3 * min([-1.0, *known]), 1.3 * max([1.0, *known])


def _dot(ax, y, gap, look, low, high):
    """A dot with two standard errors; an arrow at the edge for what is infinite."""
    mean, error = (0.0, 0.0) if gap is None else (gap.mean, gap.error)
    marks = look.dots()
    if math.isfinite(mean):
        ends = [mean - 2 * error, mean + 2 * error]
        ax.plot(ends, [y, y], color=look.colour, linewidth=1.0, zorder=2)
    else:
        marks["marker"] = "<" if mean < 0 else ">"
        mean = low if mean < 0 else high
    ax.plot(mean, y, clip_on=False, **marks)


# ---- verdicts, times, notes ----------------------------------------------------------


def _verdicts(verdicts):
    rows = [
        [
            name,
            _apart(each.kernels),
            _apart(each.mixture),
            each.mixture_name or NOTHING,
            _apart(each.flow),
            NOTHING if each.time_ratio is None else f"{each.time_ratio:.2g}",
            _judgement(each),
        ]
        for name, each in verdicts.items()
        if each is not None
    ]
    heads = ["set", "- exact KDE", "- best mixture", "which", "- flow"]
    heads += ["time / mixture's", "at or above"]
    return f"{bold(OURS)} minus others:\n\n" + table(heads, rows, "lrrlrrl")


def _apart(gap):
    if gap is None:
        return NOTHING
    if not math.isfinite(gap.mean):
        return "+∞" if gap.mean > 0 else bold("-∞")
    return bold(f"{gap.mean:+.2f} ± {gap.error:.2f}", not gap.not_below)


def _judgement(each):
    if not each.judged:
        return NOTHING
    return ("above both" if each.above else "yes") if each.not_below else bold("NO")


def _times(sets):
    """Medians over the splits."""
    rows = []
    for name, of_set in sets.items():
        cells = []
        for contestant in NAMES:
            done = [o for o in of_set.get(contestant, {}).values() if o.reason is None]
            cells.append(
                " + ".join(
                    seconds(float(np.median([getattr(o, key) for o in done])))
                    for key in ("seconds", "answer_seconds")
                )
                if done
                else NOTHING
            )
        rows.append([name, *cells])
    return table(["set", *_heads()], rows)


def _limits(lines):
    """The time that flows had, and with how many threads all was measured."""
    facts = [line["details"] for line in lines]
    limits = {each["limit_seconds"] for each in facts if each.get("limit_seconds")}
    threads = sorted({line["threads"] for line in lines})
    text = f"Threads: {' and '.join(map(str, threads))}."
    if limits:
        allowed = " or ".join(f"{limit:g}" for limit in sorted(limits))
        text += f" {FLOW.capitalize()}: at most {allowed} s of training."
    parts = [each["parts"] for each in facts if each.get("parts")]
    if parts:
        most = max(parts)
        share = sum(each == most for each in parts)
        text += f" {MIXTURE} chose {most} parts in {share} of {len(parts)} fits."
    return text + "\n"


def _absences(lines):
    away = [line for line in lines if line["details"].get("reason")]
    reasons = grouped(away, lambda line: phrase(line["details"]["reason"]))
    return "".join(
        f"- {'; '.join(grouped(group, lambda line: line['case']))}: {reason}\n"
        for reason, group in reasons.items()
    )
