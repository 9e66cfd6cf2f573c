"""The section of curves on a few rows, and the exponents that are fitted to them."""

import sys
from dataclasses import replace
from itertools import chain, cycle
from subprocess import CalledProcessError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks import fits, scaling
from benchmarks.records import as_line
from benchmarks.runs import SECONDS
from rhokit import DMKDE

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
SIZES = (100, 300, 900)


def curves(results):
    """The exponents' lines by curve, each after one line for each of its points."""
    results, found = list(results), {}
    points = []
    for line in results:
        if line.metric != "exponent":
            points.append(line)
            continue
        details = line.details
        assert [p.details["size"] for p in points] == details["sizes"]
        assert [p.value for p in points] == details["values"]
        assert {p.case for p in points} == {line.case}
        assert {p.metric for p in points} == {details["measure"].split()[-1]}
        assert all(value > 0 for value in details["values"])
        found[details["measure"], details["axis"], details["model"]] = line
        points = []
    assert not points
    return found


class TestPower:
    def test_is_that_of_a_power_law(self):
        sizes = np.array([1.0, 10.0, 100.0])
        assert_allclose(fits.power(sizes, 3 * sizes**-0.5), -0.5)
        assert_allclose(fits.power([8, 2], [9.0, 9.0]), 0, atol=1e-12)

    @pytest.mark.parametrize("count", [3, 4, 7])
    def test_small_sizes_do_not_count(self, count):
        sizes = 10.0 ** np.arange(count)
        values = sizes**2
        values[: (count - 1) // 2] = 7e8  # the cost of every call, or anything else
        assert_allclose(fits.power(sizes, values), 2)
        assert_allclose(fits.power(sizes[::-1], values[::-1]), 2)

    def test_is_the_least_squares_slope(self):
        sizes, values = np.array([1, 2, 4, 8, 16.0]), np.array([5, 5, 1, 3, 2.0])
        x, y = np.log(sizes[2:]), np.log(values[2:])
        expected = np.cov(x, y)[0, 1] / np.var(x, ddof=1)
        assert_allclose(fits.power(sizes, values), expected)

    def test_of_one_point_is_none(self):
        assert np.isnan(fits.power([10], [1.0]))


class TestTimes:
    @pytest.fixture
    def clock(self, monkeypatch):
        """Seconds that pass only where a job says so."""
        now = [0.0]
        monkeypatch.setattr("time.perf_counter", lambda: now[0])
        return now

    def job(self, clock, *seconds):
        """A job whose runs take so long, the last number from then on."""
        left = list(seconds)

        def run():
            clock[0] += left.pop(0) if len(left) > 1 else left[0]
            run.calls += 1

        run.calls = 0
        return run

    def test_are_medians_of_the_rounds(self, clock):
        jobs = {1: self.job(clock, 0.4, 0.4, 0.4, 0.1, 0.3, 0.2, 9.0)}
        jobs[2] = self.job(clock, 0.25)
        assert_allclose(list(fits.times(jobs, 3).values()), [0.2, 0.25])

    def test_a_slow_first_run_does_not_count(self, clock):
        jobs = {1: self.job(clock, 0.01), 2: self.job(clock, 0.9, 0.02)}
        assert_allclose(fits.times(jobs, 1)[2], 0.02)

    def test_long_jobs_are_not_repeated(self, clock):
        jobs = {n: self.job(clock, seconds) for n, seconds in ((1, 0.1), (2, 50.0))}
        assert fits.times(jobs, 3) == pytest.approx({1: 0.1, 2: 50.0})
        assert jobs[2].calls == 1
        assert list(fits.times(jobs, 3)) == [1, 2]


class TestCurves:
    @pytest.mark.parametrize("model", scaling.MODELS.values(), ids=lambda m: m.name)
    def test_over_rows(self, model):
        found = curves(scaling.over_rows(model, SIZES, 1, n_queries=50))
        assert {key[:2] for key in found} == {
            ("fit seconds", "training rows"),
            ("prediction seconds", "training rows"),
        }
        for (measure, *_), line in found.items():
            assert line.details["expected"] == (measure == "fit seconds")
            assert line.details["sizes"] == list(SIZES)

    def test_models_are_fitted_to_so_many_rows(self, monkeypatch):
        asked = []
        monkeypatch.setattr(
            scaling, "_asking", lambda fitted, queries: asked.append(fitted) or {1: int}
        )
        model = scaling.MODELS["DMKDE, 256 landmarks"]
        list(scaling.over_rows(model, SIZES, 1, n_queries=50))
        weights = {n: float(m.state_.weight[0]) for n, m in asked[0].items()}
        assert weights == {n: float(n) for n in SIZES}

    def test_of_those_that_keep_all_rows(self):
        results = scaling.exact_over_rows((100, 300), 1, n_queries=20, tree_queries=5)
        found = curves(results)
        assert [key[::2] for key in found] == [
            ("fit seconds", scaling.TREE),
            ("prediction seconds", scaling.TREE),
            ("prediction seconds", scaling.EXACT),
        ]
        tree = found["prediction seconds", "training rows", scaling.TREE].details
        assert (tree["queries"], tree["timed_queries"]) == (20, 5)

    def test_fewer_queries_are_scaled_up(self, monkeypatch):
        def two_seconds(jobs, rounds):
            for job in jobs.values():
                job()
            return dict.fromkeys(jobs, 2.0)

        monkeypatch.setattr(scaling, "times", two_seconds)
        results = scaling.exact_over_rows((100, 300), 1, n_queries=20, tree_queries=5)
        found = curves(results)
        key = "prediction seconds", "training rows"
        assert found[*key, scaling.TREE].details["values"] == [8, 8]
        assert found[*key, scaling.EXACT].details["values"] == [2, 2]

    @pytest.mark.parametrize("kind", ["Fourier", "landmarks"])
    def test_over_columns(self, kind):
        (line,) = curves(
            scaling.over_columns(kind, (16, 32), 1, n=200, n_queries=50)
        ).values()
        assert line.details["sizes"] == [16, 32]
        assert line.details["expected"] == 2

    def test_over_rank(self):
        (line,) = curves(scaling.over_rank((2, 4, 16), 1, n=200, n_queries=50)).values()
        assert line.details["model"] == "DMKDE, Fourier, D = 16"

    def test_over_classes(self):
        found = curves(scaling.over_classes((2, 8), 1, n=200, dim=16, n_queries=50))
        assert [key[:2] for key in found] == [
            ("fit seconds", "classes"),
            ("prediction seconds", "classes"),
        ]

    def test_classes_are_as_many_as_asked_for(self):
        _, counts = np.unique(scaling.labels(np.zeros((60, 1)), 6), return_counts=True)
        assert_array_equal(counts, np.full(6, 10))


class TestGoals:
    def test_ratios(self):
        fit, ask = scaling.ratios(1, 1000, 1, dim=16, n_queries=50)
        assert (fit.goal.at_least, fit.goal.at_most) == pytest.approx((9, 11))
        assert (ask.goal.at_least, ask.goal.at_most) == pytest.approx((0.9, 1.1))
        assert fit.threads == ask.threads == 1
        assert fit.case.endswith("1,000 rows against 100")
        assert ask.case.endswith("1,000 rows against 10")

    def test_are_of_the_larger_over_the_smaller(self, monkeypatch):
        seconds = chain([1.0, 10.0], cycle([3.0, 3.3]))
        monkeypatch.setattr("benchmarks.timing._seconds", lambda job: next(seconds))
        fit, ask = scaling.ratios(1, 1000, 1, dim=16, n_queries=50)
        assert (fit.value, ask.value) == pytest.approx((10, 1.1))


class TestMemory:
    def test_a_stream_makes_the_same_model(self, monkeypatch):
        monkeypatch.setattr(scaling, "_BATCH_ROWS", 40)
        built, drawn = [], []

        def build():
            built.append(
                DMKDE(
                    gamma=4.0,
                    n_components=64,
                    feature_map="fourier",
                    scale=None,
                    random_state=0,
                )
            )
            return built[-1]

        class Noted(scaling.Model):
            def draw(self, n, seed=0):
                drawn.append(super().draw(n, seed))
                return drawn[-1]

        assert list(scaling.stream(Noted("", build), (30, 150))) == [30, 150]
        assert [len(rows) for (rows,) in drawn] == [30, 40, 40, 40]
        rows = np.concatenate([rows for (rows,) in drawn])
        assert len(np.unique(rows, axis=0)) == 150
        streamed, whole = built[0], build().fit(rows)
        assert_allclose(
            streamed.score_samples(rows), whole.score_samples(rows), rtol=1e-5
        )

    @pytest.mark.parametrize("name", [*scaling.MODELS])
    def test_every_model_takes_streams(self, name):
        assert list(scaling.stream(scaling.MODELS[name], (300, 700))) == [300, 700]

    @LINUX
    def test_in_a_process_of_its_own(self):
        sizes = (20_000, 60_000)
        (line,) = curves(scaling.memory(scaling.TREE, sizes, 1.0)).values()
        small, large = line.details["values"]
        assert line.details["sizes"] == list(sizes)
        assert large > 60_000 * 10 * 8 / 2**20  # the rows themselves, in double
        assert large > 2 * small

    def test_tells_of_a_process_that_failed(self, capfd):
        with pytest.raises(CalledProcessError):
            list(scaling.memory("nobody", (100,), 0.0))
        assert "nobody" in capfd.readouterr().err


class TestTasks:
    @pytest.mark.parametrize("quick", [True, False])
    def test_have_names_of_their_own(self, quick):
        names = [task.name for task in scaling.tasks(quick)]
        assert len(names) == len(set(names)) > 5

    def test_sizes_are_equally_spaced(self):
        sizes = scaling.spaced(4, 7, 7)
        assert (sizes[0], sizes[2], sizes[-1]) == (10**4, 10**5, 10**7)
        assert_allclose(np.diff(np.log10(sizes)), 0.5, atol=1e-3)


class TestTable:
    @pytest.fixture
    def lines(self):
        curve = scaling.Curve("a model", "fit seconds", "rows", 1.0)
        results = [*curve.results({1000: 0.5, 10_000: 5.0})]
        results += scaling.ratios(1, 1000, 1, dim=16, n_queries=50)
        results.append(replace(results[0], case="a task", metric=SECONDS))
        return [as_line(result) for result in results]

    def test_has_ends_and_exponents_and_goals(self, lines):
        text = scaling.table(lines)
        row = next(t for t in text.splitlines() if t.startswith("a model"))
        for cell in ("fit seconds", "1,000 → 10,000", "0.5 → 5", "1.00"):
            assert cell in row
        assert "9 to 11" in text
        assert "a task" not in text

    def test_without_goals(self, lines):
        text = scaling.table(lines[:3])
        assert len(text.splitlines()) == 3

    def test_of_a_curve_without_exponent(self):
        curve = scaling.Curve("a model", "fit seconds", "rows", 1.0)
        text = scaling.table([as_line(r) for r in curve.results({10: 1.0})])
        assert "none" in text
