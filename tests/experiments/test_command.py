"""The command itself, in processes of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.registry import EXPERIMENTS

ROOT = Path(__file__).parents[2]


def command(*words):
    done = subprocess.run(
        [sys.executable, "-m", "experiments", *words],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_tiny_run_in_two_processes(name, tmp_path):
    places = "--results", str(tmp_path), "--pages", str(tmp_path / "pages")
    text = command(name, "--tiny", "--jobs", "2", *places)
    page = tmp_path / "pages" / f"{name}.md"
    assert page.read_text(encoding="utf-8")
    before = page.read_bytes()
    page.unlink()
    again = command(name, "--tiny", "--report-only", *places)
    assert page.read_bytes() == before
    assert again == text


@pytest.mark.slow
def test_the_pages_of_the_repository_come_from_its_lines(tmp_path):
    command("all", "--report-only", "--pages", str(tmp_path))
    known = ROOT / "docs" / "results"
    for name in (*EXPERIMENTS, "README"):
        made = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        assert made == (known / f"{name}.md").read_text(encoding="utf-8"), name
