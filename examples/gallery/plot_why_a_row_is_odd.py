"""
Why a row is odd
================

A detector gives each row a p-value, and says which columns make it odd, given which
others: a value may be common by itself and still improbable beside the rest of its row.
Here one measurement of a tumour is swapped for that of another one.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

from rhokit import DMKDOutlierDetector
from rhokit.plots import ExplanationDisplay

X = load_breast_cancer(as_frame=True).data.iloc[:, :10]
detector = DMKDOutlierDetector(training="clean", random_state=0).fit(X[:500])

row = X.iloc[[510]].copy()
print("p-value as measured:", detector.p_values(row).round(3))
row["mean perimeter"] = np.quantile(X["mean perimeter"], 0.9)
print("with a perimeter of another:", detector.p_values(row).round(3))

# %%
# The perimeter by itself is nothing special, but it does not go with the radius.

print(detector.explain(row))
ExplanationDisplay.from_estimator(detector, row)
