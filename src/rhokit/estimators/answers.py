"""Answers that all estimators have, as functions that become their methods."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rhokit.batch import Batch
from rhokit.core import Kernel
from rhokit.models import (
    DensitySeries,
    Explanation,
    Model,
    MosaicDensity,
    explanation_of,
    series_of,
)
from rhokit.models.gaps import refuse_gaps
from rhokit.plans import Plan
from rhokit.representations import REPRESENTATIONS, MemoryEstimate
from rhokit.validation import check_float_dtype

E = TypeVar("E", bound=Any)


def has_matrices(estimator: Any) -> bool:
    """Whether states are density matrices, or series of them."""
    return bool(estimator.representation == "matrix")


def question(estimator: Any, X: Any) -> tuple[Model, NDArray[Any]]:
    """The model of now, and rows to ask it for: all that an answer is made from.

    Nothing else of the estimator is looked at, which another thread may be teaching.

    Parameters
    ----------
    X : array-like or frame of shape (n, d)
    """
    model: Model = estimator.fitted_model()
    return model, estimator.check_query(X, model)


def score_samples(
    estimator: Any, X: Any, y: Any = None, *, leave_one_out: bool = False
) -> NDArray[np.float64]:
    """Log-density of each row, whatever its target, in the user's units.

    Parameters
    ----------
    X : array-like or frame of shape (n, d)
    y : array-like of shape (n,) or (n, t), optional
        Targets of rows that the model was fitted to, for ``leave_one_out``.
    leave_one_out : bool, default=False
        For rows that the model was fitted to, with weight one: take each one's own
        contribution out, in closed form. What is left cannot be told from zero
        below about 1e-15 of that contribution (1e-6 in float32; on a grid, 1e-11
        of all rows), so rows far from all others get too high a value, or ``-inf``.
        With a rank, what is left in the eigenvectors of the whole model, which the
        row has a part in. Models that hold only a factor refuse.

    Returns
    -------
    log_density : array of shape (n,), float64
        ``-inf`` where the density is exactly zero. Of rows that lack values, that
        of the columns they have (``missing="integrate"``).
    """
    model, rows = estimator.question(X)
    if not leave_one_out:
        return np.asarray(model.log_density(rows))
    refuse_gaps(rows)
    owner = type(estimator).__name__
    target = model.readout.check(y, len(rows), owner)
    batch = Batch(rows, model.plan.columns, target)
    known = model.knowing(batch, owner)
    return np.asarray(known.log_density_without(batch))


def marginal(estimator: E, columns: Any) -> E:
    """The model of some of the columns, whatever the others are.

    On a grid it is the model that those columns alone would have given, with the
    same γ, and learns on. Over landmarks it integrates what the model holds, in
    closed form, and only predicts. Random features cannot be integrated.

    Parameters
    ----------
    columns : int, str, or list of these
        Places or names of the columns to keep; they stay in their order.

    Returns
    -------
    model : estimator of the same class

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal([0, 5], size=(2000, 2))
    >>> DMKDE(random_state=0).fit(X).marginal(1).series().mean().round(1)
    array([5.])
    >>> X = np.random.default_rng(0).normal([0, 0, 0, 5], size=(500, 4))
    >>> model = DMKDE(gamma=2.0, scale=None, random_state=0).fit(X)  # all rows
    >>> alone = DMKDE(gamma=2.0, scale=None).fit(X[:, [3]])
    >>> np.abs(model.marginal(3).density([[5.0]]) - alone.density([[5.0]])) < 1e-9
    array([ True])
    """
    model = estimator.fitted_model()
    kept = sorted(model.plan.columns.find("columns", columns))
    return with_columns(estimator, model.marginal(kept), kept)


def with_columns(estimator: E, model: Model, kept: list[int]) -> E:
    """The estimator of a model of some columns, with parameters that fit these."""
    part: E = estimator.with_model(model)
    part.rank = model.rank
    if not (estimator.scale is None or isinstance(estimator.scale, str)):
        part.scale = np.asarray(estimator.scale)[kept]
    if not isinstance(estimator.feature_map, str):
        part.feature_map = model.plan.feature_map
    return part


def mosaic(estimator: Any) -> MosaicDensity:
    """The density as a mixture of cells, with all that follows in closed form.

    Means, covariances; of one column, distribution function and quantiles; of two, the
    outlines of the cells. For models whose map is a mosaic, and what
    :meth:`marginal` and :meth:`conditional` make of them.

    Returns
    -------
    mosaic : MosaicDensity
    """
    return MosaicDensity.of(estimator.fitted_model())


def explain(estimator: Any, X: Any) -> Explanation:
    r"""Which columns make rows improbable, and given which others.

    The contribution of column j is by how many nats its value is less probable, given
    all other columns of the row, than values of the column usually are,

    .. math:: c_j(x) = -\log p(x_j \mid x_{\ne j})
              - \operatorname{E}\bigl[-\log p(X_j \mid X_{\ne j})\bigr],

    in closed form. For models whose columns can be integrated over: mosaics, landmarks
    and grids.

    Parameters
    ----------
    X : array-like or frame of shape (n, d)

    Returns
    -------
    explanation : Explanation
        ``contributions`` (n, d), a text for each row, ``to_frame()``.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> X[:, 2] = X[:, 0] + 0.1 * X[:, 2]
    >>> model = DMKDE(random_state=0).fit(X)
    >>> why = model.explain([[1.0, 0.2, -1.0], [0.0, 9.0, 0.0]])
    >>> why.contributions.argmax(axis=1)[1]
    np.int64(1)
    >>> print(why.texts[1])
    odd because `column 1` (9) is improbable
    """
    model, rows = estimator.question(X)
    return explanation_of(model, rows)


def series(estimator: Any) -> DensitySeries:
    """The density as a Fourier series, with all that follows in closed form.

    Distribution function, quantiles, probabilities of boxes, conditionals, moments,
    entropy, modes and gradients. For models of one to three columns of numbers, on a
    grid or over landmarks; of others, take :meth:`marginal` first. Of a model with a
    target it is the density of the rows, whatever their target.

    Returns
    -------
    series : DensitySeries

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> X = np.random.default_rng(0).normal(size=(400, 6))
    >>> model = DMKDE(gamma="scott", random_state=0).fit(X)
    >>> model.marginal(2).series().quantile([0.16, 0.5, 0.84]).round() + 0
    array([-1.,  0.,  1.])
    """
    return series_of(estimator.fitted_model())


def compact(estimator: E) -> E:
    """A copy that only predicts, with a factor of the model's rank for its sums.

    It is smaller, by as much as ``rank`` is below the dimension, and learns no
    more: it cannot add, merge or forget rows. On a grid, and of a mean of features,
    it is a copy.
    """
    other: E = estimator.with_model(estimator.fitted_model().compact())
    return other


def memory_estimate(
    estimator: Any,
    n_features: int | None = None,
    n_outcomes: int | None = None,
    batch_rows: int = 65_536,
) -> MemoryEstimate:
    """Bytes that learning from batches takes at most, whatever their number.

    Parameters
    ----------
    n_features, n_outcomes : int, optional
        Columns of the rows, and classes or levels (of all targets together). A
        model that is prepared knows them.
    batch_rows : int, default=65_536
        Rows of the largest batch.

    Returns
    -------
    estimate : MemoryEstimate
        Its ``total``, and what it is made of. Predicting takes less.
    """
    known = estimator.prepared_model() if estimator.is_prepared else None
    readout = estimator.make_readout() if known is None else known.readout
    load = readout.load(n_outcomes, batch_rows)
    if known is not None:
        return known.representation.memory(load)
    if n_features is None:
        raise ValueError(
            "n_features must be given for a model that is not prepared: the number "
            "of columns of its rows"
        )
    dtype = check_float_dtype(type(estimator).__name__, estimator.dtype)
    return REPRESENTATIONS[estimator.representation].foreseen_memory(
        n_features,
        estimator.n_components,
        np.dtype(dtype or np.float64).itemsize,
        load,
    )


def kernel(estimator: Any) -> Kernel | None:
    """The kernel that overlaps follow, for the γ that was chosen.

    None for cells and for discrete values, which have none in common.
    """
    return getattr(estimator.feature_map_, "kernel_", None)


def chosen_rank(estimator: Any) -> int | None:
    """The rank that ``rank="loo"`` chose; None where all is worth keeping."""
    plan: Plan = estimator.model_.plan
    if plan.loo_rank is None:
        raise AttributeError("rank_ is there after a fit with rank='loo'")
    found: int | None = plan.chosen_rank("loo")
    return found


def feature_importances(estimator: Any) -> NDArray[np.float64]:
    """How much each column counts, as a share of all, shape (d,); their sum is one.

    Of a blend, shares of what the splits of its trees make targets more alike. Of other
    models, spreads of the columns after scaling, in which rows are compared: of
    ``scale="std"`` all are equal, and a learned metric gives more to columns in which
    rows must be near to have similar targets.
    """
    found = estimator.fitted_model().plan.importances
    if found is None:
        raise AttributeError(
            "feature_importances_ is there after a fit with a kernel; this model's "
            "plan has none"
        )
    return np.asarray(found).copy()
