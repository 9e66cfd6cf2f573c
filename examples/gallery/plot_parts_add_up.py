"""
Parts add up, and rows can be forgotten
=======================================

A model is a sum over rows. Eight stations learn their own rows; the sum of their models
is the model of all rows, whatever the order. Then one of them withdraws.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from rhokit import DMKDE
from rhokit.parallel import merge

rows = load_iris().data[:, [2]]
plan = DMKDE(random_state=0).prepare(rows)  # scaling, bandwidth, map; no rows yet
shares = np.array_split(np.random.default_rng(0).permutation(rows), 8)
parts = [plan.blank().partial_fit(share) for share in shares]
whole = merge(parts)

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for part in parts:
    ax.plot(*part.grid(400), color="0.75", lw=1)
ax.plot(*whole.grid(400), color="#b5382a", lw=2, label="their sum")
ax.set(
    xlabel="length of petals (cm)", ylabel="density", title="Eight parts, one density"
)
ax.legend(frameon=False)

# %%
once = plan.blank().partial_fit(rows)
print(
    "sum of the parts and one fit differ by",
    abs(whole.state_.total - once.state_.total).max(),
)
without = whole.unlearn(shares[0])
print("rows left after one part withdrew:", without.state_.weight)
