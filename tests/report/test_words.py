"""Numbers read well: aligned, short, and never ``nan``."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rhokit.report.words import (
    MISSING,
    column_writer,
    count,
    fixed,
    number,
    percent,
    shortened,
    size,
)
from rhokit.validation import is_missing


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (14265, "14,265"),
        (1234.5678, "1,235"),
        (3.0, "3"),
        (0.123456, "0.1235"),
        (-0.00012, "-0.00012"),
        (1.5e-7, "1.5e-7"),
        (-2e12, "-2e12"),
        (math.nan, "not known"),
        (math.inf, "infinity"),
        (-math.inf, "minus infinity"),
    ],
)
def test_number(value, text):
    assert number(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_can_be_read_back(value):
    read = float(number(value).replace(",", ""))
    assert_allclose(read, value, rtol=5.1e-4, atol=0)


@given(st.floats())
def test_nothing_is_called_nan(value):
    texts = (
        number(value),
        fixed(value, 2),
        percent(value),
        column_writer([value])(value),
    )
    assert not any(word in text.lower() for text in texts for word in ("nan", "inf "))


@pytest.mark.parametrize(("value", "text"), [(-0.001, "0.00"), (2.0, "2.00")])
def test_fixed_has_no_negative_zero(value, text):
    assert fixed(value, 2) == text


def test_percents_are_hundredths_that_do_not_part():
    assert percent(0.1234) == "12.3\u00a0%"
    assert percent(1, 0) == "100\u00a0%"
    assert percent(math.nan) == "not known"


def test_counts_and_sizes():
    assert count(1, "row") == "1 row"
    assert count(37.5, "row") == "37.5 rows"
    assert count(441.99999999991184, "row") == "442 rows"
    assert [size(n) for n in (999, 49_300, 4.35e6, 2.1e10)] == [
        "999 bytes",
        "49.3 kB",
        "4.35 MB",
        "21 GB",
    ]


def test_a_column_is_written_alike():
    write = column_writer([1.5, 22.25, 3.0])
    assert [write(v) for v in (1.5, 22.25, 3.0)] == ["1.50", "22.25", "3.00"]
    whole = column_writer([1.0, 200.0])
    assert [whole(v) for v in (1.0, 200.0)] == ["1", "200"]
    wild = column_writer([1e-9, 3e12])
    assert wild(1e-9) == "1e-9"


@pytest.mark.parametrize("gap", [None, math.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_gaps_have_a_name(gap):
    assert is_missing(gap)
    assert column_writer([1.0])(gap) == MISSING


@pytest.mark.parametrize("value", [0, "", "nan", False, -1.5])
def test_what_is_no_gap(value):
    assert not is_missing(value)


@given(st.text("abé<…", max_size=80), st.integers(5, 40))
def test_shortened_texts_fit_and_keep_their_ends(text, length):
    short = shortened(text, length)
    assert len(short) <= length
    if len(text) > length:
        first, last = (
            short.split("…") if text.count("…") == 0 else (short[:1], short[-1:])
        )
        assert text.startswith(first)
        assert text.endswith(last)
    else:
        assert short == text
