"""The experiments on densities: from the command to the figure, and their numbers."""

import functools
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.exact import exact_log_density
from benchmarks.real_data import missing
from experiments import __main__ as command
from experiments import reports
from experiments.densities import (
    AUTO,
    EXACT,
    LANDMARKS,
    PAPER,
    RFF,
    Setting,
    contestants,
    fitted,
    floored_logs,
    log_errors,
)
from experiments.density_text import cell, known, mean_and_half_band, pick, values
from experiments.registry import part
from experiments.runs import Notebook
from rhokit.datasets import bimodal, bimodal_pdf

NAMES = "density-1d", "density-accuracy", "spirals", "mnist-scatter", "density-time"
PICTURES = {
    "density-1d": ["density-1d-gamma-16", "density-1d-gamma-32"],
    "density-accuracy": ["density-accuracy-0", "density-accuracy-1"],
    "spirals": ["spirals-gamma-256", "spirals-gamma-512"],
    "mnist-scatter": ["mnist-scatter-gamma-1", "mnist-scatter-gamma-2"],
    "density-time": ["density-time"],
}


@pytest.fixture(scope="module")
def command_line(tmp_path_factory):
    """Run an experiment in its tiny form, in a folder of its own; the folder."""

    def run(name):
        if name == "mnist-scatter" and missing("mnist") is not None:
            pytest.skip(missing("mnist"))
        folder = folders.setdefault(name, tmp_path_factory.mktemp(name))
        places = "--results", str(folder), "--pages", str(folder / "pages")
        assert command.main([name, "--tiny", "--jobs", "0", *places]) == 0
        return folder

    folders: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        for module in (command, reports):  # the index need not know the others
            patch.setattr(module, "EXPERIMENTS", NAMES)
        yield run


@pytest.fixture(scope="module")
def done(command_line):
    """The folder of an experiment that has been run, once for all tests."""
    return functools.cache(command_line)


@pytest.fixture(scope="module")
def lines_of(done):
    """The lines of an experiment that has been run."""

    def lines_of(name):
        notebook = Notebook(done(name) / f"{name}.jsonl")
        return notebook.lines(part(name, "run").tasks("tiny"))

    return lines_of


@pytest.mark.parametrize("name", NAMES)
def test_from_the_command_to_the_figure(done, lines_of, name):
    pages = done(name) / "pages"
    page = (pages / f"{name}.md").read_text(encoding="utf-8")
    for picture in PICTURES[name]:
        assert f"(images/{picture}.png)" in page
        assert (pages / "images" / f"{picture}.png").stat().st_size > 5_000
    found = reports.measured(lines_of(name))
    assert found
    assert all(np.isfinite(line["value"]) for line in found)
    assert "nan" not in page
    assert f"[{name}]({name}.md)" in (pages / "README.md").read_text("utf-8")


def test_what_is_done_is_not_done_again(done, command_line, capsys):
    path = done("density-1d") / "density-1d.jsonl"
    before = path.read_bytes()
    command_line("density-1d")
    assert "2 tasks, 2 of them done" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", NAMES)
def test_a_report_copes_with_missing_lines(lines_of, name):
    lines = lines_of(name)
    rng = np.random.default_rng(0)
    some = [line for line in lines if rng.random() < 0.3]
    for fewer in ([], lines[:1], lines[:4], some):
        text = part(name, "report").report(fewer, _NoAlbum()).text
        assert text.strip()
        assert "nan" not in text
    nothing = part(name, "report").report([], _NoAlbum())
    assert all(verdict.met is None for verdict in nothing.verdicts)


def test_the_default_is_as_far_from_the_truth_as_exact_kde(lines_of):
    lines = lines_of("density-1d")
    report = part("density-1d", "report").report(lines, _NoAlbum())
    assert [verdict.met for verdict in report.verdicts] == [True, True]
    for gamma in (16.0, 32.0):
        own = pick(lines, gamma=gamma, metric="RMSE against the true density")
        exact, auto, paper = (values(own, case=n) for n in (EXACT, AUTO, PAPER))
        assert_allclose(auto, exact, rtol=1e-6)
        assert (paper > exact).all()


class _NoAlbum:
    """Figures are made, and not written."""

    def add(self, name, figure, words):
        return ""


# ---- numbers -------------------------------------------------------------------------


def test_errors_in_1d_equal_those_written_out(lines_of):
    lines = lines_of("density-1d")
    rows, at = bimodal(500, random_state=1)[:, 0], np.linspace(-5, 10, 100)
    truth = 0.3 * _normal(at, 0) + 0.7 * _normal(at, 5)
    assert_allclose(bimodal_pdf(at), truth)
    kernels = np.exp(-16 * (at[:, None] - rows) ** 2)  # (n, N)
    exact = kernels.mean(axis=1) / np.sqrt(np.pi / 16)
    wanted = np.sqrt(((exact - truth) ** 2).mean())
    own = pick(lines, gamma=16.0, seed=1, metric="RMSE against the true density")
    assert_allclose(values(own, case=EXACT), [wanted], rtol=1e-9)
    assert_allclose(values(own, case=AUTO), [wanted], rtol=1e-6)


def _normal(x, centre):
    return np.exp(-((x - centre) ** 2) / 2) / np.sqrt(2 * np.pi)


def test_the_paper_s_map_equals_its_equations():
    rows, at = bimodal(200, random_state=0), np.linspace(-2, 7, 20)[:, None]
    (paper,) = [each for each in contestants(1) if each.name == PAPER]
    model, details = fitted(paper, Setting(16.0, 32, 5, seed=0), rows)
    features = model.feature_map_
    assert features.frequencies_.shape == (1, 32)

    def states(x):
        z = np.cos(x @ features.frequencies_ + features.phases_)
        return z / np.linalg.norm(z, axis=1, keepdims=True)

    values, vectors = np.linalg.eigh(states(rows).T @ states(rows) / len(rows))
    kept = states(at) @ vectors[:, -5:] * np.sqrt(values[-5:])  # (n, r)
    wanted = (kept**2).sum(axis=1) / np.sqrt(np.pi / 16)
    assert_allclose(model.density(at), wanted, rtol=1e-6)
    assert details["gamma"] == 16.0
    assert details["columns"] == 32


def test_errors_of_logarithms_by_hand():
    error, correlation = log_errors(
        np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 1.0])
    )
    assert_allclose(error, np.sqrt(4 / 3))
    assert_allclose(correlation, np.corrcoef([0, 1, 3], [0, 1, 1])[0, 1])


def test_only_rff_kde_has_a_floor():
    rows, far = bimodal(200, random_state=0), np.array([[40.0], [50.0], [60.0], [70.0]])
    for contestant in contestants(1):
        if contestant.name in (RFF, PAPER, LANDMARKS):
            model, _ = fitted(contestant, Setting(16.0, 16, 4, seed=0), rows)
            logs, at_floor = floored_logs(model, far)
            floor = -np.log(16) - 0.5 * np.log(np.pi / 16)
            if contestant.name == RFF:
                assert at_floor.any()
                assert_array_equal(logs[at_floor], floor)
                assert (logs[~at_floor] >= floor).all()
            else:
                assert not at_floor.any()
                assert_array_equal(logs, model.score_samples(far))


def test_numpy_s_density_is_the_exact_one():
    timed = part("density-time", "run")
    rng = np.random.default_rng(0)
    rows, at = rng.random((300, 3)), rng.random((20, 3))
    found = timed.numpy_log_density(rows, at, 4.0)
    assert_allclose(found, exact_log_density(rows, at, 4.0), rtol=1e-10)


def test_all_timed_models_give_the_same_density():
    timed = part("density-time", "run")
    rows, at = timed.draw("1-D", 2_000, 100)
    assert rows.dtype == at.dtype == np.float32
    jobs = timed.exact_jobs(rows, at, 16.0, 10_000)
    jobs |= timed.our_jobs(rows, at, 16.0, 256, 64)
    exact = np.exp(exact_log_density(rows, at, 16.0))
    rough = "paper's map", "landmarks"
    for name, job in jobs.items():
        tolerance = 0.05 if any(word in name for word in rough) else 1e-3
        assert_allclose(np.exp(job()), exact, atol=tolerance, err_msg=name)


@pytest.mark.skipif(missing("mnist") is not None, reason=str(missing("mnist")))
def test_mnist_rows_are_scaled_by_training_rows_alone():
    from experiments.mnist_pca import mnist_rows

    rows, queries = mnist_rows(500, 60, seed=3)
    assert rows.shape == (500, 40)
    assert queries.shape == (60, 40)
    assert_allclose([rows.min(axis=0), rows.max(axis=0)], np.repeat([[0], [1]], 40, 1))
    again, other = mnist_rows(500, 80, seed=3)
    assert_array_equal(again, rows)
    assert len(other) == 80


def test_spirals_image_holds_the_unit_square():
    spirals = part("spirals", "run")
    square = spirals.unit_square(4)
    assert_array_equal(square[1], [0.375, 0.125])  # along the first column first
    line = spirals.image(EXACT, square[:, 0], 256.0)
    assert_allclose(line.value, 0.5)
    assert len(line.details["pixels"]) == 16


def test_bands_and_cells():
    middle, half = mean_and_half_band(np.array([1.0, 3.0]))
    assert_allclose([middle, half], [2.0, 1.96 * np.sqrt(2) / np.sqrt(2)])
    assert cell(np.array([])) == "–"
    assert cell(np.array([0.00391])) == "0.00391"
    assert cell(np.array([1.0, 3.0])) == "2 ± 1.4"
    lines = [{"value": None, "case": "a", "details": {"D": 4}}]
    assert not len(values(lines, D=4))
    assert known(lines, "D") == [4]


# ---- fast approximations -------------------------------------------------------------


def _contest_line(name, seconds, error, *, ours=False, reason=None):
    details = {"contestant": name, "ours": ours, "reason": reason, "data": "clusters"}
    details |= {"d": 10, "n": 100_000, "bandwidth": "Scott"}
    details |= {"total_seconds": {"100000": seconds} if seconds else {}}
    return {
        "case": name,
        "task": "the only one",
        "metric": "relative RMSE",
        "value": error,
        "details": details,
    }


def test_approximations_lists_those_that_nobody_beats(tmp_path):
    from experiments.density_time.approximations import approximations

    lines = [
        _contest_line("rhokit auto", 1.0, 0.1, ours=True),
        _contest_line("rhokit fourier", 2.0, 0.5, ours=True),
        _contest_line("fused exact", 4.0, 1e-7),
        _contest_line("slow but exact", 900.0, 1e-13),
        _contest_line("beaten", 3.0, 0.2),
        _contest_line("not there", None, None, reason="no"),
    ]
    path = tmp_path / "density.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    text = approximations(path)
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| 10")]
    assert [(row[3], row[6].strip(" |")) for row in rows] == [
        ("**rhokit auto**", "yes"),
        ("fused exact", "yes"),
        ("**rhokit fourier**", "no"),
    ]
    assert "beaten in time and error at once in 1 of 1" in text
    assert "half right" not in text
    assert "have not been run" in approximations(tmp_path / "nothing.jsonl")
