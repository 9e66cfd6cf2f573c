"""Streams of rhokit's models as river's anomaly detectors and classifiers.

Each is a :class:`~rhokit.Stream`: rows are learned in blocks and are scored by what was
learned before. Other than in many of river's models, all rows have the same features.
"""

from collections.abc import Mapping
from typing import Any

from river.base import AnomalyDetector, Classifier
from sklearn.base import clone

from rhokit.estimators import DMKDClassifier, DMKDOutlierDetector
from rhokit.estimators.base import OnePassEstimator
from rhokit.streams import Stream

_WARM_UP = _BUFFER_ROWS = 250


class _Streamed:
    """A stream that begins with the first row.

    Parameters
    ----------
    estimator : one-pass model, optional
        Of which a copy learns.
    half_life, window, warm_up, buffer_rows :
        As for :class:`~rhokit.Stream`.
    """

    _default: type[OnePassEstimator]

    def __init__(
        self,
        estimator: OnePassEstimator | None = None,
        half_life: float | None = None,
        window: int | None = None,
        warm_up: int = _WARM_UP,
        buffer_rows: int = _BUFFER_ROWS,
    ) -> None:
        self.estimator = estimator
        self.half_life = half_life
        self.window = window
        self.warm_up = warm_up
        self.buffer_rows = buffer_rows
        self.stream = self._begun()
        self._labels: dict[Any, None] = {}

    def _begun(self, **options: Any) -> Stream:
        chosen = self.estimator
        return Stream(
            self._default(random_state=0) if chosen is None else clone(chosen),
            half_life=self.half_life,
            window=self.window,
            warm_up=self.warm_up,
            buffer_rows=self.buffer_rows,
            **options,
        )


class DMKDAnomalyDetector(_Streamed, AnomalyDetector):
    r""":class:`~rhokit.DMKDOutlierDetector` as one of river's anomaly detectors.

    Its score is :math:`s / (1 + s)` with :math:`s = -\log p(x)` of a row's p-value, so
    that it is below one, as river's metrics expect: 0.75 where p is 0.05, 0.87 where it
    is 0.001. It is zero while nothing has been learned.

    Parameters
    ----------
    estimator : DMKDOutlierDetector, optional
        Of which a copy learns.
    half_life, window, warm_up, buffer_rows, learn_above :
        As for :class:`~rhokit.Stream`.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.adapters.river import DMKDAnomalyDetector
    >>> model = DMKDAnomalyDetector(warm_up=100, buffer_rows=100)
    >>> for x, y in np.random.default_rng(0).normal(size=(300, 2)):
    ...     model.learn_one({"x": x, "y": y})
    >>> model.score_one({"x": 0.1, "y": 0.2}) < 0.8 < model.score_one({"x": 9, "y": 9})
    True
    """

    _default = DMKDOutlierDetector

    def __init__(
        self,
        estimator: OnePassEstimator | None = None,
        half_life: float | None = None,
        window: int | None = None,
        warm_up: int = _WARM_UP,
        buffer_rows: int = _BUFFER_ROWS,
        learn_above: float | None = None,
    ) -> None:
        self.learn_above = learn_above
        super().__init__(estimator, half_life, window, warm_up, buffer_rows)

    def _begun(self, **options: Any) -> Stream:
        return super()._begun(learn_above=self.learn_above)

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Learn a row."""
        self.stream.learn_one(_ordered(x))

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Between zero and one: the higher, the odder."""
        score = self.stream.score_one(_ordered(x))
        return 0.0 if score is None else score / (score - 1)


class DMKDStreamClassifier(_Streamed, Classifier):
    """:class:`~rhokit.DMKDClassifier`, or another one, as one of river's classifiers.

    Parameters
    ----------
    estimator : classifier of rhokit, optional
        Of which a copy learns.
    half_life, window, warm_up, buffer_rows :
        As for :class:`~rhokit.Stream`.
    """

    _default = DMKDClassifier

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn a row and its label."""
        self.stream.learn_one(_ordered(x), y)
        self._labels[y] = None

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[Any, float]:
        """Probabilities by label; all labels alike while nothing has been learned."""
        known = self.stream.predict_proba_one(_ordered(x))
        return known or dict.fromkeys(self._labels, 1 / max(len(self._labels), 1))


def _ordered(x: Mapping[Any, Any]) -> dict[Any, Any]:
    """The same row, its features in an order that is that of all rows."""
    return {name: x[name] for name in sorted(x, key=str)}
