"""Count what the design promises of the code's shape: ``make design``.

Prints one line per promise with its figure and limit, and fails where one is broken.
"""

from __future__ import annotations

import ast
import inspect
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "rhokit"
ESTIMATORS = (
    "DMKDE",
    "MeanEmbeddingKDE",
    "DMKDClassifier",
    "QMClassifier",
    "QMOrdinalClassifier",
    "QMRegressor",
    "DMKDESGD",
    "DMKDClassifierSGD",
    "QMClassifierSGD",
    "QMRegressorSGD",
)


@dataclass(frozen=True)
class Count:
    """A figure of the code, the most it may be, and where to look."""

    what: str
    figure: float
    limit: float
    places: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the figure is within its limit."""
        return self.figure <= self.limit


# ---- estimators ----------------------------------------------------------------------


def own_classes(cls: type) -> list[type]:
    """Classes of rhokit among an estimator's ancestors, itself included."""
    return [each for each in cls.__mro__ if each.__module__.startswith("rhokit.")]


def count_ancestors(classes: list[type]) -> Count:
    """The most classes of rhokit above one estimator."""
    sizes = {cls.__name__: len(own_classes(cls)) for cls in classes}
    places = tuple(f"{name}: {size}" for name, size in sizes.items() if size > 3)
    return Count("own classes in an estimator's MRO", max(sizes.values()), 3, places)


def count_levels(classes: list[type]) -> Count:
    """The most levels at which one private name of an estimator is defined."""
    worst, places = 0, []
    for cls in classes:
        names = Counter(
            name
            for each in own_classes(cls)
            for name in vars(each)
            if is_private(name) and not name.startswith("_abc_")
        )
        worst = max(worst, max(names.values(), default=0))
        places += [f"{cls.__name__}.{name}" for name, n in names.items() if n > 2]
    return Count("levels that define one private name", worst, 2, tuple(places))


# ---- private names -------------------------------------------------------------------


def is_private(name: str) -> bool:
    """Whether a name starts with one underscore."""
    return name.startswith("_") and not name.startswith("__") and name != "_"


def count_reaches(trees: dict[Path, ast.Module]) -> list[Count]:
    """Uses of another object's private names, across packages and within one."""
    homes = defaultdict(set)
    for path, tree in trees.items():
        for name in private_definitions(tree):
            homes[name].add(package_of(path))
    across, within = [], []
    for path, tree in trees.items():
        for name, line in private_uses(tree):
            if name not in homes:  # of another library
                continue
            place = f"{path.relative_to(SOURCE)}:{line} {name}"
            (within if package_of(path) in homes[name] else across).append(place)
    return [
        Count("reaches into private names across packages", len(across), 0, (*across,)),
        Count("reaches into private names within one", len(within), 20, (*within,)),
    ]


def package_of(path: Path) -> str:
    """The package, or the module of the top level, that a file belongs to."""
    return path.relative_to(SOURCE).parts[0]


def private_definitions(tree: ast.Module) -> Iterator[str]:
    """Private names that a module defines, on any level."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and is_private(node.name):
            yield node.name
        is_set = isinstance(getattr(node, "ctx", None), ast.Store)
        if isinstance(node, ast.Name) and is_set and is_private(node.id):
            yield node.id
        if isinstance(node, ast.Attribute) and is_set and is_private(node.attr):
            yield node.attr


def private_uses(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Private names of others that a module touches, with the lines."""
    for node in ast.walk(tree):
        is_private_name = isinstance(node, ast.Attribute) and is_private(node.attr)
        if is_private_name and not is_oneself(node.value):
            yield node.attr, node.lineno
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "rhokit"
        ):
            for alias in node.names:
                if is_private(alias.name):
                    yield alias.name, node.lineno


def is_oneself(node: ast.expr) -> bool:
    """Whether an expression is the object or class that a method belongs to."""
    if isinstance(node, ast.Name):
        return node.id in ("self", "cls")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        is_super = node.func.id == "super"
        is_type = node.func.id == "type" and is_oneself(node.args[0])
        return is_super or is_type
    return False


# ---- types and names -----------------------------------------------------------------


def count_type_tests(trees: dict[Path, ast.Module]) -> Count:
    """Uses of ``isinstance`` with a map or a state, outside their packages."""
    from rhokit.core import FeatureMean
    from rhokit.core.sums import Sums
    from rhokit.features.registry import MAPS

    states = {*subclasses(Sums), FeatureMean.__name__, "LowRankDensityMatrix"}
    names = {cls.__name__ for cls in MAPS.values()} | {"FeatureMap"} | states
    places = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path, tree in trees.items()
        if package_of(path) not in ("core", "features")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and names & {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
    ]
    return Count("isinstance on maps or states elsewhere", len(places), 5, (*places,))


def subclasses(cls: type) -> set[str]:
    """Names of a class and all that inherit from it."""
    return {cls.__name__}.union(*(subclasses(each) for each in cls.__subclasses__()))


def count_homonyms(trees: dict[Path, ast.Module]) -> Count:
    """Classes and public constants whose name means two things."""
    homes = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not is_private(node.name):
                homes[node.name].append(path)
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
            for target in targets:
                if isinstance(target, ast.Name) and is_constant(target.id):
                    homes[target.id].append(path)
    places = [
        f"{name}: {', '.join(str(path.relative_to(SOURCE)) for path in paths)}"
        for name, paths in homes.items()
        if len(paths) > 1
    ]
    return Count("public classes and constants of one name", len(places), 0, (*places,))


def is_constant(name: str) -> bool:
    """Whether a name is a public one in capitals."""
    return name.isupper() and len(name) > 1 and not name.startswith("_")


# ---- sizes ---------------------------------------------------------------------------


def count_sizes(trees: dict[Path, ast.Module]) -> list[Count]:
    """Lengths of files, and of functions without their docstrings."""
    lengths = {path: len(path.read_text().splitlines()) for path in trees}
    long = [
        f"{path.relative_to(SOURCE)} ({n})" for path, n in lengths.items() if n > 400
    ]
    bodies = sorted(
        body_lines(node)
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    )
    tenth = bodies[int(0.9 * len(bodies))]
    return [
        Count("lines of the longest file", max(lengths.values()), 400, (*long,)),
        Count("lines of the median function", statistics.median(bodies), 5),
        Count("lines that nine in ten functions keep to", tenth, 15),
    ]


def body_lines(node: ast.FunctionDef) -> int:
    """Lines of a function below its signature and docstring."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]


# ---- one fit -------------------------------------------------------------------------


def count_calls() -> list[Count]:
    """Functions of rhokit that one fit of a frame calls, and how deep they nest."""
    import numpy as np
    import pandas as pd

    from rhokit import DMKDE

    rows = np.random.default_rng(0).normal(size=(200, 4))
    frame = pd.DataFrame(rows, columns=list("abcd"))
    DMKDE(gamma=1, scale=None).fit(frame)  # so that imports are not counted
    seen, depth = traced(lambda: DMKDE(gamma=1, scale=None).fit(frame))
    places = tuple(sorted(f"{Path(file).name}:{name}" for file, _, name in seen))
    return [
        Count(
            "functions called by DMKDE(gamma=1, scale=None).fit(frame)",
            len(seen),
            99,
            places,
        ),
        Count("depth of these calls", depth, 11),
    ]


def traced(call: Any) -> tuple[set[tuple[str, int, str]], int]:
    """Named functions of rhokit that a call enters, and their deepest nesting."""
    seen: set[tuple[str, int, str]] = set()
    level = deepest = 0

    def watch(frame: Any, event: str, argument: Any) -> None:
        nonlocal level, deepest
        code = frame.f_code
        own = code.co_filename.startswith(str(SOURCE)) and code.co_name[0] != "<"
        if own and event == "call":
            seen.add((code.co_filename, code.co_firstlineno, code.co_name))
            level += 1
            deepest = max(deepest, level)
        elif own and event == "return":
            level -= 1

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen, deepest


def main() -> int:
    """Print all counts; 1 where one is above its limit."""
    import rhokit

    trees = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
    classes = [getattr(rhokit, name) for name in ESTIMATORS]
    assert all(inspect.isclass(cls) for cls in classes)
    counts = [
        count_ancestors(classes),
        count_levels(classes),
        *count_reaches(trees),
        count_type_tests(trees),
        *count_calls(),
        count_homonyms(trees),
        *count_sizes(trees),
    ]
    verbose = "--places" in sys.argv
    for count in counts:
        print(f"{count.what:<50} {count.figure:>5g}  (at most {count.limit:g})")
        if verbose or not count.holds:
            print("".join(f"    {place}\n" for place in count.places), end="")
    return 0 if all(count.holds for count in counts) else 1


if __name__ == "__main__":
    sys.exit(main())
