"""What every feature map keeps to."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone

from rhokit.testing.cases import MapCase
from rhokit.testing.refusals import assert_refused, bad_rows

MapLaw = Callable[[MapCase], None]
MAP_LAWS: dict[str, MapLaw] = {}
_THREADS = 8


def _law(law: MapLaw) -> MapLaw:
    MAP_LAWS[law.__name__] = law
    return law


def _overlaps(states: NDArray[Any]) -> NDArray[np.float64]:
    """Squared overlaps, which rotations of the states leave as they are."""
    return np.abs(states @ states.conj().T) ** 2


@_law
def shapes(case: MapCase) -> None:
    """Columns, states and whitening are as wide as the map says."""
    fitted, rows = case.fitted(), case.queries()
    columns, states = _columns(fitted, rows)[0], fitted.transform(rows)
    assert columns.shape == (len(rows), fitted.n_columns_)
    assert columns.dtype == fitted.column_dtype_
    assert states.shape == (len(rows), fitted.n_components_)
    if fitted.whitening_ is not None:
        assert fitted.whitening_.shape == (fitted.n_columns_, fitted.n_components_)


def _columns(fitted: Any, rows: Any, **options: Any) -> tuple[Any, Any]:
    columns: tuple[Any, Any] = fitted.columns(np.asarray(rows), **options)
    return columns


@_law
def states_are_whitened_columns(case: MapCase) -> None:
    """States are the whitening applied to columns, times the scale taken out."""
    fitted, rows = case.fitted(), case.queries()
    if fitted.representation == "series":
        return  # whose columns are angles
    for relative in (False, True):
        columns, scale = _columns(fitted, rows, relative=relative)
        if fitted.whitening_ is not None:
            columns = columns @ fitted.whitening_
        if scale is not None:
            assert relative
            columns = columns * np.exp(scale)[:, None]
        assert_allclose(columns, fitted.transform(rows), atol=case.tolerance)


@_law
def row_scale_multiplies_columns(case: MapCase) -> None:
    """A factor for each row multiplies its columns."""
    fitted, rows = case.fitted(), case.queries()
    if fitted.representation == "series":
        return
    factor = np.random.default_rng(0).uniform(0.5, 2, len(rows)).astype(fitted.dtype_)
    plain, _ = _columns(fitted, rows)
    scaled, _ = _columns(fitted, rows, row_scale=factor)
    assert_allclose(scaled, plain * factor[:, None], atol=case.tolerance)


@_law
def memory_that_is_offered_changes_nothing(case: MapCase) -> None:
    """Columns are the same in memory of the caller's."""
    fitted, rows = case.fitted(), case.queries()
    out = np.empty((len(rows), fitted.n_columns_), fitted.column_dtype_)
    assert_array_equal(_columns(fitted, rows, out=out)[0], _columns(fitted, rows)[0])


@_law
def overlaps_are_at_most_one(case: MapCase) -> None:
    """States have a length of about one at most."""
    fitted, rows = case.fitted(), case.queries()
    reach = fitted.reach(rows) if _has_reach(fitted) else np.ones(len(rows))
    assert (reach <= 1 + case.tolerance).all()
    assert (reach >= 0).all()


def _has_reach(fitted: Any) -> bool:
    return not getattr(fitted, "normalize", False) or not fitted.from_data


@_law
def lengths_are_those_of_states(case: MapCase) -> None:
    """Squared lengths are told without the states."""
    fitted, rows = case.fitted(), case.queries()
    states = fitted.transform(rows)
    expected = np.vecdot(states, states).real
    tolerance = max(case.tolerance, 1e-6 if fitted.representation == "series" else 0)
    assert_allclose(fitted.lengths(rows), expected, atol=tolerance)


@_law
def rows_do_not_see_each_other(case: MapCase) -> None:
    """States of rows, in any split and order, are those of all at once."""
    fitted, rows = case.fitted(), case.queries()
    whole = fitted.transform(rows)
    order = np.random.default_rng(0).permutation(len(rows))
    parts = [fitted.transform(rows[part]) for part in np.array_split(order, 3)]
    assert_allclose(np.concatenate(parts), whole[order], atol=case.tolerance)


@_law
def order_of_rows_does_not_matter(case: MapCase) -> None:
    """A map is drawn from the set of its rows, not from their order."""
    rows, queries = case.rows(40, 0), case.queries()
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = clone(case.feature_map).fit(rows[order])
    expected = _overlaps(case.fitted().transform(queries))
    assert_allclose(_overlaps(shuffled.transform(queries)), expected, atol=1e-6)


@_law
def weights_are_copies(case: MapCase) -> None:
    """A weight of k is k copies of the row, and of zero none."""
    rows, queries = case.rows(40, 0), case.queries()
    counts = np.arange(40) % 3 + (np.arange(40) < 25)
    weighted = clone(case.feature_map).fit(rows, sample_weight=counts)
    copied = clone(case.feature_map).fit(np.repeat(rows, counts, axis=0))
    expected = _overlaps(copied.transform(queries))
    assert_allclose(_overlaps(weighted.transform(queries)), expected, atol=1e-6)


@_law
def equal_fits_have_equal_fingerprints(case: MapCase) -> None:
    """What is drawn follows from the rows and the parameters."""
    first, second = case.fitted(), case.fitted()
    assert first.fingerprint() == second.fingerprint()
    assert first.fit(case.rows(40, 0)).fingerprint() == second.fingerprint()


@_law
def survives_pickles(case: MapCase) -> None:
    """A map that was pickled is the map."""
    fitted, rows = case.fitted(), case.queries()
    again = pickle.loads(pickle.dumps(fitted))
    assert again.fingerprint() == fitted.fingerprint()
    assert_array_equal(again.transform(rows), fitted.transform(rows))


@_law
def can_be_cloned(case: MapCase) -> None:
    """A clone has the parameters and nothing that was drawn."""
    copy = clone(case.fitted())
    assert repr(copy) == repr(case.feature_map)
    assert not [name for name in vars(copy) if name.endswith("_")]


@_law
def answering_changes_nothing(case: MapCase) -> None:
    """Nothing about rows that are asked for is kept."""
    fitted, rows = case.fitted(), case.queries()
    fitted.transform(rows)
    before = pickle.dumps(fitted)
    fitted.transform(rows[:3])
    fitted.lengths(rows)
    assert pickle.dumps(fitted) == before


@_law
def threads_get_the_same_states(case: MapCase) -> None:
    """Many threads at once get what one gets."""
    fitted, rows = case.fitted(), case.queries()
    expected = fitted.transform(rows)
    with ThreadPoolExecutor(_THREADS) as pool:
        for found in pool.map(fitted.transform, [rows] * 2 * _THREADS):
            assert_array_equal(found, expected)


@_law
def another_gamma_is_another_fit(case: MapCase) -> None:
    """``with_gamma`` is a fit with that γ to the same rows."""
    if "gamma" not in case.feature_map.get_params():
        return
    rows, queries = case.rows(40, 0), case.queries()
    found = case.fitted().with_gamma(2.0, rows, None)
    expected = clone(case.feature_map).set_params(gamma=2.0).fit(rows)
    assert found.get_params()["gamma"] == 2.0
    assert found.fingerprint() == expected.fingerprint()
    assert_array_equal(found.transform(queries), expected.transform(queries))


@_law
def bad_rows_leave_it_as_it_was(case: MapCase) -> None:
    """Rows that are refused change nothing."""
    if not case.feature_map.numeric_rows:
        return
    fitted, rows = case.fitted(), case.queries()
    for name, bad in bad_rows(rows).items():
        assert_refused(fitted, partial(fitted.transform, bad), name)
        if name != "width":
            assert_refused(fitted, partial(fitted.fit, bad), name)
    weights = np.where(np.arange(len(rows)) == 2, -1.0, 1.0)
    refused = partial(fitted.fit, rows, sample_weight=weights)
    assert_refused(fitted, refused, "negative weight")
