"""Mosaics from Dask collections: the sums of all rows."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
from numpy.testing import assert_allclose

from rhokit import DMKDE
from rhokit.features import MosaicFeatures
from rhokit.parallel.dask import fit, score_samples
from tests.estimators.test_mixed import table


def mosaic():
    return DMKDE(feature_map=MosaicFeatures(n_cells=10), random_state=0)


def test_of_numbers():
    X = np.random.default_rng(0).normal(size=(600, 3)) ** 3
    data = da.from_array(X, chunks=(150, 3))
    found, whole = fit(mosaic(), data), mosaic().fit(X)
    # The same rows choose the map, whichever chunk they came in.
    assert_allclose(found.score_samples(X), whole.score_samples(X), 1e-9)
    assert_allclose(score_samples(found, data).compute(), found.score_samples(X))


def test_of_mixed_columns():
    frame = table(300)
    found = fit(mosaic(), dd.from_pandas(frame, npartitions=4))
    whole = mosaic().fit(frame)
    assert_allclose(found.score_samples(frame), whole.score_samples(frame), 1e-9)
