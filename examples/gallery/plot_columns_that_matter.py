"""
Which columns matter
====================

A kernel counts all columns alike unless told otherwise. ``scale="learned"`` finds a
weight for each from predictions of rows that are left out. Here miles per gallon of 392
cars are predicted from their data, with and without.
"""

import numpy as np
import pandas as pd
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from vega_datasets import data

from rhokit import QMRegressor
from rhokit.plots import ImportanceDisplay

cars = data.cars().dropna()
X = cars[["Cylinders", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration"]]
X = X.assign(Year=pd.DatetimeIndex(cars["Year"]).year).astype(float)
X["noise"] = np.random.default_rng(0).normal(size=len(X))
train, test, y, truth = train_test_split(X, cars["Miles_per_Gallon"], random_state=0)

for scale in ("std", "learned"):
    model = QMRegressor(feature_map="landmarks", scale=scale, random_state=0)
    model.fit(train, y)
    error = root_mean_squared_error(truth, model.predict(test))
    print(f"scale={scale!r}: an error of {error:.2f} miles per gallon at new cars")

# %%
# Of a weight per column, that of noise is nearly nothing.

ImportanceDisplay.from_estimator(model)
