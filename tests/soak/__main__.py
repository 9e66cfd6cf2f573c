"""Random use of models for a while: ``python -m tests.soak --seconds 3600 --seed 0``.

Models of the catalogue learn, forget, merge, fade, are saved, loaded, asked from
threads, and processes that save or fit them are killed. Beside each stands a slow model
that keeps all rows with their weights: after every step a fresh fit to these must give
the same state, sample and answers, within what docs/promises.md says. Anything else is
a finding, and makes the exit code 1. ``--only INDEX`` repeats one world.
"""

import argparse
import sys
import time

from tests.soak.run import soak


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument(
        "--seed", type=int, default=None, help="by the clock without it"
    )
    parser.add_argument("--only", type=int, default=None, metavar="INDEX")
    options = parser.parse_args(arguments)
    seed = int(time.time()) if options.seed is None else options.seed
    if options.only is None:
        report = soak(seed, seconds=options.seconds)
    else:
        report = soak(seed, worlds=1, first=options.only)
    for finding in report.findings:
        print(finding, flush=True)
    print(f"seed {seed}: {report.n_worlds} worlds, {report.done.total()} steps")
    for name, count in report.done.most_common():
        print(f"  {count:7,} {name}")
    print(f"{len(report.findings)} findings")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
