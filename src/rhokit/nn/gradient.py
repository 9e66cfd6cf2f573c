"""The shell of all models trained by gradient descent.

A trained model *is* a one-pass model whose state was improved: ``estimator_`` is one,
with the learned factor in place of the sums, and answers every question.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rhokit.batch import Batch
from rhokit.estimators.base import OnePassEstimator
from rhokit.estimators.choice import chooses_blend
from rhokit.frames import Schema
from rhokit.kernels.registry import GAUSSIAN, one_word
from rhokit.models import Model
from rhokit.nn.blend_training import BlendTraining
from rhokit.nn.delegation import delegate_answers
from rhokit.nn.heads import Head
from rhokit.nn.holdout import unpacked
from rhokit.nn.matrix_training import MatrixTraining
from rhokit.nn.parameters import PATHS, TRAINING_RULES, check_device
from rhokit.nn.recipe import Recipe, enough_epochs
from rhokit.nn.starting_heads import HeadMaker
from rhokit.nn.tasks import TrainingTask
from rhokit.nn.trained import Trained
from rhokit.validation import all_or_nothing, check_values, generator

# Parameters of both, under one name but of two meanings.
_OWN = ("rank", "batch_size")
# What a plan was made from stays as it was when training goes on.
_PLANNED = ("gamma", "n_components", "feature_map", "kernel", "scale", "dtype")


class GradientEstimator(BaseEstimator, ABC):
    """Shell around a one-pass estimator that trains its state by gradient descent.

    A subclass names the one-pass class and the task, and takes their parameters. What
    the one-pass class answers, a trained model does too: its public methods and
    properties become those of the subclass, with their signatures and docstrings.
    Parameters that both have are passed on by name.
    """

    one_pass_class: ClassVar[type[OnePassEstimator]]
    """Class of the estimator that is trained."""
    path_parameters: ClassVar[tuple[str, ...]] = PATHS
    """Parameters that name files, and are kept out of model files."""
    auto_rank: ClassVar[int] = 32
    """The rank of density matrices for ``rank="auto"``."""
    estimator_: Any
    history_: dict[str, list[Any]]
    n_epochs_: int
    improved_: bool
    module_: Head
    schema_: Schema | None = None

    # What parameters are called in every subclass.
    gamma: Any
    rank: Any
    feature_map: Any
    kernel: Any
    missing: str
    train_features: bool
    init: str
    learning_rate: float
    max_epochs: Any
    batch_size: int
    weight_decay: float
    early_stopping: Any
    validation_fraction: float
    patience: int
    warm_start: bool
    checkpoint: Any
    device: Any
    random_state: Any

    def __init_subclass__(cls, **options: Any) -> None:
        if hasattr(cls, "one_pass_class"):
            delegate_answers(cls, GradientEstimator)
        super().__init_subclass__(**options)

    @abstractmethod
    def training_task(self) -> TrainingTask:
        """What is trained for, with the parameters of today."""

    # ---- learning -------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        validation_data: Any = None,
    ) -> None:
        """Train on rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
        y : array-like of shape (n,)
            Labels or values to be learned; densities have none.
        sample_weight : array-like of shape (n,), optional
            A weight of k counts as k copies of the row.
        validation_data : tuple (X, y) or (X, y, sample_weight), optional
            Rows whose loss decides which epoch is kept, instead of a part of ``X``.

        Returns
        -------
        self
        """
        self.check_constructor(self.get_params(deep=False))
        check_device(type(self).__name__, self.device)
        task, goes_on = self.training_task(), self._goes_on()
        start = self._known() if goes_on else self.untrained()
        whole = start.check_batch(X, task.as_target(y), sample_weight, anew=not goes_on)
        judges = None
        if validation_data is not None:
            judges = self._validation(start, task, whole.seen(), validation_data)
        way = self._way(start, whole, goes_on=goes_on)
        self._become(way(self, task).run(start, whole, judges, goes_on=goes_on))
        whole.columns.give_to(self)

    @classmethod
    def from_estimator(cls, estimator: Any, **parameters: Any) -> Self:
        """A model that predicts exactly what a one-pass model predicts.

        Fitting it with ``warm_start=True``, as it is by default here, goes on from
        that model's scaling, map and state, truncated to ``rank``.

        Parameters
        ----------
        estimator : fitted one-pass estimator
            Values of one target only.
        **parameters :
            Of the new model.

        Returns
        -------
        model
        """
        if type(estimator) is not cls.one_pass_class:
            raise TypeError(
                f"{cls.__name__}.from_estimator takes a fitted "
                f"{cls.one_pass_class.__name__}, got {type(estimator).__name__}"
            )
        known = estimator.fitted_model()
        shared = {name: getattr(estimator, name) for name in cls()._passed_on()}
        model = cls(**{"warm_start": True} | shared | parameters)
        model.check_constructor(model.get_params(deep=False))
        model.training_task().refuse_readout(known.readout, cls.__name__)
        plan, state = known.representation.as_matrix(known.state)
        if plan is not known.plan:
            estimator = estimator.with_model(known.with_state(state, plan=plan))
        return model.with_estimator(estimator)

    def with_estimator(self, estimator: Any) -> Self:
        """A copy that answers from another one-pass estimator, and has no module.

        Parameters
        ----------
        estimator : fitted one-pass estimator, whose state is a matrix
        """
        other = copy(self)
        other.__dict__.pop("module_", None)
        other.estimator_ = estimator
        estimator.plan_.columns.give_to(other)
        return other

    def to_estimator(self) -> Any:
        """A one-pass estimator with the learned state, which predicts the same.

        It can take up further rows, and merge with models of the same map. Rows that
        were held out are no part of the state, and it knows nothing of them: its
        quantiles and intervals are the raw ones, and a threshold of densities that
        was learned from such rows is the number ``min_log_density``.
        """
        check_is_fitted(self)
        trained = self.estimator_
        if hasattr(self, "history_"):
            trained = self.training_task().released(trained)
        model: Model = trained.model_
        if model.state is None or model.state.takes_rows:
            return copy(trained)
        return trained.with_model(model.with_state(model.state.summed()))

    def to_module(self) -> Head:
        """The model as a torch module, over rows that are already scaled.

        After training, the module that was trained; else one of full rank that
        computes what the one-pass model does.
        """
        check_is_fitted(self)
        if hasattr(self, "module_"):
            return self.module_
        if self.estimator_.plan_.representation == "blend":
            raise ValueError(
                "to_module: no module computes the trees of a blend: train with "
                "feature_map='landmarks', or export the model to ONNX"
            )
        return self.heads(self.training_task()).exact(self.estimator_.fitted_model())

    # ---- answers that are not the one-pass estimator's own --------------------------

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log-density of each row, whatever its target, in the user's units.

        A trained state is no sum over rows: none can be left out of it again.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)

        Returns
        -------
        log_density : array of shape (n,), float64
            ``-inf`` where the density is exactly zero. Of rows that lack values, that
            of the columns they have (``missing="integrate"``).
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.score_samples(X))

    def marginal(self, columns: Any) -> Any:
        """The density of some of the columns, whatever the others are.

        Over landmarks, in closed form.

        Parameters
        ----------
        columns : int, str, or list of these
            Places or names of the columns to keep; they stay in their order.

        Returns
        -------
        model : one-pass estimator
            Of the class of ``estimator_``, which only predicts.
        """
        check_is_fitted(self)
        return self.estimator_.marginal(columns)

    def compact(self) -> Self:
        """A copy that only predicts: it has no module, and no rows in its sample."""
        check_is_fitted(self)
        return self.with_estimator(self.estimator_.compact())

    # ---- parameters -----------------------------------------------------------------

    @classmethod
    def check_constructor(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse values that parameters of the constructor cannot have."""
        rules = TRAINING_RULES | dict(cls().training_task().rules)
        check_values(cls.__name__, parameters, rules)
        passed_on = {k: v for k, v in parameters.items() if k not in rules}
        cls.one_pass_class.check_constructor(passed_on, cls.__name__)

    def untrained(self) -> OnePassEstimator:
        """The one-pass estimator that training starts from, not fitted."""
        shared = {name: getattr(self, name) for name in self._passed_on()}
        if _is_auto(self.gamma):
            shared["gamma"] = "loo"
        if self.missing == "integrate" and _is_auto(self.feature_map):
            shared["feature_map"] = "landmarks"  # whose integrals are known
        elif _is_auto(self.feature_map) and one_word(self.kernel) != GAUSSIAN:
            shared["feature_map"] = "fourier"  # which is trained for any kernel
        made: Any = self.one_pass_class
        return made(rank=None if self._may_blend() else self.matrix_rank(), **shared)

    def _may_blend(self) -> bool:
        """Whether the one-pass model is free to be a blend, which has no rank."""
        free = _is_auto(self.rank) and self.init == "estimate"
        return free and not self.train_features

    def _passed_on(self) -> list[str]:
        """Names of the parameters that the one-pass estimator has, too."""
        known = self.one_pass_class().get_params(deep=False)
        return [
            name
            for name in self.get_params(deep=False)
            if name in known and name not in _OWN
        ]

    # ---- planning -------------------------------------------------------------------

    def _goes_on(self) -> bool:
        return self.warm_start and hasattr(self, "estimator_")

    def _known(self) -> Any:
        """The estimator that training goes on from, with the parameters of today."""
        names = [name for name in self._passed_on() if name not in _PLANNED]
        today = {name: getattr(self, name) for name in names}
        known = copy(self.estimator_).set_params(**today)
        return known.with_model(known.prepared_model())

    def _validation(
        self, start: OnePassEstimator, task: TrainingTask, batch: Batch, given: Any
    ) -> Batch:
        """Rows that were given to judge by, of the same columns."""
        X, y, weight = unpacked(given)
        columns = None if start.is_prepared else batch.columns
        checked = start.check_batch(X, task.as_target(y), weight, columns=columns)
        return checked.seen()

    def _way(
        self, start: OnePassEstimator, whole: Batch, *, goes_on: bool
    ) -> type[BlendTraining] | type[MatrixTraining]:
        """How these rows are trained on."""
        if goes_on:
            is_blend = start.plan_.representation == "blend"
        else:
            is_blend = start.rank is None and chooses_blend(start, whole)
        return BlendTraining if is_blend else MatrixTraining

    def _become(self, trained: Trained) -> None:
        """Take the place of what was known."""
        self.estimator_, self.history_ = trained.estimator, trained.history
        self.n_epochs_, self.improved_ = len(trained.history["loss"]), trained.improved
        self.__dict__.pop("module_", None)
        if trained.module is not None:
            self.module_ = trained.module

    # ---- what a training asks -------------------------------------------------------

    @property
    def chooses_gamma(self) -> bool:
        """Whether γ is left open."""
        return _is_auto(self.gamma)

    def matrix_rank(self) -> Any:
        """The rank of density matrices that are trained."""
        return self.auto_rank if _is_auto(self.rank) else self.rank

    def heads(self, task: TrainingTask) -> HeadMaker:
        """What makes the heads of a task."""
        return HeadMaker(task, self.train_features, self.device, self.draw_seed())

    def draw_seed(self) -> int:
        """A seed of what is drawn or put in order."""
        return int(generator(self.random_state).integers(2**31 - 1))

    def recipe(self, n_rows: int, *, judged: bool) -> Recipe:
        """How to train on so many rows."""
        enough = enough_epochs(n_rows, self.batch_size)
        return Recipe(
            learning_rate=self.learning_rate,
            max_epochs=enough if _is_auto(self.max_epochs) else self.max_epochs,
            batch_size=self.batch_size,
            weight_decay=self.weight_decay,
            patience=self.patience if judged else None,
            seed=self.draw_seed(),
        )

    def settings(self) -> str:
        """Parameters that a checkpoint belongs to, as text."""
        without = ("checkpoint", "warm_start", "device")
        parameters = sorted(self.get_params(deep=False).items())
        return repr(
            [(name, value) for name, value in parameters if name not in without]
        )

    # ---- what scikit-learn asks -----------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.untrained().__sklearn_tags__().input_tags
        return tags


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
