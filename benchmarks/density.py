"""Densities side by side: time and memory of each, and its error against exact KDE.

Rows are drawn (1, 2, 10 and 40 columns) or real (cover types, digits), moved and turned
so that their covariance is the identity. The bandwidth is Scott's, the one that most
packages begin with; of 100,000 rows in 10 and 40 columns also four times that, and the
median rule, which kernel methods begin with: the wider the kernel, the fewer numbers it
takes to represent it.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.contest import Case, Limits, compete
from benchmarks.contestants.densities import AUTO, CONTESTANTS
from benchmarks.exact import exact_log_density, log_relative_rmse, median_nats
from benchmarks.real_data import load_arrays, readable
from benchmarks.records import Goal, Result
from benchmarks.runs import SECONDS, Task
from benchmarks.tables import number, text_table
from rhokit.datasets import bimodal, clusters, spirals
from rhokit.features import gamma_by_rule

_MODULE = "benchmarks.contestants.densities"
# Queries whose answers are compared; of a million rows the slow would take minutes.
_CHECKED, _FEW_CHECKED = 1_000, 250
COUNTS = 1_000, 100_000
ERROR = "relative RMSE"
LOST = "rivals both faster and more accurate"
_JUDGED_ROWS = 100_000
# In a quick run every process that starts takes seconds.
_QUICK_ABSENT = (
    "rhokit landmarks",
    "rhokit landmarks, 256",
    "rhokit fourier",
    "rhokit quadrature",
    "linear landmarks",
    "KDEpy TreeKDE",
    "scipy gaussian_kde",
)
_QUICK_COLUMNS = 2, 10, 40
SCOTT, WIDE, MEDIAN = "Scott", "4 × Scott", "median rule"
_LEFT = "model", ""


@dataclass(frozen=True)
class Setting:
    """Rows and a bandwidth.

    Parameters
    ----------
    data : str
        A key of :data:`SOURCES`.
    d, n : int
        Columns and training rows.
    bandwidth : {SCOTT, WIDE, MEDIAN}
    """

    data: str
    d: int
    n: int
    bandwidth: str = SCOTT

    @property
    def name(self):
        """For tables."""
        return f"{self.d}-D {self.data}, {self.n:,} rows, {self.bandwidth}"


def settings(quick):
    """What is compared; in a quick run, some numbers of columns once."""
    drawn = {1: "bimodal", 2: "spirals", 10: "clusters", 40: "clusters"}
    for n in (100_000,) if quick else (10_000, 100_000, 1_000_000):
        for d in _QUICK_COLUMNS if quick else drawn:
            yield Setting(drawn[d], d, n)
    if not quick:
        for d in (10, 40):
            for bandwidth in (WIDE, MEDIAN):
                yield Setting(drawn[d], d, 100_000, bandwidth)
        real = {"covtype": (10, 100_000), "mnist": (40, 60_000)}
        for data in readable(real):
            yield Setting(data, *real[data])


def tasks(quick):
    """One for every setting."""
    limits = Limits(rounds=1, budget=0.3, patience=4)
    if not quick:
        limits = Limits(rounds=3, budget=0.6, patience=40, slow=3.2)
    taking_part = [c for c in CONTESTANTS if not (quick and c.name in _QUICK_ABSENT)]
    for setting in settings(quick):
        yield Task(setting.name, partial(results, setting, limits, taking_part))


# ---- rows ----------------------------------------------------------------------------


def _covtype(n, d, seed):
    rows = load_arrays("covtype")["X"][:, :d].astype(np.float64)
    return np.random.default_rng(seed).permutation(rows)[:n]


def _mnist(n, d, seed):
    """Principal components of all digits."""
    arrays = load_arrays("mnist")
    pixels = np.concatenate([arrays["X_train"], arrays["X_test"]])
    pixels = pixels.reshape(len(pixels), -1) / 255.0
    pixels = np.random.default_rng(seed).permutation(pixels)[:n]
    centred = pixels - pixels.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    return centred @ axes[:, -d:]


SOURCES = {
    "bimodal": lambda n, d, seed: bimodal(n, random_state=seed),
    "spirals": lambda n, d, seed: spirals(n, random_state=seed)[0],
    "clusters": lambda n, d, seed: clusters(n, d, random_state=seed)[0],
    "covtype": _covtype,
    "mnist": _mnist,
}


def make_case(setting, n_queries, seed=0):
    """Rows whose covariance is the identity, others to ask for, and γ."""
    rows = SOURCES[setting.data](setting.n + n_queries, setting.d, seed)
    rows = whitened(rows, setting.n)
    if setting.d > 2:
        rows = rows.astype(np.float32)
    learned, queries = rows[: setting.n], rows[setting.n :]
    gamma = _gamma(setting, learned, seed)
    # Real rows do not always suffice: then they are asked for more than once.
    queries = queries[np.arange(n_queries) % len(queries)]
    facts = {"gamma": gamma, "most_queries": n_queries}
    return Case(setting.name, learned, queries, facts=facts)


def _gamma(setting, rows, seed):
    if setting.bandwidth == MEDIAN:
        rng = np.random.default_rng(seed)
        return float(gamma_by_rule("median", rows, rng=rng))
    scott = setting.n ** (-1 / (setting.d + 4))
    return 0.5 / ({SCOTT: 1, WIDE: 4}[setting.bandwidth] * scott) ** 2


def whitened(rows, n):
    """Turn and scale all rows so that the first ``n`` have covariance one."""
    centred = rows - rows[:n].mean(axis=0)
    covariance = np.atleast_2d(np.cov(centred[:n], rowvar=False))
    return np.linalg.solve(np.linalg.cholesky(covariance), centred.T).T


# ---- results -------------------------------------------------------------------------


def results(
    setting, limits, contestants=CONTESTANTS, counts=COUNTS, checked=None, seed=0
):
    """All contestants on one setting, and who of them rhokit loses to."""
    checked = checked or (_FEW_CHECKED if setting.n > _JUDGED_ROWS else _CHECKED)
    case = make_case(setting, max(counts), seed)
    exact = exact_log_density(case.rows, case.queries[:checked], case.facts["gamma"])
    about = {
        "case": setting.name,
        "data": setting.data,
        "d": setting.d,
        "n": setting.n,
        "bandwidth": setting.bandwidth,
        "checked": checked,
    }
    lines = []
    for score in compete(case, _MODULE, contestants, counts, checked, limits):
        errors = _errors(score, exact)
        details = score.details() | about | {"gamma": case.facts["gamma"]} | errors
        lines.append(details)
        yield Result(
            f"{setting.name}: {score.name}",
            ERROR,
            errors["error"],
            seed=seed,
            details=details,
        )
    rivals = winners(lines, max(counts))
    yield Result(
        setting.name,
        LOST,
        len(rivals),
        Goal(at_most=0) if setting.n >= _JUDGED_ROWS else None,
        seed=seed,
        details=about | {"rivals": rivals, "judged": AUTO},
    )


def _errors(score, exact):
    if score.answers is None:
        return {"error": math.nan, "nats": math.nan}
    found = score.answers
    seen = np.isfinite(found)
    nats = median_nats(found[seen], exact[seen]) if seen.any() else math.nan
    return {
        "error": log_relative_rmse(found, exact),
        "nats": nats,
        "nothing": float(np.mean(~seen)),  # share of the queries without a density
    }


def winners(lines, count):
    """Names of the rivals that are both faster and more accurate than rhokit."""
    own = next(line for line in lines if line["contestant"] == AUTO)
    if own["reason"] is not None:
        return []
    return [
        line["contestant"]
        for line in lines
        if not line["ours"]
        and line["reason"] is None
        and line["total_seconds"][str(count)] < own["total_seconds"][str(count)]
        and line["error"] < own["error"]
    ]


# ---- for the terminal ----------------------------------------------------------------


def table(lines):
    """A table for every case, fastest first, and the cases that are lost."""
    lines = [line for line in lines if line["metric"] != SECONDS]
    cases = dict.fromkeys(line["details"]["case"] for line in lines)
    return "\n\n".join(_case_table(case, lines) for case in cases)


def _case_table(case, lines):
    lines = [line for line in lines if line["details"]["case"] == case]
    scores = [line["details"] for line in lines if line["metric"] == ERROR]
    (verdict,) = (line for line in lines if line["metric"] == LOST)
    beaten = verdict["details"]["rivals"]
    there = [score for score in scores if score["reason"] is None]
    there.sort(key=lambda score: score["total_seconds"][str(COUNTS[-1])])
    rows = [_cells(score, beaten) for score in there]
    absent = [f"{s['contestant']} ({s['reason']})" for s in scores if s["reason"]]
    text = f"{case}\n{text_table(rows, _LEFT)}"
    return text + (f"\n  without {'; '.join(absent)}" if absent else "")


def _cells(score, beaten):
    few, many = (score["total_seconds"][str(count)] for count in COUNTS)
    scaled = score["timed_queries"][str(COUNTS[-1])] < COUNTS[-1]
    return {
        "model": ("* " if score["ours"] else "  ") + score["contestant"],
        "fit s": number(score["fit_seconds"]),
        f"+ {COUNTS[0]:,}": number(few),
        f"+ {COUNTS[1]:,}": ("~" if scaled else "") + number(many),
        "relative RMSE": number(score["error"]),
        "nats": number(score["nats"]),
        "peak MB": number(score["peak_megabytes"]),
        "": "beats rhokit" if score["contestant"] in beaten else "",
    }
