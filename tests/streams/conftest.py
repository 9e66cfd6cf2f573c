"""Fixtures of the tests of streams."""

import pytest

from rhokit import DMKDE


@pytest.fixture
def learned_sizes(monkeypatch):
    """How many rows a density has learned at each call, as they come."""
    sizes, learn = [], DMKDE.partial_fit

    def spy(self, X, y=None, **options):
        sizes.append(len(X))
        return learn(self, X, y, **options)

    monkeypatch.setattr(DMKDE, "partial_fit", spy)
    return sizes
