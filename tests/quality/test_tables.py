"""Blends on real tables: beside what people use, and how large they are."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import log_loss

from benchmarks import real_data
from rhokit import DMKDClassifier, QMRegressor, dumps


def arrays_of(name):
    """Real data, or a skipped test where they are not there."""
    reason = real_data.missing(name)
    if reason is not None:
        pytest.skip(reason)
    return real_data.load_arrays(name)


@pytest.mark.parametrize("name", ["energy", "concrete"])
def test_errors_of_values(name):
    data = arrays_of(f"regression_{name}")
    train, test = data["train_index"][0], data["test_index"][0]
    rows, target = data["X"], data["y"]

    def error(model):
        found = model.fit(rows[train], target[train]).predict(rows[test])
        return np.sqrt(np.mean((found - target[test]) ** 2))

    rivals = (
        HistGradientBoostingRegressor(random_state=0),
        RandomForestRegressor(random_state=0),
    )
    assert error(QMRegressor(random_state=0)) < 1.15 * min(map(error, rivals))


def test_classes_of_letters():
    data = arrays_of("letters")
    rows, labels = data["X"].astype(float), data["y"].astype(int)
    order = np.random.default_rng(0).permutation(len(rows))
    train, test = order[:4000], order[4000:6000]
    model = DMKDClassifier(random_state=0).fit(rows[train], labels[train])
    assert model.score(rows[test], labels[test]) > 0.91
    assert log_loss(labels[test], model.predict_proba(rows[test])) < 0.32


@pytest.mark.parametrize(("n", "d", "most"), [(331, 10, 1.0), (20_000, 6, 9.0)])
def test_models_are_small(n, d, most):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, d))
    target = rows[:, 0] * rows[:, 1] + rng.normal(size=n)
    model = QMRegressor(random_state=0).fit(rows, target)
    assert len(dumps(model)) < most * 1e6
