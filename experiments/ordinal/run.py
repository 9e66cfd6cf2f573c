"""The tasks: every model on every set, a block of partitions at a time."""

from itertools import product

import torch
from threadpoolctl import threadpool_limits

from benchmarks.real_data import load_partitions
from benchmarks.records import Result
from experiments.data import DataNotAvailable
from experiments.ordinal import config, gradient, rivals
from experiments.runs import Task

METRIC = "mean absolute error"


def tasks(size):
    """Everything of a size; what takes longest comes first."""
    settings = config.SIZES[size]
    count, width = settings["partitions"], settings["block"]
    blocks = [[i, min(i + width, count)] for i in range(0, count, width)]
    alone = [model for model in settings["models"] if model in rivals.MODELS]
    longest_first = sorted(settings["sets"], key=_LONGEST.index)
    made = [
        Task(
            f"{name}, {config.TRAINED}, {first + 1} to {last}",
            by_gradient,
            {"name": name, "block": [first, last], "search": settings["search"]},
        )
        for name, (first, last) in product(longest_first, blocks)
    ]
    made += [
        Task(
            f"{name}, {model}",
            by_itself,
            {"name": name, "model": model, "block": [0, count]},
        )
        for name, model in product(longest_first, alone)
    ]
    return made


_LONGEST = [
    "stocks",
    "abalone",
    "boston_housing",
    "auto_mpg",
    "machine_cpu",
    "wisconsin",
    "triazines",
    "pyrimidines",
    "diabetes",
]


def by_itself(name, model, block):
    """One model, fitted to each partition in turn."""
    fit = rivals.MODELS[model]
    with threadpool_limits(1):  # small products
        for place, split in _partitions(name, block):
            codes = split.train_target.astype(int)
            fitted = fit(split.train_rows, codes, place)
            found = fitted.predict(split.test_rows).astype(float)
            error = rivals.absolute_error(found, split.test_target)
            yield _result(name, model, place, error)


def by_gradient(name, block, search):
    """QMR-SGD in all its forms; all partitions of the block are trained at once."""
    torch.set_num_threads(1)
    places, splits = zip(*_partitions(name, block), strict=True)
    with threadpool_limits(1):
        chosen = gradient.choose(splits, search, seed=block[0])
        errors = gradient.final_errors(splits, chosen, search, seed=block[0])
    for model, values in errors.items():
        for i, place in enumerate(places):
            choice = chosen[model]
            details = {
                "inner_error": float(choice.inner_errors[i]),
                "decision": int(choice.decision[i]),
                "shares": choice.shares(i),
            }
            yield _result(name, model, place, float(values[i]), details)


def _partitions(name, block):
    try:
        splits = load_partitions(name, "y_ordinal")
    except FileNotFoundError as error:
        raise DataNotAvailable(f"{config.SETS[name]}: {error}") from error
    return list(enumerate(splits))[slice(*block)]


def _result(name, model, place, error, details=None):
    about = {"set": name, "model": model, "partition": place}
    return Result(
        f"{config.SETS[name]}: {model}",
        METRIC,
        error,
        threads=1,
        seed=place,
        details=about | (details or {}),
    )
