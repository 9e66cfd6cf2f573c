"""Real data with their splits, read from a folder outside the repository.

The folder is what ``RHOKIT_DATA`` names, or ``../shared/data`` beside the repository.
Its files, one ``.npz`` per set, are not part of the project. What it does not hold is
fetched by :mod:`benchmarks.openml`, but only where this is asked for.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import openml

VARIABLE = "RHOKIT_DATA"
_ROOT = Path(__file__).resolve().parents[1]
LETTERS_TRAINING_ROWS = 14_000


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows to be judged by, with their targets."""

    train_rows: np.ndarray
    train_target: np.ndarray
    test_rows: np.ndarray
    test_target: np.ndarray

    def fewer(self, n, seed=0):
        """The same test rows, with only ``n`` of the training rows, at random."""
        chosen = np.random.default_rng(seed).permutation(len(self.train_rows))[:n]
        return replace(
            self,
            train_rows=self.train_rows[chosen],
            train_target=self.train_target[chosen],
        )


def data_folder():
    """Where the data are, as a path; None where there are none."""
    given = os.environ.get(VARIABLE)
    folder = Path(given) if given else _ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def missing(name):
    """Why a set cannot be read, in words; None if it can."""
    folder = data_folder()
    if folder is None:
        return f"no data: set {VARIABLE} to the folder that holds them"
    file = _file_of(name)
    return None if (folder / file).is_file() else f"no data: {file} is not there"


def readable(names):
    """Those of the sets that are there; of the others, say on stderr why not."""
    for name in names:
        reason = missing(name)
        if reason is None:
            yield name
        else:
            print(f"  {name} left out: {reason}", file=sys.stderr)


def load_classes(name):
    """A set of :data:`CLASS_SETS` as a split of float32 rows."""
    return CLASS_SETS[name](load_arrays(name))


def load_partitions(name, target, seed=0):
    """The partitions of an ordinal set as splits, training rows in random order.

    The files hold the rows sorted by class.

    Parameters
    ----------
    name : str
        One of :data:`ORDINAL_SETS`.
    target : {"y_ordinal", "y_continuous"}
    seed : int
    """
    arrays = load_arrays(name)
    rows, values = arrays["X"], arrays[target]
    rng = np.random.default_rng(seed)
    return [
        Split(rows[train], values[train], rows[test], values[test])
        for train, test in zip(
            map(rng.permutation, arrays["train_index"]),
            arrays["test_index"],
            strict=True,
        )
    ]


def random_split(rows, target, n_train, seed=0):
    """Float32 rows in a seeded order, the first ``n_train`` of them to learn from."""
    order = np.random.default_rng(seed).permutation(len(rows))
    rows, target = rows.astype(np.float32)[order], target[order]
    return Split(rows[:n_train], target[:n_train], rows[n_train:], target[n_train:])


def official_split(arrays, largest):
    """Training and test part as published, flat float32 rows in [0, 1].

    Parameters
    ----------
    arrays : dict
        ``X_train``, ``y_train``, ``X_test``, ``y_test``.
    largest : float
        The largest value there can be; it becomes 1.
    """

    def rows(part):
        values = arrays[f"X_{part}"]
        return (values.reshape(len(values), -1) / largest).astype(np.float32)

    return Split(rows("train"), arrays["y_train"], rows("test"), arrays["y_test"])


def _usps(arrays):
    return official_split(arrays, 2000)


def _mnist(arrays):
    return official_split(arrays, 255)


def _letters(arrays):
    return random_split(arrays["X"], arrays["y"], LETTERS_TRAINING_ROWS)


CLASS_SETS: dict[str, Callable[[dict], Split]] = {
    "usps": _usps,
    "letters": _letters,
    "mnist": _mnist,
}
ORDINAL_SETS = (
    "machine_cpu",
    "stocks",
    "auto_mpg",
    "wisconsin",
    "abalone",
    "boston_housing",
    "diabetes",
    "pyrimidines",
    "triazines",
)


def load_arrays(name, fetch=False):
    """All arrays of a file of real data, by name.

    Parameters
    ----------
    name : str
    fetch : bool, default=False
        Whether a set that the folder does not hold is taken from the cache or from
        OpenML; :class:`benchmarks.openml.DataNotAvailable` if that fails.
    """
    reason = missing(name)
    if reason is not None and fetch:
        return openml.fetch(Path(_file_of(name)).stem)
    if reason is not None:
        raise FileNotFoundError(reason)
    with np.load(data_folder() / _file_of(name), allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def _file_of(name):
    if name in ORDINAL_SETS:
        return f"ordinal_{name}.npz"
    return "density_magic.npz" if name == "magic" else f"{name}.npz"
