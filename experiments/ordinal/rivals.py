"""Other models, fitted to the training rows of one partition and nothing else.

Each is a function ``(rows, codes, seed) -> model``; ``model.predict`` gives values,
which :func:`nearest_codes` makes codes of. What a model leaves open is chosen by
five-fold cross-validation of the absolute error, or by its own likelihood.
"""

import warnings

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from experiments.ordinal.cumulative import OrdinalLogistic
from rhokit import QMOrdinalClassifier, QMRegressor

LEVELS = 5
_FOLDS = 5
# The likelihood of a Gaussian process costs the cube of the rows.
_LIKELIHOOD_ROWS = 400


def nearest_codes(values):
    """Codes of values: the nearest whole number that is one."""
    return np.clip(np.rint(values), 0, LEVELS - 1).astype(int)


def absolute_error(values, codes):
    """Mean distance of the nearest codes from the true ones."""
    return float(np.abs(nearest_codes(values) - codes).mean())


# ---- density matrices by estimation --------------------------------------------------


def qmr_fourier(rows, codes, seed):
    """QMR with the paper's random Fourier features, γ by leave-one-out."""
    return _qmr(rows, codes, seed, feature_map="fourier")


def qmr_default(rows, codes, seed):
    """QMR as rhokit makes it by default."""
    return _qmr(rows, codes, seed)


def _qmr(rows, codes, seed, **options):
    ends = (0, LEVELS - 1)
    model = QMRegressor(
        n_levels=LEVELS, bounds=ends, calibration=None, random_state=seed, **options
    )
    return model.fit(rows, codes)


def ordinal_classifier(rows, codes, seed):
    """Our own extension: the decision is chosen by leave-one-out, too."""
    return QMOrdinalClassifier(random_state=seed).fit(rows, codes)


# ---- others --------------------------------------------------------------------------


def constant(rows, codes, seed):
    """The median of the training codes."""
    return DummyRegressor(strategy="median").fit(rows, codes)


def neighbours(rows, codes, seed):
    """The mean of near rows."""
    most = len(rows) - -(-len(rows) // _FOLDS)
    counts = [k for k in (1, 2, 3, 5, 8, 12, 20) if k <= most]
    grid = {"n_neighbors": counts, "weights": ["uniform", "distance"]}
    return _searched(KNeighborsRegressor(), grid, rows, codes, seed)


def support_vectors(rows, codes, seed):
    """Support vector regression with a Gaussian kernel."""
    widths = [0.1, 0.3, 1.0, 3.0]
    grid = {
        "C": [1.0, 10.0, 100.0],
        "gamma": [width / rows.shape[1] for width in widths],
        "epsilon": [0.1, 0.4],
    }
    return _searched(SVR(), grid, rows, codes, seed)


def boosting(rows, codes, seed):
    """Gradient boosting of histogram trees."""
    model = HistGradientBoostingRegressor(
        learning_rate=0.1, min_samples_leaf=5, random_state=seed
    )
    grid = {"max_iter": [30, 100], "max_leaf_nodes": [3, 10]}
    return _searched(model, grid, rows, codes, seed)


def ordinal_logistic(rows, codes, seed):
    """Proportional odds, linear in the columns."""
    grid = {"penalty": [1e-4, 1e-3, 1e-2, 1e-1, 1.0]}
    return _searched(OrdinalLogistic(LEVELS), grid, rows, codes, seed)


def gaussian_process(rows, codes, seed):
    """A Gaussian process with one width, or one per column: what is likelier."""
    scaler = StandardScaler().fit(rows)
    scaled, d = scaler.transform(rows), rows.shape[1]
    few = np.random.default_rng(seed).permutation(len(rows))[:_LIKELIHOOD_ROWS]
    tried = []
    for widths in (np.sqrt(d), np.full(d, np.sqrt(d))):
        kernel = ConstantKernel() * RBF(widths, (1e-2, 1e3)) + WhiteKernel(0.3)
        process = GaussianProcessRegressor(kernel, normalize_y=True)
        with warnings.catch_warnings():  # widths at a bound: columns that say nothing
            warnings.simplefilter("ignore", ConvergenceWarning)
            tried.append(process.fit(scaled[few], codes[few]))
    likeliest = max(tried, key=lambda each: each.log_marginal_likelihood_value_)
    final = GaussianProcessRegressor(
        likeliest.kernel_, optimizer=None, normalize_y=True
    ).fit(scaled, codes)
    return Pipeline([("scale", scaler), ("model", final)])


def _searched(model, grid, rows, codes, seed):
    """The model of a grid with the least cross-validated error, fitted to all rows."""
    search = GridSearchCV(
        Pipeline([("scale", StandardScaler()), ("model", model)]),
        {f"model__{name}": values for name, values in grid.items()},
        scoring=lambda fitted, rows, codes: (
            -absolute_error(fitted.predict(rows), codes)
        ),
        cv=KFold(_FOLDS, shuffle=True, random_state=seed),
    )
    return search.fit(rows, codes)


MODELS = {
    "QMR, Fourier": qmr_fourier,
    "QMR, default": qmr_default,
    "QMOrdinalClassifier": ordinal_classifier,
    "Gaussian process": gaussian_process,
    "ordinal logistic": ordinal_logistic,
    "SVR": support_vectors,
    "boosting": boosting,
    "k-NN": neighbours,
    "constant": constant,
}
