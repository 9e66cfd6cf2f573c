"""Run sections of the benchmark, keep their results, print their tables."""

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path

from benchmarks.records import ResultLog, new_run
from benchmarks.runs import one_of
from benchmarks.tables import heading, number, summary, table

SECTIONS = (
    "accuracy",
    "speed",
    "memory",
    "classes",
    "values",
    "gradient",
    "ordinal",
    "scale",
    "grid",
    "surface",
    "drift",
    "files",
    "sql",
)
_RESULTS = Path(__file__).parents[1] / "results" / "goals"


def main(arguments=None):
    """The command line."""
    options = _parser().parse_args(arguments)
    run = new_run()
    for section in options.sections or SECTIONS:
        path = options.output or _RESULTS / f"{section}.jsonl"
        print(f"\n{section}", file=sys.stderr)
        lines = measure(section, options.repeats, ResultLog(path, section, run))
        print(f"\n{section}: {heading(lines)}\n\n{table(lines)}\n\n{summary(lines)}")


def measure(section, repeats, log):
    """Run one section, each result to the log and to the screen as it comes."""
    start = time.perf_counter()
    for result in import_module(f"benchmarks.goals.{section}").run(repeats):
        line = log.append(result)
        seconds = time.perf_counter() - start
        text = f"{line['case']}: {line['metric']} {number(line['value'])}"
        print(f"  {seconds:4.0f} s  {text}", file=sys.stderr, flush=True)
    return log.lines()


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.goals", description=__doc__
    )
    parser.add_argument(
        "sections",
        nargs="*",
        type=one_of(SECTIONS),
        metavar="SECTION",
        help=f"of {', '.join(SECTIONS)}; all without any",
    )
    parser.add_argument(
        "--repeats",
        type=_positive,
        default=5,
        metavar="R",
        help="rounds of timings (default: 5)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="where to append JSON lines (default: a file of results/goals)",
    )
    return parser


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


if __name__ == "__main__":
    main()
