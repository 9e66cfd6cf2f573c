"""
What follows from what: conditional densities
=============================================

One density of all columns answers for any of them, given any others. Here: how far a
car goes on a gallon, given its weight and power.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from vega_datasets import data

from rhokit import DMKDE

COLUMNS = ["Miles_per_Gallon", "Horsepower", "Weight_in_lbs", "Acceleration"]
cars = data.cars()[COLUMNS].dropna().astype(float)
model = DMKDE(random_state=0).fit(cars)

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
miles = pd.DataFrame({"Miles_per_Gallon": np.linspace(5, 50, 300)})
for weight, power in [(2200, 70), (3000, 100), (4200, 160)]:
    given = model.conditional({"Weight_in_lbs": weight, "Horsepower": power})
    density = given.marginal(["Miles_per_Gallon"]).density(miles)
    ax.fill_between(
        miles.squeeze(), density, alpha=0.4, label=f"{weight} lbs, {power} hp"
    )
ax.set(xlabel="miles per gallon", ylabel="density", yticks=[])
ax.set_title("One model of 392 cars, asked three times")
ax.legend(frameon=False)
