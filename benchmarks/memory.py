"""Memory of the process that asks, as Linux counts it."""

from contextlib import suppress
from pathlib import Path


def resident_megabytes():
    """Resident memory of this process: now, and the most that it ever was.

    Not ``getrusage``: its maximum includes the process that started this one.
    """
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    fields = dict(line.split(":", 1) for line in text.splitlines())
    return tuple(int(fields[key].split()[0]) / 1024 for key in ("VmRSS", "VmHWM"))


def reset_peak():
    """Forget the most that it ever was, where the system allows that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
