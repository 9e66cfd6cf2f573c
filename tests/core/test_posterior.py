"""From what was measured to the probabilities of outcomes."""

import numpy as np
import pytest
import torch

from rhokit.core import log_posterior
from tests.support import assert_close, to_numpy


def posterior(xp, logs, log_priors):
    return log_posterior(xp.asarray(logs), xp.asarray(log_priors))


def test_bayes_rule(xp):
    rng = np.random.default_rng(0)
    measured, priors = rng.uniform(size=(8, 3)), rng.dirichlet(np.ones(3))
    expected = measured * priors / (measured @ priors)[:, None]
    assert_close(
        np.exp(to_numpy(posterior(xp, np.log(measured), np.log(priors)))), expected
    )


def test_a_scale_of_rows_or_priors_does_not_matter(xp):
    rng = np.random.default_rng(1)
    logs, priors = rng.normal(size=(5, 4)), rng.normal(size=4)
    plain = posterior(xp, logs, priors)
    moved = posterior(xp, logs + rng.normal(size=(5, 1)), priors + 7)
    assert_close(moved, plain)


def test_far_below_the_smallest_number(xp):
    """exp(-5000) is zero; its ratio to exp(-5001) is not."""
    found = posterior(xp, np.array([[-5000.0, -5001.0]]), np.zeros(2))
    odds = 1 / (1 + np.exp(-1))
    assert_close(np.exp(to_numpy(found)), np.array([[odds, 1 - odds]]))


# Warnings are errors here, so that these also say: nothing warns.
def test_an_outcome_that_measures_nothing_has_no_chance(xp):
    found = posterior(xp, np.array([[-np.inf, 0.0, 0.0]]), np.log([0.8, 0.1, 0.1]))
    assert_close(np.exp(to_numpy(found)), np.array([[0, 0.5, 0.5]]))


def test_an_outcome_that_was_never_seen_has_no_chance(xp):
    found = posterior(xp, np.zeros((1, 2)), np.array([-np.inf, np.log(0.3)]))
    assert_close(np.exp(to_numpy(found)), np.array([[0, 1]]))


def test_the_priors_remain_where_nothing_is_measured(xp):
    priors = np.array([0.2, 0.0, 0.8])
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    logs = np.array([[-np.inf] * 3, [0.0] * 3, [-np.inf, 0.0, -np.inf]])
    found = np.exp(to_numpy(posterior(xp, logs, log_priors)))
    assert_close(found, np.tile(priors, (3, 1)))


@pytest.mark.parametrize("least", [1e-13, 0.01])
def test_no_possible_outcome_falls_below_the_least(xp, least):
    logs = np.array([[0.0, -np.inf, -1e4, np.log(0.5)], [-np.inf] * 4])
    priors = xp.asarray(np.array([0.0, 0.0, 0.0, -np.inf]))  # the last was never seen
    found = np.exp(to_numpy(log_posterior(xp.asarray(logs), priors, least)))
    unscaled = np.array([[1, least, least, 0], [1, 1, 1, 0]])
    assert_close(found, unscaled / unscaled.sum(axis=1, keepdims=True))


def test_the_least_changes_nothing_above_it(xp):
    logs, priors = np.log([[0.5, 0.3, 0.2]]), np.zeros(3)
    plain = posterior(xp, logs, priors)
    assert_close(log_posterior(xp.asarray(logs), xp.asarray(priors), 0.1), plain)


def test_gradient():
    logs = torch.zeros((1, 2), dtype=torch.float64, requires_grad=True)
    log_posterior(logs, torch.zeros(2, dtype=torch.float64))[0, 0].backward()
    assert_close(logs.grad, np.array([[0.5, -0.5]]))
