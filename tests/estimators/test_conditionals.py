"""Conditionals, distributions of columns, imputation and samples of mixed tables.

Against the joint density: conditional = joint / marginal, and integrals of it by
quadrature, with sums over categories.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

import rhokit
from rhokit import DMKDE, MeanEmbeddingKDE

KINDS = ["cod", "eel", "ray"]
SIZES = ["S", "M", "L"]


def fish(n=400, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(KINDS, n, p=[0.6, 0.3, 0.1])
    length = np.where(kind == "cod", rng.normal(60, 8, n), rng.normal(90, 12, n))
    return pd.DataFrame(
        {
            "length": length,
            "kind": pd.Categorical(kind),
            "weight": length / 20 + rng.normal(size=n),
            "size": pd.Categorical(
                np.array(SIZES)[np.digitize(length, [60, 80])], SIZES, ordered=True
            ),
        }
    )


MODELS = {
    "mosaic": DMKDE(random_state=0),
    "landmarks": DMKDE(gamma=1.0, feature_map="landmarks", n_components=40),
}
GIVEN = [
    {"kind": "eel"},
    {"size": "M", "weight": 3.5},
    {"length": 75.0, "kind": "cod", "size": "M"},
]
LATTICE = np.linspace(-10, 190, 4001)


@pytest.fixture(scope="module", params=MODELS, ids=list(MODELS))
def model(request):
    from sklearn.base import clone

    estimator = clone(MODELS[request.param])
    return estimator.set_params(random_state=0).fit(fish())


def joint(model, given, column, values):
    """The joint density with some columns given, one varied, others summed over."""
    asked = pd.DataFrame({column: values}).assign(**given)
    kept = [name for name in fish(1).columns if name in asked]
    part = model if len(kept) == 4 else model.marginal(kept)
    return part.density(asked[kept])


class TestConditionals:
    @pytest.mark.parametrize("given", GIVEN, ids=lambda given: "-".join(given))
    def test_joint_over_marginal(self, model, given):
        rows = fish(20, 1).assign(**given)
        known = [name for name in rows if name in given]
        rest = [name for name in rows if name not in given]
        part = model.conditional(given)
        expected = model.score_samples(rows) - model.marginal(known).score_samples(
            rows[known]
        )
        assert_allclose(part.score_samples(rows[rest]), expected, atol=1e-8)
        again = rhokit.loads(rhokit.dumps(part))
        assert_allclose(again.score_samples(rows[rest]), expected, atol=1e-8)

    def test_of_a_grid(self):
        rows = fish()[["length", "weight"]]
        model = DMKDE(random_state=0).fit(rows)
        part = model.conditional({"length": 70.0})
        weights = rows[["weight"]].iloc[:20]
        asked = weights.assign(length=70.0)[["length", "weight"]]
        whole = model.marginal("length").score_samples(asked[["length"]])
        expected = model.score_samples(asked) - whole
        assert_allclose(part.score_samples(weights), expected, atol=1e-6)
        with pytest.raises(ValueError, match="the density is zero"):
            model.conditional({"length": 1e6})

    def test_refusals(self, model):
        with pytest.raises(ValueError, match="has the categories"):
            model.conditional({"kind": "shark"})
        with pytest.raises(ValueError, match="finite number"):
            model.conditional({"length": "long"})
        with pytest.raises(ValueError, match="not from all 4"):
            model.conditional(dict.fromkeys(fish(1), 1))
        whitened = DMKDE(gamma=1.0, scale="whiten", random_state=0).fit(fish())
        with pytest.raises(ValueError, match="scaled one by one"):
            whitened.conditional({"weight": 3.0})


class TestDistributions:
    @pytest.mark.parametrize("given", [{}, *GIVEN[:2]], ids=len)
    def test_numbers_by_quadrature(self, model, given):
        density = joint(model, given, "length", LATTICE)
        step = LATTICE[1] - LATTICE[0]
        density /= density.sum() * step
        found = model.distribution("length", given)
        mean = (LATTICE * density).sum() * step
        assert_allclose(found.mean, mean, rtol=1e-4)
        spread = np.sqrt(((LATTICE - mean) ** 2 * density).sum() * step)
        assert_allclose(found.std, spread, rtol=1e-3)
        below = np.cumsum(density) * step - density * step / 2
        some = slice(1000, 3000, 200)
        assert_allclose(found.cdf(LATTICE[some]), below[some], atol=1e-4)
        levels = np.array([0.1, 0.5, 0.9])
        assert_allclose(found.cdf(found.quantile(levels)), levels, atol=1e-6)
        highest = found.density(np.array([found.mode()]))[0]
        assert 0.9999 * density.max() < highest < 1.02 * density.max()

    def test_categories_by_quadrature(self, model):
        step = LATTICE[1] - LATTICE[0]
        given = {"size": "M"}
        shares = [
            joint(model, given | {"kind": kind}, "length", LATTICE).sum() * step
            for kind in [*KINDS, "unseen"]
        ]
        found = model.distribution("kind", given)
        assert_allclose(
            [*found.probabilities, found.unseen], shares / np.sum(shares), atol=1e-6
        )
        assert found.mode() == KINDS[int(np.argmax(shares))]
        assert found.probability("unicorn") == found.unseen
        with pytest.raises(ValueError, match="have no order"):
            found.quantile(0.5)

    def test_ordered_categories_have_quantiles(self, model):
        found = model.distribution("size", {"kind": "eel"})
        assert found.quantile(0.999) == "L"
        assert_allclose(found.cdf("L"), 1)
        assert found.cdf("S") < found.cdf("M") < 1
        assert found.quantile(found.cdf("S") + 0.01) == "M"

    def test_whole_numbers(self):
        rng = np.random.default_rng(0)
        rows = rng.poisson(3.0, size=(2000, 3))
        found = DMKDE(random_state=0).fit(rows).distribution(0)
        shares = np.bincount(rows[:, 0], minlength=12) / 2000
        assert_allclose(
            found.cdf([-1, 0, 2, 50]), [0, *np.cumsum(shares)[[0, 2]], 1], 0.1
        )
        assert found.quantile(0.5) == 3
        assert found.mode() in (2, 3)


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame).with_columns(
        pl.Series("size", frame["size"].tolist(), pl.Enum(SIZES))
    ),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


class TestSamples:
    @pytest.mark.parametrize("library", FRAMES)
    def test_have_the_frame_that_was_given(self, library):
        frame = fish().assign(
            new=lambda t: t["weight"] > 4,
            year=np.arange(400, dtype=np.int16) % 7 + 2000,
            price=lambda t: t["weight"].astype(np.float32),
        )
        given = FRAMES[library](frame)
        model = DMKDE(random_state=0).fit(given)
        drawn = rhokit.loads(rhokit.dumps(model)).sample(50, random_state=0)
        assert type(drawn) is type(given)
        if library == "arrow":
            assert drawn.schema.names == given.schema.names
            for name in ("length", "weight", "new", "year", "price"):
                assert drawn.schema.field(name).type == given.schema.field(name).type
            assert drawn.schema.field("size").type.ordered
        else:
            assert list(drawn.dtypes) == list(given.dtypes)
        years = pd.Series(
            drawn["year"].to_pylist() if library == "arrow" else drawn["year"]
        )
        assert set(years) <= set(range(2000, 2007))

    def test_of_whole_arrays_are_whole(self):
        rows = np.random.default_rng(0).integers(-5, 40_000, size=(300, 3))
        drawn = DMKDE(random_state=0).fit(rows).sample(500, random_state=0)
        assert drawn.dtype == rows.dtype
        assert (drawn.min(axis=0) >= rows.min(axis=0)).all()
        assert (drawn.max(axis=0) <= rows.max(axis=0)).all()

    def test_conditions_hold(self, model):
        drawn = model.sample(300, random_state=0, conditions={"kind": "eel"})
        assert set(drawn["kind"]) == {"eel"}
        assert list(drawn.columns) == list(fish(1).columns)
        expected = model.distribution("length", {"kind": "eel"})
        assert abs(drawn["length"].mean() - expected.mean) < 4 * expected.std / 300**0.5


class TestImputation:
    @pytest.mark.parametrize("library", FRAMES)
    def test_fills_gaps_and_leaves_the_rest(self, library, model):
        frame = fish(30, 1)
        gaps = frame.copy()
        gaps.loc[::3, "length"] = np.nan
        gaps.loc[1::4, "kind"] = None
        filled = model.impute(FRAMES[library](gaps))
        if library == "pandas":
            assert_frame_equal(filled[gaps.notna()], gaps[gaps.notna()])
            assert filled.index.equals(gaps.index)
            assert not filled.isna().any().any()
        else:
            native = filled.to_pandas()
            kept = gaps["length"].notna().to_numpy()
            assert_allclose(native["length"][kept], gaps["length"][kept])
            assert set(native["kind"]) <= set(KINDS)

    def test_expectations_are_those_of_the_conditional(self, model):
        gaps = fish(4, 1)
        gaps.loc[[0, 1], "length"] = np.nan
        gaps.loc[[2, 3], "kind"] = None
        filled, spread = model.impute(gaps, return_spread=True)
        for row in (0, 1):
            given = gaps.iloc[row].drop("length").to_dict()
            expected = model.distribution("length", given)
            assert_allclose(filled["length"][row], expected.mean, rtol=1e-3)
            assert_allclose(spread[row], [expected.std, 0, 0, 0], rtol=1e-2)
        for row in (2, 3):
            given = gaps.iloc[row].drop("kind").to_dict()
            expected = model.distribution("kind", given)
            assert filled["kind"][row] == expected.mode()
            assert_allclose(spread[row, 1], 1 - expected.probabilities.max(), atol=1e-3)

    def test_draws_spread_as_rows_do(self):
        frame = fish(2000)
        model = DMKDE(random_state=0).fit(frame)
        gaps = frame.assign(length=np.nan).astype({"kind": object})
        gaps["kind"] = None
        drawn = model.impute(gaps, how="draw", random_state=0)
        residual = drawn["length"] - model.impute(gaps)["length"]
        _, spread = model.impute(gaps, return_spread=True)
        assert_allclose(residual.std(), np.sqrt((spread[:, 0] ** 2).mean()), rtol=0.05)
        shares = drawn["kind"].value_counts(normalize=True)
        assert_allclose(shares["cod"], (frame["kind"] == "cod").mean(), atol=0.05)

    def test_rows_of_which_nothing_is_known(self, model):
        nothing = fish(2).astype(object)
        nothing.loc[:, :] = None
        filled = model.impute(nothing.astype({"length": float, "weight": float}))
        assert_allclose(filled["length"], model.distribution("length").mean, rtol=1e-3)

    def test_refusals(self, model):
        with pytest.raises(ValueError, match="how must be 'mean' or 'draw'"):
            model.impute(fish(2), how="median")
        assert not hasattr(MeanEmbeddingKDE(), "impute")
