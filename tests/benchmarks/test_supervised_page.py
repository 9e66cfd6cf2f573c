"""What the lines of the supervised section say: means, verdicts, tables."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.contestants import learners
from benchmarks.figures import supervised as chapter
from benchmarks.records import Result, as_line
from benchmarks.runs import SECONDS
from benchmarks.supervised_measures import METRICS
from benchmarks.supervised_verdicts import (
    CRPS,
    ERROR,
    FIT,
    LOSS,
    PREDICTION,
    SHARE,
    Outcomes,
    report,
    sentences,
)
from tests.benchmarks import page_lines


def line(given, split, name, value, *, kind="values", threads=1, **others):
    details = {"set": given, "split": split, "contestant": name, "kind": kind}
    details |= {"reason": None, "n": 1_200, "d": 3, "fit_seconds": 2.0}
    details |= {"answer_seconds": {"30": 0.5}, "model_bytes": 4_000_000}
    case = f"{given} / split {split} / {name}"
    details |= others
    return as_line(Result(case, METRICS[kind], value, threads=threads, details=details))


def two_sets():
    """rhokit is below the better tree on one of two sets, and likelier on none."""
    ours, boosted = learners.OUR_VALUES, learners.BOOSTED_VALUES
    forest, rival = learners.FOREST_VALUES, learners.NGBOOST
    for split in range(2):
        spread = {"coverage": 0.88 + 0.04 * split, "width": 3.0, "crps": 1.0}
        spread |= {"coverage_by_width": [0.8, 0.9, 1.0]}
        yield line("a", split, ours, 1.0, nll=2.0, fit_processor_seconds=1.0, **spread)
        yield line("a", split, boosted, 2.0 + split)
        yield line("a", split, forest, 4.0)
        yield line("b", split, ours, 3.0, nll=1.0, **spread)
        yield line("b", split, boosted, 4.0)
        yield line("b", split, forest, 1.5)
        yield line("b", split, rival, 2.0, nll=0.5, **spread | {"crps": 2.0})
    yield line("a", 2, boosted, 900.0)  # no line of ours: not compared


# ---- means and verdicts --------------------------------------------------------------


def test_means_are_over_splits_and_pairs_over_those_of_both():
    outcomes = Outcomes(two_sets(), "values")
    boosted = outcomes.mean("a", learners.BOOSTED_VALUES, ERROR)
    values = np.array([2.0, 3.0, 900.0])
    assert_allclose(boosted.value, values.mean())
    assert_allclose(boosted.error, values.std(ddof=1) / np.sqrt(3))
    names = learners.OUR_VALUES, learners.BOOSTED_VALUES
    assert_allclose(outcomes.pair("a", *names, ERROR), [1.0, 2.5])
    assert outcomes.pair("a", *names, CRPS) is None
    assert outcomes.mean("a", learners.NGBOOST, ERROR) is None
    assert outcomes.best("b", ERROR) == learners.FOREST_VALUES
    assert outcomes.sizes("a") == "1,200 × 3"


def test_the_best_is_beaten_by_nobody_on_the_splits_of_both():
    """Not by whom only an easy split was measured."""
    made = [line("a", split, "Ridge", 1.0 + 8 * split) for split in range(2)]
    made.append(line("a", 0, "SVR", 2.0))
    outcomes = Outcomes(made, "values")
    assert outcomes.mean("a", "SVR", ERROR).value < 5
    assert outcomes.mean("a", "Ridge", ERROR).value == 5
    assert outcomes.best("a", ERROR) == "Ridge"
    assert outcomes.best("a", CRPS) is None
    assert outcomes.most_splits("a", ERROR) == 2


def test_sets_stand_in_the_order_of_the_section():
    made = [line(given, 0, "Ridge", 1.0) for given in ("wine", "yacht", "boston")]
    assert Outcomes(made, "values").sets == ["yacht", "boston", "wine"]


def test_the_last_line_of_a_split_counts():
    both = [line("a", 0, "Ridge", value) for value in (1.0, 5.0)]
    assert Outcomes(both, "values").mean("a", "Ridge", ERROR).value == 5


def test_seconds_of_one_thread_are_the_processors():
    for threads, expected in ((1, 1.0), (2, 2.0)):
        own = {"fit_processor_seconds": 1.0, "answer_processor_seconds": {"30": 0.25}}
        one = line("a", 0, "Ridge", 1.0, threads=threads, **own)
        outcomes = Outcomes([one], "values")
        assert outcomes.mean("a", "Ridge", FIT).value == expected
        assert outcomes.mean("a", "Ridge", PREDICTION).value == expected / 4


def test_verdicts_on_values():
    text = " ".join(sentences(Outcomes(two_sets(), "values")))
    ratio = np.sqrt((1.0 / 2.5) * (3.0 / 1.5))
    assert (
        "RMSE at or below the better of boosting and forest on 1 of 2 sets; mean ratio "
        f"to it {ratio:.3g}." in text
    )
    assert "likelihood below that of NGBoost on 0 of 1 sets; +0.500 nats" in text
    assert "CRPS below that of NGBoost on 1 of 1 sets; mean ratio 0.5." in text
    assert "Intervals of 90 % hold 90.0 %, on single sets 90.0 to 90.0 %." in text
    assert "fit 0.707 times (0.5 to 1), prediction 1 times (1 to 1)." in text
    assert f"Best RMSE: {learners.OUR_VALUES} 1, {learners.FOREST_VALUES} 1." in text


def test_verdicts_on_classes():
    ours, boosted = learners.OUR_CLASSES, learners.BOOSTED_CLASSES
    made = [
        line(given, 0, name, value, kind="classes", log_loss=loss)
        for given, name, value, loss in (
            ("a", ours, 0.95, 0.1),
            ("a", boosted, 0.9, 0.4),
            ("a", learners.FOREST_CLASSES, 0.95, 0.2),
            ("b", ours, 0.9, 0.3),
            ("b", boosted, 0.94, 0.2),
            ("b", learners.FOREST_CLASSES, 0.8, 0.2),
        )
    ]
    outcomes = Outcomes(made, "classes")
    text = " ".join(sentences(outcomes))
    assert (
        "Accuracy at or above the better of boosting and forest on 1 of 2 sets; "
        "-2.00 points from it on average." in text
    )
    assert f"Log-loss below that of {boosted} on 1 of 2 sets" in text
    assert outcomes.best("b", SHARE) == boosted
    assert outcomes.best("a", LOSS) == ours


def test_without_rhokit_there_are_winners_alone():
    rivals = [each for each in two_sets() if not each["case"].endswith("()")]
    found = sentences(Outcomes(rivals, "values"))
    assert found[0] == f"{learners.OUR_VALUES} was not measured yet."
    assert all(each.startswith("Best") for each in found[1:])


# ---- texts ---------------------------------------------------------------------------


def absence(given, name):
    made = line(given, 0, name, None)
    made["details"] |= {"reason": "no\ntime | really"}
    return made


def test_the_report_has_means_verdicts_and_absences():
    lines = [*two_sets(), absence("a", "SVR"), as_line(Result("a", SECONDS, 3.0))]
    text = report(lines)
    assert "values: RMSE" in text
    assert "classes" not in text
    row = next(each for each in text.splitlines() if each.startswith("b "))
    assert row.split()[:4] == ["b", "1,200", "×", "3"]
    assert "1.500 ± 0.000" in row
    assert "SVR: no\ntime | really (a)" in text


class NoAlbum:
    def add(self, name, figure, words):
        return f"![{words}]({name}.png)\n"


def test_the_chapter_says_what_the_lines_say():
    made = [*two_sets(), absence("a", "SVR")]
    text = chapter.chapter(made, NoAlbum())
    assert "### Values" in text
    assert "### Classes" not in text
    assert "| **1.500 ± 0.000** |" in text  # the best of its set
    assert "**1.000 ± 0.000** (2)" not in text
    assert "| **1.000 ± 0.000 (2)** |" in text  # on fewer splits than boosting
    assert "90.0 % (80, 100); 3" in text
    assert "- SVR: no time | really (a)" in text
    assert "supervised-values.png" in text


def test_the_chapter_of_whole_lines_has_both_kinds():
    made = page_lines.lines("supervised", page_lines.supervised(small=True))
    text = chapter.chapter(made, NoAlbum())
    for kind, name in (("Values", "values"), ("Classes", "classes")):
        assert f"### {kind}" in text
        assert f"supervised-{name}.png" in text
    assert "No set" in chapter.chapter([as_line(Result("x", SECONDS, 1.0))], NoAlbum())


@pytest.mark.parametrize("measure", [ERROR, CRPS])
def test_measures_that_nobody_has_are_left_out(measure):
    text = chapter.chapter([line("a", 0, "Ridge", 1.0)], NoAlbum())
    assert (f"#### {measure.title}" in text) == (measure is ERROR)
