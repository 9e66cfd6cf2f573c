"""Sequential ranks and bets: exact under exchange, whatever the distribution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

from rhokit.drift.sequential import N_BETS, Capital, SequentialRanks, ratios

DRAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "counts": lambda rng, n: rng.poisson(1.0, n).astype(float),
    "constant": lambda rng, n: np.zeros(n),
    "heavy": lambda rng, n: rng.standard_cauchy(n),
}


def ranks_of(values, tags, within, m):
    """Ranks by counting: all gaps between the first m values, and all since."""
    order = sorted(zip(values[:m], tags[:m], strict=True))
    counts, found = np.ones(m + 1), []
    for value, tag, share in zip(values[m:], tags[m:], within[m:], strict=True):
        gap = sum(edge < (value, tag) for edge in order)
        found.append((counts[:gap].sum() + share * counts[gap]) / counts.sum())
        counts[gap] += 1
    return np.array(found)


@pytest.mark.parametrize("name", DRAWS)
def test_ranks_are_those_of_counting(name):
    rng = np.random.default_rng(0)
    values = DRAWS[name](rng, 150)
    tags, within = rng.random((2, 150))
    begun = SequentialRanks.of(values[:30, None], tags[:30, None])
    parts, ranks = [], begun
    for part in np.array_split(np.arange(30, 150), [1, 2, 77]):
        u, ranks = ranks.ranked(
            values[part, None], tags[part, None], within[part, None]
        )
        parts.append(u[:, 0])
    expected = ranks_of(values, tags, within, 30)
    assert_allclose(np.concatenate(parts), expected, atol=1e-12)


@pytest.mark.parametrize("name", DRAWS)
def test_ranks_are_uniform_and_independent(name):
    """Over many streams: each rank is even, and says nothing about the next one."""
    rng = np.random.default_rng(1)
    n_streams, m, n = 4000, 10, 4
    values = DRAWS[name](rng, (m + n, n_streams))
    tags, within = rng.random((2, m + n, n_streams))
    begun = SequentialRanks.of(values[:m], tags[:m])
    u, _ = begun.ranked(values[m:], tags[m:], within[m:])
    for row in u:
        assert kstest(row, "uniform").pvalue > 1e-3
    together = np.corrcoef(u)[np.triu_indices(n, 1)]
    assert np.abs(together).max() < 4.5 / np.sqrt(n_streams)
    assert np.abs(np.corrcoef(np.abs(u - 0.5))[np.triu_indices(n, 1)]).max() < 0.08


def test_bets_are_densities():
    grid = (np.arange(200_000) + 0.5) / 200_000
    paid = ratios(grid[:, None])
    assert paid.shape == (200_000, N_BETS, 1)
    assert_allclose(paid.mean(axis=0), 1, atol=1e-4)
    assert (paid > 0).all()


def test_sums_are_those_of_all_that_began_to_bet():
    paid = np.random.default_rng(0).lognormal(size=(70, N_BETS, 2))
    evidence, place = Capital.none(2).after(paid[:20], 0)
    evidence, place = evidence.after(paid[20:], 20)
    assert place is None
    each = np.array([np.prod(paid[j:], axis=0) for j in range(70)])
    assert_allclose(evidence.sums, each.sum(axis=0))
    weighted = (each * np.arange(70)[:, None, None]).sum(axis=0)
    assert_allclose(evidence.starts, weighted)
    first = weighted[:, 1].sum() / each[..., 1].sum()
    assert_allclose(evidence.began(1), first)
    history = np.array(
        [
            np.mean([np.prod(paid[j : k + 1], axis=0) for j in range(k + 1)], axis=0)
            * (k + 1)
            for k in range(70)
        ]
    ).mean(axis=1)
    assert_allclose(evidence.peaks, history.max(axis=0))


def test_ends_at_the_row_that_passes_a_bar():
    paid = np.full((100, N_BETS, 2), 1.0)
    paid[60:, :, 1] = 3.0
    bars = np.array([1e9, 500.0])
    evidence, place = Capital.none(2).after(paid, 0, bars)
    alone, _ = Capital.none(2).after(paid[: place + 1], 0)
    before, _ = Capital.none(2).after(paid[:place], 0)
    assert alone.sums[:, 1].mean() >= 500 > before.sums[:, 1].mean()
    assert_allclose(evidence.sums, alone.sums)


def test_capital_does_not_overflow():
    paid = np.full((3000, N_BETS, 1), 9.0)
    evidence, _ = Capital.none(1).after(paid, 0)
    assert np.isfinite(evidence.sums).all()
    assert evidence.began(0) < 1


def test_false_alarms_are_as_rare_as_said():
    """P(a sum of n passes c within n rows) is at most n / c, here with c = 10 n."""
    rng = np.random.default_rng(0)
    u = rng.random((200, 3000))
    evidence, _ = Capital.none(3000).after(ratios(u), 0)
    assert (evidence.peaks >= 2000).mean() <= 0.1 + 0.02
    assert (evidence.peaks >= 2000).mean() > 0.01  # the bound is not idle
