"""
Bandwidths, by rule and by leaving out
======================================

Scott's rule is made for one bell. Waiting for a flower's petals to be measured, there
are two heaps: the bandwidth by leave-one-out, rhokit's default, follows both.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from rhokit import DMKDE

petals = load_iris().data[:, [2]]
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.hist(petals[:, 0], bins=40, density=True, color="0.88")
for gamma in ("loo", "sheather-jones", "scott"):
    model = DMKDE(gamma=gamma, random_state=0).fit(petals)
    score = model.score_samples(petals, leave_one_out=True).mean()
    ax.plot(*model.grid(512), label=f"{gamma}: {score:.3f} nats, left out")
ax.set(xlabel="length of petals (cm)", ylabel="density", title="150 irises")
ax.legend(frameon=False)
