"""What a model file of protocol 1 holds: every class, field by field.

Nothing else can be in a file. To add a field, give it a default for files that lack
it (:class:`~rhokit.io.fields.Maybe`); to change or remove one, raise the protocol: see
:mod:`rhokit.io.protocol`.
"""

import math
from typing import Any

import numpy as np

from rhokit.core import (
    DensityMatrix,
    FeatureMean,
    LowRankDensityMatrix,
    ToeplitzDensityMatrix,
)
from rhokit.estimators.joint_classifier import DECISIONS
from rhokit.estimators.row_sample import MeasuredSample, RowSample
from rhokit.estimators.sampler import Proposal
from rhokit.estimators.scaling import Scaling
from rhokit.features import GridFeatures
from rhokit.features.box import FrequencyGrid
from rhokit.io.fields import (
    Array,
    Build,
    Categories,
    Flag,
    Labels,
    Maybe,
    Names,
    Number,
    OneOf,
    Reader,
    Record,
    Word,
)
from rhokit.io.objects import Check, Fields, Object, Values, require
from rhokit.io.parameters import Parameters
from rhokit.io.values import (
    Coefficients,
    ColumnKinds,
    Factors,
    History,
    Rows,
    Sums,
    Triangles,
)

FLOATS = ("float32", "float64")
# A size that nothing in a file attests, since it is of what is made from it.
_MOST_LEVELS = 2**20
POSITIVE = Number(float(np.finfo(float).tiny))


# ---- feature maps ----------------------------------------------------------------


def _check_cosines(parameters: Values, fitted: Values, reader: Reader) -> None:
    sizes = reader.sizes
    per_frequency = 2 if parameters.get("form") == "pair" else 1
    reader.bind("D", per_frequency * sizes["F"], "frequencies_")
    reader.bind("m", sizes["D"], "frequencies_")
    is_complex = parameters.get("form") == "complex"
    require(
        (fitted["phases_"] is None) == is_complex,
        "phases_ must be there unless the form is complex",
    )


def _check_fourier(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_cosines(parameters, fitted, reader)
    signs, lengths = fitted.get("signs_"), fitted.get("lengths_")
    require((signs is None) == (lengths is None), "signs_ need lengths_")
    if signs is not None:
        n_blocks, _, width = signs.shape
        fits = width >= reader.sizes["d"] and n_blocks * width >= reader.sizes["F"]
        fits = fits and width & (width - 1) == 0 and (np.abs(signs) == 1).all()
        require(fits, "signs_ do not make frequencies of this number and length")


def _check_quadrature(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_cosines(parameters, fitted, reader)
    require(reader.sizes["d"] <= 3, "QuadratureFeatures has at most 3 columns")
    require((fitted["low_"] <= fitted["high_"]).all(), "low_ must not exceed high_")


def _check_grid(parameters: Values, fitted: Values, reader: Reader) -> None:
    require(reader.sizes["d"] <= 3, "GridFeatures has at most 3 columns")
    low, high, period = (fitted[name] for name in ("low_", "high_", "period_"))
    require((low <= high).all(), "low_ must not exceed high_")
    with np.errstate(all="ignore"):
        room = period * (1 + 1e-9) >= high - low + 2 * fitted["tail_"]
        ends = np.floor(fitted["cut_"] * period / (2 * math.pi))
        sides = [*fitted["shape_"][:-1] // 2, fitted["shape_"][-1] - 1]
        fits = (ends <= sides) & (sides <= 2 * ends)
        ratio = FrequencyGrid.cut_for(
            parameters["gamma"], fitted["tail_"], len(period)
        ) / float(fitted["cut_"])
    require(0.99 < ratio < 1.01, "cut_ and tail_ do not go with gamma")
    require(room.all(), "period_ must be longer than the box and its tails")
    require(fits.all(), "shape_ does not go with cut_ and period_")
    odd = (fitted["shape_"][:-1] % 2 == 1).all()
    require(odd, "shape_ must be odd but for the last column")
    few = math.prod(fitted["shape_"].tolist()) <= parameters["max_modes"]
    require(few, "shape_ has more than max_modes modes")


def _check_landmarks(parameters: Values, fitted: Values, reader: Reader) -> None:
    dtype = fitted["dtype_"]
    same = fitted["landmarks_"].dtype == fitted["whitening_"].dtype == dtype
    require(same, f"landmarks_ and whitening_ must be {dtype}")
    require(0 < reader.sizes["D"] <= reader.sizes["m"], "whitening_ is no whitening")


def _check_onehot(parameters: Values, fitted: Values, reader: Reader) -> None:
    reader.bind("m", reader.sizes["D"], "categories_")
    require(fitted["dtype_"] == np.float64, "dtype_ must be float64")


def _check_softmax(parameters: Values, fitted: Values, reader: Reader) -> None:
    n_levels, d = fitted["landmarks_"].shape
    require(
        parameters["n_components"] == n_levels, "n_components and landmarks_ differ"
    )
    for size in ("m", "D"):
        reader.bind(size, n_levels * d, "landmarks_")


COLUMNS: Fields = {
    "n_features_in_": Number(1, integer=True, size="d"),
    "feature_names_in_": Maybe(Names("d")),
    "schema_": Maybe(ColumnKinds("d")),
}
MAP: Fields = COLUMNS | {"dtype_": Word(FLOATS, np.dtype)}
COSINES: Fields = MAP | {
    "frequencies_": Array(("d", "F")),
    "phases_": Maybe(Array(("D",)), required=True),
    "amplitudes_": Array(("D",), low=0),
}
BOX: Fields = {"low_": Array(("d",)), "high_": Array(("d",))}

MAPS: dict[str, tuple[Fields, Check]] = {
    "FourierFeatures": (
        COSINES
        | {
            "signs_": Maybe(Array((None, 3, None), dtypes=("int8",)), required=True),
            "lengths_": Maybe(Array(("F",)), required=True),
        },
        _check_fourier,
    ),
    "QuadratureFeatures": (
        COSINES | BOX | {"tail_": POSITIVE},
        _check_quadrature,
    ),
    "GridFeatures": (
        MAP
        | BOX
        | {
            "period_": Array(("d",), low=POSITIVE.low),
            "tail_": POSITIVE,
            "cut_": POSITIVE,
            "shape_": Array(("d",), dtypes=("int64",), low=1),
        },
        _check_grid,
    ),
    "LandmarkFeatures": (
        MAP
        | {
            "landmarks_": Array(("m", "d"), dtypes=FLOATS),
            "whitening_": Array(("m", "D"), dtypes=FLOATS),
            "own_whitening_": Flag(),
            "by_differences_": Flag(),
        },
        _check_landmarks,
    ),
    "OneHotFeatures": (MAP | {"categories_": Categories("d", "D")}, _check_onehot),
    "SoftmaxFeatures": (
        MAP | BOX | {"beta_": POSITIVE, "landmarks_": Array((None, "d"))},
        _check_softmax,
    ),
}

PARAMETERS: Parameters = Parameters(lambda: Object(MAPS, PARAMETERS, with_fitted=False))

# ---- states ----------------------------------------------------------------------

MATRICES = (DensityMatrix, LowRankDensityMatrix, ToeplitzDensityMatrix)
WEIGHT = Array(("K",), low=0)
STATE = OneOf(
    sums=(
        DensityMatrix,
        Sums(DensityMatrix, total=Triangles("K", "m"), weight=WEIGHT),
    ),
    series=(
        ToeplitzDensityMatrix,
        Record(
            ToeplitzDensityMatrix,
            total=Coefficients("K"),
            weight=WEIGHT,
        ),
    ),
    mean=(
        FeatureMean,
        Record(
            FeatureMean,
            total=Array(("K", "m"), may_be_complex=True),
            weight=WEIGHT,
        ),
    ),
    factor=(
        LowRankDensityMatrix,
        Record(
            LowRankDensityMatrix,
            factor=Factors("K", "D"),
            weight=WEIGHT,
        ),
    ),
)

# ---- estimators ------------------------------------------------------------------


def _check_common(parameters: Values, fitted: Values, reader: Reader) -> None:
    scaling = fitted["scaling_"].parts["matrix"]
    with np.errstate(all="ignore"):
        if scaling.ndim == 1:
            volume = np.log(scaling.min(initial=math.inf))
        else:
            volume = np.linalg.slogdet(scaling)[1]
    require(not np.isnan(volume) and volume > -math.inf, "scaling_ has no volume")
    _check_mixed(fitted, scaling)
    proposal = fitted.get("_proposal")
    if proposal is not None:
        total = proposal.parts["weights"].sum()
        require(abs(total - 1) < 1e-6, "the weights of _proposal must sum to one")


def _check_mixed(fitted: Values, matrix: Any) -> None:
    """Columns of categories are not scaled, and not every map takes them."""
    columns = fitted.get("schema_")
    if columns is None:
        return
    feature_map = fitted["feature_map_"].make.args[0]
    require(feature_map.mixes, "feature_map_ takes no columns of categories")
    is_number = columns().is_number
    centre = fitted["scaling_"].parts["centre"]
    fixed = np.eye(len(matrix)) if matrix.ndim == 2 else np.ones(len(matrix))
    same = (matrix == fixed)[~is_number].all() and not centre[~is_number].any()
    if matrix.ndim == 2:
        same = same and not matrix[np.ix_(is_number, ~is_number)].any()
    require(same, "scaling_ must leave columns of categories as they are")


def _check_state(kinds: tuple[type, ...], fitted: Values) -> None:
    state, feature_map = fitted["state_"], fitted["feature_map_"]
    on_grid = feature_map.make.args[0] is GridFeatures
    require(
        not on_grid or ToeplitzDensityMatrix in kinds,
        "feature_map_ must not be a grid where a matrix is needed",
    )
    if state is None:
        return
    require(state.make in kinds, f"a {state.make.__name__} is not its state")
    require(
        on_grid == (state.make is ToeplitzDensityMatrix),
        "state_ must be a series if the feature map is a grid, and only then",
    )
    if on_grid:
        shape = tuple(feature_map.parts["fitted"].parts["shape_"].tolist())
        same = state.parts["total"].shape[1:] == shape
        require(same, f"state_ must have coefficients of shape {shape}")
        weight, total = state.parts["weight"], state.parts["total"]
        largest = np.abs(total).reshape(len(total), -1).max(axis=1)
        fits = (largest <= 2 * weight)[weight > 0].all()
        require(fits, "state_ has coefficients that are too large for its weight")
        return
    numbers = state.parts["factor" if "factor" in state.parts else "total"]
    numbers = (
        next(iter(numbers.parts.values())) if isinstance(numbers, Build) else numbers
    )
    form = feature_map.parts["parameters"].parts.get("form")
    require(
        np.iscomplexobj(numbers) == (form == "complex"),
        "state_ must be complex if the feature map is, and only then",
    )


def _check_density(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_common(parameters, fitted, reader)
    _check_state(MATRICES, fitted)
    reader.bind("K", 1, "state_")


def _check_mean(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_common(parameters, fitted, reader)
    _check_state((FeatureMean,), fitted)
    reader.bind("K", 1, "state_")


def _check_sample(fitted: Values) -> Any:
    """The targets of the sampled rows, None where there are none."""
    sample = fitted["sample_"]
    if sample is None:
        return None
    keys = sample.parts.get("keys", np.empty(0, np.uint64))
    require((keys[1:] > keys[:-1]).all(), "the keys of sample_ must ascend")
    return sample.parts["target"]


def _check_joint(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_state((DensityMatrix, LowRankDensityMatrix), fitted)
    _check_classes(parameters, fitted, reader)


def _check_classes(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_common(parameters, fitted, reader)
    _check_state(MATRICES, fitted)
    codes = _check_sample(fitted)
    if codes is not None:
        inside = codes.ndim == 1 and codes.dtype == np.int64
        inside = inside and ((codes >= 0) & (codes < reader.sizes["K"])).all()
        require(inside, "sample_ has labels that are not among classes_")


def _check_values(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_common(parameters, fitted, reader)
    _check_state(MATRICES, fitted)
    low, high = fitted["_low"], fitted["_high"]
    require((low <= high).all(), "_low must not exceed _high")
    one = len(low) == 1 or not fitted["_one_target"]
    require(len(low) and one, "one target needs one range")
    if fitted["state_"] is None:
        levels = len(low) * fitted["n_levels_"]
        require(levels <= _MOST_LEVELS, f"n_levels_ makes {levels} levels")
    else:
        reader.bind("K", len(low) * fitted["n_levels_"], "n_levels_")
    target = _check_sample(fitted)
    if target is not None:
        inside = target.shape[1:] == low.shape and target.dtype == np.float64
        require(
            inside and ((target >= low) & (target <= high)).all(),
            "sample_ has targets outside of the range",
        )


def _check_gradient(parameters: Values, fitted: Values, reader: Reader) -> None:
    """What must hold, holds in ``estimator_``."""


TARGET = Array(("s",), ("s", None), dtypes=("int64", "float64"))
SAMPLE = OneOf(
    rows=(
        RowSample,
        Record(
            RowSample,
            size=Number(1, integer=True),
            keys=Array(("s",), dtypes=("uint64",)),
            rows=Rows("s", "d"),
            target=TARGET,
            weight=Array(("s",), low=0),
        ),
    ),
    measured=(
        MeasuredSample,
        Record(
            MeasuredSample,
            target=TARGET,
            weight=Array(("s",), low=0),
            logs=Array(("s", "K"), minus_infinity=True),
        ),
    ),
)
PROPOSAL = Record(
    Proposal,
    anchors=Array(("a", "d")),
    weights=Array(("a",), low=0),
    widths=Array(("a", "d"), low=POSITIVE.low),
)
COMMON: Fields = COLUMNS | {
    "scaling_": Record(Scaling, centre=Array(("d",)), matrix=Array(("d",), ("d", "d"))),
    "gamma_": Maybe(POSITIVE, required=True),
    "feature_map_": Object(MAPS, PARAMETERS),
}
DENSITY: Fields = COMMON | {
    "state_": Maybe(STATE, required=True),
    "_proposal": Maybe(PROPOSAL),
}
OUTCOMES: Fields = {
    "state_": Maybe(STATE, required=True),
    "sample_": Maybe(SAMPLE, required=True),
    "_sample_size": Number(1, integer=True),
    "rank_": Maybe(Number(1, integer=True)),
}
CLASSES: Fields = COMMON | {"classes_": Labels("K")} | OUTCOMES

ONE_PASS: dict[str, tuple[Fields, Check]] = {
    "DMKDE": (DENSITY, _check_density),
    "MeanEmbeddingKDE": (DENSITY, _check_mean),
    "DMKDClassifier": (CLASSES, _check_classes),
    "QMClassifier": (
        CLASSES | {"_output_seed": Number(0, integer=True)},
        _check_joint,
    ),
    "QMOrdinalClassifier": (
        CLASSES
        | {
            "_output_seed": Number(0, integer=True),
            "beta_": POSITIVE,
            "decision_": Word(DECISIONS),
        },
        _check_joint,
    ),
    "QMRegressor": (
        COMMON
        | OUTCOMES
        | {
            "_one_target": Flag(),
            "_low": Array(("t",)),
            "_high": Array(("t",)),
            "n_levels_": Number(1, integer=True),
            "beta_": POSITIVE,
        },
        _check_values,
    ),
}


def _trained(one_pass: str) -> tuple[Fields, Check]:
    fields: Fields = COLUMNS | {
        "estimator_": Object({one_pass: ONE_PASS[one_pass]}, PARAMETERS),
        "history_": Maybe(History()),
        "n_epochs_": Maybe(Number(0, integer=True)),
    }
    return fields, _check_gradient


TRAINED: dict[str, tuple[Fields, Check]] = {
    "DMKDESGD": _trained("DMKDE"),
    "DMKDClassifierSGD": _trained("DMKDClassifier"),
    "QMClassifierSGD": _trained("QMClassifier"),
    "QMRegressorSGD": _trained("QMRegressor"),
}
