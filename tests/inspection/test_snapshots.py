"""Whoever looks at a model that is being taught sees one model."""

import numpy as np
import pytest

from rhokit import DMKDE, DMKDClassifier, QMRegressor
from rhokit.inspection import (
    class_reliability,
    predict_labels,
    predict_values,
    score_rows,
)

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.arange(60) % 2
GIVEN = {"gamma": 1.0, "scale": None, "feature_map": "landmarks", "random_state": 0}


def taught(base, *more, methods):
    """A class of models that learn more rows as soon as they have answered."""

    def teaching(name):
        def method(self, *args, **kwargs):
            found = getattr(base, name)(self, *args, **kwargs)
            LAST[0].partial_fit(*more)
            return found

        return method

    return type(base.__name__, (base,), {name: teaching(name) for name in methods})


LAST = [None]
LABELS = taught(DMKDClassifier, X, 7 * Y, methods=["predict_proba"])
VALUES = taught(QMRegressor, X, 0 * X[:, 0], methods=["predict"])
DENSITY = taught(DMKDE, X + 9, methods=["score_samples"])


@pytest.mark.parametrize(
    ("base", "cls", "target", "look"),
    [
        (DMKDClassifier, LABELS, Y, lambda m: predict_labels(m, X, Y).classes),
        (DMKDClassifier, LABELS, Y, lambda m: class_reliability(m, X, Y)[0].error),
        (
            DMKDClassifier,
            LABELS,
            Y,
            lambda m: [c.error for c in class_reliability(m, X, Y, classes="each")],
        ),
        (QMRegressor, VALUES, X[:, 0], lambda m: predict_values(m, X)[0].intervals),
        (DMKDE, DENSITY, None, lambda m: score_rows(m, X).log_densities),
    ],
    ids=["labels", "reliability", "each label", "values", "scores"],
)
def test_what_is_learned_meanwhile_is_not_in_it(base, cls, target, look):
    expected = look(base(**GIVEN).fit(X, target))
    LAST[0] = model = cls(**GIVEN).fit(X, target)
    np.testing.assert_array_equal(look(model), expected)
    assert model.fitted_model().total_weight > 60
