"""Sets from OpenML: the prepared arrays come out, or a reason; nobody else fetches.

No test reaches for the network: OpenML serves the prepared files, in its own types.
"""

import hashlib
import json
from dataclasses import replace
from email.message import Message
from io import BytesIO
from types import SimpleNamespace
from urllib.error import URLError
from urllib.response import addinfourl

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from benchmarks import openml, real_data

FOLDER = real_data.data_folder()  # before the tests hide it
LARGE = ("covtype", "mnist", "cifar10")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no folder of prepared data."""
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path / "nowhere"))
    monkeypatch.setenv(openml.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def serve(monkeypatch):
    """A function that lets OpenML serve a table, or fail; it returns the calls."""

    def serving(data=None, target=None, error=None):
        calls = []

        def answer(**arguments):
            calls.append(arguments)
            if error is not None:
                raise error
            return SimpleNamespace(data=data, target=target)

        monkeypatch.setattr("sklearn.datasets.fetch_openml", answer)
        return calls

    return serving


def prepared(name):
    """The arrays of a prepared file."""
    file = FOLDER and FOLDER / f"{name}.npz"
    if not file or not file.is_file():
        pytest.skip(f"no data: {name}.npz is not there")
    with np.load(file, allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


# ---- what OpenML serves, of the prepared arrays --------------------------------------


def frame_of(values):
    return pd.DataFrame(values, columns=[f"V{i}" for i in range(values.shape[1])])


def categories(labels):
    return pd.Series([str(each) for each in labels], dtype="category")


def shuffled(arrays):
    order = np.random.default_rng(5).permutation(len(arrays["X"]))
    return arrays["X"][order], arrays["y"][order]


def both_parts(arrays):
    parts = ("train", "test")
    return tuple(np.concatenate([arrays[f"{of}_{p}"] for p in parts]) for of in "Xy")


def letters(arrays):
    rows, labels = shuffled(arrays)
    return frame_of(rows.astype(np.int64)), categories(
        chr(65 + each) for each in labels
    )


def usps(arrays):
    rows, labels = both_parts(arrays)
    return frame_of(rows / 1000 - 1), categories(labels + 1)


def usps_otherwise(arrays):
    rows, labels = both_parts(arrays)
    return rows / 2000, np.where(labels == 0, 10, labels).astype(str).astype(object)


def magic(arrays):
    rows, labels = shuffled(arrays)
    almost = np.nextafter(rows, np.inf)  # another parser, another last bit
    return frame_of(almost), categories(np.where(labels == 1, "g", "h"))


def mnist(arrays):
    rows, labels = both_parts(arrays)
    return frame_of(rows), categories(labels)


def covtype(arrays):
    rows, labels = shuffled(arrays)
    frame = frame_of(rows.astype(np.int64))
    indicators = frame.columns[10:]
    frame = frame.astype(dict.fromkeys(indicators, str))
    frame = frame.astype(dict.fromkeys(indicators, "category"))
    return frame, categories(labels + 1)


def cifar10(arrays):
    """All 60,000 images, those that are not used black."""
    rows = np.zeros((60_000, 3_072), np.uint8)
    labels = np.zeros(60_000, np.uint8)
    for part, chosen in (("train", slice(20_000)), ("test", slice(50_000, None))):
        images = arrays[f"X_{part}"]
        rows[chosen] = np.moveaxis(images, -1, 1).reshape(len(images), -1)
        labels[chosen] = arrays[f"y_{part}"]
    return frame_of(rows), categories(labels)


SERVED = {
    "letters": ("letters", letters),
    "usps": ("usps", usps),
    "usps, other conventions": ("usps", usps_otherwise),
    "magic": ("density_magic", magic),
    "covtype": ("covtype", covtype),
    "mnist": ("mnist", mnist),
    "cifar10": ("cifar10", cifar10),
}


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.slow) if c in LARGE else c for c in SERVED],
)
def test_the_prepared_arrays_come_out(case, cache, serve):
    name, served_as = SERVED[case]
    expected = prepared(name)
    calls = serve(*served_as(expected))
    arrays = real_data.load_arrays(name, fetch=True)
    assert calls[0]["data_id"] == openml.RECIPES[name].data_id
    assert arrays.keys() == expected.keys()
    for key in arrays:
        assert arrays[key].dtype == expected[key].dtype
        assert arrays[key].shape == expected[key].shape
    assert_array_equal(in_order(arrays), in_order(expected))
    assert [each.name for each in cache.iterdir()] == [f"{name}.npz"]
    again = openml.fetch(name)
    assert len(calls) == 1  # the second time from the cache
    for key in arrays:
        assert_array_equal(again[key], arrays[key])


def in_order(arrays):
    """Rows with labels: sorted where the split is random, else as they are."""
    if "X" not in arrays:
        rows, labels = both_parts(arrays)
        return np.column_stack([rows.reshape(len(rows), -1), labels])
    pairs = np.column_stack([arrays["X"], arrays["y"]])
    return pairs[np.lexsort(pairs.T)]


# ---- through scikit-learn's own parser -----------------------------------------------


def answers_of_openml(recipe, frame, labels):
    """What OpenML's addresses return for a set, by the end of the address."""
    table = frame.assign(**{"class": labels.to_numpy()})
    kinds = dict.fromkeys(frame, "numeric") | {"class": "nominal"}
    names = ",".join(sorted(set(labels)))
    header = [f"@ATTRIBUTE {each} REAL" for each in frame]
    header += [f"@ATTRIBUTE class {{{names}}}", "@DATA", ""]
    arff = "@RELATION t\n" + "\n".join(header) + table.to_csv(index=False, header=False)
    flags = dict.fromkeys(("is_ignore", "is_row_identifier"), "false")
    features = [
        {"name": each, "data_type": kind, "number_of_missing_values": "0", **flags}
        | {"is_target": "true" if each == "class" else "false"}
        for each, kind in kinds.items()
    ]
    about = {"status": "active", "format": "ARFF", "description": "", "name": "t"}
    about |= {"md5_checksum": hashlib.md5(arff.encode()).hexdigest(), "version": "1"}
    about |= {"url": "https://openml.test/t.arff"}
    rows = [{"name": "NumberOfInstances", "value": str(len(frame))}]
    return {
        f"data/{recipe.data_id}": json.dumps({"data_set_description": about}),
        f"features/{recipe.data_id}": json.dumps(
            {"data_features": {"feature": features}}
        ),
        f"qualities/{recipe.data_id}": json.dumps(
            {"data_qualities": {"quality": rows}}
        ),
        "t.arff": arff,
    }


@pytest.mark.parametrize(
    "case", ["letters", pytest.param("magic", marks=pytest.mark.slow)]
)
def test_an_arff_file_becomes_the_prepared_arrays(case, cache, monkeypatch):
    name, served_as = SERVED[case]
    expected = prepared(name)
    answers = answers_of_openml(openml.RECIPES[name], *served_as(expected))

    def answer(request):
        (text,) = (answers[end] for end in answers if request.full_url.endswith(end))
        return addinfourl(BytesIO(text.encode()), Message(), request.full_url)

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", answer)
    arrays = openml.fetch(name)
    assert_array_equal(in_order(arrays), in_order(expected))
    assert [each.name for each in cache.iterdir()] == [f"{name}.npz"]


# ---- the digest ----------------------------------------------------------------------


def test_the_digest_knows_rows_and_labels_but_no_order():
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(9, size=(50, 3)), rng.integers(2, size=50)
    known = openml.digest(rows, labels)
    order = rng.permutation(50)
    assert openml.digest(rows[order], labels[order]) == known
    assert openml.digest(rows.astype(">i8"), labels) == known
    assert openml.digest(rows[order], labels) != known
    changed = rows.copy()
    changed[7, 1] += 1
    assert openml.digest(changed, labels) != known
    assert openml.digest(rows[:-1], labels[:-1]) != known


# ---- gisette, for which there is no file to compare with -----------------------------


@pytest.fixture
def small_gisette(monkeypatch):
    """Gisette with fewer rows and columns, as OpenML might serve it."""
    recipe = openml.RECIPES["gisette"]
    parts = {"_train": slice(0, 60), "_test": slice(60, 70)}
    small = replace(recipe, table=(70, 50), parts=parts)
    monkeypatch.setitem(openml.RECIPES, "gisette", small)
    rng = np.random.default_rng(2)
    return rng.integers(1000, size=(70, 50)), rng.choice([-1, 1], size=70)


@pytest.mark.parametrize("kind", [frame_of, csr_array, np.asarray])
def test_gisette(kind, small_gisette, cache, serve):
    values, signs = small_gisette
    serve(kind(values), categories(signs))
    arrays = real_data.load_arrays("gisette", fetch=True)
    assert_array_equal(arrays["X_train"], values[:60])
    assert_array_equal(arrays["X_test"], values[60:])
    assert_array_equal(arrays["y_test"], signs[60:])
    assert arrays["y_train"].dtype == np.int8


def test_gisette_has_its_published_parts():
    recipe = openml.RECIPES["gisette"]
    assert recipe.table == (7_000, 5_000)
    assert recipe.parts == {"_train": slice(0, 6_000), "_test": slice(6_000, 7_000)}


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda values, signs: (values + 1_000, signs), r"\[0, 999\]"),
        (lambda values, signs: (values / 2, signs), "do not fit int16"),
        (lambda values, signs: (values, signs + 1), "not -1 or 1"),
        (lambda values, signs: (values[:-1], signs[:-1]), r"\(69, 50\)"),
        (lambda values, signs: (values[:, 1:], signs), r"\(70, 49\)"),
        (lambda values, signs: (values, signs[:-1]), "69 labels"),
    ],
)
def test_another_gisette_is_refused(spoil, reason, small_gisette, cache, serve):
    values, signs = spoil(*small_gisette)
    serve(frame_of(values), categories(signs))
    with pytest.raises(openml.DataNotAvailable, match=reason):
        openml.fetch("gisette")
    assert not list(cache.iterdir())


# ---- what cannot be had --------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [URLError, TimeoutError, ValueError, ImportError, EOFError]
)
def test_a_failed_download_says_what_to_do(kind, cache, serve):
    error = kind("no route")
    serve(error=error)
    with pytest.raises(openml.DataNotAvailable) as refused:
        openml.fetch("letters")
    said = str(refused.value)
    for word in ("letters", "data set 6", "no route", real_data.VARIABLE):
        assert word in said
    assert refused.value.__cause__ is error
    assert not list(cache.iterdir())


def test_one_changed_value_is_refused(cache, serve):
    frame, labels = letters(prepared("letters"))
    frame.iloc[123, 4] = 15 - frame.iloc[123, 4]
    serve(frame, labels)
    with pytest.raises(openml.DataNotAvailable, match=r"letters.*checksum of X, y"):
        openml.fetch("letters")
    assert not list(cache.iterdir())


def test_official_parts_are_not_mixed(cache, serve):
    frame, labels = usps(prepared("usps"))
    serve(frame[::-1], labels[::-1])
    with pytest.raises(openml.DataNotAvailable, match="checksum of X_train"):
        openml.fetch("usps")


@pytest.mark.parametrize("damage", ["truncated", "another set", "empty", "no arrays"])
def test_a_damaged_cache_is_fetched_again(damage, small_gisette, cache, serve):
    values, signs = small_gisette
    calls = serve(frame_of(values), categories(signs))
    whole = openml.fetch("gisette")
    damage_file(cache / "gisette.npz", damage)
    again = openml.fetch("gisette")
    assert len(calls) == 2
    assert_array_equal(again["X_train"], whole["X_train"])
    damage_file(cache / "gisette.npz", damage)
    serve(error=URLError("no route"))
    with pytest.raises(openml.DataNotAvailable, match="no route"):
        openml.fetch("gisette")
    assert not list(cache.iterdir())


def damage_file(file, damage):
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:-200])
    elif damage == "another set":
        np.savez(file, X_train=np.zeros((2, 2)), y_train=np.zeros(2))
    elif damage == "no arrays":
        np.savez(file)
    else:
        file.write_bytes(b"")


def test_a_disk_that_fails_leaves_nothing(small_gisette, cache, serve, monkeypatch):
    def fails(file, **arrays):
        file.write_bytes(b"half")
        raise OSError("disk full")

    values, signs = small_gisette
    serve(frame_of(values), categories(signs))
    monkeypatch.setattr(np, "savez_compressed", fails)
    with pytest.raises(openml.DataNotAvailable, match="disk full"):
        openml.fetch("gisette")
    assert not list(cache.iterdir())


@pytest.mark.parametrize(
    ("name", "reason"),
    [("abalone", "only a prepared folder"), ("anomaly_http", "no recipe")],
)
def test_sets_that_are_not_on_openml(name, reason, cache, serve):
    calls = serve()
    with pytest.raises(openml.DataNotAvailable, match=reason) as refused:
        real_data.load_arrays(name, fetch=True)
    assert real_data.VARIABLE in str(refused.value)
    assert not calls


# ---- who fetches ---------------------------------------------------------------------


def test_nothing_is_fetched_unless_asked_for(cache, serve):
    calls = serve()
    with pytest.raises(FileNotFoundError):
        real_data.load_arrays("letters")
    with pytest.raises(FileNotFoundError):
        real_data.load_classes("letters")
    assert not calls


def test_a_folder_that_has_the_file_comes_first(tmp_path, monkeypatch, serve):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    np.savez(tmp_path / "density_magic.npz", X=np.ones((1, 2)), y=np.ones(1))
    calls = serve()
    assert_array_equal(real_data.load_arrays("magic", fetch=True)["X"], [[1, 1]])
    assert not calls


def test_the_cache_has_a_place_of_its_own(monkeypatch, tmp_path):
    monkeypatch.delenv(openml.CACHE_VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert openml.cache_folder() == tmp_path / ".cache" / "rhokit"
