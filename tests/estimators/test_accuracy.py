"""Errors against exact kernel densities, with slack; memory of a long stream.

``make goals`` measures the same at full size and without slack.
"""

import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from benchmarks.goals import memory
from rhokit import DMKDE, MeanEmbeddingKDE
from rhokit.datasets import bimodal, clusters, spirals

# How far these small runs may miss the goals of the full ones.
SLACK = 2.5


def exact_logs(rows, queries, gamma):
    """The definition: log of the mean of normalised kernels."""
    logs = logsumexp(-gamma * cdist(queries, rows, "sqeuclidean"), axis=1)
    return logs - np.log(len(rows)) - 0.5 * rows.shape[1] * np.log(np.pi / gamma)


def rms(values):
    """Root mean square."""
    return np.sqrt(np.mean(values**2))


def relative_rmse(logs, exact):
    """``rms(f - f_exact) / rms(f_exact)`` of densities given as logarithms."""
    density, truth = np.exp(logs - exact.max()), np.exp(exact - exact.max())
    return rms(density - truth) / rms(truth)


# ---- one and two dimensions: nearly exact ----------------------------------------


@pytest.fixture(scope="module")
def line():
    """Rows of the bimodal mixture, points of a line, exact density there."""
    rows, points = bimodal(10_000, random_state=0), np.linspace(-5, 10, 1000)[:, None]
    return rows, points, np.exp(exact_logs(rows, points, gamma=16.0))


def test_one_dimension_is_exact_to_seven_digits(line):
    rows, points, exact = line
    model = DMKDE(gamma=16.0, scale=None, random_state=0).fit(rows)
    assert rms(model.density(points) - exact) < SLACK * 1e-7


def test_linear_variant_is_close_in_one_dimension(line):
    rows, points, exact = line
    model = MeanEmbeddingKDE(
        gamma=16.0, scale=None, n_components=256, random_state=0
    ).fit(rows)
    assert rms(model.density(points) - exact) < SLACK * 1e-7


def test_spirals_are_exact_to_three_digits():
    rows, _ = spirals(7_000, random_state=0)
    rows, queries = rows[:6_000], rows[6_000:]
    model = DMKDE(gamma=256.0, scale=None, random_state=0).fit(rows)
    exact = exact_logs(rows, queries, gamma=256.0)
    assert relative_rmse(model.score_samples(queries), exact) < SLACK * 5e-4


# ---- many dimensions: where the data is, and where it is not ---------------------

PLACES = {10: 20.0, 40: 4.0}  # columns, γ


@pytest.fixture(
    scope="module",
    params=[10, pytest.param(40, marks=pytest.mark.slow)],
    ids=lambda d: f"{d}-D",
)
def mixture(request):
    """Rows of eight clusters, γ, and queries with exact log-densities."""
    d = request.param
    gamma = PLACES[d]
    rows, _ = clusters(7_000, d, random_state=0)
    rows, near = rows[:6_000], rows[6_000:]
    far = np.random.default_rng(1).random((1_000, d))
    exact = {"near": exact_logs(rows, near, gamma), "far": exact_logs(rows, far, gamma)}
    return rows, gamma, {"near": near, "far": far}, exact


@pytest.fixture(scope="module")
def landmark_logs(mixture):
    """Log-densities by 1,024 landmarks, near the data and in the box.

    As the map makes them, before they are divided by their integral.
    """
    rows, gamma, queries, _ = mixture
    model = DMKDE(gamma=gamma, scale=None, feature_map="landmarks", random_state=0).fit(
        rows
    )
    return {
        place: model.score_samples(where) + np.log(model.mass_)
        for place, where in queries.items()
    }


@pytest.fixture(scope="module")
def fourier_logs(mixture):
    """The same by the paper's map of the same size."""
    rows, gamma, queries, _ = mixture
    model = DMKDE(gamma=gamma, scale=None, feature_map="fourier", random_state=0).fit(
        rows
    )
    return {place: model.score_samples(where) for place, where in queries.items()}


def test_landmarks_are_right_where_the_data_is(mixture, landmark_logs):
    exact = mixture[-1]
    assert relative_rmse(landmark_logs["near"], exact["near"]) < SLACK * 2e-2


def test_landmarks_are_right_in_the_empty_box(mixture, landmark_logs):
    exact = mixture[-1]
    assert np.median(np.abs(landmark_logs["far"] - exact["far"])) < SLACK


def test_paper_map_is_fair_where_the_data_is(mixture, fourier_logs):
    exact = mixture[-1]
    assert relative_rmse(fourier_logs["near"], exact["near"]) < 0.25


def test_paper_map_levels_off_in_the_empty_box(mixture, fourier_logs):
    exact = mixture[-1]
    assert np.median(fourier_logs["far"] - exact["far"]) > 5


def test_linear_variant_is_right_where_the_data_is(mixture):
    rows, gamma, queries, exact = mixture
    model = MeanEmbeddingKDE(
        gamma=gamma, scale=None, feature_map="landmarks", random_state=0
    )
    logs = model.fit(rows).score_samples(queries["near"]) + np.log(model.mass_)
    assert relative_rmse(logs, exact["near"]) < SLACK * 2e-2


# ---- the paper's figure ----------------------------------------------------------


def test_error_and_spread_of_the_paper_map_fall_with_its_size(line):
    rows, points, _ = line
    rows = rows[:2_000]
    exact = np.exp(exact_logs(rows, points, gamma=16.0))

    def error(dim, seed):
        model = DMKDE(
            gamma=16.0,
            scale=None,
            n_components=dim,
            feature_map="fourier",
            random_state=seed,
        )
        return rms(model.fit(rows).density(points) - exact)

    dims = [2**4, 2**5, 2**7, 2**9]
    errors = np.array([[error(dim, seed) for seed in range(6)] for dim in dims])
    assert (np.diff(errors.mean(axis=1)) < 0).all()
    assert (np.diff(errors.std(axis=1)) < 0).all()
    assert errors[-1].mean() < errors[0].mean() / 10


# ---- memory ----------------------------------------------------------------------

linux_only = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc/self/status"
)


@linux_only
def test_memory_of_a_stream_is_bounded_and_flat():
    trace = memory.fit_stream(150_000, 20, 128)
    assert memory.peak(trace) < 400
    assert memory.late_growth(trace) < 10


@linux_only
@pytest.mark.slow
def test_memory_of_five_million_rows_is_bounded_and_flat():
    trace = memory.fit_stream(5_000_000, 20, 512)
    assert trace[-1]["rows"] == 5_000_000
    assert memory.peak(trace) < 400
    assert memory.late_growth(trace) < 10
