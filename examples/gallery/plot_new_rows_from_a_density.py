"""
New rows from a density
=======================

Rows drawn from the model of 342 penguins, beside the penguins: species, islands and
measurements go together as they did.
"""

import matplotlib.pyplot as plt
from palmerpenguins import load_penguins

from rhokit import DMKDE

COLUMNS = ["species", "bill_length_mm", "bill_depth_mm", "flipper_length_mm"]
penguins = load_penguins()[COLUMNS].dropna()
penguins["species"] = penguins["species"].astype("category")
model = DMKDE(random_state=0).fit(penguins)
drawn = model.sample(len(penguins), random_state=0)

figure, axes = plt.subplots(
    1, 2, figsize=(9, 3.8), sharex=True, sharey=True, layout="constrained"
)
tables = {"penguins": penguins, "drawn from the model": drawn}
for ax, (title, rows) in zip(axes, tables.items(), strict=True):
    for kind in penguins["species"].cat.categories:
        some = rows["species"] == kind
        x, y = rows["bill_length_mm"][some], rows["bill_depth_mm"][some]
        ax.scatter(x, y, s=10, alpha=0.7, label=kind)
    ax.set(title=title, xlabel="length of the bill (mm)")
axes[0].set_ylabel("depth of the bill (mm)")
axes[0].legend(frameon=False)
