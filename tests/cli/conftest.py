"""Tables and models that the tests of the commands share."""

import pytest

from tests.cli.support import ROLES, ROWS, SMALL, rows_table, run, write_csv


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with rows to learn from, and new ones."""
    folder = tmp_path_factory.mktemp("data")
    write_csv(rows_table(), folder / "rows.csv")
    write_csv(rows_table(60, seed=1), folder / "new.csv")
    return folder


@pytest.fixture(scope="session")
def models(data, tmp_path_factory):
    """A model file of every kind, by kind."""
    folder = tmp_path_factory.mktemp("models")
    files = {kind: folder / f"{kind}.rho" for kind in ROLES}
    for kind, role in ROLES.items():
        options = (*ROWS, *role, *SMALL, "-o", files[kind])
        run("fit", data / "rows.csv", *options).fine()
    return files
