"""Results as JSON lines: what was measured, on what, and what was asked for."""

import json
import math
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "finufft",
    "KDEpy",
    "mlpack",
    "dmkde",
    "datasketches",
    "pyod",
    "ngboost",
    "torch",
    "zuko",
    "rhokit",
)


@dataclass(frozen=True)
class Goal:
    """Bounds that a value must keep; ``None`` is no bound."""

    at_least: float | None = None
    at_most: float | None = None

    def is_met(self, value):
        """Whether the value keeps the bounds; a value that is no number does not."""
        above = self.at_least is None or value >= self.at_least
        below = self.at_most is None or value <= self.at_most
        return math.isfinite(value) and above and below


@dataclass(frozen=True)
class Result:
    """One measured number.

    Parameters
    ----------
    case, metric : str
        The row of the table.
    value : float
    goal : Goal, optional
        None for what only stands beside for comparison.
    threads : int, optional
        How many threads were allowed; None: as many as BLAS takes.
    best : float, optional
        The same from the fastest repetitions instead of the medians.
    seed : int
    details : dict
        Sizes and times behind the value.
    """

    case: str
    metric: str
    value: float
    goal: Goal | None = None
    threads: int | None = None
    best: float | None = None
    seed: int = 0
    details: dict = field(default_factory=dict)


class ResultLog:
    """Appends the results of one run to a file, each as soon as it is there.

    Parameters
    ----------
    path : Path
    section : str
    run : str
        Name of the run, by which its lines are found again.
    """

    def __init__(self, path, section, run):
        self.path = Path(path)
        self._common = {"run": run, "section": section, **surroundings()}

    def append(self, result):
        """Write one line; return it as a dictionary."""
        line = self._common | as_line(result)
        append_lines(self.path, [line])
        return line

    def lines(self):
        """The lines of this run, read back from the file."""
        wanted = {key: self._common[key] for key in ("run", "section")}
        return [
            line for line in read_lines(self.path) if wanted.items() <= line.items()
        ]


def as_line(result: Result) -> dict:
    """A result and the moment, as a line holds them."""
    from rhokit.fast import blas_threads  # processes of rivals do without rhokit

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **_without_infinities(asdict(result)),
        "threads": result.threads or blas_threads(),
    }


def append_lines(path: Path, lines: Iterable[dict]) -> None:
    """Add lines to a file in one go."""
    texts = [
        json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        for line in lines
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(text + "\n" for text in texts))


def read_lines(path: Path) -> Iterator[dict]:
    """All lines of a file of results."""
    with Path(path).open(encoding="utf-8") as file:
        for text in file:
            yield json.loads(text)


def missed(lines: Iterable[dict]) -> list[dict]:
    """The lines whose value does not keep its goal."""
    return [line for line in lines if verdict(line) is False]


def verdict(line: dict) -> bool | None:
    """Whether a line's goal is met; None where it has none."""
    if line["goal"] is None:
        return None
    value = math.nan if line["value"] is None else line["value"]
    return Goal(**line["goal"]).is_met(value)


def new_run() -> str:
    """A name for a run that no other one has."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}"


def surroundings() -> dict:
    """Versions and machine, as every line carries them; load when it was called."""
    versions = {name: _version(name) for name in _PACKAGES}
    return {
        "versions": {"python": platform.python_version(), **versions},
        "machine": {"cpu": _cpu_model(), "cores": n_cores(), "load": _load()},
    }


def n_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _load():
    """How many processes wanted a core in the last minute: were we alone?"""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu_model():
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [
        s.split(":", 1)[1] for s in text.splitlines() if s.startswith("model name")
    ]
    return names[0].strip() if names else platform.machine()


def _without_infinities(value):
    """JSON has no infinity and no NaN: they become null, at any depth."""
    if isinstance(value, dict):
        return {key: _without_infinities(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
