"""Frequencies for random Fourier features, drawn by NumPy for every backend."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi, norm, qmc

SAMPLING_RULES = ("iid", "orthogonal", "sobol", "halton", "structured")
_LEAST_WIDTH = 64


def draw_frequencies(
    sampling: str,
    n_features: int,
    count: int,
    rng: np.random.Generator,
    *,
    mixture: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
    """Standard normal frequencies (d, count) and phases (count,) in [0, 1) turns.

    For a mixture also uniform numbers (count,), which widths will follow from.

    ``"iid"`` draws independently; ``"orthogonal"`` makes the frequencies of each block
    of d orthogonal to each other, with independent lengths that are chi-distributed as
    those of normal vectors; ``"sobol"`` and ``"halton"`` take scrambled
    low-discrepancy points, which fill low dimensions evenly.
    """
    if sampling == "iid":
        normal, phases = rng.normal(size=(n_features, count)), rng.random(count)
        return normal, phases, rng.random(count) if mixture else None
    if sampling == "orthogonal":
        normal, phases = _orthogonal(n_features, count, rng), rng.random(count)
        return normal, phases, rng.random(count) if mixture else None
    points = _low_discrepancy(sampling, n_features + 1 + mixture, count, rng)
    # A scrambled point may be exactly 0, whose normal quantile is infinite.
    normal = norm.ppf(np.clip(points[:, :n_features], 1e-12, 1 - 1e-12)).T
    widths = points[:, -1].copy() if mixture else None
    return np.ascontiguousarray(normal), points[:, n_features].copy(), widths


def draw_signs(
    n_features: int, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Signs (n_blocks, 3, p) and lengths (count,) of structured frequencies.

    ``p`` is the power of two at or above the number of columns, and not too small
    for sums of so many signs to look normal.
    """
    width = max(_LEAST_WIDTH, 1 << (n_features - 1).bit_length())
    n_blocks = -(-count // width)
    signs = rng.choice(np.array([-1, 1], dtype=np.int8), size=(n_blocks, 3, width))
    return signs, chi(width).rvs(count, random_state=rng)


def _orthogonal(d: int, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    widths = [min(d, count - start) for start in range(0, count, d)]
    directions = np.concatenate([_random_frame(d, k, rng) for k in widths], axis=1)
    return directions * chi(d).rvs(count, random_state=rng)


def _random_frame(d: int, k: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The first k columns (d, k) of an orthogonal matrix, uniform over the group."""
    # All of its normal numbers are drawn, so that a seed means the same for any k.
    q, r = np.linalg.qr(rng.normal(size=(d, d))[:, :k])
    return q * np.sign(np.diag(r))  # QR alone favours some signs


def _low_discrepancy(
    sampling: str, dim: int, count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    engine: Any
    if sampling == "halton":
        engine = qmc.Halton(dim, scramble=True, rng=rng)
        return engine.random(count)
    if dim > qmc.Sobol.MAXDIM:
        raise ValueError(
            f'sampling="sobol" works for up to {qmc.Sobol.MAXDIM - 1} columns, '
            f'got {dim - 1}: take sampling="orthogonal" or "structured"'
        )
    engine = qmc.Sobol(dim, scramble=True, rng=rng)
    # Sobol points are balanced in powers of two; the first ones are taken.
    return engine.random_base2(max(0, (count - 1).bit_length()))[:count]
