"""Settings of the scatter of MNIST log-densities; the paper's N, γ and r in full."""

TITLE = "MNIST in 40 dimensions: log-densities against exact KDE"
TEST, RANDOM, BOTH = "test rows", "random rows", "both"
ERROR, CORRELATION = "RMSE of log-densities", "correlation"
POINTS = "points"
_PRINTED = {"gammas": [1.0, 2.0], "n_components": 1024, "rank": 150}
SIZES = {
    "full": {"seeds": 5, "rows": 10_000, "queries": 1_000, "epochs": 30} | _PRINTED,
    "quick": {"seeds": 1, "rows": 10_000, "queries": 1_000, "epochs": 3} | _PRINTED,
    "tiny": {"seeds": 2, "rows": 300, "queries": 50, "epochs": 1}
    | _PRINTED
    | {"n_components": 64, "rank": 20},
}
