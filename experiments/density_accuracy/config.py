"""Settings of the errors over D; the paper's N, γ, D and number of seeds in full."""

TITLE = "Errors of densities over the number of features"
LINE, SPIRALS, MNIST = "1-D", "2-D spirals", "MNIST, 40-D"
AGAINST_TRUTH = "RMSE against the true density"
AGAINST_EXACT = "RMSE against exact KDE"
OF_LOGS = "RMSE of log-densities against exact KDE"
EXACT_ITSELF = "exact KDE"
IID = "paper's map"
BETTER = "Sobol or orthogonal pairs"
RFF = "RFF-KDE, paper's map"
LANDMARKS = "landmarks"
GRID = "auto: a grid"
ENOUGH = 2**10  # what the paper's text calls enough

PANELS = {LINE: [16.0, 32.0], SPIRALS: [256.0, 512.0], MNIST: [1.0, 2.0]}
_FULL = {"rows": 10_000, "queries": 1_000}
SIZES = {
    "full": {"seeds": 30, "sizes": [2**k for k in range(4, 12)]} | _FULL,
    "quick": {"seeds": 2, "sizes": [2**4, 2**6, 2**8, 2**10]} | _FULL,
    "tiny": {"seeds": 2, "sizes": [16, 64], "rows": 300, "queries": 50},
}
