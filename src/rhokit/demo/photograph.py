"""Two columns and many rows: common and rare colours."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_sample_image

from rhokit.demo.densities import DensityComparison, compare, describe, table
from rhokit.demo.shared import (
    FAINT,
    INK,
    NOTE,
    SEED,
    SHADES,
    TITLE,
    installed,
    label,
    save,
    show,
)

_EXACT_ROWS = 500  # exact KDE would need minutes for a whole photograph
_CONTOUR_LEVELS = (0.99, 0.9, 0.5)  # parts of the pixels that lie inside
_DOTS = 1500  # more would hide the density


def tell(output: Path) -> None:
    """Print the chapter, and draw its picture into the folder ``output``."""
    print("2. A photograph: the brightness and warmth (red minus blue) of its pixels")
    if not installed("PIL"):
        show("Left out: reading it takes Pillow, pip install 'rhokit[plot]'", "")
        return
    photo = load_sample_image("flower.jpg")
    rows = colours(photo)
    train, rest = rows[::2, ::2].reshape(-1, 2), rows[1::2, 1::2].reshape(-1, 2)
    held_out = np.random.default_rng(SEED).choice(rest, _EXACT_ROWS, replace=False)
    show(f"{len(train):,} are fitted, {len(held_out):,} of the others held out", "")
    result = compare(train, held_out, "the photograph")
    ratio = result.exact_timing.score / result.timing.score
    show(*describe(result.model), "", *table(result))
    show(f"DMKDE scores {ratio:.0f} times as fast; more rows would not slow it down.")
    save(draw, output / "photograph.png", result, photo)


def colours(photo: NDArray[Any]) -> NDArray[np.float32]:
    """Brightness and warmth (red minus blue) of pixels (..., 3), as float32."""
    photo = photo.astype(np.float32)
    brightness = photo @ np.array([0.299, 0.587, 0.114], np.float32)
    return np.stack([brightness, photo[..., 0] - photo[..., 2]], axis=-1)


def draw(figure: Any, result: DensityComparison, photo: NDArray[Any]) -> None:
    """The photograph, where its colours are rare, and their density."""
    figure.set_size_inches(11, 6.4)
    axes = figure.subplot_mosaic("AC;BC", width_ratios=[1, 1.25])
    rows = colours(photo).reshape(-1, 2)
    logs = result.model.score_samples(rows)
    axes["A"].imshow(photo)
    axes["A"].set_title("The photograph", loc="left", **TITLE)
    axes["A"].axis("off")
    _draw_rarity(axes["B"], logs.reshape(photo.shape[:2]))
    _draw_density(axes["C"], result.model, rows, logs, photo.reshape(-1, 3) / 255)


def _draw_rarity(axes: Any, logs: NDArray[np.float64]) -> None:
    # A handful of pixels would take up half of the colours.
    low, high = np.quantile(logs, [0.005, 0.99])
    image = axes.imshow(logs, cmap="magma_r", vmin=low, vmax=high)
    axes.set_title("Its rare colours, bright", loc="left", **TITLE)
    axes.axis("off")
    below = axes.inset_axes([0, -0.08, 1, 0.03])
    bar = axes.figure.colorbar(image, cax=below, orientation="horizontal")
    bar.set_label("log-density of the colour", **NOTE)
    bar.ax.tick_params(labelsize=9, labelcolor=FAINT)
    bar.outline.set_visible(False)


def _draw_density(
    axes: Any,
    model: Any,
    rows: NDArray[Any],
    logs: NDArray[np.float64],
    paint: NDArray[Any],
) -> None:
    x, y, surface = density_surface(model, rows)
    levels = np.quantile(logs, [1 - level for level in _CONTOUR_LEVELS])
    axes.contourf(x, y, surface, [*levels, surface.max()], colors=SHADES)
    dots = min(_DOTS, len(rows))
    chosen = np.random.default_rng(SEED).choice(len(rows), dots, replace=False)
    axes.scatter(*rows[chosen].T, s=7, c=paint[chosen], linewidths=0)
    axes.contour(x, y, surface, levels, colors="white", linewidths=2, linestyles="-")
    axes.contour(x, y, surface, levels, colors=INK, linewidths=0.7, linestyles="-")
    low, middle, high = (f"{level:.0%}" for level in sorted(_CONTOUR_LEVELS))
    title = f"Density of the colours: the contours hold {low}, {middle} and {high}"
    label(axes, f"{title} of the pixels", "brightness", "warmth (red minus blue)")


def density_surface(
    model: Any, rows: NDArray[Any], steps: int = 200
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Log-density on a grid over the rows: x (steps,), y (steps,), (steps, steps)."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = 0.05 * (high - low)
    x, y = np.linspace(low - margin, high + margin, steps).T
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return x, y, model.score_samples(grid).reshape(steps, steps)
