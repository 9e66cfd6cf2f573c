"""Proper scores of predicted distributions; smaller is better.

The one that needs no function is the negative log-likelihood, which is
``-model.log_density(X, y).mean()``, or ``-model.score_samples(X).mean()`` of a density.
"""

from typing import Any

import numpy as np

from rhokit.core.scoring import quantile_losses, ranked_errors
from rhokit.metrics.checks import Floats, check_numbers, mean_over_rows
from rhokit.validation import check_levels


def pinball_loss(
    y_true: Any, y_quantiles: Any, levels: Any, *, sample_weight: Any = None
) -> float:
    r"""Mean loss of predicted quantiles, over rows and levels.

    .. math:: \frac1{nq} \sum_{i=1}^n \sum_{j=1}^q
              \max\big(\tau_j\,(y_i - v_{ij}),\ (\tau_j - 1)\,(y_i - v_{ij})\big)

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_quantiles : array-like of shape (n, q)
        For each row, the values :math:`v_{ij}` below which it is thought to lie with
        the probabilities :math:`\tau_j`, as of
        :meth:`~rhokit.QMRegressor.predict_quantiles`.
    levels : array-like of shape (q,), in (0, 1)
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    loss : float
        In the units of the target.

    See Also
    --------
    sklearn.metrics.mean_pinball_loss : The same at a single level.

    Examples
    --------
    >>> from rhokit.metrics import pinball_loss
    >>> pinball_loss([1.0, 3.0], [[0.0, 2.0], [0.0, 2.0]], [0.25, 0.75])
    0.5
    """
    truth, quantiles, levels = _checked(y_true, y_quantiles, levels)
    losses = quantile_losses(truth, quantiles, levels).mean(axis=1)
    return mean_over_rows(losses, sample_weight)


def crps(
    y_true: Any, y_quantiles: Any, levels: Any, *, sample_weight: Any = None
) -> float:
    r"""Continuous ranked probability score of distributions given by quantiles.

    .. math:: \frac1n \sum_{i=1}^n \int \big(F_i(z) - [y_i \le z]\big)^2\,dz
              = \frac2n \sum_{i=1}^n
              \int_0^1 \ell_\tau\big(y_i, F_i^{-1}(\tau)\big)\,d\tau

    with the loss :math:`\ell_\tau` of :func:`pinball_loss`. Between the given
    quantiles :math:`F_i` rises evenly, and what lies beyond the outermost ones lies at
    them: of this distribution the score is exact. More levels tell more of the one
    that was meant: of a standard normal distribution, 19 levels from 0.05 to 0.95 have
    a score that is 0.2 % too large, 99 levels one that is 0.01 % too large.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_quantiles : array-like of shape (n, q)
        In any order, the same one as that of the levels. Quantiles that cross are
        sorted first.
    levels : array-like of shape (q,), in (0, 1)
        All different.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    score : float
        In the units of the target. Of a single certain value it is the absolute error.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> import numpy as np
    >>> from rhokit.metrics import crps
    >>> y, levels = np.random.default_rng(0).normal(size=1000), np.arange(1, 100) / 100
    >>> right, wide = (np.tile(norm(0, s).ppf(levels), (1000, 1)) for s in (1, 2))
    >>> round(crps(y, right, levels), 2), round(crps(y, wide, levels), 2)
    (0.55, 0.65)
    """
    truth, quantiles, levels = _checked(y_true, y_quantiles, levels)
    if len(np.unique(levels)) < len(levels):
        raise ValueError(f"levels must all be different, got {levels.tolist()}")
    errors = _squared_distances(truth, np.sort(quantiles, axis=1), np.sort(levels))
    return mean_over_rows(errors, sample_weight)


def ranked_probability_score(
    y_true: Any, y_prob: Any, *, labels: Any = None, sample_weight: Any = None
) -> float:
    r"""Ranked probability score of ordered classes: squared error of their CDF.

    .. math:: \frac1n \sum_{i=1}^n \sum_{k=1}^K
              \Big(\sum_{j \le k} p_{ij} - [y_i \le k]\Big)^2

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_prob : array-like of shape (n, K)
        Probabilities of the classes, in their order.
    labels : array-like of shape (K,), optional
        The classes in the order of ``y_prob``, ``model.classes_`` say; those of
        ``y_true``, sorted, without it.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    score : float
        Zero if all are certain and right; a certain prediction that is k ranks off
        counts k. It is the score of :func:`crps` for classes one apart.

    Examples
    --------
    >>> from rhokit.metrics import ranked_probability_score
    >>> labels = ["low", "middle", "high"]
    >>> for probabilities in ([0.1, 0.8, 0.1], [0.8, 0.1, 0.1]):
    ...     found = ranked_probability_score(["high"], [probabilities], labels=labels)
    ...     print(round(found, 2))
    0.82
    1.45
    """
    truth = np.asarray(y_true)
    classes = np.unique(truth) if labels is None else np.asarray(labels)
    probabilities = check_numbers("y_prob", y_prob, (len(truth), len(classes)))
    places = {label: place for place, label in enumerate(classes.tolist())}
    strangers = [label for label in truth.tolist() if label not in places]
    if strangers:
        raise ValueError(
            f"y_true must hold labels alone, {classes.tolist()}, got {strangers[0]!r}"
        )
    codes = np.array([places[label] for label in truth.tolist()])
    return mean_over_rows(ranked_errors(probabilities, codes), sample_weight)


def _checked(y_true: Any, y_quantiles: Any, levels: Any) -> tuple[Floats, ...]:
    truth = check_numbers("y_true", y_true, (None,))
    levels = check_levels("levels", levels)
    shape = len(truth), len(levels)
    return truth, check_numbers("y_quantiles", y_quantiles, shape), levels


def _squared_distances(truth: Floats, values: Floats, levels: Floats) -> Floats:
    """The integral of each row's score, (n,), of ascending quantiles (n, q).

    Between two quantiles F rises evenly from one level to the next, and so does its
    distance to the truth's step on either side of it: squares of lines, whose
    integrals are closed.
    """
    first, last = values[:, 0], values[:, -1]
    outside = np.maximum(first - truth, 0) + np.maximum(truth - last, 0)
    left, right = values[:, :-1], values[:, 1:]
    step = np.clip(truth[:, None], left, right)  # (n, q - 1), in every piece
    low, high = levels[:-1], levels[1:]
    width = right - left
    share = np.where(width > 0, (step - left) / np.where(width > 0, width, 1), 0)
    middle = low + share * (high - low)
    before = _square_of_line(low, middle) * (step - left)
    after = _square_of_line(1 - middle, 1 - high) * (right - step)
    return np.asarray(outside + (before + after).sum(axis=1))


def _square_of_line(start: Floats, end: Floats) -> Floats:
    """Mean of the square of what goes evenly from one number to another."""
    return np.asarray((start**2 + start * end + end**2) / 3)
