"""States of workers are added up only if they were made alike."""

import shutil
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose

import rhokit
from rhokit import DMKDE, DMKDClassifier, QMRegressor
from rhokit.parallel import code, code_version, worker_tasks
from rhokit.parallel import dask as parallel

SMALL = {"gamma": 0.7, "scale": None, "n_components": 24, "random_state": 0}
ROWS = np.random.default_rng(1).normal(size=(600, 2))
MODELS = {
    "DMKDE": (DMKDE(**SMALL), None),
    "DMKDClassifier": (DMKDClassifier(**SMALL), (ROWS[:, 0] > 0).astype(int)),
    "QMRegressor": (QMRegressor(n_levels=5, **SMALL), ROWS[:, 1]),
}
PLANS = {name: model.prepare(ROWS, y) for name, (model, y) in MODELS.items()}
OTHER_PLANS = {
    "DMKDE": DMKDE(**(SMALL | {"gamma": 0.8})).prepare(ROWS),
    "DMKDClassifier": DMKDClassifier(**SMALL).prepare(ROWS * 1.5, ROWS[:, 0] > 0),
    "QMRegressor": QMRegressor(n_levels=7, **SMALL).prepare(ROWS, ROWS[:, 1]),
}


class OddWorker:
    """Does as workers do, but for one task in so many, which it does in its own way."""

    def __init__(self, monkeypatch, task, odd, plan=None, version=None, code=None):
        self._task, self._odd = getattr(worker_tasks, task), odd
        self._plan, self._version, self._code = plan, version, code
        self._patch, self._count = monkeypatch, 0
        name = {"learn": "_LEARN", "add_up": "_ADD_UP"}[task]
        monkeypatch.setattr(parallel, name, dask.delayed(self._do, pure=False))

    def _do(self, plan, *rest):
        self._count += 1
        if self._count != self._odd:
            return self._task(plan, *rest)
        with self._patch.context() as patch:
            if self._version is not None:
                patch.setattr(rhokit, "__version__", self._version)
            if self._code is not None:
                patch.setattr(rhokit, "__file__", self._code)
            return self._task(self._plan or plan, *rest)


def fit(name, n_parts):
    y = MODELS[name][1]
    X = da.from_array(ROWS, chunks=(len(ROWS) // n_parts, 2))
    target = None if y is None else da.from_array(y, chunks=len(ROWS) // n_parts)
    with dask.config.set(scheduler="sync"):
        return parallel.fit(PLANS[name].blank(), X, target)


@pytest.mark.parametrize("n_parts", [1, 2, 20])
@pytest.mark.parametrize("name", PLANS)
class TestOddWorkers:
    def test_another_plan(self, name, n_parts, monkeypatch):
        for odd in {1, n_parts}:
            OddWorker(monkeypatch, "learn", odd, plan=OTHER_PLANS[name])
            with pytest.raises(ValueError, match="another scaling, gamma or feature"):
                fit(name, n_parts)

    def test_another_version(self, name, n_parts, monkeypatch):
        OddWorker(monkeypatch, "learn", n_parts, version="0.0.1")
        with pytest.raises(ValueError, match=r"a worker has rhokit 0\.0\.1\+\w+, here"):
            fit(name, n_parts)

    def test_other_code_under_the_same_version(
        self, name, n_parts, monkeypatch, tmp_path
    ):
        """A file of it has another line."""
        folder = tmp_path / "rhokit"
        shutil.copytree(Path(rhokit.__file__).parent, folder)
        with (folder / "core" / "sums.py").open("a") as file:
            file.write("# changed\n")
        OddWorker(monkeypatch, "learn", n_parts, code=str(folder / "__init__.py"))
        with pytest.raises(ValueError, match="a worker has rhokit"):
            fit(name, n_parts)

    def test_like_workers_are_added_up(self, name, n_parts, monkeypatch):
        OddWorker(monkeypatch, "learn", 1)
        total, alone = (fit(name, n).state_.total for n in (n_parts, 1))
        assert_allclose(total, alone, rtol=0, atol=1e-12 * abs(alone).max())


@pytest.mark.parametrize("odd", [1, 2, 3, 4])  # of three groups, and what joins them
def test_workers_that_add_up_are_checked_too(odd, monkeypatch):
    OddWorker(monkeypatch, "add_up", odd, version="0.0.1")
    with pytest.raises(ValueError, match=r"rhokit 0\.0\.1|it is 0\.0\.1"):
        fit("DMKDE", 20)
    OddWorker(monkeypatch, "add_up", odd, plan=OTHER_PLANS["DMKDE"])
    with pytest.raises(ValueError, match="another scaling, gamma or feature map"):
        fit("DMKDE", 20)


def test_partitions_without_rows_are_checked_too():
    other = OTHER_PLANS["DMKDE"]
    empty = worker_tasks.Partition(ROWS[:0])
    summand = worker_tasks.learn(other, empty, other.plan_.columns, 100)
    with pytest.raises(ValueError, match="another scaling, gamma or feature map"):
        worker_tasks.summed_up(PLANS["DMKDE"], summand)


class TestCodeVersion:
    @pytest.fixture
    def package(self, tmp_path):
        package = tmp_path / "package"
        (package / "part").mkdir(parents=True)
        (package / "__init__.py").write_bytes(b"one = 1\n")
        (package / "part" / "two.py").write_bytes(b"two = 2\n")
        return package

    @staticmethod
    def digest(folder):
        return code._source_digest.__wrapped__(folder)

    def test_begins_with_the_version(self):
        assert code_version().startswith(f"{rhokit.__version__}+")

    def test_knows_contents_and_names(self, package):
        first = self.digest(package)
        (package / "part" / "two.py").write_bytes(b"two = 3\n")
        second = self.digest(package)
        (package / "part" / "two.py").rename(package / "part" / "three.py")
        assert len({first, second, self.digest(package)}) == 3

    def test_does_not_know_place_ends_of_lines_or_other_files(self, package, tmp_path):
        first = self.digest(package)
        (package / "part" / "two.py").write_bytes(b"two = 2\r\n")
        (package / "part" / "two.pyc").write_bytes(b"compiled")
        assert self.digest(shutil.copytree(package, tmp_path / "elsewhere")) == first
