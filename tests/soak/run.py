"""Worlds of random operations, one after the other."""

import itertools
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.catalogue import ESTIMATORS, ONE_PASS
from tests.soak import kills  # noqa: F401 (registers its operations)
from tests.soak.operations import OPERATIONS
from tests.soak.trained import TrainedWorld
from tests.soak.world import World

STEPS = 30
TRAINED_STEPS = 6
MOST_FINDINGS = 10


@dataclass
class Report:
    """What was done, and what was found."""

    done: Counter = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    n_worlds: int = 0


def soak(
    seed,
    *,
    seconds=None,
    worlds=None,
    steps=STEPS,
    names=None,
    operations=None,
    first=0,
    most_findings=MOST_FINDINGS,
):
    """Run worlds until there are so many, or for so many seconds.

    Parameters
    ----------
    seed : int
    seconds : float, optional
    worlds : int, optional
    steps : int
        Operations in each of them.
    names : list of str, optional
        Of cases of the catalogue.
    operations : list of str, optional
        Of operations that take part.
    first : int
        Number of the first world.
    most_findings : int
        Where to stop.
    """
    report, start = Report(), time.monotonic()
    for index in itertools.count(first):
        if worlds is not None and index >= first + worlds:
            break
        if seconds is not None and time.monotonic() - start > seconds:
            break
        if len(report.findings) >= most_findings:
            break
        run_world(seed, index, report, steps, names, operations)
    return report


def case_of(seed, index, names=None):
    """The case of a world: all come up before one comes again."""
    names = sorted(ESTIMATORS if names is None else names)
    turn, place = divmod(index, len(names))
    order = np.random.default_rng([seed, turn, 7]).permutation(len(names))
    return names[order[place]]


def run_world(seed, index, report, n_steps, names=None, operations=None):
    """Some operations on one model, each followed by a comparison."""
    rng = np.random.default_rng([seed, index])
    name, steps = case_of(seed, index, names), []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        # Small models miss much, which is not the question.
        warnings.filterwarnings("ignore", "the map misses")
        try:
            if name in ONE_PASS:
                world = World.of(ONE_PASS[name], folder, rng)
                use(world, rng, n_steps, steps, operations)
            else:
                use_trained(TrainedWorld(ESTIMATORS[name], Path(folder)), rng, steps)
        except Exception as error:
            report.findings.append(finding(seed, index, name, steps, error))
    report.done.update(steps)
    report.n_worlds += 1


def use(world, rng, n_steps, steps, operations):
    """So many operations, which are written down."""
    for _ in range(n_steps):
        steps.append(chosen_operation(world, rng, operations))
        OPERATIONS[steps[-1]][0](world, rng)
        world.check(rng)


def use_trained(world, rng, steps):
    for _ in range(TRAINED_STEPS):
        steps.append(world.step(rng))
        world.check()


def chosen_operation(world, rng, allowed=None):
    """The name of the next operation."""
    names = [
        name
        for name, (_, _, needs_rows) in OPERATIONS.items()
        if (allowed is None or name in allowed) and (len(world.truth) or not needs_rows)
    ]
    often = np.array([OPERATIONS[name][1] for name in names])
    return names[rng.choice(len(names), p=often / often.sum())]


def finding(seed, index, name, steps, error):
    """What went wrong, and how to see it again."""
    told = "".join(traceback.format_exception(error))
    return (
        f"{name}, after {', '.join(steps)}\n{told}"
        f"again: python -m tests.soak --seed {seed} --only {index}\n"
    )
