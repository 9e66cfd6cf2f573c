"""
A whole distribution for each prediction
========================================

Where a car's miles per gallon may lie, by quantiles over one column and by the density
of single cars.
"""

import matplotlib.pyplot as plt
import numpy as np
from vega_datasets import data

from rhokit import QMRegressor

cars = data.cars()[["Horsepower", "Miles_per_Gallon"]].dropna().astype(float)
X, y = cars[["Horsepower"]].to_numpy(), cars["Miles_per_Gallon"].to_numpy()
model = QMRegressor(random_state=0).fit(X, y)

power = np.linspace(46, 225, 200)
levels = [0.05, 0.25, 0.5, 0.75, 0.95]
lines = model.predict_quantiles(power[:, None], levels)
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.scatter(X[:, 0], y, s=8, color="0.5")
ax.fill_between(power, lines[:, 0], lines[:, 4], color="#2c5d8a", alpha=0.15)
ax.fill_between(power, lines[:, 1], lines[:, 3], color="#2c5d8a", alpha=0.25)
ax.plot(power, lines[:, 2], color="#2c5d8a")
ax.set(xlabel="horsepower", ylabel="miles per gallon")
ax.set_title("Median, and intervals of 50 % and 90 %")
