"""The definitions written out: slow, obvious, NumPy only."""

import math

import numpy as np
from scipy.linalg import logm


def outer_sums(states, outcomes):
    """``Σ_i t_ik φ_i φ_i†``, one row after another: shape (K, D, D)."""
    total = np.zeros((outcomes.shape[1], states.shape[1], states.shape[1]), complex)
    for state, weights in zip(states, outcomes, strict=True):
        for k, weight in enumerate(weights):
            total[k] += weight * np.outer(state, state.conj())
    return total


def feature_sums(states, outcomes):
    """``Σ_i t_ik φ_i``: shape (K, D)."""
    total = np.zeros((outcomes.shape[1], states.shape[1]), complex)
    for state, weights in zip(states, outcomes, strict=True):
        for k, weight in enumerate(weights):
            total[k] += weight * state
    return total


def means(total, outcomes):
    """Sums divided by their weights; zero where no row has weight."""
    weight = outcomes.sum(axis=0)
    return np.array(
        [t * (1 / w if w > 0 else 0) for t, w in zip(total, weight, strict=True)]
    )


def born(rho, states):
    """``φ†ρ_kφ`` for each row and outcome: shape (n, K)."""
    return np.array(
        [[(phi.conj() @ matrix @ phi).real for matrix in rho] for phi in states]
    )


def overlaps(mean, states):
    """``Re Φ_k†φ`` for each row and outcome: shape (n, K)."""
    return np.array([[(phi_k.conj() @ phi).real for phi_k in mean] for phi in states])


def born_left_out(states, weights):
    """What each row measures in the state of all the others: shape (n,)."""
    return _left_out(states, weights, outer_sums, born)


def overlap_left_out(states, weights):
    """As :func:`born_left_out`, for the mean of features."""
    return _left_out(states, weights, feature_sums, overlaps)


def _left_out(states, weights, sums, measure):
    measured = []
    for i in range(len(states)):
        others = np.delete(np.arange(len(states)), i)
        outcomes = weights[others, None]
        state = means(sums(states[others], outcomes), outcomes)
        measured.append(measure(state, states[i : i + 1])[0, 0])
    return np.array(measured)


def partial_trace_loops(rho, dims, keep):
    """Sum over the index of the side that goes, element by element."""
    second = dims[1]
    kept = dims[keep]
    out = np.zeros((kept, kept), rho.dtype)
    for i in range(kept):
        for j in range(kept):
            for t in range(dims[1 - keep]):
                row = i * second + t if keep == 0 else t * second + i
                column = j * second + t if keep == 0 else t * second + j
                out[i, j] += rho[row, column]
    return out


def partial_trace_kron(rho, dims, keep):
    """``Σ_t (1⊗⟨t|) ρ (1⊗|t⟩)``, or the other way round."""
    identity = np.eye(dims[keep])
    out = 0
    for bra in np.eye(dims[1 - keep])[:, None, :]:
        sides = (identity, bra) if keep == 0 else (bra, identity)
        project = np.kron(*sides)
        out = out + project @ rho @ project.T
    return out


def joint_state(inputs, outputs):
    """``Σ_i |x_i⊗y_i⟩⟨x_i⊗y_i|``, the matrix that the product never forms."""
    total = 0
    for x, y in zip(inputs, outputs, strict=True):
        pair = np.kron(x, y)
        total = total + np.outer(pair, pair.conj())
    return total


def squared_mmd(left, right):
    """Squared maximum mean discrepancy under the kernel ``|⟨φ,φ'⟩|²``."""

    def mean_kernel(a, b):
        kernel = [abs(x.conj() @ y) ** 2 for x in a for y in b]
        return sum(kernel) / len(kernel)

    return (
        mean_kernel(left, left)
        + mean_kernel(right, right)
        - 2 * mean_kernel(left, right)
    )


def entropy(probabilities):
    """``-Σ p log p``, with ``0 log 0 = 0``."""
    return -sum(p * math.log(p) for p in probabilities if p > 0)


def fidelity(rho, sigma):
    """``(Σ √λ)²`` over the eigenvalues λ of ``ρσ``."""
    values = np.linalg.eigvals(rho @ sigma)
    return sum(math.sqrt(max(value.real, 0)) for value in values) ** 2


def elbow(eigenvalues):
    """The count at which the cumulative spectrum is farthest above its chord."""
    dim, total = len(eigenvalues), sum(eigenvalues)
    heights = [sum(eigenvalues[:k]) / total - k / dim for k in range(1, dim + 1)]
    return 1 + heights.index(max(heights))


def fewest_reaching(eigenvalues, energy):
    """The fewest leading eigenvalues that hold a share of the trace."""
    for count in range(1, len(eigenvalues) + 1):
        if sum(eigenvalues[:count]) >= energy * sum(eigenvalues) * (1 - 1e-12):
            return count
    return len(eigenvalues)


def cosine_states(rows, frequencies, phases, amplitudes):
    """Fourier features, number by number; complex where phases are None."""
    n_frequencies = frequencies.shape[1]
    out = np.zeros((len(rows), len(amplitudes)), complex if phases is None else float)
    for i, row in enumerate(rows):
        for j, amplitude in enumerate(amplitudes):
            angle = sum(row * frequencies[:, j % n_frequencies])
            if phases is None:
                out[i, j] = amplitude * complex(math.cos(angle), math.sin(angle))
            else:
                out[i, j] = amplitude * math.cos(angle + phases[j])
    return out


def gaussian_columns(rows, landmarks, rate):
    """``exp(-rate·‖x - l‖²)`` for every pair."""
    return np.array(
        [[math.exp(-rate * sum((x - lm) ** 2)) for lm in landmarks] for x in rows]
    )


def softmax_states(values, n_landmarks, beta):
    """Square roots of softmax probabilities over an even grid of [0, 1]."""
    grid = [i / (n_landmarks - 1) for i in range(n_landmarks)]
    out = []
    for value in values:
        scores = [math.exp(-beta * (value - point) ** 2) for point in grid]
        out.append([math.sqrt(score / sum(scores)) for score in scores])
    return np.array(out)


def partial_transpose_loops(rho, dims, part):
    """Indices of one part exchanged, entry by entry."""
    first, second = dims
    turned = np.zeros_like(rho)
    for i, j in np.ndindex(first, second):
        for k, m in np.ndindex(first, second):
            row, column = ((k, j), (i, m)) if part == 0 else ((i, m), (k, j))
            place = row[0] * second + row[1], column[0] * second + column[1]
            turned[place] = rho[i * second + j, k * second + m]
    return turned


def relative_entropy(rho, sigma):
    """By logarithms of matrices."""
    return np.trace(rho @ (logm(rho) - logm(sigma))).real
