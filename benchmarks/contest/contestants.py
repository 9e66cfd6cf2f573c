"""What a model must be to take part."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.contest.cases import Facts


@dataclass(frozen=True)
class Contestant:
    """A way to make a model.

    Parameters
    ----------
    name : str
        As tables show it.
    build : callable
        Takes the facts of a case, returns a model with ``fit(rows, target)`` and
        ``answer(queries)``. It imports its package itself, so that no process carries
        the packages of others. A model may have ``prepare(rows, queries)``, which is
        called once and not timed, ``warm_up(rows, queries)`` in place of a first fit
        to few rows, ``judged(queries)``, which is not timed and whose array is kept in
        place of the answers, and ``chosen``, a dictionary that goes to the lines.
    package : str
        The module that it needs.
    ours : bool
        Whether it is rhokit's.
    takes : callable, optional
        Takes the facts, returns why the model stays away from a case, or None.
    after : str, optional
        Name of the contestant whose seconds this one is given, as the fact
        ``seconds``: fit and the most queries, in its first round.
    """

    name: str
    build: Callable[[Facts], Any]
    package: str = "rhokit"
    ours: bool = False
    takes: Callable[[Facts], str | None] = lambda facts: None
    after: str | None = None

    def absence(self, facts):
        """Why it does not take part, in words; None if it does."""
        if find_spec(self.package) is None:
            return f"{self.package} is not installed"
        return self.takes(facts)


def find(module, name):
    """A contestant by the module that lists it in ``CONTESTANTS`` and its name."""
    return next(c for c in import_module(module).CONTESTANTS if c.name == name)
