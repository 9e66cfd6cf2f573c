"""The scripts in examples/ run, and do what they say."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a script in this process: its names, and what it prints."""

    def run(script, *arguments):
        path = str(EXAMPLES / script)
        monkeypatch.setattr(sys, "argv", [path, *map(str, arguments)])
        names = runpy.run_path(path, run_name="__main__")
        return names, capsys.readouterr().out

    return run


def probabilities(example, path=None):
    """Of all digits, by the head of the example as it is saved, or as it begins."""
    head = example["make_head"]()
    if path is not None:
        head.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return head(example["load_rows"]()[0]).exp()


def test_one_process_trains(run, tmp_path):
    path = tmp_path / "head.pt"
    options = ["--processes", 1, "--epochs", 2, "--batch-size", 175]
    example, printed = run("data_parallel.py", *options, "--output", path)
    found = re.fullmatch(r"processes 1  loss ([\d.]+)  accuracy ([\d.]+)\n", printed)
    assert float(found[2]) > 0.5
    trained, first = probabilities(example, path), probabilities(example)
    assert not torch.allclose(trained, first, rtol=0.1)


@pytest.mark.slow
@pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(),
    reason="torch was built without gloo",
)
def test_two_processes_end_where_one_does(run, tmp_path):
    # Batches of 175 rows: shares differ in size, and the last batch is smaller.
    options = ["--epochs", "2", "--batch-size", "175", "--output"]
    one, two = str(tmp_path / "one.pt"), str(tmp_path / "two.pt")
    example, alone = run("data_parallel.py", "--processes", 1, *options, one)
    script = [EXAMPLES / "data_parallel.py", "--processes", "2", *options, two]
    done = subprocess.run(
        [sys.executable, "-W", "error", *script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == alone.replace("processes 1", "processes 2")
    torch.testing.assert_close(
        probabilities(example, two), probabilities(example, one), rtol=1e-10, atol=0
    )


def test_lenet_prints_both_networks(run):
    _, printed = run("lenet_digits.py", "--epochs", "2")
    lines = re.findall(r"LeNet \+ (.+?)  +accuracy (0\.\d+)  log-loss \d\.", printed)
    assert [name for name, _ in lines] == ["density matrices", "linear softmax"]
    assert all(float(accuracy) > 0.3 for _, accuracy in lines)


def test_a_latent_density_is_trained_beside_a_detector(run):
    _, printed = run("latent_anomalies.py", "--epochs", 3, "--rows", 400)
    found = dict(re.findall(r"([a-z ]+) (\d\.\d+)", printed.replace(", ", "\n")))
    assert list(found) == ["on the rows", "behind the encoder", "joint"]
    assert min(map(float, found.values())) > 0.5


def test_streams_beside_river(run):
    pytest.importorskip("river", reason="river is not installed")
    _, printed = run("anomaly_streams.py", "--rows", 800)
    found = dict(re.findall(r"^moving +(.+?)  +(\d\.\d+)", printed, re.M))
    assert {"rhokit", "rhokit, last 1,000", "HalfSpaceTrees"} <= set(found)
    assert float(found["rhokit"]) > 0.8
