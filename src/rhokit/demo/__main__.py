"""The command: ``python -m rhokit.demo``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rhokit import __version__, demo
from rhokit.demo import (
    classified_digits,
    honest_intervals,
    likely_digits,
    photograph,
    report_page,
)
from rhokit.demo.shared import installed


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m rhokit.demo", description=demo.__doc__
    )
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    output = parser.parse_args(argv).output
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--output: cannot make the folder {output}: {error.strerror}")
    print(f"rhokit {__version__}: densities, classes and values from small matrices\n")
    if not installed("matplotlib"):
        print("No pictures without matplotlib: pip install 'rhokit[plot]'\n")
    for tell in (
        likely_digits.tell,
        photograph.tell,
        classified_digits.tell,
        honest_intervals.tell,
        report_page.tell,
    ):
        tell(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
