"""64 columns and few rows: likely, unlikely and new handwriting."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rhokit.demo.densities import (
    DensityComparison,
    compare,
    describe,
    merge_error,
    table,
)
from rhokit.demo.shared import NOTE, SEED, TITLE, draw_digit, save, show
from rhokit.progress import progress

_DIGITS_IN_A_ROW = 10


def tell(output: Path) -> None:
    """Print the chapter, and draw its picture into the folder ``output``."""
    data = load_digits()
    train, held_out, _, images = train_test_split(
        data.data, np.arange(len(data.data)), test_size=0.25, random_state=SEED
    )
    print("1. Handwritten digits: images of 8 x 8 pixels, 64 columns")
    show(f"{len(train):,} are fitted, {len(held_out):,} held out", "")
    result = compare(train, held_out, "the digits")
    show(*describe(result.model), "", *table(result))
    show("Pixels that hardly differ among alike digits count for much in this.", "")
    show("The five least likely of the held-out images:")
    show(*least_likely(result.logs, images, data.target[images]), "")
    with progress("Merging two halves"):
        error = merge_error(result.model, train, held_out)
    show(
        "Two halves, fitted apart and merged, are the model of the whole:",
        f"no held-out log-density changes by more than {error:.0e}.",
    )
    save(draw, output / "digits.png", result, held_out)


def least_likely(
    logs: NDArray[np.float64],
    images: NDArray[Any],
    digits: NDArray[Any],
    count: int = 5,
) -> list[str]:
    """The images that the model finds strangest, the strangest first."""
    order = np.argsort(logs)[:count]
    rows = {
        "image": [f"{images[i]}" for i in order],
        "digit": [f"{digits[i]}" for i in order],
        "log-density": [f"{logs[i]:.1f}" for i in order],
    }
    return [f"{name:<11} " + "".join(f"{v:>10}" for v in rows[name]) for name in rows]


def draw(figure: Any, result: DensityComparison, held_out: NDArray[Any]) -> None:
    """The most and least likely digits, and new ones drawn from the density."""
    count = _DIGITS_IN_A_ROW
    order = np.argsort(result.logs)
    bands = {
        "Most likely of the held-out digits": held_out[order[::-1][:count]],
        "Least likely of the held-out digits": held_out[order[:count]],
        "New digits, drawn from the density": result.model.sample(count, SEED),
    }
    figure.set_size_inches(9, 4.6)
    grid = figure.subplots(len(bands), count)
    for axes, (title, images) in zip(grid, bands.items(), strict=True):
        # Kept out of the layout, for it would widen the first column.
        corner = {"transform": axes[0].transAxes}
        axes[0].text(0, 1.08, title, **corner, **TITLE).set_in_layout(False)
        logs = result.model.score_samples(images)
        for cell, image, log in zip(axes, images, logs, strict=True):
            draw_digit(cell, image)
            cell.set_xlabel(f"{log:.0f}", **NOTE)
    figure.supxlabel("below each digit: its log-density", **NOTE)
    figure.get_layout_engine().set(h_pad=0.16)
