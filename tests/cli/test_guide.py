"""The guide's commands run, one after the other, and say what the guide says."""

import re
import shlex
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from tests.cli.support import run

GUIDE = Path(__file__).parents[2] / "docs" / "command-line.md"


def calls():
    """Commands of the guide with what they are said to print."""
    text = GUIDE.read_text(encoding="utf-8")
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, said = part.partition("\n")
            yield command, said


def shape(text):
    """A text without colours, numbers and widths, which differ among machines."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    text = re.sub(r"[0-9a-f]{12} *$", "DIGEST", text, flags=re.M)
    text = re.sub(r"-?\d[\d,.]*(e-?\d+)?", "#", text)
    text = re.sub(r"\b(bytes|KB|MB)\b", "SIZE", text)
    lines = (" ".join(line.replace("─", "").split()) for line in text.splitlines())
    return [line for line in lines if line]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The tables that the guide starts with."""
    monkeypatch.chdir(tmp_path)
    tumours = load_breast_cancer(as_frame=True).frame.iloc[:, [0, 1, 4, 5, 30]]
    tumours["target"] = tumours["target"].map({0: "malignant", 1: "benign"})
    tumours[:400].to_csv("tumours.csv", index=False)
    tumours[400:].to_csv("new-tumours.csv", index=False)
    patients = load_diabetes(as_frame=True, scaled=False).frame
    patients[:342].to_csv("patients.csv", index=False)
    patients[342:].to_csv("new-patients.csv", index=False)


def test_the_guide_says_what_happens(tables):
    found = list(calls())
    assert len(found) > 15
    for command, said in found:
        command, _, head = command.partition(" | head -")
        result = run(*shlex.split(command)[1:], screen=not head)
        told = result.out + result.err
        if head:
            told = "\n".join(told.splitlines()[: int(head)])
        assert shape(told) == shape(said), command
