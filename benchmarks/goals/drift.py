"""Whether data have changed, and when: false alarms, power, and the columns named.

Pairs are rows of MAGIC, Letters and cover types drawn without replacement: both sides
come from one source, or one column of the new side is changed. Beside
:func:`rhokit.compare` stand a Kolmogorov-Smirnov test of each column with Bonferroni's
correction and a permutation test of the maximum mean discrepancy, all at the same
level. Streams are the same rows in random order, one column changed from the middle on.
"""

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist, squareform
from scipy.stats import ks_2samp
from threadpoolctl import threadpool_limits

from benchmarks.real_data import load_arrays, readable
from benchmarks.records import Goal, Result
from rhokit import compare
from rhokit.drift import Watch
from rhokit.drift.tables import table_of

SETS = {"density_magic": "MAGIC", "letters": "Letters", "covtype": "cover types"}
N_NULLS, N_PAIRS, N_STREAMS = 1000, 200, 8
LEVELS = (0.1, 0.05)
_NULL_ROWS, _ROWS, _STREAM_ROWS, _PERMUTATIONS = 150, 250, 19_000, 199
_SHIFTS = ("mean", "variance", "correlation")
_METHODS = ("compare", "KS", "MMD")


def run(repeats, seed=0):
    """All results of the section; probabilities need no rounds."""
    with threadpool_limits(1):
        for file in readable(SETS):
            rows = real_rows(file)
            for kind in ("numbers", "categories"):
                yield from false_alarms(file, rows[kind], kind, seed)
            yield from power(file, rows["numbers"].to_numpy(), seed)
            yield from streams(file, rows["numbers"].to_numpy(), seed)


def real_rows(file):
    """Rows of a set as frames: numbers alone, and with columns of categories."""
    arrays = load_arrays(file)
    X, y = arrays["X"], arrays["y"]
    wide = file == "covtype"
    numbers = pd.DataFrame(X[:, :10] if wide else X, dtype=float)
    numbers.columns = [f"x{c}" for c in range(numbers.shape[1])]
    labels = {"class": y.astype(str)}
    if wide:
        labels["area"] = X[:, 10:14].argmax(axis=1).astype(str)
        labels["soil"] = X[:, 14:].argmax(axis=1).astype(str)
    mixed = numbers.iloc[:, :4].assign(
        **{name: pd.Categorical(values) for name, values in labels.items()}
    )
    return {"numbers": numbers, "categories": mixed}


def sides(n_all, n, rng):
    """Places of the rows of two sides, none twice."""
    chosen = rng.choice(n_all, 2 * n, replace=False)
    return chosen[:n], chosen[n:]


# ---- false alarms ------------------------------------------------------------------


def false_alarms(file, frame, kind, seed, n_pairs=N_NULLS):
    """How often a change is said though there is none."""
    rng, p = np.random.default_rng(seed), []
    for k in range(n_pairs):
        old, new = (frame.iloc[each] for each in sides(len(frame), _NULL_ROWS, rng))
        p.append(ours(old, new, k).p_value)
    for level in LEVELS:
        value = float((np.array(p) <= level).mean())
        yield Result(
            case=f"{SETS[file]}, {kind}: {n_pairs:,} pairs of {_NULL_ROWS} rows",
            metric=f"false alarms at {level:g}",
            value=value,
            goal=Goal(at_least=0.8 * level, at_most=1.2 * level),
            seed=seed,
            details={"error": float(np.sqrt(level * (1 - level) / n_pairs))},
        )


def ours(old, new, seed):
    """What rhokit finds."""
    return compare(old, new, n_permutations=_PERMUTATIONS, random_state=seed)


# ---- power -------------------------------------------------------------------------


def power(file, X, seed, n_pairs=N_PAIRS):
    """How often a change of one column is found, by whom, and what is named first."""
    for shift in _SHIFTS:
        rng = np.random.default_rng([seed, _SHIFTS.index(shift)])
        found, first = dict.fromkeys(_METHODS, 0), []
        for k in range(n_pairs):
            old, new = (X[each] for each in sides(len(X), _ROWS, rng))
            column = k % X.shape[1] if shift != "correlation" else tied(X, k)
            new = shifted(new, shift, column, 0, rng)
            each = ours(old, new, k)
            found["compare"] += each.p_value <= LEVELS[1]
            found["KS"] += ks_p(old, new) <= LEVELS[1]
            found["MMD"] += mmd_p(old, new, rng) <= LEVELS[1]
            if each.p_value <= LEVELS[1]:
                first.append(names_first(each, f"column {column}", shift))
        shares = {name: count / n_pairs for name, count in found.items()}
        best = max(shares["KS"], shares["MMD"])
        case = f"{SETS[file]}, {shift} of a column, {_ROWS} rows a side"
        for name, share in shares.items():
            goal = Goal(at_least=best) if name == "compare" else None
            yield Result(
                f"{case}: {name}", "power at 0.05", share, goal=goal, seed=seed
            )
        yield Result(
            case,
            "changed column first",
            float(np.mean(first)) if first else 0.0,
            goal=Goal(at_least=0.95),
            seed=seed,
            details={"found": len(first)},
        )


def names_first(found, name, shift):
    """Whether the first of the columns, or pairs, is or holds the changed one."""
    if shift != "correlation":
        return found.columns[0].name == name
    return bool(found.pairs) and name in found.pairs[0].names


def tied(X, k):
    """The k-th of the columns that go together most with another one."""
    ranks = pd.DataFrame(X[:5000]).rank().to_numpy()
    together = np.abs(np.corrcoef(ranks.T)) - np.eye(X.shape[1])
    best = np.argsort(-together.max(axis=1))[: X.shape[1] // 2]
    return int(best[k % len(best)])


def shifted(X, shift, column, start, rng):
    """Rows of which one column is another from a row on; whole numbers stay whole."""
    X, old = X.copy(), X[start:, column]
    spread, middle = old.std(), np.median(old)
    whole = (old % 1 == 0).all() and len(np.unique(old)) < 50
    if shift == "mean":
        step = 0.35 * spread if start == 0 else 0.5 * spread
        new = old + (np.ceil(step) if whole else step)
    elif shift == "variance":
        new = middle + 1.5 * (old - middle)
    else:
        new = rng.permutation(old)
    X[start:, column] = new
    return X


def ks_p(old, new):
    """p-value of a KS test of each column, times their number."""
    p = [ks_2samp(a, b).pvalue for a, b in zip(old.T, new.T, strict=True)]
    return min(p) * len(p)


def mmd_p(old, new, rng):
    """p-value of a permutation test of the MMD, Gaussian kernel of median width."""
    rows = np.vstack([old, new])
    rows = (rows - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-12)
    squares = squareform(pdist(rows, "sqeuclidean"))
    kernel = np.exp(-squares / np.median(squares[squares > 0]))
    np.fill_diagonal(kernel, 0)
    signs = np.repeat([1.0, -1.0], [len(old), len(new)])
    many = np.stack([signs, *(rng.permutation(signs) for _ in range(_PERMUTATIONS))])
    values = ((many @ kernel) * many).sum(axis=1)
    return float((values >= values[0] - 1e-9).mean())


# ---- streams -----------------------------------------------------------------------


def streams(file, X, seed, n_streams=N_STREAMS):
    """How soon a change is noticed, and whether one is said where there is none."""
    middle = _STREAM_ROWS // 2
    for shift in (*_SHIFTS, None):
        delays, right, alarms = [], [], 0
        for k in range(n_streams):
            rng = np.random.default_rng([seed, k])
            rows = X[rng.permutation(len(X))[:_STREAM_ROWS]]
            column = tied(X, k) if shift == "correlation" else k % X.shape[1]
            if shift is not None:
                rows = shifted(rows, shift, column, middle, rng)
            changes = Watch().after(table_of(rows)).changes
            after = [c for c in changes if c.noticed >= middle and shift]
            alarms += len(changes) - bool(after)
            if shift is not None:
                delays.append(after[0].noticed - middle if after else middle)
                first = after[0].names[0].split(" and ") if after else []
                right.append(f"column {column}" in first)
        yield from _of_streams(file, shift, delays, right, alarms, seed)


def _of_streams(file, shift, delays, right, alarms, seed):
    case = f"{SETS[file]}, {_STREAM_ROWS:,} rows, {shift or 'nothing'} changed"
    yield Result(
        case, "false alarms, at 1 in 10^6", alarms, goal=Goal(at_most=0), seed=seed
    )
    if shift is not None:
        worst = max(delays) / _STREAM_ROWS
        yield Result(
            case,
            "longest delay, share of the rows",
            worst,
            goal=Goal(at_most=0.05),
            seed=seed,
            details={"delays": [int(each) for each in delays]},
        )
        yield Result(
            case,
            "changed column first",
            float(np.mean(right)),
            goal=Goal(at_least=0.95),
            seed=seed,
        )
