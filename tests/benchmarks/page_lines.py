"""Lines as a run would write them, made up: for tests of the page, never for the page.

Figures follow plausible laws (exact ones grow with the rows, maps fall with their
size), with rivals that stay away, are timed on few queries, win, or have no error.
"""

import numpy as np

from benchmarks.contestants.learners import CLASSIFIERS, PROCESS, REGRESSORS
from benchmarks.records import Goal, Result, as_line
from benchmarks.runs import SECONDS

# Name, whether it is rhokit's, seconds per row, per row and query, and error.
DENSITIES = (
    ("rhokit auto", True, 2e-6, 0.0, 1e-4),
    ("rhokit landmarks", True, 4e-6, 0.0, 3e-3),
    ("rhokit fourier", True, 3e-6, 0.0, 4e-2),
    ("rhokit grid", True, 3e-8, 0.0, 2e-10),
    ("scikit-learn KernelDensity", False, 1e-6, 6e-9, 0.0),
    ("SciPy gaussian_kde", False, 1e-9, 9e-9, 1e-15),
    ("KDEpy FFTKDE", False, 2e-7, 0.0, 5e-5),
    ("KDEpy TreeKDE", False, 1e-6, 4e-8, 1e-9),
    ("mlpack KDE", False, 2e-6, 1e-9, 2e-2),
    ("dmkde", False, 4e-5, 0.0, 1e-1),
    ("datasketches", False, 4e-6, 2e-10, 8e-2),
    ("exact, fused", False, 1e-9, 5e-10, 1e-7),
    ("exact on a sample", False, 1e-9, 1e-11, 1e-2),
)
DETECTORS = (
    ("rhokit detector", True),
    *((f"PyOD {name}", False) for name in ("KDE", "ECOD", "HBOS", "IForest", "KNN")),
)
LIKELIHOODS = (
    "rhokit DMKDE()",
    "exact KDE",
    "BayesianGaussianMixture",
    "GaussianMixture",
    "neural spline flow",
)
MAPS = (
    *((("fourier", rule, 0.8, -0.5)) for rule in ("iid", "orthogonal", "sobol")),
    ("landmarks", "kmeans", 2.0, -1.2),
    ("landmarks", "uniform", 3.0, -1.1),
    ("quadrature", None, 40.0, -3.5),
)
GRID_SIZE = 733


def everything(*, quick=False, small=True):
    """Lines of all sections, by name."""
    makers = {
        "density": density,
        "likelihood": likelihood,
        "mosaic": mosaic,
        "anomalies": anomalies,
        "supervised": supervised,
        "maps": maps,
        "hardware": hardware,
        "scaling": scaling,
    }
    return {
        name: lines(name, maker(small), quick=quick) for name, maker in makers.items()
    }


def lines(section, made, *, quick=False, seconds=90.0):
    """Results as the lines of a run that was one task."""
    common = {
        "section": section,
        "quick": quick,
        "versions": {"python": "3.11.7", "numpy": "2.4.6", "KDEpy": None},
        "machine": {"cpu": "A processor", "cores": 2, "load": 0.5},
        "task": "all",
    }
    mark = Result("all", SECONDS, seconds)
    return [common | as_line(result) for result in [*made, mark]]


def score(name, ours, fit, answers, *, timed=None, **details):
    """Details of a contestant that took part."""
    total = {count: fit + value for count, value in answers.items()}
    return {
        "contestant": name,
        "ours": ours,
        "reason": None,
        "rounds": 3,
        "fit_seconds": fit,
        "answer_seconds": answers,
        "total_seconds": total,
        "best_seconds": total,
        "timed_queries": {count: timed or int(count) for count in answers},
        "start_megabytes": 90.0,
        "peak_megabytes": 120.0 + 10 * fit,
        "model_bytes": 2_500_000,
    } | details


def absence(name, ours, reason, **details):
    """Details of a contestant without figures."""
    return {"contestant": name, "ours": ours, "reason": reason} | details


def density(small):
    rng = np.random.default_rng(0)
    data = (("bimodal", 1), ("spirals", 2), ("magic", 10), ("clusters", 40))
    sizes = (10_000, 100_000) if small else (10_000, 100_000, 1_000_000)
    for name, d in data[:2] if small else data:
        for bandwidth in ("Scott", "4 × Scott"):
            for n in sizes:
                yield from density_case(rng, name, d, n, bandwidth)


def density_case(rng, data, d, n, bandwidth):
    case = f"{data}, d = {d}, N = {n:,}, {bandwidth}"
    facts = {"case": case, "data": data, "d": d, "n": n, "bandwidth": bandwidth}
    measured = {}
    for name, ours, per_row, per_pair, error in DENSITIES:
        fit = 0.002 + per_row * n * d**0.3 * rng.uniform(0.8, 1.2)
        each = 2e-7 * d + per_pair * n * d**0.5
        answers = {"1000": 1e3 * each, "100000": 1e5 * each}
        slow = answers["100000"] > 60
        details = score(name, ours, fit, answers, timed=640 if slow else None)
        error *= d**0.5
        if (name.endswith("grid") or name.endswith("FFTKDE")) and d > 2:
            details, error = absence(name, ours, "for one and two columns"), None
        elif fit > 60 or answers["1000"] > 60:
            details, error = absence(name, ours, "more than 60 s"), None
        else:
            measured[name] = fit + answers["100000"], error
        nats = None if error is None else error / 2
        extra = facts | {"nats": nats, "gamma": 3.0, "columns": None}
        yield Result(f"{case}: {name}", "relative RMSE", error, details=details | extra)
    time, error = measured["rhokit auto"]
    kinds = {name: ours for name, ours, *_ in DENSITIES}
    rivals = [
        k for k, (t, e) in measured.items() if t < time and e < error and not kinds[k]
    ]
    yield Result(
        case,
        "rivals both faster and more accurate",
        len(rivals),
        Goal(at_most=0) if n >= 100_000 else None,
        details=facts | {"rivals": rivals, "judged": "auto"},
    )


def likelihood(small):
    """Two splits of some sets; the flow is there on one split, or has no density."""
    rng = np.random.default_rng(4)
    sets = ("magic", "letters", "energy") if small else ("magic", "letters", "wilt")
    for name in sets:
        for split in range(2):
            for i, model in enumerate(LIKELIHOODS):
                if model.startswith("neural") and split:
                    continue
                yield likelihood_line(name, split, model, rng, lower=0.5 * i)


def likelihood_line(name, split, model, rng, *, lower=0.0, variant="as they are"):
    """The line of a contestant on one split, its blocks around their mean."""
    blocks = -5.0 - lower + 0.1 * rng.normal(size=10)
    facts = {"set": name, "variant": variant, "split": split, "n": 800, "d": 10}
    facts |= {"n_test": 200, "load": 1.0}
    details = score(model, model.startswith("rhokit"), 2.0 + lower, {"200": 0.01})
    extra = {"blocks": blocks.tolist(), "standard_error": 0.1}
    return Result(
        f"{name} / {variant} / split {split} / {model}",
        "held-out log-density, nats per row",
        float(blocks.mean()),
        threads=1,
        seed=split,
        details=details | facts | extra,
    )


def mosaic(small):
    case = "clusters, 100,000 × 10"
    details = {"landmarks_seconds": 30.0, "mosaic_seconds": 2.0}
    metric = "landmarks' seconds to fit over the mosaic's"
    yield Result(case, metric, 15.0, Goal(at_least=10), details=details)
    metric = "rows per second of partial_fit"
    reason = {"reason": "no such map"}
    yield Result("alone", metric, None, Goal(at_least=2e6), details=reason)


def anomalies(small):
    """Two seeds of some sets; one detector stays away from one of them."""
    rng = np.random.default_rng(1)
    sets = {"breastw": 683, "http": 2_000, "letter": 1_600, "musk": 2_000}
    if not small:
        sets |= {"shuttle": 2_000, "thyroid": 2_000, "optdigits": 2_000}
    for name, n in sets.items():
        for setting in ("contaminated", "clean"):
            for seed in range(2):
                facts = {"set": name, "setting": setting, "n": n, "d": 9}
                for detector, ours in DETECTORS:
                    yield detector_line(detector, ours, seed, facts, rng)


def detector_line(detector, ours, seed, facts, rng):
    """The line of a detector on one set."""
    area = rng.uniform(0.6, 1)
    own = {"contestant": detector, "ours": ours, "reason": None}
    if detector == "PyOD KNN" and facts["set"] == "http":
        area, own["reason"] = None, "more than 600 s"
    else:
        taken = 1e-5 * facts["n"] * rng.uniform(0.5, 20)
        own |= {"fit_seconds": taken, "total_seconds": {str(facts["n"]): taken * 1.5}}
    own["average_precision"] = None if area is None else area**3
    case = f"{facts['set']}, {facts['setting']}, seed {seed}: {detector}"
    return Result(case, "ROC AUC", area, seed=seed, details=facts | own)


def supervised(small):
    """Three splits of some sets; one contestant stays away from one of them."""
    rng = np.random.default_rng(2)
    for given in ("yacht", "kin8nm") if small else ("yacht", "kin8nm", "wine"):
        for contestant in REGRESSORS:
            if contestant.name == PROCESS and given == "kin8nm":
                yield learner_line(given, "values", 0, contestant, None)
                continue
            for split in range(3):
                value = rng.uniform(1, 2)
                spread = {"nll": value, "crps": value / 2, "coverage": 0.9}
                spread |= {"width": 3.0, "coverage_by_width": [0.85, 0.9, 0.95]}
                yield learner_line(given, "values", split, contestant, value, **spread)
    for given in ("letters", "adbench wilt"):
        for contestant in CLASSIFIERS:
            value = rng.uniform(0.9, 0.98)
            yield learner_line(
                given, "classes", 0, contestant, value, log_loss=2 * (1 - value)
            )


def learner_line(given, kind, split, contestant, value, **others):
    """The line of a learner on one split."""
    facts = {"case": given, "set": given, "kind": kind, "split": split}
    facts |= {"n": 1_200, "d": 6, "n_test": 100}
    name, ours = contestant.name, contestant.ours
    if value is None:
        details = absence(name, ours, "ended with\ncode -9 | no memory")
    else:
        fit = 10 ** np.random.default_rng(len(name)).uniform(-1, 1.5)
        details = score(name, ours, fit, {"100": fit / 10}) | others
    metric = "RMSE" if kind == "values" else "accuracy"
    case = f"{given} / split {split} / {name}"
    return Result(case, metric, value, threads=1, seed=split, details=details | facts)


def maps(small):
    rng = np.random.default_rng(3)
    sizes = 2 ** np.arange(4, 8 if small else 12)
    for panel, d in (("10-D", 10), ("1-D", 1), ("2-D", 2), ("40-D", 40)):
        facts = {"panel": panel, "n": 20_000, "gamma": 16.0}
        for kind, rule, start, power in MAPS:
            if kind == "quadrature" and d > 2:
                continue
            for size in sizes.tolist():
                errors = start * size**power * np.exp(rng.normal(0, 0.2, 5))
                yield map_result(facts, kind, rule, size, errors.tolist())
        if d <= 2:
            yield map_result(facts, "grid", None, GRID_SIZE, [3e-11])


def map_result(facts, kind, rule, size, errors):
    details = facts | {
        "map": kind,
        "rule": rule,
        "size": size,
        "columns": size,
        "nats": errors[0] / 2,
        "errors": errors,
        "fit_seconds": 0.1,
        "answer_seconds": 0.01,
    }
    case = f"{facts['panel']}: {kind}, {rule}, D = {size}"
    return Result(case, "relative RMSE", float(np.median(errors)), details=details)


def hardware(small):
    names = ("fourier phase, iid", "fourier complex, iid", "landmarks", "quadrature")
    for i, name in enumerate(names):
        for step, share in (("fit", 0.86), ("predict", 1.45)):
            for threads in (1, 2):
                goal = Goal(at_least=0.8 if step == "fit" else 1.4) if i == 0 else None
                yield Result(
                    f"{step}, {name}",
                    "share of the SGEMM peak",
                    share - 0.1 * i - 0.05 * threads,
                    goal,
                    threads=threads,
                    details={
                        "map": name,
                        "step": step,
                        "map_share": 0.08 + 0.01 * threads,
                    },
                )
    details = {"map": "grid", "step": "fit", "rows_per_second": 2.1e7}
    details["reason"] = "its work is no product: rows per second instead"
    yield Result("fit, grid", "share of the SGEMM peak", None, details=details)


def scaling(small):
    curves = (
        ("grid 1-D", "training rows", "fit seconds", 1.0),
        ("landmarks 10-D", "training rows", "fit seconds", 0.98),
        ("grid 1-D", "training rows", "peak megabytes", -0.001),
        ("landmarks 10-D", "training rows", "peak megabytes", 0.01),
        ("landmarks 10-D", "training rows", "prediction seconds", 0.0),
        ("exact", "training rows", "prediction seconds", 1.01),
        ("fourier", "map size D", "prediction seconds", 1.9),
        ("classifier", "classes", "prediction seconds", 0.9),
    )
    for model, axis, measure, power in curves:
        curve = f"{model}: {measure} over {axis}"
        common = {"curve": curve, "axis": axis, "measure": measure, "model": model}
        sizes = (
            [2**k for k in range(2, 8)]
            if axis != "training rows"
            else [10**k for k in range(4, 8)]
        )
        values = [3.0 * (size / sizes[0]) ** power for size in sizes]
        for size, value in zip(sizes, values, strict=True):
            metric = "megabytes" if "mega" in measure else "seconds"
            yield Result(curve, metric, value, details=common | {"size": size})
        details = common | {"sizes": sizes, "values": values}
        yield Result(curve, "exponent", power, Goal(at_most=1.1), details=details)
