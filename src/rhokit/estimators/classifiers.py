"""DMKDC: classification with one density matrix per class."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from rhokit.estimators import answers
from rhokit.estimators.base import OnePassEstimator
from rhokit.estimators.parameters import TARGET
from rhokit.estimators.proportions import fit_proportions
from rhokit.readouts import DensityClassReadOut
from rhokit.validation import Interval, StrOptions


class ClassEstimator(ClassifierMixin, OnePassEstimator):
    """The base of classifiers: labels, and a probability for each of them."""

    def partial_fit(  # type: ignore[override]  # the order of scikit-learn
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        decay: Any = None,
    ) -> Self:
        """Add a batch of rows.

        The first batch chooses scaling, γ and map as :meth:`prepare` does; later
        batches, in any order and split, give the same model as all at once.

        Parameters
        ----------
        X : array-like of shape (n, d), or Batch
        y : array-like of shape (n,)
            Labels. One that was not seen before gets a place of its own.
        classes : array-like, optional
            All labels that may come, so that they have a place from the start.
        sample_weight : array-like of shape (n,), optional
        decay : float in (0, 1], optional
            Let all rows seen before count so many times as much as they did.

        Returns
        -------
        self
        """
        batch = self.check_batch(X, y, sample_weight)
        return self._learn(batch, decay, foreseen=classes)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label that is predicted for each row, shape (n,)."""
        model, rows = self.question(X)
        return np.asarray(model.readout.predict(model, rows))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of every class, shape (n, K), in the order of ``classes_``."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of :meth:`predict_proba`; ``-inf`` for classes without rows."""
        model, rows = self.question(X)
        return np.asarray(model.readout.log_probabilities(model, rows))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Log-odds of the second class (n,); of several, log-probabilities (n, K)."""
        logs = self.predict_log_proba(X)
        if logs.shape[1] != 2:
            return logs
        return np.asarray(logs[:, 1] - logs[:, 0])

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, shape (K,)."""
        return np.asarray(self.readout_.classes)

    @property
    def class_count_(self) -> NDArray[np.float64]:
        """Total weight of the rows of each class, shape (K,)."""
        return self.fitted_model().weight

    feature_importances_ = property(answers.feature_importances)


class DMKDClassifier(ClassEstimator):
    r"""Classification with a density matrix per class (DMKDC).

    .. math:: \rho_k = \frac{1}{N_k} \sum_{i:\,y_i = k} \phi(x_i)\phi(x_i)^\top,
              \qquad
              P(k \mid x) = \frac{\pi_k\, \phi(x)^\top \rho_k\, \phi(x)}
                          {\sum_j \pi_j\, \phi(x)^\top \rho_j\, \phi(x)}

    (section 5.2 of the paper, whose denominator lacks the priors π). One pass, no
    optimiser; models add up (:meth:`merge`), forget (:meth:`unlearn`) and learn from
    streams (:meth:`partial_fit`), also when they know different labels.

    Parameters
    ----------
    gamma : float or {"loo", "median", "scott", "silverman"}, default="loo"
        γ of the kernel :math:`e^{-\gamma\|x-y\|^2}`. ``"loo"`` takes scaling, map and
        γ that classify most rows of a sample correctly when each is left out, in
        closed form; of rare classes, those of the largest likelihood. A number is in
        the units of the (scaled) rows.
    n_components : int, default=1024
        Landmarks, or random features; the most points of a grid that ``"auto"`` takes.
    rank : int, float, "elbow", "loo" or None, default=None
        Keep so many eigenvectors of each ρ for prediction: a count, a fraction of the
        dimension, those above the mean eigenvalue, or as many as classify rows left
        out best (which costs a decomposition per class). None keeps all.
    feature_map : str or FeatureMap, default="auto"
        ``"auto"`` compares landmarks with orthogonal Fourier features (one or two
        columns: takes a grid where it fits). ``"landmarks"``, which are chosen class
        by class and normalised; ``"fourier"``, the paper's; ``"grid"`` and
        ``"quadrature"``, for one to three columns, without and with a matrix; or an
        instance, which is cloned and given the model's γ.
    kernel : str, Kernel or tuple, default="gaussian"
        What overlaps of states follow: ``"gaussian"``, ``"laplacian"``, ``"matern"``,
        ``"cauchy"``, ``"coherent"`` or an object of :mod:`rhokit.kernels`; evidence is
        weighted by its square. ``"loo"``, or a tuple of kernels, lets rows left out
        choose. Grids, blends and categories are Gaussian: of another kernel, ``"auto"``
        takes landmarks or Fourier features.
    scale : str, array-like of shape (d,) or None, default="auto"
        Scaling of the columns, part of the model. ``"auto"`` chooses by leave-one-out
        between ``"std"`` (each column by its spread), ``"common"`` (all by one),
        ``"within"`` (whitened by the covariance inside the classes), each with its own
        best γ, and ``"learned"``: a weight per column, or a matrix where that is
        better, by the slope of leave-one-out predictions, which must prove itself on
        rows that it was not learned from (not where ``missing="integrate"``, since it
        may neglect columns that others stand in for). None leaves rows as they are.
        Units of columns change no prediction, but for ``"common"``, which takes them
        to be shared.
    priors : {"empirical", "uniform"} or array-like of shape (K,), default="empirical"
        π: the classes' shares of the rows, all equal, or given in the order of
        ``classes_``.
    reject : float, optional
        Let :meth:`predict` answer ``reject_label`` where the density is lower than
        for this share of the training rows, each left out of the model in turn.
    min_log_density : float, optional
        The same with a threshold on :meth:`score_samples` that you set yourself.
    reject_label : default="unknown"
        Where labels are not strings, give one of their type, or get an array of
        objects.
    missing : {"raise", "integrate"}, default="raise"
        What to do with missing values. ``"integrate"`` answers from the columns that a
        row has, the others integrated over in closed form (over landmarks, which
        ``"auto"`` takes, and on grids); it learns from rows without gaps.
    unseen : {"allow", "raise"}, default="allow"
        What to do with categories that were not learned. They are an outcome of their
        own, whose probability the rows tell by leave-one-out; ``"raise"`` refuses them.
    batch_size : int, optional
        Rows per block; chosen for speed without it.
    dtype : {"float32", "float64"}, optional
        Of the features; sums are always float64. None follows the rows. float32
        halves time and memory.
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    classes_ : array of shape (K,)
    class_count_ : array of shape (K,)
    gamma_ : float
    feature_map_ : FeatureMap
    scaling_ : Scaling
    feature_importances_ : array of shape (d,)
        Spread of each column after scaling, as a share of all.
    candidates_ : list of Candidate
        What leave-one-out compared, each with its score.
    state_ : DensityMatrix
        Sums per class, in the map's columns.
    threshold_ : float or None
        The log-density below which rows are rejected.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDClassifier
    >>> from rhokit.datasets import spirals
    >>> X, y = spirals(600, random_state=0)
    >>> model = DMKDClassifier(random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:])
    1.0
    """

    _parameter_table: ClassVar[dict[str, Any]] = TARGET | {
        "priors": [StrOptions({"empirical", "uniform"}), "array-like"],
        "reject": [Interval(Real, 0, 1, closed="neither"), None],
        "min_log_density": [Real, None],
        "reject_label": "no_validation",
    }

    def __init__(
        self,
        *,
        gamma: float | str = "loo",
        n_components: int = 1024,
        rank: Any = None,
        feature_map: Any = "auto",
        kernel: Any = "gaussian",
        scale: Any = "auto",
        priors: Any = "empirical",
        reject: float | None = None,
        min_log_density: float | None = None,
        reject_label: Any = "unknown",
        missing: str = "raise",
        unseen: str = "allow",
        batch_size: int | None = None,
        dtype: Any = None,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.rank = rank
        self.feature_map = feature_map
        self.kernel = kernel
        self.scale = scale
        self.priors = priors
        self.reject = reject
        self.min_log_density = min_log_density
        self.reject_label = reject_label
        self.missing = missing
        self.unseen = unseen
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    def make_readout(self, known: Any = None) -> DensityClassReadOut:
        return (known or DensityClassReadOut(np.empty(0))).with_parameters(
            priors=self.priors,
            reject=self.reject,
            min_log_density=self.min_log_density,
            reject_label=self.reject_label,
        )

    fit_proportions = fit_proportions

    @property
    def threshold_(self) -> float | None:
        """Log-density below which :meth:`predict` rejects, None if it never does."""
        model = self.fitted_model()
        found: float | None = model.readout.threshold(model)
        return found
