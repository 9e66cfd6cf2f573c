"""Progress of work that lasts, and silence for work that does not."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeVar

T = TypeVar("T")

_PATIENCE = 2.0
_REFRESH = 0.5


@contextmanager
def progress(
    label: str, stream: TextIO | None = None, *, lines: bool = True
) -> Iterator[None]:
    """Say on stderr that work goes on, once it has lasted for two seconds.

    On a terminal one line counts the seconds in place and is wiped at the end. In a
    pipe or a file there are plain lines, each after twice the time of the last one.

    Parameters
    ----------
    label : str
        What is being done, such as ``"Fitting the model"``.
    stream : text stream, optional
        Where to say so, stderr without it.
    lines : bool, default=True
        Whether to say so in a pipe or a file, too.

    Examples
    --------
    >>> from rhokit.progress import progress
    >>> with progress("Adding up"):
    ...     total = sum(range(10))
    """
    stream = stream or sys.stderr
    if not (lines or stream.isatty()):
        yield
        return
    done = threading.Event()
    arguments = (label, stream, done)
    watcher = threading.Thread(target=_watch, args=arguments, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()  # the caller's next line must not meet ours


def _watch(label: str, stream: TextIO, done: threading.Event) -> None:
    start = time.monotonic()
    in_place = stream.isatty()
    wait, line = _PATIENCE, ""
    while not done.wait(wait):
        elapsed = time.monotonic() - start
        line = f"{label} ... {duration(round(elapsed))}"
        stream.write(f"\r{line}" if in_place else f"{line}\n")
        stream.flush()
        wait = _REFRESH if in_place else elapsed
    if in_place and line:
        stream.write(f"\r{' ' * len(line)}\r")
        stream.flush()


def duration(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> from rhokit.progress import duration
    >>> [duration(s) for s in (0.0284, 3.49, 59.7, 608, 7_500, 200_000)]
    ['0.028 s', '3.5 s', '1 min 0 s', '10 min 8 s', '2 h 5 min', '2 d 7 h']
    """
    if seconds < 59.5:
        return f"{seconds:.0f} s" if seconds >= 9.95 else f"{seconds:.2g} s"
    whole, count, unit = round(seconds), 60, "s"
    for step, larger in ((60, "min"), (24, "h"), (365, "d")):
        parts, rest = divmod(whole, count)
        if parts < step or larger == "d":
            return f"{parts} {larger} {rest} {unit}"
        whole, count, unit = parts, step, larger
    raise AssertionError("days are the last")


def counted(label: str, batches: Iterable[T]) -> Iterator[T]:
    """Batches, while a bar counts their rows.

    Examples
    --------
    >>> from rhokit.progress import counted
    >>> sum(len(rows) for rows in counted("Adding up", ["abc", "de"]))
    5
    """
    done = 0
    with ProgressBar(label) as bar:
        for batch in batches:
            done += len(batch)  # type: ignore[arg-type]
            bar.count(done)
            yield batch


class ProgressBar:
    """A bar on a terminal, once work has lasted for two seconds; nothing in a pipe.

    Parameters
    ----------
    label : str
        What is being done.
    stream : text stream, optional
        stderr without it.

    Examples
    --------
    >>> from rhokit.progress import ProgressBar
    >>> with ProgressBar("Training") as bar:
    ...     for epoch in range(3):
    ...         bar.update((epoch + 1) / 3, f"epoch {epoch + 1} of 3")
    """

    _WIDTH = 24

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = stream or sys.stderr
        self._start = self._last = time.monotonic()
        self._written = 0
        self._counting: tuple[float, int] | None = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *error: object) -> None:
        if self._written:
            self._stream.write(f"\r{' ' * self._written}\r")
            self._stream.flush()

    def count(self, done: int, total: int | None = None) -> None:
        """Show how many rows are done, of how many if that is known, and how fast.

        Speed and time left are measured from the first call on: what came before, or
        was done by an earlier run, says nothing about them.
        """
        now = time.monotonic()
        if self._counting is None:
            self._counting = now, done
        start, first = self._counting
        rate = (done - first) / max(now - start, 1e-9)
        note = f"{done:,} rows" if total is None else f"{done:,} of {total:,} rows"
        if rate:
            note += f", {rate:,.0f} rows/s"
        if rate and total is not None:
            note += f", {duration(round(max(total - done, 0) / rate))} left"
        self._show(None if total is None else min(done / max(total, 1), 1), note)

    def update(self, share: float | None, note: str = "") -> None:
        """Show that this share of the work is done, or that it goes on."""
        if share is None:
            self._show(None, note)
            return
        elapsed = time.monotonic() - self._start
        left = elapsed * (1 - share) / max(share, 1e-9)
        self._show(share, f"{note}, {duration(round(left))} left")

    def _show(self, share: float | None, note: str) -> None:
        now = time.monotonic()
        if now - self._start < _PATIENCE or now - self._last < _REFRESH:
            return
        if not self._stream.isatty():
            return
        self._last = now
        bar = ""
        if share is not None:
            full = int(share * self._WIDTH)
            bar = "█" * full + "░" * (self._WIDTH - full) + " "
        line = f"{self._label} {bar}{note}"
        self._stream.write(f"\r{line:<{self._written}}")
        self._stream.flush()
        self._written = len(line)
