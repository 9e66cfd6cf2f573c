"""Losses as modules: the core's formulas, summed over models."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from rhokit.core import (
    cross_entropy,
    negative_log_likelihood,
    squared_error_and_variance,
)
from rhokit.nn import (
    ClassifierHead,
    CrossEntropy,
    DensityHead,
    NegativeLogLikelihood,
    RegressorHead,
    SquaredErrorAndVariance,
)
from tests.nn import layer, normal, rows_of

MODELS = [(), (3,), (2, 3)]
every_models = pytest.mark.parametrize("models", MODELS, ids=str)
CODES = torch.tensor([0, 2, 1, 1])


def log_probabilities(*models):
    return normal(*models, 4, 3).log_softmax(dim=-1)


@every_models
def test_likelihood(models):
    logs = normal(*models, 4)
    found = NegativeLogLikelihood()(logs)
    assert_allclose(found, negative_log_likelihood(logs.numpy()).sum(), rtol=1e-12)
    assert_allclose(NegativeLogLikelihood()(logs, CODES), found, rtol=0)


@every_models
def test_cross_entropy(models):
    logs = log_probabilities(*models)
    expected = cross_entropy(logs.numpy(), CODES.numpy()).sum()
    assert_allclose(CrossEntropy()(logs, CODES), expected, rtol=1e-12)
    own = CODES.expand(*models, 4)
    assert_allclose(CrossEntropy()(logs, own), expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 2.0])
@every_models
def test_squares(models, alpha):
    mean, target = normal(*models, 4), normal(4, seed=1)
    variance = normal(*models, 4, seed=2).abs()
    arrays = [each.numpy() for each in (mean, variance, target)]
    expected = squared_error_and_variance(*arrays, alpha).sum()
    found = SquaredErrorAndVariance(alpha)((mean, variance), target)
    assert_allclose(found, expected, rtol=1e-12)


def test_torch_s_own_losses():
    logs = log_probabilities()
    expected = torch.nn.functional.nll_loss(logs, CODES)
    assert_allclose(CrossEntropy()(logs, CODES), expected, rtol=1e-12)
    mean, target = normal(4), normal(4, seed=1)
    expected = torch.nn.functional.mse_loss(mean, target)
    found = SquaredErrorAndVariance()((mean, torch.zeros(4)), target)
    assert_allclose(found, expected, rtol=1e-12)


def test_variance_counts_a_tenth_by_default():
    zero, one = torch.zeros(4), torch.ones(4)
    assert_allclose(SquaredErrorAndVariance()((zero, one), zero), 0.1, rtol=1e-6)


class TestGradients:
    @every_models
    def test_likelihood(self, models):
        logs = normal(*models, 4).requires_grad_()
        assert torch.autograd.gradcheck(NegativeLogLikelihood(), (logs,))

    @every_models
    def test_cross_entropy(self, models):
        logs = log_probabilities(*models).requires_grad_()
        loss = CrossEntropy()
        assert torch.autograd.gradcheck(lambda logs: loss(logs, CODES), (logs,))

    @every_models
    def test_squares(self, models):
        tensors = [normal(*models, 4, seed=seed).requires_grad_() for seed in range(3)]
        loss = SquaredErrorAndVariance(0.3)
        assert torch.autograd.gradcheck(
            lambda mean, variance, target: loss((mean, variance), target), tensors
        )

    def test_models_do_not_touch_each_other(self):
        """The gradient of a sum over models is that of each by itself."""
        logs = log_probabilities(3).requires_grad_()
        CrossEntropy()(logs, CODES).backward()
        for i in range(3):
            alone = logs.detach()[i].requires_grad_()
            CrossEntropy()(alone, CODES).backward()
            assert_allclose(logs.grad[i], alone.grad, rtol=1e-12)


class TestTraining:
    """A few steps with each loss on the head that it belongs to."""

    CASES = (
        (DensityHead, (2,), NegativeLogLikelihood(), None),
        (ClassifierHead, (3, 2), CrossEntropy(), CODES),
        (
            RegressorHead,
            (4, 2),
            SquaredErrorAndVariance(),
            torch.tensor([0, 1, 0.5, 1]),
        ),
    )

    @pytest.mark.parametrize(("head", "sizes", "loss", "target"), CASES)
    @pytest.mark.parametrize("models", [(), (2,)], ids=str)
    def test_the_loss_falls(self, head, sizes, loss, target, models):
        features = layer("landmarks")
        network = head(
            features, *sizes, models=models, random_state=0, dtype=torch.float64
        )
        rows, losses = rows_of(features), []
        optimizer = torch.optim.SGD(network.parameters(), 0.05)
        for _ in range(5):
            optimizer.zero_grad()
            losses.append(loss(network(rows), target))
            losses[-1].backward()
            optimizer.step()
        assert (np.diff([each.item() for each in losses]) < 0).all()
