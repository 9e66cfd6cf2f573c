"""The shell of all models trained by gradient descent.

A trained model *is* a one-pass model whose state was improved: ``estimator_`` is one,
with the learned factor in place of the sums, and answers every question.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rhokit.batch import Batch
from rhokit.core.spectrum import choose_rank
from rhokit.estimators.base import OnePassEstimator
from rhokit.frames import Schema
from rhokit.kernels.registry import GAUSSIAN, one_word
from rhokit.models import Model
from rhokit.nn.delegation import delegate_answers
from rhokit.nn.descent import Descent
from rhokit.nn.heads import Head
from rhokit.nn.holdout import split_batch, unpacked
from rhokit.nn.parameters import PATHS, TRAINING_RULES, check_device
from rhokit.nn.recipe import Recipe, enough_epochs
from rhokit.nn.starting_heads import HeadMaker, trained_model
from rhokit.nn.tasks import TrainingTask
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
    estimator_: Any
    history_: dict[str, list[Any]]
    n_epochs_: int
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
        batch, held_out = whole.seen(), None
        if validation_data is not None:
            held_out = self._validation(start, task, batch, validation_data)
        elif self.early_stopping:
            batch, held_out = split_batch(
                batch, task.groups(batch), self.validation_fraction, self.early_stopping
            )
        if not goes_on:
            start = self._planned(start, task, batch, task.foreseen(whole))
        for each in (batch, held_out):
            if each is not None:
                task.refuse_unknown(start.readout_, each, type(self).__name__)
        head = self._first_head(start.model_, task, batch, goes_on=goes_on)
        self._train(start, head, task, batch, held_out)

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
        return self._heads(self.training_task()).exact(self.estimator_.fitted_model())

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
        # A rank needs a matrix, as training does.
        made: Any = self.one_pass_class
        return made(rank=self.rank, **shared)

    def _passed_on(self) -> list[str]:
        """Names of the parameters that the one-pass estimator has, too."""
        known = self.one_pass_class().get_params(deep=False)
        return [
            name
            for name in self.get_params(deep=False)
            if name in known and name not in _OWN
        ]

    def _draw_seed(self) -> int:
        return int(generator(self.random_state).integers(2**31 - 1))

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

    def _planned(
        self, start: OnePassEstimator, task: TrainingTask, batch: Batch, foreseen: Any
    ) -> OnePassEstimator:
        """Choose scaling, γ and map; for a start from the estimate, sum up."""
        model: Model = start.prepare(batch, targets=foreseen, bounded=True).model_
        plan = model.plan
        if _is_auto(self.gamma) and plan.gamma and task.widening > 1:
            gamma = plan.gamma / task.widening
            plan = plan.with_gamma(gamma, batch.rows, batch.weights)
        model = replace(model, plan=plan, rank=None)
        if self.init == "estimate":
            model = model.add(batch)
        planned: Any = start.with_model(model)
        planned.rank = None  # nothing is truncated but what the head starts from
        return planned

    def _first_head(
        self, model: Model, task: TrainingTask, batch: Batch, *, goes_on: bool
    ) -> Head:
        """The head that training starts from."""
        head = deepcopy(getattr(self, "module_", None)) if goes_on else None
        if head is None:
            heads = self._heads(task)
            rank = choose_rank(np.ones(model.plan.feature_map.n_components_), self.rank)
            if model.state is not None:
                head = heads.of_state(model, rank)
            else:
                head = heads.drawn(model, rank, task.outcome_weight(model, batch))
        task.update_head(head, model, batch)
        return head

    def _heads(self, task: TrainingTask) -> HeadMaker:
        return HeadMaker(task, self.train_features, self.device, self._draw_seed())

    # ---- training -------------------------------------------------------------------

    def _train(
        self,
        start: OnePassEstimator,
        head: Head,
        task: TrainingTask,
        batch: Batch,
        held_out: Batch | None,
    ) -> None:
        """Train a head, and put what it has learned into a one-pass estimator."""
        seed, fresh = self._draw_seed(), self.init == "random" and not self._goes_on()
        enough = enough_epochs(len(batch), self.batch_size)
        recipe = Recipe(
            learning_rate=self.learning_rate,
            max_epochs=enough if _is_auto(self.max_epochs) else self.max_epochs,
            batch_size=self.batch_size,
            weight_decay=self.weight_decay,
            patience=self.patience if held_out is not None else None,
            seed=seed,
        )
        self.history_ = Descent(task, start.model_, head).run(
            batch,
            held_out,
            recipe,
            at_random=fresh,
            checkpoint=self.checkpoint,
            settings=self._settings(),
            label=f"Training {type(self).__name__}",
        )
        self.module_, self.n_epochs_ = head, len(self.history_["loss"])
        model = trained_model(task, start.model_, head, batch)
        trained: Any = start.with_model(model)
        trained.rank = None  # what was learned is not truncated again
        self.estimator_ = task.finish(trained, batch, held_out)
        batch.columns.give_to(self)

    def _settings(self) -> str:
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
