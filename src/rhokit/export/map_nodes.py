"""Feature maps as nodes: scaled rows in, columns out, as the maps compute them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from rhokit.core import GaussianKernel
from rhokit.export.exporters import MAP_EXPORTERS, MapColumns
from rhokit.export.graph import DOUBLE, Value
from rhokit.features import (
    CoherentFeatures,
    FourierFeatures,
    LandmarkFeatures,
    OneHotFeatures,
    QuadratureFeatures,
    SoftmaxFeatures,
)
from rhokit.features.box import BoxFeatures

_TURN = 2 * math.pi
# From here on no digit of a phase is left; so the maps themselves clip.
_MOST_TURNS = 2.0**50
# Distances by a product have errors of about so much, times γ and the landmarks'
# largest squared distance from their middle; above this, differences are taken.
_EXPONENT_ERROR = 1e-8


# ---- landmarks ---------------------------------------------------------------------


@MAP_EXPORTERS.register(LandmarkFeatures.name)
def _landmark_columns(feature_map: LandmarkFeatures, rows: Value) -> MapColumns:
    if not feature_map.follows_gaussian:
        raise ValueError(
            f"landmarks of kernel={feature_map.kernel!r} cannot be exported: ONNX has "
            "the columns of the Gaussian kernel, and Fourier features of any "
            '(feature_map="fourier")'
        )
    rate = GaussianKernel(feature_map.gamma).of_overlaps().gamma
    exponents, shift = gaussian_exponents(rows, feature_map.landmarks_, rate)
    graph = rows.graph
    largest = exponents.max(1, keep=True)
    columns = graph.exp(exponents - largest)
    if feature_map.normalize:
        return MapColumns(_unit_length(columns, feature_map.whitening_))
    return MapColumns(columns, largest if shift is None else largest + shift)


def gaussian_exponents(
    rows: Value, points: NDArray[Any], rate: float
) -> tuple[Value, Value | None]:
    """Exponents (n, m) of kernels about points, and what is to be added to rows'."""
    points = points.astype(np.float64)
    centre = points.mean(axis=0)
    centred, points = rows - centre, points - centre
    farthest = float(np.vecdot(points, points).max())
    if rate * farthest * np.finfo(float).eps > _EXPONENT_ERROR:
        return _exponents_by_differences(centred, points, rate), None
    return _exponents_by_product(centred, points, rate)


def _exponents_by_product(
    rows: Value, landmarks: NDArray[Any], rate: float
) -> tuple[Value, Value]:
    """``rate(2x·l - ‖l‖²)`` (n, m), and ``-rate‖x‖²`` (n, 1), which they lack."""
    graph = rows.graph
    weights = graph.constant(2 * rate * landmarks.T, "landmarks")
    lengths = graph.constant(rate * np.vecdot(landmarks, landmarks), "lengths")
    return rows @ weights - lengths, rows.sum_of_squares(1, keep=True) * -rate


def _exponents_by_differences(
    rows: Value, landmarks: NDArray[Any], rate: float
) -> Value:
    """``-rate‖x - l‖²`` (n, m), where a product would lose digits."""
    total = None
    for index, places in enumerate(landmarks.T):
        difference = rows.column(index) - places[None]
        square = difference * difference
        total = square if total is None else total + square
    assert total is not None
    return total * -rate


def _unit_length(columns: Value, whitening: NDArray[Any] | None) -> Value:
    """Columns (n, m) scaled so that their states have length one."""
    graph, states = columns.graph, columns
    if whitening is not None:
        states = columns @ graph.constant(whitening.astype(np.float64), "whitening")
    square = states.sum_of_squares(1, keep=True)
    return columns / graph.node("Sqrt", graph.where(square > 0.0, square, 1.0))


# ---- waves -------------------------------------------------------------------------


@MAP_EXPORTERS.register(FourierFeatures.name)
def _fourier_columns(feature_map: FourierFeatures, rows: Value) -> MapColumns:
    turns = _turns(rows, feature_map.frequencies_ / _TURN)
    if feature_map.form == "complex":
        # A sine is a cosine a quarter of a turn later.
        phases, repeats = np.repeat([0.0, -0.25], len(feature_map.amplitudes_)), 2
        amplitudes = np.tile(feature_map.amplitudes_, 2)
        return MapColumns(_cosines(turns, phases, amplitudes, repeats))
    assert feature_map.phases_ is not None
    repeats = len(feature_map.phases_) // feature_map.frequencies_.shape[1]
    phases = feature_map.phases_ / _TURN
    columns = _cosines(turns, phases, feature_map.amplitudes_, repeats)
    if feature_map.normalize and feature_map.form == "phase":
        columns = _unit_length(columns, None)
    return MapColumns(columns)


@MAP_EXPORTERS.register(QuadratureFeatures.name)
def _quadrature_columns(feature_map: QuadratureFeatures, rows: Value) -> MapColumns:
    graph = rows.graph
    there = inside_box(feature_map, rows)
    # Rows far from zero keep their digits when the middle of the box is taken out of
    # them, and put back into the phases.
    middle = feature_map.low_ / 2 + feature_map.high_ / 2
    centred = graph.where(there, rows - middle, 0.0)
    assert feature_map.phases_ is not None
    phases = (feature_map.phases_ + middle @ feature_map.frequencies_) / _TURN
    phases = phases - np.rint(phases)
    waves = _turns(centred, feature_map.frequencies_ / _TURN)
    columns = _cosines(waves, phases, feature_map.amplitudes_, 1)
    return MapColumns(columns * there.cast(DOUBLE) + not_a_number(rows))


def _turns(rows: Value, per_unit: NDArray[Any]) -> Value:
    """Projections of the rows on frequencies (d, F), in turns, shape (n, F)."""
    most = float(np.abs(per_unit).sum(axis=0).max())
    farthest = _MOST_TURNS / most if most > 0 else np.inf
    clipped = rows.graph.clip(rows, -farthest, farthest)
    return clipped @ rows.graph.constant(per_unit, "frequencies")


def _cosines(
    turns: Value, phases: NDArray[Any], amplitudes: NDArray[Any], repeats: int
) -> Value:
    """``a cos(2π(t + b))``, the turns repeated side by side, shape (n, D)."""
    graph = turns.graph
    turns = graph.concat([turns] * repeats, axis=1)
    waves = graph.cosine_of_turns(turns + graph.constant(phases, "phases"))
    return waves * graph.constant(amplitudes, "amplitudes")


def inside_box(feature_map: BoxFeatures, rows: Value) -> Value:
    """Whether each row is in the box outside of which states are zero, (n, 1)."""
    low, high = feature_map.box()
    held = (rows >= low) & (rows <= high)
    outside = 1.0 - held.cast(DOUBLE)
    return outside.max(1, keep=True) < 0.5


def not_a_number(rows: Value) -> Value:
    """NaN for rows that hold one, which are neither inside nor outside, else 0."""
    return rows.sum(1, keep=True) * 0.0


# ---- spins -------------------------------------------------------------------------


@MAP_EXPORTERS.register(CoherentFeatures.name)
def _coherent_columns(feature_map: CoherentFeatures, rows: Value) -> MapColumns:
    kernel = feature_map.kernel.with_gamma(feature_map.gamma)
    columns = _spin_waves if feature_map.form == "complex" else _spin_powers
    d, n = feature_map.n_features_in_, kernel.n_quanta
    return MapColumns(columns(rows, d, n, kernel.angle / _TURN))


def _spin_powers(rows: Value, d: int, n: int, rate: float) -> Value:
    """Products over columns of ``√binom(n, m) cosⁿ⁻ᵐ sinᵐ``."""
    graph, up = rows.graph, np.arange(n + 1.0)
    roots = graph.constant(np.sqrt(comb(n, up)), "roots")
    states, count = None, n + 1
    for index in range(d):
        own = rows.column(index) * rate
        cosines = graph.node("Pow", graph.cosine_of_turns(own), (n - up)[None])
        sines = graph.node("Pow", graph.cosine_of_turns(own - 0.25), up[None])
        spins = cosines * sines * roots
        if states is None:
            states = spins
            continue
        count *= n + 1
        states = (states.unsqueeze(2) * spins.unsqueeze(1)).reshape(0, count)
    assert states is not None
    return states


def _spin_waves(rows: Value, d: int, n: int, rate: float) -> Value:
    """Waves whose phases add up over columns: real parts, then imaginary ones."""
    up = np.indices((n + 1,) * d).reshape(d, -1)
    amplitudes = np.sqrt(comb(n, up) / 2.0**n).prod(axis=0)
    # The rate is in the weights: one that rows are multiplied by, runtimes join to the
    # product as a number of single precision.
    turns = _turns(rows, (2.0 * up - n) * rate)
    # A sine is a cosine a quarter of a turn later.
    phases = np.repeat([0.0, -0.25], len(amplitudes))
    return _cosines(turns, phases, np.tile(amplitudes, 2), 2)


# ---- categories, and numbers as distributions --------------------------------------


@MAP_EXPORTERS.register(OneHotFeatures.name)
def _onehot_columns(feature_map: OneHotFeatures, rows: Value) -> MapColumns:
    return MapColumns(rows)  # the inputs were compared with the categories already


@MAP_EXPORTERS.register(SoftmaxFeatures.name)
def _softmax_columns(feature_map: SoftmaxFeatures, rows: Value) -> MapColumns:
    graph, low = rows.graph, feature_map.low_
    width = np.where(feature_map.high_ > low, feature_map.high_ - low, 1.0)
    unit = graph.clip((rows - low) / width, 0.0, 1.0)
    m = int(feature_map.n_components)
    steps = (np.arange(m) / max(m - 1, 1))[None]
    blocks = []
    for index in range(len(low)):
        distance = unit.column(index) - steps
        exponents = distance * distance * -feature_map.beta_
        weights = graph.exp(exponents - exponents.max(1, keep=True))
        squares = weights / (weights.sum(1, keep=True) * float(len(low)))
        blocks.append(graph.node("Sqrt", squares))
    return MapColumns(graph.concat(blocks, axis=1))
