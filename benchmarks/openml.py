"""Sets that are on OpenML: fetched when asked for, checked, and kept in a cache.

What OpenML serves is brought into the arrays of the prepared files, and taken only if
its checksum is theirs. The cache is the folder that ``RHOKIT_CACHE`` names, or
``~/.cache/rhokit``. Only :func:`fetch` reaches for the network.
"""

import hashlib
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import product
from pathlib import Path
from string import ascii_uppercase
from tempfile import TemporaryDirectory

import numpy as np
from scipy.sparse import issparse

CACHE_VARIABLE = "RHOKIT_CACHE"
# What a download, a parser or a full disk may raise; OpenML's own are ValueErrors.
_TROUBLES = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    ImportError,
    HTTPException,
    zlib.error,
    zipfile.BadZipFile,
)


class DataNotAvailable(Exception):
    """A set cannot be had; the text says which, why, and what to do."""


def fetch(name):
    """All arrays of a set by name, from the cache or else from OpenML.

    Parameters
    ----------
    name : str
        As the prepared file is called, without ``.npz``.

    Raises
    ------
    DataNotAvailable
        If the set is not on OpenML, cannot be reached, or is not the one expected.
    """
    if name not in RECIPES:
        raise DataNotAvailable(f"{name}: {_why_no_recipe(name)}; {_advice(name)}")
    recipe = RECIPES[name]
    cached = cache_folder() / f"{name}.npz"
    try:
        return _read_cache(recipe, cached) or _download(recipe, cached)
    except _TROUBLES as error:
        source = f"data set {recipe.data_id} of OpenML"
        reason = f"{source}: {type(error).__name__}: {error}"
        raise DataNotAvailable(
            f"{name}: {reason}. Try again with a network, or else: {_advice(name)}"
        ) from error


def cache_folder():
    """Where fetched sets are kept, as a path; it need not be there yet."""
    given = os.environ.get(CACHE_VARIABLE)
    return Path(given or "~/.cache/rhokit").expanduser()


def digest(rows, labels):
    """SHA-256 of rows with their labels, the same in whatever order they come.

    Each row with its label has a digest of its own; what is returned is the digest of
    these, sorted.

    Parameters
    ----------
    rows : ndarray of shape (n, ...)
    labels : ndarray of shape (n,)
    """
    flat = np.column_stack([_bytes_of(rows), _bytes_of(labels)])  # (n, bytes of a row)
    each = sorted(hashlib.sha256(row).digest() for row in flat)
    return hashlib.sha256(b"".join(each)).hexdigest()


def _bytes_of(values):
    """The bytes of each row, lowest first: ``(n, bytes)``."""
    flat = values.reshape(len(values), -1)
    little = np.ascontiguousarray(flat, dtype=flat.dtype.newbyteorder("<"))
    return little.view(np.uint8)


# ---- download and cache --------------------------------------------------------------


def _download(recipe, cached):
    """Fetch, check and keep; whatever goes wrong, only a whole file stays."""
    from sklearn import datasets  # seconds of every process that needs no download

    cached.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cached.parent) as folder:
        table = datasets.fetch_openml(data_id=recipe.data_id, data_home=folder)
        arrays = recipe.read(table.data, table.target)
        whole = Path(folder) / cached.name
        np.savez_compressed(whole, **arrays)
        os.replace(whole, cached)
    return arrays


def _read_cache(recipe, cached):
    """The arrays of a cached file; None without one. A damaged one is removed."""
    if not cached.is_file():
        return None
    try:
        # numpy leaves a file open whose end is missing: open it here
        with cached.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        recipe.check(arrays)
    except _TROUBLES:
        cached.unlink(missing_ok=True)
        return None
    return arrays


def _why_no_recipe(name):
    if name.startswith("ordinal_"):
        return "its partitions are not on OpenML, only a prepared folder has them"
    return "there is no recipe to fetch it from OpenML"


def _advice(name):
    return f"let RHOKIT_DATA name a folder that holds {name}.npz"


# ---- from OpenML's table to our arrays -----------------------------------------------


def _as_they_are(values):
    return values


def _numerals(labels):
    return labels.astype(np.float64)


def _numerals_from_one(labels):
    return _numerals(labels) - 1


def _numerals_with_ten_for_zero(labels):
    return _numerals(labels) % 10


def _capitals(labels):
    """``A`` is 0."""
    return np.array([ascii_uppercase.index(str(each)) for each in labels])


def _gamma_is_one(labels):
    return np.isin(labels.astype(str), ("g", "gamma")).astype(np.uint8)


def _signs(labels):
    """Two classes, -1 and 1."""
    signs = _numerals(labels)
    if not np.isin(signs, (-1, 1)).all():
        raise ValueError("some classes are not -1 or 1")
    return signs


def _thousandths_from_minus_one(values):
    return np.rint(1000 * (values + 1))


def _two_thousandths(values):
    return np.rint(2000 * values)


def _four_decimals(values):
    """Parsers differ in the last bit; the file has four decimals."""
    return np.round(values, 4) + 0.0  # no negative zero


def _up_to_999(values):
    if values.min() < 0 or values.max() > 999:
        raise ValueError("some values are not in [0, 999]")
    return values


def _planes(values):
    """Red, green and blue one after the other, to (n, 32, 32, 3)."""
    return values.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def _pixels(values):
    """Red, green and blue side by side, to (n, 32, 32, 3)."""
    return values.reshape(-1, 32, 32, 3)


@dataclass(frozen=True)
class Recipe:
    """Where a set is on OpenML, how it becomes our arrays, and how these are known.

    Parameters
    ----------
    data_id : int
    table : tuple of int
        Rows and columns on OpenML, targets left out.
    row_type, label_type : dtype
    digests : tuple of str
        Of each part, in order; without them a set is known by its shape alone.
    parts : dict of str to slice
        Which rows of the table are which part, by the ending of its arrays' names.
    row_shape : tuple of int, optional
        Of one row; by default the table's columns.
    rows, labels : tuple of callables
        Ways to read values ``(n, d)`` and labels ``(n,)``, where conventions differ:
        the first pair that gives the expected arrays is taken.
    """

    data_id: int
    table: tuple[int, int]
    row_type: type
    label_type: type
    digests: tuple[str, ...]
    parts: dict[str, slice] = field(default_factory=lambda: {"": slice(None)})
    row_shape: tuple[int, ...] | None = None
    rows: tuple[Callable, ...] = (_as_they_are,)
    labels: tuple[Callable, ...] = (_numerals,)

    def read(self, data, target):
        """Our arrays from OpenML's; ValueError if they are not the expected ones."""
        target = np.asarray(target).ravel()
        if data.shape != self.table or len(target) != self.table[0]:
            has = f"{data.shape} with {len(target)} labels"
            raise ValueError(f"its shape is {has}, not {self.table}")
        reasons = []
        for rows_of, labels_of in product(self.rows, self.labels):
            try:
                arrays = self._arrays(data, target, rows_of, labels_of)
                self.check(arrays)
            except ValueError as error:
                reasons.append(str(error))
            else:
                return arrays
        raise ValueError(" or ".join(dict.fromkeys(reasons)))

    def _arrays(self, data, target, rows_of, labels_of):
        arrays = {}
        for part, chosen in self.parts.items():
            rows = rows_of(_numbers(data, chosen))
            arrays[f"X{part}"] = _exact(rows, self.row_type)
            arrays[f"y{part}"] = _exact(labels_of(target[chosen]), self.label_type)
        return arrays

    def check(self, arrays):
        """Raise ValueError unless the arrays have our types, shapes and digests."""
        digests = dict(zip(self.parts, self.digests, strict=False))
        for part, chosen in self.parts.items():
            rows, labels = arrays[f"X{part}"], arrays[f"y{part}"]
            n = len(range(self.table[0])[chosen])
            shape = (n, *(self.row_shape or self.table[1:]))
            if rows.shape != shape or labels.shape != (n,):
                raise ValueError(f"the shape of X{part} is {rows.shape}, not {shape}")
            if (rows.dtype, labels.dtype) != (self.row_type, self.label_type):
                raise ValueError(f"the type of X{part}, y{part} is another one")
            if part in digests and digest(rows, labels) != digests[part]:
                raise ValueError(f"the checksum of X{part}, y{part} is another one")


def _numbers(data, chosen):
    """Rows of a frame, sparse or dense array as float64, categories as numerals."""
    if issparse(data):
        return data[chosen].toarray()
    if not hasattr(data, "items"):
        return np.asarray(data[chosen], np.float64)
    frame = data[chosen]
    values = np.empty(frame.shape)
    for column, (_, series) in enumerate(frame.items()):
        values[:, column] = np.asarray(series, np.float64)
    return values


def _exact(values, kind):
    """The same values in another type; ValueError if they do not fit."""
    kind = np.dtype(kind)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        fits = (values >= limits.min) & (values <= limits.max)
        if not (fits & (values == np.rint(values))).all():
            raise ValueError(f"some values do not fit {kind}")
    return np.ascontiguousarray(values, dtype=kind)


def _first_and_last(n_train, n, n_test):
    return {"_train": slice(0, n_train), "_test": slice(n - n_test, n)}


RECIPES = {
    "letters": Recipe(
        data_id=6,
        table=(20_000, 16),
        row_type=np.uint8,
        label_type=np.uint8,
        labels=(_capitals,),
        digests=("6aaa18469471cd908f1e176d5f35f1cbcfda2f8daa69003d04fad66ddfafc573",),
    ),
    "usps": Recipe(
        data_id=41082,
        table=(9_298, 256),
        row_type=np.uint16,
        label_type=np.uint8,
        parts=_first_and_last(7_291, 9_298, 2_007),
        rows=(_thousandths_from_minus_one, _two_thousandths),
        labels=(_numerals_from_one, _numerals_with_ten_for_zero),
        digests=(
            "07e5bc142f5e42bb22370ebdc7be62c2c31c3752de86aac7260e8445facab5c9",
            "554e6e40cfa8c896ecb593fe15a50057750346a2cf51afad4820d0c9605b6db7",
        ),
    ),
    "covtype": Recipe(
        data_id=1596,
        table=(581_012, 54),
        row_type=np.int16,
        label_type=np.uint8,
        labels=(_numerals_from_one,),
        digests=("adc28c251d7c8fc24b5023c4aa074a4b7cf407747d8b529f91a05a0c70aa48f8",),
    ),
    "mnist": Recipe(
        data_id=554,
        table=(70_000, 784),
        row_type=np.uint8,
        label_type=np.uint8,
        parts=_first_and_last(60_000, 70_000, 10_000),
        digests=(
            "54e1ab866c9484947dd4821c52bb7a43938f555d6b046be6af55247f8e6ffc64",
            "97b756d55950f1841ebd48df7379b9b2fc87a10d63e08d6213dad41d564e8508",
        ),
    ),
    "cifar10": Recipe(
        data_id=40927,
        table=(60_000, 3_072),
        row_type=np.uint8,
        label_type=np.uint8,
        parts=_first_and_last(20_000, 60_000, 10_000),
        row_shape=(32, 32, 3),
        rows=(_planes, _pixels),
        digests=(
            "be9a27bda5b8ccea33fd1a6ccea2c8410808cd8f336b37c7f4266c1794e97fad",
            "65a6ffe079453e514083f99356b35e02cbfd581b4951e3937fae188974b79f39",
        ),
    ),
    "density_magic": Recipe(
        data_id=1120,
        table=(19_020, 10),
        row_type=np.float64,
        label_type=np.uint8,
        rows=(_four_decimals,),
        labels=(_gamma_is_one,),
        digests=("f1a01dcc7c4123113faf4740c4d319752fdcf168898b061c6b3604ccdee41c79",),
    ),
    # No file to compare with: known by its shape, its range and its classes alone, and
    # taken to hold the training rows first.
    "gisette": Recipe(
        data_id=41026,
        table=(7_000, 5_000),
        row_type=np.int16,
        label_type=np.int8,
        parts=_first_and_last(6_000, 7_000, 1_000),
        rows=(_up_to_999,),
        labels=(_signs,),
        digests=(),
    ),
}
