"""What docs/promises.md names is there."""

import ast
import re
from pathlib import Path

import pytest

from rhokit.testing.estimator_laws import ESTIMATOR_LAWS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def functions_of(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize("named", sorted(set(re.findall(r"tests/[\w/.:]+", TEXT))))
def test_a_test_is_there(named):
    path, _, name = named.partition("::")
    assert (ROOT / path).is_file()
    assert not name or name in functions_of(path)


def test_laws_are_there():
    lists = re.findall(r"laws? ((?:`\w+`(?:, )?)+)", TEXT)
    laws = {law for each in lists for law in re.findall(r"`(\w+)`", each)}
    assert len(laws) > 9
    assert laws <= ESTIMATOR_LAWS.keys()


def test_every_row_of_a_table_names_what_holds_it():
    for line in TEXT.splitlines():
        if line.startswith("| ") and line.endswith(" |") and ". |" in line:
            assert re.search(r"tests/|laws? (of )?`|soak", line), line
