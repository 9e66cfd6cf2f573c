"""Densities: rhokit's, and all that we know of that answer the same question.

Every model is given γ (or the bandwidth ``h = 1/√(2γ)`` that belongs to it) and answers
with log-densities. Rows have the identity as their covariance, so that a bandwidth
means the same to all of them.
"""

import math
import time

import numpy as np

from benchmarks.contest import Contestant
from benchmarks.exact import log_mass

N_COMPONENTS = 1024
FEW_COMPONENTS = 256
TREE_TOLERANCE = 1e-2
SKETCH_SIZE = 100
# Points of KDEpy's grid along each column, and the tolerance of the bare transforms.
_GRID_POINTS = {1: 2**14, 2: 2**9}
_BARE_EPS = 1e-9
_MEASURED_ROWS, _MEASURED_QUERIES = 2_000, 4_000


def bandwidth(facts):
    """Standard deviation of the kernel."""
    return 1 / math.sqrt(2 * facts["gamma"])


def logs(densities):
    """Logarithms, minus infinity at zero and below."""
    densities = np.asarray(densities, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(densities, 0))


def _at_most(d):
    """For models of few columns."""

    def takes(facts):
        return None if facts["d"] <= d else f"for {d} columns at most"

    return takes


def _rows_at_most(n, pace):
    """For models that would take minutes: nobody waits for them."""

    def takes(facts):
        return None if facts["n"] <= n else f"{pace}: beyond {n:,} rows not waited for"

    return takes


# ---- rhokit --------------------------------------------------------------------------


class Ours:
    """An estimator of rhokit with γ given."""

    def __init__(self, facts, kind="DMKDE", **parameters):
        import rhokit

        given = {"gamma": facts["gamma"], "scale": None, "random_state": 0}
        self._model = getattr(rhokit, kind)(**given | parameters)

    def fit(self, rows, target=None):
        """Fit."""
        self._model.fit(rows)

    def answer(self, queries):
        """Log-densities."""
        return self._model.score_samples(queries)

    @property
    def columns(self):
        """Size of the map that was fitted."""
        return self._model.feature_map_.n_columns_


def _ours(**parameters):
    return lambda facts: Ours(facts, **parameters)


# ---- exact sums in compiled loops ----------------------------------------------------


class Fused:
    """Exact sums in float32: products of tiles, exponentials while they are cached."""

    def __init__(self, facts, way="product"):
        from benchmarks.rivals import FusedExactKDE

        self._make = lambda rows: FusedExactKDE(rows, facts["gamma"], way)
        self._threads = facts["threads"]

    def fit(self, rows, target=None):
        """Lay the rows out in tiles."""
        self._model = self._make(rows)

    def answer(self, queries):
        """Log-densities."""
        return self._model.score_samples(queries, self._threads)


class FusedSubset(Fused):
    """The same over as many random rows as take the given seconds."""

    def __init__(self, facts):
        super().__init__(facts)
        self._seconds, self._share = facts.get("seconds", 1.0), None
        self._most = facts["most_queries"]

    def prepare(self, rows, queries):
        """Measure the speed of the sums, and see how many rows it allows.

        Twice, the second time with the number that was found first: sums over
        more rows are faster.
        """
        queries = queries[:_MEASURED_QUERIES]
        self._share = min(_MEASURED_ROWS, len(rows))
        for _ in range(2):
            super().fit(rows[: self._share])
            rate = self._share * len(queries) / self._best_of_three(queries)
            allowed = int(self._seconds * rate / self._most)
            self._share = min(max(1, allowed), len(rows))

    def _best_of_three(self, queries):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            self.answer(queries)
            times.append(time.perf_counter() - start)
        return min(times)

    def fit(self, rows, target=None):
        """Draw the rows and lay them out."""
        n = min(len(rows), self._share or len(rows))
        chosen = np.random.default_rng(0).choice(len(rows), n, replace=False)
        self.columns = n
        super().fit(rows[np.sort(chosen)])


# ---- Fourier series ------------------------------------------------------------------


class BareSeries:
    """Two calls of finufft and a Gaussian between them; nothing is checked."""

    def __init__(self, facts):
        import finufft

        self._gamma, d = facts["gamma"], facts["d"]
        self._sum = getattr(finufft, f"nufft{d}d1")
        self._evaluate = getattr(finufft, f"nufft{d}d2")
        self._options = {"eps": _BARE_EPS, "nthreads": facts["threads"]}

    def fit(self, rows, target=None):
        """Coefficients of the density on a box that the kernel does not leave."""
        reach = math.sqrt(math.log(1 / _BARE_EPS) / self._gamma)
        low, high = rows.min(axis=0) - reach, rows.max(axis=0) + reach
        self._low, self._turns = low, 2 * math.pi / (high - low)
        decay = self._turns**2 / (4 * self._gamma)
        highest = np.sqrt(math.log(1 / _BARE_EPS) / decay).astype(int) + 1
        ones = np.ones(len(rows), complex)
        series = self._sum(
            *self._angles(rows), ones, tuple(2 * highest + 1), isign=-1, **self._options
        )
        waves = [
            np.exp(-b * np.arange(-k, k + 1) ** 2.0)
            for b, k in zip(decay, highest, strict=True)
        ]
        spectrum = waves[0] if len(waves) == 1 else np.multiply.outer(*waves)
        self._series = series * spectrum / (len(rows) * np.prod(high - low))

    def answer(self, queries):
        """Log-densities."""
        angles = self._angles(queries)
        return logs(
            self._evaluate(*angles, self._series, isign=1, **self._options).real
        )

    def _angles(self, rows):
        return list(np.ascontiguousarray(((rows - self._low) * self._turns).T))


class GridKDEpy:
    """KDEpy's FFTKDE on its grid, linear interpolation between the points."""

    def __init__(self, facts):
        from KDEpy import FFTKDE

        self._make = lambda: FFTKDE(bw=bandwidth(facts))
        self._points = _GRID_POINTS[facts["d"]]

    def fit(self, rows, target=None):
        """Densities at the points of the grid."""
        from scipy.interpolate import RegularGridInterpolator

        d = rows.shape[1]
        grid, values = self._make().fit(rows).evaluate((self._points,) * d)
        grid = np.reshape(grid, (-1, d))
        axes = [np.unique(column) for column in grid.T]
        self._interpolate = RegularGridInterpolator(
            axes,
            values.reshape([len(axis) for axis in axes]),
            bounds_error=False,
            fill_value=0.0,
        )

    def answer(self, queries):
        """Log-densities."""
        return logs(self._interpolate(queries))


# ---- trees, sums and sketches of other packages --------------------------------------


class TreeKDEpy:
    """KDEpy's TreeKDE, which sums over the rows near a query."""

    def __init__(self, facts):
        from KDEpy import TreeKDE

        self._model = TreeKDE(bw=bandwidth(facts), norm=2)

    def fit(self, rows, target=None):
        """Keep the rows."""
        self._model.fit(rows.astype(np.float64))

    def answer(self, queries):
        """Log-densities."""
        return logs(self._model.evaluate(queries.astype(np.float64)))


class ScikitLearn:
    """KernelDensity over a k-d tree."""

    def __init__(self, facts):
        from sklearn.neighbors import KernelDensity

        self._model = KernelDensity(
            bandwidth=bandwidth(facts), algorithm="kd_tree", rtol=TREE_TOLERANCE
        )

    def fit(self, rows, target=None):
        """Grow the tree."""
        self._model.fit(rows)

    def answer(self, queries):
        """Log-densities."""
        return self._model.score_samples(queries)


class Scipy:
    """gaussian_kde, whose kernel has the rows' covariance: here the identity."""

    def __init__(self, facts):
        from scipy.stats import gaussian_kde

        self._make = lambda rows: gaussian_kde(rows.T, bw_method=bandwidth(facts))

    def fit(self, rows, target=None):
        """Keep the rows and their covariance."""
        self._model = self._make(rows)

    def answer(self, queries):
        """Log-densities."""
        return self._model.logpdf(queries.T)


class Mlpack:
    """mlpack's trees of rows and queries; it reorders the arrays that it is given."""

    def __init__(self, facts):
        from mlpack import kde

        self._kde = kde
        self._options = {"bandwidth": bandwidth(facts), "rel_error": TREE_TOLERANCE}

    def fit(self, rows, target=None):
        """Grow the tree of the rows; one query, since it cannot do without."""
        self._rows = rows.astype(np.float64)  # the tree does not keep them alive
        query = rows[:1].astype(np.float64)
        output = self._kde(reference=self._rows, query=query, **self._options)
        self._tree = output["output_model"]

    def answer(self, queries):
        """Log-densities."""
        queries = queries.astype(np.float64)
        output = self._kde(input_model=self._tree, query=queries, **self._options)
        return logs(np.ravel(output["predictions"]))


class PackageDMKDE:
    """The package dmkde: random Fourier features, a density matrix in C++."""

    def __init__(self, facts):
        from dmkde import DMKDE

        sigma = 1 / math.sqrt(facts["gamma"])  # its overlaps are squared, too
        self._model = DMKDE(feature_dim=N_COMPONENTS, sigma=sigma)
        self._log_mass = log_mass(facts["gamma"], facts["d"])

    def fit(self, rows, target=None):
        """Sum the states."""
        self._model.fit(rows)

    def answer(self, queries):
        """Log-densities."""
        return logs(self._model.score_samples(queries)) - self._log_mass


class Sketch:
    """density_sketch of Apache DataSketches, fed and asked row by row."""

    def __init__(self, facts):
        from datasketches import GaussianKernel, density_sketch

        kernel = GaussianKernel(bandwidth(facts))
        self._make = lambda: density_sketch(SKETCH_SIZE, facts["d"], kernel)
        self._log_mass = log_mass(facts["gamma"], facts["d"])

    def fit(self, rows, target=None):
        """Add the rows."""
        self._sketch = self._make()
        for row in rows.astype(np.float64):
            self._sketch.update(row)

    def answer(self, queries):
        """Log-densities."""
        estimate = self._sketch.get_estimate
        found = [estimate(query) for query in queries.astype(np.float64)]
        return logs(found) - self._log_mass


def _not_chosen(facts):
    """Where "auto" is this very model, it does not take part twice."""
    return None if facts["d"] <= 2 else 'the same as "auto" here'


AUTO = "rhokit auto"
CONTESTANTS = (
    Contestant(AUTO, _ours(n_components=N_COMPONENTS), ours=True),
    Contestant(
        "rhokit landmarks",
        _ours(n_components=N_COMPONENTS, feature_map="landmarks"),
        ours=True,
        takes=_not_chosen,
    ),
    Contestant(
        f"rhokit landmarks, {FEW_COMPONENTS}",
        _ours(n_components=FEW_COMPONENTS, feature_map="landmarks"),
        ours=True,
    ),
    Contestant("rhokit mosaic", _ours(feature_map="mosaic"), ours=True),
    Contestant(
        "rhokit fourier",
        _ours(n_components=N_COMPONENTS, feature_map="fourier"),
        ours=True,
    ),
    Contestant(
        "rhokit quadrature",
        _ours(n_components=N_COMPONENTS, feature_map="quadrature"),
        ours=True,
        takes=_at_most(2),
    ),
    Contestant(
        "linear landmarks",
        _ours(
            kind="MeanEmbeddingKDE", n_components=N_COMPONENTS, feature_map="landmarks"
        ),
    ),
    Contestant("fused exact", Fused, "numba"),
    Contestant("fused exact, same cost", FusedSubset, "numba", after=AUTO),
    Contestant("bare finufft", BareSeries, "finufft", takes=_at_most(2)),
    Contestant("KDEpy FFTKDE", GridKDEpy, "KDEpy", takes=_at_most(2)),
    Contestant("KDEpy TreeKDE", TreeKDEpy, "KDEpy"),
    Contestant("scikit-learn KernelDensity", ScikitLearn, "sklearn"),
    Contestant("scipy gaussian_kde", Scipy, "scipy"),
    Contestant("mlpack kde", Mlpack, "mlpack"),
    Contestant(
        "dmkde",
        PackageDMKDE,
        "dmkde",
        takes=_rows_at_most(10_000, "about 4,000 rows a second"),
    ),
    Contestant(
        "DataSketches density_sketch",
        Sketch,
        "datasketches",
        takes=_rows_at_most(10_000, "about 2,000 rows a second"),
    ),
)
