"""What is trained on which images, what the paper printed, and what is asked for."""

from experiments.registry import FULL, QUICK, TINY

TITLE = "LeNet with a softmax layer and with density matrices"

LENET, FOURIER, LANDMARKS = "LeNet", "LeNet DMKDC", "LeNet DMKDC, landmarks"
MODELS = LENET, FOURIER, LANDMARKS
OURS = (LANDMARKS,)
# Height and width of the images, and their channels.
SETS = {"mnist": (28, 1), "cifar10": (32, 3)}
TITLES = {"mnist": "MNIST", "cifar10": "CIFAR-10, 20,000 images"}
# Mean and standard deviation of the accuracy, as printed.
PAPER = {
    ("mnist", LENET): (0.989, 0.001),
    ("mnist", FOURIER): (0.989, 0.001),
    ("cifar10", LENET): (0.616, 0.001),
    ("cifar10", FOURIER): (0.628, 0.001),
}
LEAST_ACCURACY = {("mnist", FOURIER): 0.989}

BATCH_SIZE = 128


def _head(learning_rate, gamma, *, rank, features=256, trained=True):
    return {
        "learning_rate": learning_rate,
        "gamma": gamma,
        "features": features,
        "rank": rank,
        "trained": trained,
    }


# A short search goes through all of them: the same learning rates for every model, then
# other heads. Longer trainings want lower rates: a long search then compares the one
# that was found with shares of it. γ is in the units of LeNet's 84 outputs, whose
# median squared distance is about 0.1 before training and grows with it.
RATES = 2e-3, 5e-3, 1e-2, 1e-3
SHARES = 1.0, 0.4
CANDIDATES = {
    LENET: [{"learning_rate": rate} for rate in RATES],
    FOURIER: [
        *(_head(rate, 0.5, rank=64) for rate in RATES),
        *(_head(rate, 2.0, rank=64) for rate in (2e-3, 5e-3)),
        _head(2e-3, 0.5, rank=16),
        _head(2e-3, 0.5, rank=64, trained=False),
        _head(2e-3, 2**-12, rank=256),  # the paper's γ at full rank
    ],
    LANDMARKS: [
        *(_head(rate, 16.0, rank=16) for rate in RATES),
        _head(2e-3, 4.0, rank=16),
        _head(2e-3, 16.0, rank=64),
    ],
}


def described(candidate):
    """A candidate of a search in words."""
    said = [f"learning rate {candidate['learning_rate']:g}"]
    if "gamma" in candidate:
        said += [
            f"γ {candidate['gamma']:g}",
            f"D {candidate['features']}",
            f"rank {candidate['rank']}",
            "features trained" if candidate["trained"] else "features frozen",
        ]
    return ", ".join(said)


# Images and epochs of both searches and of the final trainings; `n_test` None: all.
SIZES = {
    FULL: {
        "seeds": 3,
        "candidates": None,
        "search": {
            "mnist": {"n_train": 20_000, "n_held": 10_000, "epochs": 3},
            "cifar10": {"n_train": 10_000, "n_held": 5_000, "epochs": 5},
        },
        "long": {
            "mnist": {"n_train": 55_000, "n_held": 5_000, "epochs": 3},
            "cifar10": {"n_train": 17_000, "n_held": 3_000, "epochs": 6},
        },
        "final": {
            "mnist": {"n_train": 57_000, "n_held": 3_000, "epochs": 4, "n_test": None},
            "cifar10": {
                "n_train": 19_000,
                "n_held": 1_000,
                "epochs": 8,
                "n_test": None,
            },
        },
    },
}


def _small(seeds, candidates, search, final):
    """A size that treats both sets alike, with the first candidates alone."""
    return {
        "seeds": seeds,
        "candidates": candidates,
        "search": dict.fromkeys(SETS, search),
        "long": dict.fromkeys(SETS, search),
        "final": dict.fromkeys(SETS, final),
    }


SIZES[QUICK] = _small(
    1,
    2,
    {"n_train": 1_000, "n_held": 1_000, "epochs": 1},
    {"n_train": 4_000, "n_held": 1_000, "epochs": 3, "n_test": 2_000},
)
SIZES[TINY] = _small(
    2,
    2,
    {"n_train": 100, "n_held": 100, "epochs": 1},
    {"n_train": 300, "n_held": 100, "epochs": 1, "n_test": 200},
)


def short_settings(size, name, model):
    """All that the short search of a set and a model depends on, by candidate."""
    candidates = CANDIDATES[model][: SIZES[size]["candidates"]]
    return _settings(size, name, model, "search", candidates)


def long_settings(size, name, model, best):
    """The same of the long search, around the best candidate of the short one."""
    rates = [share * best["learning_rate"] for share in SHARES]
    candidates = [best | {"learning_rate": rate} for rate in rates]
    return _settings(size, name, model, "long", candidates)


def _settings(size, name, model, kind, candidates):
    images = SIZES[size][kind][name]
    return [
        {"name": name, "model": model, "candidate": each, "images": images}
        for each in candidates
    ]
