"""A real cluster of two processes, also when one of them is killed in mid-fit."""

import logging
import os
import pickle
import signal
import threading
import time
import uuid
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal

from rhokit import DMKDE, DMKDClassifier, QMRegressor
from rhokit.errors import DataError
from rhokit.parallel.dask import fit, predict, predict_proba, score_samples
from tests.one_pass import assert_learned_all

SMALL = {"gamma": 0.7, "scale": None, "n_components": 24, "random_state": 0}
COLUMNS = ["a", "b", "c"]
ROWS = np.random.default_rng(1).normal(size=(1200, 3))
LABELS = np.array(["low", "mid", "top"])[np.digitize(ROWS[:, 0], [-0.5, 0.5])]
VALUES = ROWS[:, 0] + ROWS[:, 1] ** 2
PARTS = 40
PATIENCE = 30.0


@pytest.fixture(scope="module")
def client():
    """A cluster of two worker processes, on ports that are free."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # None would take a fixed port
            silence_logs=logging.CRITICAL,  # that a worker died is what we want
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def in_parts(values):
    """A Dask array of forty chunks."""
    return da.from_array(values, chunks=(len(values) // PARTS, *values.shape[1:]))


@pytest.mark.usefixtures("client")
class TestCluster:
    """What one machine does, two processes do."""

    def test_fits_arrays(self):
        X, y = in_parts(ROWS), in_parts(LABELS)
        model = fit(DMKDClassifier(reject=0.1, **SMALL), X, y)
        assert_learned_all(model, model.blank().partial_fit(ROWS, LABELS))
        assert_array_equal(model.class_count_, np.unique(LABELS, return_counts=True)[1])

    def test_fits_frames(self):
        data = pd.DataFrame(ROWS, columns=COLUMNS)
        lazy = dd.from_pandas(data.assign(y=VALUES), npartitions=PARTS)
        model = fit(QMRegressor(n_levels=5, **SMALL), lazy, "y")
        assert_array_equal(model.feature_names_in_, COLUMNS)
        assert_learned_all(model, model.blank().partial_fit(data, VALUES))

    def test_has_the_bits_of_one_machine(self):
        """One thread each there and here: not even rounding differs."""
        plan = DMKDE(**SMALL).prepare(ROWS)
        spread = fit(plan.blank(), in_parts(ROWS))
        with dask.config.set(scheduler="sync"):
            alone = fit(plan.blank(), in_parts(ROWS))
        assert_array_equal(spread.state_.total, alone.state_.total)

    def test_predicts_arrays(self):
        model = DMKDClassifier(**SMALL).fit(ROWS, LABELS)
        X = in_parts(ROWS)
        labels, probabilities = dask.compute(predict(model, X), predict_proba(model, X))
        assert_array_equal(labels, model.predict(ROWS))
        assert_allclose(probabilities, model.predict_proba(ROWS), rtol=1e-9, atol=1e-12)

    def test_predicts_frames(self):
        data = pd.DataFrame(ROWS, columns=COLUMNS)
        model = DMKDE(**SMALL).fit(data)
        scores = score_samples(model, dd.from_pandas(data, npartitions=4)).compute()
        assert_array_equal(scores.index, data.index)
        assert_allclose(scores, model.score_samples(data), rtol=1e-9)

    def test_errors_come_back(self):
        bad = np.where(np.arange(1200)[:, None] == 1100, np.nan, ROWS)
        model = DMKDE(**SMALL).prepare(ROWS)
        with pytest.raises(DataError, match="NaN") as refused:
            fit(model, in_parts(bad))
        assert (refused.value.row, refused.value.column) == (20, 0)
        assert model.state_ is None

    def test_large_plans_give_no_warning(self):
        # Warnings are errors here; Dask warns of graphs of more than ten megabytes.
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(1600, 40))
        model = DMKDE(
            gamma=0.01,
            scale=None,
            feature_map="landmarks",
            n_components=1200,
            random_state=0,
        ).prepare(rows)
        assert len(pickle.dumps(model)) > 10_000_000
        fit(model, da.from_array(rows, chunks=(800, 40)))
        assert_array_equal(model.state_.weight, [1600])


class SlowDMKDE(DMKDE):
    """Takes its time for each batch, and leaves a file when it has taken it up.

    The plan carries the folder to the workers; files are named after worker and batch.
    """

    def check_batch(self, X, *rest, **options):
        batch = super().check_batch(X, *rest, **options)
        if hasattr(self, "folder_"):
            time.sleep(0.05)
            name = f"{os.getpid()}_{batch.rows[0, 0]}_{uuid.uuid4().hex}"
            Path(self.folder_, name).touch()
        return batch


def finished(folder):
    """Which worker has learned which batch, as pairs."""
    return [tuple(path.name.split("_")[:2]) for path in folder.iterdir()]


class Killer(threading.Thread):
    """Kills workers as soon as each has learned something, and all so much together."""

    def __init__(self, folder, everyone, doomed, after):
        super().__init__(daemon=True)
        self._folder, self._after = folder, after
        self._everyone, self._doomed = {str(pid) for pid in everyone}, doomed
        self.done = None

    def run(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            done = finished(self._folder)
            began = {pid for pid, _ in done} == self._everyone
            if began and len(done) >= self._after:
                for pid in self._doomed:
                    os.kill(pid, signal.SIGKILL)
                self.done = finished(self._folder)
                return
            time.sleep(0.002)


def fit_and_kill(client, folder, n_doomed, share):
    """A model fitted while workers were killed, and what was done by then."""
    plan = SlowDMKDE(**SMALL).prepare(ROWS[:300])
    plan.folder_ = str(folder)
    client.wait_for_workers(2)  # those killed before have come again
    everyone = list(client.run(os.getpid).values())
    # Warm, so that neither has learned everything before the other begins.
    client.run(pickle.loads, pickle.dumps(plan))
    doomed = everyone[:n_doomed]
    killer = Killer(folder, everyone, doomed, int(share * PARTS))
    killer.start()
    model = fit(plan, in_parts(ROWS))
    killer.join(PATIENCE)
    alive = client.run(os.getpid, on_error="ignore").values()
    assert killer.done is not None
    assert not set(doomed) & set(alive)
    return model, killer.done


@pytest.mark.parametrize(
    "share",
    [
        0.5,
        pytest.param(0.25, marks=pytest.mark.slow),
        pytest.param(0.8, marks=pytest.mark.slow),
    ],
)
def test_a_worker_that_is_killed_costs_nothing_but_time(client, tmp_path, share):
    model, done = fit_and_kill(client, tmp_path, 1, share)
    # In the middle: some batches had been learned, and some had not.
    assert share * PARTS <= len(done) < PARTS
    assert len({batch for _, batch in finished(tmp_path)}) == PARTS
    assert_array_equal(model.state_.weight, [1200])
    assert_learned_all(model, DMKDE(**SMALL).prepare(ROWS[:300]).partial_fit(ROWS))


@pytest.mark.slow
def test_all_workers_killed_cost_nothing_but_time(client, tmp_path):
    """The plan and the rows are in the graph: nothing that was sent is lost."""
    model, done = fit_and_kill(client, tmp_path, 2, 0.5)
    assert PARTS / 2 <= len(done) < PARTS
    # What they had learned died with them, and was learned again by others.
    gone = {pid for pid, _ in done}
    again = {batch for pid, batch in finished(tmp_path) if pid not in gone}
    assert len(again) == PARTS
    assert_array_equal(model.state_.weight, [1200])
    assert_learned_all(model, DMKDE(**SMALL).prepare(ROWS[:300]).partial_fit(ROWS))
