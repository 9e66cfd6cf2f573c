"""
The cells of a mosaic
=====================

Of three columns and more a density is a mosaic: layers of cells, each a small density
matrix with a mean and a covariance, mixed by what held-out rows say. These are the
cells behind the marginal of two columns of scikit-learn's wines.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from sklearn.datasets import load_wine

from rhokit import DMKDE

COLUMNS = ["flavanoids", "color_intensity"]
X = load_wine(as_frame=True).data[[*COLUMNS, "alcohol", "hue"]]
pair = DMKDE(random_state=0).fit(X).marginal(COLUMNS)
cells = pair.mosaic()

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.scatter(*X[COLUMNS].to_numpy().T, s=8, color="0.6")
strength = 0.1 + 0.9 * np.sqrt(cells.weights / cells.weights.max())
ellipses = LineCollection(list(cells.outlines()), colors="#b5382a", alpha=strength)
ax.add_collection(ellipses)
ax.set(xlabel=COLUMNS[0], ylabel=COLUMNS[1], xlim=(0, 5.5), ylim=(0, 14))
ax.set_title(f"178 wines, and the {len(cells.weights)} cells of their density")
