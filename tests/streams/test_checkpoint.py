"""A fit over files that is killed goes on where it was, to the same bits."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from rhokit import (
    DMKDE,
    DMKDClassifier,
    ModelFileError,
    OneHotFeatures,
    QMRegressor,
    fit_files,
    load,
)
from rhokit.io.model_files import unpack_model
from rhokit.streams import checkpoint
from rhokit.streams.pieces import TablePiece
from rhokit.streams.tables import TableReader

N_ROWS, BATCH_ROWS = 20_000, 500  # 40 batches
MODEL = DMKDE(n_components=48, random_state=0)
OPTIONS = {"batch_rows": BATCH_ROWS, "checkpoint_every": 0.0}
RARELY = {"batch_rows": BATCH_ROWS, "checkpoint_every": 1e9}

# What is killed. It says when it plans and when it learns, so that moments can be
# chosen, and takes its time over each of 80 batches.
PROGRAM = """
import sys, time
import rhokit
from rhokit.streams import file_fitting

say = lambda what: print(what, flush=True)
folder, checkpoint, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
plan, learn = file_fitting.plan_from, file_fitting.learn

def slow_plan(*arguments):
    say("plans")
    return plan(*arguments)

def slow_learn(*arguments):
    say("learns")
    learn(*arguments)
    time.sleep(pause)

file_fitting.plan_from, file_fitting.learn = slow_plan, slow_learn
model = rhokit.DMKDE(n_components=48, random_state=0)
rhokit.fit_files(
    model, folder, checkpoint=checkpoint, checkpoint_every=0.0, batch_rows=250
)
say("done")
"""


def write_folder(folder, seed=0, n_rows=N_ROWS):
    """Three files whose row groups and batches end at different rows."""
    rows = np.random.default_rng(seed).normal(size=(n_rows, 3))
    folder.mkdir(exist_ok=True)
    edges = [0, n_rows // 3, n_rows // 2, n_rows]
    for number, start in enumerate(edges[:-1]):
        part = rows[start : edges[number + 1]]
        table = pa.table({name: part[:, i] for i, name in enumerate("abc")})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=1300)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("data") / "rows")


@pytest.fixture(scope="module")
def whole(folder):
    """The fit that nobody interrupts."""
    return fit_files(clone(MODEL), folder, **OPTIONS)


@pytest.fixture
def finished(folder, tmp_path):
    """A checkpoint of a fit that has ended."""
    path = tmp_path / "fit.rhokit"
    fit_files(clone(MODEL), folder, checkpoint=path, **RARELY)
    return path


def stop_after(monkeypatch, n_batches):
    """Let learning fail after so many batches."""
    learned = []
    learn = DMKDE.partial_fit

    def fails(self, *arguments, **options):
        if len(learned) == n_batches:
            raise KeyboardInterrupt
        learned.append(1)
        return learn(self, *arguments, **options)

    monkeypatch.setattr(DMKDE, "partial_fit", fails)


def assert_same_bits(actual, expected):
    assert actual.fingerprint() == expected.fingerprint()
    assert_array_equal(actual.state_.total, expected.state_.total)
    assert_array_equal(actual.state_.weight, expected.state_.weight)


# After how many of its words a program is killed: none is while it starts. At first
# there is no checkpoint, and so it must plan.
MANY_MOMENTS = [0, 1, 1, 1, *np.random.default_rng(1).integers(0, 5, 16)]


@pytest.mark.parametrize(
    "moments", [[1, 3, 4], pytest.param(MANY_MOMENTS, marks=pytest.mark.slow)]
)
def test_killed_many_times(folder, tmp_path, moments):
    """SIGKILL at random moments: while it starts, plans, learns, writes."""
    rng, kills = np.random.default_rng(0), len(moments)
    path, fresh = tmp_path / "fit.rhokit", tmp_path / "fresh.rhokit"
    # The same number of threads: sums of other shares of rows round differently.
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def command(to, pause):
        arguments = [str(folder), str(to), str(pause)]
        return [sys.executable, "-c", PROGRAM, *arguments]

    seen = [0]
    for n_words in moments:
        with subprocess.Popen(
            command(path, 0.03), stdout=subprocess.PIPE, env=alone, text=True
        ) as process:
            _let_run(process, n_words, rng)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL, "it had ended before its kill"
        if path.exists():
            seen.append(unpack_model(path.read_bytes())[1]["seen"])
    # The kills did hit the fit in its middle, and none of them took anything back.
    assert seen == sorted(seen)
    assert len(set(seen)) > kills // 3
    assert 0 < seen[-1] < N_ROWS
    for each in (path, fresh):
        subprocess.run(command(each, 0), env=alone, check=True, capture_output=True)
    assert_same_bits(load(path), load(fresh))
    assert load(path).state_.weight[0] == N_ROWS


def _let_run(process, n_words, rng):
    """Wait for so many words of a program, and then for a random moment."""
    if n_words == 0:  # while it starts
        time.sleep(rng.uniform(0, 0.5))
    for _ in range(n_words):
        line = process.stdout.readline()
        assert line in ("plans\n", "learns\n"), f"it ended before its kill: {line!r}"
    time.sleep(rng.uniform(0, 0.05))


class TestInterrupted:
    """Anywhere, by anything: the next call ends with the same bits."""

    @pytest.mark.parametrize("n_batches", [0, 1, 13, 39])
    def test_goes_on_to_the_same_bits(
        self, folder, whole, tmp_path, monkeypatch, n_batches
    ):
        path, model = tmp_path / "fit.rhokit", clone(MODEL)
        with monkeypatch.context() as patch:
            stop_after(patch, n_batches)
            with pytest.raises(KeyboardInterrupt):
                fit_files(model, folder, checkpoint=path, **OPTIONS)
        assert not hasattr(model, "state_")
        assert unpack_model(path.read_bytes())[1]["seen"] == n_batches * BATCH_ROWS
        assert_same_bits(fit_files(model, folder, checkpoint=path, **OPTIONS), whole)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]

    def test_rows_that_were_learned_are_not_learned_again(
        self, folder, tmp_path, monkeypatch
    ):
        path = tmp_path / "fit.rhokit"
        with monkeypatch.context() as patch:
            stop_after(patch, 30)
            with pytest.raises(KeyboardInterrupt):
                fit_files(clone(MODEL), folder, checkpoint=path, **OPTIONS)
        with monkeypatch.context() as patch:
            stop_after(patch, 10)  # the eleventh would fail
            fit_files(clone(MODEL), folder, checkpoint=path, **OPTIONS)

    def test_without_a_seed(self, folder, tmp_path, monkeypatch):
        """What was drawn at first is in the file."""
        path, model = tmp_path / "fit.rhokit", DMKDE(n_components=48)
        with monkeypatch.context() as patch:
            stop_after(patch, 5)
            with pytest.raises(KeyboardInterrupt):
                fit_files(model, folder, checkpoint=path, **OPTIONS)
        plan = load(path).fingerprint()
        fit_files(model, folder, checkpoint=path, **OPTIONS)
        assert model.fingerprint() == plan
        assert model.state_.weight[0] == N_ROWS

    @pytest.mark.parametrize("kind", ["classes", "values", "categories", "prepared"])
    def test_other_models(self, tmp_path, monkeypatch, kind):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 2))
        table = pa.table(
            {
                "a": X[:, 0],
                "b": X[:, 1],
                "label": rng.choice(["x", "y"], 300),
                "value": X.sum(axis=1),
                "word": rng.choice(["u", "v", "w"], 300),
            }
        )
        pq.write_table(table, tmp_path / "rows.parquet", row_group_size=70)
        plan = {
            "gamma": 0.7,
            "scale": None,
            "feature_map": "fourier",
            "n_components": 16,
        }
        plan |= {"random_state": 0}
        model, roles = {
            "classes": (
                DMKDClassifier(**plan, reject=0.05),
                {"columns": ["a", "b"], "target": "label"},
            ),
            "values": (
                QMRegressor(**plan, n_levels=5, beta=4.0),
                {"columns": ["a", "b"], "target": "value"},
            ),
            "categories": (
                DMKDE(feature_map=OneHotFeatures(), random_state=0),
                {"columns": ["label", "word"]},
            ),
            "prepared": (DMKDE(**plan).prepare(X * 2), {"columns": ["a", "b"]}),
        }[kind]

        def blank():
            return model.blank() if kind == "prepared" else clone(model)

        call = {**roles, "batch_rows": 50, "checkpoint_every": 0.0}
        source, path = tmp_path / "rows.parquet", tmp_path / "fit.rhokit"
        expected = fit_files(blank(), source, **call)
        cls, learn, learned = type(model), type(model).partial_fit, []

        def fails(self, *arguments, **options):
            if len(learned) == 4:
                raise KeyboardInterrupt
            learned.append(1)
            return learn(self, *arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(cls, "partial_fit", fails)
            with pytest.raises(KeyboardInterrupt):
                fit_files(blank(), source, checkpoint=path, **call)
        resumed = fit_files(blank(), source, checkpoint=path, **call)
        assert_same_bits(resumed, expected)
        if getattr(expected, "sample_", None) is not None:
            assert_array_equal(resumed.sample_.keys, expected.sample_.keys)
            assert_array_equal(resumed.sample_.weight, expected.sample_.weight)


def test_the_same_call_is_known_again(folder, tmp_path):
    """Always, not only when a header happens to be written in the same order."""
    reader, path = TableReader(folder), tmp_path / "fit.rhokit"
    for model in (clone(MODEL), clone(MODEL).prepare(np.eye(3))):
        digests = {
            checkpoint.Checkpoint(path, 60.0, model, reader, "").digest
            for _ in range(20)
        }
        assert len(digests) == 1


class TestFinished:
    def test_has_the_same_bits_as_without(self, finished, whole):
        assert_same_bits(load(finished), whole)

    @pytest.mark.parametrize("batch_rows", [BATCH_ROWS, 700])
    def test_returns_at_once(self, folder, tmp_path, monkeypatch, batch_rows):
        """Without reading: also where the last batch is a full one."""
        path = tmp_path / "fit.rhokit"
        # Columns that are named are not looked at, whether they say something.
        call = {"checkpoint": path, "batch_rows": batch_rows}
        call["columns"] = ["a", "b", "c"]
        expected = fit_files(clone(MODEL), folder, **call)

        def read(self, columns):
            raise AssertionError("rows were read again")

        monkeypatch.setattr(TablePiece, "records", read)
        model = fit_files(clone(MODEL), folder, **call)
        assert_same_bits(model, expected)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]

    def test_leaves_one_file(self, finished):
        assert [path.name for path in finished.parent.iterdir()] == [finished.name]

    def test_goes_on_learning(self, folder, finished):
        model = fit_files(clone(MODEL), folder, checkpoint=finished, **OPTIONS)
        rows = pa.table(dict.fromkeys(model.feature_names_in_, np.zeros(5)))
        assert model.partial_fit(rows).state_.weight[0] == N_ROWS + 5

    def test_knows_its_files_by_what_they_hold(self, tmp_path):
        folder, path = write_folder(tmp_path / "rows", n_rows=900), tmp_path / "fit"
        before = fit_files(clone(MODEL), folder, checkpoint=path, **OPTIONS)
        os.utime(folder / "0.parquet", ns=(0, 0))
        after = fit_files(clone(MODEL), folder, checkpoint=path, **OPTIONS)
        assert_array_equal(after.state_.total, before.state_.total)


class TestEvery:
    def writes(self, monkeypatch, folder, path, **options):
        written = []
        write = checkpoint.write_atomically

        def spy(path, data):
            written.append(unpack_model(data)[1]["seen"])
            write(path, data)

        monkeypatch.setattr(checkpoint, "write_atomically", spy)
        fit_files(
            clone(MODEL), folder, checkpoint=path, batch_rows=BATCH_ROWS, **options
        )
        return written

    def test_zero_is_after_every_batch(self, monkeypatch, folder, tmp_path):
        written = self.writes(
            monkeypatch, folder, tmp_path / "fit.rhokit", checkpoint_every=0.0
        )
        every = list(range(0, N_ROWS + 1, BATCH_ROWS))
        assert sorted(set(written)) == every

    def test_rarely_is_at_the_beginning_and_at_the_end(
        self, monkeypatch, folder, tmp_path
    ):
        written = self.writes(
            monkeypatch, folder, tmp_path / "fit.rhokit", checkpoint_every=1e9
        )
        assert written == [0, N_ROWS]


class TestRefuses:
    """A checkpoint that is not of this very fit; the model stays as it was."""

    @pytest.fixture
    def model(self):
        model = clone(MODEL)
        before = dict(vars(model))
        yield model
        assert vars(model) == before

    def test_other_files(self, model, finished, tmp_path):
        other = write_folder(tmp_path / "other", seed=1)
        before = finished.read_bytes()
        with pytest.raises(ValueError, match=r"fit.rhokit' belongs to another fit"):
            fit_files(model, other, checkpoint=finished, **OPTIONS)
        assert finished.read_bytes() == before

    def test_files_that_changed(self, model, tmp_path):
        folder, path = write_folder(tmp_path / "rows", n_rows=900), tmp_path / "fit"
        fit_files(clone(MODEL), folder, checkpoint=path, **OPTIONS)
        write_folder(folder, seed=1, n_rows=903)
        with pytest.raises(ValueError, match="its files, columns or parameters differ"):
            fit_files(model, folder, checkpoint=path, **OPTIONS)

    @pytest.mark.parametrize("place", [0.0, 0.3, 0.99])
    def test_content_that_changed_at_equal_size_and_time(self, model, tmp_path, place):
        file, path = tmp_path / "rows.csv", tmp_path / "fit"
        text = "a,b\n" + "1.5,2.5\n2.5,1.5\n3.5,0.5\n" * 300
        file.write_text(text)
        before = file.stat()
        fit_files(clone(MODEL), file, checkpoint=path, **OPTIONS)
        where = text.index("1.5", int(place * len(text)))
        file.write_text(text[:where] + "9" + text[where + 1 :])
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        after = file.stat()
        assert (after.st_size, after.st_mtime_ns) == (
            before.st_size,
            before.st_mtime_ns,
        )
        with pytest.raises(ValueError, match="belongs to another fit"):
            fit_files(model, file, checkpoint=path, **OPTIONS)

    def test_a_file_that_came(self, model, tmp_path):
        folder, path = write_folder(tmp_path / "rows", n_rows=900), tmp_path / "fit"
        fit_files(clone(MODEL), folder, checkpoint=path, **OPTIONS)
        (folder / "9.parquet").write_bytes((folder / "0.parquet").read_bytes())
        with pytest.raises(ValueError, match="belongs to another fit"):
            fit_files(model, folder, checkpoint=path, **OPTIONS)

    @pytest.mark.parametrize(
        "changes",
        [
            {"columns": ["a", "b"]},
            {"batch_rows": 400},
            {"sample_rows": 400},
            {"weight": "c"},
        ],
        ids=["columns", "batch_rows", "sample_rows", "weight"],
    )
    def test_other_options(self, model, folder, finished, changes):
        with pytest.raises(ValueError, match="belongs to another fit"):
            fit_files(model, folder, checkpoint=finished, **(OPTIONS | changes))

    @pytest.mark.parametrize(
        "other",
        [
            clone(MODEL).set_params(n_components=32),
            clone(MODEL).set_params(random_state=1),
            clone(MODEL).set_params(rank=3),
            DMKDClassifier(n_components=48, random_state=0),
        ],
        ids=["components", "seed", "rank", "class"],
    )
    def test_other_models(self, folder, finished, other):
        with pytest.raises(ValueError, match="belongs to another fit"):
            fit_files(other, folder, checkpoint=finished, **OPTIONS)
        assert not hasattr(other, "state_")

    def test_other_plans(self, folder, finished):
        rows = np.random.default_rng(5).normal(size=(100, 3))
        model = clone(MODEL).prepare(rows)
        with pytest.raises(ValueError, match="belongs to another fit"):
            fit_files(model, folder, checkpoint=finished, **OPTIONS)
        assert model.state_ is None

    @pytest.mark.parametrize("damage", ["cut", "changed", "empty", "foreign"])
    def test_damaged_files(self, model, folder, finished, damage):
        data = finished.read_bytes()
        middle = len(data) // 2
        flipped = bytes([data[middle] ^ 1])
        finished.write_bytes(
            {
                "cut": data[:middle],
                "changed": data[:middle] + flipped + data[middle + 1 :],
                "empty": b"",
                "foreign": b"PAR1" + data,
            }[damage]
        )
        with pytest.raises(ModelFileError, match=r"checkpoint='.*fit.rhokit'"):
            fit_files(model, folder, checkpoint=finished, **OPTIONS)

    def test_a_model_file(self, model, folder, whole, tmp_path):
        from rhokit import save

        path = tmp_path / "model.rhokit"
        save(whole, path)
        with pytest.raises(ValueError, match="belongs to another fit"):
            fit_files(model, folder, checkpoint=path, **OPTIONS)

    def test_a_path_that_cannot_be_written(self, model, folder, tmp_path):
        path = tmp_path / "nowhere" / "fit.rhokit"
        with pytest.raises(OSError, match=r"fit.rhokit' could not be written"):
            fit_files(model, folder, checkpoint=path, **OPTIONS)

    @pytest.mark.parametrize("every", [-1.0, "often", None])
    def test_seconds_that_are_none(self, model, folder, tmp_path, every):
        with pytest.raises(ValueError, match="checkpoint_every must be a number"):
            fit_files(model, folder, checkpoint=tmp_path / "f", checkpoint_every=every)

    def test_a_folder_as_path(self, model, folder, tmp_path):
        with pytest.raises(OSError, match=r"checkpoint=|Is a directory"):
            fit_files(model, folder, checkpoint=tmp_path, **OPTIONS)

    def test_what_is_not_made_of_files(self, model):
        import pyarrow.dataset as pa_dataset

        table = pa_dataset.dataset(pa.table({"a": np.arange(9.0)}))
        with pytest.raises(ValueError, match=r"checkpoint needs a source.*of files"):
            fit_files(model, table, checkpoint="never")
