"""Builds sdist and wheel, checks both, and uses the wheel in fresh environments.

python tools/dist.py                core, then each extra by itself
python tools/dist.py core plot      some of them
python tools/dist.py oldest         the core with the oldest versions allowed
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from oldest import oldest
from smoke import EXTRAS

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def run(*command: object) -> None:
    """A command that must succeed."""
    subprocess.run([str(part) for part in command], check=True)


def build() -> Path:
    """The wheel, beside the sdist, both with descriptions that PyPI can show."""
    for path in DIST.glob("rhokit-*"):
        path.unlink()
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.glob("rhokit-*"))
    (wheel,) = DIST.glob("*.whl")
    return wheel


def try_out(wheel: Path, what: str) -> None:
    """Install the wheel in an environment of its own, and use it from elsewhere."""
    extra = what if what in EXTRAS else None
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "env", with_pip=True)
        python = home / "env" / "bin" / "python"
        pins = ROOT / "constraints.txt"
        if what == "oldest":
            pins = home / "oldest.txt"
            pins.write_text("\n".join(oldest([])))
        wanted = f"{wheel}[{extra}]" if extra else wheel
        install = ("-m", "pip", "install", "--quiet", "--constraint", pins, wanted)
        run(python, *install)
        subprocess.run(
            [python, ROOT / "tools" / "smoke.py", *([extra] if extra else [])],
            check=True,
            cwd=home,
        )


def main(wanted: list[str]) -> None:
    """Build once, and try everything that is wanted."""
    known = ["core", "oldest", *EXTRAS]
    unknown = set(wanted) - set(known)
    if unknown:
        raise SystemExit(f"known are {known}, got {sorted(unknown)}")
    wheel = build()
    for what in wanted or known:
        print(f"== {what}", flush=True)
        try_out(wheel, what)


if __name__ == "__main__":
    main(sys.argv[1:])
