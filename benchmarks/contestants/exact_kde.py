"""Exact kernel density with the bandwidth that leave-one-out likelihood prefers.

scikit-learn's ``KernelDensity`` asks a tree, which helps little from about five columns
on and takes hours here. This is the same density, summed in blocks: distances by a
matrix product, logarithms of sums that never underflow.
"""

import numpy as np

from benchmarks.exact import log_mass

_BLOCK_NUMBERS = 2**20
_FINE_STEPS = 2.0 ** (np.arange(-3, 4) / 4)
# γ runs from this power of two on upward, by doubling.
_LOWEST_POWER = -7
_DOUBLINGS = 32


class ExactKDE:
    """Gaussian kernels of one width around all rows.

    Parameters
    ----------
    seed : int
        Of the rows that the choice asks for.
    n_choosing : int
        How many rows are left out in turn, each against all the others.
    """

    def __init__(self, seed=0, n_choosing=5_000):
        self._seed, self._n_choosing = seed, n_choosing

    def fit(self, rows, target=None):
        """Keep the rows, choose γ: powers of two, then quarters of a power."""
        self._rows = np.asarray(rows, np.float64)
        rng = np.random.default_rng(self._seed)
        asked = rng.permutation(len(rows))[: self._n_choosing]
        scores = self._left_out(asked, 2.0**_LOWEST_POWER, _DOUBLINGS)
        coarse = 2.0 ** (_LOWEST_POWER + int(np.argmax(scores)))
        fine = coarse * _FINE_STEPS
        scores = [self._left_out(asked, gamma, 1)[0] for gamma in fine]
        self.gamma_ = float(fine[int(np.argmax(scores))])
        return self

    @property
    def chosen(self):
        """What was chosen, for the lines."""
        return {"gamma": self.gamma_, "bandwidth": float((2 * self.gamma_) ** -0.5)}

    def answer(self, queries):
        """Log-density of each query."""
        norm = log_mass(self.gamma_, self._rows.shape[1]) + np.log(len(self._rows))
        parts = []
        for _, squares in self._blocks(queries):
            least = squares.min(axis=1, keepdims=True)
            squares -= least
            squares *= -self.gamma_
            sums = np.exp(squares, out=squares).sum(axis=1)
            parts.append(np.log(sums) - self.gamma_ * least[:, 0])
        return np.concatenate(parts) - norm

    def _left_out(self, asked, gamma, doublings):
        """Mean log-density of rows by all the others, for γ, 2γ, 4γ, ...

        Squaring a kernel doubles its γ, so that one exponential serves all of them.
        """
        totals = np.zeros(doublings)
        gammas = gamma * 2.0 ** np.arange(doublings)
        for start, squares in self._blocks(self._rows[asked]):
            own = np.arange(len(squares))
            squares[own, asked[start + own]] = np.inf
            least = squares.min(axis=1)
            squares -= least[:, None]
            squares *= -gamma
            kernels = np.exp(squares, out=squares)
            for i, each in enumerate(gammas):
                if i:
                    np.multiply(kernels, kernels, out=kernels)
                totals[i] += (np.log(kernels.sum(axis=1)) - each * least).sum()
        norms = [log_mass(each, self._rows.shape[1]) for each in gammas]
        return totals / len(asked) - norms - np.log(len(self._rows) - 1)

    def _blocks(self, queries):
        """Squared distances to all rows, for few queries at a time."""
        queries = np.asarray(queries, np.float64)
        lengths = np.vecdot(self._rows, self._rows)
        size = max(1, _BLOCK_NUMBERS // len(self._rows))
        for start in range(0, len(queries), size):
            block = queries[start : start + size]
            squares = lengths + np.vecdot(block, block)[:, None]
            squares -= 2 * block @ self._rows.T
            yield start, np.maximum(squares, 0, out=squares)
