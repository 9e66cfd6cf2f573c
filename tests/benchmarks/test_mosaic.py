"""A mosaic against landmarks: what is measured, and what if there is no such map."""

from functools import partial

import numpy as np
import pytest

from benchmarks import mosaic, real_data
from benchmarks.records import as_line
from rhokit import DMKDE

TINY = mosaic.Sizes(n=300, n_queries=50, n_streamed=600, n_drawn=5, repeats=1)


def clusters(sizes):
    return mosaic._clusters(3, sizes)


@pytest.fixture
def stand_in(monkeypatch):
    """A few landmarks in the place of the mosaic, where there is none yet."""

    def make(**settings):
        if settings["feature_map"] == mosaic.NAME:
            settings |= {"feature_map": "landmarks", "n_components": 8}
        return DMKDE(**settings)

    monkeypatch.setattr(mosaic, "DMKDE", make)
    monkeypatch.setattr(mosaic, "LANDMARKS", 16)


def test_without_the_map_every_line_says_so(monkeypatch):
    monkeypatch.setattr(mosaic, "NAME", "no-such-map")
    found = [*mosaic.versus("clusters", clusters, TINY), *mosaic.alone(TINY, d=3)]
    assert len(found) == 6
    assert {result.value for result in found} == {None}
    assert {result.details["reason"] for result in found} == {"no such map"}
    text = mosaic.table([as_line(result) for result in found])
    assert text.endswith("no such map")


def test_both_maps_are_timed_and_judged_on_the_same_rows(stand_in):
    fit, predict, nats = mosaic.versus("clusters", clusters, TINY)
    assert fit.case == "clusters, 300 × 3"
    for result in (fit, predict):
        ratio = result.details["landmarks_seconds"] / result.details["mosaic_seconds"]
        assert result.value == pytest.approx(ratio)
        assert result.goal.at_least == 10
    apart = nats.details["mosaic_nats"] - nats.details["landmarks_nats"]
    assert nats.value == pytest.approx(apart)


def test_alone_it_streams_is_saved_and_drawn_from(stand_in):
    pace, size, draw = mosaic.alone(TINY, d=3)
    assert pace.details["rows"] == 600
    assert pace.value > 0
    assert size.value > 500
    assert draw.details["rows"] == 5


def test_tasks_are_clusters_real_rows_and_the_mosaic_alone(tmp_path, monkeypatch):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    X = np.random.default_rng(0).integers(9, size=(350, 12))
    np.savez(tmp_path / "covtype.npz", X=X, y=np.zeros(350))
    names = [task.name for task in mosaic.tasks(quick=False)]
    assert names == ["clusters, 10", "clusters, 40", "covtype", "alone"]
    rows, queries = mosaic._cover(TINY)
    assert (rows.shape, queries.shape) == ((300, 10), (50, 10))


def test_an_error_of_another_kind_is_not_hidden(monkeypatch):
    monkeypatch.setattr(mosaic, "DMKDE", partial(DMKDE, gamma=-1.0))
    with pytest.raises(ValueError, match="gamma"):
        mosaic.absence()
