"""The demo tells the truth, in 80 columns, and draws real pictures."""

import io
import subprocess
import sys
from contextlib import redirect_stdout
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.image import imread
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from sklearn.datasets import load_diabetes, load_digits, load_sample_image

from rhokit import DMKDE, DMKDClassifier
from rhokit.datasets import bimodal, clusters
from rhokit.demo import (
    __main__,
    classified_digits,
    densities,
    honest_intervals,
    likely_digits,
    photograph,
    report_page,
    shared,
)
from rhokit.plans import Candidate

PICTURES = ["digits.png", "photograph.png", "classified-digits.png", "values.png"]


def run(*arguments):
    """Exit status and text of the demo, on a part of its data."""
    digits = load_digits()
    few = SimpleNamespace(data=digits.data[:240], target=digits.target[:240])
    corner = load_sample_image("flower.jpg")[150:180, 150:200]
    patients = load_diabetes(scaled=False)
    patients.data, patients.target = patients.data[:160], patients.target[:160]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as text:
        patch.setattr(likely_digits, "load_digits", lambda: few)
        patch.setattr(classified_digits, "load_digits", lambda: few)
        patch.setattr(photograph, "load_sample_image", lambda name: corner)
        patch.setattr(photograph, "_EXACT_ROWS", 100)
        patch.setattr(honest_intervals, "load_diabetes", lambda scaled: patients)
        patch.setattr(report_page, "load_diabetes", lambda scaled: patients)
        patch.setattr(honest_intervals, "_SPLITS", 2)
        status = __main__.main(list(arguments))
    return status, text.getvalue()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Folder and text of one run."""
    output = tmp_path_factory.mktemp("demo") / "deep" / "folder"
    status, text = run("--output", str(output))
    assert status == 0
    return output, text


@pytest.fixture(scope="module")
def model():
    rows = clusters(300, 3, random_state=0)[0]
    return DMKDE(feature_map="landmarks", random_state=0).fit(rows)


def test_text_says(finished):
    expected = [
        "180 are fitted, 60 held out",
        "map         mosaic:",
        "rows that were held out",
        "each cell has a matrix of 65 x 65",
        "map         grid:",
        "leave-one-out likelihood",
        "floor       none:",
        "The five least likely",
        "merged, are the model of the whole",
        "times as fast",
        "scaling     ",
        "wrong of 60",
        "A second model learns the digits 0 to 7 alone",
        "8 and 9, never seen",
        "160 patients, 10 columns; 2 times a quarter is held out",
        "among these, of 40 rows each",
        "40 patients that the model has not seen",
    ]
    assert [words for words in expected if words not in finished[1]] == []


def test_text_fits_a_terminal_of_80_ascii_columns(finished):
    lines = finished[1].splitlines()
    paths = [line for line in lines if "Picture: " in line or "Report: " in line]
    assert max(len(line) for line in lines if line not in paths) <= 80
    assert finished[1].isascii()


def test_text_compares_with_exact_kde(finished):
    means = [
        float(line.split()[-5])
        for line in finished[1].splitlines()
        if line.startswith(("   DMKDE   ", "   exact KDE  "))
    ]
    assert len(means) == 4
    assert means[0] > means[1]  # a mosaic
    assert_allclose(means[2], means[3], rtol=0.02)  # a grid, of the same kernel


def test_pictures_are_named_and_drawn(finished):
    output, text = finished
    for name in PICTURES:
        assert f"Picture: {output / name}" in text
        assert (output / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        image = imread(output / name)
        assert min(image.shape[:2]) >= 600
        assert image[..., :3].std() > 0.1


def test_without_matplotlib_there_is_text_alone(monkeypatch, tmp_path):
    missing = {"matplotlib": None}
    monkeypatch.setattr(shared, "find_spec", lambda name: missing.get(name, name))
    status, text = run("--output", str(tmp_path))
    assert status == 0
    assert "pip install 'rhokit[plot]'" in text
    assert "times as fast" in text
    assert "8 and 9, never seen" in text
    assert "conformal forest" in text
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_without_pillow_the_photograph_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(shared, "find_spec", lambda name: None)
    status, text = run("--output", str(tmp_path))
    assert status == 0
    assert "Left out: reading it takes Pillow" in text
    assert "The five least likely" in text


def test_output_that_is_a_file_is_refused_at_once(tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.touch()
    with pytest.raises(SystemExit) as stop:
        __main__.main(["--output", str(taken)])
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"--output: cannot make the folder {taken}" in captured.err


def test_runs_as_a_module():
    command = [sys.executable, "-m", "rhokit.demo", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--output" in done.stdout


def test_exact_kde_is_the_definition_in_the_users_units(model):
    train, centres = clusters(300, 3, random_state=0)
    rows, _ = clusters(5, 3, centres=centres, random_state=1)
    spread = train.std(axis=0)
    squares = (((rows[:, None] - train) / spread) ** 2).sum(axis=2)
    mass = (np.pi / model.gamma_) ** 1.5 * len(train) * spread.prod()
    expected = logsumexp(-model.gamma_ * squares, axis=1) - np.log(mass)
    gamma = densities.gamma_of(model, train)
    assert gamma == model.gamma_
    found = densities.exact_kde(train, model, gamma)(rows)
    assert_allclose(found, expected, rtol=1e-10)


def test_exact_kde_beside_a_mosaic_has_the_gamma_of_leave_one_out(model):
    train, _ = clusters(300, 3, random_state=0)
    mosaic = DMKDE(random_state=0).fit(train)
    assert mosaic.gamma_ is None
    assert_allclose(densities.gamma_of(mosaic, train), model.gamma_)


@pytest.mark.parametrize("d", [2, 3])
def test_compare_times_both_on_the_same_rows(d):
    rows, _ = clusters(400, d, random_state=0)
    result = densities.compare(rows[:300], rows[300:], "clusters")
    assert result.logs.shape == result.exact_logs.shape == (100,)
    if d == 2:  # a grid, of the same kernel
        assert_allclose(np.median(result.logs - result.exact_logs), 0.0, atol=0.01)
    times = [*vars(result.timing).values(), *vars(result.exact_timing).values()]
    assert min(times) > 0


def test_a_mosaic_is_told_by_the_rows_that_it_finds_likelier():
    rows, _ = clusters(400, 3, random_state=0)
    result = densities.compare(rows[:300], rows[300:], "clusters")
    gamma = densities.gamma_of(result.model, rows[:300])
    exact = densities.exact_kde(rows[:300], result.model, gamma)(rows[300:])
    assert_allclose(result.exact_logs, exact, rtol=1e-12)
    assert_allclose(result.logs, result.model.score_samples(rows[300:]), rtol=1e-12)
    better = 100 * (result.logs > result.exact_logs).mean()
    words = " ".join(densities.table(result))
    assert f"DMKDE finds {better:.0f} % of the held-out rows likelier" in words
    said = " ".join(" ".join(densities.describe(result.model)).split())
    assert f"{result.model.feature_map_.n_cells_} in layers" in said
    assert "each cell has a matrix of 4 x 4 numbers" in said


def test_merge_error_is_rounding(model):
    rows, _ = clusters(300, 3, random_state=0)
    assert densities.merge_error(model, rows, rows[:50]) < 1e-9


def test_merge_error_sees_a_lost_half(model):
    rows, _ = clusters(300, 3, random_state=0)
    assert densities.merge_error(model, rows[:150], rows) > 0.01


def test_describe_names_grid_and_floor():
    model = DMKDE().fit(bimodal(500, random_state=0))
    text = " ".join(densities.describe(model))
    assert "grid:" in text
    assert f"{model.floor_:.1f}: lower log-densities" in text
    assert f"{model.state_.total.size} coefficients of a Fourier series" in text


def test_least_likely_come_first():
    logs = np.array([-1.0, -9.0, -3.0, -7.0, -2.0, -5.0])
    names = np.arange(6) * 11
    lines = likely_digits.least_likely(logs, names, names // 11)
    assert lines[0].split() == ["image", "11", "33", "55", "22", "44"]
    assert lines[1].split() == ["digit", "1", "3", "5", "2", "4"]
    assert lines[2].split()[1:3] == ["-9.0", "-7.0"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(12.34, "12.3 s"), (0.1234, "123 ms"), (0.00123, "1.23 ms")],
)
def test_duration(seconds, words):
    assert shared.duration(seconds) == words


def test_colours_are_brightness_and_warmth():
    pixels = np.array([[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 0, 255]], np.uint8)
    expected = [[0, 0], [255, 0], [76.2, 255], [29.1, -255]]
    assert_allclose(photograph.colours(pixels), expected, atol=0.1)
    assert photograph.colours(pixels).dtype == np.float32


def test_density_surface_covers_the_rows():
    rows, _ = clusters(200, 2, random_state=0)
    model = DMKDE(random_state=0).fit(rows)
    x, y, surface = photograph.density_surface(model, rows, steps=20)
    assert x[0] < rows[:, 0].min() < rows[:, 0].max() < x[-1]
    assert_allclose(surface[3, 7], model.score_samples([[x[7], y[3]]])[0])


# ---- classes of digits ---------------------------------------------------------------


@pytest.fixture(scope="module")
def three_classes():
    """A split of rows with three labels, each that of some clusters."""
    rows, centres = clusters(300, 3, random_state=0)
    nearest = ((rows[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return shared.hold_out_a_quarter(rows, nearest % 3)


@pytest.fixture(scope="module")
def predicted(three_classes):
    return classified_digits.run(DMKDClassifier(random_state=0), three_classes)


def test_a_quarter_is_held_out_with_its_targets():
    rows = np.arange(40)[:, None]
    split = shared.hold_out_a_quarter(rows, np.arange(40) * 2, seed=3)
    assert len(split.held_out) == 10
    assert_allclose(split.train[:, 0] * 2, split.train_target)
    assert_allclose(split.held_out[:, 0] * 2, split.target)
    assert len(np.intersect1d(split.train, split.held_out)) == 0


def test_run_answers_for_the_held_out_rows(three_classes, predicted):
    expected = predicted.model.predict(three_classes.held_out)
    assert (predicted.answers == expected).all()
    assert min(predicted.fit_time, predicted.answer_time) > 0


def test_describe_names_the_scaling_that_the_model_uses(three_classes, predicted):
    scale = classified_digits.chosen(predicted.model).scale
    assert classified_digits.describe(predicted.model)[0].startswith(
        f"scaling     {scale}: "
    )
    alone = DMKDClassifier(scale=scale, gamma=predicted.model.gamma_, random_state=0)
    alone.fit(three_classes.train, three_classes.train_target)
    assert_allclose(alone.scaling_.matrix, predicted.model.scaling_.matrix)


def test_doubtful_are_the_wrong_ones_and_then_the_least_sure(three_classes, predicted):
    answers = three_classes.target.copy()
    answers[[4, 9]] += 1
    result = classified_digits.Predicted(predicted.model, answers, 1.0, 1.0)
    places = classified_digits.doubtful(three_classes, result, 6)
    assert set(places[:2]) == {4, 9}
    sure = predicted.model.predict_proba(three_classes.held_out).max(axis=1)
    assert (np.diff(sure[places[2:]]) >= 0).all()


def test_candidates_are_summed_up_by_their_best():
    tried = [
        Candidate("std", "exact", 0.5, 0.7, 100),
        Candidate("std", "exact", 2.0, 0.9, 100),
        Candidate("std", "LandmarkFeatures", 1.0, 0.99, 10),  # fewer rows: says less
        Candidate("std", "LandmarkFeatures", 1.0, 0.8, 50),
    ]
    *_, exact, landmarks = classified_digits.candidates_table(tried)
    assert exact.split() == ["std,", "exact", "kernel", "2", "2", "100", "0.900"]
    assert landmarks.split() == ["std,", "landmarks", "1", "1", "50", "0.800"]


def test_table_counts_wrong_predictions(three_classes, predicted):
    answers = three_classes.target.copy()
    answers[:3] += 1
    result = classified_digits.Predicted(predicted.model, answers, 1.5, 0.01)
    lines = classified_digits.table(three_classes, {"some model": result})
    expected = ["some", "model", "3", "96.0", "%", "1.5", "s", "10", "ms"]
    assert lines[2].split() == expected


def test_strangers_are_told_by_the_answers_themselves():
    data = load_digits()
    split = shared.hold_out_a_quarter(data.data[:300], data.target[:300])
    new = data.data[:300][data.target[:300] >= 8]
    strangers = classified_digits.meet_strangers(split, new)
    assert set(strangers.model.classes_) == set(range(8))
    unknown = strangers.model.predict(new) == "unknown"
    lines = classified_digits.tell_strangers(split, strangers)
    assert lines[-1].endswith(shared.percent(unknown.mean()))


# ---- values and intervals --------------------------------------------------------


def test_holds_counts_the_ends_in():
    intervals = np.array([[0.0, 1.0]] * 4)
    inside = honest_intervals.holds(intervals, np.array([-0.1, 0.0, 1.0, 1.1]))
    assert inside.tolist() == [False, True, True, False]


def test_conformal_forest_holds_the_share_it_promises():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 1))
    truth = rows[:, 0] + rng.normal(size=2000)
    forest = honest_intervals.ConformalForest().fit(rows[:600], truth[:600])
    inside = honest_intervals.holds(
        forest.predict_interval(rows[600:], 0.8), truth[600:]
    )
    assert_allclose(inside.mean(), 0.8, atol=0.08)


def test_conformal_forest_of_few_rows_promises_nothing():
    forest = honest_intervals.ConformalForest().fit(
        np.arange(8.0)[:, None], np.arange(8.0)
    )
    assert np.isinf(forest.predict_interval([[1.0]], 0.9)).all()


class _Guess:
    """Predicts zero, and intervals as wide as the coverage says."""

    def fit(self, rows, target):
        return self

    def predict(self, rows):
        return np.zeros(len(rows))

    def predict_interval(self, rows, coverage):
        return np.tile([-coverage, coverage], (len(rows), 1))


def test_judge_measures_shares_widths_and_r2():
    target = np.array([-0.85, -0.6, 0.1, 0.2, 1.15])
    split = shared.Split(np.zeros((5, 1)), target, np.zeros((5, 1)), target)
    verdict = honest_intervals.judge(_Guess(), split)
    assert_allclose(verdict.inside, [0.4, 0.6, 0.8])
    assert_allclose(verdict.widths, [1.0, 1.6, 1.8])
    assert_allclose(verdict.r2, 0.0, atol=1e-12)


def test_values_table_shows_means_over_the_splits():
    verdicts = [
        honest_intervals.Verdict(None, 0.2, [0.4, 0.7, 0.8], [1, 2, 30], 2.0),
        honest_intervals.Verdict(None, 0.4, [0.6, 0.9, 1.0], [1, 2, 50], 4.0),
    ]
    lines = honest_intervals.table({"some model": verdicts}, 7)
    numbers = ["0.30", "50.0", "%", "80.0", "%", "90.0", "%", "40", "3.0", "s"]
    assert lines[2].split() == ["some", "model", *numbers]
    assert "has a standard deviation of 10.0 %" in lines[6]


# ---- the report ------------------------------------------------------------------


def test_the_report_is_named_and_about_the_rows_held_out(finished):
    output, text = finished
    assert f"Report: {output / 'report.html'}" in text
    page = (output / "report.html").read_text(encoding="utf-8")
    assert "A QMRegressor fitted to 120 rows of 10 columns" in page
    assert "looked at with 40 rows" in page
    assert ">bmi<" in page


def test_without_jinja2_the_demo_says_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(shared, "find_spec", lambda name: name != "jinja2" or None)
    report_page.tell(tmp_path)
    assert "pip install 'rhokit[report]'" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_rows_without_pyarrow_are_an_array(monkeypatch):
    monkeypatch.setattr(shared, "find_spec", lambda name: None)
    rows = np.eye(2)
    assert report_page.named(rows, ["a", "b"]) is rows


def test_the_reports_summary_counts_errors_and_hits():
    target = np.array([0.5, 0.8, 1.0, 3.0])
    error, inside, _ = report_page.summary(_Guess(), np.zeros((4, 1)), target)
    assert error.startswith("4 patients")
    assert error.endswith("are off by 1,")
    assert inside.startswith("and 50.0 % of the values lie in intervals of 90 %")
