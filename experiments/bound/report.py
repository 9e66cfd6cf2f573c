"""Picture, tables and reading of the bound beside measured errors."""

from types import SimpleNamespace

import numpy as np

from benchmarks.figures.markdown import NOTHING, table
from benchmarks.figures.style import FAINT, Looks, label, logarithmic, panels
from benchmarks.records import Goal
from experiments.bound.config import (
    CORRECTED,
    DELTA,
    DEMANDED,
    GAMMAS,
    GOALS,
    LARGEST,
    NORMALISED,
    OUT_OF_REACH,
    PRINTED,
    PROMISED,
    REACHED,
    RECOMMENDED,
    RMSE,
    RULES,
    UNNORMALISED,
)
from experiments.density_text import known, mean, pick, sentences, values
from experiments.reports import Report, Verdict, measured

_CURVES = {
    f"{UNNORMALISED}: largest": (UNNORMALISED, LARGEST, False),
    f"{UNNORMALISED}: RMSE": (UNNORMALISED, RMSE, False),
    f"{NORMALISED}: RMSE": (NORMALISED, RMSE, True),
    CORRECTED: (CORRECTED, PROMISED, False),
    PRINTED: (PRINTED, PROMISED, False),
}
_ABOUT = f"""\
Errors are shares of the root mean square of the exact density, at rows left out of the
fit. The bound is over all of a compact set, here the box that holds all rows, and with
δ = {DELTA}; what is measured at some rows of it can only be smaller. The rule is
`n_components_for`; the errors with its sizes are those of draws that it has not seen.
[How many features](../theory.md) has the formulas.
"""


def report(lines, album):
    """The page: a picture, and two tables for each set."""
    results = measured(lines)
    if not results:
        return Report("Nothing has been measured.\n", _verdicts(results))
    parts = [_ABOUT, _reading(results)]
    there = [panel for panel in GAMMAS if pick(results, panel=panel)]
    words = "Measured errors over D, what the bound promises, and recommended sizes"
    parts.append(album.add("bound", _figure(results, there), words))
    for panel in there:
        own = pick(results, panel=panel)
        parts.append(f"## {panel}, γ = {GAMMAS[panel]:g}\n")
        parts += [_errors(own), _rule(own)]
    return Report("\n".join(filter(None, parts)), _verdicts(results))


def _reading(results):
    texts = []
    for panel in GAMMAS:
        own = pick(results, panel=panel, case=CORRECTED)
        sizes = known(pick(own, metric=DEMANDED), "D")
        if not sizes:
            continue
        demanded = np.median(values(own, metric=DEMANDED, D=max(sizes)))
        texts.append(
            f"{panel}: for the largest error of D = {max(sizes):,} features, the "
            f"bound demands {demanded:.1e} of them, {demanded / max(sizes):,.0f} times "
            "as many."
        )
    return sentences(*texts)


def _errors(own):
    """Errors over D, and what the bound says of them."""
    sizes = sorted(known(pick(own, metric=LARGEST), "D"))
    if not sizes:
        return ""
    wanted = [(name, *curve[:2]) for name, curve in _CURVES.items()]
    wanted += [(f"D demanded, {name}", name, DEMANDED) for name in (CORRECTED, PRINTED)]
    rows = [
        [name] + [_middle(values(own, case=case, metric=metric, D=d)) for d in sizes]
        for name, case, metric in wanted
    ]
    seeds = len(known(pick(own, metric=LARGEST), "seed"))
    heads = ["D", *(f"{size:,}" for size in sizes)]
    return f"Medians of {seeds} draws.\n\n" + table(heads, rows)


def _rule(own):
    """Sizes and what became of them."""
    asked = known([line for line in own if line["case"] in RULES.values()], "asked")
    rows = []
    for name in RULES.values():
        for error in asked:
            tried = pick(own, case=name, asked=error)
            if tried:
                rows.append([name, f"{error:g}", *_kept(tried, error)])
    heads = ["rule", "error asked for", "size", "error found", "kept", "out of reach"]
    return table(heads, rows) if rows else ""


def _kept(tried, error):
    sizes, reached = (values(tried, metric=m) for m in (RECOMMENDED, REACHED))
    beyond = pick(tried, metric=OUT_OF_REACH)
    limit = f" (up to {beyond[0]['value']:,.0f})" if beyond else ""
    return [
        f"{np.median(sizes):,.0f}" if len(sizes) else NOTHING,
        _middle(reached),
        f"{np.sum(reached <= error)} of {len(reached)}" if len(reached) else NOTHING,
        f"{len(beyond)}{limit}",
    ]


def _middle(array):
    return f"{np.median(array):.2g}" if len(array) else NOTHING


def _verdicts(results):
    """How often the bound and the rule keep their word."""
    shares = {CORRECTED: _share_below_the_bound(results)}
    for name in RULES.values():
        own = pick(results, case=name, metric=REACHED)
        kept = [line["value"] <= line["details"]["asked"] for line in own]
        shares[name] = mean(kept)
    return [
        Verdict(f"{name}: share of draws that keep to it", shares[name], Goal(at_least))
        for name, at_least in GOALS.items()
    ]


def _share_below_the_bound(results):
    promised = {_place(line): line["value"] for line in _promises(results)}
    drawn = pick(results, case=UNNORMALISED, metric=LARGEST)
    return mean(
        [
            line["value"] < promised[_place(line)]
            for line in drawn
            if _place(line) in promised
        ]
    )


def _promises(results):
    return pick(results, case=CORRECTED, metric=PROMISED)


def _place(line):
    details = line["details"]
    return details["panel"], details["D"], line["seed"]


# ---- picture -------------------------------------------------------------------------


def _figure(results, there):
    names = {name: ours for name, (_, _, ours) in _CURVES.items()}
    names |= dict.fromkeys(RULES.values(), True)
    looks = Looks(SimpleNamespace(name=n, ours=o) for n, o in names.items())
    figure, axes = panels(len(there), columns=2, height=3.4, names=names)
    for ax, panel in zip(axes, there, strict=True):
        own = pick(results, panel=panel)
        for name, (case, metric, _) in _CURVES.items():
            _curve(ax, pick(own, case=case, metric=metric), name, looks[name])
        for name in RULES.values():
            _points(ax, pick(own, case=name, metric=REACHED), name, looks[name])
        ax.axhline(1, color=FAINT, linewidth=0.8, linestyle=":")
        ax.set_xscale("log", base=2)
        label(ax, f"{panel}, γ = {GAMMAS[panel]:g}", "D", "error / RMS density")
        logarithmic(ax, "y")
    looks.legend(figure, axes)
    return figure


def _curve(ax, own, name, look):
    """The median over draws, with all but a twentieth of them about it."""
    sizes = sorted(known(own, "D"))
    if not sizes:
        return
    spread = [np.quantile(values(own, D=d), (0.025, 0.5, 0.975)) for d in sizes]
    low, middle, high = np.array(spread).T
    ax.plot(sizes, middle, label=name, **look.line())
    ax.fill_between(sizes, low, high, color=look.colour, alpha=0.2, linewidth=0)


def _points(ax, own, name, look):
    """A point for every error that was asked for, in the middle of the draws."""
    middles = [
        (np.median([line["details"]["D"] for line in asked]), np.median(values(asked)))
        for error in known(own, "asked")
        for asked in [pick(own, asked=error)]
    ]
    if middles:
        ax.plot(*np.array(middles).T, label=name, **look.dots())
