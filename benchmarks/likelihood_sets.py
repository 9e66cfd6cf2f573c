"""The rows of the likelihood section: real tables, split, standardised.

Columns are moved and scaled by the mean and standard deviation of the training rows,
so that log-densities of all sets compare; columns that are constant there are dropped.
MNIST is turned into principal components of the training rows first.

Many columns are whole numbers. A density may put a spike on each of them and is then as
high as its regularisation lets it be. The ``dequantised`` variant of such a set adds
uniform noise of one step, the smallest gap between two values: spikes narrower than
that gain nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.real_data import load_arrays

TEST_SHARE = 0.2
COVER_ROWS = 100_000
QUICK_COVER_ROWS = 20_000
COMPONENTS = 40
DEQUANTISED = "dequantised"
_REGRESSION = "boston", "concrete", "energy", "kin8nm", "wine", "yacht"
# Those with 2,000 rows and more, but for magic_gamma, whose rows are those of MAGIC.
_ADBENCH = (
    "aloi",
    "annthyroid",
    "cardiotocography",
    "cover",
    "donors",
    "http",
    "landsat",
    "mnist",
    "musk",
    "optdigits",
    "satimage-2",
    "shuttle",
    "spambase",
    "thyroid",
    "wilt",
)
# A column is on a lattice if it is whole numbers or has few values for its rows.
_FEW_VALUES = 0.05
_NO_GAP = 1e-6  # of the range: rounding, not a step


@dataclass(frozen=True)
class Table:
    """A set by name.

    Parameters
    ----------
    name : str
        As tables show it.
    file : str
        As :func:`benchmarks.real_data.load_arrays` takes it.
    rows : callable
        Takes the arrays of the file, returns the rows, float64 of shape (n, d).
    cost : float
        Rows times squared columns, in millions: cheap sets are measured first.
    components : int, optional
        How many principal components of the training rows take the columns' place.
    lattice : bool
        Whether some columns are on a lattice, so that there is a dequantised variant.
    """

    name: str
    file: str
    rows: Callable[[dict], np.ndarray]
    cost: float
    components: int | None = None
    lattice: bool = True


@dataclass(frozen=True, eq=False)
class Fold:
    """Standardised rows of one split."""

    train: np.ndarray
    test: np.ndarray


def _features(arrays):
    return arrays["X"].astype(np.float64)


def _with_target(arrays):
    return np.column_stack([_features(arrays), arrays["y"].astype(np.float64)])


def cover_rows(arrays, n=COVER_ROWS):
    """A sample of the rows, the numeric columns."""
    chosen = np.random.default_rng(0).permutation(len(arrays["X"]))[:n]
    return arrays["X"][chosen, :10].astype(np.float64)


def _few_cover(arrays):
    return cover_rows(arrays, QUICK_COVER_ROWS)


def digit_rows(arrays):
    parts = [arrays[f"X_{part}"].reshape(-1, 784) for part in ("train", "test")]
    return np.concatenate(parts).astype(np.float64) / 255


_COSTS = {"aloi": 15, "cover": 2, "donors": 2, "landsat": 8, "mnist": 50, "musk": 84}
_COSTS |= {"optdigits": 20, "satimage-2": 8, "shuttle": 2, "spambase": 14}
_SMOOTH = {"wilt"}  # no column is on a lattice
_QUICK = {"magic", "covtype", "letters", "energy", "adbench wilt"}


def tables(quick):
    """All sets, the cheap ones first; in the quick form few of them."""
    cover = _few_cover if quick else cover_rows
    found = [
        Table("magic", "magic", _features, 1.9, lattice=False),
        Table("covtype", "covtype", cover, 10),
        Table("letters", "letters", _features, 5),
        Table("mnist", "mnist", digit_rows, 112, components=COMPONENTS, lattice=False),
        *(_regression(name) for name in _REGRESSION),
        *(_adbench(name) for name in _ADBENCH),
    ]
    wanted = [t for t in found if not quick or t.name in _QUICK]
    return sorted(wanted, key=lambda table: table.cost)


def _regression(name):
    cost = {"kin8nm": 0.7}.get(name, 0.1)
    return Table(name, f"regression_{name}", _with_target, cost, None, name != "kin8nm")


def _adbench(name):
    cost, lattice = _COSTS.get(name, 0.5), name not in _SMOOTH
    return Table(f"adbench {name}", f"adbench/{name}", _features, cost, None, lattice)


@lru_cache(maxsize=2)
def fold(table, split, dequantised=False):
    """The rows of one split, standardised; the test rows are a fifth.

    Parameters
    ----------
    table : Table
    split : int
        Seed of the split and of the noise.
    dequantised : bool
        Whether columns on a lattice get uniform noise of one step.
    """
    rows = table.rows(load_arrays(table.file))
    rng = np.random.default_rng([split, 17])
    if dequantised:
        rows = with_noise(rows, rng)
    order = rng.permutation(len(rows))
    n_test = round(TEST_SHARE * len(rows))
    test, train = rows[order[:n_test]], rows[order[n_test:]]
    if table.components is not None:
        train, test = principal(train, test, table.components)
    return Fold(*standardised(train, test))


def standardised(train, test):
    """Both by mean and standard deviation of the training rows, without constants."""
    varies = train.min(axis=0) < train.max(axis=0)
    centre, spread = train[:, varies].mean(axis=0), train[:, varies].std(axis=0)
    return tuple(
        np.ascontiguousarray((part[:, varies] - centre) / spread)
        for part in (train, test)
    )


def with_noise(rows, rng):
    """Rows with uniform noise of one step in the columns that are on a lattice."""
    steps = np.array([lattice_step(column) for column in rows.T])
    return rows + steps * rng.random(rows.shape)


def lattice_step(column):
    """The smallest gap between two values of a column on a lattice; 0 of others."""
    values = np.unique(column)
    whole = bool(np.all(values == np.round(values)))
    if len(values) < 2 or not (whole or len(values) <= _FEW_VALUES * len(column)):
        return 0.0
    gaps = np.diff(values)
    return float(gaps[gaps > _NO_GAP * (values[-1] - values[0])].min())


def principal(train, test, count):
    centre = train.mean(axis=0)
    train, test = train - centre, test - centre
    _, vectors = np.linalg.eigh(train.T @ train)
    axes = vectors[:, : -count - 1 : -1]
    return train @ axes, test @ axes
