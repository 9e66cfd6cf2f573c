"""The rows of the supervised section: real sets of values and of classes, with splits.

Values have the 20 splits on which probabilistic regression is usually reported. Classes
have the split that was published, or seeded ones: a share of the rows is held out, with
as many of each class as there are in all where anomalies are rare.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.contest import Case
from benchmarks.real_data import CLASS_SETS, Split, load_arrays, random_split

VALUES, CLASSES = "values", "classes"
N_SPLITS = 20
SEEDS = 3
COVER_ROWS, COVER_JUDGES = 100_000, 50_000
COVER = "covtype"
_HELD_OUT = 0.1
_ADBENCH_HELD_OUT = 0.3
_QUICK_ROWS = 2_000
_REGRESSION = "yacht", "boston", "energy", "concrete", "wine", "kin8nm"
# Those with 2,000 rows and more, in the order of what they cost.
_ADBENCH = (
    "cardiotocography",
    "thyroid",
    "wilt",
    "annthyroid",
    "http",
    "satimage-2",
    "landsat",
    "shuttle",
    "cover",
    "donors",
    "magic_gamma",
    "spambase",
    "optdigits",
    "aloi",
    "musk",
    "mnist",
)
_QUICK = {"yacht", "adbench wilt", "letters"}


@dataclass(frozen=True)
class Set:
    """A set by name.

    Parameters
    ----------
    name : str
        As tables show it.
    kind : {"values", "classes"}
    file : str
        As :func:`benchmarks.real_data.load_arrays` takes it.
    split : callable
        Takes the arrays of the file and the number of a split, returns the split.
    n_splits : int
    late : bool
        Whether it takes so long that all others come first.
    """

    name: str
    kind: str
    file: str
    split: Callable[[dict, int], Split]
    n_splits: int
    late: bool = False


@dataclass(frozen=True, eq=False)
class Group:
    """Some splits of a set, which a contestant learns one after the other.

    Parameters
    ----------
    given : Set
    numbers : tuple of int
        Of the splits.
    splits : list of Split
        Labels are places in ``labels``.
    labels : array or None
        Of classes, sorted.
    """

    given: Set
    numbers: tuple
    splits: list
    labels: np.ndarray | None = None

    @property
    def sizes(self):
        """Rows and columns of a split, and rows that it is judged by."""
        first = self.splits[0]
        n, d = first.train_rows.shape
        return {"n": n, "d": d, "n_test": len(first.test_rows)}

    def case(self):
        """For the contest: the number of its split is in front of every row.

        A query of values has its target at the end, without which there is no density
        of it; models are not to look at it.
        """
        of_values = self.given.kind == VALUES
        rows = [split.train_rows for split in self.splits]
        queries = [
            np.column_stack([split.test_rows, split.test_target])
            if of_values
            else split.test_rows
            for split in self.splits
        ]
        facts = {"n_fit": self.sizes["n"]}
        if self.labels is not None:
            facts["classes"] = len(self.labels)
        target = np.concatenate([split.train_target for split in self.splits])
        return Case(
            self.given.name, self._tagged(rows), self._tagged(queries), target, facts
        )

    def _tagged(self, parts):
        pairs = zip(self.numbers, parts, strict=True)
        return np.concatenate([np.insert(rows, 0, i, axis=1) for i, rows in pairs])


def load(given, numbers, quick=False):
    """Some splits of a set; in the quick form few rows of each."""
    arrays = load_arrays(given.file)
    splits = [given.split(arrays, number) for number in numbers]
    if quick:
        splits = [split.fewer(_QUICK_ROWS) for split in splits]
    if given.kind == VALUES:
        return Group(given, tuple(numbers), splits)
    both = [part for s in splits for part in (s.train_target, s.test_target)]
    labels = np.unique(np.concatenate(both))
    return Group(given, tuple(numbers), [_coded(s, labels) for s in splits], labels)


def _coded(split, labels):
    train, test = (
        np.searchsorted(labels, part)
        for part in (split.train_target, split.test_target)
    )
    return Split(split.train_rows, train, split.test_rows, test)


def sets(quick):
    """All sets, the cheap ones of each kind first; in the quick form few of them."""
    found = [
        *(
            Set(name, VALUES, f"regression_{name}", _published, N_SPLITS)
            for name in _REGRESSION
        ),
        *(
            Set(f"adbench {name}", CLASSES, f"adbench/{name}", _stratified, SEEDS)
            for name in _ADBENCH
        ),
        Set("usps", CLASSES, "usps", _official("usps"), 1),
        Set("letters", CLASSES, "letters", _official("letters"), 1),
        Set(f"{COVER} {COVER_ROWS:,}", CLASSES, COVER, _some_cover, 1),
        Set("mnist", CLASSES, "mnist", _official("mnist"), 1),
        Set(f"{COVER}, all rows", CLASSES, COVER, _all_cover, 1, late=True),
    ]
    return [each for each in found if not quick or each.name in _QUICK]


def _published(arrays, number):
    """A split of a set of values; raw numbers."""
    rows, values = arrays["X"].astype(np.float64), arrays["y"].astype(np.float64)
    train, test = (arrays[f"{part}_index"][number] for part in ("train", "test"))
    return Split(rows[train], values[train], rows[test], values[test])


def _official(name):
    """The split of letters (seeded), USPS or MNIST."""
    return lambda arrays, number: CLASS_SETS[name](arrays)


def _stratified(arrays, number):
    """As many anomalies in both parts, for their number of rows; seeded."""
    from sklearn.model_selection import train_test_split

    rows, labels = arrays["X"].astype(np.float32), arrays["y"]
    train, test, train_labels, test_labels = train_test_split(
        rows, labels, test_size=_ADBENCH_HELD_OUT, stratify=labels, random_state=number
    )
    return Split(train, train_labels, test, test_labels)


def _some_cover(arrays, number):
    """A sample of cover types, and another one to judge by."""
    order = np.random.default_rng(number).permutation(len(arrays["X"]))
    order = order[: COVER_ROWS + COVER_JUDGES]
    rows, labels = arrays["X"][order].astype(np.float32), arrays["y"][order]
    n = len(order) * COVER_ROWS // (COVER_ROWS + COVER_JUDGES)
    return Split(rows[:n], labels[:n], rows[n:], labels[n:])


def _all_cover(arrays, number):
    """All cover types; a tenth is held out."""
    n = len(arrays["X"])
    return random_split(arrays["X"], arrays["y"], n - round(_HELD_OUT * n), number)
