"""Many models made one, in an order that nothing but their number decides."""

from collections.abc import Callable, Iterable
from copy import copy
from typing import TypeVar

from rhokit.estimators.base import OnePassEstimator

E = TypeVar("E", bound=OnePassEstimator)
P = TypeVar("P")
# How many are added up at once.
_ARITY = 8


def merge(models: Iterable[E]) -> E:
    """One model of what all have seen.

    They must share scaling, γ and map: ``prepare`` one, hand copies (``blank``) or
    bytes (:func:`rhokit.dumps`) of it to the workers, and merge what they return. The
    models are added up as a tree, neighbours first, so the same models in the same
    order give the same bits, whoever was ready first.

    Parameters
    ----------
    models : iterable of one-pass models

    Returns
    -------
    model
        A new one; the others are left as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.parallel import merge
    >>> X = np.random.default_rng(0).normal(size=(900, 2))
    >>> plan = DMKDE(n_components=64, random_state=0).prepare(X)
    >>> merge(plan.blank().partial_fit(part) for part in np.split(X, 3)).state_.weight
    array([900.])
    """
    every = list(models)
    if not every:
        raise ValueError("merge needs at least one model")
    return tree([copy(model) for model in every], _merge_few)


def _merge_few(models: list[E]) -> E:
    """What a few have seen, added up from the first to the last."""
    first, *others = models
    first.merge(*others)
    return first


def tree(parts: list[P], combine: Callable[[list[P]], P], arity: int = _ARITY) -> P:
    """Combine parts, ``arity`` neighbours at a time, until one is left."""
    while len(parts) > 1:
        groups = [parts[i : i + arity] for i in range(0, len(parts), arity)]
        parts = [g[0] if len(g) == 1 else combine(g) for g in groups]
    return parts[0]
