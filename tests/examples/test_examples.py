"""The scripts in examples/ run, and do what they say."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(script, *arguments):
    """What a script prints, warnings being errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / script, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(),
    reason="torch was built without gloo",
)
def test_two_processes_end_where_one_does(tmp_path, monkeypatch, capsys):
    # Batches of 175 rows: shares differ in size, and the last batch is smaller.
    options = ["--epochs", "2", "--batch-size", "175", "--output"]
    one, two = str(tmp_path / "one.pt"), str(tmp_path / "two.pt")
    script = str(EXAMPLES / "data_parallel.py")
    monkeypatch.setattr(sys, "argv", [script, "--processes", "1", *options, one])
    example = runpy.run_path(script, run_name="__main__")
    alone = capsys.readouterr().out
    shared = run("data_parallel.py", "--processes", "2", *options, two)
    assert shared == alone.replace("processes 1", "processes 2")

    def chances(path=None):
        head = example["make_head"]()
        if path is not None:
            head.load_state_dict(torch.load(path, weights_only=True))
        with torch.no_grad():
            return head(example["load_rows"]()[0]).exp()

    torch.testing.assert_close(chances(two), chances(one), rtol=1e-10, atol=0)
    assert not torch.allclose(chances(one), chances(), rtol=0.1)  # it did train


def test_lenet_prints_both_networks():
    printed = run("lenet_digits.py", "--epochs", "2")
    lines = re.findall(r"LeNet \+ (.+?)  +accuracy (0\.\d+)  log-loss \d\.", printed)
    assert [name for name, _ in lines] == ["density matrices", "linear softmax"]
    assert all(float(accuracy) > 0.3 for _, accuracy in lines)


def test_a_map_of_ones_own():
    printed = run("histogram_map.py")
    error = re.search(r"numpy.histogram: (\S+)", printed)
    assert float(error[1]) < 1e-12
    assert "all laws of rhokit.testing hold" in printed


def test_the_guide_shows_the_map_as_it_is():
    guide = (EXAMPLES.parent / "CONTRIBUTING.md").read_text()
    shown = re.search(r"```python\n(class HistogramFeatures.*?)```", guide, re.S)[1]
    script = (EXAMPLES / "histogram_map.py").read_text()
    assert shown.strip() in script.replace("  # noqa: RUF012", "")
