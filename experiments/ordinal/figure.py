"""Every model's error over that of the Gaussian process that the paper quotes."""

from dataclasses import dataclass

import numpy as np

from benchmarks.figures.style import INK, Looks, label, panels
from experiments.ordinal import config

# Errors far above are drawn at the edge, so that the others can be told apart.
_HIGHEST = 1.6
_SHOWN = (
    config.TRAINED,
    config.FOURIER,
    "QMR, default",
    "QMOrdinalClassifier",
    *config.OTHERS,
)
_PAPERS = {"QMR-SGD": "paper: QMR-SGD", "SVM": "paper: SVM"}


@dataclass(frozen=True)
class _Entry:
    name: str
    ours: bool


def relative_errors(errors):
    """Dots by set and model; the paper's Gaussian process is the line at one.

    Parameters
    ----------
    errors : dict of (str, str) to array
        By set and model.
    """
    names = [*_SHOWN, *_PAPERS.values()]
    looks = Looks([_Entry(name, name in config.OURS) for name in names])
    figure, (ax,) = panels(1, height=4.2, names=names)
    figure.set_figwidth(9.0)
    sets = [name for name in config.SETS if any(pair[0] == name for pair in errors)]
    for i, model in enumerate(names):
        shift = 0.7 * (i / (len(names) - 1) - 0.5)  # side by side, the sets apart
        places, values = _dots(errors, sets, model)
        clipped = np.minimum(values, _HIGHEST)
        ax.plot(np.array(places) + shift, clipped, label=model, **looks[model].dots())
    ax.axhline(1, color=INK, linewidth=1)
    ax.set_ylim(None, 1.03 * _HIGHEST)
    ax.set_xticks(range(len(sets)), [config.SETS[name] for name in sets])
    for edge in range(len(sets) - 1):
        ax.axvline(edge + 0.5, color="0.85", linewidth=0.8)
    ax.grid(visible=False, axis="x")
    edge = f"(above {_HIGHEST:g}: at the edge)"
    title = f"Error over that of the paper's Gaussian process {edge}"
    label(ax, title, "", "relative mean absolute error")
    looks.legend(figure, [ax])
    return figure


def _dots(errors, sets, model):
    """Places and relative errors of one model, ours or the paper's."""
    places, values = [], []
    paper = {shown: name for name, shown in _PAPERS.items()}.get(model)
    for place, name in enumerate(sets):
        error = (
            config.PAPER[paper][name]
            if paper
            else np.mean(errors[name, model])
            if (name, model) in errors
            else None
        )
        if error is not None:
            places.append(place)
            values.append(error / config.PAPER["GP"][name])
    return places, values
