"""How long rows depend on those that came before them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Of correlation times, what a block must be long for its mean to stand alone, and
# what a sum of correlations runs over (Sokal's window).
BLOCK_TIMES, _WINDOW = 10, 5


def correlation_time(scores: NDArray[np.float32]) -> float:
    r"""The largest correlation time :math:`1 + 2\sum_k r_k` of scores, in rows.

    So many neighbouring rows say as much of a mean as one row that stands alone. The
    sum ends where its length is five times itself.

    Parameters
    ----------
    scores : array of shape (n, p)
        In the order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> noise = np.random.default_rng(0).normal(size=(50_000, 1)).astype(np.float32)
    >>> bool(correlation_time(noise) < 1.2)
    True
    >>> series = lfilter([1], [1, -0.9], noise, axis=0)  # (1 + .9) / (1 - .9) = 19
    >>> bool(16 < correlation_time(series) < 22)
    True
    """
    n = len(scores)
    size = 2 ** math.ceil(math.log2(2 * n))
    power = np.abs(np.fft.rfft(scores - scores.mean(axis=0), size, axis=0)) ** 2
    covariances = np.fft.irfft(power, axis=0)[: n // 2 + 1]
    first = np.where(covariances[0] > 0, covariances[0], 1.0)
    times = 2 * np.cumsum(covariances / first, axis=0) - 1  # (lags, p)
    enough = np.arange(len(times))[:, None] >= _WINDOW * times
    lags = np.where(enough.any(axis=0), enough.argmax(axis=0), len(times) - 1)
    found = times[lags, np.arange(times.shape[1])]
    return float(max(found.max(initial=1.0), 1.0))
