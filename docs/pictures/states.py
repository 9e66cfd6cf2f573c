"""Draws ``docs/images/states.png``: rows, their states, and what their matrix measures.

Run it from the repository's root:

    python docs/pictures/states.py
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

TARGET = Path(__file__).parents[1] / "images" / "states.png"
INK, STATES, ROWS = "#222222", "#b5382a", "#2c5d8a"
OMEGA = 0.8
X = np.array([-0.7, -0.35, -0.2, 0.0, 0.1, 0.25, 0.5, 1.4])


def states(x: Any) -> Any:
    """φ(x) of numbers (n,), shape (n, 2)."""
    return np.stack([np.cos(OMEGA * x), np.sin(OMEGA * x)], axis=1)


def main() -> None:
    """Draw and save."""
    phi = states(X)
    rho = phi.T @ phi / len(X)
    figure = Figure(figsize=(10, 3.2), layout="constrained", facecolor="white")
    line, plane, density = figure.subplots(1, 3)
    draw_rows(line)
    draw_states(plane, phi, rho)
    draw_density(density, rho)
    for axes, title in (
        (line, "rows x"),
        (plane, "states φ(x), and their matrix ρ"),
        (density, "φ(x)ᵀ ρ φ(x)"),
    ):
        axes.set_title(title, loc="left", fontsize=11, color=INK)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_yticks([])
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET, dpi=130)


def draw_rows(axes: Any) -> None:
    """Numbers on a line."""
    axes.plot(X, np.zeros_like(X), "o", color=ROWS, ms=7)
    axes.axhline(0, color="0.7", lw=1, zorder=0)
    axes.set(xlim=(-2, 2.6), ylim=(-1, 1))


def draw_states(axes: Any, phi: Any, rho: Any) -> None:
    """Arrows of length one, and the ellipse that ρ makes of the circle."""
    angles = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    axes.plot(*circle, color="0.8", lw=1)
    for arrow in phi:
        axes.annotate(
            "", arrow, (0, 0), arrowprops={"arrowstyle": "->", "color": ROWS, "lw": 1.3}
        )
    values, vectors = np.linalg.eigh(rho)
    axes.fill(*(vectors * np.sqrt(values) @ circle), color=STATES, alpha=0.3, lw=0)
    axes.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), xticks=[])
    axes.spines["bottom"].set_visible(False)


def draw_density(axes: Any, rho: Any) -> None:
    """What the matrix measures."""
    x = np.linspace(-2, 2.6, 300)
    phi = states(x)
    measured = np.einsum("ni,ij,nj->n", phi, rho, phi)
    axes.fill_between(x, measured, color=STATES, alpha=0.3, lw=0)
    axes.plot(x, measured, color=STATES)
    axes.plot(X, np.zeros_like(X), "o", color=ROWS, ms=5)
    axes.set(xlim=(-2, 2.6), ylim=(-0.03, 1))


if __name__ == "__main__":
    main()
