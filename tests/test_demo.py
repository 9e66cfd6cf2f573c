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
from sklearn.datasets import load_digits, load_sample_image

from rhokit import DMKDE, demo
from rhokit.datasets import bimodal, clusters

PICTURES = ["digits.png", "photograph.png"]


def run(*arguments):
    """Exit status and text of the demo, on a part of its data."""
    digits = load_digits()
    few = SimpleNamespace(data=digits.data[:240], target=digits.target[:240])
    corner = load_sample_image("flower.jpg")[150:180, 150:200]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as text:
        patch.setattr(demo, "load_digits", lambda: few)
        patch.setattr(demo, "load_sample_image", lambda name: corner)
        patch.setattr(demo, "_EXACT_ROWS", 100)
        status = demo.main(list(arguments))
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
    return DMKDE(random_state=0).fit(clusters(300, 3, random_state=0)[0])


@pytest.mark.parametrize(
    "words",
    [
        "180 are fitted, 60 held out",
        "map         landmarks:",
        "leave-one-out likelihood",
        "the density matrix has",
        "floor       none:",
        "The five least likely",
        "merged, are the model of the whole",
        "times as fast",
    ],
)
def test_text_says(finished, words):
    assert words in finished[1]


def test_text_fits_a_terminal_of_80_ascii_columns(finished):
    lines = finished[1].splitlines()
    paths = [line for line in lines if "Picture: " in line]
    assert max(len(line) for line in lines if line not in paths) <= 80
    assert finished[1].isascii()


def test_text_compares_with_exact_kde(finished):
    means = [
        float(line.split()[-5])
        for line in finished[1].splitlines()
        if line.startswith(("   DMKDE   ", "   exact KDE  "))
    ]
    assert len(means) == 4
    assert_allclose(means[::2], means[1::2], rtol=0.02)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_named_and_drawn(finished, name):
    output, text = finished
    assert f"Picture: {output / name}" in text
    assert (output / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    image = imread(output / name)
    assert min(image.shape[:2]) >= 600
    assert image[..., :3].std() > 0.1


def test_without_matplotlib_there_is_text_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "installed", lambda package: package != "matplotlib")
    status, text = run("--output", str(tmp_path))
    assert status == 0
    assert "pip install 'rhokit[plot]'" in text
    assert "times as fast" in text
    assert not list(tmp_path.iterdir())


def test_without_pillow_the_photograph_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "installed", lambda package: False)
    status, text = run("--output", str(tmp_path))
    assert status == 0
    assert "Left out" in text
    assert "The five least likely" in text


def test_output_that_is_a_file_is_refused_at_once(tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.touch()
    with pytest.raises(SystemExit) as stop:
        demo.main(["--output", str(taken)])
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
    assert_allclose(demo.exact_kde(train, model)(rows), expected, rtol=1e-10)


def test_compare_times_both_on_the_same_rows():
    rows, _ = clusters(400, 3, random_state=0)
    result = demo.compare(rows[:300], rows[300:], "clusters")
    assert result.logs.shape == result.exact_logs.shape == (100,)
    assert_allclose(np.median(result.logs - result.exact_logs), 0.0, atol=0.01)
    times = [*vars(result.timing).values(), *vars(result.exact_timing).values()]
    assert min(times) > 0


def test_merge_error_is_rounding(model):
    rows, _ = clusters(300, 3, random_state=0)
    assert demo.merge_error(model, rows, rows[:50]) < 1e-9


def test_merge_error_sees_a_lost_half(model):
    rows, _ = clusters(300, 3, random_state=0)
    assert demo.merge_error(model, rows[:150], rows) > 0.01


def test_describe_names_grid_and_floor():
    model = DMKDE().fit(bimodal(500, random_state=0))
    text = " ".join(demo.describe(model))
    assert "grid:" in text
    assert f"{model.floor_:.1f}: lower log-densities" in text
    assert f"{model.feature_map_.n_components_}: the density matrix" in text


def test_least_likely_come_first():
    logs = np.array([-1.0, -9.0, -3.0, -7.0, -2.0, -5.0])
    names = np.arange(6) * 11
    lines = demo.least_likely(logs, names, names // 11)
    assert lines[0].split() == ["image", "11", "33", "55", "22", "44"]
    assert lines[1].split() == ["digit", "1", "3", "5", "2", "4"]
    assert lines[2].split()[1:3] == ["-9.0", "-7.0"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(12.34, "12.3 s"), (0.1234, "123 ms"), (0.00123, "1.23 ms")],
)
def test_duration(seconds, words):
    assert demo.duration(seconds) == words


def test_colours_are_brightness_and_warmth():
    pixels = np.array([[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 0, 255]], np.uint8)
    expected = [[0, 0], [255, 0], [76.2, 255], [29.1, -255]]
    assert_allclose(demo.colours(pixels), expected, atol=0.1)
    assert demo.colours(pixels).dtype == np.float32


def test_density_surface_covers_the_rows():
    rows, _ = clusters(200, 2, random_state=0)
    model = DMKDE(random_state=0).fit(rows)
    x, y, surface = demo.density_surface(model, rows, steps=20)
    assert x[0] < rows[:, 0].min() < rows[:, 0].max() < x[-1]
    assert_allclose(surface[3, 7], model.score_samples([[x[7], y[3]]])[0])
