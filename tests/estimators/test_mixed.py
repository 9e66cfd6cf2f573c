"""Numbers and categories in one model: against kernels written out, and by laws."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from rhokit import (
    DMKDE,
    DMKDClassifier,
    MeanEmbeddingKDE,
    QMClassifier,
    QMOrdinalClassifier,
    QMRegressor,
)

LEVELS = ["low", "middle", "high"]
MODELS = [
    DMKDE(n_components=24, random_state=0),
    DMKDE(n_components=24, feature_map="fourier", random_state=0),
    DMKDE(n_components=24, scale="whiten", random_state=0),
    MeanEmbeddingKDE(n_components=24, random_state=0),
    DMKDClassifier(n_components=24, random_state=0),
    QMClassifier(n_components=24, random_state=0),
    QMOrdinalClassifier(n_components=24, random_state=0),
    QMRegressor(n_components=24, n_levels=8, random_state=0),
]
EVERY_MODEL = pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m)[:40])


def table(n=120, seed=0):
    """Numbers x, y with groups in x, and a level that follows y."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    x, y = rng.normal(3 * group, 1), rng.normal(size=n)
    level = np.digitize(y + 0.3 * rng.normal(size=n), [-0.5, 0.5])
    return pd.DataFrame(
        {
            "x": x,
            "group": pd.Categorical.from_codes(group, ["a", "b", "c"]),
            "y": y,
            "level": pd.Categorical.from_codes(level, LEVELS, ordered=True),
        }
    )


def target(model, frame):
    """Something to learn from the rows, of the model's kind; None for densities."""
    if isinstance(model, QMRegressor):
        return frame["x"].to_numpy() + frame["y"].to_numpy()
    if isinstance(model, DMKDE | MeanEmbeddingKDE):
        return None
    return (frame["x"] > 3).to_numpy().astype(int)


def answer(model, frame):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(frame)
    if hasattr(model, "predict"):
        return model.predict(frame)
    return model.score_samples(frame)


def all_categories(frame):
    """The frame once for every combination of group and level, unseen ones too."""
    for group in [*frame["group"].cat.categories, "unseen"]:
        for level in [*LEVELS, "unseen"]:
            yield frame.assign(group=group, level=level)


class TestDensity:
    """Over landmarks that are all rows nothing is approximated."""

    @pytest.mark.parametrize("gamma", [1.7, 900.0])  # e^900 is beyond all numbers
    def test_product_of_kernels_written_out(self, gamma):
        frame = table()[["x", "group"]]
        model = DMKDE(gamma=gamma, scale=None, n_components=500)
        model.set_params(feature_map="landmarks", missing="integrate").fit(frame)
        x, group = frame["x"].to_numpy(), frame["group"].cat.codes.to_numpy()
        width = 1 / np.sqrt(2 * gamma)
        other = np.exp(-2 * gamma)
        expected, alone = np.zeros(len(frame)), np.zeros(len(frame))
        for i in range(len(frame)):
            for j in range(len(frame)):
                same = 1.0 if group[i] == group[j] else other
                near = norm.pdf(x[i], x[j], width) / len(frame)
                expected[i] += near * same / (1 + 2 * other)
                alone[i] += near
        unseen = 0.5 / (len(frame) + 1)  # no group has a single row
        assert_allclose(model.density(frame), (1 - unseen) * expected, rtol=1e-9)
        strange = frame.assign(group="d")
        assert_allclose(model.density(strange), unseen * alone, rtol=1e-9)
        assert_allclose(model.density(frame.assign(group=None)), alone, rtol=1e-9)

    @pytest.mark.parametrize("scale", ["std", "whiten", None])
    @pytest.mark.parametrize("n_components", [500, 24])
    def test_integrates_to_one(self, scale, n_components):
        """Where all rows are landmarks; else to what these cover."""
        frame = table(60)
        model = DMKDE(gamma=1.0, n_components=n_components, scale=scale, random_state=0)
        model.fit(frame)
        step = 0.4
        axes = np.meshgrid(np.arange(-8, 15, step), np.arange(-7, 7, step))
        points = pd.DataFrame(
            {"x": axes[0].ravel(), "group": "a", "y": axes[1].ravel()}
        )
        points = points.assign(group=pd.Categorical(points["group"], ["a", "b", "c"]))
        points = points.assign(level=pd.Categorical(["low"] * len(points), LEVELS))
        total = sum(
            model.density(part[list(frame.columns)]).sum()
            for part in all_categories(points)
        )
        assert_allclose(total * step**2, 1, rtol=1e-6)

    def test_categories_alone_follow_their_frequencies(self):
        shares = np.array([0.7, 0.2, 0.1])
        codes = np.repeat(np.arange(3), (1000 * shares).astype(int))
        frame = pd.DataFrame({"c": pd.Categorical.from_codes(codes, ["a", "b", "c"])})
        model = DMKDE().fit(frame)
        found = model.density(frame.iloc[[0, 800, 999]])
        assert_allclose(found.sum(), 1 - 0.5 / 1001)
        assert_allclose(found, shares, atol=0.02)

    def test_leave_one_out(self):
        frame = table(30)
        model = DMKDE(gamma=1.0, scale=None, n_components=100).fit(frame)
        rest = model.blank().partial_fit(frame.iloc[1:])
        found = model.score_samples(frame, leave_one_out=True)[0]
        expected = rest.score_samples(frame.iloc[[0]])[0]
        assert_allclose(found, expected, rtol=1e-9)

    def test_bandwidth_has_the_best_likelihood_of_rows_left_out(self):
        frame = table(80)[["x", "group", "y"]]
        options = {"scale": "std", "n_components": 200, "random_state": 0}
        options |= {"feature_map": "landmarks"}
        chosen = DMKDE(gamma="loo", **options).fit(frame).gamma_
        gammas = chosen * 2.0 ** np.array([-1.5, 0, 1.5])
        models = [DMKDE(gamma=gamma, **options).fit(frame) for gamma in gammas]
        scores = [m.score_samples(frame, leave_one_out=True).mean() for m in models]
        assert np.argmax(scores) == 1

    def test_better_than_ignoring_the_categories(self):
        frame, fresh = table(400), table(400, seed=1)
        mixed = DMKDE(random_state=0).fit(frame)
        shares = frame["group"].value_counts(normalize=True)
        numbers = DMKDE(random_state=0).fit(frame[["x"]])
        apart = numbers.score(fresh[["x"]]) + np.log(shares[fresh["group"]]).mean()
        together = DMKDE(random_state=0).fit(frame[["x", "group"]])
        assert together.score(fresh[["x", "group"]]) > apart + 0.3
        assert np.isfinite(mixed.score(fresh))


class TestSampling:
    def test_draws_look_like_the_rows(self):
        frame = table(500)
        model = DMKDE(random_state=0).fit(frame)
        drawn = pd.DataFrame(model.sample(1500, random_state=0))
        assert list(drawn.columns) == list(frame.columns)
        shares = drawn["group"].value_counts(normalize=True)
        expected = frame["group"].value_counts(normalize=True)
        for group in "abc":
            assert abs(shares[group] - expected[group]) < 0.06
            mine, theirs = (t.loc[t["group"] == group, "x"] for t in (drawn, frame))
            assert abs(mine.mean() - theirs.mean()) < 0.3
        levels = pd.crosstab(drawn["level"], drawn["y"] > 0, normalize="index")
        assert levels.loc["high", True] > 0.9 > 0.1 > levels.loc["low", True]

    def test_categories_have_the_shares_of_the_density(self):
        codes = (np.arange(400) % 20 == 0).astype(int)
        x = np.random.default_rng(0).normal(size=400) + 4 * codes
        kind = pd.Categorical.from_codes(codes, ["often", "rare"])
        frame = pd.DataFrame({"x": x, "kind": kind})
        model = DMKDE(gamma=0.3, scale=None, random_state=0).fit(frame)
        share = model.marginal("kind").density(pd.DataFrame({"kind": ["rare"]}))[0]
        drawn = model.sample(3000, random_state=0)["kind"] == "rare"
        assert abs(drawn.mean() - share) < 0.03


class TestLaws:
    def test_models_of_other_categories_do_not_merge(self):
        frame = table()
        model = DMKDE(gamma=1.0, scale=None, n_components=24, random_state=0).fit(frame)
        names = {"a": "p", "b": "q", "c": "r"}
        other = frame.assign(group=frame["group"].cat.rename_categories(names))
        with pytest.raises(ValueError, match="do not add"):
            model.merge(
                DMKDE(gamma=1.0, scale=None, n_components=24, random_state=0).fit(other)
            )


class TestOutcomes:
    def test_classes_that_categories_tell(self):
        frame = table(400)
        labels = np.where(frame["group"] == "b", "yes", "no")
        model = DMKDClassifier(random_state=0).fit(frame[["y", "group"]], labels)
        fresh = table(400, seed=1)
        truth = np.where(fresh["group"] == "b", "yes", "no")
        assert model.score(fresh[["y", "group"]], truth) > 0.99

    def test_values_that_categories_tell(self):
        frame, fresh = table(400), table(400, seed=1)
        values, truth = (
            t["group"].cat.codes.to_numpy() + t["y"].to_numpy() for t in (frame, fresh)
        )
        model = QMRegressor(random_state=0).fit(frame[["y", "group"]], values)
        assert model.score(fresh[["y", "group"]], truth) > 0.95

    def test_a_binary_column_alone(self):
        flag = np.arange(100) % 2 == 0
        frame = pd.DataFrame({"flag": flag})
        model = DMKDClassifier(random_state=0).fit(frame, flag.astype(int))
        assert model.score(frame, flag.astype(int)) == 1.0
