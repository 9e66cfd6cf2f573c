"""Regression by a joint state, written out: the Kronecker product and all."""

import numpy as np


def softmax_state(u, n_levels, beta):
    """``sqrt(p_j)`` with ``p_j ∝ exp(-β (u - a_j)²)`` over levels in [0, 1]."""
    weights = [np.exp(-beta * (u - a) ** 2) for a in np.linspace(0, 1, n_levels)]
    return np.sqrt(np.array(weights) / sum(weights))


def joint_state(states, y, low, high, n_levels, beta, weights=None):
    """``ρ``, the mean of ``(φ⊗ψ)(φ⊗ψ)†``, shape (D·m, D·m)."""
    weights = np.ones(len(states)) if weights is None else np.asarray(weights, float)
    dim = states.shape[1] * n_levels
    total = np.zeros((dim, dim), states.dtype)
    for phi, value, weight in zip(states, y, weights, strict=True):
        u = (value - low) / (high - low) if high > low else 0.0
        both = np.kron(phi, softmax_state(u, n_levels, beta))
        total += weight * np.outer(both, both.conj())
    return total / weights.sum()


def measured_distribution(rho, phi, n_levels):
    """Diagonal of the output's state after ``|φ><φ| ⊗ 1`` was measured, shape (m,)."""
    projector = np.kron(np.outer(phi, phi.conj()), np.eye(n_levels))
    after = projector @ rho @ projector
    after = after / np.trace(after)
    blocks = after.reshape(len(phi), n_levels, len(phi), n_levels)
    output = np.einsum("iaib->ab", blocks)  # partial trace over the inputs
    return np.diag(output).real


def qmr_distributions(states, y, queries, low, high, n_levels, beta, weights=None):
    """Distribution over the levels for every query's state, shape (n, m)."""
    rho = joint_state(states, y, low, high, n_levels, beta, weights)
    return np.array([measured_distribution(rho, phi, n_levels) for phi in queries])


def qmr_left_out(states, y, low, high, n_levels, beta):
    """Distribution of each row from the joint state of all other rows, (n, m)."""
    found = []
    for i in range(len(states)):
        others = np.delete(np.arange(len(states)), i)
        rho = joint_state(states[others], y[others], low, high, n_levels, beta)
        found.append(measured_distribution(rho, states[i], n_levels))
    return np.array(found)


def truncated_left_out(states, y, low, high, n_levels, beta, rank):
    """As :func:`qmr_left_out`, each level's matrix cut to a subspace that stays.

    The subspace is that of the leading eigenvectors with all rows in.
    """
    outputs = [softmax_state((v - low) / (high - low), n_levels, beta) for v in y]
    mass = np.square(outputs)  # (n, m)
    found = np.zeros((len(states), n_levels))
    for j in range(n_levels):
        whole = (states * mass[:, j, None]).T @ states
        kept = np.linalg.eigh(whole)[1][:, -rank:]
        for i, phi in enumerate(states):
            rest = whole - mass[i, j] * np.outer(phi, phi)
            inside = kept.T @ phi
            found[i, j] = inside @ (kept.T @ rest @ kept) @ inside
    return found / found.sum(axis=1, keepdims=True)


def mean_and_std(chances, levels):
    """Moments of one distribution (m,) over levels (m,)."""
    mean = sum(p * a for p, a in zip(chances, levels, strict=True))
    variance = sum(p * (a - mean) ** 2 for p, a in zip(chances, levels, strict=True))
    return mean, np.sqrt(variance)


def linear_quantiles(chances, levels, shares):
    """Quantiles of one distribution (m,) whose mass is even in each level's cell."""
    middles = (levels[1:] + levels[:-1]) / 2
    edges = np.concatenate([levels[:1], middles, levels[-1:]])
    below = np.concatenate([[0.0], np.cumsum(chances)])
    return np.interp(shares, below / below[-1], edges)


def conformal_offset(missed, counts, coverage):
    """The definition with copies: so many are held, the row to come being the worst.

    ``counts`` are whole numbers whose mean is one too: the row to come counts so.
    """
    copies = np.sort(np.repeat(missed, counts))
    to_come = int(np.mean(counts))
    everyone = np.concatenate([copies, np.full(to_come, copies[-1])])
    for offset in copies:
        if np.mean(everyone <= offset) >= coverage - 1e-12:
            return offset
    return copies[-1]
