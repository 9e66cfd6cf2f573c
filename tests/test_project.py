"""What the project says of itself: workflows, recipes, citation, and their links."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import rhokit

ROOT = Path(__file__).parents[1]
PAGES = ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "AGENTS.md")
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def targets():
    return set(re.findall(r"^([a-z-]+):", read("Makefile"), re.M))


def commands(workflow):
    """Lines that a workflow runs, for every entry of its matrix."""
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for step in job["steps"]:
            for line in step.get("run", "").splitlines():
                if "matrix.target" not in line:
                    yield line
                else:
                    yield from (f"make {each['target']}" for each in matrix["include"])


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_make_targets_that_are_there(workflow):
    lines = [line.split() for line in commands(workflow)]
    called = {words[1] for words in lines if words[0] == "make"}
    assert called
    assert called <= targets()


def test_workflows_test_what_is_supported():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    jobs = yaml.safe_load(read(".github/workflows/tests.yml"))["jobs"]
    oldest = project["requires-python"].removeprefix(">=")
    assert jobs["tests"]["strategy"]["matrix"]["python"][0] == oldest
    every = {line for path in WORKFLOWS for line in commands(path)}
    for target in ("test", "test-oldest", "test-newest", "docs", "dist"):
        assert f"make {target}" in every
    assert {f"make test-without PACKAGE={name}" for name in ("torch", "numba")} <= every


@pytest.mark.parametrize("page", PAGES)
def test_links_and_commands_of_pages(page):
    text = read(page)
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert link.startswith("https://") or (ROOT / link).exists(), link
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets()


def test_recipes_name_files_that_are_there():
    """But for those that the recipe tells to make, which say NAME."""
    folders = "src|tests|docs|tools|examples|experiments|benchmarks"
    named = re.findall(rf"`((?:{folders})/[^`\s]*)`", read("CONTRIBUTING.md"))
    assert len(named) > 20
    for path in named:
        assert "NAME" in path or (ROOT / path).exists(), path


def test_the_citation_has_the_version():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == rhokit.__version__
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert citation["license"] == project["license"]


def test_hooks_are_commands_of_the_environment():
    hooks = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    lint = read("Makefile")
    for hook in hooks:
        program = hook["entry"].split()[0].rpartition("/")[2]
        assert f"$(BIN)/{program}" in lint, hook["id"]


def test_issue_forms_can_be_filled_in():
    for path in ROOT.glob(".github/ISSUE_TEMPLATE/[!c]*.yml"):
        form = yaml.safe_load(path.read_text())
        assert {"name", "description", "body"} <= set(form)
        assert all(field["attributes"]["label"] for field in form["body"])


def test_the_oldest_versions_are_those_of_the_project():
    command = [sys.executable, ROOT / "tools" / "oldest.py", "cli", "fast"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "numpy==2.0\n" in found
    assert "numba==0.61\n" in found
    assert "pyarrow==17\n" in found  # which `cli` brings through `files`
    assert "torch" not in found


def test_every_extra_for_users_has_a_smoke_test():
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    known = set(re.findall(r"^def (\w+)\(\) -> None", read("tools/smoke.py"), re.M))
    for_users = set(extras) - {"demo", "dist", "docs", "reproduce", "test"}
    assert known == for_users | {"core"}


HIDE = """
import sys
sys.path.insert(0, sys.argv[1])
import conftest
try:
    import rhokit.nn
except ImportError as error:
    assert conftest.is_of_hidden(error)
else:
    raise AssertionError("torch was found")
assert not conftest.is_of_hidden(ImportError("no other", name="other"))
"""


def test_what_is_hidden_cannot_be_imported():
    environment = {"RHOKIT_WITHOUT": "torch", "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", HIDE, ROOT], env=environment, check=True)
