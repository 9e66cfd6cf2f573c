"""Sets of the experiments: their arrays, and their classes as splits."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.openml import DataNotAvailable, digest
from benchmarks.real_data import (
    CLASS_SETS,
    LETTERS_TRAINING_ROWS,
    Split,
    load_arrays,
    official_split,
    random_split,
)

_FOREST_ROWS = 100
_FOREST_TRAINING_ROWS = 67
_FOREST_DIGEST = "cf11c96a0b9f08b72edd43bd956aea7a8fdb235b51620b55bf7d3d519d7274be"
_COVTYPE_TRAINING_SHARE = 0.7


def load(name: str) -> dict[str, np.ndarray]:
    """All arrays of a set, from the folder of data, the cache, or OpenML.

    Raises
    ------
    DataNotAvailable
        Where none of them has the set; the text says what to do.
    """
    return load_arrays(name, fetch=True)


def load_split(name: str, seed: int = 0) -> Split:
    """A set of :data:`SPLITS` as a split of float32 rows, not yet scaled.

    Images are flat and in [0, 1] by the largest value a pixel can have; other rows
    have the values of the file. :func:`unit_box` scales by column.

    Parameters
    ----------
    name : str
        One of :data:`SPLITS`.
    seed : int
        Of the random splits; official splits do not change with it.
    """
    if name not in SPLITS:
        raise ValueError(f"name must be one of {', '.join(SPLITS)}; got {name!r}")
    source, split = SPLITS[name]
    return split(load(source), seed)


def unit_box(split: Split) -> Split:
    """Each column scaled to [0, 1] by its range over the training rows.

    ``x' = (x - min) / (max - min)``, with minimum and maximum of the training rows
    alone: test rows may leave the box. A column that is constant over the training
    rows says nothing and becomes 0, in test rows, too.
    """
    low = split.train_rows.min(axis=0)  # (d,)
    width = split.train_rows.max(axis=0) - low  # (d,)
    varies = width > 0
    per_unit = np.divide(1, width, out=np.zeros_like(width), where=varies)

    def scaled(rows: np.ndarray) -> np.ndarray:
        return (rows - low) * per_unit

    return replace(
        split, train_rows=scaled(split.train_rows), test_rows=scaled(split.test_rows)
    )


def _letters(arrays: dict, seed: int) -> Split:
    return random_split(arrays["X"], arrays["y"], LETTERS_TRAINING_ROWS, seed)


def _usps(arrays: dict, seed: int) -> Split:
    return CLASS_SETS["usps"](arrays)


def _usps_random(arrays: dict, seed: int) -> Split:
    """All rows shuffled; the parts keep the sizes of the official ones."""
    official = CLASS_SETS["usps"](arrays)
    rows = np.concatenate([official.train_rows, official.test_rows])
    labels = np.concatenate([official.train_target, official.test_target])
    return random_split(rows, labels, len(official.train_rows), seed)


def _mnist(arrays: dict, seed: int) -> Split:
    return CLASS_SETS["mnist"](arrays)


def _mnist_4_9(arrays: dict, seed: int) -> Split:
    """The official parts with the digits 4 and 9 alone."""
    chosen = {}
    for part in ("train", "test"):
        kept = np.isin(arrays[f"y_{part}"], (4, 9))
        chosen |= {f"{of}_{part}": arrays[f"{of}_{part}"][kept] for of in "Xy"}
    return official_split(chosen, 255)


def _cifar10(arrays: dict, seed: int) -> Split:
    return official_split(arrays, 255)


def _gisette(arrays: dict, seed: int) -> Split:
    return official_split(arrays, 999)


def _forest_100(arrays: dict, seed: int) -> Split:
    """What the paper calls Forest: the first 100 rows, where three classes occur."""
    rows, labels = arrays["X"][:_FOREST_ROWS], arrays["y"][:_FOREST_ROWS]
    if digest(rows.astype(np.int16), labels.astype(np.uint8)) != _FOREST_DIGEST:
        raise DataNotAvailable(
            "forest_100: covtype is there, but its rows are not in the order of UCI; "
            "let RHOKIT_DATA name a folder with a covtype.npz that keeps it"
        )
    return random_split(rows, labels, _FOREST_TRAINING_ROWS, seed)


def _covtype(arrays: dict, seed: int) -> Split:
    n_train = round(_COVTYPE_TRAINING_SHARE * len(arrays["X"]))
    return random_split(arrays["X"], arrays["y"], n_train, seed)


# Of each split: the set its rows come from, and how they are split.
SPLITS: dict[str, tuple[str, Callable[[dict, int], Split]]] = {
    "letters": ("letters", _letters),
    "usps": ("usps", _usps),
    "usps_random": ("usps", _usps_random),
    "mnist": ("mnist", _mnist),
    "mnist_4_9": ("mnist", _mnist_4_9),
    "cifar10": ("cifar10", _cifar10),
    "forest_100": ("covtype", _forest_100),
    "covtype": ("covtype", _covtype),
    "gisette": ("gisette", _gisette),
}
