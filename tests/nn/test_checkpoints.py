"""Checkpoints: cut-off training ends with the same bits; bad files are refused."""

import io
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from torch import nn

from rhokit.nn import (
    DMKDESGD,
    DMKDClassifierSGD,
    QMClassifierSGD,
    QMRegressorSGD,
    Recipe,
    TrainingRows,
    checkpoints,
    train,
    training,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
SMALL = {"n_components": 24, "rank": 4, "max_epochs": 4, "random_state": 0}
MODELS = {
    "density": (DMKDESGD(**SMALL, early_stopping=True), None),
    "classes": (DMKDClassifierSGD(**SMALL, train_features=True), Y),
    "joint classes": (QMClassifierSGD(**SMALL, early_stopping=True), Y),
    "values": (QMRegressorSGD(**SMALL, n_levels=8, early_stopping=True), X[:, 0]),
}


def fresh(name, **parameters):
    model, target = MODELS[name]
    return type(model)(**model.get_params(deep=False) | parameters), target


def answers(model):
    for name in ("predict_proba", "predict", "score_samples"):
        if hasattr(model, name):
            return getattr(model, name)(X)
    raise AssertionError(model)


def network():
    torch.manual_seed(0)
    layers = nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)
    return nn.Sequential(*layers).double()


def squares(output, target, weight):
    return ((output[:, 0] - target) ** 2).mean()


def rows_of(part):
    return TrainingRows((torch.from_numpy(X[part]),), torch.from_numpy(X[part, 1]))


def rows_with_weights():
    rows = rows_of(slice(0, 80))
    return rows.inputs, rows.target, torch.ones(80, dtype=torch.float64)


class Interrupt:
    """The user's Ctrl-C after so many epochs."""

    def __init__(self, after=None):
        self.after, self.calls = after, []

    def __call__(self, done):
        self.calls.append(done)
        if done == self.after:
            raise KeyboardInterrupt


RECIPE = Recipe(0.05, 6, 16, patience=4)


def run(path, interrupt=None, recipe=RECIPE, data=slice(0, 80)):
    module = network()
    history = train(
        module,
        squares,
        rows_of(data),
        recipe,
        validation=rows_of(slice(80, 120)),
        checkpoint=path,
        on_epoch=interrupt,
    )
    return module, history


def assert_same_bits(left, right):
    left, right = left.state_dict(), right.state_dict()
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert_array_equal(value.numpy(), right[name].numpy())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "training.pt"


@pytest.fixture
def half(path):
    """The path of a training that stopped in the middle."""
    with pytest.raises(KeyboardInterrupt):
        run(path, Interrupt(4))
    return path


# Forked from one process, so that torch is loaded once.
CRASHES = """
import os, resource, signal, stat, sys
from rhokit.nn import training
from tests.nn.test_checkpoints import X, fresh

write, sync, count = training.write_checkpoint, os.fsync, 0

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

def after(*arguments):
    global count
    count += 1
    write(*arguments)
    if count == 2:
        kill()

def within(file):
    global count
    count += stat.S_ISREG(os.fstat(file).st_mode)  # and not its folder
    if count == 3:
        os.ftruncate(file, 1000)
        kill()
    sync(file)

def fit(path, **parameters):
    fresh("density", checkpoint=path, **parameters)[0].fit(X)

for moment, path in zip(("after", "within", "full"), sys.argv[1:]):
    child = os.fork()
    if child:
        print(os.waitpid(child, 0)[1])
        continue
    if moment == "after":
        training.write_checkpoint = after
        fit(path)
    elif moment == "within":
        os.fsync = within
        fit(path)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    said = []
    for room in range(0, 30_000, 3_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        try:
            fit(path, n_components=32)
        except Exception as error:
            said.append(type(error).__name__ if path in str(error) else "nameless")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    with open(os.path.join(os.path.dirname(path), "said"), "w") as file:
        file.write(" ".join(said))
    os._exit(0)
"""


@pytest.fixture(scope="module")
def crashes(tmp_path_factory):
    """Files of processes that were killed, or had no room to write."""
    names = ("after", "within", "full")
    files = [tmp_path_factory.mktemp(name) / "training.pt" for name in names]
    done = subprocess.run(
        [sys.executable, "-c", CRASHES, *map(str, files)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    killed = int(signal.SIGKILL)
    assert done.stdout.split() == [str(killed), str(killed), "0"], done.stderr
    return dict(zip(names, files, strict=True))


def assert_no_leftovers(path):
    assert [each.name for each in path.parent.iterdir()] == [path.name]


class TestGoesOn:
    @pytest.mark.parametrize("after", [0, 1, 2, 5, 6])
    def test_same_bits_as_never_interrupted(self, path, after):
        with pytest.raises(KeyboardInterrupt):
            run(path, Interrupt(after))
        resumed = Interrupt()
        module, _ = run(path, resumed)
        assert_same_bits(module, run(None)[0])
        # An epoch counts once its file is written, after the call.
        assert resumed.calls == list(range(max(after - 1, 0), 7))
        assert_no_leftovers(path)

    def test_interrupted_more_than_once(self, path):
        for after in (2, 3, 5):
            with pytest.raises(KeyboardInterrupt):
                run(path, Interrupt(after))
        assert_same_bits(run(path)[0], run(None)[0])

    def test_same_history_as_never_interrupted(self, half):
        assert run(half)[1] == run(None)[1]

    def test_what_is_done_is_not_done_again(self, path):
        module, history = run(path)
        again = Interrupt()
        twin, _ = run(path, again)
        assert again.calls == [len(history["loss"])]
        assert_same_bits(module, twin)

    @pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
    def test_patience_goes_on_counting(self, path):
        """Best in the first epoch: the files know how long nothing has been better."""
        recipe = Recipe(3.0, 30, 16, schedule="constant", patience=3)
        whole, history = run(None, recipe=recipe)
        stop = len(history["loss"])
        assert stop < 30
        with pytest.raises(KeyboardInterrupt):
            run(path, Interrupt(stop - 1), recipe=recipe)
        module, resumed = run(path, recipe=recipe)
        assert len(resumed["loss"]) == stop
        assert_same_bits(module, whole)

    def test_many_models(self, path):
        class Lines(nn.Module):
            def __init__(self):
                super().__init__()
                start = np.random.default_rng(0).normal(size=(3, 2))
                self.weights = nn.Parameter(torch.from_numpy(start))

            def forward(self, rows):
                return self.weights @ rows.mT

        def loss(output, target, weight):
            return ((output - target) ** 2).mean(dim=-1)

        ends = []
        for interrupt, file in ((None, None), (Interrupt(3), path), (None, path)):
            module = Lines()
            try:
                train(
                    module,
                    loss,
                    rows_of(slice(0, 80)),
                    RECIPE,
                    validation=rows_of(slice(80, 120)),
                    checkpoint=file,
                    on_epoch=interrupt,
                )
            except KeyboardInterrupt:
                continue
            ends.append(module)
        assert_same_bits(*ends)


class TestOtherTraining:
    """Of the same module, so that nothing but what is told differs."""

    @pytest.mark.parametrize(
        "changed",
        [
            {
                "rows": TrainingRows(
                    (torch.from_numpy(X[:80] + 1e-9),), rows_of(slice(80)).target
                )
            },
            {
                "rows": TrainingRows(
                    rows_of(slice(80)).inputs, torch.from_numpy(X[:80, 0])
                )
            },
            {"rows": TrainingRows(*rows_with_weights())},
            {"rows": rows_of(slice(0, 79))},
            {"validation": rows_of(slice(81, 120))},
            {"validation": None},
            {"recipe": Recipe(0.05, 6, 16, patience=4, seed=1)},
            {"recipe": Recipe(0.05, 6, 16, patience=4, schedule="constant")},
            {"settings": "another loss"},
        ],
        ids=lambda each: next(iter(each)),
    )
    def test_refused(self, half, changed):
        told = {
            "rows": rows_of(slice(0, 80)),
            "recipe": RECIPE,
            "validation": rows_of(slice(80, 120)),
        }
        train(network(), squares, **told, checkpoint=half)
        with pytest.raises(ValueError, match=r"training\.pt.*another training"):
            train(network(), squares, **told | changed, checkpoint=half)


class TestEstimators:
    @pytest.mark.parametrize("name", MODELS)
    def test_same_bits_as_never_interrupted(self, name, path, monkeypatch):
        whole, target = fresh(name)
        whole.fit(X, target)
        write, count = training.write_checkpoint, 0

        def interrupted(*arguments):
            nonlocal count
            write(*arguments)
            count += 1
            if count == 2:
                raise KeyboardInterrupt

        model, _ = fresh(name, checkpoint=path)
        with monkeypatch.context() as patched:
            patched.setattr(training, "write_checkpoint", interrupted)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, target)
        assert not hasattr(model, "estimator_")
        model.set_params(checkpoint=str(path)).fit(X, target)
        assert_array_equal(answers(model), answers(whole))
        assert_no_leftovers(path)

    @pytest.mark.parametrize("moment", ["after", "within"])
    def test_killed(self, crashes, moment, monkeypatch):
        """A process that is killed leaves a file from which another one goes on."""
        model, target = fresh("density", checkpoint=crashes[moment])
        whole, _ = fresh("density")
        write, epochs = training.write_checkpoint, []

        def spied(path, digest, state):
            epochs.append(state["epochs_done"])
            write(path, digest, state)

        monkeypatch.setattr(training, "write_checkpoint", spied)
        model.fit(X, target)
        assert epochs == [3, 4]
        assert_array_equal(answers(model), answers(whole.fit(X, target)))

    @pytest.mark.parametrize(
        ("name", "changed"),
        [
            ("density", {"learning_rate": 0.02}),
            ("density", {"max_epochs": 5}),
            ("density", {"batch_size": 50}),
            ("density", {"weight_decay": 0.1}),
            ("density", {"rank": 5}),
            ("density", {"gamma": 1.0}),
            ("density", {"random_state": 1}),
            ("density", {"early_stopping": False}),
            ("density", {"validation_fraction": 0.2}),
            ("density", {"patience": 3}),
            ("density", {"init": "random"}),
            ("joint classes", {"output_map": "softmax"}),
            ("classes", {"priors": [0.2, 0.8]}),
            ("classes", {"train_features": False}),
            ("classes", {"label_smoothing": 0.2}),
            ("values", {"alpha": 2.0}),
        ],
    )
    def test_other_parameters_are_refused(self, path, name, changed):
        model, target = fresh(name, checkpoint=path)
        model.fit(X, target)
        before = path.read_bytes()
        other, _ = fresh(name, checkpoint=path, **changed)
        with pytest.raises(ValueError, match=r"training\.pt.*another training"):
            other.fit(X, target)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("name", MODELS)
    def test_other_rows_are_refused(self, path, name):
        model, target = fresh(name, checkpoint=path)
        model.fit(X, target)
        rows = X.copy()
        rows[3, 1] += 0.01
        with pytest.raises(ValueError, match=r"training\.pt.*its data \(here 1\d\d ro"):
            model.fit(rows, target)

    @pytest.mark.parametrize("name", ["classes", "joint classes", "values"])
    def test_other_targets_are_refused(self, path, name):
        model, target = fresh(name, checkpoint=path)
        model.fit(X, target)
        with pytest.raises(ValueError, match=r"training\.pt.*another training"):
            model.fit(X, np.roll(target, 1))

    def test_other_weights_are_refused(self, path):
        model, _ = fresh("density", checkpoint=path)
        model.fit(X, sample_weight=np.arange(1, 121))
        with pytest.raises(ValueError, match="another training"):
            model.fit(X)

    def test_refused_file_leaves_the_model(self, path):
        model, _ = fresh("density")
        before = answers(model.fit(X))
        path.write_bytes(b"hello")
        with pytest.raises(ValueError, match=r"training\.pt.*delete it"):
            model.set_params(checkpoint=path).fit(X)
        assert_array_equal(answers(model), before)


class Harm:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


class TestBadFiles:
    @pytest.mark.parametrize("size", [0, 1, 10, 100, 1000, 0.5, -100, -1])
    def test_cut_off(self, half, size):
        whole = half.read_bytes()
        half.write_bytes(whole[: int(len(whole) * size) if size == 0.5 else size])
        with pytest.raises(ValueError, match=r"training\.pt.*delete it"):
            run(half)

    def test_any_changed_byte_is_seen_or_does_not_matter(self, half):
        whole, expected = half.read_bytes(), run(None)[0]
        for place in range(0, len(whole), len(whole) // 50):
            damaged = bytearray(whole)
            damaged[place] ^= 0xFF
            half.write_bytes(damaged)
            try:
                module, _ = run(half)
            except ValueError:
                continue
            assert_same_bits(module, expected)

    @pytest.mark.parametrize(
        "content",
        [b"", b"hello", b"PK\x03\x04" + bytes(50), bytes(range(256)), b"\x00" * 999],
        ids=["empty", "text", "zip", "bytes", "zeros"],
    )
    def test_not_a_checkpoint(self, path, content):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"training\.pt"):
            run(path)
        assert path.read_bytes() == content

    @pytest.mark.parametrize("content", [b"\x80\x02.", b"something else"])
    def test_no_pickle_either(self, path, content):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"training\.pt"):
            run(path)

    @pytest.mark.parametrize(
        "value",
        [
            [1, 2],
            {},
            {"protocol": 1},
            {"protocol": 1, "fingerprint": "another"},
            3,
            torch.zeros(3),
        ],
        ids=["list", "empty", "half", "other", "number", "tensor"],
    )
    def test_file_of_something_else(self, path, value):
        torch.save(value, path)
        with pytest.raises(ValueError, match=r"training\.pt"):
            run(path)

    def test_other_version(self, half):
        whole = half.read_bytes()
        assert whole.startswith(b"rhokit checkpoint 1\n")
        half.write_bytes(whole.replace(b"checkpoint 1", b"checkpoint 9", 1))
        with pytest.raises(ValueError, match="this version"):
            run(half)

    @pytest.mark.parametrize("writer", ["ours", "torch", "pickle"])
    def test_code_in_a_file_does_not_run(self, path, tmp_path, writer):
        harm = Harm(str(tmp_path / "harm"))
        if writer == "ours":
            checkpoints.write_checkpoint(path, "digest", {"epochs_done": harm})
        elif writer == "torch":
            torch.save({"fingerprint": harm}, path)
        else:
            path.write_bytes(pickle.dumps({"fingerprint": harm}, protocol=2))
        with pytest.raises(ValueError, match=r"training\.pt.*delete it"):
            run(path)
        assert not os.path.exists(harm.path)
        pickle.loads(pickle.dumps(harm))
        assert os.path.exists(harm.path)  # so a careless reader does harm

    def test_folder(self, tmp_path):
        with pytest.raises((ValueError, OSError), match="checkpoint="):
            run(tmp_path)


def places(tree, path=()):
    """The paths of all that stands in a tree of dicts and lists."""
    yield path
    if isinstance(tree, dict | list | tuple):
        keys = tree if isinstance(tree, dict) else range(len(tree))
        for key in keys:
            yield from places(tree[key], (*path, key))


def tampered(tree, path, change):
    """A copy of a tree, of which one place is another; or, by None, not there."""
    if not path:
        return change(tree)
    first, *rest = path
    if isinstance(tree, dict):
        known = dict(tree)
        if change is None and not rest:
            del known[first]
        else:
            known[first] = tampered(tree[first], rest, change)
        return known
    known = list(tree)
    if change is None and not rest:
        del known[first]
    else:
        known[first] = tampered(tree[first], rest, change)
    return known


class TestTampered:
    """Files with a right digest, of which any one place says something else."""

    JUNK = (
        None,  # nothing
        lambda old: None if old is not None else "none",
        lambda old: "text",
        lambda old: -1,
        lambda old: 1.5 if type(old) is not float else 1,
        lambda old: [],
        lambda old: {"more": 1},
        lambda old: torch.zeros(7, 3),
        lambda old: old.to(torch.complex64) if torch.is_tensor(old) else torch.ones(()),
        lambda old: old[None] if torch.is_tensor(old) else torch.tensor("x" == "y"),
    )

    @staticmethod
    def saved(half):
        start = len(b"rhokit checkpoint 1\n") + 32
        return torch.load(io.BytesIO(half.read_bytes()[start:]), weights_only=True)

    @pytest.mark.parametrize(
        "kinds", [1, pytest.param(len(JUNK), marks=pytest.mark.slow)]
    )
    def test_any_place(self, half, kinds):
        """Each place with one kind of junk, in turn; with all of them, slowly."""
        saved = self.saved(half)
        digest = saved.pop("fingerprint")
        found = list(places(saved))[1:]
        assert len(found) > 60
        for number, path in enumerate(found):
            for junk in range(number, number + kinds):
                change = self.JUNK[junk % len(self.JUNK)]
                if not self.matters(path, change):
                    continue
                told = tampered(saved, path, change)
                checkpoints.write_checkpoint(half, digest, told)
                with pytest.raises(ValueError, match=r"training\.pt.*delete it"):
                    run(half)

    @staticmethod
    def matters(path, change):
        if path[-1] == "lr" and change:
            return False  # each step has its own, whatever files say
        # Weights without gradients have no state.
        return path[:-1] != ("optimizer", "state") or change

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (("epochs_done",), 7),
            (("epochs_done",), 2),
            (("epochs_done",), True),
            (("history", "loss"), [0.5] * 9),
            (("optimizer", "state", 0, "step"), torch.tensor(-1.0)),
            (("optimizer", "state", 0, "step"), torch.tensor(float("nan"))),
            (("optimizer", "state", 0, "step"), torch.tensor(1e9)),
            (("optimizer", "param_groups", 0, "eps"), 1.0),
            (("optimizer", "param_groups", 0, "fused"), False),
        ],
        ids=str,
    )
    def test_values(self, half, place, value):
        saved = self.saved(half)
        digest = saved.pop("fingerprint")
        checkpoints.write_checkpoint(
            half, digest, tampered(saved, place, lambda old: value)
        )
        with pytest.raises(ValueError, match=r"training\.pt.*delete it"):
            run(half)

    def test_what_is_not_tampered_with_is_read(self, half):
        """So that it is the change that is refused above."""
        saved = self.saved(half)
        digest = saved.pop("fingerprint")
        checkpoints.write_checkpoint(half, digest, saved)
        assert_same_bits(run(half)[0], run(None)[0])


class TestFingerprint:
    def test_shapes_count(self):
        """The same numbers in rows of another length are other rows."""
        numbers = torch.arange(6.0)
        shapes = [(6,), (2, 3), (3, 2), (6, 1), (1, 6)]
        found = {checkpoints.fingerprint(numbers.reshape(shape)) for shape in shapes}
        assert len(found) == len(shapes)

    def test_dtypes_count(self):
        zeros = [torch.zeros(2, dtype=d) for d in (torch.float32, torch.int32)]
        assert len({checkpoints.fingerprint(each) for each in zeros}) == 2


class TestWriting:
    def test_folder_that_is_not_there(self, tmp_path):
        missing = tmp_path / "missing" / "training.pt"
        with pytest.raises(OSError, match=r"checkpoint='.*missing/training\.pt'"):
            run(missing)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("step", ["fsync", "replace"])
    def test_old_file_survives_a_write_that_fails(self, half, monkeypatch, step):
        before = half.read_bytes()

        def full(*arguments):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, step, full)
            with pytest.raises(OSError, match=r"training\.pt.*No space left"):
                run(half)
        assert half.read_bytes() == before
        assert_no_leftovers(half)
        assert_same_bits(run(half)[0], run(None)[0])

    def test_full_disk(self, crashes):
        """Wherever within the file the room runs out."""
        said = (crashes["full"].parent / "said").read_text()
        assert said.split() == ["OSError"] * 10
        assert not list(crashes["full"].parent.glob(".*"))

    def test_relative_path(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        run("training.pt")
        assert [each.name for each in tmp_path.iterdir()] == ["training.pt"]
