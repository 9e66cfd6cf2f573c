"""What the chapters share: a split, words for the terminal, a clock, and pictures."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import Any

from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from rhokit.progress import progress

SEED = 0

INK, FAINT = "#222222", "#666666"
SHADES = ("#eceff4", "#d3dae6", "#aab6cc")
BLUE, RED = "#4a6fa5", "#c0392b"  # as expected, and not
TITLE: dict[str, Any] = {"fontsize": 11, "color": INK}
NOTE: dict[str, Any] = {"fontsize": 9, "color": FAINT}

# What a map does, by the name of its class.
MAP_NOTES = {
    "LandmarkFeatures": "landmarks: a row is known by its likeness to typical rows",
    "GridFeatures": "grid: rows add up to waves on a grid of frequencies",
    "QuadratureFeatures": "grid: a row is known by waves on a grid of frequencies",
    "FourierFeatures": "random waves: a row is known by waves of random frequencies",
    "MosaicFeatures": "mosaic: rows are sent to cells, each with a metric of its own",
}


@dataclass(frozen=True, eq=False)
class Split:
    """Rows and their targets, to learn from and held out."""

    train: NDArray[Any]
    train_target: NDArray[Any]
    held_out: NDArray[Any]
    target: NDArray[Any]


def hold_out_a_quarter(
    rows: NDArray[Any], target: NDArray[Any], seed: int = SEED
) -> Split:
    """Split rows and their targets at random."""
    parts = train_test_split(rows, target, test_size=0.25, random_state=seed)
    train, held_out, train_target, held_out_target = parts
    return Split(train, train_target, held_out, held_out_target)


# ---- the words -------------------------------------------------------------------


def show(*lines: str) -> None:
    """Print indented lines, at once even in a pipe."""
    print(*(f"   {line}".rstrip() for line in lines), sep="\n", flush=True)


def entry(name: str, text: str) -> list[str]:
    """A name, and its text wrapped beside it."""
    return wrap(f"{name:<12}{text}", 77, subsequent_indent=" " * 12)


def map_entry(model: Any) -> list[str]:
    """The map that a model chose, for somebody who has never seen one."""
    feature_map = model.feature_map_
    return entry("map", MAP_NOTES.get(type(feature_map).__name__, repr(feature_map)))


def columns(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right."""
    first, *others = widths
    return [
        f"{name:<{first}}"
        + "".join(f"{cell:>{width}}" for cell, width in zip(cells, others, strict=True))
        for name, *cells in rows
    ]


def percent(part: float, decimals: int = 1) -> str:
    """A part of one in hundredths."""
    return f"{part * 100:.{decimals}f} %"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


# ---- the clock -------------------------------------------------------------------


def timed(
    function: Callable[..., Any], *arguments: Any, repeats: int = 1
) -> tuple[Any, float]:
    """What the function returns, and the seconds of its fastest run."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = function(*arguments)
        times.append(time.perf_counter() - start)
    return value, min(times)


# ---- the pictures ----------------------------------------------------------------


def installed(package: str) -> bool:
    """Whether an optional package can be imported."""
    return find_spec(package) is not None


def save(draw: Callable[..., None], path: Path, *what: Any) -> None:
    """Draw a picture if matplotlib is there, and say where it is."""
    if installed("matplotlib"):
        from matplotlib.figure import Figure

        with progress(f"Drawing {path.name}"):
            figure = Figure(layout="constrained", facecolor="white")
            draw(figure, *what)
            figure.savefig(path, dpi=150)
        show("", f"Picture: {path}")
    print()


def label(axes: Any, title: str, x: str, y: str | None = None) -> None:
    """Title and axes in the demo's hand."""
    axes.set_title(title, loc="left", **TITLE)
    axes.set_xlabel(x, **NOTE)
    if y is not None:
        axes.set_ylabel(y, **NOTE)
    axes.tick_params(labelsize=9, labelcolor=FAINT)
    axes.spines[["top", "right"]].set_visible(False)


def draw_digit(axes: Any, image: NDArray[Any]) -> None:
    """An image of 8 x 8 pixels, as ink on paper."""
    axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color("#cccccc")
