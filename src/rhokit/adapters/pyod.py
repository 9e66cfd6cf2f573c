"""The detector of outliers as one of PyOD's."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pyod.models.base import BaseDetector
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rhokit.estimators import DMKDOutlierDetector


class DMKD(BaseDetector):
    r""":class:`~rhokit.DMKDOutlierDetector` with PyOD's names.

    Scores are :math:`-\log p(x)` of p-values, the higher the odder; those of the rows
    that it was fitted to are by all the others. ``predict``, ``predict_proba``,
    ``predict_confidence`` and ``threshold_`` are PyOD's own.

    Parameters
    ----------
    contamination : float in (0, 0.5], default=0.1
        As for all of PyOD's detectors; thresholds of PyThresh will do as well.
    detector : DMKDOutlierDetector, optional
        What it is fitted as, such as ``DMKDOutlierDetector(training="clean")``.

    Attributes
    ----------
    detector_ : DMKDOutlierDetector
        Fitted: p-values and explanations are there.
    decision_scores_, threshold_, labels_ :
        Of the rows of the fit, as PyOD has them.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.adapters.pyod import DMKD
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> X[7] = [6.0, -6.0]
    >>> model = DMKD(contamination=0.01).fit(X)
    >>> int(model.decision_scores_.argmax()), int(model.labels_[7])
    (7, 1)
    """

    def __init__(
        self,
        contamination: Any = 0.1,
        detector: DMKDOutlierDetector | None = None,
    ) -> None:
        super().__init__(contamination=contamination)
        self.detector = detector

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows (n, d), and score them; y is ignored."""
        self._set_n_classes(y)
        share = self.contamination
        detector = DMKDOutlierDetector(
            contamination=share if isinstance(share, float) else "auto", random_state=0
        )
        self.detector_ = clone(self.detector or detector).fit(X)
        self.decision_scores_ = self.decision_function(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Minus the logarithms of p-values, shape (n,): the higher, the odder."""
        check_is_fitted(self, "detector_")
        return np.asarray(-self.detector_.score_samples(X))
