"""Refusals that belong to no single estimator."""

import numpy as np
import pytest

from rhokit import DMKDE, DMKDClassifier, OneHotFeatures
from tests.catalogue import LANDMARKS, labels_of, mixed, normal_rows, words


def test_categories_are_not_drawn():
    model = DMKDE(**LANDMARKS).fit(mixed(40, 0)[["x", "group"]])
    with pytest.raises(ValueError, match=r"categories in .*take marginal\(\)"):
        model.grid()
    with pytest.raises(ValueError, match="not those of OneHotFeatures"):
        DMKDE(feature_map=OneHotFeatures()).fit(words(20, 0)).grid()


def test_words_are_not_scaled():
    model = DMKDE(feature_map=OneHotFeatures(), scale="std")
    with pytest.raises(ValueError, match="'scale' parameter must be None"):
        model.fit(words(20, 0))


def test_a_rank_that_was_not_chosen():
    model = DMKDE(**LANDMARKS, rank=3).fit(normal_rows(40, 0))
    assert not hasattr(model, "rank_")


def test_a_model_without_a_sample_cannot_join_one_that_needs_it():
    rows = normal_rows(60, 0)
    data = rows, labels_of(rows, 0)
    model = DMKDClassifier(**LANDMARKS, reject=0.1).prepare(*data)
    other = model.blank().set_params(reject=None).partial_fit(*data)
    with pytest.raises(ValueError, match="kept no sample of them"):
        model.blank().partial_fit(*data).merge(other)
    assert np.isfinite(other.score_samples(rows)).all()
