"""Mosaics as files: straight and bent columns, categories, parts, far rows."""

import numpy as np
import pytest

from rhokit import DMKDE
from rhokit.features import MosaicFeatures
from rhokit.features.bends import LOG
from tests.export.support import (
    answers,
    assert_same_density,
    feeds,
    frame,
    real,
    run,
    session_of,
    single,
    wine,
)


def mosaic(n_cells=10):
    return DMKDE(feature_map=MosaicFeatures(n_cells=n_cells), random_state=0)


def compare(model, X, folder, **options):
    found = run(model, X, folder)["log_density"]
    assert found.dtype == np.float64
    assert_same_density(found, model.score_samples(X), **options)


def test_of_straight_columns(tmp_path):
    X = single(np.random.default_rng(0).normal(size=(300, 4)))
    model = mosaic().fit(X)
    assert model.feature_map_.shapes_.are_lines
    compare(model, X, tmp_path)


def test_of_bent_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = single(np.column_stack([rng.lognormal(size=500), rng.standard_t(2, (500, 2))]))
    model = mosaic().fit(X)
    assert model.feature_map_.kinds_.tolist() == [LOG, 2, 2]
    compare(model, X, tmp_path)


def test_is_impossible_where_logarithms_end(tmp_path):
    X = single(np.random.default_rng(0).lognormal(size=(500, 2)))
    model = mosaic().fit(X)
    X[:3, 0] = [-1e-9, -1, -1e30]
    X[3, 0] = 0  # which may be a value
    found = run(model, X, tmp_path)["log_density"]
    assert np.isneginf(found[:3]).all()
    assert_same_density(found[3:], model.score_samples(X[3:]))


def test_goes_on_beyond_suggested_ends(tmp_path):
    X = single(np.random.default_rng(0).random(size=(3000, 3)))
    model = mosaic().fit(X)
    assert (model.feature_map_.shapes_.turn > 0).any()
    X[:6, 0] = [-0.001, -0.01, -3, 1.002, 1.1, 40]
    compare(model, single(X), tmp_path, tolerance=1e-7)


def test_of_real_rows(tmp_path):
    X = single(real("density_magic")["X"])
    # Polynomials of narrow cells cancel digits, in the file and in the model.
    compare(mosaic(30).fit(X[:1000]), X[1000:3000], tmp_path, tolerance=1e-7)


def test_of_a_kernel(tmp_path):
    X = wine()[0][:, :4]
    model = DMKDE(feature_map="mosaic", gamma=2.0, random_state=0).fit(X)
    compare(model, X, tmp_path)


@pytest.mark.parametrize("part", ["marginal", "conditional"])
def test_of_parts(part, tmp_path):
    X = wine()[0][:, :5]
    model = mosaic().fit(X)
    given = {0: 13.0, 1: 2.0}
    model = (
        model.marginal([2, 3, 4]) if part == "marginal" else model.conditional(given)
    )
    compare(model, X[:, 2:], tmp_path, tolerance=1e-8)


def test_of_mixed_columns(tmp_path):
    table = frame()
    model = mosaic().fit(table)
    found = answers(session_of(model, tmp_path), feeds())["log_density"]
    assert_same_density(found, model.score_samples(table))


def test_far_rows_are_far(tmp_path):
    X = wine()[0][:, :4]
    model = mosaic().fit(X)
    far = single(np.concatenate([X[:3] * factor for factor in (3, -20, 1e3, 1e6)]))
    compare(model, far, tmp_path, tolerance=1e-6)
