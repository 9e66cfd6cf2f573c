"""Every density that is compared, on rows few enough to sum over."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from benchmarks import density
from benchmarks.contest import Limits
from benchmarks.contestants.densities import AUTO, CONTESTANTS
from benchmarks.exact import exact_log_density, log_relative_rmse
from benchmarks.real_data import missing

# Largest relative RMSE in one and two columns, and in ten. The sketch keeps few rows,
# random features see no low densities, and 300 landmarks of 400 rows not every row.
WORST = {
    AUTO: (1e-8, 0.2),
    "rhokit landmarks": (1e-5, 0.2),
    "rhokit landmarks, 256": (1e-3, 0.2),
    "rhokit mosaic": (0.1, 0.1),
    "rhokit fourier": (0.1, 0.5),
    "rhokit quadrature": (1e-8, None),
    "linear landmarks": (1e-4, 0.2),
    "fused exact": (1e-5, 1e-5),
    "fused exact, same cost": (1e-5, 1e-5),
    "bare finufft": (1e-7, None),
    "KDEpy FFTKDE": (2e-3, None),
    "KDEpy TreeKDE": (2e-3, 0.05),
    "scikit-learn KernelDensity": (1e-2, 1e-2),
    "scipy gaussian_kde": (1e-9, 1e-4),
    "mlpack kde": (1e-2, 1e-2),
    "dmkde": (0.1, 0.5),
    "DataSketches density_sketch": (0.3, 1.0),
}


def setting(d, n=400, bandwidth=density.WIDE):
    data = {1: "bimodal", 2: "spirals"}.get(d, "clusters")
    return density.Setting(data, d, n, bandwidth)


def test_every_contestant_has_its_bound():
    assert list(WORST) == [contestant.name for contestant in CONTESTANTS]


@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda c: c.name)
def test_answers_are_near_the_exact_density(contestant, d):
    case = density.make_case(setting(d), 300)
    facts = case.facts | case.sizes | {"threads": 1}
    worst = WORST[contestant.name][d > 2]
    reason = contestant.absence(facts)
    if reason is not None:
        assert "not installed" in reason or worst is None or "auto" in reason
        pytest.skip(reason)
    model = contestant.build(facts)
    if hasattr(model, "prepare"):
        model.prepare(case.rows, case.queries)
    exact = exact_log_density(case.rows, case.queries, facts["gamma"])
    model.fit(case.rows.copy(), None)
    # Twice: one that changed its rows or queries would change its answers.
    for _ in range(2):
        queries = case.queries.copy()
        found = model.answer(queries)
        assert log_relative_rmse(found, exact) < worst
        assert_allclose(queries, case.queries)


def test_a_subset_costs_what_it_may():
    contestant = next(c for c in CONTESTANTS if c.after == AUTO)
    case = density.make_case(setting(10), 300)
    facts = case.facts | case.sizes | {"threads": 1}
    sizes = []
    for seconds in (1e-9, 1e9):
        model = contestant.build(facts | {"seconds": seconds})
        model.prepare(case.rows, case.queries)
        model.fit(case.rows)
        sizes.append(model.columns)
    assert sizes == [1, 400]


@pytest.mark.parametrize("d", [1, 2, 10])
def test_rows_of_a_case_have_the_identity_as_covariance(d):
    case = density.make_case(setting(d), 50)
    assert case.rows.shape == (400, d)
    assert case.queries.shape == (50, d)
    covariance = np.atleast_2d(np.cov(case.rows, rowvar=False))
    assert_allclose(covariance, np.eye(d), atol=1e-5)
    scott = density.make_case(setting(d, bandwidth=density.SCOTT), 50)
    assert_allclose(1 / np.sqrt(2 * scott.facts["gamma"]), 400 ** (-1 / (d + 4)))
    assert_allclose(scott.facts["gamma"], 16 * case.facts["gamma"])
    median = density.make_case(setting(d, bandwidth=density.MEDIAN), 50)
    squares = pdist(case.rows, "sqeuclidean")
    assert_allclose(median.facts["gamma"], 0.5 / np.median(squares), rtol=0.1)


@pytest.mark.parametrize(
    ("data", "d"), [("covtype", 10), pytest.param("mnist", 40, marks=pytest.mark.slow)]
)
def test_real_rows(data, d):
    reason = missing(data)
    if reason:
        pytest.skip(reason)
    case = density.make_case(density.Setting(data, d, 300), 40)
    assert case.rows.shape == (300, d)
    assert case.queries.shape == (40, d)
    assert_allclose(np.cov(case.rows, rowvar=False), np.eye(d), atol=1e-4)


def test_settings_cover_all_sizes():
    full = [(s.d, s.n) for s in density.settings(quick=False)]
    assert {(d, n) for d in (1, 2, 10, 40) for n in (10**4, 10**5, 10**6)} <= set(full)
    names = [task.name for task in density.tasks(quick=False)]
    assert len(set(names)) == len(names)
    assert len(list(density.tasks(quick=True))) < len(names)


def line(name, seconds, error, *, ours=False, reason=None):
    return {
        "contestant": name,
        "ours": ours,
        "reason": reason,
        "total_seconds": {"100000": seconds},
        "error": error,
    }


def test_who_wins_is_both_faster_and_more_accurate():
    lines = [
        line(AUTO, 1.0, 1e-3, ours=True),
        line("ours, too", 0.1, 1e-9, ours=True),
        line("faster", 0.5, 1e-2),
        line("more accurate", 2.0, 1e-9),
        line("both", 0.5, 1e-9),
        line("absent", 0.1, 1e-9, reason="away"),
        line("without an error", 0.1, float("nan")),
    ]
    assert density.winners(lines, 100_000) == ["both"]
    lines[0]["reason"] = "out of time"
    assert density.winners(lines, 100_000) == []


@pytest.mark.slow  # but where the rivals are: `make test-rivals`
def test_a_contest_from_rows_to_table():
    limits = Limits(rounds=1, budget=0.05, patience=60.0)
    found = list(density.results(setting(2), limits, checked=30))
    by_name = {r.details["contestant"]: r for r in found[:-1]}
    assert list(by_name) == list(WORST)
    assert by_name[AUTO].value < 1e-8
    assert by_name[AUTO].details["nats"] < 1e-8
    assert found[-1].metric == density.LOST
    assert found[-1].goal is None  # only from 100,000 rows on
    lines = [vars(result) for result in found]
    text = density.table(lines)
    assert "* rhokit auto" in text
    assert "scipy gaussian_kde" in text
    for name, result in by_name.items():
        assert name in text, (name, result.details)
