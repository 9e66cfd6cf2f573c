"""What goes wrong, said in one line, and the code that the program ends with."""

import os
import sys
import traceback
import warnings
from contextlib import contextmanager

FINE, WRONG_DATA, WRONG_USAGE, LIMIT_PASSED, INTERRUPTED = 0, 1, 2, 3, 130

_LONGEST = 600
# What users get wrong: data, files, models, memory, packages that are not there.
_EXPECTED = (ValueError, TypeError, OSError, MemoryError, ImportError)
# The library speaks of parameters where the command line has options.
_OPTION_NAMES = {
    "columns=[...]": "--columns a,b",
    "bounds=(low, high)": "--bounds low,high",
    "dtype='float32'": "--dtype float32",
    'feature_map="quadrature"': "--map quadrature",
    "checkpoint=": "--checkpoint ",
    "memory_limit=": "--memory-limit ",
    "n_components": "--components",
    "random_state": "--seed",
    'missing="drop"': "--missing drop",
    'missing="impute"': "--missing impute",
    "missing='drop'": "--missing drop",
    "missing='impute'": "--missing impute",
}


class UserError(ValueError):
    """Data or a model are not what they must be."""


class UsageError(UserError):
    """The arguments cannot be meant like that."""


def one_line(error):
    """What an exception says, as one line, in terms of the command line."""
    text = " ".join(str(error).split())
    text = "".join(each if each.isprintable() else "?" for each in text)
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} ..."
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    for name, option in _OPTION_NAMES.items():
        text = text.replace(name, option)
    return text or type(error).__name__


def code_of(error):
    """The exit code of an exception."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return WRONG_USAGE if isinstance(error, UsageError) else WRONG_DATA


def report(command, error, *, debug):
    """Say on stderr what went wrong; returns the exit code."""
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, KeyboardInterrupt):
        text = "interrupted, nothing was written"
    elif isinstance(error, _EXPECTED):
        text = one_line(error)
    else:
        kind = type(error).__name__
        text = f"unexpected {kind}: {one_line(error)} (--debug shows where)"
    print(f"rhokit {command}: {text}", file=sys.stderr)
    return code_of(error)


def debugging(asked):
    """Whether tracebacks are wanted, by ``--debug`` or by the environment."""
    return asked or os.environ.get("RHOKIT_DEBUG", "") not in ("", "0")


@contextmanager
def warnings_as_lines(command):
    """Let the library's warnings be lines on stderr, each said once."""
    said = set()

    def show(message, category, filename, lineno, file=None, line=None):
        text = one_line(message)
        if text not in said:
            said.add(text)
            print(f"rhokit {command}: warning: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        # Other packages' notices of what they will change are nothing to users.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
