"""Limits of memory: kept, or refused before anything starts."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from rhokit import DMKDE, DMKDClassifier, fit_batches, fit_files
from rhokit.streams.budget import RowBudget, parse_limit
from rhokit.streams.pieces import TablePiece

PLAN = {
    "gamma": 0.7,
    "scale": None,
    "feature_map": "fourier",
    "n_components": 16,
    "random_state": 0,
}
X = np.random.default_rng(0).normal(size=(300, 2))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path)
    return path


class TestParse:
    @pytest.mark.parametrize(
        ("text", "size"),
        [
            ("600 MB", 600 * 10**6),
            ("600MB", 600 * 10**6),
            (" 600 mb ", 600 * 10**6),
            ("600M", 600 * 10**6),
            ("0.5 GB", 5 * 10**8),
            ("1.5 TB", 15 * 10**11),
            ("12 kB", 12_000),
            ("600 MiB", 600 * 2**20),
            ("2 GiB", 2**31),
            ("4096", 4096),
            ("4096 B", 4096),
            (4096, 4096),
            (np.int64(4096), 4096),
            (None, None),
        ],
    )
    def test_what_people_write(self, text, size):
        assert parse_limit(text) == size

    @pytest.mark.parametrize(
        "limit",
        [
            *["", "much", "600 XB", "-3 MB", "0", "0 MB", "1.2.3 MB", ".", "1 M B"],
            *[0, -1, True, 2.5, [600], b"600 MB"],
        ],
    )
    def test_what_is_no_limit(self, limit):
        with pytest.raises(ValueError, match="memory_limit must be a positive number"):
            parse_limit(limit)

    @given(st.integers(1, 10**15))
    def test_numbers_are_bytes(self, size):
        assert parse_limit(size) == parse_limit(str(size)) == size


class TestRowsPerBatch:
    def rows(self, limit, model=None, **options):
        model = DMKDE(**PLAN) if model is None else model
        n_features = options.pop("n_features", 10)
        return RowBudget(memory_limit=limit, **options).rows(model, n_features)

    def test_those_wished_for(self):
        assert self.rows(None, batch_rows=77) == 77
        assert self.rows("1 GB", batch_rows=77) == 77

    def test_more_columns_mean_fewer_rows(self):
        rows = [self.rows(None, n_features=d) for d in (1, 10, 100, 1000, 10_000)]
        assert rows == sorted(rows, reverse=True)
        assert rows[-1] >= 4096

    def test_more_outcomes_mean_more_rows(self):
        """Their sums cost time per batch, whatever the number of its rows."""
        many = DMKDClassifier(**PLAN).prepare(X, np.arange(300) % 30)
        few = DMKDClassifier(**PLAN).prepare(X, np.arange(300) % 2)
        wide = {"n_features": 1000}
        assert self.rows(None, many, **wide) > self.rows(None, few, **wide)

    @pytest.mark.parametrize("reading", [False, True])
    def test_smaller_batches_come_first(self, reading):
        """A limit that only small batches keep to is kept to by small batches."""
        model = DMKDE(**PLAN | {"n_components": 256})
        free = self.rows(None, model, reading=reading)
        sizes = []
        for megabytes in range(20, 400, 10):
            limit = megabytes * 10**6
            try:
                rows = self.rows(limit, model, reading=reading)
            except MemoryError:
                assert not sizes, "refused, though less memory was enough"
                continue
            estimate = model.memory_estimate(10, batch_rows=rows).total
            assert estimate <= limit
            sizes.append(rows)
        assert sizes == sorted(sizes)
        assert 4096 <= sizes[0] < sizes[-1] == free

    def test_batches_wished_for_are_not_made_smaller(self):
        with pytest.raises(MemoryError, match="in batches of 1,000,000 rows"):
            self.rows("100 MB", batch_rows=10**6)

    def test_the_message_says_what_is_needed_and_what_helps(self):
        model = DMKDE(n_components=1000)
        with pytest.raises(MemoryError) as raised:
            self.rows("10 MB", model)
        said = str(raised.value)
        assert "memory_limit='10 MB' is less than the " in said
        needed = model.memory_estimate(10, batch_rows=4096).total
        assert f"{needed / 1e6:.3g} MB that DMKDE needs for 10 columns" in said
        assert "lower n_components (now 1000)" in said
        assert "float32" in said
        for part in ("planning", "sums", "workers", "batch", "map"):
            assert part in said

    def test_what_is_said_to_be_needed_is_enough(self):
        model = DMKDE(n_components=1000)
        with pytest.raises(MemoryError, match="10 MB"):
            self.rows("10 MB", model)
        needed = model.memory_estimate(10, batch_rows=4096).total
        assert self.rows(needed, model) >= 4096
        with pytest.raises(MemoryError, match="is less than"):
            self.rows(needed - 1, model)


class TestFitsRefuse:
    """Before any row is read, and leaving the model as it was."""

    @pytest.fixture(params=["new", "prepared", "fitted"])
    def model(self, request):
        model = DMKDE(**PLAN)
        if request.param != "new":
            getattr(model, {"prepared": "prepare"}.get(request.param, "fit"))(X)
        before = dict(vars(model))
        yield model
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[key] is value for key, value in before.items())

    def test_files(self, model, path, tmp_path, monkeypatch):
        monkeypatch.setattr(TablePiece, "records", None)  # reading would fail
        checkpoint = tmp_path / "fit.rhokit"
        with pytest.raises(MemoryError, match="memory_limit='5 MB' is less than"):
            fit_files(model, path, memory_limit="5 MB", checkpoint=checkpoint)
        assert not checkpoint.exists()

    def test_batches(self, model, monkeypatch):
        """The first batch says how many columns there are; nothing is chosen yet."""
        made = []

        def batches():
            for _ in range(10):
                made.append(1)
                yield X

        monkeypatch.setattr(DMKDE, "prepare", None)
        with pytest.raises(MemoryError, match="memory_limit='5 MB' is less than"):
            fit_batches(model, batches(), memory_limit="5 MB")
        assert len(made) == 1

    def test_no_limits(self, model, path):
        for limit in ("much", 0):
            with pytest.raises(ValueError, match="memory_limit must be"):
                fit_files(model, path, memory_limit=limit)
            with pytest.raises(ValueError, match="memory_limit must be"):
                fit_batches(model, [X], memory_limit=limit)


def test_an_earlier_fit_says_nothing_about_memory(path):
    """It is fitted anew, to other columns and labels."""
    rows = np.random.default_rng(0).normal(size=(300, 200))
    many = DMKDClassifier(**PLAN).fit(rows, np.arange(300) % 100)
    with pytest.raises(MemoryError) as refused:
        fit_files(many, path, memory_limit="1 kB")
    with pytest.raises(MemoryError) as fresh:
        fit_files(clone(many), path, memory_limit="1 kB")
    assert str(refused.value) == str(fresh.value)


def test_many_labels_are_counted_before_learning(tmp_path, monkeypatch):
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": np.arange(300) % 100})
    pq.write_table(table, tmp_path / "rows.parquet")
    model = DMKDClassifier(**PLAN | {"n_components": 200, "scale": "std"})
    monkeypatch.setattr(DMKDClassifier, "partial_fit", None)  # learning would fail
    with pytest.raises(MemoryError, match=r"100 outcome\(s\)"):
        fit_files(model, tmp_path / "rows.parquet", target="y", memory_limit="120 MB")


def test_a_generous_limit_changes_nothing(path):
    free = fit_files(DMKDE(**PLAN), path)
    limited = fit_files(DMKDE(**PLAN), path, memory_limit="600 MB")
    np.testing.assert_array_equal(limited.state_.total, free.state_.total)


# A long file in a process of its own; what it holds, after every batch.
PROGRAM = """
import json, sys
import rhokit
from rhokit.streams import file_fitting

def resident(name="VmRSS"):
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(name))
    return int(line.split()[1]) * 1024

learn, curve = file_fitting.learn, []

def watched(*arguments):
    learn(*arguments)
    curve.append(resident())

file_fitting.learn = watched
model = rhokit.DMKDE(
    gamma=0.05, n_components=512, feature_map="landmarks", scale="std", random_state=0
)
rhokit.fit_files(
    model, sys.argv[1], memory_limit="600 MB", batch_rows=int(sys.argv[2]) or None
)
print(json.dumps([float(model.state_.weight[0]), curve, resident("VmHWM")]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize(
    ("n_rows", "batch_rows"),
    [(300_000, 30_000), pytest.param(1_500_000, 0, marks=pytest.mark.slow)],
)
def test_memory_does_not_grow_with_the_rows(tmp_path, n_rows, batch_rows):
    """So many rows of ten columns: under 600 MB, and flat."""
    path, rng = tmp_path / "long.parquet", np.random.default_rng(0)
    schema = pa.schema([(f"x{i}", pa.float32()) for i in range(10)])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(15):
            rows = rng.standard_normal((n_rows // 15, 10), dtype=np.float32)
            writer.write_table(pa.table(list(rows.T), schema=schema))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), str(batch_rows)],
        check=True,
        capture_output=True,
        text=True,
    )
    weight, curve, peak = json.loads(done.stdout)
    assert weight == n_rows
    assert peak < 600e6
    assert len(curve) >= 6
    half = len(curve) // 2
    assert max(curve[half:]) < max(curve[:half]) + 15e6
