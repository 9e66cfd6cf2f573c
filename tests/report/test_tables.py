"""Tables: rows in their order, cells that sort, and what is unusual is marked."""

import math

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from rhokit.inspection import (
    Confusion,
    describe,
    inspect_rows,
    predict_labels,
    predict_values,
)
from rhokit.report.columns import column_ranges
from rhokit.report.tables import (
    columns_table,
    confusion_table,
    coverage_table,
    missed_table,
    number_cell,
    unlikely_table,
    wrong_table,
)
from tests.inspection.models import case

NUMBERS = ["number"] * 20


def rows_of(name):
    model, X, y, _ = case(name)
    return model, inspect_rows(X, y, model, 10_000)


def test_the_least_likely_come_first_and_zero_density_is_a_word():
    rows = inspect_rows(np.arange(4.0)[:, None], None, None, 10)
    logs = np.array([-1.0, -math.inf, -3.0, -2.0])
    table = unlikely_table(logs, rows, NUMBERS[:1])
    assert [row[0].text for row in table.rows] == ["1", "2", "3", "0"]
    assert [row[1].text for row in table.rows] == [
        "zero density",
        "-3.00",
        "-2.00",
        "-1.00",
    ]
    assert table.rows[0][1].value == -math.inf
    assert [header.text for header in table.headers] == [
        "row",
        "log-density",
        "column 0",
    ]


def test_days_since_2000_are_dates():
    frame = pd.DataFrame({"Datum (days since 2000)": [8771.0, np.nan, 8771.75]})
    rows = inspect_rows(frame, None, None, 9)
    table = unlikely_table(np.arange(3.0), rows, NUMBERS[:1])
    assert table.headers[2].text == "Datum"
    shown = [row[2].text for row in table.rows]
    assert shown == ["2024-01-06", "missing", "2024-01-06 18:00"]
    assert table.rows[0][2].value == 8771.0  # which rows are sorted by


def test_unusual_values_are_marked():
    values = np.concatenate([np.linspace(0, 1, 998), [9.0, -9.0]])
    rows = inspect_rows(values[:, None], None, None, 10_000)
    table = unlikely_table(-np.abs(values), rows, NUMBERS[:1])
    marked = {row[2].text for row in table.rows if row[2].is_marked}
    assert {"9.000", "-9.000"} <= marked
    assert len(marked) < 12


def test_values_that_are_farthest_off_come_first_both_ways():
    model, rows = rows_of("values")
    (value,) = predict_values(model, rows.X, rows.y)
    table = missed_table(value, rows, NUMBERS[:10])
    errors = np.array([row[3].value for row in table.rows])
    assert (np.diff(np.abs(errors)) <= 0).all()
    assert errors.min() < 0 < errors.max()
    assert_allclose(errors, [row[2].value - row[1].value for row in table.rows])
    assert_allclose(np.abs(errors[0]), np.abs(value.predicted - rows.y).max())


def test_wrong_answers_show_label_answer_and_probability():
    model, rows = rows_of("ordered classes")
    found = predict_labels(model, rows.X, rows.y)
    table = wrong_table(found, rows, NUMBERS[:10])
    assert len(table.rows) == min(20, len(found.wrong))
    for row, place in zip(table.rows, found.wrong, strict=False):
        assert row[0].value == rows.labels[place]
        assert row[1].text == str(rows.y[place]) != row[2].text
        assert_allclose(row[3].value, found.confidence[place])


def test_confusion_is_warmer_for_a_larger_share():
    table = confusion_table(
        Confusion(("a", "b"), ("a", "b"), np.array([[9, 0], [1, 2]]))
    )
    heats = [[cell.heat for cell in row[1:3]] for row in table.rows]
    assert heats == [[9, 0], [3, 6]]
    assert [row[-1].text for row in table.rows] == ["100.0\u00a0%", "66.7\u00a0%"]


def test_confusion_of_labels_that_are_strangers_or_absent():
    counts = np.array([[0, 0], [1, 1], [2, 0]])
    table = confusion_table(Confusion(("a", "b", "new"), ("a", "b"), counts))
    assert [row[-1].text for row in table.rows] == [
        "not known",
        "50.0\u00a0%",
        "not known",
    ]
    assert table.rows[0][-1].value is None


def test_coverages_are_listed_with_widths():
    model, rows = rows_of("two targets")
    values = predict_values(model, rows.X, rows.y)
    table = coverage_table(values)
    assert [row[0].text for row in table.rows] == ["target 0"] * 4 + ["target 1"] * 4
    got = [row[2].value for row in table.rows]
    assert_allclose(got, [*values[0].achieved, *values[1].achieved])
    assert_allclose([row[3].value for row in table.rows[4:]], values[1].widths)


def test_columns_that_say_nothing_are_left_out():
    names = {}
    for name in ("landmarks", "mixed"):
        model, rows = rows_of(name)
        columns = describe(model).columns
        table = columns_table(columns, column_ranges(rows, columns))
        names[name] = [header.text for header in table.headers]
    ends = ["column", "kind", "minimum", "median", "maximum"]
    assert names["landmarks"] == [*ends, "bandwidth"]
    assert names["mixed"] == [*ends, "categories", "bandwidth"]
    new = table.rows[2]
    assert [cell.text for cell in new] == ["new", "category", "–", "–", "–", "2", "–"]


def test_what_is_no_number_is_sorted_last():
    assert number_cell(None).value is None
    assert number_cell(math.nan).value is None
    assert number_cell(2.0).value == 2.0
