"""What training minimises, against loops over rows."""

import math

import numpy as np
import pytest
import torch

from rhokit.core import (
    cross_entropy,
    negative_log_likelihood,
    share_cross_entropy,
    squared_error_and_variance,
)
from rhokit.core.losses import mean_over_rows
from tests.support import assert_close, to_numpy

N, K = 7, 3


@pytest.fixture
def rng():
    return np.random.default_rng(12)


def likelihood(logs, weight=None):
    weight = np.ones(len(logs)) if weight is None else weight
    return -sum(w * log for w, log in zip(weight, logs, strict=True)) / len(logs)


def entropy(logs, codes, weight=None, smoothing=0.0):
    total = 0.0
    for i, code in enumerate(codes):
        label = [smoothing / len(logs[i])] * len(logs[i])
        label[code] += 1 - smoothing
        loss = -sum(share * log for share, log in zip(label, logs[i], strict=True))
        total += loss * (1 if weight is None else weight[i])
    return total / len(codes)


def squares(mean, variance, target, alpha, weight=None):
    total = 0.0
    for i in range(len(mean)):
        loss = (target[i] - mean[i]) ** 2 + alpha * variance[i]
        total += loss * (1 if weight is None else weight[i])
    return total / len(mean)


def log_probabilities(rng, *shape):
    return np.log(rng.dirichlet(np.ones(K), shape))


def weights(rng, *shape):
    drawn = rng.uniform(size=shape)
    return drawn / drawn.mean(axis=-1, keepdims=True)


class TestLoops:
    """One number, equal to a sum over rows."""

    @pytest.mark.parametrize("weighted", [False, True])
    def test_likelihood(self, xp, rng, weighted):
        logs = rng.normal(size=N)
        weight = weights(rng, N) if weighted else None
        given = None if weight is None else xp.asarray(weight)
        found = negative_log_likelihood(xp.asarray(logs), given)
        assert_close(found, np.array(likelihood(logs, weight)))

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("smoothing", [0.0, 0.3])
    def test_cross_entropy(self, xp, rng, weighted, smoothing):
        logs, codes = log_probabilities(rng, N), rng.integers(0, K, N)
        weight = weights(rng, N) if weighted else None
        given = None if weight is None else xp.asarray(weight)
        found = cross_entropy(
            xp.asarray(logs), xp.asarray(codes), given, smoothing=smoothing
        )
        assert_close(found, np.array(entropy(logs, codes, weight, smoothing)))

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("alpha", [0.0, 0.4])
    def test_squares(self, xp, rng, weighted, alpha):
        mean, target = rng.normal(size=(2, N))
        variance = rng.uniform(size=N)
        weight = weights(rng, N) if weighted else None
        given = None if weight is None else xp.asarray(weight)
        found = squared_error_and_variance(
            *map(xp.asarray, (mean, variance, target)), alpha, given
        )
        assert_close(found, np.array(squares(mean, variance, target, alpha, weight)))


class TestValues:
    def test_signs(self):
        """Better answers lose less."""
        assert negative_log_likelihood(np.array([-1.0])) == 1
        sure = np.log([[0.9, 0.1]])
        right, wrong = (cross_entropy(sure, np.array([k])) for k in (0, 1))
        assert_close(right, np.array(-math.log(0.9)))
        assert_close(wrong, np.array(-math.log(0.1)))

    def test_smoothing_is_a_label_at_random(self, rng):
        """The mean over labels drawn anew with the chance that it says."""
        logs, codes = log_probabilities(rng, N), rng.integers(0, K, N)
        every = [cross_entropy(logs, np.full(N, k)) for k in range(K)]
        expected = 0.8 * cross_entropy(logs, codes) + 0.2 * np.mean(every)
        assert_close(cross_entropy(logs, codes, smoothing=0.2), expected)


class TestWeights:
    def test_a_weight_is_so_many_copies(self, xp, rng):
        counts = np.array([0, 2, 1, 4, 0, 1, 3])
        logs = rng.normal(size=N)
        copies = np.repeat(logs, counts)
        weight = counts / counts.mean()
        found = mean_over_rows(xp.asarray(logs), xp.asarray(weight))
        assert_close(found, mean_over_rows(xp.asarray(copies)))

    def test_batches_of_different_weight_sum_up(self, xp, rng):
        values, weight = rng.normal(size=N), weights(rng, N)
        parts = [
            len(values[part])
            * to_numpy(
                mean_over_rows(xp.asarray(values[part]), xp.asarray(weight[part]))
            )
            for part in (slice(3), slice(3, None))
        ]
        whole = to_numpy(mean_over_rows(xp.asarray(values), xp.asarray(weight)))
        assert_close(np.array(sum(parts)) / N, whole)

    @pytest.mark.parametrize("bad", [-np.inf, np.nan])
    def test_a_row_of_weight_zero_may_hold_anything(self, xp, bad):
        logs = xp.asarray(np.array([-1.0, bad, -3.0]))
        weight = xp.asarray(np.array([1.5, 0.0, 1.5]))
        assert_close(negative_log_likelihood(logs, weight), np.array(2.0))

    def test_and_has_no_gradient(self):
        logs = torch.tensor([-1.0, -torch.inf, -3.0], requires_grad=True)
        negative_log_likelihood(logs, torch.tensor([1.5, 0.0, 1.5])).backward()
        assert_close(logs.grad, torch.tensor([-0.5, 0.0, -0.5]))


class TestManyModels:
    """A number per model: each by itself in a loop."""

    @pytest.mark.parametrize("own_weight", [False, True])
    def test_likelihood(self, xp, rng, own_weight):
        logs = rng.normal(size=(2, 4, N))
        weight = weights(rng, 2, 4, N) if own_weight else weights(rng, N)
        each = np.broadcast_to(weight, logs.shape)
        found = to_numpy(negative_log_likelihood(xp.asarray(logs), xp.asarray(weight)))
        assert found.shape == (2, 4)
        for i, j in np.ndindex(2, 4):
            assert_close(found[i, j], np.array(likelihood(logs[i, j], each[i, j])))

    @pytest.mark.parametrize("own_codes", [False, True])
    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    def test_cross_entropy(self, xp, rng, own_codes, smoothing):
        logs = log_probabilities(rng, 2, 4, N)
        codes = rng.integers(0, K, (2, 4, N) if own_codes else N)
        each = np.broadcast_to(codes, (2, 4, N))
        weight = weights(rng, N)
        found = to_numpy(
            cross_entropy(*map(xp.asarray, (logs, codes, weight)), smoothing=smoothing)
        )
        assert found.shape == (2, 4)
        for i, j in np.ndindex(2, 4):
            expected = entropy(logs[i, j], each[i, j], weight, smoothing)
            assert_close(found[i, j], np.array(expected))

    def test_squares(self, xp, rng):
        mean, variance = rng.normal(size=(2, 4, N)), rng.uniform(size=(2, 4, N))
        target = rng.normal(size=N)
        found = to_numpy(
            squared_error_and_variance(*map(xp.asarray, (mean, variance, target)), 0.3)
        )
        assert found.shape == (2, 4)
        for i, j in np.ndindex(2, 4):
            expected = squares(mean[i, j], variance[i, j], target, 0.3)
            assert_close(found[i, j], np.array(expected))


def test_shares_of_bags(xp):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=(2, 5, 4))  # models, bags, rows
    shares = rng.dirichlet(np.ones(3), size=5)
    shares[0] = [0, 0.5, 0.5]
    p[:, 0] = [0, 0.25, 0.75]
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    found = share_cross_entropy(xp.asarray(logs), xp.asarray(shares))
    means = p.mean(axis=2)
    terms = [
        -sum(s * np.log(m) for s, m in zip(shares[b], means[k, b], strict=True) if s)
        for k in range(2)
        for b in range(5)
    ]
    assert_close(found, np.reshape(terms, (2, 5)).mean(axis=1))
