"""Files with fields at their limits, asked: no crash, no hang, at most a gigabyte.

In processes of their own, because their limits cannot be taken back. So many files
take about 20 s of one core; ``make fuzz-long`` takes 1,000,000.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rhokit
from rhokit.fast import block_rows
from rhokit.io.container import unpack
from rhokit.readouts.joint import decide
from tests.io import field_fuzz
from tests.io.drafts import DENSITY, Draft
from tests.io.field_fuzz import Maker, Watcher
from tests.io.field_limits import CHANGES

ROOT = Path(__file__).parents[2]
SOURCE = Path(rhokit.__file__).parents[1]
COUNT = 1500

# Models that do what none may do.
BAD_MODELS = """
import json, os, time
import numpy as np
import rhokit
from tests.io import asked

asked.MOST_SECONDS = 1
asked.be_quiet()
good = rhokit.MeanEmbeddingKDE(gamma=1.0, n_components=4).fit(np.zeros((3, 1)))
rows = np.zeros((2, 1))

class Bad:
    def __init__(self, does):
        self.predict = does

def hangs(rows):
    big = np.ones((1500, 1500))
    while True:
        big = big @ big

def takes_memory(rows):
    return np.ones(2**28)

def fails(rows):
    raise KeyError("no word to the user")

def crashes(rows):
    os.abort()

def refuses(rows):
    raise ValueError("says what is wrong")

found = {}
rhokit.dumps = lambda model: b""
for does in (hangs, takes_memory, fails, crashes, refuses):
    rhokit.loads = lambda data: Bad(does)
    found[does.__name__] = asked.in_child(b"", rows)
rhokit.dumps = lambda model: os.urandom(8)
found["saves another"] = asked.in_child(b"", rows)
print(json.dumps(found))
"""


def run(*arguments, timeout):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ROOT)]),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=timeout,
        env=environment,
    )


@pytest.fixture(scope="module")
def done():
    options = ("--jobs", "1", "--count", str(COUNT))
    return run("-m", "tests.io.field_fuzz", *options, timeout=600)


@pytest.fixture(scope="module")
def found():
    """What is seen of models that are bad."""
    done = run("-c", BAD_MODELS, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def maker():
    return Maker(0)


class TestFilesAtTheirLimits:
    def test_nothing_was_found(self, done):
        assert done.stdout.startswith("{"), done.stderr[-3000:]
        assert json.loads(done.stdout)["findings"] == []
        assert done.returncode == 0

    def test_many_were_asked_and_many_refused(self, done):
        """Limits lie on both sides of what can be."""
        summary = json.loads(done.stdout)
        assert summary["refused"] + summary["asked"] == COUNT
        assert min(summary["refused"], summary["asked"]) > COUNT / 4


class TestTheFuzzer:
    @pytest.mark.parametrize(
        ("model", "outcome"),
        [
            ("hangs", "hang"),
            ("takes_memory", "asking: MemoryError"),
            ("fails", "asking: KeyError"),
            ("crashes", "crash"),
            ("refuses", "asked"),
            ("saves another", "asking: AssertionError"),
        ],
    )
    def test_sees(self, found, model, outcome):
        assert found[model].startswith(outcome), found[model]

    def test_makes_the_same_file_of_the_same_number(self, maker):
        again = Maker(0)
        assert all(maker.make(index) == again.make(index) for index in range(50))

    @pytest.mark.parametrize("jobs", [1, 3])
    def test_asks_every_file_once(self, jobs, monkeypatch):
        """Whoever asks, and where processes end before their part does."""
        seen = []

        def run_one(self, start, stop):
            upto = min(start + 4, stop)
            seen.extend(range(start, upto))
            for index in range(start, upto):
                self._note(index, "good", "crash" if index == 25 else "asked")
            return upto

        monkeypatch.setattr(field_fuzz, "FILES_PER_PROCESS", 10)
        monkeypatch.setattr(Watcher, "_run_one", run_one)
        watcher = Watcher(0, 7, 107, jobs)
        watcher.run()
        assert sorted(seen) == list(range(7, 107))
        assert watcher.outcomes == {"asked": 99, "found": 1}
        assert len(watcher.findings) == 1

    def test_files_differ_from_the_good_ones(self, maker):
        good = {name: file.draft().data() for name, file in maker.good.items()}
        made = [maker.make(index) for index in range(400)]
        assert sum(data != good[name] for name, data in made) > 340

    def test_every_good_file_is_changed(self, maker):
        names = {maker.make(index)[0] for index in range(800)}
        assert names == set(maker.good)

    @pytest.mark.parametrize("change", sorted({c.__name__ for c in CHANGES}))
    def test_every_change_makes_files_that_load(self, maker, change):
        """One that breaks everything would try nothing but refusals."""
        loaded = 0
        (each,) = {c for c in CHANGES if c.__name__ == change}
        for index, file in enumerate(maker.good.values()):
            loaded += _loads(each, index, file, maker)
        assert loaded > 3


def _loads(change, index, file, maker):
    """Whether a changed file still loads, and is another one."""
    draft = file.draft()
    try:
        change(maker.generator(index), draft, maker.words)
        data = draft.data()
        rhokit.loads(data)
    except (rhokit.ModelFileError, LookupError, ValueError, AttributeError):
        return False
    return data != file.draft().data()


class TestWhatWasFound:
    def test_zeros_of_complex_numbers_keep_their_signs(self):
        draft = Draft("density-series-line")
        key = draft.key("state.total")
        draft.tensors[key] = np.full_like(draft.tensors[key], -0.0)
        again = unpack(rhokit.dumps(rhokit.loads(draft.data())))[1][key]
        assert np.signbit(again).all()

    @pytest.mark.parametrize("gamma", [5e-324, 1e-308])
    def test_a_kernel_too_wide_to_be_divided_by(self, gamma):
        draft = Draft(DENSITY)
        draft.map["parameters"]["gamma"] = gamma
        draft.refused("gamma")

    @pytest.mark.parametrize("value", [1e160, np.finfo(float).max])
    @pytest.mark.parametrize("name", ["density-complex-double", DENSITY])
    def test_factors_whose_squares_are_no_numbers(self, name, value):
        """They are turned when they are saved, and could not be."""
        draft = Draft(name, "factor")
        key = draft.key("state.factor")
        draft.tensors[key] = np.full_like(draft.tensors[key], value)
        draft.refused("factor")

    @pytest.mark.parametrize(("end", "value"), [("matrix", 1e150), ("centre", 1.0)])
    def test_a_scale_for_words(self, end, value):
        draft = Draft("density-words")
        key = draft.key(f"scaling.{end}")
        draft.tensors[key] = np.full_like(draft.tensors[key], value)
        draft.refused("scaling")

    def test_a_joint_matrix_of_zeros(self):
        draft = Draft("joint-rank")
        key = draft.key("state.total")
        draft.tensors[key] = np.zeros_like(draft.tensors[key])
        model = rhokit.loads(draft.data())
        with pytest.raises(ValueError, match="joint_rank"):
            model.predict(np.zeros((1, 2)))

    @pytest.mark.parametrize("decision", ["mode", "mean", "median"])
    @pytest.mark.parametrize("chance", [0.0, 1e-300, np.nan, 1e300])
    def test_labels_of_probabilities_that_are_none(self, decision, chance):
        ranks = decide(np.full((2, 4), chance), decision)
        assert ((ranks >= 0) & (ranks < 4)).all()

    def test_blocks_of_very_many_columns_have_few_rows(self):
        assert block_rows(2**13) == 256
        assert block_rows(2**17) * 2**17 == 2**22
        assert block_rows(2**30) == 1

    def test_a_factor_is_truncated_without_its_matrix(self):
        """Of few vectors in many dimensions, whose square would take gigabytes."""
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(40, 2))
        model = rhokit.DMKDE(
            gamma=1.0, scale=None, n_components=32, feature_map="fourier"
        )
        whole = model.fit(rows)
        factor = whole.compact()
        for rank in (3, 0.25, "elbow"):
            expected = whole.set_params(rank=rank).score_samples(rows)
            found = factor.set_params(rank=rank).score_samples(rows)
            assert_allclose(found, expected, rtol=1e-7)
