"""Table, images and reading of the spirals."""

import math

import numpy as np

from benchmarks.figures.markdown import bold, table
from benchmarks.figures.style import INK, panels
from experiments.densities import (
    AUTO,
    CONTESTANTS,
    EXACT,
    PAPER,
    PAPER_FULL,
    PAPER_SGD,
    SGD,
)
from experiments.density_text import (
    cell,
    gamma_note,
    known,
    maybe,
    mean,
    pick,
    sentences,
    values,
)
from experiments.reports import Report, Verdict, measured
from experiments.spirals.config import (
    AGAINST_EXACT,
    AS_EXACT,
    IMAGE,
    LIKELIHOOD,
    RELATIVE,
)


def report(lines, album):
    """The page, and a goal for each γ."""
    results = measured(lines)
    gammas = sorted(known(results, "gamma"))
    parts = [_about(results), gamma_note(gammas)]
    for gamma in gammas:
        own = pick(results, gamma=gamma)
        parts += [f"## γ = {gamma:g}\n", _reading(own), _table(own)]
        images = pick(own, metric=IMAGE)
        if images:
            words = f"Densities of the spirals at γ = {gamma:g}"
            parts.append(album.add(f"spirals-gamma-{gamma:g}", _figure(images), words))
    verdicts = [_verdict(pick(results, gamma=g), g) for g in gammas or [256.0, 512.0]]
    return Report("\n".join(filter(None, parts)), verdicts)


def _about(results):
    if not results:
        return "Nothing has been measured.\n"
    settings = results[0]["settings"]
    return (
        f"{settings['rows']:,} rows of three spirals in the unit square "
        "(`rhokit.datasets.spirals`: the paper's generator was not published), errors "
        f"at {settings['queries']:,} rows of the same spirals; D = "
        f"{settings['n_components']:,}, r = {settings['rank']}; means and standard "
        f"deviations over {len(known(results, 'seed'))} seeds. The paper shows "
        "pictures and says that the two densities are very close; it prints no "
        "error.\n"
    )


def _reading(own):
    exact, auto, paper, full = (
        mean(values(own, case=name, metric=metric))
        for name, metric in (
            (EXACT, LIKELIHOOD),
            (AUTO, RELATIVE),
            (PAPER, RELATIVE),
            (PAPER_FULL, RELATIVE),
        )
    )
    if None in (exact, auto, paper, full):
        return ""
    trained = mean(values(own, case=SGD, metric=LIKELIHOOD))
    mass = mean(values(own, case=PAPER_SGD, metric=IMAGE))
    return sentences(
        f"The paper's map is {100 * paper:.2g} % off exact KDE at its rank and "
        f"{100 * full:.2g} % at full rank; what rhokit chooses itself is off by "
        f"{auto:.1g} of the density.",
        trained is not None
        and "Models trained by gradient seek the likelihood and not KDE: with a grid, "
        f"where the density integrates to one, test rows {_change(trained - exact)} "
        "against KDE.",
        mass is not None
        and f"With the paper's map the trained density has a mass of {mass:.2f} in the "
        "unit square, so its likelihood cannot be compared with the others'.",
    )


def _change(nats):
    return f"{'gain' if nats > 0 else 'lose'} {abs(nats):.2f} nats"


def _table(own):
    heads = ["model", AGAINST_EXACT, RELATIVE, LIKELIHOOD, "mass in the unit square"]
    kinds = {EXACT: False} | {each.name: each.ours for each in CONTESTANTS}
    rows = [
        [bold(name, ours)]
        + [cell(values(own, case=name, metric=metric)) for metric in heads[1:4]]
        + [maybe(mean(values(own, case=name, metric=IMAGE)), "{:.3f}")]
        for name, ours in kinds.items()
    ]
    return table(heads, rows)


def _verdict(own, gamma):
    value = mean(values(own, case=AUTO, metric=RELATIVE))
    return Verdict(f"spirals, γ = {gamma:g}, auto: {RELATIVE}", value, AS_EXACT)


# ---- picture -------------------------------------------------------------------------


def _figure(images):
    """All images in the same colours: those of exact KDE's range."""
    figure, axes = panels(len(images), columns=3, height=2.9)
    highest = max(images[0]["details"]["pixels"])
    for ax, line in zip(axes, images, strict=True):
        pixels = np.array(line["details"]["pixels"])
        side = math.isqrt(len(pixels))
        shown = ax.imshow(
            pixels.reshape(side, side),
            origin="lower",
            extent=(0, 1, 0, 1),
            cmap="Blues",
            vmin=0,
            vmax=highest,
            interpolation="nearest",
        )
        ax.set_title(line["case"], loc="left", fontsize=8.5, color=INK)
        ax.set_xticks([0, 0.5, 1])
        ax.set_yticks([0, 0.5, 1])
        ax.grid(visible=False)
    figure.colorbar(shown, ax=axes, shrink=0.6, extend="max", label="density")
    return figure
