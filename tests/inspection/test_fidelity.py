"""How like real rows synthetic ones are: rows of the same source, and others."""

import numpy as np
import pandas as pd
import pytest

from rhokit import DMKDE
from rhokit.inspection import fidelity


def rows(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "y": x + rng.normal(size=n),
            "group": np.where(x + rng.normal(size=n) > 0, "up", "down"),
        }
    )


REAL = rows(500, 0)


def test_rows_of_the_same_source_cannot_be_told_apart():
    found = fidelity(REAL, rows(500, 1))
    assert abs(found.auc - 0.5) < 0.06
    assert found.distance < 0.06
    assert found.association_error < 0.08
    near = found.nearness
    assert near.synthetic_copies == near.real_copies == 0
    assert near.expected == pytest.approx(0.05, abs=0.005)
    assert near.near_share == pytest.approx(0.05, abs=0.04)
    assert near.synthetic == pytest.approx(near.real, rel=0.2)
    assert "told apart" in str(found)


def test_copies_are_found():
    given = pd.concat([REAL[:250], rows(250, 1)])
    near = fidelity(REAL, given).nearness
    assert near.synthetic_copies == 0.5
    assert near.near_share > 0.5
    twice = fidelity(pd.concat([REAL, REAL[:100]]), rows(100, 1)).nearness
    assert twice.real_copies == pytest.approx(1 / 3)


def test_rows_close_to_real_ones_are_found():
    rng = np.random.default_rng(0)
    shaken = REAL.assign(x=REAL["x"] + rng.normal(size=500) * 1e-4)
    near = fidelity(REAL, shaken).nearness
    assert near.synthetic_copies == 0
    assert near.near_share > 0.9


def test_columns_drawn_by_themselves_lose_what_they_have_in_common():
    rng = np.random.default_rng(0)
    shuffled = REAL.apply(lambda column: rng.permutation(column.to_numpy()))
    found = fidelity(REAL, shuffled)
    assert found.distance < 0.01
    assert found.association_error > 0.3
    assert found.auc > 0.6


def test_gaps_and_arrays():
    X, holed = (part[["x", "y"]].to_numpy() for part in (REAL, rows(500, 1)))
    holed = holed.copy()
    holed[::3, 0] = np.nan
    assert fidelity(X, holed).auc > 0.6
    assert fidelity(holed, holed).nearness.synthetic_copies == 1


def test_dates_are_compared_as_the_model_has_them():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        rng.integers(300, size=400), "D"
    )
    table = pd.DataFrame({"sold": days, "price": rng.normal(size=400)})
    model = DMKDE(random_state=0).fit(table)
    rows = model.sample(400, random_state=0)
    assert list(rows) == ["sold", "price"]
    found = fidelity(model, rows, random_state=0)
    assert "sold (days since 2000)" in str(found.to_json())
