"""Files are written whole or not at all."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rhokit
from rhokit import DMKDE
from tests.io.models import plane

SOURCE = Path(rhokit.__file__).parents[1]
KILLS = 8
MANY_KILLS = 60

# A child saves models of different sizes in turn, as fast as it can, until it is
# killed; then what it left must load. All in one process, whose imports are paid once.
KILLED_WHILE_SAVING = """
import os, random, signal, sys, time
import numpy as np
import rhokit

path, kills = sys.argv[1], int(sys.argv[2])
rows = np.random.default_rng(0).normal(size=(300, 2))
models = [
    rhokit.DMKDE(gamma=1.0, n_components=size, feature_map="fourier", random_state=0)
    .fit(rows)
    for size in (8, 400)
]
rhokit.save(models[0], path)
rng = random.Random(0)
for _ in range(kills):
    child = os.fork()
    if not child:
        while True:
            for model in models:
                rhokit.save(model, path)
    time.sleep(rng.uniform(0.002, 0.06))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, status
    model = rhokit.load(path)
    assert np.isfinite(model.score_samples(rows)).all()
    print(model.n_components)
"""


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"},
    )


def density(n_components):
    settings = {
        "gamma": 1.0,
        "scale": None,
        "feature_map": "fourier",
        "random_state": 0,
    }
    return DMKDE(**settings, n_components=n_components).fit(plane())


@pytest.fixture(scope="module")
def old():
    return density(8)


@pytest.fixture(scope="module")
def new():
    return density(32)


@pytest.fixture
def path(tmp_path, old):
    """A file that is there already."""
    path = tmp_path / "model.rhokit"
    rhokit.save(old, path)
    return path


class TestKills:
    @pytest.mark.parametrize(
        "kills", [KILLS, pytest.param(MANY_KILLS, marks=pytest.mark.slow)]
    )
    def test_leave_a_whole_file(self, tmp_path, kills):
        path = tmp_path / "model.rhokit"
        done = run(KILLED_WHILE_SAVING, path, kills)
        assert done.returncode == 0, done.stderr
        sizes = done.stdout.split()
        assert len(sizes) == kills
        assert set(sizes) <= {"8", "400"}
        # What a kill leaves behind never looks like a model's own file.
        left = [each.name for each in tmp_path.iterdir() if each != path]
        assert all(name.startswith(".") for name in left)


class Failing:
    """Stands in for a function of ``os`` and fails as a full disk does."""

    def __init__(self):
        self.calls = 0

    def __call__(self, *arguments, **options):
        self.calls += 1
        raise OSError(errno.ENOSPC, "No space left on device")


class TestFailedWrites:
    @pytest.mark.parametrize("function", ["fsync", "replace"])
    def test_leave_the_old_file_whole(self, monkeypatch, path, new, function):
        before = path.read_bytes()
        failing = Failing()
        monkeypatch.setattr(os, function, failing)
        with pytest.raises(OSError, match="No space left"):
            rhokit.save(new, path)
        assert failing.calls == 1
        assert path.read_bytes() == before
        assert rhokit.load(path).n_components == 8

    @pytest.mark.parametrize("function", ["fsync", "replace"])
    def test_leave_nothing_else(self, monkeypatch, path, new, function):
        monkeypatch.setattr(os, function, Failing())
        with pytest.raises(OSError, match="No space left"):
            rhokit.save(new, path)
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize("function", ["fsync", "replace"])
    def test_name_the_path(self, monkeypatch, path, new, function):
        monkeypatch.setattr(os, function, Failing())
        with pytest.raises(OSError, match=r"model\.rhokit.*could not be written"):
            rhokit.save(new, path)

    def test_an_interrupt_leaves_the_old_file(self, monkeypatch, path, new):
        def interrupt(*arguments):
            raise KeyboardInterrupt

        before = path.read_bytes()
        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            rhokit.save(new, path)
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]

    def test_a_full_device(self, new):
        """A real one: the kernel's own, which is always full."""
        full = Path("/dev/full")
        if not full.exists():
            pytest.skip("this system has no /dev/full")
        with pytest.raises(OSError, match="could not be written"):
            rhokit.save(new, full / "model.rhokit")

    def test_a_limit_on_the_size_of_files(self, path):
        """The write itself fails in the middle, as on a disk that fills up."""
        before = path.read_bytes()
        code = (
            "import resource, signal, sys, numpy, rhokit\n"
            "rows = numpy.random.default_rng(0).normal(size=(50, 2))\n"
            "model = rhokit.DMKDE(gamma=1.0, n_components=200, random_state=0,"
            " feature_map='fourier').fit(rows)\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
            "try:\n"
            "    rhokit.save(model, sys.argv[1])\n"
            "except OSError as error:\n"
            "    assert 'model.rhokit' in str(error), error\n"
            "else:\n"
            "    raise AssertionError('saved more than there is room for')\n"
        )
        done = run(code, path)
        assert done.returncode == 0, done.stderr
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]

    def test_a_directory_that_does_not_exist(self, tmp_path, new):
        path = tmp_path / "absent" / "model.rhokit"
        with pytest.raises(OSError, match=r"absent.*could not be written"):
            rhokit.save(new, path)
        assert not path.parent.exists()

    def test_a_directory_in_its_place(self, tmp_path, new):
        path = tmp_path / "model.rhokit"
        path.mkdir()
        with pytest.raises(OSError, match=r"model\.rhokit.*could not be written"):
            rhokit.save(new, path)
        assert list(tmp_path.iterdir()) == [path]

    def test_a_model_that_cannot_be_saved(self, path):
        before = path.read_bytes()
        with pytest.raises(TypeError):
            rhokit.save(object(), path)
        assert path.read_bytes() == before


class TestWrites:
    def test_replace_the_old_file(self, path, new):
        rhokit.save(new, path)
        assert rhokit.load(path).n_components == 32
        assert list(path.parent.iterdir()) == [path]

    def test_reach_the_disk_before_the_name(self, monkeypatch, path, new):
        """Else a power cut leaves an empty file under the old name."""
        order = []
        for function in ("fsync", "replace"):
            original = getattr(os, function)

            def recording(*arguments, name=function, original=original):
                order.append(name)
                return original(*arguments)

            monkeypatch.setattr(os, function, recording)
        rhokit.save(new, path)
        assert order[:2] == ["fsync", "replace"]

    def test_a_reader_keeps_what_it_opened(self, path, new):
        before = path.read_bytes()
        with open(path, "rb") as file:
            rhokit.save(new, path)
            assert file.read() == before
