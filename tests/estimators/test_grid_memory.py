"""Estimates of memory for models on grids: an upper bound, and not a wild one."""

import json
import subprocess
import sys

import numpy as np
import pytest

from rhokit import DMKDE, DMKDClassifier, QMRegressor
from rhokit.features import GridFeatures

RNG = np.random.default_rng(0)
X = {d: RNG.normal(size=(500, d)) for d in (1, 2, 3)}

# What learning really takes, in a process of its own: the growth of its peak after a
# first fit has loaded and compiled what there is to load.
PROGRAM = """
import json, sys
import numpy as np
import rhokit

name, d, gamma, batch = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
bounds = [[-8.0] * d, [8.0] * d]
options = {"feature_map": rhokit.GridFeatures(bounds=bounds)}
options |= {"bounds": (-10, 10)} if name == "QMRegressor" else {}

def peak(key="VmHWM"):
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(key))
    return int(line.split()[1]) * 1024

def data(n):
    rows = rng.standard_normal((n, d))
    if name == "DMKDClassifier":
        return rows, rng.integers(10, size=n)
    return rows, rows[:, 0] if name == "QMRegressor" else None

def make(gamma):
    return getattr(rhokit, name)(**options, gamma=gamma)

make(1.0).prepare(*data(3000)).partial_fit(*data(3000))
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts anew
before = peak("VmRSS")
model = make(gamma).prepare(*data(20_000))
for _ in range(3):
    model.partial_fit(*data(batch))
assert isinstance(model.feature_map_, rhokit.GridFeatures)
estimate = model.memory_estimate(batch_rows=batch)
print(json.dumps([peak() - before, estimate.total, model.state_.nbytes]))
"""
CASES = {
    "few modes, many rows": ("DMKDE", 1, 20.0, 2**20),
    "many modes, few rows": ("DMKDE", 1, 1e8, 65_536),
    "plane": ("DMKDE", 2, 400.0, 2**17),
    "classes": ("DMKDClassifier", 2, 100.0, 65_536),
    "values": ("QMRegressor", 1, 1e4, 2**17),
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[] if case == "classes" else pytest.mark.slow)
        for case in CASES
    ],
)
def test_learning_takes_no_more_and_not_much_less(case):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(CASES[case])],
        check=True,
        capture_output=True,
        text=True,
    )
    taken, estimate, state = json.loads(done.stdout)
    assert state <= taken <= estimate <= 6 * taken


class TestEstimate:
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_is_of_the_grid_that_was_chosen(self, d):
        """Not of a matrix, nor of the components that were asked for."""
        few, many = (
            DMKDE(gamma=1.0, scale=None, feature_map="grid", n_components=n).prepare(
                X[d]
            )
            for n in (16, 4096)
        )
        estimate = few.memory_estimate()
        assert estimate == many.memory_estimate() == few.memory_estimate(d)
        assert estimate.sums == 3 * 16 * few.feature_map_.spectrum_.size

    @pytest.mark.parametrize("d", [1, 2])
    def test_does_not_depend_on_the_rows_seen(self, d):
        model = DMKDE(gamma=1.0, scale=None, feature_map="grid").prepare(X[d])
        before = model.memory_estimate()
        assert model.partial_fit(np.tile(X[d], (9, 1))).memory_estimate() == before

    def test_grows_with_the_box(self):
        model = DMKDE(gamma=1.0, scale=None, feature_map="grid").fit(X[2])
        before = model.memory_estimate()
        with pytest.warns(UserWarning, match="widened"):
            model.partial_fit(X[2] + 50.0)
        after = model.memory_estimate()
        assert after.sums > before.sums
        assert after.workers > before.workers

    def test_knows_its_outcomes(self):
        grid = {"gamma": 1.0, "scale": None, "feature_map": GridFeatures()}
        classes = DMKDClassifier(**grid).prepare(X[2], np.arange(500) % 5)
        assert classes.memory_estimate() == classes.memory_estimate(n_outcomes=5)
        values = QMRegressor(**grid, n_levels=7, beta=4.0).prepare(X[1], X[1][:, 0])
        assert values.memory_estimate() == values.memory_estimate(n_outcomes=7)

    @pytest.mark.parametrize("d", [1, 2])
    def test_more_of_anything_takes_more(self, d):
        def total(gamma=1.0, outcomes=1, rows=65_536):
            model = DMKDE(gamma=gamma, scale=None, feature_map="grid").prepare(X[d])
            return model.memory_estimate(d, outcomes, rows).total

        least = total()
        assert least < total(gamma=400.0)
        assert least <= total(outcomes=50)
        assert least < total(rows=2**21)
