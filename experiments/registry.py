"""The experiments by name, in the order of the paper, and the sizes of a run."""

from importlib import import_module

EXPERIMENTS = (
    "density-1d",
    "density-accuracy",
    "spirals",
    "mnist-scatter",
    "density-time",
    "bound",
    "classification",
    "lenet",
    "ordinal",
)
FULL, QUICK, TINY = "full", "quick", "tiny"
SIZES = FULL, QUICK, TINY


def part(experiment, name):
    """A module of an experiment's folder: ``config``, ``run`` or ``report``."""
    return import_module(f"experiments.{experiment.replace('-', '_')}.{name}")
