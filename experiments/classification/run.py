"""Search settings on training rows, then learn with several seeds and be judged."""

import time
from dataclasses import replace
from functools import lru_cache

import numpy as np

from benchmarks.goals.classes import mean_log_loss
from benchmarks.records import Result
from experiments.classification.config import (
    EPOCHS,
    FEWER_SEEDS,
    FEWER_SEEDS_OF_SETS,
    LAST_FAMILIES,
    MOST_SVM_ROWS,
    SIZES,
    SPLIT_SEED,
    Size,
)
from experiments.classification.families import BOOSTING, FAMILIES, SVM_FAMILIES
from experiments.classification.search import search
from experiments.data import load_split, unit_box
from experiments.runs import Task

CHOSEN = "accuracy by cross-validation"
ACCURACY = "accuracy"


def tasks(size):
    """One search for every set and family that has something to choose."""
    own = SIZES[size]
    return [
        Task(
            f"{dataset}: {name}, search",
            choose,
            {"dataset": dataset, "family": name, "size": _as_dict(own)},
        )
        for dataset in own.sets
        for name, family in FAMILIES.items()
        if family.space
    ]


def then(size, lines):
    """One fit for every set, family and seed: the first seeds of all come first.

    But for what takes longest, which comes when all others are done.
    """
    own = SIZES[size]
    found = {
        (line["details"]["dataset"], line["details"]["family"]): line["details"]["best"]
        for line in lines
        if line["metric"] == CHOSEN
    }
    fits = [
        Task(
            f"{dataset}: {name}, seed {seed}",
            judge,
            {
                "dataset": dataset,
                "family": name,
                "settings": found.get((dataset, family.like or name), {}).get(
                    "settings", {}
                ),
                "seed": seed,
                "n_components": own.n_components,
                "most_rows": own.most_rows,
                "epochs": _epochs(dataset, name, own),
            },
        )
        for seed in range(own.seeds)
        for dataset in own.sets
        for name, family in FAMILIES.items()
        if seed < _seeds(dataset, name, own)
        and (
            not (family.space or family.like) or (dataset, family.like or name) in found
        )
    ]
    return sorted(fits, key=_takes_long)


def _takes_long(fit):
    return (
        fit.settings["dataset"] in FEWER_SEEDS_OF_SETS,
        fit.settings["family"] in LAST_FAMILIES,
    )


def _seeds(dataset, family, size):
    fewest = FEWER_SEEDS_OF_SETS.get(dataset, size.seeds)
    return min(size.seeds, fewest, FEWER_SEEDS.get(family, size.seeds))


def _epochs(dataset, family, size):
    if size.epochs != "auto" or family == BOOSTING:
        return size.epochs
    return EPOCHS.get(dataset, "auto")


def _as_dict(size):
    return {name: value for name, value in vars(size).items() if name != "sets"}


# ---- work ----------------------------------------------------------------------------


def choose(dataset, family, size):
    """Search the settings of a family; only the training part is given to it."""
    size = Size(sets=(), **size)
    split = prepared(dataset, family, size.most_rows)
    best, tried = search(family, split.train_rows, split.train_target, size)
    yield Result(
        f"{dataset}: {family}",
        CHOSEN,
        best["accuracy"],
        details={"dataset": dataset, "family": family, "best": best, "tried": tried},
    )


def judge(dataset, family, settings, seed, n_components, most_rows, epochs):
    """Learn from all training rows; accuracy and log-loss on the test rows."""
    split = prepared(dataset, family, most_rows)
    settings = settings | {"epochs": epochs}
    model = FAMILIES[family].make(settings, n_components, seed)
    start = time.perf_counter()
    model.fit(split.train_rows, split.train_target)
    fitted = time.perf_counter()
    found = model.predict(split.test_rows)
    done = time.perf_counter()
    details = {
        "dataset": dataset,
        "family": family,
        "rows": len(split.train_rows),
        "fit_seconds": fitted - start,
        "predict_seconds": done - fitted,
        "map": _map_of(model),
    }
    right = float((found == split.test_target).mean())
    yield Result(f"{dataset}: {family}", ACCURACY, right, seed=seed, details=details)
    if hasattr(model, "predict_proba") and _knows(model, split.test_target):
        codes = np.searchsorted(model.classes_, split.test_target)
        loss = mean_log_loss(model.predict_proba(split.test_rows), codes)
        yield Result(
            f"{dataset}: {family}", "log-loss", loss, seed=seed, details=details
        )


def _map_of(model):
    """Name of the feature map that a model of rhokit has; None of others."""
    feature_map = getattr(getattr(model, "estimator_", model), "feature_map_", None)
    return None if feature_map is None else type(feature_map).__name__


def _knows(model, labels):
    """Whether a model has seen all of the labels, so that it has a log-loss."""
    return bool(np.isin(labels, model.classes_).all())


@lru_cache(maxsize=1)
def scaled_split(dataset):
    """The split of a set in the unit box, kept for the next task of a process."""
    return unit_box(load_split(dataset, SPLIT_SEED))


def prepared(dataset, family, most_rows):
    """The split of a set in the unit box, no larger than asked for."""
    split = scaled_split(dataset)
    if most_rows is not None:
        split = replace(
            split.fewer(most_rows),
            test_rows=split.test_rows[:most_rows],
            test_target=split.test_target[:most_rows],
        )
    if family in SVM_FAMILIES and len(split.train_rows) > MOST_SVM_ROWS:
        split = split.fewer(MOST_SVM_ROWS)
    return split
