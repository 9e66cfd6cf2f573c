"""The commands of the program, one file each.

To add one, write a file with a function of its name, whose first parameter is the
:class:`~rhokit.cli.console.Output` and whose others are options, and put the function
into :data:`PANELS`. Its docstring is its help. Files of this folder import what
is large inside functions, so that ``rhokit --help`` answers at once.
"""

from collections.abc import Callable

from rhokit.cli.commands.anomalies import anomalies
from rhokit.cli.commands.compare import compare
from rhokit.cli.commands.demo import demo
from rhokit.cli.commands.detect import detect
from rhokit.cli.commands.export import export
from rhokit.cli.commands.fit import fit
from rhokit.cli.commands.history import history
from rhokit.cli.commands.info import info
from rhokit.cli.commands.merge import merge
from rhokit.cli.commands.predict import predict
from rhokit.cli.commands.report import report
from rhokit.cli.commands.score import score
from rhokit.cli.commands.synthesize import synthesize

PANELS: dict[str, tuple[Callable[..., int | None], ...]] = {
    "Learn": (fit, merge),
    "Ask": (detect, score, predict, anomalies, compare, history, synthesize),
    "Show and hand on": (info, report, export, demo),
}
"""Every command, under the headings of ``rhokit --help``."""
