"""Failures, said in one line, and the code that the program ends with."""

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rhokit.cli.console import printable
from rhokit.cli.option_names import with_options
from rhokit.errors import DataError, DataNote

FINE, WRONG_DATA, WRONG_USAGE, LIMIT_PASSED, INTERRUPTED = 0, 1, 2, 3, 130

_LONGEST = 600
# The beginning of a warning that is about a model, and not about the rows at hand.
_MISSED_MASS = "the map misses"
# What users get wrong: data, files, models, memory, packages that are not there.
_EXPECTED = (ValueError, TypeError, OSError, MemoryError, ImportError)


class UserError(ValueError):
    """Data or a model are not what they must be."""


class UsageError(UserError):
    """The arguments cannot be meant like that."""


def one_line(error: BaseException | Warning | str) -> str:
    """The message of an exception as one line, in terms of the command line."""
    text = printable(" ".join(_text(error).split()))
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} ..."
    return with_options(text) or type(error).__name__


def _text(error: BaseException | Warning | str) -> str:
    if isinstance(error, DataError) and error.row is not None:
        return str(error.at(row=error.row + 1))  # people count from one
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def code_of(error: BaseException) -> int:
    """The exit code of an exception."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return WRONG_USAGE if isinstance(error, UsageError) else WRONG_DATA


def report_failure(command: str, error: BaseException, *, debug: bool) -> int:
    """Say on stderr what went wrong; returns the exit code."""
    if debug:
        lines = "".join(traceback.format_exception(error)).splitlines()
        print(*map(printable, lines), sep="\n", file=sys.stderr)
    if isinstance(error, KeyboardInterrupt):
        text = "interrupted, nothing was written"
    elif isinstance(error, _EXPECTED):
        text = one_line(error)
    else:
        kind = type(error).__name__
        text = f"unexpected {kind}: {one_line(error)} (--debug shows where)"
    print(f"rhokit {command}: {text}", file=sys.stderr)
    return code_of(error)


def debugging(asked: bool) -> bool:
    """Whether tracebacks are wanted, by ``--debug`` or by the environment."""
    return asked or os.environ.get("RHOKIT_DEBUG", "") not in ("", "0")


@contextmanager
def warnings_as_lines(command: str) -> Iterator[None]:
    """Let the library's warnings be lines on stderr, each said once."""
    said: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = one_line(message)
        if text not in said:
            said.add(text)
            kind = "note" if issubclass(category, DataNote) else "warning"
            print(f"rhokit {command}: {kind}: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        # Other packages' notices of what they will change are nothing to users.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        if command != "fit":  # which has said so when the model was made
            warnings.filterwarnings("ignore", _MISSED_MASS)
        warnings.showwarning = show
        yield
