"""Estimates of memory: an upper bound, and not a wild one."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from rhokit import DMKDE, DMKDClassifier, MeanEmbeddingKDE, OneHotFeatures, QMRegressor
from rhokit.representations.memory import as_text

SLOW = pytest.mark.slow
PLAN = {
    "gamma": 0.7,
    "scale": None,
    "feature_map": "fourier",
    "n_components": 16,
    "random_state": 0,
}
X = np.random.default_rng(0).normal(size=(60, 2))

# What learning really takes, in a process of its own: the growth of its peak after a
# first fit has loaded and compiled what there is to load.
PROGRAM = """
import json, sys
import numpy as np
import rhokit

name, n_components, n_features, dtype = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
options = {"random_state": 0, "n_components": n_components}
options |= {"bounds": (-10, 10)} if name == "QMRegressor" else {}

def peak(key="VmHWM"):
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(key))
    return int(line.split()[1]) * 1024

def data(n):
    rows = rng.standard_normal((n, n_features), dtype=dtype)
    if name == "DMKDClassifier":
        return rows, rng.integers(10, size=n)
    return rows, rows[:, 0].astype(float) if name == "QMRegressor" else None

first = getattr(rhokit, name)(**options | {"n_components": 256}).prepare(*data(3000))
first.partial_fit(*data(3000))
for kind in ("landmarks", "fourier"):
    rhokit.DMKDE(gamma=1.0, n_components=256, feature_map=kind).fit(data(3000)[0])
del first
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts anew
before = peak("VmRSS")
model = getattr(rhokit, name)(**options).prepare(*data(20_000))
planned = peak() - before
for _ in range(3):
    model.partial_fit(*data(65_536))
print(json.dumps([planned, peak() - before, model.memory_estimate().total]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize(
    "case",
    [
        ("DMKDE", 512, 10, "float64"),
        pytest.param(("MeanEmbeddingKDE", 1024, 50, "float64"), marks=SLOW),
        pytest.param(("DMKDClassifier", 512, 10, "float32"), marks=SLOW),
        pytest.param(("QMRegressor", 128, 10, "float64"), marks=SLOW),
        # Features of rows left out take the most.
        pytest.param(("QMRegressor", 512, 20, "float64"), marks=SLOW),
    ],
    ids=lambda case: case[0],
)
def test_learning_takes_no_more_and_not_much_less(case):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(case)],
        check=True,
        capture_output=True,
        text=True,
    )
    planned, taken, estimate = json.loads(done.stdout)
    assert planned <= taken <= estimate <= 4 * taken


class TestEstimate:
    def test_needs_the_number_of_columns(self):
        with pytest.raises(ValueError, match="n_features must be given"):
            DMKDE().memory_estimate()
        assert DMKDE().memory_estimate(10).total > 0

    def test_a_prepared_model_knows_it(self):
        model = DMKDE(**PLAN).prepare(X)
        assert model.memory_estimate() == model.memory_estimate(2)

    def test_a_prepared_model_knows_its_labels(self):
        model = DMKDClassifier(**PLAN).prepare(X, np.arange(60) % 5)
        assert model.memory_estimate() == model.memory_estimate(n_outcomes=5)
        assert model.memory_estimate().sums < model.memory_estimate(n_outcomes=9).sums

    def test_a_prepared_model_knows_its_levels(self):
        y = np.stack([X[:, 0], X[:, 1]], axis=1)
        model = QMRegressor(**PLAN, n_levels=5, beta=4.0).prepare(X, y)
        assert model.memory_estimate() == model.memory_estimate(n_outcomes=10)

    def test_does_not_depend_on_the_rows_seen(self):
        model = DMKDE(**PLAN).prepare(X)
        before = model.memory_estimate()
        assert model.partial_fit(np.tile(X, (50, 1))).memory_estimate() == before

    def test_a_fitted_model_is_as_large_as_it_was_announced(self):
        model = DMKDE(**PLAN | {"feature_map": "landmarks", "n_components": 30})
        announced = model.memory_estimate(2)
        assert clone(model).fit(X).memory_estimate() == announced

    @given(
        d=st.integers(1, 500),
        components=st.integers(1, 4096),
        outcomes=st.integers(1, 50),
        rows=st.integers(1, 10**6),
    )
    def test_more_of_anything_takes_more(self, d, components, outcomes, rows):
        def total(d, components, outcomes, rows):
            model = DMKDE(n_components=components)
            return model.memory_estimate(d, outcomes, rows).total

        least = total(d, components, outcomes, rows)
        assert least <= total(d + 1, components, outcomes, rows)
        assert least <= total(d, components + 1, outcomes, rows)
        assert least <= total(d, components, outcomes + 1, rows)
        assert least <= total(d, components, outcomes, rows + 1)
        # At least the state itself.
        assert least >= outcomes * components**2 * 8

    def test_single_precision_takes_less(self):
        wide, narrow = DMKDE(dtype="float64"), DMKDE(dtype="float32")
        assert narrow.memory_estimate(10).total < wide.memory_estimate(10).total

    def test_a_mean_takes_less_than_a_matrix(self):
        sums = [m().memory_estimate(10).sums for m in (MeanEmbeddingKDE, DMKDE)]
        assert sums[0] * 100 < sums[1]

    def test_categories(self):
        rows = np.array([["a", "b"], ["c", "d"]] * 5, dtype=object)
        model = DMKDE(feature_map=OneHotFeatures(), random_state=0).prepare(rows)
        assert model.memory_estimate().total > 0

    def test_says_what_it_is_made_of(self):
        estimate = DMKDE().memory_estimate(10)
        text = str(estimate)
        assert text.startswith(as_text(estimate.total))
        for part in ("planning", "sums", "workers", "batch", "map"):
            assert f"{part} {as_text(getattr(estimate, part))}" in text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (1_540_000, "1.54 MB"),
        (600 * 10**6, "600 MB"),
        (25 * 10**8, "2.5 GB"),
    ],
)
def test_sizes_as_people_say_them(size, text):
    assert as_text(size) == text
