"""The progress bar: silent when quick or piped, wiped when done."""

import io

import pytest
import torch
from torch import nn

from rhokit import progress as module
from rhokit.nn import Recipe, TrainingRows, train
from rhokit.progress import ProgressBar


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by hand."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def screen(text):
    """What a terminal shows of one line, after every carriage return."""
    shown, seen = "", []
    for part in text.split("\r")[1:]:
        shown = part + shown[len(part) :]
        seen.append(shown)
    return seen


def test_quick_work_is_silent(clock):
    stream = Terminal()
    with ProgressBar("Training", stream) as bar:
        for step in range(10):
            clock.now += 0.19
            bar.update(step / 10)
    assert stream.getvalue() == ""


def test_pipe_gets_nothing(clock):
    stream = io.StringIO()
    with ProgressBar("Training", stream) as bar:
        for step in range(100):
            clock.now += 10
            bar.update(step / 100)
    assert stream.getvalue() == ""


def test_bar_note_and_time_left(clock):
    stream = Terminal()
    with ProgressBar("Training", stream) as bar:
        clock.now += 3
        bar.update(0.25, "epoch 1 of 4")
        assert stream.getvalue() == (
            "\rTraining " + "█" * 6 + "░" * 18 + " epoch 1 of 4, 9 s left"
        )
        clock.now += 6
        bar.update(0.75, "epoch 3 of 4")
        assert screen(stream.getvalue())[-1] == (
            "Training " + "█" * 18 + "░" * 6 + " epoch 3 of 4, 3 s left"
        )


def test_not_more_often_than_twice_a_second(clock):
    stream = Terminal()
    with ProgressBar("Training", stream) as bar:
        clock.now += 2
        for _ in range(100):
            clock.now += 0.0625
            bar.update(0.5)
        assert 11 <= stream.getvalue().count("\r") <= 13


@pytest.mark.parametrize("error", [None, KeyError])
def test_wiped_at_the_end(clock, error):
    stream = Terminal()

    def work():
        with ProgressBar("Training", stream) as bar:
            clock.now += 5
            bar.update(0.5, "a long note")
            clock.now += 5
            bar.update(0.6, "short")
            if error:
                raise error

    if error:
        with pytest.raises(error):
            work()
    else:
        work()
    text = stream.getvalue()
    assert text.endswith("\r")
    assert "\n" not in text
    *shown, last, _ = screen(text)
    assert "a long note" in shown[0]
    assert "note" not in shown[1]
    assert last.isspace()


def test_nothing_done_yet_has_an_end(clock):
    stream = Terminal()
    with ProgressBar("Training", stream) as bar:
        clock.now += 5
        bar.update(0.0)
        assert " left" in stream.getvalue()


class TestCount:
    """Rows, speed and time left, from the first call on."""

    def bar(self, clock, stream):
        bar = ProgressBar("Fitting", stream)
        clock.now += 10  # planning, which says nothing about the speed of learning
        return bar

    def test_rows_speed_and_time_left(self, clock):
        stream = Terminal()
        with self.bar(clock, stream) as bar:
            bar.count(1_000, 10_000)
            clock.now += 2
            bar.count(4_000, 10_000)
            assert screen(stream.getvalue())[-1] == (
                "Fitting "
                + "█" * 9
                + "░" * 15
                + " 4,000 of 10,000 rows, 1,500 rows/s, 4 s left"
            )

    def test_rows_of_an_earlier_run_say_nothing(self, clock):
        stream = Terminal()
        with self.bar(clock, stream) as bar:
            bar.count(9_000_000, 10_000_000)
            clock.now += 10
            bar.count(9_000_100, 10_000_000)
            shown = screen(stream.getvalue())[-1]
            assert "9,000,100 of 10,000,000 rows, 10 rows/s, 1 d 3 h left" in shown

    def test_the_first_call_has_no_speed_yet(self, clock):
        stream = Terminal()
        with self.bar(clock, stream) as bar:
            bar.count(500, 1_000)
            shown = screen(stream.getvalue())[-1]
            assert "500" in shown
            assert "left" not in shown

    def test_the_first_call_says_no_speed(self, clock):
        """Nought rows a second would be a wrong answer, not a missing one."""
        stream = Terminal()
        with self.bar(clock, stream) as bar:
            bar.count(500, 1_000)
            assert "rows/s" not in screen(stream.getvalue())[-1]

    def test_an_unknown_total_has_no_bar_and_no_end(self, clock):
        stream = Terminal()
        with self.bar(clock, stream) as bar:
            bar.count(1_000)
            clock.now += 4
            bar.count(9_000)
            shown = screen(stream.getvalue())[-1].rstrip()
            assert shown == "Fitting 9,000 rows, 2,000 rows/s"

    def test_more_rows_than_announced(self, clock):
        stream = Terminal()
        with self.bar(clock, stream) as bar:
            bar.count(0, 100)
            clock.now += 1
            bar.count(150, 100)
            shown = screen(stream.getvalue())[-1]
            assert "█" * 24 + " 150 of 100 rows" in shown
            assert "0 s left" in shown

    def test_a_table_without_rows(self, clock):
        stream = Terminal()
        with self.bar(clock, stream) as bar:
            for _ in range(2):
                bar.count(0, 0)
                clock.now += 1
        assert screen(stream.getvalue())[-1].isspace()

    def test_quick_work_is_silent(self, clock):
        stream = Terminal()
        with ProgressBar("Fitting", stream) as bar:
            for done in range(10):
                clock.now += 0.19
                bar.count(done, 10)
        assert stream.getvalue() == ""

    def test_pipe_gets_nothing(self, clock):
        stream = io.StringIO()
        with self.bar(clock, stream) as bar:
            for done in range(10):
                clock.now += 10
                bar.count(done, 10)
        assert stream.getvalue() == ""


def test_training_shows_epoch_loss_and_time(clock, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)

    def slow(output, target, weight):
        clock.now += 1
        return ((output - target) ** 2).mean()

    torch.manual_seed(0)
    rows = torch.linspace(-1, 1, 20)[:, None]
    train(
        nn.Linear(1, 1),
        slow,
        TrainingRows((rows,), 2 * rows),
        Recipe(0.05, 5, 10),
        validation=TrainingRows((rows,), 2 * rows),
        label="Training a line",
    )
    seen = screen(stream.getvalue())
    assert seen[0].startswith("Training a line ")
    shown = next(line for line in seen if "epoch 3 of 5" in line)
    assert "█" in shown
    assert ", loss " in shown
    assert ", validation loss " in shown
    assert " left" in shown
    assert seen[-1] == seen[-2]
    assert seen[-1].isspace()
