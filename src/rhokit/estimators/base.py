"""The shell of all one-pass estimators: parameters, and the model that they made."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rhokit.batch import Batch, Columns
from rhokit.estimators import answers
from rhokit.estimators.border import checked_rows, whole_rows
from rhokit.estimators.choice import asked_model, chosen_model, mergeable_models
from rhokit.estimators.parameters import COMMON
from rhokit.features import FeatureMap
from rhokit.frames import Schema
from rhokit.kernels import check_kernel
from rhokit.models import Model, RowSample
from rhokit.plans import Candidate, Plan, Scaling
from rhokit.plans.request import check_map, numeric_rows
from rhokit.readouts import ReadOut
from rhokit.representations import State
from rhokit.validation import (
    check_parameters,
    check_share,
    check_values,
    check_weights,
)


class OnePassEstimator(BaseEstimator, ABC):
    """The base of one-pass estimators: learning, merging, forgetting.

    A subclass says what its read-out is, and hands on what that answers.
    """

    _parameter_table: ClassVar[dict[str, Any]] = COMMON
    representation: ClassVar[str] = "matrix"
    """Name of what a state is, unless the map makes series."""
    schema_: Schema | None = None
    model_: Model
    n_features_in_: int

    gamma: Any
    n_components: int
    feature_map: Any
    kernel: Any
    scale: Any
    batch_size: int | None
    dtype: Any
    random_state: Any
    rank: Any = None  # a subclass may lack it, and what follows
    missing: str = "raise"
    unseen: str = "allow"

    @abstractmethod
    def make_readout(self, known: Any = None) -> ReadOut:
        """The read-out of the parameters, with what a known one has learned."""

    # ---- learning -------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose scaling, γ and map from the rows, and sum them up.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            Of numbers; columns of a pandas, polars or Arrow frame may be categories.
        y : array-like of shape (n,) or (n, t)
            Labels or values to be learned; densities have none.
        sample_weight : array-like of shape (n,), optional
            A weight of k counts as k copies of the row.

        Returns
        -------
        self
        """
        batch = self.check_batch(X, y, sample_weight, anew=True)
        return self._become(chosen_model(self, batch, bounded=True).add(batch))

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, decay: Any = None
    ) -> Self:
        """Add a batch of rows.

        The first batch chooses scaling, γ and map as :meth:`prepare` does; later
        batches, in any order and split, give the same model as all at once.

        Parameters
        ----------
        X : array-like of shape (n, d), or Batch
        y : array-like of shape (n,) or (n, t)
            Labels or values to be learned; densities have none.
        sample_weight : array-like of shape (n,), optional
        decay : float in (0, 1], optional
            Let all rows seen before count so many times as much as they did: the
            past fades by this factor with every batch.

        Returns
        -------
        self
        """
        return self._learn(self.check_batch(X, y, sample_weight), decay)

    def prepare(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        targets: Any = None,
        bounded: bool = False,
    ) -> Self:
        """Choose scaling, γ and map from a sample, without adding its rows.

        For streams and for work on several machines: prepare once, send the model
        to every worker, ``partial_fit`` there, and :meth:`merge` the results.

        Parameters
        ----------
        X : array-like of shape (n, d), or Batch
        y : array-like of shape (n,) or (n, t)
            Labels or values to be learned; densities have none.
        sample_weight : array-like of shape (n,), optional
        targets : array-like, optional
            Targets that will come and that the sample may lack: all labels, or the
            lowest and the highest value.
        bounded : bool, default=False
            Whether these are all the rows that will come, so that a grid needs no room
            to spare.

        Returns
        -------
        self
        """
        batch = self.check_batch(X, y, sample_weight, anew=True)
        model = chosen_model(self, batch, bounded=bounded, foreseen=targets)
        return self._become(model)

    def blank(self) -> Self:
        """A copy with the same scaling, γ and map that holds no rows.

        Fit it to other data with :meth:`partial_fit`; the two can be merged.
        """
        return self.with_model(self.prepared_model().blank())

    def merge(self, *others: Self) -> Self:
        """Add what other models have seen.

        They must share scaling, γ and map: see :meth:`prepare` and :meth:`blank`.

        Parameters
        ----------
        *others : estimators of the same class

        Returns
        -------
        self
        """
        mine = self.prepared_model()
        for other in mergeable_models(self, "merge", mine, others):
            mine = mine.merge(other)
        return self._become(mine)

    def unmerge(self, *others: Self) -> Self:
        """Take out what other models have seen, as if :meth:`merge` had never been.

        For sliding windows: keep a model per day, merge today's, unmerge the oldest.

        Parameters
        ----------
        *others : estimators of the same class
            That share scaling, γ and map, and whose rows this model holds.

        Returns
        -------
        self
        """
        mine = self.fitted_model()
        for other in mergeable_models(self, "unmerge", mine, others):
            mine = mine.unmerge(other)
        return self._become(mine)

    def unlearn(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget rows: the model becomes what it would be had it never seen them.

        A sample of rows that others had to make room in stays smaller, and fair.

        Parameters
        ----------
        X : array-like of shape (n, d), or Batch
            Rows that were added before; nobody can check that, but their total
            weight must not exceed the model's.
        y : array-like of shape (n,) or (n, t)
            Their labels or values; densities have none.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        model = self.fitted_model()
        batch = self.check_batch(X, y, sample_weight)
        known = model.knowing(batch, type(self).__name__)
        return self._become(known.subtract(batch))

    def fade(self, decay: float) -> Self:
        """Let all rows seen so far count ``decay`` times as much as they did."""
        check_share("decay", decay)
        return self._become(self.prepared_model().fade(decay))

    def _learn(self, batch: Batch, decay: Any, foreseen: Any = None) -> Self:
        """Add rows; the first ones also decide how."""
        check_share("decay", decay)
        if self.is_prepared:
            model = self.prepared_model()
            model = model.knowing(batch, type(self).__name__, foreseen)
            model = model if decay is None else model.fade(decay)
        else:
            model = chosen_model(self, batch, bounded=False, foreseen=foreseen)
        return self._become(model.add(batch))

    def _become(self, model: Model) -> Self:
        """Take the place of what was known: all of it, once it is whole."""
        model.plan.columns.give_to(self)
        self.model_ = model
        return self

    # ---- rows -----------------------------------------------------------------------

    def check_batch(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        anew: bool = False,
        columns: Columns | None = None,
        one_of_many: bool = False,
        encoded: bool = False,
    ) -> Batch:
        """Check rows, targets and weights, once; learning takes the batch as it is.

        Parameters
        ----------
        X : array-like or frame of shape (n, d), or Batch
        y, sample_weight : array-like of length n, optional
        anew : bool, default=False
            Whether these rows tell the columns, though others may be known.
        columns : Columns, optional
            To compare with, of a model that has not learned any, and of arrays.
        one_of_many : bool, default=False
            Whether all weights may be zero, and parameters were checked before.
        encoded : bool, default=False
            Whether an array holds wide rows: see :mod:`rhokit.frames`.
        """
        if isinstance(X, Batch):
            return X
        if not one_of_many:
            check_parameters(self, self._parameter_table)
        model = None if anew or not self.is_prepared else self.model_
        rows, columns = checked_rows(self, X, model, columns, encoded)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(rows), may_vanish=one_of_many)
        readout = self.make_readout() if model is None else model.readout
        owner = type(self).__name__
        target = readout.check(y, len(rows), owner) if readout.has_target else None
        batch = Batch(rows, columns, target, weights)
        return whole_rows(batch, owner) if self.missing == "integrate" else batch

    def check_query(self, X: Any, model: Model | None = None) -> NDArray[Any]:
        """Rows to be asked for, of the columns that a model has, or that of now."""
        if isinstance(X, Batch):
            return X.rows
        return checked_rows(self, X, model or self.model_)[0]

    # ---- the model ------------------------------------------------------------------

    @property
    def is_prepared(self) -> bool:
        """Whether scaling, γ and map have been chosen."""
        return hasattr(self, "model_")

    def prepared_model(self) -> Model:
        """The model as it is asked with today's parameters; it may hold no rows."""
        if not self.is_prepared:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or "
                "'prepare' with appropriate arguments first."
            )
        return self.asked(self.model_)

    def fitted_model(self) -> Model:
        """The model, if it holds rows: one snapshot, which nothing changes."""
        check_is_fitted(self)
        model = self.asked(self.model_)
        if not model.has_rows:
            name = type(self).__name__
            raise NotFittedError(f"This {name} instance holds no rows any more.")
        return model

    def with_model(self, model: Model) -> Self:
        """A copy that answers from another model."""
        return copy(self)._become(model)

    def asked(self, model: Model) -> Model:
        """A model as it is asked with the parameters of today."""
        return asked_model(self, model)

    @classmethod
    def check_constructor(
        cls, parameters: Mapping[str, Any], owner: str | None = None
    ) -> None:
        """Refuse values that parameters of the constructor cannot have.

        ``owner`` is the class that errors name, if it is another one.
        """
        owner = owner or cls.__name__
        check_values(owner, parameters, cls._parameter_table)
        check_map(parameters.get("feature_map", "auto"))
        check_kernel(parameters.get("kernel", "gaussian"), owner)

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_prepared and self.model_.state is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "integrate"
        tags.input_tags.categorical = numeric_rows(self.feature_map)
        return tags

    # ---- what was learned -----------------------------------------------------------

    @property
    def plan_(self) -> Plan:
        """Columns, scaling, γ and map."""
        return self.model_.plan

    @property
    def readout_(self) -> Any:
        """From what is measured to answers."""
        return self.model_.readout

    @property
    def state_(self) -> State | None:
        """The sums, in the map's columns; None before the first row."""
        return self.model_.state

    @property
    def sample_(self) -> RowSample | Any:
        """Rows that are left out again; None where none are needed."""
        return self.model_.sample

    @property
    def gamma_(self) -> float | None:
        """γ of the kernel, in the units of the scaled rows."""
        return self.model_.plan.gamma

    @property
    def feature_map_(self) -> FeatureMap:
        """The map that was chosen, fitted."""
        return self.model_.plan.feature_map

    @property
    def scaling_(self) -> Scaling:
        """The scaling of the columns."""
        return self.model_.plan.scaling

    @property
    def candidates_(self) -> list[Candidate]:
        """Choices that leave-one-out compared, each with its score."""
        return list(self.model_.plan.candidates)

    kernel_ = property(answers.kernel)
    rank_ = property(answers.chosen_rank)

    @property
    def density_matrix_(self) -> State:
        """ρ in the basis of the map's states, as sums or as a factor."""
        return self.fitted_model().density_matrix()

    def fingerprint(self) -> str:
        """Digest of scaling, γ and map: models that share it can be merged."""
        return self.prepared_model().fingerprint()

    # ---- answers that all have ------------------------------------------------------

    question = answers.question
    score_samples = answers.score_samples
    compact = answers.compact
    memory_estimate = answers.memory_estimate
    marginal = available_if(answers.has_matrices)(answers.marginal)
    series = available_if(answers.has_matrices)(answers.series)
