"""The rows that are measured on, all drawn from a seed."""

import numpy as np

from rhokit.datasets import bimodal, clusters, spirals

# Chosen so that the mean kernel value of `scaled_mixture` at γ = 1 is about 0.26.
MIXTURE_WIDTH = 0.72


def bimodal_rows(n, seed):
    """0.3 N(0,1) + 0.7 N(5,1), and 1,000 equally spaced points of [-5, 10]."""
    return bimodal(n, random_state=seed), np.linspace(-5, 10, 1000)[:, None]


def spiral_rows(n, n_queries, seed):
    """Rows of the spirals to fit, and others to ask for."""
    rows, _ = spirals(n + n_queries, random_state=seed)
    return rows[:n], rows[n:]


def cluster_rows(n, d, n_queries, seed):
    """Rows of a mixture of eight clusters to fit, and others to ask for."""
    rows, _ = clusters(n + n_queries, d, random_state=seed)
    return rows[:n], rows[n:]


def box_rows(n, d, seed):
    """Rows uniform in the unit box."""
    return np.random.default_rng([seed, 1]).random((n, d))


def scaled_mixture(n, seed, *, d=40, n_parts=10, width=MIXTURE_WIDTH):
    """Float32 rows of a mixture of Gaussians, each column scaled to [0, 1]."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_parts, d))
    rows = centres[rng.integers(n_parts, size=n)] + width * rng.normal(size=(n, d))
    low, high = rows.min(axis=0), rows.max(axis=0)
    return ((rows - low) / (high - low)).astype(np.float32)


def uniform_rows(n, d, seed):
    """Float32 rows uniform in the unit box, for timings that no value sways."""
    return np.random.default_rng(seed).random((n, d), dtype=np.float32)
