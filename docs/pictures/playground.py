"""Makes ``docs/playground/move-a-density-data.js``: rows, and mosaics fitted to them.

Run it from the repository's root:

    python docs/pictures/playground.py
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine

from rhokit import DMKDE, MosaicFeatures

TARGET = Path(__file__).parents[1] / "playground" / "move-a-density-data.js"
CELLS = (1, 2, 4, 8, 16, 32)
NODES = {1: 400, 2: 72}  # as in move-a-density.js


def main() -> None:
    """Fit, and write."""
    wine = load_wine(as_frame=True).data[["flavanoids", "color_intensity"]].to_numpy()
    data = {
        1: page(
            load_iris().data[:, [2]],
            [[0.0], [8.0]],
            ["length of petals (cm)", "density"],
            "Petals of 150 irises. Red: the density; grey: exact kernel density; "
            "below: the rows.",
        ),
        2: page(
            wine,
            [[0.0, 0.0], [5.5, 14.0]],
            ["flavanoids", "intensity of colour"],
            "Two measurements of 178 wines. The redder, the denser.",
        ),
    }
    text = json.dumps(data, separators=(",", ":"))
    head = "// Made by docs/pictures/playground.py: do not edit."
    TARGET.write_text(f"{head}\nconst DATA = {text};\n", encoding="utf-8")


def page(rows: Any, box: Any, names: list[str], about: str) -> dict[str, Any]:
    """What the page shows of a table."""
    low, high = map(np.array, box)
    return {
        "about": about,
        "names": names,
        "low": low.tolist(),
        "high": high.tolist(),
        "rows": rows.round(3).tolist(),
        "mosaics": [mosaic(rows, low, high, most) for most in CELLS],
    }


def mosaic(rows: Any, low: Any, high: Any, most: int) -> dict[str, Any]:
    """A mosaic with at most so many cells in a layer: density and cells."""
    given = {"feature_map": MosaicFeatures(n_cells=most), "random_state": 0}
    model = DMKDE(**given).fit(rows)
    sides = [np.linspace(a, b, NODES[len(low)]) for a, b in zip(low, high, strict=True)]
    nodes = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, len(low))
    return {
        "most": most,
        "density": rounded(model.density(nodes)),
        "outlines": outlines(model) if len(low) == 2 else [],
        "kept": int(model.state_.total.size),
    }


def outlines(model: DMKDE) -> list[Any]:
    """Ellipses of cells that have some weight."""
    cells = model.mosaic()
    heavy = cells.weights > 0.002
    return [rounded(each) for each in cells.outlines(n=40)[heavy]]


def rounded(values: Any) -> Any:
    """Four digits are enough for a picture."""
    if np.ndim(values) == 2:
        return [rounded(each) for each in values]
    return [float(f"{value:.4g}") for value in values]


if __name__ == "__main__":
    main()
