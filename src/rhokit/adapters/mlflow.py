"""Models of rhokit in MLflow: what its saver has to trust.

MLflow keeps scikit-learn's models in skops files, which load only the types that
somebody trusts. Needs mlflow (``mlflow-skinny`` is enough) and skops.
"""

from __future__ import annotations

from typing import Any

# What files of these models hold beside rhokit's own types. Functions that are partial
# are rhokit's: each of them is looked at by itself.
_OTHERS = frozenset({"functools.partial", "numpy.dtype"})


def trusted_types(model: Any) -> list[str]:
    """Types of rhokit that a skops file of a model holds, in alphabetical order.

    Types of others, such as those of further steps of a pipeline, are not among them:
    look at these yourself.

    Parameters
    ----------
    model : estimator
        Of rhokit, or one that holds such.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.adapters.mlflow import trusted_types
    >>> model = DMKDE(random_state=0).fit(np.random.default_rng(0).normal(size=(50, 1)))
    >>> "rhokit.estimators.density.DMKDE" in trusted_types(model)
    True
    """
    try:
        from skops.io import dumps, get_untrusted_types
    except ImportError as error:
        raise ImportError("trusted_types needs skops: pip install skops") from error
    found = get_untrusted_types(data=dumps(model))
    own = [name for name in found if name.partition(".")[0] == "rhokit"]
    return sorted([*own, *_OTHERS.intersection(found)])
