"""What tests do where a package is missing on purpose: they leave out its own.

``RHOKIT_WITHOUT=torch,numba`` hides packages, as if they were not installed. Tests that
need one of them are skipped; all others must pass. Without the variable nothing is
skipped, so that CI cannot lose tests by accident.
"""

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

HIDDEN = frozenset(filter(None, os.environ.get("RHOKIT_WITHOUT", "").split(",")))
ROOT = Path(__file__).parent


class Hidden:
    """Finds nothing of what is hidden, before anybody else looks."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Refuse hidden packages."""
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if HIDDEN:
    sys.meta_path.insert(0, Hidden())


def is_of_hidden(error):
    """Whether an error is, or comes from, an import of what is hidden."""
    while error is not None:
        name = getattr(error, "name", None) if isinstance(error, ImportError) else None
        if name and name.partition(".")[0] in HIDDEN:
            return True
        error = error.__cause__ or error.__context__
    return False


def pytest_ignore_collect(collection_path):
    """Leave out modules that cannot be imported without what is hidden."""
    if not HIDDEN or collection_path.suffix != ".py":
        return None
    path = collection_path.relative_to(ROOT)
    parts = path.relative_to("src").parts if path.parts[0] == "src" else path.parts
    name = ".".join(parts).removesuffix(".py").removesuffix(".__init__")
    if name.endswith(("conftest", "__main__")):
        return None
    try:
        import_module(name)
    except ImportError as error:
        return True if is_of_hidden(error) else None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Skip a test that asks for what is hidden."""
    report = yield
    if HIDDEN and call.excinfo is not None and is_of_hidden(call.excinfo.value):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1], f"without {set(HIDDEN)}")
    return report
