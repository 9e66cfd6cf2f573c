"""The shell of all one-pass estimators: parameters, and the model that they made."""

import warnings
from abc import ABC, abstractmethod
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rhokit.batch import Batch, Columns
from rhokit.features import FeatureMap
from rhokit.frames import Schema, check_table
from rhokit.models import Model, RowSample, plan_outcomes
from rhokit.models.gaps import refuse_gaps
from rhokit.plans import Candidate, Plan, PlanRequest, Scaling, plan_density
from rhokit.plans.request import (
    GAMMA_RULES,
    check_map,
    numeric_rows,
    refuse_maps_of_numbers,
)
from rhokit.plans.scaling import GROUP_RULES, SCALE_RULES
from rhokit.readouts import ReadOut
from rhokit.representations import MemoryEstimate, State, estimate_memory
from rhokit.validation import (
    Interval,
    RealNotInt,
    StrOptions,
    all_or_nothing,
    check_float_dtype,
    check_parameters,
    check_share,
    check_weights,
    generator,
    level_of_the_user,
)

# Tables of parameters that several estimators have.
COMMON: dict[str, Any] = {
    "gamma": [
        Interval(Real, 0, None, closed="neither"),
        StrOptions(set(GAMMA_RULES)),
    ],
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "scale": [StrOptions({"auto", *SCALE_RULES}), "array-like", None],
    "batch_size": [Interval(Integral, 1, None, closed="left"), None],
    "dtype": [StrOptions({"float32", "float64"}), type, np.dtype, None],
    "random_state": ["random_state", np.random.Generator],
}
MATRIX: dict[str, Any] = COMMON | {
    "rank": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="right"),
        StrOptions({"elbow"}),
        None,
    ],
    "missing": [StrOptions({"raise", "integrate"})],
}
TARGET: dict[str, Any] = MATRIX | {
    "scale": [StrOptions({"auto", *SCALE_RULES, *GROUP_RULES}), "array-like", None],
    "rank": [*MATRIX["rank"], StrOptions({"loo"})],
}


def _has_matrices(estimator: Any) -> bool:
    return bool(estimator.representation == "matrix")


class OnePassEstimator(BaseEstimator, ABC):
    """What all one-pass estimators share: learning, merging, forgetting.

    A subclass says what its read-out is, and hands on what that answers.
    """

    _parameter_table: ClassVar[dict[str, Any]] = COMMON
    representation: ClassVar[str] = "matrix"
    """What a state is, unless the map makes series."""
    schema_: Schema | None = None
    model_: Model
    n_features_in_: int

    # What parameters are called in every subclass.
    gamma: Any
    n_components: int
    feature_map: Any
    scale: Any
    batch_size: int | None
    dtype: Any
    random_state: Any

    @abstractmethod
    def _readout(self, known: Any = None) -> ReadOut:
        """The read-out of the parameters, with what a known one has learned."""

    # ---- learning -------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
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
        self._choose(batch, bounded=True)
        self.model_ = self.model_.add(batch)

    @all_or_nothing
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, decay: Any = None
    ) -> None:
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
        self._learn(self.check_batch(X, y, sample_weight), decay=decay)

    @all_or_nothing
    def prepare(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, targets: Any = None
    ) -> None:
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

        Returns
        -------
        self
        """
        batch = self.check_batch(X, y, sample_weight, anew=True)
        self._choose(batch, bounded=False, foreseen=targets)

    def blank(self) -> Self:
        """A copy with the same scaling, γ and map that holds no rows.

        Fit it to other data with :meth:`partial_fit`; the two can be merged.
        """
        return self.with_model(self.prepared_model().blank())

    @all_or_nothing
    def merge(self, *others: Self) -> None:
        """Add what other models have seen.

        They must share scaling, γ and map: see :meth:`prepare` and :meth:`blank`.

        Parameters
        ----------
        *others : estimators of the same class

        Returns
        -------
        self
        """
        for other in self._mergeable("merge", others):
            self.model_ = self.prepared_model().merge(other)

    @all_or_nothing
    def unmerge(self, *others: Self) -> None:
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
        for other in self._mergeable("unmerge", others):
            self.model_ = self.fitted_model().unmerge(other)

    @all_or_nothing
    def unlearn(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        """Forget rows: the model becomes what it would be had it never seen them.

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
        self.model_ = self._knowing(model, batch).subtract(batch)

    @all_or_nothing
    def fade(self, decay: float) -> None:
        """Let all rows seen so far count ``decay`` times as much as they did."""
        check_share("decay", decay)
        self.model_ = self.prepared_model().fade(decay)

    def _choose(self, batch: Batch, *, bounded: bool, foreseen: Any = None) -> None:
        """Choose plan and read-out from rows, once."""
        owner, rank = type(self).__name__, getattr(self, "rank", None)
        batch.columns.give_to(self)
        refuse_maps_of_numbers(self.feature_map, batch.columns)
        readout = self._readout()
        readout.check_rank(rank, owner)
        readout = readout.learn(batch.target, batch.weights, foreseen, owner)
        request = PlanRequest(
            self.feature_map,
            self.gamma,
            self.n_components,
            self.scale,
            seed=int(generator(self.random_state).integers(2**31 - 1)),
            bounded=bounded,
            power=1 if self.representation == "mean" else 2,
            takes_series=self.takes_series,
        )
        if readout.has_target:
            by_rank = isinstance(rank, str) and rank == "loo"
            plan, readout = plan_outcomes(request, batch, readout, by_rank=by_rank)
        else:
            plan = plan_density(request, batch, self.representation)
        self.model_ = self._asked(Model(plan, readout))

    def _learn(self, batch: Batch, *, decay: Any, foreseen: Any = None) -> None:
        """Add rows; the first ones also decide how."""
        check_share("decay", decay)
        if self.is_prepared:
            model = self._knowing(self.prepared_model(), batch, foreseen)
            self.model_ = (model if decay is None else model.fade(decay)).add(batch)
        else:
            self._choose(batch, bounded=False, foreseen=foreseen)
            self.model_ = self.model_.add(batch)

    def _knowing(self, model: Model, batch: Batch, foreseen: Any = None) -> Model:
        """A model with a place for the targets of these rows."""
        owner = type(self).__name__
        readout = model.readout.learn(batch.target, batch.weights, foreseen, owner)
        return model.with_outcomes(readout)

    def _mergeable(self, what: str, others: tuple[Any, ...]) -> list[Model]:
        """The models of others that have seen rows, if all can be brought together."""
        mine = self.prepared_model()
        if what == "unmerge":
            self.fitted_model()
        models = []
        for other in others:
            if type(other) is not type(self):
                raise TypeError(
                    f"{what}: a {type(self).__name__} takes models of its own class, "
                    f"got {type(other).__name__}"
                )
            model = other.prepared_model()
            if model.fingerprint() != mine.fingerprint():
                raise ValueError(
                    f"{what}: the models differ in scaling, gamma or feature map, so "
                    "their states do not add. Fit the second one from a copy: "
                    "first.blank().partial_fit(X), or prepare() both on the same "
                    "sample with the same random_state"
                )
            if model.state is not None:
                models.append(model)
        return models

    # ---- rows -----------------------------------------------------------------------

    def check_batch(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        anew: bool = False,
        columns: Columns | None = None,
    ) -> Batch:
        """Check rows, targets and weights, once; learning takes the batch as it is.

        Parameters
        ----------
        X : array-like or frame of shape (n, d), or Batch
        y : array-like, optional
        sample_weight : array-like of shape (n,), optional
        anew : bool, default=False
            Whether the columns are learned from these rows, though the model may have
            learned others before.
        columns : Columns, optional
            Columns to compare with, of a model that has not learned any.
        """
        if isinstance(X, Batch):
            return X
        check_parameters(self, self._parameter_table)
        check_map(self.feature_map, self.takes_series)
        knows = self.is_prepared and not anew
        border = copy(self)
        if columns is not None:
            columns.give_to(border)
        dtype = check_float_dtype(type(self).__name__, self.dtype)
        rows = check_table(
            border,
            X,
            reset=not knows and columns is None,
            dtype=self.model_.plan.feature_map.dtype_ if knows else dtype,
            numeric=numeric_rows(self.feature_map),
            may_miss=self.may_miss,
        )
        weights = check_weights(sample_weight, len(rows))
        readout = self.model_.readout if knows else self._readout()
        target = readout.check(y, len(rows), type(self).__name__)
        return self._whole(Batch(rows, Columns.of(border), target, weights))

    def _whole(self, batch: Batch) -> Batch:
        """The rows that lack nothing, which are those that can be learned from."""
        if not self.may_miss:
            return batch
        whole = ~np.isnan(batch.rows).any(axis=1)
        if whole.all():
            return batch
        if not whole.any():
            raise ValueError(
                f"{type(self).__name__} learns from rows without gaps, but each of the "
                f"{len(batch)} rows lacks a value: fill some"
            )
        warnings.warn(
            f"{int((~whole).sum())} of {len(batch)} rows lack a value and were left "
            f"out: {type(self).__name__} integrates over what is missing when it "
            "predicts, and learns from whole rows",
            UserWarning,
            stacklevel=level_of_the_user(),
        )
        return batch.take(whole)

    def check_query(self, X: Any) -> NDArray[Any]:
        """Rows to be asked for, of the columns that were learned."""
        feature_map = self.model_.plan.feature_map
        return check_table(
            self,
            X,
            reset=False,
            dtype=feature_map.dtype_,
            numeric=feature_map.numeric_rows,
            may_miss=self.may_miss,
        )

    @property
    def may_miss(self) -> bool:
        """Whether rows may lack values."""
        return bool(getattr(self, "missing", "raise") == "integrate")

    @property
    def takes_series(self) -> bool:
        """Whether a state may be a Fourier series."""
        series = _has_matrices(self) and self._readout().takes_series
        return series and getattr(self, "rank", None) is None

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
        return self._asked(self.model_)

    def fitted_model(self) -> Model:
        """The same of a model that holds rows: one snapshot, which nothing changes."""
        check_is_fitted(self)
        model = self._asked(self.model_)
        if not model.has_rows:
            raise NotFittedError(
                f"This {type(self).__name__} instance holds no rows any more."
            )
        return model

    def with_model(self, model: Model) -> Self:
        """A copy that answers from another model."""
        other = copy(self)
        other.model_ = model
        model.plan.columns.give_to(other)
        return other

    def _asked(self, model: Model) -> Model:
        """A model with the parameters of today."""
        readout, owner = self._readout(model.readout), type(self).__name__
        rank = getattr(self, "rank", None)
        if isinstance(rank, str) and rank == "loo":
            rank = self.rank_
        readout.check_rank(rank, owner)
        model.representation.check_rank(rank, owner)
        return replace(
            model,
            readout=readout,
            rank=rank,
            batch_size=self.batch_size,
            may_miss=self.may_miss,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_prepared and self.model_.state is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.may_miss
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
        """What leave-one-out compared, each with its score."""
        return list(self.model_.plan.candidates)

    @property
    def rank_(self) -> int | None:
        """The rank that ``rank="loo"`` chose; None where all is worth keeping."""
        chosen = self.model_.plan.loo_rank
        if chosen is None:
            raise ValueError(
                "The 'rank' parameter was set to 'loo' after the model had chosen: set "
                "it before fit"
            )
        whole = self.model_.plan.feature_map.n_components_
        return None if chosen >= whole else chosen

    @property
    def density_matrix_(self) -> State:
        """ρ in the basis of the map's states, as sums or as a factor."""
        return self.fitted_model().density_matrix()

    def fingerprint(self) -> str:
        """Digest of scaling, γ and map: models that share it can be merged."""
        return self.prepared_model().fingerprint()

    # ---- answers that all have ------------------------------------------------------

    def score_samples(
        self, X: Any, y: Any = None, *, leave_one_out: bool = False
    ) -> NDArray[np.float64]:
        """Log-density of each row, whatever its target, in the user's units.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
        y : array-like of shape (n,) or (n, t), optional
            Targets of rows that the model was fitted to, for ``leave_one_out``.
        leave_one_out : bool, default=False
            For rows that the model was fitted to, with weight one: take each one's own
            contribution out, in closed form. What is left cannot be told from zero
            below about 1e-15 of that contribution (1e-6 in float32; on a grid, 1e-11
            of all rows), so rows far from all others get too high a value, or ``-inf``.

        Returns
        -------
        log_density : array of shape (n,), float64
            ``-inf`` where the density is exactly zero. Of rows that lack values, that
            of the columns they have (``missing="integrate"``).
        """
        model, rows = self.fitted_model(), self.check_query(X)
        if not leave_one_out:
            return model.log_density(rows)
        refuse_gaps(rows)
        if not model.readout.has_target:
            return model.log_density_without(rows)
        if not model.state.takes_rows:
            raise ValueError(
                f"leave_one_out needs the sums that a {type(self).__name__} was fitted "
                "with, and this one holds only a factor of them"
            )
        target = model.readout.check(y, len(rows), type(self).__name__)
        model = self._knowing(model, Batch(rows, model.plan.columns, target))
        keys = np.arange(len(rows), dtype=np.uint64)
        codes = model.readout.encode(target)
        return model.log_density_left_out(
            RowSample(len(rows), keys, rows, codes, np.ones(len(rows)))
        )

    @available_if(_has_matrices)
    def marginal(self, columns: Any) -> Self:
        """The model of some of the columns, whatever the others are.

        On a grid it is the model that those columns alone would have given, with the
        same γ, and learns on. Over landmarks it integrates what the model holds, in
        closed form, and only predicts. Random features cannot be integrated.

        Parameters
        ----------
        columns : int, str, or list of these
            Places or names of the columns to keep; they stay in their order.

        Returns
        -------
        model : estimator of the same class

        Examples
        --------
        >>> import numpy as np
        >>> from rhokit import DMKDE
        >>> X = np.random.default_rng(0).normal([0, 5], size=(2000, 2))
        >>> DMKDE(random_state=0).fit(X).marginal(1).series().mean().round(1)
        array([5.])
        >>> X = np.random.default_rng(0).normal([0, 0, 0, 5], size=(500, 4))
        >>> model = DMKDE(gamma=2.0, random_state=0).fit(X)  # landmarks: all rows
        >>> alone = DMKDE(gamma=2.0).fit(X[:, [3]])
        >>> np.abs(model.marginal(3).density([[5.0]]) - alone.density([[5.0]])) < 1e-9
        array([ True])
        """
        model = self.fitted_model()
        kept = sorted(model.plan.columns.find("columns", columns))
        part = self.with_model(model.marginal(kept))
        part.rank = part.model_.rank
        if not (self.scale is None or isinstance(self.scale, str)):
            part.scale = np.asarray(self.scale)[kept]
        if not isinstance(self.feature_map, str):
            part.feature_map = part.model_.plan.feature_map
        return part

    def compact(self) -> Self:
        """A copy that only predicts, with a factor of the model's rank for its sums.

        It is smaller, by as much as ``rank`` is below the dimension, and learns no
        more: it cannot add, merge or forget rows. On a grid, and of a mean of features,
        it is a copy.
        """
        return self.with_model(self.fitted_model().compact())

    def memory_estimate(
        self,
        n_features: int | None = None,
        n_outcomes: int | None = None,
        batch_rows: int = 65_536,
    ) -> MemoryEstimate:
        """Bytes that learning from batches takes at most, whatever their number.

        Parameters
        ----------
        n_features, n_outcomes : int, optional
            Columns of the rows, and classes or levels (of all targets together). A
            model that is prepared knows them.
        batch_rows : int, default=65_536
            Rows of the largest batch.

        Returns
        -------
        estimate : MemoryEstimate
            Its ``total``, and what it is made of. Predicting takes less.
        """
        readout = self._readout(self.model_.readout if self.is_prepared else None)
        # A batch is there as it was given, checked, scaled, and sorted by its target.
        copies = 3 if not readout.has_target else 7 if readout.needs_sample else 4
        outcomes = n_outcomes or readout.n_outcomes
        if self.is_prepared:
            representation = self.model_.representation
            return representation.memory(
                outcomes, batch_rows, copies, readout.open_sums
            )
        if n_features is None:
            raise ValueError(
                "n_features must be given for a model that is not prepared: the number "
                "of columns of its rows"
            )
        dtype = check_float_dtype(type(self).__name__, self.dtype)
        return estimate_memory(
            n_features=n_features,
            n_columns=self.n_components,
            n_outcomes=outcomes,
            matrix=self.representation != "mean",
            itemsize=np.dtype(dtype or np.float64).itemsize,
            batch_rows=batch_rows,
            batch_copies=copies,
            open_sums=readout.open_sums,
        )
