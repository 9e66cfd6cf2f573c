"""Running the program inside the tests' own process, and small tables to run it on."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from rhokit.cli import main

# Small, so that tests take no time.
SMALL = ("--components", "32")


@dataclass(frozen=True)
class Result:
    """What a run of the program gave."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON object on stdout."""
        return json.loads(self.out)

    def fine(self):
        """The same, of a run that must have gone well."""
        assert self.code == 0, self.err
        return self


class _Screen(io.StringIO):
    """What is taken for a terminal."""

    def isatty(self):
        return True


def run(*arguments, stdin=b"", screen=False):
    """Run the program; paths and numbers may stand among the arguments."""
    out, err = _Screen() if screen else io.StringIO(), io.StringIO()
    given = mock.Mock(buffer=io.BytesIO(stdin))
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.object(sys, "stdin", given),
        mock.patch.dict("os.environ", {"COLUMNS": "80"}),
    ):
        code = main([str(each) for each in arguments])
    return Result(code, out.getvalue(), err.getvalue())


def refused(result, code, *words):
    """Check that a run was refused in one line that says these words."""
    assert result.code == code, result.err
    assert result.out == ""
    assert result.err.endswith("\n")
    assert result.err.count("\n") == 1, result.err
    assert "Traceback" not in result.err
    for word in words:
        assert str(word) in result.err, result.err


def rows_table(n=200, seed=0, shift=0.0):
    """Three columns of numbers, and targets of every kind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + shift
    side = np.where(X[:, 0] + X[:, 1] > 0, "right", "left")
    return pa.table(
        {
            "a": X[:, 0],
            "b": X[:, 1] * 10,
            "c": X[:, 2] + 100,
            "side": side,
            "price": 3 * X[:, 0] - X[:, 1] + rng.normal(0, 0.1, n),
            "grade": np.clip(np.round(X[:, 0] + 2), 0, 4).astype(int),
        }
    )


ROLES = {
    "density": (),
    "classes": ("--target", "side"),
    "values": ("--target", "price"),
    "ordinal": ("--target", "grade", "--kind", "ordinal", "--map", "landmarks"),
}
# Every column that is a target of some model is left out of all others.
ROWS = ("--columns", "a,b,c")


def write_csv(table, path):
    pa_csv.write_csv(table, path)
    return path
