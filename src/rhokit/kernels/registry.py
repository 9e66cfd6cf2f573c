"""Kernels by name, and what users may give as one."""

import math
from dataclasses import asdict
from typing import Any, TypeVar

from rhokit.core import Kernel

KERNELS: dict[str, type[Kernel]] = {}
"""Every kernel that a parameter or a model file can name."""
GAUSSIAN, BY_SCORE = "gaussian", "loo"
"""The kernel by default; and what compares all of them by rows that are left out."""

Found = TypeVar("Found", bound=type[Kernel])


def register_kernel(cls: Found) -> Found:
    """Class decorator that makes a kernel known by its ``name``.

    Examples
    --------
    >>> from rhokit.kernels import KERNELS
    >>> KERNELS["laplacian"].__name__
    'LaplacianKernel'
    """
    known = KERNELS.setdefault(cls.name, cls)
    if not cls.name or cls.name == BY_SCORE or known is not cls:
        raise ValueError(
            f"a kernel needs a name of its own: {cls.__name__} has {cls.name!r}"
        )
    return cls


def kernel_of(wanted: Any, gamma: float) -> Kernel:
    """The kernel that a parameter asks for, a name or an object, for this γ.

    Examples
    --------
    >>> from rhokit.kernels import MaternKernel, kernel_of
    >>> kernel_of("laplacian", 2.0), kernel_of(MaternKernel(nu=2.5), 2.0)
    (LaplacianKernel(gamma=2.0), MaternKernel(gamma=2.0, nu=2.5))
    """
    if isinstance(wanted, str) and wanted in KERNELS:
        return KERNELS[wanted](gamma)
    if not isinstance(wanted, Kernel):
        raise _no_kernel(wanted, "a map")
    return wanted.with_gamma(gamma)


def wanted_kernels(wanted: Any) -> tuple[Any, ...]:
    """All kernels that a parameter lets one choose from, one or several.

    Examples
    --------
    >>> from rhokit.kernels import wanted_kernels
    >>> wanted_kernels("cauchy"), wanted_kernels(("gaussian", "matern"))
    (('cauchy',), ('gaussian', 'matern'))
    """
    if isinstance(wanted, str) and wanted == BY_SCORE:
        return tuple(KERNELS)
    return tuple(wanted) if isinstance(wanted, tuple | list) else (wanted,)


def is_kernel(wanted: Any) -> bool:
    """Whether this is a kernel or the name of one."""
    if isinstance(wanted, str):
        return wanted in KERNELS
    return isinstance(wanted, Kernel)


def check_kernel(wanted: Any, owner: str) -> None:
    """Refuse what is neither a name, nor a kernel, nor several of them."""
    several = wanted_kernels(wanted)
    if not several or not all(map(is_kernel, several)):
        raise _no_kernel(wanted, owner, f", {BY_SCORE!r}, or a tuple of these")


def _no_kernel(wanted: Any, owner: str, more: str = "") -> ValueError:
    return ValueError(
        f"The 'kernel' parameter of {owner} must be one of {(*KERNELS,)} or a "
        f"rhokit.kernels.Kernel{more}. Got {wanted!r} instead."
    )


def one_word(wanted: Any) -> Any:
    """What a parameter asks for in one way: several kernels as a tuple, one as itself.

    Examples
    --------
    >>> from rhokit.kernels import GaussianKernel
    >>> from rhokit.kernels.registry import one_word
    >>> one_word(GaussianKernel()), one_word(["cauchy"])
    ('gaussian', 'cauchy')
    """
    several = wanted_kernels(wanted)
    if len(several) > 1:
        return several
    (only,) = several
    plain = kernel_of(only, 1.0)
    is_named = plain.name in KERNELS and plain == KERNELS[plain.name](1.0)
    return plain.name if is_named else only


def has_mass(kernel: Kernel) -> bool:
    """Whether a density can be made of the kernel: its square has an integral."""
    return math.isfinite(kernel.log_mass(1))


def settings_of(kernel: Kernel) -> dict[str, float]:
    """Name and numbers of a kernel, all that there is to it."""
    return {"name": kernel.name, **asdict(kernel)}
