"""Draws ``docs/images/circuits.png``: shots of circuits beside the exact density.

Run it from the repository's root:

    python docs/pictures/circuits.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from rhokit import DMKDE
from rhokit.datasets import bimodal
from rhokit.quantum import CircuitModel, Depolarising

TARGET = Path(__file__).parents[1] / "images" / "circuits.png"
SHOTS, NOISE = 1000, Depolarising()
BARS, LINE, NOISY = "#9dbbd6", "#222222", "#b5382a"


def main() -> None:
    """Run the circuits of a grid of rows, and draw what they say."""
    rows = bimodal(2000, random_state=0)
    model = DMKDE(feature_map="landmarks", n_components=16, rank=8, random_state=0)
    quantum = CircuitModel(model.fit(rows))
    x = np.linspace(rows.min() - 0.5, rows.max() + 0.5, 40)[:, None]
    run = quantum.run(x, shots=SHOTS, random_state=0)
    noisy = quantum.run(x, noise=NOISE)
    fine = np.linspace(x[0, 0], x[-1, 0], 400)[:, None]

    figure = Figure(figsize=(8, 3.6), layout="constrained", facecolor="white")
    axes = figure.subplots()
    width = 0.8 * (x[1, 0] - x[0, 0])
    label = f"{SHOTS:,} shots for each bar, ± one standard error"
    style = {"color": BARS, "ecolor": "#4a6a86", "error_kw": {"lw": 1}}
    bars = {"width": width, "yerr": run.density_error, "label": label, **style}
    axes.bar(x[:, 0], run.density, **bars)
    axes.plot(fine, model.density(fine), color=LINE, label="density of the model")
    label = "circuits with noise, without end of shots"
    axes.plot(x[:, 0], noisy.density, ":", color=NOISY, label=label)
    axes.set(xlabel="x", ylabel="density", ylim=(0, None))
    axes.set_title(str(quantum.resources()), loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(TARGET, dpi=130)


if __name__ == "__main__":
    main()
