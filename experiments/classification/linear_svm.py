"""LinearSVC's own problem, solved for all classes at once.

liblinear takes one class after the other. Products of matrices over all classes, in
coordinates in which the problem is nearly round, reach the same optimum sooner (two
to five times on 2,400 rows of Letters), which is what lets the baseline be tuned as
thoroughly as our own models.
"""

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin

_MOST_STEPS = 300


class SquaredHingeSVM(ClassifierMixin, BaseEstimator):
    r"""A linear support vector machine per class, against all others.

    .. math:: \min_{w, b} \tfrac12 (\|w\|^2 + b^2) + C \sum_i
              \max(0, 1 - y_i (w^\top x_i + b))^2

    for each class, by L-BFGS: what ``LinearSVC(C=C)`` minimises. Of two classes there
    is one such problem.

    Parameters
    ----------
    C : float, default=1.0
    tol : float, default=1e-4
        Relative change of the objective that ends the search; accuracies hardly change
        below it.
    """

    def __init__(self, C=1.0, tol=1e-4):
        self.C = C
        self.tol = tol

    def fit(self, X, y):
        """Fit to rows (n, D) and labels (n,)."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        n_problems = len(self.classes_) if len(self.classes_) > 2 else 1
        wanted = np.arange(len(self.classes_))[-n_problems:]
        signs = np.where(codes[:, None] == wanted, 1, -1).astype(X.dtype)  # (n, K)
        rows = np.column_stack([X, np.ones(len(X), X.dtype)])  # (n, D + 1)
        basis = _round_coordinates(rows, self.C)
        found = minimize(
            _loss,
            np.zeros(rows.shape[1] * n_problems),
            (basis, rows, signs, self.C),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _MOST_STEPS, "ftol": self.tol},
        )
        self.weights_ = basis @ found.x.reshape(rows.shape[1], n_problems)
        return self

    def decision_function(self, X):
        """Values (n, K), or (n,) of two classes: the larger, the likelier."""
        values = X @ self.weights_[:-1] + self.weights_[-1]
        return values if values.shape[1] > 1 else values[:, 0]

    def predict(self, X):
        """The likeliest labels, shape (n,)."""
        values = self.decision_function(X)
        codes = values > 0 if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[codes.astype(int)]


def _round_coordinates(rows, penalty):
    """The inverse root (D + 1, D + 1) of the curvature where all rows fall short."""
    gram = (rows.T @ rows).astype(np.float64)
    values, vectors = np.linalg.eigh(gram)
    return vectors / np.sqrt(1 + 2 * penalty * np.maximum(values, 0))


def _loss(flat, basis, rows, signs, penalty):
    """The objectives' sum, and its gradient; products in the rows' precision."""
    weights = basis @ flat.reshape(len(basis), -1)  # (D + 1, K)
    margins = signs * (rows @ weights.astype(rows.dtype))  # (n, K)
    short = np.maximum(1 - margins, 0)
    value = 0.5 * np.sum(weights**2) + penalty * np.sum(short**2, dtype=np.float64)
    gradient = weights - 2 * penalty * (rows.T @ (signs * short))
    return value, (basis.T @ gradient).ravel()
