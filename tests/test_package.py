"""Names of the package: all are public, and are loaded when first touched."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import rhokit

# Those that scikit-learn does not load by itself where it finds them.
OPTIONAL = ("dask", "jinja2", "matplotlib", "onnx", "polars", "torch")
MODULES = set(rhokit.__all__) - set(rhokit._HOME)

NOTHING_ELSE = """
import sys
before = set(sys.modules)
import rhokit
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
assert loaded <= {"rhokit", *sys.stdlib_module_names}, loaded
assert [name for name in sys.modules if name.startswith("rhokit.")] == []
"""
STEP_BY_STEP = """
rhokit.DataError
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
assert loaded <= {"rhokit", *sys.stdlib_module_names}, loaded
for name in sys.argv[1].split(","):
    module = getattr(rhokit, name)
    assert module is sys.modules[f"rhokit.{name}"], name
    assert vars(rhokit)[name] is module, name
    loaded = set(sys.argv[2].split(",")) & set(sys.modules)
    assert not loaded, (name, loaded)
"""


def run(code, *arguments):
    """Run code in a process of its own, warnings being errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_nothing_is_loaded_before_it_is_touched():
    needs_none = "errors,core,features,estimators,datasets,io,metrics,streams"
    run(NOTHING_ELSE + STEP_BY_STEP, needs_none, ",".join(OPTIONAL))


@pytest.mark.parametrize("name", rhokit.__all__)
def test_every_name_resolves(name):
    found = getattr(rhokit, name)
    if name in MODULES:
        assert isinstance(found, ModuleType)
        assert found is import_module(f"rhokit.{name}")
        assert found.__doc__
    else:
        assert found.__name__ == name
        assert found.__module__.startswith("rhokit.")
        assert found.__doc__


def test_the_errors_are_those_that_are_raised():
    with pytest.raises(rhokit.ModelFileError):
        rhokit.loads(b"no model")
    assert issubclass(rhokit.DataError, ValueError)


def test_dir_shows_public_names_alone():
    import_module("rhokit.cli")  # loaded, and still no name of the package
    shown = dir(rhokit)
    assert set(shown) == {*rhokit.__all__, "__version__"}
    assert not [name for name in rhokit.__all__ if name.startswith("_")]
    for module in ("plots", "nn", "metrics", "inspection", "testing", "datasets"):
        assert module in shown


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(rhokit.__file__).read_text(encoding="utf-8"))
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    homes = {
        alias.name: each.module
        for each in block.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }
    assert homes == dict.fromkeys(MODULES, "rhokit") | rhokit._HOME
    assert set(homes) == set(rhokit.__all__)


def test_a_name_that_is_wrong_is_an_error():
    with pytest.raises(AttributeError, match="'rhokit' has no attribute 'DMKDEE'") as e:
        rhokit.DMKDEE  # noqa: B018
    assert e.value.name == "DMKDEE"
    assert not hasattr(rhokit, "fast_")
