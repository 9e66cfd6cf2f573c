"""Table, picture and reading of the 1-D experiment."""

import numpy as np

from benchmarks.figures.markdown import bold, table
from benchmarks.figures.style import CYCLE, INK, PALE, label, legend_below, panels
from experiments.densities import (
    AUTO,
    CONTESTANTS,
    EXACT,
    PAPER,
    PAPER_FULL,
    PAPER_SGD,
    RFF,
)
from experiments.density_1d.config import (
    AGAINST_EXACT,
    AGAINST_TRUTH,
    AS_EXACT,
    PUBLISHED,
    RANGE,
)
from experiments.density_text import (
    cell,
    gamma_note,
    known,
    maybe,
    mean,
    pick,
    ratio,
    sentences,
    values,
)
from experiments.reports import Report, Verdict, measured
from rhokit.datasets import bimodal_pdf

_DRAWN = {
    EXACT: (INK, "-", 1.0),
    PAPER: (CYCLE[1], "-", 1.2),
    AUTO: (CYCLE[0], "--", 1.8),
}


def report(lines, album):
    """The page, and a goal for each γ."""
    results = measured(lines)
    gammas = known(results, "gamma")
    parts = [_about(results), gamma_note(gammas)]
    for gamma in gammas:
        own = pick(results, gamma=gamma)
        parts += [f"## γ = {gamma:g}\n", _reading(own), _table(own)]
        if pick(own, case=EXACT, step=_step(own)):
            words = (
                f"Estimates at γ = {gamma:g}, and what is between them and the truth"
            )
            name = f"density-1d-gamma-{gamma:g}"
            parts.append(album.add(name, _figure(own), words))
    verdicts = [_verdict(pick(results, gamma=g), g) for g in gammas or [16.0, 32.0]]
    return Report("\n".join(filter(None, parts)), verdicts)


def _about(results):
    if not results:
        return "Nothing has been measured.\n"
    settings = results[0]["settings"]
    return (
        f"{settings['rows']:,} rows of 0.3 N(0, 1) + 0.7 N(5, 1), RMSE at "
        f"{settings['points']:,} equally spaced points of [-5, 10]; D = "
        f"{settings['n_components']:,}, r = {settings['rank']}; means and standard "
        f"deviations over {len(known(results, 'seed'))} seeds of rows and features. "
        "Beside them what the published code gives, at one seed.\n"
    )


def _reading(own):
    exact = _mean(own, EXACT)
    auto, paper, full, rff, trained = (
        ratio(_mean(own, name), exact)
        for name in (AUTO, PAPER, PAPER_FULL, RFF, PAPER_SGD)
    )
    if None in (auto, paper, full, rff):
        return ""
    return sentences(
        f"The paper's map is {paper:.2f} times as far from the true density as exact "
        f"KDE is at its rank, {full:.2f} times at full rank; what rhokit chooses "
        f"itself is {auto:.4f} times as far.",
        f"The linear variant with the same features is {rff:.1f} times as far.",
        trained
        and trained > 2 * paper
        and f"Trained by gradient, the paper's map is {trained:.0f} times as far: its "
        f"trace is held and not its integral, and part of what training gains is mass"
        f"{_mass(own, PAPER_SGD)}.",
    )


def _mass(own, name):
    """In words, of the first seed, between the ends of the range."""
    curves = [line["details"].get("curve") for line in pick(own, case=name)]
    masses = [np.mean(curve) * (RANGE[1] - RANGE[0]) for curve in curves if curve]
    return f" (seed 0: {masses[0]:.2f} in place of 1)" if masses else ""


def _table(own):
    heads = [
        "model",
        AGAINST_TRUTH,
        "times exact KDE's",
        AGAINST_EXACT,
        "published code",
    ]
    kinds = {EXACT: False} | {each.name: each.ours for each in CONTESTANTS}
    exact = _mean(own, EXACT)
    rows = [
        [
            bold(name, ours),
            cell(values(own, case=name, metric=AGAINST_TRUTH)),
            maybe(ratio(_mean(own, name), exact), "{:.3f}"),
            cell(values(own, case=name, metric=AGAINST_EXACT)),
            maybe(PUBLISHED.get(name), "{:g}"),
        ]
        for name, ours in kinds.items()
    ]
    return table(heads, rows)


def _verdict(own, gamma):
    value = ratio(_mean(own, AUTO), _mean(own, EXACT))
    what = f"1-D, γ = {gamma:g}, auto: error against the truth over exact KDE's"
    return Verdict(what, value, AS_EXACT)


def _mean(own, name):
    return mean(values(own, case=name, metric=AGAINST_TRUTH))


# ---- picture -------------------------------------------------------------------------


def _step(own):
    found = known(own, "step")
    return found[0] if found else 0


def _figure(own):
    figure, (left, right) = panels(2, height=3.0, names=("", "", "", ""))
    settings = own[0]["settings"]
    at = np.linspace(*RANGE, settings["points"])[:: _step(own)]
    truth = bimodal_pdf(at)
    area = left.fill_between(at, truth, color=PALE, label="true density")
    right.axhline(0, color=PALE, linewidth=3)
    handles = {"true density": area}
    for name, (colour, dash, width) in _DRAWN.items():
        found = [line for line in pick(own, case=name) if "curve" in line["details"]]
        if found:
            curve = np.array(found[0]["details"]["curve"])
            look = {"color": colour, "linestyle": dash, "linewidth": width}
            (handles[name],) = left.plot(at, curve, **look)
            right.plot(at, curve - truth, **look)
    label(left, "density", "x", "")
    label(right, "estimate less true density", "x", "")
    legend_below(figure, list(handles.values()), list(handles))
    return figure
