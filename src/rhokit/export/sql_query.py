"""The front door: a fitted model in, a query of SQL out."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rhokit import __version__
from rhokit.export.exporters import Wanted, add_outputs, check_quantiles, fitted_model
from rhokit.export.input_nodes import column_names, scaled_rows
from rhokit.export.sql_dialects import DIALECTS
from rhokit.export.sql_expressions import Operand
from rhokit.export.sql_graph import SqlGraph
from rhokit.export.sql_stages import Query
from rhokit.models import Model
from rhokit.validation import check_levels

# Representations that no query of a fair size follows, and what to do instead.
_REFUSED = {
    "series": "the waves of a grid are too many for a query: fit with "
    "feature_map='mosaic' or feature_map='landmarks'",
}


def export_sql(
    model: Any,
    dialect: str = "duckdb",
    *,
    table: str = "data",
    keep: Sequence[str] = (),
    quantiles: Any = None,
    coverage: float = 0.9,
    max_cells: int = 5_000,
    max_bytes: int = 8_000_000,
) -> str:
    """Write what a fitted model predicts as one query of SQL.

    The query holds the model's scaling, feature map, states and read-out as plain
    expressions: it needs no extension and no function of one's own, and scores rows
    where they are.

    Parameters
    ----------
    model : estimator
        Of rhokit's own, fitted.
    dialect : {"duckdb", "postgresql", "sqlite"}, default="duckdb"
    table : str, default="data"
        What the rows are selected from, as it stands behind ``FROM``: a table, a view,
        ``read_parquet('rows.parquet')``, a query in parentheses with a name.
    keep : sequence of str, default=()
        Columns of the table that stand beside the answers, such as a key.
    quantiles : array-like of shape (q,), optional
        Of a regressor: probabilities of the quantiles that the query shall give.
    coverage : float, default=0.9
        Of a regressor: probability that the interval holds the target.
    max_cells : int, default=5_000
        How many cells the trees of a blend may have: databases take long to read
        more of them.
    max_bytes : int, default=8_000_000
        How long the query may be.

    Returns
    -------
    query : str

    Raises
    ------
    ValueError
        If the model is one that no query can follow, or only one that is too large.

    Notes
    -----
    The table has the columns of the model under their names; of a model of arrays they
    are ``x0``, ``x1`` and so on. Rows in which a number is missing, or no finite one,
    get no answers (NULL).

    Densities give ``log_density``; classifiers ``prediction``, a ``probability_...`` of
    every class and, where they have one, ``log_density``; regressors ``prediction``,
    ``std``, ``low`` and ``high`` and, if asked for, ``quantile_...``; of several
    targets, all of these end in the target's number, from 1.

    Examples
    --------
    >>> import sqlite3
    >>> import numpy as np
    >>> from rhokit import DMKDE, export_sql
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = DMKDE(n_components=32, feature_map="landmarks", random_state=0).fit(X)
    >>> base = sqlite3.connect(":memory:")
    >>> _ = base.execute("CREATE TABLE points (id INTEGER, x0 REAL, x1 REAL, x2 REAL)")
    >>> rows = [(k, *row) for k, row in enumerate(X.tolist())]
    >>> _ = base.executemany("INSERT INTO points VALUES (?, ?, ?, ?)", rows)
    >>> query = export_sql(model, "sqlite", table="points", keep=["id"])
    >>> found = np.array(base.execute(query).fetchall())
    >>> bool(np.abs(found[:, 1] - model.score_samples(X)).max() < 1e-9)
    True
    """
    fitted = fitted_model(model, "export_sql")
    check_quantiles(model, fitted, quantiles)
    if dialect not in DIALECTS:
        raise ValueError(
            f"dialect must be one of {', '.join(DIALECTS)}. Got {dialect!r} instead."
        )
    if reason := _REFUSED.get(fitted.plan.representation):
        raise ValueError(f"export_sql: {reason}")
    graph = SqlGraph(column_names(fitted.plan.columns), max_cells)
    add_outputs(fitted, scaled_rows(graph, fitted.plan), Wanted(coverage, quantiles))
    query = Query(DIALECTS[dialect], table, [str(name) for name in keep])
    outputs = list(_named_outputs(graph, fitted, quantiles))
    found = (
        f"-- {type(model).__name__}, written by rhokit {__version__} for {dialect}\n"
    )
    found += query.text(outputs)
    if (size := len(found.encode())) > max_bytes:
        raise ValueError(
            f"export_sql: the query would have {size:,} bytes, and at most "
            f"{max_bytes:,} are allowed: fit with fewer n_components, or set rank, or "
            "raise max_bytes"
        )
    return found


def _named_outputs(
    graph: SqlGraph, model: Model, quantiles: Any
) -> Iterator[tuple[str, Operand]]:
    """Columns of the result."""
    readout: Any = model.readout
    for name, (cells, shape) in graph.outputs.items():
        whole = np.reshape(cells, (-1,) if shape else ())
        ends = _ends(name, readout, quantiles)
        if len(ends) == whole.size:
            yield from zip(ends, np.atleast_1d(whole).tolist(), strict=True)
            continue
        parts = whole.reshape(-1, len(ends)).tolist()  # one of every target
        for number, part in enumerate(parts):
            for end, cell in zip(ends, part, strict=True):
                yield f"{end}_{number + 1}", cell


def _ends(name: str, readout: Any, quantiles: Any) -> list[str]:
    """Names of the columns of one output, of one target."""
    if name == "probabilities":
        return [f"probability_{label}" for label in readout.classes.tolist()]
    if name == "interval":
        return ["low", "high"]
    if name == "quantiles":
        levels = check_levels("quantiles", quantiles)
        return [f"quantile_{level:g}" for level in levels.tolist()]
    return ["prediction" if name in ("label", "mean") else name]
