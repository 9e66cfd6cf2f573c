"""Whether rows are those that a model was fitted to, told by what they hold."""

from typing import Any

import numpy as np

from rhokit.inspection.subjects import fitted_model
from rhokit.models.kept import rows_kept

# So many of the kept rows must be found before anything is said, and so much of the
# kept rows' weight must be theirs alone: rows that come again and again prove nothing.
_FEWEST, _MOST_REPEATED = 5, 0.5


def learned_share(estimator: Any, X: Any) -> float:
    """Share of some rows that a model has learned, NaN where it cannot tell.

    A model keeps a sample of its rows; how many of them are among those given says how
    many of all are.

    Parameters
    ----------
    estimator : fitted estimator of rhokit
    X : frame or array of shape (n, d)
        Without gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.inspection import learned_share
    >>> rng = np.random.default_rng(0)
    >>> X, new = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    >>> model = DMKDE(random_state=0).fit(X)
    >>> learned_share(model, X), learned_share(model, new)
    (1.0, 0.0)
    """
    model = fitted_model(estimator)
    kept = rows_kept(model)
    if kept is None or not model.plan.feature_map.numeric_rows or not len(kept.keys):
        return float("nan")
    weight = float(kept.weight.sum())
    if len(kept.keys) < _MOST_REPEATED * weight:
        return float("nan")
    columns = model.plan.columns
    schema = columns.schema
    rows = np.asarray(X) if schema is None else schema.encode(X)
    if rows.ndim != 2 or rows.shape[1] != kept.rows.shape[1]:
        return float("nan")
    rows = np.ascontiguousarray(rows.astype(kept.rows.dtype)) + 0  # and no -0
    known = {row.tobytes() for row in np.ascontiguousarray(kept.rows) + 0}
    found = sum(row.tobytes() in known for row in rows)
    if 0 < found < min(_FEWEST, len(known)):
        return float("nan")
    kept_share = min(weight / model.total_weight, 1.0)
    return min(found / (len(rows) * kept_share), 1.0)
