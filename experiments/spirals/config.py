"""Settings of the spirals; the paper's N, γ and r in full."""

from benchmarks.records import Goal

TITLE = "Three spirals: densities in the plane"
AGAINST_EXACT = "RMSE against exact KDE"
RELATIVE = "relative RMSE"
LIKELIHOOD = "mean log-density of test rows"
IMAGE = "image"
_PRINTED = {"gammas": [256.0, 512.0], "n_components": 1024, "rank": 100}
SIZES = {
    "full": {"seeds": 10, "rows": 10_000, "queries": 1_000, "epochs": 30, "pixels": 80}
    | _PRINTED,
    "quick": {"seeds": 1, "rows": 10_000, "queries": 1_000, "epochs": 5, "pixels": 60}
    | _PRINTED,
    "tiny": {"seeds": 2, "rows": 400, "queries": 50, "epochs": 1, "pixels": 10}
    | _PRINTED
    | {"n_components": 64, "rank": 20},
}
AS_EXACT = Goal(at_most=5e-4)
