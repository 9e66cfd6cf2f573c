"""Wrong and hostile files of models with categories: each is refused."""

import pytest

from rhokit.frames import MOST_CATEGORIES
from tests.io.drafts import entry, refuses

MIXED, WHITENED = "density-mixed", "density-mixed-whitened"
# A column of numbers, then of text, of integers, of an order, of truth values.
NUMBER, TEXT, CODES, LEVELS, TRUTH = range(5)


def column(place, **changes):
    """A change of one column of the schema."""
    return lambda draft: draft.columns["schema"][place].update(changes)


def columns(value):
    return lambda draft: draft.columns.update({"schema": value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (columns([]), "a list of columns"),
        (columns({}), "a list of columns"),
        (columns("abc"), "a list of columns"),
        (columns([1, 2]), "schema"),
        (column(TEXT, name=3), "a name"),
        (column(TEXT, name="length"), "different columns"),
        (column(TEXT, ordered=1), "whether there is an order"),
        (column(TEXT, more=1), "schema"),
        (column(TEXT, categories=[]), "a list of categories"),
        (column(TEXT, categories="ab"), "a list of categories"),
        (column(TEXT, categories=["ash", "ash"]), "different categories"),
        (column(TEXT, categories=["ash", ["red"]]), "a list of categories"),
        (column(TEXT, categories=["ash", None]), "a list of categories"),
        (column(TEXT, categories=["ash", "red", "x"]), "has the size"),
        (column(TEXT, categories=None), "has the size"),
        (column(NUMBER, categories=["a", "b"]), "has the size"),
        (column(TEXT, unseen=1.0), "a probability of unseen"),
        (column(TEXT, unseen=-0.1), "a probability of unseen"),
        (column(TEXT, unseen=None), "a probability of unseen"),
        (
            column(TEXT, categories=list(range(MOST_CATEGORIES + 1))),
            "a list of categories",
        ),
    ],
)
def test_schemas(change, message):
    refuses(message, MIXED, change)


def test_a_schema_of_numbers_alone():
    def change(draft):
        names = [f"x{i}" for i in range(draft.columns["width"])]
        draft.columns["schema"] = [
            {"name": name, "categories": None, "ordered": False, "unseen": 0.0}
            for name in names
        ]

    refuses("some of categories", MIXED, change)


@pytest.mark.parametrize("name", [MIXED, WHITENED])
def test_scalings_of_categories(name):
    refuses("leave columns of categories", name, entry("scaling.centre", 0.5, 1))


def test_scalings_that_mix_categories():
    refuses("leave columns of categories", WHITENED, entry("scaling.matrix", 0.5, 2))
    refuses("leave columns of categories", MIXED, entry("scaling.matrix", 2.0, 2))


@pytest.mark.parametrize("name", ["density-grid", "density-series-line"])
def test_maps_of_numbers(name):
    schema = [{"name": "a", "categories": ["x"], "ordered": False, "unseen": 0.0}]
    refuses("feature_map takes no columns of categories", name, columns(schema))


def test_names_beside_a_schema():
    def change(draft):
        draft.columns["names"] = ["x"] * draft.columns["width"]

    refuses("columns must be without names beside a schema", MIXED, change)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"kind": "spark", "dtypes": []}, "a kind of frame"),
        ({"kind": "pandas", "dtypes": ["object"]}, "a kind of frame"),
        ({"kind": "pandas", "dtypes": [["int64"]]}, "a kind of frame"),
        ({"kind": "pandas", "dtypes": ["int64"]}, "types that fit"),
        ({"kind": "pandas", "dtypes": ["category"] * 4}, "types that fit"),
        ({"kind": "pandas"}, "form"),
    ],
)
def test_kinds_of_frames(form, message):
    refuses(message, MIXED, lambda draft: draft.columns.update(form=form))


@pytest.mark.parametrize(
    ("support", "message"),
    [
        ({"values": [], "is_complete": True}, "a list of numbers"),
        ({"values": [1, 2], "is_complete": True}, "a list of numbers"),
        ({"values": [2.0, 1.0], "is_complete": True}, "ascending"),
        ({"values": [1.0], "is_complete": 1}, "whether these are all"),
        ({"values": [0.5] * 300, "is_complete": True}, "a list of numbers"),
    ],
)
def test_values_that_columns_take(support, message):
    def change(draft):
        draft.columns["supports"] = [support] * len(draft.columns["schema"])

    refuses(message, MIXED, change)
    few = [None] * 17
    refuses("a list of what", MIXED, lambda draft: draft.columns.update(supports=few))
