"""Make the paper's figures and tables again: run what is missing, then report."""

import argparse
import sys
from pathlib import Path

from benchmarks.records import n_cores
from experiments import reports
from experiments.registry import EXPERIMENTS, FULL, QUICK, TINY, part
from experiments.runs import Notebook, run

_HERE = Path(__file__).parent
_ALL = "all"
_RESULTS = {
    FULL: _HERE / "results",
    QUICK: _HERE / "results" / "quick",
    TINY: _HERE / "results" / "tiny",
}


def main(arguments=None):
    """The command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    size = QUICK if options.quick else TINY if options.tiny else FULL
    results = options.results or _RESULTS[size]
    pages = options.pages or (_pages() if size == FULL else results / "pages")
    names = EXPERIMENTS if _ALL in options.names else options.names
    failures, made = {}, {}
    for name in names:
        notebook = Notebook(results / f"{name}.jsonl")
        if options.fresh:
            notebook.path.unlink(missing_ok=True)
        if not options.report_only:
            failures |= run_stages(name, size, notebook, options.jobs)
        made[name] = show(name, size, notebook, pages)
    print(f"tables and figures: {write_index(size, results, pages, made)}")
    return _exit_code(failures)


def stages(name, size, notebook):
    """The tasks of an experiment, then those that the lines of all before lead to."""
    module = part(name, "run")
    known = more = module.tasks(size)
    while more:
        yield more
        keys = {task.key for task in known}
        told = module.then(size, notebook.lines(known)) if _goes_on(module) else []
        more = [task for task in told if task.key not in keys]
        known = known + more


def _goes_on(module):
    return hasattr(module, "then")


def run_stages(name, size, notebook, jobs):
    """Run an experiment; what failed, by the names of the tasks."""
    failures = {}
    for tasks in stages(name, size, notebook):
        failures |= run(name, tasks, notebook, jobs)
    return failures


def lines_of(name, size, notebook):
    """The lines of all stages of an experiment."""
    tasks = [task for stage in stages(name, size, notebook) for task in stage]
    return notebook.lines(tasks)


def show(name, size, notebook, pages):
    """Write the page of an experiment, and print it; returns its report."""
    lines = lines_of(name, size, notebook)
    report = reports.write(name, lines, size, pages)
    print(f"\n{name}\n\n{report.text}", flush=True)
    return report


def write_index(size, results, pages, made):
    """The first page, of all experiments that have lines; theirs, unless just made."""
    found, everything = {}, {}
    for name in EXPERIMENTS:
        notebook = Notebook(results / f"{name}.jsonl")
        if notebook.path.exists():
            own = found[name] = lines_of(name, size, notebook)
            report = made.get(name)
            everything[name] = report or reports.write(name, own, size, pages)
    return reports.write_index(everything, found, pages)


def _exit_code(failures):
    for name, why in failures.items():
        print(f"failed: {name}: {why}", file=sys.stderr)
    return 1 if failures else 0


def _pages():
    return _HERE.parent / "docs" / "results"


def _parser():
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument(
        "names",
        nargs="+",
        choices=(*EXPERIMENTS, _ALL),
        metavar="NAME",
        help=f"of {', '.join(EXPERIMENTS)}; or {_ALL}",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer seeds: minutes")
    size.add_argument("--tiny", action="store_true", help="seconds, to see it work")
    parser.add_argument(
        "--jobs",
        type=_whole,
        default=n_cores(),
        metavar="N",
        help="processes at a time (default: one per core); 0: in this process",
    )
    parser.add_argument(
        "--report-only", action="store_true", help="run nothing, draw what is there"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="throw away what was run before"
    )
    parser.add_argument(
        "--results", type=Path, metavar="FOLDER", help="where the lines are kept"
    )
    parser.add_argument(
        "--pages", type=Path, metavar="FOLDER", help="where the pages are written"
    )
    return parser


def _whole(text):
    if not text.isdigit():
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 0 on, got {text}"
        )
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
