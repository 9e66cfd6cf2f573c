"""
The density of two columns
==========================

Two measurements of 569 tumours: contours that hold shares of the rows, and the rows
that are least likely. Scaling and bandwidth are chosen by how well rows are told that
were left out.
"""

from sklearn.datasets import load_breast_cancer

from rhokit import DMKDE
from rhokit.plots import DensityDisplay

X = load_breast_cancer(as_frame=True).data[["mean radius", "mean texture"]]
model = DMKDE(random_state=0).fit(X)
display = DensityDisplay.from_estimator(model, X=X)
display.ax_.set_title("Tumours: size and texture")

# %%
# Two columns are kept as a Fourier series on a grid: exact kernel density estimation to
# eight digits, in this many numbers.

print(
    f"{model.state_.total.size} coefficients for {len(X)} rows, γ = {model.gamma_:.2f}"
)
