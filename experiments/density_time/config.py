"""Settings of the prediction times; the paper's γ and its 1,000 rows in full."""

TITLE = "Time of a prediction over the number of training rows"
LINE, SPIRALS, MNIST = "1-D", "2-D spirals", "MNIST-like, 40-D"
PANELS = {LINE: 16.0, SPIRALS: 256.0, MNIST: 1.0}
METRIC = "prediction seconds"
NUMPY = "exact KDE (NumPy)"
FUSED = "exact KDE (fused loops)"
TREE = "scikit-learn KernelDensity"
PAPER = "DMKDE, paper's map, low rank"
PAPER_FULL = "DMKDE, paper's map, full rank"
LANDMARKS = "DMKDE, landmarks"
AUTO = "DMKDE, auto"
# In the order of the legend, with whether they are rhokit's own.
MODELS = {
    NUMPY: False,
    FUSED: False,
    TREE: False,
    PAPER: False,
    PAPER_FULL: False,
    LANDMARKS: True,
    AUTO: True,
}
CLEAR = 10_000  # above so many rows the paper sees a clear advantage
_PRINTED = {"queries": 1_000, "n_components": 1024, "rank": 150}
SIZES = {
    "full": {
        "sizes": [100, 316, 1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000],
        "rounds": 7,
        "tree_rows": 100_000,
    }
    | _PRINTED,
    "quick": {"sizes": [100, 1_000, 10_000], "rounds": 2, "tree_rows": 1_000}
    | _PRINTED,
    "tiny": {"sizes": [100, 300], "rounds": 1, "tree_rows": 100}
    | _PRINTED
    | {"queries": 20, "n_components": 32, "rank": 8},
}
