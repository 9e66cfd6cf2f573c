"""What a checkpoint must look like before a training goes on from it."""

from typing import Any

import torch
from torch import Tensor


class FormError(ValueError):
    """Something in a checkpoint is not what it must be."""


def require_form(holds: bool, place: str, what: str) -> None:
    """Refuse a place of a checkpoint that is not what it must be."""
    if not holds:
        raise FormError(f"{place} must be {what}")


def check_form(given: Any, expected: Any, place: str) -> None:
    """Refuse what has not the form of an example.

    Parameters
    ----------
    given : object
        What a file says.
    expected : object
        Of the same names, lengths, types, shapes and dtypes, whatever the values.
    place : str
        Where it stands.
    """
    if isinstance(expected, Tensor):
        shape, dtype = tuple(expected.shape), expected.dtype
        like = _is_plain(given) and (tuple(given.shape), given.dtype) == (shape, dtype)
        require_form(like, place, f"a tensor of shape {shape} and {dtype}")
        return
    require_form(type(given) is type(expected), place, f"a {type(expected).__name__}")
    if isinstance(expected, dict):
        require_form(given.keys() == expected.keys(), place, f"of {[*expected]}")
        names: Any = expected
    elif isinstance(expected, list):
        require_form(len(given) == len(expected), place, f"{len(expected)} long")
        names = range(len(expected))
    else:
        return
    for name in names:
        check_form(given[name], expected[name], f"{place}.{name}")


def check_optimizer(given: Any, optimizer: torch.optim.AdamW, most_steps: int) -> None:
    """Refuse the state of an optimiser that is none of this one.

    Parameters
    ----------
    given : object
        What a file says.
    optimizer : torch.optim.AdamW
        That the state is meant for.
    most_steps : int
        As many as there can have been.
    """
    place, names = "optimizer", ["state", "param_groups"]
    is_state = type(given) is dict and given.keys() == {*names}
    require_form(is_state, place, f"of {names}")
    own = optimizer.state_dict()["param_groups"]
    same = _settings(given["param_groups"]) == _settings(own)
    require_form(same, f"{place}.param_groups", "what the parameters say")
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    moments, places = given["state"], f"{place}.state"
    known = type(moments) is dict and moments.keys() <= {*range(len(weights))}
    require_form(known, places, f"that of {len(weights)} weights")
    for key, state in moments.items():
        _check_moments(state, weights[key].detach(), most_steps, f"{places}.{key}")


def _check_moments(given: Any, weight: Tensor, most_steps: int, place: str) -> None:
    """Refuse what Adam cannot have kept of a weight."""
    step: Any = given.get("step") if type(given) is dict else None
    counts = _is_plain(step) and step.ndim == 0 and step.is_floating_point()
    possible = counts and 1 <= float(step) <= most_steps
    require_form(possible, f"{place}.step", f"a tensor of 1 to {most_steps}")
    check_form(given, {"step": step, "exp_avg": weight, "exp_avg_sq": weight}, place)


def _settings(groups: Any) -> str | None:
    """All but the rates of groups of weights as text; each step has its own rate."""
    if type(groups) is not list or not all(type(group) is dict for group in groups):
        return None
    return repr([[*map(repr, _without_rate(group))] for group in groups])


def _without_rate(group: dict[Any, Any]) -> list[Any]:
    """Names and values in an order; of the rate only that there is one."""
    known = [(name, None if name == "lr" else value) for name, value in group.items()]
    return sorted(known, key=lambda item: repr(item[0]))


def _is_plain(value: Any) -> bool:
    """Whether something is a tensor like those that a training makes."""
    return (
        type(value) is Tensor
        and value.layout is torch.strided
        and not value.requires_grad
        and not value.is_meta
        and not value.is_quantized
    )
