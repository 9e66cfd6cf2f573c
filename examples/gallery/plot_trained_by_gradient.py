"""
Trained by gradient, at a small rank
====================================

Three spirals, and density matrices of rank 30. Averaging spends the rank on what is
frequent; gradient descent spends it on the likelihood.
"""

import matplotlib.pyplot as plt
import numpy as np

from rhokit import DMKDE, DMKDESGD
from rhokit.datasets import spirals

X, _ = spirals(1500, random_state=0)
given = {
    "gamma": 32.0,
    "scale": None,
    "n_components": 200,
    "rank": 30,
    "random_state": 0,
}
one_pass = DMKDE(feature_map="fourier", **given).fit(X[:1000])
trained = DMKDESGD(feature_map="fourier", max_epochs=40, **given).fit(X[:1000])

figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
sides = np.linspace(X.min(), X.max(), 120)
nodes = np.stack(np.meshgrid(sides, sides), axis=-1).reshape(-1, 2)
for ax, model in zip(axes, (one_pass, trained), strict=True):
    ax.pcolormesh(sides, sides, model.density(nodes).reshape(120, 120), cmap="magma_r")
    score = model.score(X[1000:])
    ax.set(title=f"{type(model).__name__}: {score:.2f} nats, held out", aspect="equal")
    ax.set_axis_off()
