"""From measured numbers to log-densities."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from rhokit.core import (
    DensityMatrix,
    gaussian_columns,
    gaussian_log_norm,
    leave_one_out,
    log_measured,
)
from tests.support import assert_close, random_array, to_numpy


class TestGaussianLogNorm:
    @pytest.mark.parametrize("gamma", [0.1, 1.0, 30.0])
    @pytest.mark.parametrize("n_features", [1, 3])
    def test_is_the_integral(self, gamma, n_features):
        integral, _ = quad(lambda x: math.exp(-gamma * x * x), -np.inf, np.inf)
        expected = n_features * math.log(integral)
        assert_close(gaussian_log_norm(gamma, n_features), expected, "solve")

    def test_stays_finite_in_many_dimensions(self):
        assert math.isfinite(gaussian_log_norm(1e6, 100_000))


class TestLogMeasured:
    def test_logarithm(self, xp):
        measured = np.array([[0.5, 2.0], [1.0, 1e-300]])
        assert_close(log_measured(xp.asarray(measured)), np.log(measured))

    # Warnings are errors here, so that these also say: nothing warns.
    @pytest.mark.parametrize("value", [0.0, -1e-20])
    def test_nothing_measured_is_minus_infinity(self, xp, value):
        logs = log_measured(xp.asarray(np.array([[value, 1.0]])))
        assert_close(logs, np.array([[-np.inf, 0.0]]))

    @pytest.mark.parametrize("power", [1, 2])
    def test_scale_of_the_states_is_put_back(self, xp, power):
        measured, scale = np.array([[0.5, 2.0], [0.0, 1.0]]), np.array([-3.0, -1e6])
        logs = log_measured(xp.asarray(measured), xp.asarray(scale), power)
        expected = [[math.log(0.5) - 3 * power, math.log(2) - 3 * power]]
        expected.append([-np.inf, -1e6 * power])
        assert_close(logs, np.array(expected))

    def test_the_born_rule_is_quadratic_by_default(self, xp):
        rng = np.random.default_rng(4)
        columns, scale = xp.asarray(random_array(rng, (6, 3))), rng.normal(size=6)
        state = DensityMatrix.from_states(columns)
        scaled = columns * xp.asarray(np.exp(scale))[:, None]
        direct = np.log(to_numpy(state.born(scaled)))
        logs = log_measured(state.born(columns), xp.asarray(scale))
        assert_close(logs, direct)

    def test_far_rows_keep_their_rank(self, xp):
        landmarks = xp.asarray(np.array([[0.0], [1.0]]))
        state = DensityMatrix.from_states(
            gaussian_columns(landmarks, landmarks, 1.0)[0]
        )
        rows = xp.asarray(np.array([[10.0], [1e3], [1e6]]))
        columns, scale = gaussian_columns(rows, landmarks, 1.0, relative=True)
        logs = to_numpy(log_measured(state.born(columns), scale))[:, 0]
        assert np.isfinite(logs).all()
        assert (np.diff(logs) < 0).all()

    def test_gradient_at_zero_is_finite(self):
        measured = torch.zeros((1, 1), dtype=torch.float64, requires_grad=True)
        log_measured(measured).sum().backward()
        assert torch.isfinite(measured.grad).all()


class TestLeaveOneOut:
    """The law that it equals rebuilding is among the laws of states."""

    def test_a_row_alone_leaves_nothing(self, xp):
        one = xp.asarray(np.array([1.0]))
        assert_close(leave_one_out(one, one, one, 1.0), np.zeros(1))

    def test_rounding_below_zero_is_cut(self, xp):
        measured, own = xp.asarray(np.array([0.5 - 1e-16])), xp.asarray(np.ones(1))
        left = leave_one_out(measured, own, xp.asarray(np.ones(1)), 2.0)
        assert to_numpy(left)[0] == 0

    def test_known_value(self, xp):
        measured, own = xp.asarray(np.array([0.6, 0.5])), xp.asarray(np.ones(2))
        left = leave_one_out(measured, own, xp.asarray(np.array([1.0, 2.0])), 5.0)
        assert_close(left, np.array([2 / 4, 0.5 / 3]))
