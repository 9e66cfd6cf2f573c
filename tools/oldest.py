"""Prints constraints for pip: every dependency at the oldest version that is allowed.

python tools/oldest.py fast plot > oldest.txt
"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)")


def oldest(extras: list[str]) -> list[str]:
    """Lines ``name==version`` of the core and of some extras, and what those bring.

    >>> [line for line in oldest([]) if line.startswith("numpy")]
    ['numpy==2.0']
    """
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    wanted, waiting, seen = list(project["dependencies"]), list(extras), set()
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for requirement in optional[extra]:
            own = re.fullmatch(r"rhokit\[(.*)\]", requirement)
            if own:
                waiting += own[1].split(",")
            else:
                wanted.append(requirement)
    found = (_REQUIREMENT.fullmatch(each) for each in wanted)
    return sorted({f"{match[1]}=={match[2]}" for match in found if match})


if __name__ == "__main__":
    print("\n".join(oldest(sys.argv[1:])))
