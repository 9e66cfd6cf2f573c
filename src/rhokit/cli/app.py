"""The program: its commands, and what happens around them."""

import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any

import typer

import rhokit
from rhokit.cli.commands import PANELS
from rhokit.cli.console import printable
from rhokit.cli.failures import FINE, INTERRUPTED, WRONG_DATA, WRONG_USAGE
from rhokit.cli.options import command

_EPILOG = (
    "Exit codes: 0 fine, 1 wrong data or model, 2 wrong usage, "
    "3 the data have changed (compare) or a limit was passed (--fail-below), "
    "130 interrupted."
)

app = typer.Typer(
    name="rhokit",
    help=(
        "Sum a table up in one small model file, and ask it: how likely is a row, "
        "which class, what value, what is odd, what has changed."
    ),
    epilog=_EPILOG,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _help_of(function: Callable[..., Any]) -> str:
    """A docstring whose paragraphs are lines, for the terminal to wrap."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


for _panel, _functions in PANELS.items():
    for _function in _functions:
        _add = app.command(
            _function.__name__, help=_help_of(_function), rich_help_panel=_panel
        )
        _add(command(_function))


def _show_version(asked: bool) -> None:
    if asked:
        print(f"rhokit {rhokit.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _program(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Say the version."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit code."""
    try:
        with _polite_end():
            code = app(args=arguments, prog_name="rhokit", standalone_mode=False)
            sys.stdout.flush()
    except BrokenPipeError:  # whoever read our rows has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return WRONG_DATA
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        return _report_usage(error)
    return code if isinstance(code, int) else FINE


def _report_usage(error: Any) -> int:
    """Say on stderr what typer finds wrong with the arguments, in one line."""
    text = printable(" ".join(error.format_message().split()))
    context = getattr(error, "ctx", None)
    owner = context.command_path if context else "rhokit"
    print(f"{owner}: {text} ({owner} --help lists all)", file=sys.stderr)
    return WRONG_USAGE


@contextmanager
def _polite_end() -> Iterator[None]:
    """Let a request to end unwind the program, so that it cleans up after itself."""

    def stop(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread: whoever runs us decides
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
