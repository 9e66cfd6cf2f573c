"""The paper's LeNet columns with ours beside them, and how training went."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from benchmarks.figures.markdown import bold, folded, table
from benchmarks.figures.style import CYCLE, label, legend_below, panels
from benchmarks.records import Goal
from experiments.lenet.config import (
    BATCH_SIZE,
    FOURIER,
    LANDMARKS,
    LEAST_ACCURACY,
    LENET,
    MODELS,
    PAPER,
    SETS,
    TITLES,
    described,
)
from experiments.lenet.run import ACCURACY, CALIBRATION, LOG_LOSS, LONG, SHORT
from experiments.reports import Report, Verdict, mean_and_spread, measured, over_seeds

_METRICS = ACCURACY, LOG_LOSS, CALIBRATION
_SEARCHES = {SHORT: "short", LONG: "long"}
_COLOURS = dict(zip(MODELS, (CYCLE[1], CYCLE[0], CYCLE[2]), strict=True))
_INTRODUCTION = f"""\
LeNet as the paper has it (20 and 50 filters of 5 × 5 with average pooling, 84 dense
units), trained end to end with three last layers: a linear softmax layer, density
matrices over random Fourier features (the paper's LeNet DMKDC), and density matrices
over landmarks, which begin at the codes of some training images. All have the same
recipe: Adam, one cycle of the learning rate, batches of {BATCH_SIZE}, as many epochs,
the last of them kept, no augmentation, images scaled to mean 0 and variance 1 by
the training images. Mean over seeds ± one standard deviation, on the test images;
*calibration* is the expected calibration error in 15 bins.
"""
_DEVIATIONS = """\
## Where this differs from the paper

- CIFAR-10 has the first 20,000 of its 50,000 training images, so the paper's figures
  are not of the same task there. MNIST is whole.
- The paper trained LeNet DMKDC on MNIST at full rank with γ = 2⁻¹², a learning rate of
  10⁻⁴ and 20 epochs of batches of 32. Here searches choose learning rate, γ, rank and
  whether the features are trained, by the log-loss of training images that are held
  out: a short search among the candidates below, trained for a few epochs on a part of
  the images, and then a long one, nearly as long as the final trainings, between the
  learning rate that was found and a lower one. All models have the same rates to choose
  from, and what is chosen serves all seeds. The searches see no test image; the final
  networks see them once.
- The paper's text says that the Fourier features are frozen: the search has frozen ones
  among its candidates.
- A twentieth of the training images is held out of the final trainings, to draw the
  curves. It decides nothing.
"""


def report(lines, album):
    """Tables, reading, curves, goals."""
    lines = measured(lines)
    finals = [line for line in lines if line["metric"] in _METRICS]
    found = over_seeds(finals, _cell)
    pieces = [
        _INTRODUCTION,
        *(_table(name, finals, found) for name in SETS),
        _reading(finals, found),
        _picture(finals, album),
        _DEVIATIONS,
        _choices(lines),
    ]
    return Report("\n".join(filter(None, pieces)), _verdicts(finals, found))


def _cell(line):
    about = line["details"]
    return about["set"], about["model"], line["metric"]


# ---- tables --------------------------------------------------------------------------


def _table(name, finals, found):
    heads = [
        "model",
        "paper: accuracy",
        "accuracy",
        LOG_LOSS,
        "calibration",
        "weights",
        "seeds",
    ]
    rows = [_row(name, model, finals, found) for model in MODELS]
    return f"## {TITLES[name]}\n\n{table(heads, rows)}"


def _row(name, model, finals, found):
    printed = PAPER.get((name, model))
    own = [found.get((name, model, metric)) for metric in _METRICS]
    weights = next(
        (
            line["details"]["weights"]
            for line in finals
            if _cell(line)[:2] == (name, model)
        ),
        None,
    )
    return [
        bold(model, model != LENET),
        "–" if printed is None else "{:.3f} ± {:.3f}".format(*printed),
        *(mean_and_spread(values, 4) for values in own),
        "–" if weights is None else f"{weights:,}",
        "0" if own[0] is None else str(len(own[0])),
    ]


def _choices(lines):
    """Every candidate of the searches with its scores, the chosen ones in bold."""
    groups = {}
    for line in lines:
        if line["metric"] in _SEARCHES:
            about = line["details"]
            place = about["set"], about["model"], line["metric"]
            groups.setdefault(place, []).append(line)
    rows = []
    for (name, model, metric), group in groups.items():
        least = min(line["value"] for line in group)
        rows += [
            [
                TITLES[name],
                model,
                _SEARCHES[metric],
                bold(described(line["details"]["choice"]), line["value"] == least),
                f"{line['value']:.4f}",
                f"{line['details']['accuracy']:.4f}",
            ]
            for line in group
        ]
    heads = ["set", "model", "search", "candidate", "log-loss", "accuracy"]
    words = "What the searches saw on images held out, and chose"
    return folded(words, table(heads, rows, "llllrr")) if rows else ""


# ---- reading -------------------------------------------------------------------------


def _differences(finals, name, model, metric, other=LENET):
    """Of one model less another, over the seeds that both have."""
    values = {
        (line["details"]["model"], line["seed"]): line["value"]
        for line in finals
        if line["details"]["set"] == name and line["metric"] == metric
    }
    seeds = [seed for each, seed in values if each == model and (other, seed) in values]
    return np.array([values[model, seed] - values[other, seed] for seed in seeds])


def _standard_error(differences):
    """Of their mean; None of a single one."""
    n = len(differences)
    return None if n < 2 else float(np.std(differences, ddof=1) / np.sqrt(n))


def _reading(finals, found):
    """What the tables say, in sentences made from the lines."""
    sentences = [
        _compared(finals, name, model)
        for name in SETS
        for model in (FOURIER, LANDMARKS)
        if len(_differences(finals, name, model, ACCURACY))
    ]
    sentences += [
        _beside_paper(found, *place) for place in PAPER if (*place, ACCURACY) in found
    ]
    if not sentences:
        return ""
    return "## Reading\n\n" + "\n".join(f"- {each}" for each in sentences) + "\n"


def _compared(finals, name, model):
    accuracy, loss, calibration = (
        _differences(finals, name, model, metric) for metric in _METRICS
    )
    sentence = (
        f"{TITLES[name]}: {model} is {_mean(accuracy)} in accuracy against {LENET} "
        f"({_certainty(accuracy)})"
    )
    return (
        f"{sentence}; log-loss {_mean(loss)}, calibration error {_mean(calibration)} "
        "(less is better)."
    )


def _certainty(differences):
    error = _standard_error(differences)
    if error is None:
        return "one seed, so its error is not known"
    beyond = "more" if abs(differences.mean()) > 2 * error else "no more"
    return f"standard error {error:.4f}; {beyond} than two of them from zero"


def _mean(differences):
    """With its sign; a dash where there is nothing."""
    if not len(differences):
        return "–"
    return f"{differences.mean():+.4f}".replace("-", "−")


def _beside_paper(found, name, model):
    mean, (printed, _) = found[name, model, ACCURACY].mean(), PAPER[name, model]
    side = "not below" if mean >= printed else "below"
    return (
        f"{TITLES[name]}: {model} has {mean:.4f}, {side} the {printed:.3f} "
        "that the paper printed."
    )


# ---- picture -------------------------------------------------------------------------


def _picture(finals, album):
    """Accuracy and log-loss of the training images held out, epoch by epoch."""
    accuracies = [line for line in finals if line["metric"] == ACCURACY]
    names = [name for name in SETS if any(_cell(x)[0] == name for x in accuracies)]
    if not names:
        return ""
    figure, axes = panels(2 * len(names), columns=2, names=MODELS)
    for (name, kind), ax in zip(_places(names), axes, strict=True):
        for model in MODELS:
            own = [x for x in accuracies if _cell(x)[:2] == (name, model)]
            if own:
                _curve(ax, [x["details"]["curve"][kind] for x in own], model)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        label(ax, f"{TITLES[name]}: {kind}, held out", "epochs", "")
    handles, drawn = axes[0].get_legend_handles_labels()
    legend_below(figure, handles, drawn)
    words = "Accuracy and log-loss of training images held out, after each epoch"
    return f"## Training\n\n{words}; bands hold all seeds.\n\n" + (
        album.add("lenet-curves", figure, words)
    )


_KINDS = ACCURACY, LOG_LOSS


def _places(names):
    return [(name, kind) for name in names for kind in _KINDS]


def _curve(ax, curves, model):
    """Mean and range over the seeds, from the first epoch on."""
    length = min(map(len, curves))
    values = np.array([curve[1:length] for curve in curves])  # (seeds, epochs)
    epochs = np.arange(1, length)
    colour = _COLOURS[model]
    ax.fill_between(
        epochs, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, lw=0
    )
    ax.plot(epochs, values.mean(axis=0), color=colour, marker="o", ms=3, label=model)


# ---- goals ---------------------------------------------------------------------------


def _verdicts(finals, found):
    verdicts = []
    for (name, model), least in LEAST_ACCURACY.items():
        values = found.get((name, model, ACCURACY))
        mean = None if values is None else float(values.mean())
        what = f"{TITLES[name]}, {model}: accuracy"
        verdicts.append(Verdict(what, mean, Goal(at_least=least)))
    for name in SETS:
        differences = _differences(finals, name, FOURIER, ACCURACY)
        mean = float(differences.mean()) if len(differences) else None
        what = f"{TITLES[name]}, {FOURIER} less {LENET}: accuracy"
        error = _standard_error(differences)
        if error is not None:
            what += f" (standard error {error:.4f})"
        verdicts.append(Verdict(what, mean, Goal(at_least=0)))
    return verdicts
