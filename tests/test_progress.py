"""The progress line: silent when quick, in place on a terminal, rare in a pipe."""

import io
import time

import pytest

from rhokit import progress as module
from rhokit.progress import progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    """Two seconds in a tenth of the blink of an eye."""
    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    monkeypatch.setattr(module, "_REFRESH", 0.01)


def work_until(said, seconds=30):
    """Work that lasts until enough was said."""
    end = time.monotonic() + seconds
    while not said() and time.monotonic() < end:
        time.sleep(0.005)


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_quick_work_is_silent(stream):
    with progress("Fitting", stream):
        pass
    assert stream.getvalue() == ""


def test_a_pipe_may_be_left_alone(impatient):
    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        with progress("Fitting", stream, lines=False):
            work_until(terminal.getvalue, 0.2 if stream is pipe else 30)
    assert pipe.getvalue() == ""
    assert "Fitting" in terminal.getvalue()


def test_patience_is_two_seconds():
    assert module._PATIENCE == 2.0


@pytest.mark.usefixtures("impatient")
def test_terminal_rewrites_one_line_and_wipes_it():
    stream = Terminal()
    with progress("Fitting", stream):
        work_until(lambda: stream.getvalue().count("\r") >= 3)
    text = stream.getvalue()
    assert "\n" not in text
    assert text.startswith("\rFitting ... 0 s\rFitting ... 0 s")
    last, end = text.split("\r")[-2:]
    assert end == ""
    assert last.isspace()
    assert len(last) >= len("Fitting ... 0 s")


@pytest.mark.usefixtures("impatient")
def test_pipe_gets_plain_lines_ever_more_rarely():
    stream = io.StringIO()
    with progress("Fitting", stream):
        work_until(lambda: False, seconds=0.3)
    lines = stream.getvalue().splitlines()
    assert set(lines) == {"Fitting ... 0 s"}
    # Each wait is as long as all before it: 0.01 s doubles five times in 0.3 s.
    assert 1 <= len(lines) <= 6


@pytest.mark.usefixtures("impatient")
def test_error_passes_and_wipes_the_line():
    stream = Terminal()

    def fail():
        with progress("Fitting", stream):
            work_until(stream.getvalue)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert stream.getvalue().endswith(" \r")


@pytest.mark.usefixtures("impatient")
def test_speaks_on_stderr(capsys):
    with progress("Fitting"):
        time.sleep(0.2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Fitting" in captured.err
