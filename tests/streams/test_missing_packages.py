"""Without pyarrow and Dask everything else works, and what needs them says so."""

import subprocess
import sys

import pytest

from tests.support import without


def run(packages, code):
    """Run code in a process that cannot import these packages."""
    return subprocess.run(
        [sys.executable, "-c", without(*packages) + code],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("packages", "code", "extra"),
    [
        (["pyarrow"], "import rhokit; rhokit.fit_files(rhokit.DMKDE(), 'x')", "files"),
        (["dask"], "import rhokit.parallel.dask", "dask"),
    ],
)
def test_what_needs_them_says_how_to_get_them(packages, code, extra):
    done = run(packages, code)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError")
    assert f"pip install 'rhokit[{extra}]'" in last


def test_batches_models_and_merging_need_neither():
    done = run(
        ["pyarrow", "dask", "pandas", "torch", "numba"],
        "import numpy as np, rhokit\n"
        "from rhokit.parallel import merge\n"
        "X = np.random.default_rng(0).normal(size=(300, 2))\n"
        "model = rhokit.DMKDE(gamma=1.0, n_components=8, random_state=0)\n"
        "model = rhokit.fit_batches(model, np.split(X, 3))\n"
        "again = rhokit.loads(rhokit.dumps(model))\n"
        "stream = rhokit.Stream(again.blank())\n"
        "stream.learn_many(X)\n"
        "print(merge([again, stream.model]).state_.weight[0])\n",
    )
    assert done.stderr == ""
    assert done.stdout == "600.0\n"
