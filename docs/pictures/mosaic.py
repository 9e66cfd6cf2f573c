"""Draws ``docs/images/mosaic.png``: cells of a mosaic, layer by layer, and the density.

Of two columns of the MAGIC telescope; the rows are those of the benchmark
(``benchmarks/README.md`` says where they come from). Run it from the repository's root:

    python docs/pictures/mosaic.py
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from benchmarks.real_data import load_arrays
from rhokit import DMKDE
from rhokit.features import MosaicFeatures

TARGET = Path(__file__).parents[1] / "images" / "mosaic.png"
# Length and width of the light that a telescope saw, in millimetres.
COLUMNS, LIMITS = [0, 1], ((8.0, 110.0), (3.0, 45.0))
INK, CELLS, ROWS = "#222222", "#b5382a", "#8c8c8c"


def main() -> None:
    """Fit, draw and save."""
    rows = load_arrays("density_magic")["X"].astype(np.float64)[:, COLUMNS]
    map_ = MosaicFeatures(n_cells=100)
    model = DMKDE(feature_map=map_, random_state=0).fit(rows)
    figure = Figure(figsize=(11, 3.1), layout="constrained", facecolor="white")
    panels = figure.subplots(1, 4, sharex=True, sharey=True)
    some = np.random.default_rng(0).permutation(rows)[:3000]
    for axes, number in zip(panels, shown_layers(model), strict=False):
        draw_layer(axes, model, number, some)
    draw_density(panels[3], model)
    panels[0].set_ylabel("width (mm)", color=INK)
    for axes in panels:
        axes.set_xlabel("length (mm)", color=INK)
        axes.set(xlim=LIMITS[0], ylim=LIMITS[1])
        axes.spines[["top", "right"]].set_visible(False)
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET, dpi=130)


def sizes_of(model: DMKDE) -> Any:
    """How many cells each layer has."""
    return np.diff([0, *model.feature_map_.stops_])


def shown_layers(model: DMKDE) -> list[int]:
    """Three layers, the heaviest of few, of some and of many cells.

    The first may be the background, one cell.
    """
    sizes, weights = sizes_of(model), model.feature_map_.layer_weights_
    found = []
    for least, most in ((1, 15), (16, 50), (51, 1000)):
        fitting = np.flatnonzero((sizes >= least) & (sizes <= most))
        found.append(fitting[weights[fitting].argmax()])
    return found


def draw_layer(axes: Any, model: DMKDE, number: int, rows: Any) -> None:
    """Rows, and the ellipses of one layer's cells; heavier ones are darker."""
    own = model.feature_map_.layers[number]
    density = model.mosaic()
    outlines, weights = density.outlines(radius=1.0)[own], density.weights[own]
    axes.scatter(*rows.T, s=1.5, c=ROWS, alpha=0.35, linewidths=0, rasterized=True)
    strength = np.sqrt(weights / weights.max())
    axes.add_collection(
        LineCollection(
            list(outlines), colors=CELLS, linewidths=1.1, alpha=0.25 + 0.75 * strength
        )
    )
    noun = "cell" if len(weights) == 1 else "cells"
    share = model.feature_map_.layer_weights_[number]
    weight = f"weight {share:.2f}" if share >= 0.01 else "weight below 0.01"
    title(axes, f"{len(weights)} {noun}, {weight}")


def draw_density(axes: Any, model: DMKDE) -> None:
    """The mixture of all layers."""
    x, y = (np.linspace(low, high, 400) for low, high in LIMITS)
    nodes = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    density = model.density(nodes).reshape(len(y), len(x))
    top = density.max()
    image = axes.pcolormesh(
        x,
        y,
        np.maximum(density, top / 1e4),
        cmap="viridis",
        norm=LogNorm(top / 1e4, top),
        rasterized=True,
    )
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label("density per mm²", color=INK)
    title(axes, f"The density: {len(sizes_of(model))} layers")


def title(axes: Any, text: str) -> None:
    """In one hand."""
    axes.set_title(text, loc="left", fontsize=10, color=INK)


if __name__ == "__main__":
    main()
