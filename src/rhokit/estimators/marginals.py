r"""Models of some of the columns, whatever the others are.

On a grid the marginal is a slice of the Fourier series. Over landmarks the density is
a quadratic form :math:`c(x)^\top R\, c(x)` of kernel columns, which are products over
the columns of the rows; so integrating over some of them leaves a quadratic form of
the others,

.. math:: \int c(x)^\top R\, c(x)\, dx_S = c(x_O)^\top (R \circ G)\, c(x_O),
          \qquad G_{ij} = \int c_i(x_S)\, c_j(x_S)\, dx_S,

with ``G`` known in closed form: exact for what the model holds, and positive, as a
product of positive matrices entry by entry is.
"""

from copy import copy

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist
from sklearn.base import clone

from rhokit.core import (
    LowRankDensityMatrix,
    ToeplitzDensityMatrix,
    gaussian_log_norm,
    log_measured,
)
from rhokit.core.density_matrix import pad_and_stack
from rhokit.estimators.fourier_density import FourierDensity
from rhokit.estimators.sampler import Proposal
from rhokit.estimators.scaling import Scaling
from rhokit.fast import small_algebra, thin_factor
from rhokit.features import GridFeatures, LandmarkFeatures


def marginal_of(model, kept):
    """A copy of a model that knows some of its columns, by place."""
    _require_integrals(model)
    if isinstance(model.feature_map_, GridFeatures):
        return _on_grid(model, kept)
    return _over_landmarks(model, kept)


def knowing(model, kept):
    """What answers for rows that have only some of a model's columns, by place."""
    _require_integrals(model)
    if isinstance(model.feature_map_, GridFeatures):
        return _on_grid(model, kept)
    return Knowing(model, kept)


def _require_integrals(model):
    feature_map = model.feature_map_
    if isinstance(feature_map, GridFeatures):
        return
    if isinstance(feature_map, LandmarkFeatures) and feature_map.own_whitening:
        return
    raise ValueError(
        "leaving columns out needs a model on a grid or over landmarks that were not "
        f'trained: fit with feature_map="auto" (this one has {feature_map!r})'
    )


def with_columns(model, kept):
    """A copy that names these columns only; scaling, map and state are to follow."""
    other = copy(model)
    vars(other).pop("_proposal", None)
    other.n_features_in_ = len(kept)
    if hasattr(model, "feature_names_in_"):
        other.feature_names_in_ = model.feature_names_in_[kept]
    if model.schema_ is not None:
        part = model.schema_.part(kept)
        other.schema_ = part if part.category_columns() else None
    if not (model.scale is None or isinstance(model.scale, str)):
        other.scale = np.asarray(model.scale)[kept]
    return other


# ---- grids -----------------------------------------------------------------------


def _on_grid(model, kept):
    """The marginal of every outcome's series."""
    if model.scaling_.matrix.ndim != 1:
        raise ValueError(
            "marginal needs columns that are scaled one by one, which "
            f"scale={model.scale!r} does not do: take scale='std' or 'robust'"
        )
    other, feature_map = with_columns(model, kept), model.feature_map_
    other.feature_map_ = feature_map.restricted(kept)
    if not isinstance(model.feature_map, str):
        other.feature_map = clone(other.feature_map_)
    scaling = model.scaling_
    other.scaling_ = Scaling(scaling.centre[kept], scaling.matrix[kept])
    parts = [
        FourierDensity.over(feature_map, mean).marginal(kept)
        for mean in model.state_.normalized()
    ]
    weight = model.state_.weight
    other._set_state(series_state(other.feature_map_, parts, weight))
    return other


def series_state(feature_map, parts, weight):
    """The state over a map's box of densities, up to a factor, of given weights."""
    kernel = np.exp(feature_map.log_mass())
    units = [
        mass * kernel / part.mass if mass > 0 else 0.0
        for part, mass in zip(parts, weight, strict=True)
    ]

    def evaluate(rows):
        pairs = zip(parts, units, strict=True)
        return np.stack([part.values(rows) * unit for part, unit in pairs])

    total = feature_map.coefficients(evaluate)
    return ToeplitzDensityMatrix(total, np.array(weight, dtype=float))


# ---- landmarks -------------------------------------------------------------------


def _over_landmarks(model, kept):
    other, old = with_columns(model, kept), model.feature_map_
    wide = wide_places(model, kept)
    other.scaling_ = _marginal_scaling(model.scaling_, wide)
    rows = model.scaling_.invert(old.landmarks_.astype(np.float64))[:, wide]
    landmarks = other.scaling_.apply(rows)
    other.feature_map_ = old.with_columns_of(landmarks)
    overlaps = _column_overlaps(model, kept, landmarks)
    # What a density must be divided by to integrate to one, it keeps.
    overlaps *= np.exp(-model._log_excess())
    factors = [_integrated(factor, overlaps) for factor in _factors(model)]
    other.rank = None  # what it left out is gone
    other._set_state(LowRankDensityMatrix(pad_and_stack(factors), model.state_.weight))
    if hasattr(model, "_proposal"):
        other._proposal = _marginal_proposal(model, other.scaling_, wide)
    return other


class Knowing:
    """What a model over landmarks says of rows that have only some of the columns.

    Rows lack values in many ways, most of them few times: so the quadratic forms
    ``R∘G`` are measured as they are, and never decomposed.

    Parameters
    ----------
    model : MatrixState
    kept : list of int
        The columns that rows have.
    """

    def __init__(self, model, kept):
        self._model = model
        self._part = with_columns(model, kept)
        wide = wide_places(model, kept)
        self._part.scaling_ = _marginal_scaling(model.scaling_, wide)
        old = model.feature_map_
        rows = model.scaling_.invert(old.landmarks_.astype(np.float64))[:, wide]
        landmarks = self._part.scaling_.apply(rows)
        # In double precision: unlike factors, forms lose digits to cancellation.
        self._part.feature_map_ = old.with_columns_of(landmarks, np.float64)
        self._overlaps = _column_overlaps(model, kept, landmarks)

    def _log_measured(self, rows):
        """Measured values of rows (n, d) of these columns as logarithms, (n, K)."""
        forms = _forms(self._model)

        def use(worker, which, columns, log_scale):
            measured = np.empty((len(columns), len(forms)))
            for k, form in enumerate(forms):
                measured[:, k] = np.vecdot(columns @ (form * self._overlaps), columns)
            return log_measured(np.maximum(measured, 0), log_scale)

        rows = rows.astype(np.float64)
        return np.concatenate(self._part._for_blocks(rows, use, relative=True))


def _forms(model):
    """R of every outcome, (m, m): what is measured is ``cᵀRc`` of columns ``c``."""

    def compute():
        with small_algebra(model.feature_map_.n_columns_):
            return [factor.T @ factor for factor in _factors(model)]

    return model._cache.get("quadratic forms", model._rank(), compute)


def log_norm_knowing(model, kept):
    """What turns a measured logarithm of some columns into a log-density of these."""
    wide = wide_places(model, kept)
    part = None if model.schema_ is None else model.schema_.part(kept)
    if part is not None and kept:
        mass = part.log_mass(model.gamma_)
    else:
        mass = gaussian_log_norm(model.gamma_, len(wide))
    volume = _marginal_scaling(model.scaling_, wide).log_volume
    return volume - mass - model._log_excess()


def total_mass(model):
    """What the densities of a model's outcomes integrate to, shape (K,).

    In units of the kernel's own mass; over landmarks only.
    """
    nothing = np.empty((model.feature_map_.n_columns_, 0))
    overlaps = _column_overlaps(model, [], nothing)
    return np.array([((f @ overlaps) * f).sum() for f in _factors(model)])


def wide_places(model, kept):
    """Places of columns in a wide row."""
    if model.schema_ is None:
        return list(kept)
    blocks = [model.schema_.blocks[column] for column in kept]
    return [place for block in blocks for place in range(block.start, block.stop)]


def _factors(model):
    """Factors of the outcomes over the map's columns, as they are measured."""
    state, rank = model.state_, model._rank()

    def compute():
        with small_algebra(model.feature_map_.n_columns_):
            return [
                model._factor_over_columns(state.outcome(k), rank, False)
                for k in range(state.n_outcomes)
            ]

    return model._cache.get("factors over columns", rank, compute)


def _integrated(factor, integral):
    """Factor of a quadratic form of columns, some of them integrated over."""
    with small_algebra(len(integral)):
        return thin_factor((factor.T @ factor) * integral)


def _marginal_scaling(scaling, wide):
    """The scaling of what is left: the metric that integrating leaves."""
    centre = scaling.centre[wide]
    if scaling.matrix.ndim == 1:
        return Scaling(centre, scaling.matrix[wide])
    metric = scaling.matrix @ scaling.matrix.T
    gone = [place for place in range(len(metric)) if place not in wide]
    left = metric[np.ix_(wide, wide)]
    if gone:
        cross = metric[np.ix_(gone, wide)]
        left = left - cross.T @ cho_solve(cho_factor(metric[np.ix_(gone, gone)]), cross)
    return Scaling(centre, np.linalg.cholesky(left) if len(wide) else np.ones(0))


def _column_overlaps(model, kept, landmarks):
    """G: overlaps of kernel columns over what is left out, (m, m).

    In units of the kernel's own mass there. ``landmarks`` are those of what is kept.
    """
    schema, gamma = model.schema_, model.gamma_
    old = model.feature_map_.landmarks_.astype(np.float64)
    numbers = np.ones(old.shape[1], bool) if schema is None else schema.is_number
    kept_numbers = numbers[wide_places(model, kept)]
    gone = _squares(old[:, numbers]) - _squares(landmarks[:, kept_numbers])
    overlaps = np.exp(-gamma / 4 * np.maximum(gone, 0))
    for column in [] if schema is None else schema.category_columns():
        if column not in kept:
            states = schema.states(column)
            squares = cdist(old[:, schema.blocks[column]], states, "sqeuclidean")
            kernel = np.exp(-gamma / 2 * squares)  # (m, C)
            mass = schema.category_kernel(column, gamma).sum(axis=0).mean()
            overlaps *= kernel @ kernel.T / mass
    return overlaps


def _squares(rows):
    """Squared distances between rows, (m, m)."""
    if not rows.shape[1]:
        return np.zeros((len(rows), len(rows)))
    return cdist(rows, rows, "sqeuclidean")


def _marginal_proposal(model, scaling, wide):
    """What rows are drawn from, for some of the columns."""
    proposal, old = model._proposal, model.scaling_
    anchors = scaling.apply(old.invert(proposal.anchors)[:, wide])
    if old.matrix.ndim == 1:
        return Proposal(anchors, proposal.weights, proposal.widths[:, wide])
    back = np.linalg.inv(old.matrix)[:, wide] @ scaling.matrix
    variances = proposal.widths**2 @ back**2
    return Proposal(anchors, proposal.weights, np.sqrt(variances))
