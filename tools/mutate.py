"""Break the code on purpose, one place at a time, and see whether a test goes red.

``python tools/mutate.py --count 64`` draws places from all packages, runs the tests
of the package that each belongs to in a copy of the project, and prints what survived.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "benchmarks", "experiments", "pyproject.toml", "README.md")
# Whose tests are elsewhere than in the folder of the same name.
TESTS = {
    "batch": ["tests/estimators", "tests/laws"],
    "plans": ["tests/plans", "tests/estimators"],
    "representations": ["tests/representations", "tests/estimators"],
    "readouts": ["tests/readouts", "tests/estimators"],
    "models": ["tests/models", "tests/estimators", "tests/laws"],
    "estimators": ["tests/estimators", "tests/laws"],
    "records": ["tests/io"],
    "inspection": ["tests/inspection", "tests/report", "tests/plots"],
    "testing": ["tests/laws"],
}
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
# Annotations, imports and what only words errors say nothing about the tests.
SKIPPED = (ast.Import, ast.ImportFrom, ast.Raise, ast.Assert, ast.AnnAssign)


@dataclass
class Mutation:
    """One place that is changed: the n-th of its file."""

    file: str
    place: int
    line: int = 0
    change: str = ""
    killed: bool = False


class Places(ast.NodeTransformer):
    """Counts the places that can be changed, and changes one of them."""

    def __init__(self, wanted: int | None = None) -> None:
        self.wanted, self.count = wanted, 0
        self.line, self.change = 0, ""

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, SKIPPED):
            return node
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            if self._is_next(node):
                node.ops[0] = self._swapped(node.ops[0])
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
            if not _is_type(node) and self._is_next(node):
                node.op = self._swapped(node.op)  # type: ignore[assignment]
        elif isinstance(node, ast.If) and self._is_next(node):
            node.test = ast.UnaryOp(ast.Not(), node.test)
            self.change = "if -> if not"
        return super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(each) for each in node.body]
        return node

    def _is_next(self, node: ast.expr | ast.stmt) -> bool:
        self.count += 1
        if self.count - 1 != self.wanted:
            return False
        self.line = node.lineno
        return True

    def _swapped(self, operator: ast.AST) -> ast.AST:
        other = SWAPS[type(operator)]()
        self.change = f"{type(operator).__name__} -> {type(other).__name__}"
        return other


def _is_type(node: ast.AST) -> bool:
    """Whether an expression may be a union of types, or joins texts."""
    return any(isinstance(n, ast.Constant | ast.JoinedStr) for n in ast.walk(node))


def drawn(root: Path, count: int, seed: int) -> list[Mutation]:
    """As many places from every package, taken at random."""
    rng = random.Random(seed)
    source = root / "src" / "rhokit"
    packages: dict[str, list[Mutation]] = {}
    for path in sorted(source.rglob("*.py")):
        relative = path.relative_to(source)
        if relative.parts[0] in ("demo", "__init__.py", "progress.py", "datasets"):
            continue
        if path.name in ("loops.py", "__main__.py"):  # compiled, or a process apart
            continue
        places = Places()
        places.visit(ast.parse(path.read_text()))
        own = packages.setdefault(relative.parts[0].removesuffix(".py"), [])
        own += [Mutation(str(path.relative_to(root)), n) for n in range(places.count)]
    for own in packages.values():
        rng.shuffle(own)
    pools = [own for own in packages.values() if own]
    found: list[Mutation] = []
    while len(found) < count:
        found += [own.pop() for own in pools if own]
    return found[:count]


def run(mutation: Mutation, tree: Path, seconds: int) -> Mutation:
    """Change the place in a copy of the project, and run its package's tests."""
    path = tree / mutation.file
    before = path.read_text()
    places = Places(mutation.place)
    changed = places.visit(ast.parse(before))
    mutation.line, mutation.change = places.line, places.change
    path.write_text(ast.unparse(ast.fix_missing_locations(changed)))
    package = path.relative_to(tree / "src" / "rhokit").parts[0].removesuffix(".py")
    single = f"tests/test_{package}.py"
    wanted = TESTS.get(package, [f"tests/{package}", single])
    tests = [each for each in wanted if (tree / each).exists()]
    names = os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=tree,
            env=names,
            timeout=seconds,
            capture_output=True,
        )
        mutation.killed = done.returncode not in (0, 5)
    except subprocess.TimeoutExpired:
        mutation.killed = True  # a loop without an end is noticed, too
    finally:
        path.write_text(before)
    return mutation


def main() -> None:
    """Draw, run, and print one line per mutation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=600, help="for one mutation")
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args()
    trees: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        for job in range(options.jobs):
            tree = Path(folder) / str(job)
            for name in COPIED:
                copy = (
                    shutil.copytree if (options.root / name).is_dir() else shutil.copy
                )
                tree.mkdir(exist_ok=True)
                copy(options.root / name, tree / name)
            trees.put(tree)

        def work(mutation: Mutation) -> Mutation:
            tree = trees.get()
            try:
                return run(mutation, tree, options.seconds)
            finally:
                trees.put(tree)

        survived = 0
        with ThreadPoolExecutor(options.jobs) as pool:
            for done in pool.map(
                work, drawn(options.root, options.count, options.seed)
            ):
                print(json.dumps(asdict(done)), flush=True)
                survived += not done.killed
    print(f"{survived} of {options.count} survived")


if __name__ == "__main__":
    main()
