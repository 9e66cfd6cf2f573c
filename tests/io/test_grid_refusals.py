"""Wrong and hostile files of models on grids: each is refused, and costs little."""

import contextlib
import tracemalloc

import numpy as np
import pytest

import rhokit
from rhokit import ModelFileError
from rhokit.fast import series
from rhokit.features.box import FrequencyGrid
from rhokit.io import PROTOCOL
from rhokit.io.container import pack
from tests.io.drafts import (
    Draft,
    both,
    cast,
    cut,
    entry,
    put,
    refuses,
    tensor,
    without,
)

LINE, PLANE, SPACE = (f"density-series-{each}" for each in ("line", "plane", "space"))
LANDMARKS = "density-landmarks-double"
OTHERS = (LANDMARKS, "density-complex-double", "mean-landmarks-double")
JOINT = ("joint-text", "ordinal-text")
PREPARED = "density-series-prepared"
SERIES = (LINE, PLANE, SPACE, "classes-series", "values-series")
TOTAL = "state.total"
BOX = LOW, HIGH, PERIOD = ("low", "high", "period")
SHAPE = "shape"
NO_GAMMA = "cut and tail do not go with gamma"
TOO_SHORT = "period must be longer"
NO_SHAPE = "shape does not go with cut and period"
NO_MODES = "the modes of a series must be"


def in_map(key, value):
    """A change of a parameter of the fitted map."""
    return lambda draft: draft.map["parameters"].update({key: value})


def box(low, high):
    """A change of the fitted box, the same in all columns."""
    return both(filled(LOW, low), filled(HIGH, high))


def in_grid(key, value):
    """A change of a fitted number of the map."""
    return lambda draft: draft.fitted.update({key: value})


def filled(key, value):
    """A change of all numbers of a tensor."""
    return tensor(key, lambda array: np.full_like(array, value))


def in_other_units(gamma):
    """A change of the whole grid to rows in units that make gamma this."""

    def change(draft):
        unit = np.sqrt(gamma / draft.map["parameters"]["gamma"])
        draft.map["parameters"]["gamma"] = gamma
        draft.fitted["tail"] /= unit
        draft.fitted["cut"] *= unit
        for name in BOX:
            tensor(name, lambda array: array / unit)(draft)

    return change


def with_grid(gamma, widths):
    """A change: another grid, in the file of a map or of a model without rows."""
    d, grid = len(widths), FrequencyGrid.for_box(gamma, np.array(widths), 1e-8)
    values = (np.zeros(d), np.array(widths), grid.period, np.array(grid.shape))

    def change(draft):
        in_model = "estimator" in draft.tree
        for columns in (draft.map["columns"], *([draft.columns] if in_model else [])):
            columns.update(width=d, supports=None)
        draft.map["parameters"]["gamma"] = gamma
        draft.fitted.update(tail=grid.tail, cut=grid.cut)
        for key, value in zip((*BOX, SHAPE), values, strict=True):
            tensor(key, value)(draft)
        for key in ("scaling.centre", "scaling.matrix") if in_model else ():
            tensor(key, np.ones(d))(draft)

    return change


def taken(name, *fields, state="exact"):
    """A change: fields of another file, with their tensors, instead of one's own."""

    def change(draft):
        other = Draft(name, state)
        for field in fields:
            home = "plan" if field == "feature_map" else "model"
            getattr(draft, home)[field] = getattr(other, home)[field]
            inside = f".{field}."
            for key in [key for key in draft.tensors if inside in key]:
                del draft.tensors[key]
            draft.tensors |= {k: v for k, v in other.tensors.items() if inside in k}

    return change


RESIZED = [
    (NO_MODES, lambda t: t[..., :-1, :]),
    (NO_MODES, lambda t: t[..., :0, :]),
    ("of shape|of a series|of series", lambda t: t[:, None]),
    ("has the size", lambda t: np.concatenate([t, t])),
    ("pairs of real and imaginary", lambda t: t[..., [0, 1, 1]]),
]


class TestSeries:
    @pytest.mark.parametrize("name", SERIES)
    @pytest.mark.parametrize(("message", "change"), RESIZED)
    def test_of_another_shape(self, name, message, change):
        refuses(message, name, tensor(TOTAL, change))

    def test_of_too_many_levels(self):
        refuses("n_levels", "values-series", put("learned", "n_levels", 10**9))

    @pytest.mark.parametrize("name", [PLANE, SPACE])
    def test_of_turned_and_of_even_modes(self, name):
        refuses("series", name, tensor(TOTAL, lambda t: t.swapaxes(1, -2)))
        refuses("of series", name, tensor(TOTAL, lambda t: t[:, 1:]))

    @pytest.mark.parametrize("name", SERIES)
    def test_that_are_real(self, name):
        def change(draft):
            draft.model["state"]["value"]["total"] = "tensor"
            tensor(TOTAL, lambda total: total[..., 0])(draft)

        refuses("complex coefficients of series", name, change)

    @pytest.mark.parametrize("name", SERIES)
    def test_that_are_not_finite_or_without_weight(self, name):
        for value in (np.nan, np.inf, -np.inf):
            refuses("finite|invalid value", name, entry(TOTAL, value, index=3))
        refuses("weight", name, without("state.weight"))

    @staticmethod
    def bare(shape, kind="complex tensor"):
        """The file of a state of zeros."""
        state = {"kind": "series", "value": {"total": kind, "weight": "tensor"}}
        tree = {"format": "rhokit model", "protocol": PROTOCOL, "state": state}
        total = np.zeros((*shape, 2) if kind == "complex tensor" else shape)
        return pack(tree, {"total": total, "weight": np.zeros(shape[0])})

    @pytest.mark.parametrize("shape", [(1, 4), (2, 3, 6), (1, 3, 5, 2), (1, 1, 1, 1)])
    def test_bare_ones(self, shape):
        assert rhokit.loads(self.bare(shape)).total.shape == shape
        with pytest.raises(ModelFileError, match="complex coefficients of series"):
            rhokit.loads(self.bare(shape, "tensor"))

    @pytest.mark.parametrize(
        "shape", [(3,), (1, 4, 3), (1, 3, 6, 2), (1, 6, 3, 2), (1, 3, 3, 3, 3)]
    )
    def test_bare_ones_of_even_sizes_or_too_many_columns(self, shape):
        with pytest.raises(ModelFileError, match=r"of s(eries|hape)"):
            rhokit.loads(self.bare(shape))


class TestStatesOfOtherModels:
    @pytest.mark.parametrize("name", OTHERS)
    def test_a_matrix_over_a_grid(self, name):
        refuses("state", PLANE, taken(name, "state"))
        refuses("state", PLANE, taken(LANDMARKS, "state", state="factor"))

    @pytest.mark.parametrize("name", [*OTHERS, "density-words"])
    def test_a_series_over_another_map(self, name):
        refuses("state", name, taken(PLANE, "state"))
        refuses("state", "density-grid", taken(LINE, "state"))

    @pytest.mark.parametrize("other", [LINE, SPACE])
    def test_a_series_over_another_grid(self, other):
        refuses(NO_MODES, PLANE, taken(other, "state"))

    @pytest.mark.parametrize("name", ["mean-prepared", "joint-prepared", *JOINT])
    def test_a_grid_for_means_and_joint_states(self, name):
        refuses("must not be a grid", name, taken("classes-series", "feature_map"))

    @pytest.mark.parametrize("name", JOINT)
    def test_a_series_for_joint_states(self, name):
        grid = taken("classes-series", "feature_map", "state")
        refuses("grid|series|K =", name, grid)


class TestBoxes:
    @pytest.mark.parametrize("name", [*SERIES, PREPARED])
    def test_that_are_none(self, name):
        refuses("low must not exceed high", name, box(1, -1))
        refuses(TOO_SHORT, name, box(-50, 50))
        for share in (1e-300, 0.5):
            refuses(TOO_SHORT, name, tensor(PERIOD, lambda p, s=share: p * s))
        for factor in (3.0, 1e9, 1e290):
            refuses(NO_SHAPE, name, tensor(PERIOD, lambda p, f=factor: p * f))

    def test_of_numbers_that_are_none(self):
        for value in (np.nan, np.inf, -np.inf):
            for key in BOX:
                refuses("finite", PLANE, entry(key, value))
        for value in (0.0, -1.0, 1e-320):
            refuses("period must be .* or more", PLANE, entry(PERIOD, value, index=1))

    @pytest.mark.parametrize("name", ["series-line", LINE, PREPARED])
    def test_of_four_columns(self, name):
        refuses("at most 3 columns", name, with_grid(0.01, [1.0] * 4))


class TestFieldsOfTheGrid:
    @pytest.mark.parametrize("key", [*BOX, SHAPE])
    def test_of_another_number_of_columns(self, key):
        refuses("size", PLANE, cut(key))
        refuses("size", PLANE, tensor(key, lambda array: np.repeat(array, 2)))
        refuses("of shape", PLANE, tensor(key, lambda array: array[None]))

    @pytest.mark.parametrize("name", [PLANE, PREPARED])
    def test_that_are_missing(self, name):
        for key in ("low", "high", "period", "tail", "cut", "shape"):
            refuses("lacks", name, lambda draft, k=key: draft.fitted.pop(k))

    @pytest.mark.parametrize("key", ["middle", "spectrum"])
    def test_that_are_unknown(self, key):
        new = put("tensors", f"model.plan.feature_map.{key}", np.ones(2))
        refuses(f"not understood.*{key}", PLANE, both(new, in_grid(key, "tensor")))
        refuses("DMKDE has no parameters", PLANE, put("parameters", "outside", "widen"))

    @pytest.mark.parametrize("dtype", ["int32", "uint64", "int8", "float64", "bool"])
    def test_a_shape_of_another_dtype_or_without_modes(self, dtype):
        refuses("shape.* dtype", PLANE, cast(SHAPE, dtype))
        for size in (0, -1, -(2**63)):
            refuses("shape must be 1 or more", PLANE, entry(SHAPE, size))

    @pytest.mark.parametrize("size", [1, 3, 101, 10**9 + 1, 2**62 + 1, 2**63 - 1])
    @pytest.mark.parametrize("name", [PLANE, PREPARED])
    def test_a_shape_of_another_grid(self, name, size):
        refuses(NO_SHAPE, name, entry(SHAPE, size, index=0))
        refuses(NO_SHAPE, name, entry(SHAPE, size, index=1))

    @pytest.mark.parametrize("name", [PLANE, SPACE, PREPARED])
    def test_an_even_shape(self, name):
        even = tensor(SHAPE, lambda shape: [*shape[:-1] - 1, shape[-1]] + 0 * shape)
        refuses("shape must be odd", name, even)

    @pytest.mark.parametrize("name", SERIES)
    def test_a_shape_of_another_series(self, name):
        less = tensor(SHAPE, lambda shape: shape - [*[0] * (len(shape) - 1), 1])
        refuses(NO_MODES, name, less)

    @pytest.mark.parametrize("key", ["tail", "cut"])
    def test_numbers_that_are_none(self, key):
        for value in (0, -1.0, 1e-320, None, True, "1.0", "tensor", [1.0]):
            refuses(f"feature_map.{key} must be", LINE, in_grid(key, value))

    @pytest.mark.parametrize("key", ["tail", "cut"])
    @pytest.mark.parametrize(
        ("name", "value"),
        [(LINE, 1e5), (PLANE, 1e150), (SPACE, 1e200), (PREPARED, 1.7e308)],
    )
    def test_numbers_of_another_gamma(self, name, value, key):
        refuses(NO_GAMMA, name, in_grid(key, value))


NAN, INF = {"float": "nan"}, {"float": "inf"}
NO_PARAMETERS = {
    "gamma": [0.0, -1.0, "loo", NAN, INF, 10**400],
    "tol": [0.0, 1.0, -1e-8, NAN, None],
    "margin": [-0.1],
    "outside": ["ignore", None],
    "max_modes": [0, 2.5],
    "n_components": [5],
}


class TestParametersOfTheMap:
    @pytest.mark.parametrize("key", NO_PARAMETERS)
    @pytest.mark.parametrize("name", [LINE, PREPARED])
    def test_out_of_range(self, name, key):
        for value in NO_PARAMETERS[key]:
            refuses(
                rf"GridFeatures.*{key}|{key}.*GridF|float", name, in_map(key, value)
            )

    @pytest.mark.parametrize("name", [*SERIES, PREPARED])
    def test_of_another_gamma(self, name):
        for value in (1e-300, 1e-3, 40.0, 1e14, 1e30, 1.7e308):
            refuses(NO_GAMMA, name, in_map("gamma", value))


LONG = tensor(PERIOD, lambda period: period * 1e30)
CLAIMS = {
    "box": box(0, 1e30),
    "box that overflows": box(-1.7e308, 1.7e308),
    "box and gamma": both(box(0, 1e150), in_map("gamma", 1e9)),
    "point and gamma": both(box(1, 1), in_map("gamma", 1e308)),
    "tail": in_grid("tail", 1e100),
    "cut": in_grid("cut", 1e100),
    "period": LONG,
    "period and cut": both(LONG, in_grid("cut", 1e-30)),
    "shape": tensor(SHAPE, lambda shape: shape + 2 * 10**9),
}


class TestMemory:
    """Small files that claim much cost little, whether they load or not."""

    @staticmethod
    def costs(data, limit=50 * 2**20):
        """Whether it loads; what this and one prediction cost is measured."""
        model = cause = None
        tracemalloc.start()
        try:
            model = rhokit.loads(data)
            if getattr(model, "state", None) is not None:
                ask = getattr(model, "score_samples", None) or model.predict
                # Values may overflow, and be refused for it.
                with contextlib.suppress(ValueError), np.errstate(all="ignore"):
                    ask(np.zeros((1, model.n_features_in_)))
        except ModelFileError as error:
            cause = error.__cause__
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert not isinstance(cause, MemoryError | Warning)
        assert peak < limit + 20 * len(data)
        return model is not None

    def loads(self, name, change):
        draft = Draft(name)
        change(draft)
        return self.costs(draft.data())

    @pytest.mark.parametrize("name", [*SERIES, PREPARED])
    def test_of_what_is_too_large(self, name):
        for claim, change in CLAIMS.items():
            assert not self.loads(name, change), claim

    @pytest.mark.parametrize("name", SERIES)
    def test_of_another_tol(self, name):
        for tol in (5e-324, 1e-300, 1e-12, 0.999):
            assert self.loads(name, in_map("tol", tol))

    @pytest.mark.parametrize("name", [*SERIES, PREPARED])
    def test_of_other_units(self, name):
        for gamma in (1e-300, 1e-8, 1e8, 1e100, 1e300):
            assert self.loads(name, in_other_units(gamma))

    @pytest.mark.parametrize("name", [LINE, PLANE, SPACE, PREPARED])
    def test_of_a_point_far_away(self, name):
        for value in (1e150, -8e307, 1.7e308):
            self.loads(name, box(value, value))

    @pytest.mark.parametrize("name", [*SERIES, PREPARED])
    def test_of_a_tiny_tail(self, name):
        for tail in (2.3e-308, 1e-300, 1e-5):
            self.loads(name, in_grid("tail", tail))

    @pytest.mark.parametrize("name", SERIES)
    def test_of_absurd_coefficients(self, name):
        """However exact their values are to be: no density has any above its weight."""
        for value in (1e10, 1e20, 1e30, 1e100, 1e300, 1.7e308):
            assert not self.loads(name, filled(TOTAL, value))
            assert not self.loads(name, filled("state.weight", 1 / value))

    @pytest.mark.parametrize("value", [1e25, 1e100])
    def test_of_absurd_coefficients_without_finufft(self, value, monkeypatch):
        monkeypatch.setattr(series, "finufft", lambda: None)
        self.loads(LINE, filled(TOTAL, value))

    @pytest.mark.parametrize("value", [1.0, 1e18])
    def test_of_many_absurd_outcomes(self, value):
        def change(draft):
            draft.learned["classes"] = {"dtype": "<i8", "values": list(range(20))}
            tensor(TOTAL, lambda total: np.full((20, *total.shape[1:]), value))(draft)
            tensor("state.weight", np.ones(20))(draft)

        self.loads("classes-series-line", change)

    @pytest.mark.parametrize("gamma", [1e-12, 1.0, 1e12])
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_of_large_grids(self, d, gamma):
        """Nothing in the file of a map, or of a model without rows, has their size."""
        for n_modes in (3e7, 1e15):
            widths = [n_modes ** (1 / d) / 3 / gamma**0.5] * d
            for name in ("series-line", PREPARED):
                assert not self.loads(name, with_grid(gamma, widths))

    @pytest.mark.parametrize("shape", [(0, 10**12), (1, 10**12 + 1, 0), (1, 0)])
    def test_of_series_without_numbers(self, shape):
        self.costs(TestSeries.bare(shape))

    def test_of_a_grid_among_parameters(self):
        """It is not made before the model is fitted."""
        draft = Draft("density-series-unfitted")
        wanted = draft.parameters["feature_map"]["map"]["parameters"]
        wanted |= {"gamma": 1e300, "tol": 1e-300, "max_modes": 10**18}
        assert self.costs(draft.data())
