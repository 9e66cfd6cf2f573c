"""Classes, ordered labels and values written out slowly, as the paper defines them.

States come in as arrays, one row each; ``φ†`` is the conjugate transpose, so complex
states are covered. Nothing here is quick, and nothing is clever.
"""

import numpy as np


def density_matrix(states, weights=None):
    """The mean of ``φφ†``, term by term (eq. rho_train)."""
    weights = np.ones(len(states)) if weights is None else np.asarray(weights, float)
    total = sum(w * np.outer(z, z.conj()) for w, z in zip(weights, states, strict=True))
    return total / weights.sum()


def truncated(matrix, rank):
    """The part of a Hermitian matrix in its leading eigenvectors."""
    if rank is None:
        return matrix
    values, vectors = np.linalg.eigh(matrix)
    top = vectors[:, np.argsort(values)[::-1][:rank]]
    return top @ (top.conj().T @ matrix @ top) @ top.conj().T


# ---- (a) DMKDC: a density matrix per class (section 5.2) ----------------------------


def class_priors(labels, priors="empirical", weights=None):
    """π of the sorted labels: shares of the weight, all equal, or as given."""
    names = np.unique(labels)
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, float)
    if isinstance(priors, str) and priors == "uniform":
        return np.full(len(names), 1 / len(names))
    if isinstance(priors, str):
        return np.array([weights[labels == k].sum() for k in names]) / weights.sum()
    return np.asarray(priors, float) / np.sum(priors)


def dmkdc_joint(states, labels, queries, priors="empirical", weights=None, rank=None):
    """``π_k φ†ρ_kφ`` of every query and class, shape (n, K)."""
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, float)
    columns = []
    for name, prior in zip(
        np.unique(labels), class_priors(labels, priors, weights), strict=True
    ):
        own = labels == name
        rho = truncated(density_matrix(states[own], weights[own]), rank)
        columns.append([prior * np.vdot(z, rho @ z).real for z in queries])
    return np.array(columns).T


def dmkdc_posterior(states, labels, queries, **options):
    """Probabilities of the sorted labels, shape (n, K)."""
    joint = dmkdc_joint(states, labels, queries, **options)
    return joint / joint.sum(axis=1, keepdims=True)


def left_out_densities(states, labels, priors="empirical"):
    """``Σ_k π_k φ†ρ_kφ`` of each row, by a model made of all the other rows."""
    densities = []
    for i in range(len(states)):
        others = np.arange(len(states)) != i
        joint = dmkdc_joint(
            states[others], labels[others], states[i : i + 1], priors=priors
        )
        densities.append(joint.sum())
    return np.array(densities)


def leave_each_out(predict, inputs, targets, **options):
    """What ``predict`` says of each row when it is given all the other rows."""
    everyone = np.arange(len(inputs))
    answers = []
    for i in everyone:
        others = everyone != i
        alone = inputs[i : i + 1]
        answers.append(predict(inputs[others], targets[others], alone, **options))
    return np.concatenate(answers)


def left_out_posteriors(states, labels, **options):
    """Probabilities of each row, by a model made of all the other rows, (n, K)."""
    return leave_each_out(dmkdc_posterior, states, labels, **options)


# ---- (b) QMC: the joint state, with its Kronecker product (section 5.3) --------------


def softmax_outputs(values, n_levels, beta):
    """Square roots of a softmax over equally spaced levels of [0, 1] (eq. phi_sm)."""
    levels = np.linspace(0, 1, n_levels)
    states = []
    for value in values:
        weights = np.exp(-beta * (value - levels) ** 2)
        states.append(np.sqrt(weights / weights.sum()))
    return np.array(states)


def joint_state(inputs, outputs, weights=None, rank=None):
    """The mean of ``(φ⊗ψ)(φ⊗ψ)†``, of all its eigenvectors or the leading ones."""
    pairs = [np.kron(x, y) for x, y in zip(inputs, outputs, strict=True)]
    return truncated(density_matrix(np.array(pairs), weights), rank)


def output_state(rho, query, n_outputs):
    """``Tr_X[π ρ π] / Tr[π ρ π]`` with ``π = |φ⟩⟨φ| ⊗ I``, all written out."""
    projection = np.kron(np.outer(query, query.conj()), np.eye(n_outputs))
    measured = projection @ rho @ projection
    n_inputs = len(query)
    table = measured.reshape(n_inputs, n_outputs, n_inputs, n_outputs)
    partial = sum(table[i, :, i, :] for i in range(n_inputs))
    return partial / np.trace(partial).real


def qmc_states(inputs, outputs, queries, weights=None, rank=None):
    """``ρ_Y`` of every query, shape (n, D_Y, D_Y)."""
    rho = joint_state(inputs, outputs, weights, rank)
    return np.array([output_state(rho, z, outputs.shape[1]) for z in queries])


def qmc_posterior(inputs, outputs, queries, label_states, **options):
    """``ψ_k†ρ_Yψ_k`` of each label's state (K, D_Y), made to sum to one, (n, K)."""
    rows = []
    for rho in qmc_states(inputs, outputs, queries, **options):
        measured = np.array([np.vdot(psi, rho @ psi).real for psi in label_states])
        rows.append(measured / measured.sum())
    return np.array(rows)


def left_out_states(inputs, outputs, **options):
    """``ρ_Y`` of each row, by a joint state of all the other rows."""
    return leave_each_out(qmc_states, inputs, outputs, **options)


# ---- (c) QMR: softmax outputs, read as a distribution over levels (section 5.4) ------


def read_levels(states, low, high):
    """The diagonals of ``ρ_Y``, with mean and variance over levels of [low, high]."""
    chances = np.array([np.diag(rho).real for rho in states])
    levels = np.linspace(low, high, chances.shape[1])
    mean = chances @ levels
    variance = np.array(
        [p @ (levels - centre) ** 2 for p, centre in zip(chances, mean, strict=True)]
    )
    return chances, mean, variance


# ---- smoothing with the kernel itself, without the row and its copies ----------------


def left_out_smoother(overlaps, rows, evidence, weights=None):
    """Weighted mean of the evidence (n, C) of rows that differ from each row, (n, C).

    ``overlaps`` (n, n) are squared overlaps of the rows' states.
    """
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights, float)
    means = []
    for i in range(len(rows)):
        others = [j for j in range(len(rows)) if not np.array_equal(rows[j], rows[i])]
        mass = overlaps[i, others] * weights[others]
        means.append(mass @ evidence[others] / mass.sum())
    return np.array(means)
