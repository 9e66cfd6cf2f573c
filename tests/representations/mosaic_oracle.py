"""Mosaics written out: features, memberships and densities, one cell at a time."""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal


def wide_rows(model, X):
    """Rows as the model takes them, with categories as several columns, (n, width)."""
    found, rows = model.question(X)
    return found.plan, np.asarray(rows, dtype=float)


def bent(model, plan, wide):
    """Bent numbers (n, d) and categories as ones and zeros (n, w)."""
    mosaic, scaled = model.feature_map_, plan.scale(wide)
    schema = mosaic.schema_
    if schema is None:
        return mosaic.shapes_.apply(scaled)[0], np.zeros((len(wide), 0))
    parts = []
    for column in schema.category_columns():
        states, block = schema.states(column), scaled[:, schema.blocks[column]]
        nearest = ((block[:, None] - states) ** 2).sum(axis=2).argmin(axis=1)
        is_known = block.any(axis=1, keepdims=True)
        parts.append(np.eye(len(states))[nearest] * is_known)
    z = mosaic.shapes_.apply(scaled[:, schema.is_number])[0]
    return z, np.concatenate(parts, axis=1)


def slow_memberships(model, X):
    """Features (n, q + w) and how rows belong to cells (n, C), by loops."""
    mosaic = model.feature_map_
    z, onehot = bent(model, *wide_rows(model, X))
    features, members = [], []
    for row, own in zip(z, onehot, strict=True):
        squares = [row[i] * row[j] for i in range(len(row)) for j in range(i, len(row))]
        features.append([1, *row, *squares, *own])
        logs, parts = np.array(features[-1]) @ mosaic.router_, []
        for layer in np.split(logs, mosaic.stops_[:-1]):
            parts.append(np.exp(layer - logsumexp(layer)))
        members.append(np.concatenate(parts))
    return np.array(features), np.array(members)


def slow_cells(model, growth=1.0):
    """Logarithm of weight, mean, covariance, logarithms of shares, of every cell.

    ``growth`` is a factor of the strengths of priors.
    """
    mosaic, sums = model.feature_map_, model.model_.state.total[0]
    d = len(mosaic.kinds_)
    upper = np.triu_indices(d)
    q = 1 + d + len(upper[0])
    starts = [0, *mosaic.stops_[:-1]]
    for layer, (start, stop) in enumerate(zip(starts, mosaic.stops_, strict=True)):
        rows = sums[start:stop, 0].sum()
        strength = growth * mosaic.strengths_[layer] * rows
        more = mosaic.smoothing_ * rows
        for c in range(start, stop):
            if sums[c, 0] < 1e-9 * rows:
                continue
            weight, mean = sums[c, 0], sums[c, 1 : d + 1] / sums[c, 0]
            second = np.zeros((d, d))
            second[upper] = sums[c, d + 1 : q]
            second = second + np.triu(second, 1).T
            covariance = second - weight * np.outer(mean, mean)
            covariance += strength * mosaic.sizes_[c] * mosaic.prior_shapes_[layer]
            covariance = covariance / (weight + strength) + mosaic.floor_ * np.eye(d)
            shares, start_of = [], q
            for size in mosaic.shares.sizes:
                prior = mosaic.shares_[start_of - q : start_of - q + size]
                counts = sums[c, start_of : start_of + size]
                own = (prior.sum() * counts + more * prior) / (weight + more)
                shares.append([*own, 1 - own.sum()])
                start_of += size
            log_weight = np.log(mosaic.layer_weights_[layer] * weight / rows)
            yield log_weight, mean, covariance, shares


def log_categories(onehot, shares):
    """Logarithm of the shares of a row's categories; the last is of unseen ones."""
    total, start = 0.0, 0
    for own in shares:
        ones = onehot[start : start + len(own) - 1]
        total += np.log(own[ones.argmax()] if ones.any() else own[-1])
        start += len(ones)
    return total


def slow_log_density(model, X, growth=1.0):
    """Of rows, in the user's units; the Jacobian by differences."""
    plan, wide = wide_rows(model, X)
    z, onehot = bent(model, plan, wide)
    logs = [
        log_weight
        + multivariate_normal(mean, covariance).logpdf(z)
        + np.array([log_categories(row, shares) for row in onehot])
        for log_weight, mean, covariance, shares in slow_cells(model, growth)
    ]
    schema = model.feature_map_.schema_
    numbers = range(wide.shape[1])
    if schema is not None:
        numbers = np.flatnonzero(schema.is_number)
    log_volume = 0
    for place, column in enumerate(numbers):
        step = 1e-5 * np.maximum(np.abs(wide[:, column]), 1e-3)
        up, down = wide.copy(), wide.copy()
        up[:, column] += step
        down[:, column] -= step
        change = bent(model, plan, up)[0] - bent(model, plan, down)[0]
        log_volume = log_volume + np.log(
            change[:, place] / (up[:, column] - down[:, column])
        )
    return logsumexp(logs, axis=0) + log_volume
