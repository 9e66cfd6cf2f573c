"""The number of the file format, and when it is raised.

The protocol is an integer in every file. A version of rhokit reads every file that it
or an earlier version wrote.

It stays the same when
- a field or a parameter is added, and files without it are read as they were before
  (``Maybe(..., optional=True)`` of :mod:`rhokit.records` for a field, the default for a
  parameter);
- a class is added.
An earlier version then refuses a file that holds the new thing, and names it.

It is raised by one when
- a field is removed, renamed, or changes its shape, unit or meaning;
- what is computed from the same fields changes beyond rounding.

With the new number come a function that turns a tree and tensors of the number before
into the new form (``UPGRADES[old]``), golden files of the new number in
``tests/io/golden``, and a line in the changelog. Golden files of old numbers stay for
ever.
"""

from collections.abc import Callable
from typing import Any

from rhokit.errors import ModelFileError
from rhokit.records import Tensors

PROTOCOL = 1

Upgrade = Callable[[dict[str, Any], Tensors], tuple[dict[str, Any], Tensors]]
UPGRADES: dict[int, Upgrade] = {}


def upgraded(tree: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """The content of a file in the form of today's protocol."""
    number = tree.get("protocol")
    if type(number) is not int or number < 1:
        raise ModelFileError(f"states no protocol number, but {str(number)[:40]!r}")
    if number > PROTOCOL:
        version = str(tree.get("rhokit"))[:40]
        raise ModelFileError(
            f"is of protocol {number}, written by rhokit {version}; this version reads "
            f"protocols up to {PROTOCOL}: upgrade rhokit"
        )
    for old in range(number, PROTOCOL):
        tree, tensors = UPGRADES[old](tree, tensors)
    return tree, tensors
