"""Feature maps as functions, against loops."""

import array_api_strict
import numpy as np
import pytest

from rhokit.core import (
    cosine_states,
    gaussian_columns,
    normalize_states,
    onehot_states,
    softmax_states,
)
from tests.reference import core_oracles as oracle
from tests.support import assert_close, random_array, random_states, to_numpy, unit


@pytest.fixture
def rng():
    return np.random.default_rng(6)


def lengths(states):
    return np.linalg.norm(to_numpy(states), axis=-1)


class TestNormalizeStates:
    def test_length_one_in_the_same_direction(self, xp, dtype, rng):
        states = random_array(rng, (7, 3), dtype)
        normalized = normalize_states(xp.asarray(states))
        assert_close(normalized, unit(states))
        assert_close(normalize_states(normalized), normalized)

    def test_rows_of_zeros_stay(self, xp, dtype):
        states = np.array([[0, 0], [3, 4]], dtype)
        normalized = normalize_states(xp.asarray(states))
        assert_close(normalized, np.array([[0, 0], [0.6, 0.8]], dtype))

    @pytest.mark.parametrize("single", ["float32", "complex64"])
    def test_precision_stays(self, xp, single, rng):
        states = random_array(rng, (7, 3), single)
        normalized = normalize_states(xp.asarray(states))
        assert to_numpy(normalized).dtype == single
        assert_close(normalized, unit(states), precision="single")


class TestCosineStates:
    """Phases (the paper's), pairs (cos, sin) and complex, in one function."""

    def draw(self, rng, form):
        rows, frequencies = rng.normal(size=(6, 3)), rng.normal(size=(3, 5))
        if form == "phase":
            return rows, frequencies, rng.uniform(0, 6, 5), rng.uniform(size=5)
        if form == "pair":
            quarter = np.repeat([0, -np.pi / 2], 5)
            return rows, frequencies, quarter, np.tile(rng.uniform(size=5), 2)
        return rows, frequencies, None, rng.uniform(size=5)

    def compute(self, xp, drawn, normalize):
        arrays = [None if part is None else xp.asarray(part) for part in drawn]
        return cosine_states(*arrays, normalize=normalize)

    @pytest.mark.parametrize("form", ["phase", "pair", "complex"])
    def test_loops(self, xp, rng, form):
        drawn = self.draw(rng, form)
        expected = oracle.cosine_states(*drawn)
        assert_close(self.compute(xp, drawn, normalize=False), expected)
        assert_close(self.compute(xp, drawn, normalize=True), unit(expected))

    @pytest.mark.parametrize("form", ["phase", "pair", "complex"])
    def test_leading_axes(self, xp, rng, form):
        rows, *rest = self.draw(rng, form)
        stacked = self.compute(xp, (rows.reshape(2, 3, 3), *rest), normalize=True)
        flat = to_numpy(self.compute(xp, (rows, *rest), normalize=True))
        assert_close(stacked, flat.reshape(2, 3, -1))

    @pytest.mark.parametrize("form", ["pair", "complex"])
    def test_pairs_and_complex_have_one_length_by_themselves(self, xp, rng, form):
        drawn = self.draw(rng, form)
        states = self.compute(xp, drawn, normalize=False)
        amplitudes = drawn[3][:5]
        assert_close(lengths(states), np.full(6, np.linalg.norm(amplitudes)))

    def test_pairs_and_complex_overlap_alike(self, xp, rng):
        rows, frequencies, phases, amplitudes = self.draw(rng, "pair")
        pair = (rows, frequencies, phases, amplitudes)
        complex_ = (rows, frequencies, None, amplitudes[:5])
        real, full = (
            to_numpy(self.compute(xp, drawn, normalize=False))
            for drawn in (pair, complex_)
        )
        assert_close(real @ real.T, (full @ full.conj().T).real)


class TestGaussianColumns:
    def draw(self, rng):
        return rng.normal(size=(6, 3)), rng.normal(size=(4, 3))

    def test_loops(self, xp, rng):
        rows, landmarks = self.draw(rng)
        columns, scale = gaussian_columns(xp.asarray(rows), xp.asarray(landmarks), 0.7)
        assert scale is None
        assert_close(columns, oracle.gaussian_columns(rows, landmarks, 0.7))

    def test_relative_is_the_same_times_its_scale(self, xp, rng):
        rows, landmarks = map(xp.asarray, self.draw(rng))
        plain, _ = gaussian_columns(rows, landmarks, 0.7)
        relative, scale = gaussian_columns(rows, landmarks, 0.7, relative=True)
        assert_close(relative * xp.exp(scale)[:, None], plain)
        assert_close(to_numpy(relative).max(axis=1), np.ones(6))

    @pytest.mark.parametrize(
        ("name", "far"), [("float64", 1e140), ("float32", 1e16)], ids=str
    )
    def test_relative_is_finite_as_far_as_squares_are(self, xp, rng, name, far):
        _, landmarks = self.draw(rng)
        rows = far * np.array([[1, 0, 0], [1e-6, 1e-6, 0], [0, 0, 1e-12]])
        columns, scale = gaussian_columns(
            xp.asarray(rows.astype(name)),
            xp.asarray(landmarks.astype(name)),
            5.0,
            relative=True,
        )
        assert np.isfinite(to_numpy(columns)).all()
        assert np.isfinite(to_numpy(scale)).all()
        assert (to_numpy(columns).max(axis=1) == 1).all()

    @pytest.mark.parametrize("relative", [False, True])
    def test_leading_axes(self, xp, rng, relative):
        rows, landmarks = self.draw(rng)
        flat, flat_scale = gaussian_columns(
            xp.asarray(rows), xp.asarray(landmarks), 1.0, relative=relative
        )
        stacked, scale = gaussian_columns(
            xp.asarray(rows.reshape(2, 3, 3)),
            xp.asarray(landmarks),
            1.0,
            relative=relative,
        )
        assert_close(stacked, to_numpy(flat).reshape(2, 3, 4))
        if relative:
            assert_close(scale, to_numpy(flat_scale).reshape(2, 3))


class TestOnehotStates:
    def test_unit_vectors(self, xp):
        states = onehot_states(xp.asarray(np.array([2, 0, 2])), 4)
        assert_close(states, np.eye(4)[[2, 0, 2]])

    def test_stay_on_the_device_of_the_codes(self):
        device = array_api_strict.Device("device1")
        codes = array_api_strict.asarray([1, 0], device=device)
        assert onehot_states(codes, 2).device == device


class TestSoftmaxStates:
    @pytest.mark.parametrize("beta", [0.5, 20.0, 400.0])
    @pytest.mark.parametrize("n_landmarks", [2, 5])
    def test_loops(self, xp, rng, n_landmarks, beta):
        values = np.concatenate([[0.0, 1.0, 0.5], rng.uniform(size=4)])
        states = softmax_states(xp.asarray(values), n_landmarks, beta)
        assert_close(states, oracle.softmax_states(values, n_landmarks, beta))

    @pytest.mark.parametrize("beta", [0.0, 1.0, 1e8])
    @pytest.mark.parametrize("n_landmarks", [1, 2, 9])
    def test_length_one(self, xp, rng, n_landmarks, beta):
        states = softmax_states(xp.asarray(rng.uniform(size=8)), n_landmarks, beta)
        assert tuple(states.shape) == (8, n_landmarks)
        assert_close(lengths(states), np.ones(8))

    def test_sharp_states_pick_the_nearest_landmark(self, xp):
        states = softmax_states(xp.asarray(np.array([0.1, 0.45, 0.9])), 3, 1e8)
        assert_close(states, np.eye(3))

    def test_precision_stays(self, xp, rng):
        values = rng.uniform(size=4).astype("float32")
        states = softmax_states(xp.asarray(values), 5, 3.0)
        assert to_numpy(states).dtype == np.float32
        expected = oracle.softmax_states(values.astype(float), 5, 3.0)
        assert_close(states, expected, precision="single")


def test_random_states_have_length_one(dtype, rng):
    """The other files rely on it."""
    assert_close(lengths(random_states(rng, 5, 3, dtype)), np.ones(5))
