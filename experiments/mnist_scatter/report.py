"""Tables, scatter plots and reading of the MNIST log-densities."""

import numpy as np

from benchmarks.figures.markdown import bold, table
from benchmarks.figures.style import CYCLE, INK, label, legend_below, panels
from experiments.densities import (
    CONTESTANTS,
    EXACT,
    LANDMARKS,
    PAPER,
    PAPER_FULL,
    RFF,
    SGD,
)
from experiments.density_text import (
    cell,
    gamma_note,
    known,
    mean,
    pick,
    ratio,
    sentences,
    values,
)
from experiments.mnist_scatter.config import (
    BOTH,
    CORRELATION,
    ERROR,
    POINTS,
    RANDOM,
    TEST,
)
from experiments.mnist_scatter.run import parts
from experiments.reports import Report, measured

_ABOUT = """\
RFF-KDE may be negative, where there is no logarithm: less than 1/D of the kernel's
peak, which random features cannot tell from zero, counts as that. The values of DMKDE
stay as they are. The paper shows scatter plots of γ = 1, r = 150 and prints no error.
"""
_FORMS = {ERROR: ".3g", CORRELATION: ".4f"}
_SHORT = {PAPER: "paper's map", LANDMARKS: "landmarks"}
_COLOURS = {TEST: CYCLE[0], RANDOM: CYCLE[1]}


def report(lines, album):
    """The page: for each γ a reading, a table and the points."""
    results = measured(lines)
    gammas = sorted(known(results, "gamma"))
    texts = [_about(results), gamma_note(gammas)]
    for gamma in gammas:
        own = pick(results, gamma=gamma)
        texts += [f"## γ = {gamma:g}\n", _reading(own), _table(own)]
        shown = {
            line["case"]: line["details"]["logs"] for line in pick(own, metric=POINTS)
        }
        if {EXACT, PAPER, LANDMARKS} <= shown.keys():
            words = f"Log-densities against exact KDE, γ = {gamma:g}"
            name = f"mnist-scatter-gamma-{gamma:g}"
            texts.append(album.add(name, _figure(shown), words))
    return Report("\n".join(filter(None, texts)))


def _about(results):
    if not results:
        return "Nothing has been measured.\n"
    settings = results[0]["settings"]
    n = settings["queries"]
    return (
        f"{settings['rows']:,} training and {n:,} test images of MNIST, 40 principal "
        "components and ranges from the training rows, scaled to [0, 1]; "
        f"{n:,} random rows, uniform in the box; D = {settings['n_components']:,}, "
        f"r = {settings['rank']}; means and standard deviations over "
        f"{len(known(results, 'seed'))} seeds.\n\n" + _ABOUT
    )


def _reading(own):
    paper, full, ours = (_errors(own, name) for name in (PAPER, PAPER_FULL, LANDMARKS))
    if None in (*paper, *full, *ours):
        return ""
    lost = _at_floor(own, RFF)
    trained = _errors(own, SGD)[0]
    return sentences(
        f"At test rows the paper's map is {paper[0]:.2g} nats off (full rank "
        f"{full[0]:.2g}), landmarks {ours[0]:.2g}, {ratio(paper[0], ours[0]):.3g} "
        f"times less; at random rows {paper[1]:.2g} and {ours[1]:.2g} nats, "
        f"{ratio(paper[1], ours[1]):.3g} times less.",
        f"RFF-KDE cannot tell the density from zero at {100 * lost:.0f} % of the "
        "random rows.",
        trained is not None
        and f"Trained by gradient, landmarks are {trained:.1f} nats away from KDE at "
        "test rows: they seek the likelihood, not KDE.",
    )


def _errors(own, name):
    return [
        mean(values(own, case=name, metric=ERROR, where=where))
        for where in (TEST, RANDOM)
    ]


def _at_floor(own, name):
    found = pick(own, case=name, metric=ERROR, where=RANDOM)
    return np.mean([line["details"]["at_floor"] for line in found]) if found else 0.0


def _table(own):
    wanted = [
        (m, where) for m in (ERROR, CORRELATION) for where in (TEST, RANDOM, BOTH)
    ]
    heads = ["model", *(f"{metric.split()[0]}, {where}" for metric, where in wanted)]
    rows = [
        [bold(each.name, each.ours)]
        + [
            cell(values(own, case=each.name, metric=m, where=w), _FORMS[m])
            for m, w in wanted
        ]
        for each in CONTESTANTS
        if pick(own, case=each.name)
    ]
    return table(heads, rows)


# ---- picture -------------------------------------------------------------------------


def _figure(shown):
    """Test rows, random rows, both: the paper's map above, landmarks below."""
    figure, axes = panels(6, columns=3, height=2.7, names=("", ""))
    exact = np.array(shown[EXACT])
    places = parts(len(exact) // 2)
    names = [(name, where) for name in (PAPER, LANDMARKS) for where in places]
    handles = {}
    for ax, (name, where) in zip(axes, names, strict=True):
        logs = np.array(shown[name])
        for kind in _COLOURS if where == BOTH else [where]:
            which = places[kind]
            (handles[kind],) = ax.plot(
                exact[which], logs[which], ".", color=_COLOURS[kind], markersize=2
            )
        _diagonal(ax, exact[places[where]])
        label(ax, f"{_SHORT[name]}: {where}", "log-density, exact KDE", "log-density")
        ax.locator_params(nbins=5)
    legend_below(figure, list(handles.values()), list(handles))
    return figure


def _diagonal(ax, exact):
    ends = [exact.min(), exact.max()]
    ax.plot(ends, ends, color=INK, linewidth=0.8, zorder=1)
