"""Compare rhokit with others, keep the results, print tables, draw the figures."""

import argparse
import re
import sys
import time
from importlib import import_module
from pathlib import Path

from benchmarks.records import read_lines
from benchmarks.runs import Run, one_of
from benchmarks.tables import heading, number

SECTIONS = (
    "density",
    "likelihood",
    "mosaic",
    "anomalies",
    "supervised",
    "maps",
    "hardware",
    "scaling",
)
_FOLDER = Path(__file__).parent
_RESULTS = {False: _FOLDER / "results", True: _FOLDER / "results" / "quick"}
_PAGES = {False: _FOLDER.parent / "docs", True: _FOLDER / "results" / "quick"}


def main(arguments=None):
    """The command line."""
    options = _parser().parse_args(arguments)
    folder = options.results or _RESULTS[options.quick]
    sections = options.sections or SECTIONS
    if not options.page_only:
        for section in sections:
            made = getattr(import_module(f"benchmarks.{section}"), "RUN", Run)
            run = made(folder, section, quick=options.quick, fresh=options.fresh)
            show(section, measure(section, run, options.quick, options.only))
    write_page(folder, options.page or _PAGES[options.quick])


def measure(section, run, quick, only=None):
    """Do the tasks of a section that are not done yet; return all lines.

    With a pattern, only the tasks whose name it is found in: the lines of a run that
    has others to do wait for them.
    """
    done = run.ended()
    print(f"\n{section}", file=sys.stderr)
    if done:
        print(f"  going on after {len(done)} tasks", file=sys.stderr)
    start = time.perf_counter()

    def progress(line):
        seconds = time.perf_counter() - start
        text = f"{line['case']}: {line['metric']} {number(line['value'])}"
        print(f"  {seconds:5.0f} s  {text}", file=sys.stderr, flush=True)

    for task in import_module(f"benchmarks.{section}").tasks(quick):
        if only is None or only.search(task.name):
            run.do(task, progress)
    return run.finish() if only is None else run.lines()


def show(section, lines):
    """Print what a section found."""
    if not lines:
        print(f"\n{section}: nothing was measured")
        return
    text = import_module(f"benchmarks.{section}").table(lines)
    print(f"\n{section}: {heading(lines)}\n\n{text}", flush=True)


def write_page(results, folder):
    """The page with its figures, from all the results that are there."""
    from benchmarks.page import write

    lines = {
        section: list(read_lines(results / f"{section}.jsonl"))
        for section in SECTIONS
        if (results / f"{section}.jsonl").exists()
    }
    path = write(lines, folder)
    print(f"\ntables and figures: {path}")


def _parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        type=one_of(SECTIONS),
        metavar="SECTION",
        help=f"of {', '.join(SECTIONS)}; all without any",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: minutes")
    parser.add_argument(
        "--fresh", action="store_true", help="do not go on with a run that was stopped"
    )
    parser.add_argument(
        "--only",
        type=re.compile,
        metavar="PATTERN",
        help="tasks whose name matches, a regular expression; see the section's README",
    )
    parser.add_argument(
        "--page-only", action="store_true", help="measure nothing, draw what is there"
    )
    parser.add_argument(
        "--results", type=Path, metavar="FOLDER", help="where the lines are kept"
    )
    parser.add_argument(
        "--page", type=Path, metavar="FOLDER", help="where the page is written"
    )
    return parser


if __name__ == "__main__":
    main()
