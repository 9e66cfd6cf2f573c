"""Eigenvalues of the density matrices of fitted models and of states."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhokit.core import Spectrum, state_spectrum
from rhokit.fast import small_algebra
from rhokit.inspection.subjects import fitted_model
from rhokit.models import Model

# Larger matrices of a grid are not formed.
_MOST_GRID_POINTS = 2048
# Of more outcomes, one spectrum for all is clearer.
_MOST_OUTCOMES = 8


def matrix_size(estimator: Any) -> int | None:
    """Rows of the density matrix of each outcome; None where the state is none.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> model = DMKDE(feature_map="landmarks", n_components=16, random_state=0)
    >>> matrix_size(model.fit(X))
    16
    """
    model = fitted_model(estimator)
    if not model.representation.has_matrix:
        return None
    return int(model.plan.feature_map.n_components_)


def model_with_matrix(estimator: Any, what: str) -> Model:
    """The model of an estimator, if its density matrix can be formed.

    ``what`` is the function that asks, for errors.
    """
    model, size = fitted_model(estimator), matrix_size(estimator)
    if size is None:
        raise TypeError(
            "a model with a density matrix must be given, got "
            f"{type(estimator).__name__}, which holds a {model.plan.representation}: "
            'fit with feature_map="landmarks", say'
        )
    if model.plan.representation == "series" and size > _MOST_GRID_POINTS:
        raise ValueError(
            f"{what}: the matrix of this model's grid would have {size:,} rows, more "
            f'than {_MOST_GRID_POINTS:,}: fit with feature_map="landmarks", or with a '
            "smaller gamma"
        )
    return model


def spectrum(estimator: Any, *, outcomes: str = "auto", rank: Any = None) -> Spectrum:
    """Eigenvalues of a model's density matrices, and how many the rank keeps.

    Parameters
    ----------
    estimator : fitted estimator, one-pass or trained
        Of a model on a grid the matrix is formed, which must not have more than
        2,048 rows.
    outcomes : {"auto", "each", "pooled"}, default="auto"
        The spectrum of every class or level, or that of the state of all rows;
        ``"auto"`` tells up to eight outcomes apart.
    rank : int, float, "elbow", optional
        The rank to cut at; without it that of the model, unless outcomes are pooled.

    Returns
    -------
    spectrum : Spectrum

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> model = DMKDE(n_components=64, rank=16, random_state=0).fit(X)
    >>> found = spectrum(model)
    >>> found.eigenvalues.shape, found.ranks
    ((1, 64), (16,))
    """
    model = model_with_matrix(estimator, "spectrum")
    state, pools = model.state, is_pooled(model.state, outcomes)
    if pools:
        state = pooled(state)
    elif rank is None:
        rank = model.rank
    return spectrum_of_state(
        model.representation.density_matrix(state), outcomes="each", rank=rank
    )


def spectrum_of_state(
    state: Any, *, outcomes: str = "auto", rank: Any = None
) -> Spectrum:
    """Eigenvalues of a state, as NumPy arrays of double precision.

    Parameters
    ----------
    state : DensityMatrix or LowRankDensityMatrix
        Of NumPy arrays or of tensors.
    outcomes, rank :
        As for :func:`spectrum`; without a rank, that of a factor.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DensityMatrix
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> spectrum_of_state(DensityMatrix.from_states(rows)).eigenvalues.shape
    (1, 3)
    """
    if not hasattr(state, "eigenvalues"):
        raise TypeError(
            "state must be a DensityMatrix or a LowRankDensityMatrix, got a "
            f"{type(state).__name__}: give density_matrix_ of the model that it "
            "belongs to, where there is one"
        )
    whole = _to_numpy(state)
    if is_pooled(state, outcomes):
        whole = pooled(whole)
    with small_algebra(whole.dim):
        return state_spectrum(whole, rank)


def is_pooled(state: Any, outcomes: str) -> bool:
    """Whether one spectrum stands for several outcomes."""
    most = {"auto": _MOST_OUTCOMES, "each": state.n_outcomes, "pooled": 1}
    if outcomes not in most:
        raise ValueError(
            f'outcomes must be "auto", "each" or "pooled", got {outcomes!r}'
        )
    return bool(state.n_outcomes > most[outcomes])


def pooled(state: Any) -> Any:
    """The state of all rows, whatever their outcome."""
    return state.mix(np.ones((1, state.n_outcomes)))


def _to_numpy(state: Any) -> Any:
    """A state on NumPy arrays in double precision."""
    names = [each.name for each in fields(state)]
    return replace(state, **{name: _double(getattr(state, name)) for name in names})


def _double(array: Any) -> NDArray[Any]:
    if hasattr(array, "resolve_conj"):  # torch
        array = array.detach().cpu().resolve_conj()
    array = np.asarray(array)
    return np.asarray(array.astype(np.result_type(array.dtype, np.float64)))
