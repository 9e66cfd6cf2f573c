"""The command line: ``rhokit fit``, ``score``, ``predict`` and the rest.

Every command is a file in :mod:`rhokit.cli.commands`. What a command needs is imported
when it runs, so that ``rhokit --help`` answers at once; typer is imported below
:func:`main`, so that without it there is a sentence and no traceback.
"""

import sys
from collections.abc import Sequence

_NEEDED = ("typer", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with these arguments, or those of the process.

    Returns
    -------
    code : int
        0 if all went well, 1 if data or model are wrong, 2 if the arguments are, 3 if
        ``compare`` found a change or a limit of ``anomalies`` is passed, 130 if
        interrupted.

    Examples
    --------
    >>> from rhokit.cli import main
    >>> main(["info", "nowhere.rho"])
    1
    """
    try:
        import rich  # noqa: F401 (typer shows help with it, commands show tables)

        from rhokit.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        print(
            f"rhokit: the command line needs {error.name}: pip install 'rhokit[cli]'",
            file=sys.stderr,
        )
        return 1
    return run(arguments)
