"""
Intervals that hold what they promise
=====================================

Progress of diabetes, one year on: intervals of 90 % for patients that were held out, by
errors at rows left out in training.
"""

from sklearn.datasets import load_diabetes

from rhokit import QMRegressor
from rhokit.metrics import interval_coverage
from rhokit.plots import IntervalDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = QMRegressor(random_state=0).fit(X[:300], y[:300])
display = IntervalDisplay.from_estimator(model, X[300:], y[300:], coverage=0.9)

inside = interval_coverage(y[300:], model.predict_interval(X[300:], coverage=0.9))
print(f"inside: {inside:.0%} of {len(y) - 300} patients")
