"""Classes from label proportions: bags of rows, of which only the shares are known."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import column_or_1d

from rhokit.batch import Batch
from rhokit.estimators.choice import chosen_model
from rhokit.models import Model
from rhokit.models.bags import Bags, model_of_bags, models_of_bags, share_error
from rhokit.progress import ProgressBar

E = TypeVar("E", bound=Any)
# γ by held-out bags, in units of the median rule's; choices are made on small maps.
_GAMMAS = (1.0, 3.0, 9.0, 27.0, 81.0)
_FOLDS = 3
_FEW_COMPONENTS = 256
# Shares may differ from sum one by as much as numbers that were printed do.
_SLACK = 0.02


def fit_proportions(
    estimator: E,
    X: Any,
    bags: Any,
    proportions: Any,
    *,
    classes: Any = None,
    sample_weight: Any = None,
) -> E:
    r"""Learn classes from bags of rows, of which only the classes' shares are known.

    Rows of a class are taken to be alike in all bags. Then the density matrix of a bag
    is :math:`\sigma_b = \sum_k s_{bk}\rho_k`, which is solved for the classes'
    :math:`\rho_k` by least squares over the bags, in closed form; eigenvalues below
    zero are cut off and traces restored. What comes out is a model like any other: it
    predicts, is saved, merges, and learns rows with labels by :meth:`partial_fit`.

    ``gamma="loo"`` takes the γ that tells the shares of held-out bags best;
    ``scale="auto"`` stands for ``"std"``, and ``feature_map="auto"`` for
    ``"landmarks"``.

    Parameters
    ----------
    X : array-like or frame of shape (n, d)
    bags : array-like of shape (n,)
        Name of the bag that each row is in.
    proportions : frame, or array-like of shape (B, K)
        Shares of the classes in each bag, with sum one. Of a pandas frame the index
        names the bags, and the columns are the classes; rows of an array are in the
        order of ``np.unique(bags)``.
    classes : array-like of shape (K,), optional
        Labels of the columns of an array; 0, 1, ... without them.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    self

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDClassifier
    >>> rng = np.random.default_rng(0)
    >>> shares = rng.dirichlet([1, 1], size=20)
    >>> bags = np.repeat(np.arange(20), 50)
    >>> y = (rng.random(1000) < shares[bags, 1]).astype(int)  # which nobody sees
    >>> X = rng.normal(size=(1000, 2)) + 3 * y[:, None]
    >>> model = DMKDClassifier(random_state=0).fit_proportions(X, bags, shares)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    names, places = np.unique(column_or_1d(bags), return_inverse=True)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(places) != n_rows:
        raise ValueError(
            f"bags must name the bag of each of {n_rows} rows, got {len(places)}"
        )
    shares, labels = _checked_shares(proportions, names, classes)
    order = np.argsort(labels, kind="stable")
    of_bags = Bags(places, shares[:, order])
    labels = labels[order]
    # Labels at random, so that whatever goes by classes gives each its share.
    y = labels[_drawn(of_bags)]
    batch = estimator.check_batch(X, y, sample_weight, anew=True)
    _refuse_what_labels_choose(estimator)
    wanted = _in_full(estimator, labels)
    if isinstance(estimator.gamma, str) and estimator.gamma == "loo":
        wanted.set_params(gamma=_best_gamma(wanted, batch, of_bags, labels))
    model = model_of_bags(_planned(wanted, batch, labels), batch, of_bags)
    fitted: E = estimator._become(model)
    return fitted


def _checked_shares(
    proportions: Any, names: NDArray[Any], classes: Any
) -> tuple[Any, Any]:
    """Shares (B, K) in the order of the bags' names, and labels (K,)."""
    if hasattr(proportions, "loc"):
        missing = [name for name in names.tolist() if name not in proportions.index]
        if missing:
            raise ValueError(
                f"proportions must have a row for each bag, but has none for "
                f"{missing[0]!r}"
            )
        labels = np.asarray(proportions.columns)
        shares = np.asarray(proportions.loc[names.tolist()], dtype=np.float64)
    else:
        shares = np.asarray(proportions, dtype=np.float64)
        if shares.ndim != 2 or len(shares) != len(names):
            raise ValueError(
                f"proportions must have a row for each of {len(names)} bags, got shape "
                f"{shares.shape}"
            )
        labels = np.arange(shares.shape[1]) if classes is None else np.asarray(classes)
    if len(labels) != shares.shape[1] or len(np.unique(labels)) < max(2, len(labels)):
        raise ValueError(
            f"classes must be {shares.shape[1]} different labels, at least two, got "
            f"{labels.tolist()}"
        )
    sums = shares.sum(axis=1)
    wrong = ~((shares >= 0).all(axis=1) & (np.abs(sums - 1) < _SLACK))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            "proportions must be shares from 0 to 1 with sum one, but those of bag "
            f"{names.tolist()[place]!r} are {shares[place].tolist()}"
        )
    return shares / sums[:, None], labels


def _drawn(bags: Bags) -> NDArray[np.intp]:
    """Codes of classes (n,), drawn for each row by its bag's shares."""
    rng = np.random.default_rng(0)
    reached = bags.shares.cumsum(axis=1)[bags.codes]
    drawn = (rng.random((len(bags.codes), 1)) > reached).sum(axis=1)
    return np.minimum(drawn, bags.shares.shape[1] - 1)


def _refuse_what_labels_choose(estimator: Any) -> None:
    if isinstance(estimator.rank, str) and estimator.rank == "loo":
        raise ValueError(
            "rank must be a number, 'elbow' or None for fit_proportions, which leaves "
            "no row out. Got rank='loo'"
        )
    if getattr(estimator, "reject", None) is not None:
        raise ValueError(
            "reject must be None for fit_proportions, which leaves no row out: set "
            f"min_log_density afterwards. Got reject={estimator.reject!r}"
        )


def _in_full(estimator: Any, labels: NDArray[Any]) -> Any:
    """The estimator with what "auto" stands for, where labels cannot choose."""
    wanted = clone(estimator)
    if isinstance(wanted.scale, str) and wanted.scale == "auto":
        wanted.set_params(scale="std")
    if isinstance(wanted.feature_map, str) and wanted.feature_map == "auto":
        wanted.set_params(feature_map="landmarks")
    return wanted


def _planned(estimator: Any, batch: Batch, labels: NDArray[Any]) -> Model:
    """A model without rows, of a plan whose states are matrices."""
    model = chosen_model(estimator, batch, bounded=True, foreseen=labels)
    if model.plan.representation != "matrix":
        raise ValueError(
            "feature_map must make density matrices for fit_proportions, as "
            f"'landmarks' and 'fourier' do, got {estimator.feature_map!r}"
        )
    return replace(model, rank=None)


def _best_gamma(
    estimator: Any, batch: Batch, bags: Bags, labels: NDArray[Any]
) -> float:
    """The γ under which shares of bags that are held out are told best."""
    few = min(estimator.n_components, _FEW_COMPONENTS)
    small = clone(estimator).set_params(n_components=few, gamma="median")
    median = _planned(small, batch, labels).plan.gamma
    assert median is not None
    folds = np.arange(len(bags.shares)) % _FOLDS
    outside = [folds == fold for fold in range(min(_FOLDS, len(folds)))]
    outside = [out for out in outside if bags.can_tell(batch, ~out)]
    if not outside:
        return float(median)
    errors = []
    with ProgressBar("Choosing gamma by held-out bags") as bar:
        for done, factor in enumerate(_GAMMAS):
            bar.count(done, len(_GAMMAS))
            plan = _planned(small.set_params(gamma=factor * median), batch, labels)
            learned = models_of_bags(plan, batch, bags, [~out for out in outside])
            pairs = zip(learned, outside, strict=True)
            held_out = ((model, *bags.take(batch, out)) for model, out in pairs)
            errors.append(sum(share_error(*each) for each in held_out))
    return float(_GAMMAS[int(np.argmin(errors))] * median)
