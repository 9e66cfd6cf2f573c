"""Which map: error against the exact kernel density, for every map, rule and size.

Four sets of rows, one per panel, from one column to forty. At each size D the error is
the median over seeds, of the map alone: the rows stay the same. Queries are other rows
of the same distribution (in one dimension the points of a line, as in the paper).

A quadrature has as many columns as its tolerance asks for: at size D it has the
smallest tolerance that D columns allow. A grid takes a size of its own, the number of
its coefficients.

Times are medians over the seeds, one measurement each, on all cores. What a model
computes once, before its first answer, counts as fitting.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.base import clone

from benchmarks.data import bimodal_rows, cluster_rows, spiral_rows
from benchmarks.exact import exact_log_density, log_relative_rmse, median_nats
from benchmarks.records import Goal, Result
from benchmarks.runs import SECONDS, Task
from benchmarks.tables import number, summary, text_table
from benchmarks.tables import table as table_of_goals
from rhokit import DMKDE, MeanEmbeddingKDE
from rhokit.features import FourierFeatures, LandmarkFeatures, QuadratureFeatures

METRIC = "relative RMSE"
GRID = "grid"
# Monte Carlo's own rate is D**(-1/2); a few seeds blur it.
FALLS = -0.35
_SEED = 0
_ROWS = {False: 20_000, True: 5_000}
_QUERIES = 1_000
_SIZES = {False: tuple(2**power for power in range(4, 12)), True: (64, 256)}
_LARGEST = 2048
_CURVE_SEEDS = 10
_TOLERANCES = tuple(10.0**-power for power in range(12, 0, -1))


@dataclass(frozen=True)
class Panel:
    """Rows of one number of columns, and a γ for them.

    Parameters
    ----------
    name : str
    gamma : float
    draw : callable
        Takes a number of rows and a seed, returns rows and queries.
    """

    name: str
    gamma: float
    draw: Callable


def _clusters(d, n, seed):
    return cluster_rows(n, d, _QUERIES, seed)


PANELS = (
    Panel("1-D", 16.0, bimodal_rows),
    Panel("2-D", 256.0, lambda n, seed: spiral_rows(n, _QUERIES, seed)),
    Panel("10-D", 20.0, partial(_clusters, 10)),
    Panel("40-D", 4.0, partial(_clusters, 40)),
)


class Problem:
    """A panel's rows and queries, with the exact answers.

    Parameters
    ----------
    panel : Panel
    n : int
        Rows.
    """

    def __init__(self, panel, n):
        self.panel, self.gamma = panel.name, panel.gamma
        self.rows, self.queries = panel.draw(n, _SEED)
        self.exact = exact_log_density(self.rows, self.queries, panel.gamma)


# ---- maps ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """A map, and the rule by which it is drawn.

    Parameters
    ----------
    map : str
    rule : str or None
    build : callable
        Takes a problem, a size and a seed, returns an estimator; raises ``ValueError``
        where there is none.
    is_random : bool
        Whether it depends on the seed.
    most : int
        Sizes above it are left out.
    takes_sizes : bool
        False where the map has a size of its own.
    """

    map: str
    rule: str | None
    build: Callable
    is_random: bool = True
    most: int = 2**20
    takes_sizes: bool = True

    @property
    def name(self):
        """Map and rule, as tables show them."""
        return self.map if self.rule is None else f"{self.map}, {self.rule}"

    def seeds(self, size, quick):
        """Five, and fewer for large sizes: twice the size is four times the work."""
        if quick or not self.is_random:
            return range(1)
        return range(min(5, max(1, _LARGEST // size)))


def _fourier(form, rule, **options):
    feature_map = FourierFeatures(form=form, sampling=rule)
    return Way(f"fourier {form}", rule, partial(_sized, feature_map), **options)


def _landmarks(rule):
    return Way("landmarks", rule, partial(_sized, LandmarkFeatures(selection=rule)))


def _sized(feature_map, problem, size, seed):
    sized = clone(feature_map).set_params(n_components=size)
    return DMKDE(gamma=problem.gamma, scale=None, feature_map=sized, random_state=seed)


def _linear(problem, size, seed):
    feature_map = LandmarkFeatures(n_components=size)
    return MeanEmbeddingKDE(
        gamma=problem.gamma, scale=None, feature_map=feature_map, random_state=seed
    )


def _quadrature(problem, size, seed):
    """The smallest tolerance that so many columns are enough for."""
    for tol in _TOLERANCES:
        feature_map = QuadratureFeatures(
            gamma=problem.gamma, tol=tol, max_components=size
        )
        try:
            feature_map.fit(problem.rows)
        except ValueError as error:
            reason = str(error)
        else:
            return DMKDE(gamma=problem.gamma, scale=None, feature_map=feature_map)
    raise ValueError(reason)


def _grid(problem, size, seed):
    return DMKDE(gamma=problem.gamma, scale=None, feature_map=GRID)


PAPER = _fourier("phase", "iid")
FAMILIES = {
    "fourier phase": (
        PAPER,
        *(
            _fourier("phase", rule)
            for rule in ("orthogonal", "sobol", "halton", "structured")
        ),
    ),
    "other forms": (
        *(_fourier("pair", rule) for rule in ("iid", "orthogonal", "sobol")),
        # Four times the work for about the same error: the smaller sizes will do.
        _fourier("complex", "iid", most=512),
    ),
    "landmarks": (
        *(_landmarks(rule) for rule in ("kmeans", "kmeans++", "uniform")),
        Way("linear landmarks", "kmeans", _linear),
    ),
    "regular": (
        Way("quadrature", None, _quadrature, is_random=False),
        Way(GRID, None, _grid, is_random=False, takes_sizes=False),
    ),
}


# ---- measuring -----------------------------------------------------------------------


def tasks(quick: bool) -> Iterator[Task]:
    """A task for every panel and family of maps."""
    for panel in PANELS:
        for name, ways in FAMILIES.items():
            yield Task(f"{panel.name}, {name}", partial(family, panel, ways, quick))


def family(panel, ways, quick, n=None, sizes=None):
    """Errors of several maps on one panel; with other rows and sizes, if given."""
    problem = Problem(panel, n or _ROWS[quick])
    sizes = sizes or _SIZES[quick]
    for way in ways:
        if way is PAPER and panel is PANELS[0] and not quick:
            yield from paper_curve(problem, sizes)
        else:
            yield from curve(way, problem, sizes, partial(way.seeds, quick=quick))


def curve(way, problem, sizes, seeds):
    """The errors of one map over its sizes.

    Parameters
    ----------
    way : Way
    problem : Problem
    sizes : sequence of int
    seeds : callable
        From a size to its seeds.

    Yields
    ------
    result : Result
        Of every size; then one without a value that says why sizes are missing, if
        there are such.
    """
    reason, is_warm = None, False
    for size in sizes if way.takes_sizes else (0,):
        if size > way.most:
            break
        try:
            if not is_warm:  # what is loaded and compiled at first use
                trial(way, problem, size, _SEED)
                is_warm = True
            trials = [trial(way, problem, size, seed) for seed in seeds(size)]
        except ValueError as error:
            if way.is_random:  # these serve everywhere
                raise
            reason = str(error)
            continue
        yield _result(way, problem, size or trials[0]["columns"], trials)
    if reason is not None:
        details = _facts(way, problem) | {"size": None, "reason": reason}
        yield Result(f"{problem.panel}: {way.name}", METRIC, None, details=details)


def paper_curve(problem, sizes, count=_CURVE_SEEDS):
    """The paper's map: its errors, and by which power of D they fall."""
    results = list(curve(PAPER, problem, sizes, lambda size: range(count)))
    yield from results
    errors = np.array([result.details["errors"] for result in results])
    case = f"{problem.panel}: {PAPER.name}, D = {sizes[0]} to {sizes[-1]}"
    spread = errors.std(axis=1, ddof=1)
    for name, values in (("mean", errors.mean(axis=1)), ("spread", spread)):
        yield Result(
            case,
            f"power of D that the {name} of {count} seeds follows",
            slope(sizes, values),
            Goal(at_most=FALLS),
            seed=_SEED,
            details=_facts(PAPER, problem)
            | {"sizes": list(sizes), "values": values.tolist()},
        )


def trial(way, problem, size, seed):
    """Error, columns and times of one draw of a map."""
    model = way.build(problem, size, seed)
    start = time.perf_counter()
    model.fit(problem.rows).score_samples(problem.queries[:1])
    fitted = time.perf_counter()
    logs = model.score_samples(problem.queries)
    answered = time.perf_counter()
    return {
        "error": log_relative_rmse(logs, problem.exact),
        "nats": median_nats(logs, problem.exact),
        "columns": _columns(model),
        "fit_seconds": fitted - start,
        "answer_seconds": answered - fitted,
    }


def _columns(model):
    """Columns of the map; of a grid, the coefficients of its series."""
    if model.feature_map == GRID:
        return model.state_.total[0].size
    return model.feature_map_.n_columns_


def _result(way, problem, size, trials):
    def median(name):
        return float(np.median([each[name] for each in trials]))

    return Result(
        f"{problem.panel}: {way.name}, D = {size}",
        METRIC,
        median("error"),
        seed=_SEED,
        details=_facts(way, problem)
        | {
            "size": size,
            "columns": trials[0]["columns"],
            "nats": median("nats"),
            "errors": [each["error"] for each in trials],
            "fit_seconds": median("fit_seconds"),
            "answer_seconds": median("answer_seconds"),
        },
    )


def _facts(way, problem):
    return {
        "panel": problem.panel,
        "map": way.map,
        "rule": way.rule,
        "n": len(problem.rows),
        "gamma": problem.gamma,
    }


def slope(sizes, values):
    """Exponent of the power law through the points."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


# ---- showing -------------------------------------------------------------------------


def table(lines):
    """Maps down and sizes across, for every panel; then the goals."""
    lines = [line for line in lines if line["metric"] != SECONDS]
    errors = [line for line in lines if line["metric"] == METRIC]
    panels = dict.fromkeys(line["details"]["panel"] for line in errors)
    parts = [
        _panel_text([line for line in errors if line["details"]["panel"] == panel])
        for panel in panels
    ]
    asked = [line for line in lines if line["goal"] is not None]
    if asked:
        parts.append(f"{table_of_goals(asked)}\n\n{summary(asked)}.")
    return "\n\n".join(parts)


def _panel_text(lines):
    facts = lines[0]["details"]
    title = (
        f"{facts['panel']}, {facts['n']:,} rows, γ = {facts['gamma']:g}: "
        f"{METRIC} at D columns; nats and seconds of a fit at the largest D"
    )
    shared = [line for line in lines if line["value"] is not None and not _alone(line)]
    sizes = sorted({line["details"]["size"] for line in shared})
    maps = dict.fromkeys(_name(line) for line in shared)
    rows = [_row(n, [x for x in shared if _name(x) == n], sizes) for n in maps]
    return "\n".join([title, "", text_table(rows, {"map"}), *_notes(lines)])


def _row(name, group, sizes):
    """Errors over sizes."""
    found = {line["details"]["size"]: line for line in group}
    last = found[max(found)]["details"]
    cells = {f"{size:,}": _error(found.get(size)) for size in sizes}
    seconds = number(last["fit_seconds"])
    return {"map": name} | cells | {"nats": number(last["nats"]), "seconds": seconds}


def _notes(lines):
    """Sizes of their own, and what is missing."""
    notes = []
    for line in lines:
        facts = line["details"]
        if facts.get("reason"):
            notes.append(f"{_name(line)}: {facts['reason']}")
        elif _alone(line):
            notes.append(
                f"{GRID}, {facts['size']:,} coefficients: {number(line['value'])}; "
                f"{number(facts['nats'])} nats, {number(facts['fit_seconds'])} s"
            )
    return ["", *notes] if notes else []


def _alone(line):
    """Whether the map has a size of its own."""
    return line["details"]["map"] == GRID


def _name(line):
    facts = line["details"]
    return facts["map"] if facts["rule"] is None else f"{facts['map']}, {facts['rule']}"


def _error(line):
    return "" if line is None else number(line["value"])
