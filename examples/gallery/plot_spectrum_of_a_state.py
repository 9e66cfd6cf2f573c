"""
How much a density matrix holds
===============================

The eigenvalues of a density matrix say how many dimensions a class of data takes:
digits, one matrix each. What lies below is what a lower rank gives up.
"""

from sklearn.datasets import load_digits

from rhokit import DMKDClassifier
from rhokit.plots import SpectrumDisplay

X, y = load_digits(return_X_y=True)
few = y < 4
model = DMKDClassifier(feature_map="landmarks", n_components=256, random_state=0)
model.fit(X[few], y[few])
SpectrumDisplay.from_estimator(model)
