"""Train LeNet end to end with three last layers, by one recipe.

Learning rate and last layer are chosen on training images that are held out, first by
short trainings, then by long ones. Every candidate is a task of its own, which keeps
its scores; what is chosen by them is among the settings of the trainings that follow.
"""

from functools import lru_cache

import numpy as np
import torch
from torch import nn

from benchmarks.goals.classes import calibration_error, mean_log_loss
from benchmarks.records import Result
from experiments import data
from experiments.lenet import config
from experiments.runs import Task
from rhokit.core import cross_entropy
from rhokit.nn import (
    ClassifierHead,
    FourierLayer,
    LandmarkLayer,
    LeNet,
    Recipe,
    TrainingRows,
    train,
)

ACCURACY, LOG_LOSS, CALIBRATION = "accuracy", "log-loss", "calibration error"
SHORT, LONG = "log-loss held out, short search", "log-loss held out, long search"
_CODES = 84  # what LeNet makes of an image
_CLASSES = 10
_BLOCK = 1000
# Seeds of their own, so that no two draws are the same numbers.
_HELD_OUT, _LANDMARKS, _SEARCH_SEED = 11, 12, 13


def tasks(size):
    """The short searches: one task for every set, model and candidate."""
    return [
        _candidate_task(each, SHORT)
        for name in config.SETS
        for model in config.MODELS
        for each in config.short_settings(size, name, model)
    ]


def then(size, lines):
    """The long searches, and the trainings with what they chose."""
    return _long_searches(size, lines) + _trainings(size, lines)


def _long_searches(size, lines):
    return [
        _candidate_task(each, LONG)
        for (name, model), best in chosen(lines, SHORT).items()
        for each in config.long_settings(size, name, model, best)
    ]


def _trainings(size, lines):
    """One seed after the other; what the paper has not comes last."""
    form, found = config.SIZES[size], chosen(lines, LONG)
    trainings = [
        Task(
            f"seed {seed}, {name}, {model}",
            final,
            {
                "name": name,
                "model": model,
                "choice": found[name, model],
                "final": form["final"][name],
                "seed": seed,
            },
        )
        for seed in range(form["seeds"])
        for name in config.SETS
        for model in config.MODELS
        if (name, model) in found
    ]
    return sorted(trainings, key=lambda each: each.settings["model"] in config.OURS)


def _candidate_task(settings, metric):
    words = config.described(settings["candidate"])
    kind = metric.rpartition(", ")[2]
    return Task(
        f"{kind}, {settings['name']}, {settings['model']}: {words}",
        score_candidate,
        settings | {"metric": metric},
    )


# ---- searches ------------------------------------------------------------------------


def score_candidate(name, model, candidate, images, metric):
    """A candidate's score on images held out of the training images.

    Parameters
    ----------
    name : str
        Of the set.
    model : str
    candidate : dict
    images : dict
        ``n_train``, ``n_held`` images and ``epochs`` of the search.
    metric : str
        What its log-loss is called.
    """
    rows, _ = training_rows(name)
    known, held = held_out(rows, images["n_train"], images["n_held"], _SEARCH_SEED)
    network, _ = fit(model, candidate, known, images["epochs"], _SEARCH_SEED)
    scores = score(network, held)
    about = {"set": name, "model": model, "choice": candidate}
    about |= {"accuracy": scores[ACCURACY]}
    yield Result(f"{name}: {model}", metric, scores[LOG_LOSS], details=about)


def chosen(lines, metric):
    """The candidates of the least such log-loss, by set and model."""
    best = {}
    for line in lines:
        if line["metric"] == metric:
            cell = line["details"]["set"], line["details"]["model"]
            if cell not in best or line["value"] < best[cell]["value"]:
                best[cell] = line
    return {cell: line["details"]["choice"] for cell, line in best.items()}


# ---- the final trainings -------------------------------------------------------------


def final(name, model, choice, final, seed):
    """Train with what the search chose, and look at the test images once.

    Parameters
    ----------
    name, model : str
    choice : dict
        A candidate.
    final : dict
        ``n_train``, ``n_held`` and ``n_test`` images and ``epochs``. The images held
        out show how training went and decide nothing.
    seed : int
        Of the first weights, the features, the images held out and their order.
    """
    rows, scaling = training_rows(name)
    known, held = held_out(rows, final["n_train"], final["n_held"], seed)
    network, curve = fit(model, choice, known, final["epochs"], seed, watched=held)
    test = test_rows(name, scaling, final["n_test"])
    probabilities, codes = predicted(network, test).exp().numpy(), test.target.numpy()
    values = {
        ACCURACY: float((probabilities.argmax(axis=1) == codes).mean()),
        LOG_LOSS: mean_log_loss(probabilities, codes),
        CALIBRATION: calibration_error(probabilities, codes),
    }
    about = {"set": name, "model": model, "choice": choice, "curve": curve}
    about |= {"weights": sum(each.numel() for each in network.parameters())}
    for metric, value in values.items():
        yield Result(f"{name}: {model}", metric, value, seed=seed, details=about)


def fit(model, choice, known, epochs, seed, watched=None):
    """A trained network, and how it did on watched rows before and after each epoch.

    Returns
    -------
    network : nn.Module
    curve : dict of lists
        ``accuracy`` and ``log-loss`` of the watched rows; ``training`` is the mean
        loss of an epoch's rows while it went on, one entry less.
    """
    network = make_network(model, choice, known, seed)
    recipe = Recipe(choice["learning_rate"], epochs, config.BATCH_SIZE, seed=seed)
    looks = []

    def look(epochs_done):
        if watched is not None:
            looks.append(score(network, watched))

    history = train(network, cross_entropy, known, recipe, on_epoch=look)
    curve = {kind: [each[kind] for each in looks] for kind in (ACCURACY, LOG_LOSS)}
    return network, curve | {"training": [float(loss) for loss in history["loss"]]}


def score(network, rows):
    """Accuracy and log-loss of rows."""
    logs = predicted(network, rows)
    hits = logs.argmax(dim=1) == rows.target
    return {
        ACCURACY: hits.double().mean().item(),
        LOG_LOSS: cross_entropy(logs, rows.target).item(),
    }


def predicted(network, rows):
    """Log-probabilities of the classes, shape (n, K)."""
    network.eval()
    with torch.no_grad():
        return torch.cat([network(part) for part in rows.inputs[0].split(_BLOCK)])


# ---- networks ------------------------------------------------------------------------


def make_network(model, choice, known, seed):
    """LeNet and a last layer that returns log-probabilities, not yet trained."""
    torch.manual_seed(seed)
    _, channels, size, _ = known.inputs[0].shape
    encoder = LeNet(size, channels)
    last = _LAST_LAYERS[model](choice, encoder, known, seed)
    # Takes 0.6 of the time on a processor; the same results up to rounding.
    return nn.Sequential(encoder, last).to(memory_format=torch.channels_last)


def _linear(choice, encoder, known, seed):
    return nn.Sequential(nn.Linear(_CODES, _CLASSES), nn.LogSoftmax(dim=1))


def _fourier(choice, encoder, known, seed):
    features = FourierLayer(
        _CODES,
        choice["features"],
        gamma=choice["gamma"],
        trainable=choice["trained"],
        random_state=seed,
    )
    return _head(features, choice, known, seed)


def _landmarks(choice, encoder, known, seed):
    """Landmarks are the codes of training images before training; they move along."""
    rng = np.random.default_rng([_LANDMARKS, seed])
    n = min(choice["features"], len(known))
    places = rng.choice(len(known), n, replace=False)
    codes = predicted(encoder, known.take(torch.from_numpy(np.sort(places))))
    features = LandmarkLayer(codes, gamma=choice["gamma"], trainable=choice["trained"])
    return _head(features, choice, known, seed)


def _head(features, choice, known, seed):
    priors = torch.bincount(known.target, minlength=_CLASSES) / len(known)
    rank = min(choice["rank"], features.n_components)
    return ClassifierHead(features, _CLASSES, rank, priors=priors, random_state=seed)


_LAST_LAYERS = {
    config.LENET: _linear,
    config.FOURIER: _fourier,
    config.LANDMARKS: _landmarks,
}


# ---- images --------------------------------------------------------------------------


@lru_cache(maxsize=1)  # a process does many tasks of one set
def training_rows(name):
    """Training images of mean 0 and variance 1 by channel, and their mean and scale.

    Returns
    -------
    rows : TrainingRows
        Images (n, channels, size, size) and labels (n,).
    scaling : tuple of arrays
        Mean and standard deviation (channels,), known from the training images alone.
    """
    arrays = _arrays(name)
    pixels = _pixels(name, arrays["X_train"])
    flat = pixels.reshape(-1, pixels.shape[-1]) / 255  # (n · size², channels)
    scaling = flat.mean(axis=0), flat.std(axis=0)
    return _rows(pixels, arrays["y_train"], scaling), scaling


def test_rows(name, scaling, n):
    """The first n test images, scaled as the training images."""
    arrays = _arrays(name)
    return _rows(_pixels(name, arrays["X_test"][:n]), arrays["y_test"][:n], scaling)


def held_out(rows, n_train, n_held, seed):
    """So many rows to train on and so many to look at, at random."""
    order = np.random.default_rng([_HELD_OUT, seed]).permutation(len(rows))
    order = torch.from_numpy(order)
    return rows.take(order[n_held : n_held + n_train]), rows.take(order[:n_held])


@lru_cache(maxsize=1)
def _arrays(name):
    return data.load(name)


def _pixels(name, values):
    """Images of bytes, channels last: (n, size, size, channels)."""
    size, channels = config.SETS[name]
    return values.reshape(-1, size, size, channels)


def _rows(pixels, labels, scaling):
    mean, scale = (each.astype(np.float32) for each in scaling)
    images = (pixels.astype(np.float32) / 255 - mean) / scale
    channels_first = torch.from_numpy(images).permute(0, 3, 1, 2)  # memory as it is
    return TrainingRows((channels_first,), torch.from_numpy(labels.astype(np.int64)))
