"""What a model file of protocol 1 holds: every class, field by field.

Nothing else can be in a file. To add a field, give it a default for files that lack
it (:class:`~rhokit.io.fields.Maybe`); to change or remove one, raise the protocol: see
:mod:`rhokit.io.protocol`.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import rhokit
from rhokit.core import DensityMatrix, FeatureMean, LowRankDensityMatrix
from rhokit.estimators.choice import check_map
from rhokit.estimators.joint_classifier import DECISIONS
from rhokit.estimators.row_sample import MeasuredSample, RowSample
from rhokit.estimators.sampler import Proposal
from rhokit.estimators.scaling import Scaling
from rhokit.io.errors import ModelFileError
from rhokit.io.fields import (
    Array,
    Build,
    Categories,
    Field,
    Flag,
    Labels,
    Maybe,
    Names,
    Number,
    OneOf,
    Reader,
    Record,
    Word,
    Writer,
)
from rhokit.io.parameters import Parameters
from rhokit.io.values import Factors, History, Rows, Sums, Triangles
from rhokit.validation import check_values

Fields = dict[str, Field]
Values = Mapping[str, Any]
Check = Callable[[Values, Values, Reader], None]

FLOATS = ("float32", "float64")
_LONGEST_MESSAGE = 400
# Sizes that nothing in a file attests, since they are of what is made from it.
_MOST_OUTPUTS = 2**16
_MOST_LEVELS = 2**20
POSITIVE = Number(float(np.finfo(float).tiny))


class Object:
    """An object of one of our classes: its parameters, and what it has learned.

    The class is looked up in a table of ours; the file's word for it is never imported.

    Parameters
    ----------
    table : mapping
        From names of classes to their fields and to what must hold between them.
    with_fitted : bool
        Whether what was learned is kept, or only the parameters.
    """

    def __init__(
        self, table: Mapping[str, tuple[Fields, Check]], *, with_fitted: bool = True
    ) -> None:
        self._table = table
        self._with_fitted = with_fitted

    def write(self, value: Any, path: str, writer: Writer) -> Any:
        name = type(value).__name__
        if name not in self._table or type(value) is not getattr(rhokit, name):
            raise TypeError(
                f"a {type(value).__module__}.{name} cannot be saved: a model file "
                f"holds objects of {sorted(self._table)}, and no code"
            )
        own = _join(path, "parameters")
        parameters = PARAMETERS.write(value.get_params(deep=False), own, writer)
        fitted = None
        if self._with_fitted and hasattr(value, "n_features_in_"):
            fitted = self._write_fitted(value, path, writer)
        return {"class": name, "parameters": parameters, "fitted": fitted}

    def _write_fitted(self, value: Any, path: str, writer: Writer) -> Any:
        kept = value._keep()
        return {
            name: field.write(kept[name], _join(path, name), writer)
            for name, field in self._table[type(value).__name__][0].items()
            if name in kept
        }

    def read(self, given: Any, path: str, reader: Reader) -> Any:
        if not isinstance(given, dict) or given.keys() != {
            "class",
            "parameters",
            "fitted",
        }:
            raise ModelFileError(f"{path or 'the model'} is no object of ours")
        name = given["class"]
        if not isinstance(name, str) or name not in self._table:
            raise ModelFileError(
                f"the class of {path or 'the model'} must be one of "
                f"{sorted(self._table)}, got {str(name)[:80]!r}"
            )
        cls = getattr(rhokit, name)
        own = _join(path, "parameters")
        parameters = PARAMETERS.read(given["parameters"], own, reader)
        _check_parameters(cls, parameters, path)
        fitted = None
        if given["fitted"] is not None:
            _require(self._with_fitted, f"{path} must have parameters alone")
            fitted = self._read_fitted(name, given["fitted"], path, reader)
            complete = _defaults(cls) | parameters
            self._table[name][1](complete, fitted, reader)
        return Build(
            partial(_make, cls),
            {
                "parameters": Build(dict, parameters),
                "fitted": None if fitted is None else Build(dict, fitted),
            },
        )

    def _read_fitted(self, name: str, given: Any, path: str, reader: Reader) -> Any:
        fields = self._table[name][0]
        if not isinstance(given, dict) or not given.keys() <= fields.keys():
            unknown = (
                sorted(set(given) - set(fields)) if isinstance(given, dict) else ""
            )
            raise ModelFileError(
                f"{_join(path, 'fitted')} is not understood: {unknown}"
            )
        missing = [
            key
            for key, field in fields.items()
            if key not in given and (not isinstance(field, Maybe) or field.required)
        ]
        if missing:
            raise ModelFileError(f"{_join(path, 'fitted')} lacks {missing}")
        return {
            key: field.read(given[key], _join(path, key), reader)
            for key, field in fields.items()
            if key in given
        }


def _make(cls: type, parameters: dict[str, Any], fitted: dict[str, Any] | None) -> Any:
    made = cls(**parameters)
    if fitted is not None:
        vars(made).update(fitted)
        made._restore()
    return made


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _defaults(cls: Any) -> dict[str, Any]:
    return dict(cls().get_params(deep=False))


def _check_parameters(cls: Any, parameters: dict[str, Any], path: str) -> None:
    known = _defaults(cls)
    if not parameters.keys() <= known.keys():
        unknown = sorted(parameters.keys() - known.keys())
        raise ModelFileError(f"{cls.__name__} has no parameters {unknown}")
    plain = {k: v for k, v in parameters.items() if not isinstance(v, Build)}
    try:
        check_values(cls.__name__, plain, cls._parameter_table)
        if "feature_map" in plain:
            check_map(plain["feature_map"])  # type: ignore[no-untyped-call]
    except (ValueError, TypeError) as error:
        raise ModelFileError(str(error)[:_LONGEST_MESSAGE]) from error
    output = parameters.get("output_map")
    if isinstance(output, Build):
        size = output.parts["parameters"].parts.get("n_components", 1)
        _require(
            size <= _MOST_OUTPUTS, f"n_components={size} of output_map is too many"
        )
    misplaced = parameters.keys() - plain.keys() - {"feature_map", "output_map"}
    if misplaced:
        raise ModelFileError(f"{cls.__name__}: {sorted(misplaced)} cannot be a map")


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise ModelFileError(what)


# ---- feature maps ----------------------------------------------------------------


def _check_cosines(parameters: Values, fitted: Values, reader: Reader) -> None:
    sizes = reader.sizes
    per_frequency = 2 if parameters.get("form") == "pair" else 1
    reader.bind("D", per_frequency * sizes["F"], "frequencies_")
    reader.bind("m", sizes["D"], "frequencies_")
    is_complex = parameters.get("form") == "complex"
    _require(
        (fitted["phases_"] is None) == is_complex,
        "phases_ must be there unless the form is complex",
    )


def _check_fourier(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_cosines(parameters, fitted, reader)
    signs, lengths = fitted.get("_signs"), fitted.get("_lengths")
    _require((signs is None) == (lengths is None), "_signs need _lengths")
    if signs is not None:
        n_blocks, _, width = signs.shape
        fits = width >= reader.sizes["d"] and n_blocks * width >= reader.sizes["F"]
        fits = fits and width & (width - 1) == 0 and (np.abs(signs) == 1).all()
        _require(fits, "_signs do not make frequencies of this number and length")


def _check_quadrature(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_cosines(parameters, fitted, reader)
    _require(reader.sizes["d"] <= 3, "QuadratureFeatures has at most 3 columns")
    _require((fitted["low_"] <= fitted["high_"]).all(), "low_ must not exceed high_")


def _check_landmarks(parameters: Values, fitted: Values, reader: Reader) -> None:
    dtype = fitted["dtype_"]
    same = fitted["landmarks_"].dtype == fitted["whitening_"].dtype == dtype
    _require(same, f"landmarks_ and whitening_ must be {dtype}")
    _require(0 < reader.sizes["D"] <= reader.sizes["m"], "whitening_ is no whitening")


def _check_onehot(parameters: Values, fitted: Values, reader: Reader) -> None:
    reader.bind("m", reader.sizes["D"], "categories_")
    _require(fitted["dtype_"] == np.float64, "dtype_ must be float64")


def _check_softmax(parameters: Values, fitted: Values, reader: Reader) -> None:
    n_levels, d = fitted["landmarks_"].shape
    _require(
        parameters["n_components"] == n_levels, "n_components and landmarks_ differ"
    )
    for size in ("m", "D"):
        reader.bind(size, n_levels * d, "landmarks_")


COLUMNS: Fields = {
    "n_features_in_": Number(1, integer=True, size="d"),
    "feature_names_in_": Maybe(Names("d")),
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
            "_signs": Maybe(Array((None, 3, None), dtypes=("int8",)), required=True),
            "_lengths": Maybe(Array(("F",)), required=True),
        },
        _check_fourier,
    ),
    "QuadratureFeatures": (
        COSINES | BOX | {"reach_": POSITIVE},
        _check_quadrature,
    ),
    "LandmarkFeatures": (
        MAP
        | {
            "landmarks_": Array(("m", "d"), dtypes=FLOATS),
            "whitening_": Array(("m", "D"), dtypes=FLOATS),
            "_own_whitening": Maybe(Flag()),
            "_by_differences": Flag(),
        },
        _check_landmarks,
    ),
    "OneHotFeatures": (MAP | {"categories_": Categories("d", "D")}, _check_onehot),
    "SoftmaxFeatures": (
        MAP | BOX | {"beta_": POSITIVE, "landmarks_": Array((None, "d"))},
        _check_softmax,
    ),
}

PARAMETERS = Parameters(lambda: Object(MAPS, with_fitted=False))

# ---- states ----------------------------------------------------------------------

WEIGHT = Array(("K",), low=0)
STATE = OneOf(
    sums=(
        DensityMatrix,
        Sums(DensityMatrix, total=Triangles("K", "m"), weight=WEIGHT),
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
    _require(not np.isnan(volume) and volume > -math.inf, "scaling_ has no volume")
    proposal = fitted.get("_proposal")
    if proposal is not None:
        total = proposal.parts["weights"].sum()
        _require(abs(total - 1) < 1e-6, "the weights of _proposal must sum to one")


def _check_state(kinds: tuple[type, ...], fitted: Values) -> None:
    state = fitted["state_"]
    if state is None:
        return
    _require(state.make in kinds, f"a {state.make.__name__} is not its state")
    numbers = state.parts["factor" if "factor" in state.parts else "total"]
    numbers = (
        next(iter(numbers.parts.values())) if isinstance(numbers, Build) else numbers
    )
    form = fitted["feature_map_"].parts["parameters"].parts.get("form")
    _require(
        np.iscomplexobj(numbers) == (form == "complex"),
        "state_ must be complex if the feature map is, and only then",
    )


def _check_density(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_common(parameters, fitted, reader)
    _check_state((DensityMatrix, LowRankDensityMatrix), fitted)
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
    _require((keys[1:] > keys[:-1]).all(), "the keys of sample_ must ascend")
    return sample.parts["target"]


def _check_classes(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_common(parameters, fitted, reader)
    _check_state((DensityMatrix, LowRankDensityMatrix), fitted)
    codes = _check_sample(fitted)
    if codes is not None:
        inside = codes.ndim == 1 and codes.dtype == np.int64
        inside = inside and ((codes >= 0) & (codes < reader.sizes["K"])).all()
        _require(inside, "sample_ has labels that are not among classes_")


def _check_values(parameters: Values, fitted: Values, reader: Reader) -> None:
    _check_common(parameters, fitted, reader)
    _check_state((DensityMatrix, LowRankDensityMatrix), fitted)
    low, high = fitted["_low"], fitted["_high"]
    _require((low <= high).all(), "_low must not exceed _high")
    one = len(low) == 1 or not fitted["_one_target"]
    _require(len(low) and one, "one target needs one range")
    if fitted["state_"] is None:
        levels = len(low) * fitted["n_levels_"]
        _require(levels <= _MOST_LEVELS, f"n_levels_ makes {levels} levels")
    else:
        reader.bind("K", len(low) * fitted["n_levels_"], "n_levels_")
    target = _check_sample(fitted)
    if target is not None:
        inside = target.shape[1:] == low.shape and target.dtype == np.float64
        _require(
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
    "feature_map_": Object(MAPS),
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
        _check_classes,
    ),
    "QMOrdinalClassifier": (
        CLASSES
        | {
            "_output_seed": Number(0, integer=True),
            "beta_": POSITIVE,
            "decision_": Word(DECISIONS),
        },
        _check_classes,
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
        "estimator_": Object({one_pass: ONE_PASS[one_pass]}),
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
