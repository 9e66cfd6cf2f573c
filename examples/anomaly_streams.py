"""Anomalies in streams, scored before they are learned, beside river's detectors.

Rows come in random order; the first 500 are learned without being judged. Areas under
the ROC curve of the others, and processor milliseconds per row.

    python examples/anomaly_streams.py rows.npz ...     # arrays X, y (1: an anomaly)

Needs river. Without files, made-up rows whose centre moves.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from river import anomaly, compose, preprocessing
from sklearn.metrics import roc_auc_score

from rhokit.adapters.river import DMKDAnomalyDetector

WARM_UP = 500


def detectors(window):
    """New models by name; rhokit's with all rows, a window, and usual rows alone."""
    ours = {"warm_up": WARM_UP, "buffer_rows": WARM_UP // 2}
    scaled = preprocessing.MinMaxScaler, preprocessing.StandardScaler
    return {
        "rhokit": DMKDAnomalyDetector(**ours),
        f"rhokit, last {window:,}": DMKDAnomalyDetector(window=window, **ours),
        "rhokit, p > .01": DMKDAnomalyDetector(learn_above=0.01, **ours),
        "HalfSpaceTrees": compose.Pipeline(scaled[0](), anomaly.HalfSpaceTrees(seed=0)),
        "LODA": compose.Pipeline(scaled[1](), anomaly.LODA(seed=0)),
        "OneClassSVM": compose.Pipeline(scaled[1](), anomaly.OneClassSVM()),
    }


def areas(rows, labels, window=1000):
    """Area and milliseconds per row by name."""
    found = {}
    for name, model in detectors(window).items():
        scores, start = [], time.process_time()
        for row in rows.tolist():
            x = dict(enumerate(row))
            scores.append(model.score_one(x))
            model.learn_one(x)
        taken = 1e3 * (time.process_time() - start) / len(rows)
        judged = np.nan_to_num(np.array(scores, dtype=float)[WARM_UP:])
        found[name] = roc_auc_score(labels[WARM_UP:], judged), taken
    return found


def moving(n, seed=0):
    """Rows around a centre that moves, 3 % of them anywhere."""
    rng = np.random.default_rng(seed)
    centre = np.linspace(0, 8, n)[:, None] * [1.0, -0.5, 0.0]
    rows, odd = rng.normal(size=(n, 3)) + centre, rng.random(n) < 0.03
    rows[odd] = rng.uniform(-8, 12, size=(odd.sum(), 3))
    return rows, odd.astype(int)


def main():
    """Print a line for every detector on every table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help=".npz files with X and y")
    parser.add_argument("--rows", type=int, default=3000)
    options = parser.parse_args()
    tables = {"moving": moving(options.rows)} if not options.files else {}
    for file in options.files:
        with np.load(file) as arrays:
            rows, labels = arrays["X"], arrays["y"]
        order = np.random.default_rng(0).permutation(len(rows))[: options.rows]
        tables[Path(file).stem] = rows[order].astype(float), labels[order]
    for table, (rows, labels) in tables.items():
        for name, (area, taken) in areas(rows, labels).items():
            print(f"{table:20} {name:20} {area:.3f} {taken:8.3f} ms", flush=True)


if __name__ == "__main__":
    main()
