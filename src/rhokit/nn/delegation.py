"""Answers of a one-pass class as methods of the class that trains it."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rhokit.estimators.base import OnePassEstimator

NOT_ANSWERS = frozenset(
    {
        # A trained state is no sum: it takes up no rows, and gives none back.
        "fit",
        "partial_fit",
        "prepare",
        "blank",
        "merge",
        "unmerge",
        "unlearn",
        "fade",
        "memory_estimate",
        "rank_",
        # These make an estimator, or say how it learns.
        "check_batch",
        "check_constructor",
        "make_readout",
        "with_model",
        "is_prepared",
        "prepared_model",
        "asked",
    }
)
"""Public names of one-pass estimators that trained models do not have."""


def delegate_answers(cls: type, shell: type) -> None:
    """Give a trained class what its one-pass class answers, as methods of its own.

    Signatures and docstrings are those of the one-pass class. Names that the class or
    its shell define themselves are left as they are.

    Parameters
    ----------
    cls : type
        Whose ``one_pass_class`` answers, by its attribute ``estimator_``.
    shell : type
        The common part of all trained classes.
    """
    one_pass: Any = cls.one_pass_class  # type: ignore[attr-defined]
    for name in dir(one_pass):
        own = name in vars(cls) or hasattr(shell, name)
        if name.startswith("_") or name in NOT_ANSWERS or own:
            continue
        answer = _delegated(name, inspect.getattr_static(one_pass, name))
        if answer is not None and _is_ours(one_pass, name):
            setattr(cls, name, answer)


def _is_ours(one_pass: type, name: str) -> bool:
    """Whether a name is defined by rhokit, and not by scikit-learn."""
    owner = next(each for each in one_pass.__mro__ if name in vars(each))
    return issubclass(owner, OnePassEstimator)


def _delegated(name: str, found: Any) -> Any:
    """A property or method that asks ``estimator_``; None for anything else."""
    if isinstance(found, property):
        return property(lambda self: getattr(self.estimator_, name), doc=found.__doc__)
    if inspect.isfunction(found):
        return _method(name, found)
    conditional = getattr(found, "fn", None)  # as available_if keeps its method
    if conditional is None:
        return None
    return available_if(_answers(name))(_method(name, conditional))


def _method(name: str, asked: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(asked)
    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.estimator_, name)(*args, **kwargs)

    return ask


def _answers(name: str) -> Callable[[Any], bool]:
    """Whether a model, or what it would be trained from, has a conditional method."""

    def check(self: Any) -> bool:
        known = getattr(self, "estimator_", None)
        return hasattr(self.untrained() if known is None else known, name)

    return check
