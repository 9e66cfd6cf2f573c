"""The command: ``python -m rhokit.cli``, or ``rhokit`` where it is installed."""

import sys

from rhokit.cli import main

if __name__ == "__main__":
    sys.exit(main())
