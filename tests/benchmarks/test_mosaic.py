"""A mosaic against landmarks: what is measured."""

import numpy as np
import pytest

from benchmarks import mosaic, real_data

TINY = mosaic.Sizes(300, 50, n_streamed=600, n_filed=900, n_drawn=5, repeats=1)


def clusters(sizes):
    return mosaic._clusters(3, sizes)


@pytest.fixture(autouse=True)
def few_landmarks(monkeypatch):
    monkeypatch.setattr(mosaic, "LANDMARKS", 16)


def test_both_maps_are_timed_and_judged_on_the_same_rows():
    fit, predict, nats = mosaic.versus("clusters", clusters, TINY)
    assert fit.case == "clusters, 300 × 3"
    for result in (fit, predict):
        ratio = result.details["landmarks_seconds"] / result.details["mosaic_seconds"]
        assert result.value == pytest.approx(ratio)
        assert result.goal.at_least == 10
    apart = nats.details["mosaic_nats"] - nats.details["landmarks_nats"]
    assert nats.value == pytest.approx(apart)


def test_alone_it_streams_is_saved_and_drawn_from():
    pace, share, size, draw = mosaic.alone(TINY, d=3)
    assert share.value == pytest.approx(
        pace.value * _n_cells(pace.case) * 16 / share.details["peak_flops"]
    )
    assert pace.details["rows"] == 600
    assert pace.value > 0
    assert size.value > 500
    assert draw.details["rows"] == 5


def _n_cells(case):
    return int(case.split()[2])


def test_a_file_is_compared_with_reading_and_learning():
    (result,) = mosaic.file(TINY, d=3)
    parts = result.details
    expected = parts["reading"] + 900 / parts["rows_per_second"]
    assert result.value == pytest.approx(parts["whole"] / expected)


def test_tasks_are_clusters_real_rows_and_the_mosaic_alone(tmp_path, monkeypatch):
    monkeypatch.setenv(real_data.VARIABLE, str(tmp_path))
    X = np.random.default_rng(0).integers(9, size=(350, 12))
    np.savez(tmp_path / "covtype.npz", X=X, y=np.zeros(350))
    names = [task.name for task in mosaic.tasks(quick=False)]
    kinds = "clusters, 10", "clusters, 40", "covtype"
    pairs = [name for kind in kinds for name in (f"{kind}, few cells", kind)]
    assert names == [*pairs, "alone, few cells", "alone", "file"]
    rows, queries = mosaic._cover(TINY)
    assert (rows.shape, queries.shape) == ((300, 10), (50, 10))
