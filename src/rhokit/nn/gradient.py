"""The shell of all models trained by gradient descent.

A trained model *is* a one-pass model whose state was improved: ``estimator_`` is one,
with the learned factor in place of the sums, and answers every question.
"""

from abc import ABC, abstractmethod
from copy import copy, deepcopy
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rhokit.core import LowRankDensityMatrix, factor_trace
from rhokit.core.spectrum import choose_rank, eigen_factor
from rhokit.estimators.base import StateEstimator
from rhokit.estimators.choice import GAMMA_RULES
from rhokit.fast import map_blocks, small_algebra
from rhokit.features import row_keys
from rhokit.frames import check_table
from rhokit.nn.features import feature_layer, to_numpy
from rhokit.nn.heads import Head
from rhokit.nn.holdout import chosen_judges, unpacked
from rhokit.nn.preconditioning import Coordinates
from rhokit.nn.training import Recipe, Rows, train
from rhokit.validation import (
    Interval,
    RealNotInt,
    StrOptions,
    all_or_nothing,
    check_parameters,
)

# States of frozen features are computed once if they take no more than this.
_MOST_CACHED_BYTES = 2**30
_BLOCK = 4096
# The coordinates to train in come from at most so many rows.
_ROWS_PER_COMPONENT = 8
# Fewer rows held out say too little to be worth their loss.
_FEWEST_JUDGES = 20
# With max_epochs="auto".
_FEWEST_EPOCHS = 10
_FEWEST_STEPS = 400


class GradientEstimator(BaseEstimator, ABC):
    """Common part of all models trained by gradient descent.

    A subclass names its one-pass model, builds the module, and says what is lost.
    """

    schema_ = None
    _one_pass_class: ClassVar[type[StateEstimator]]
    # A trained state makes sharp edges of wide kernels, which see farther: by how much
    # γ is smaller than the one-pass model's with gamma="auto".
    _widening: ClassVar[float] = 1.0
    # Parameters that the one-pass model has too, under the same name.
    _passed_on: ClassVar[tuple[str, ...]] = (
        "gamma",
        "n_components",
        "feature_map",
        "scale",
        "dtype",
    )
    _parameter_table: ClassVar[dict[str, Any]] = {
        "gamma": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto", *GAMMA_RULES}),
        ],
        "rank": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "train_features": ["boolean"],
        "init": [StrOptions({"estimate", "random"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_epochs": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "checkpoint": [str, Path, None],
        "device": [str, torch.device, None],
        "random_state": ["random_state", np.random.Generator],
    }

    # ---- learning ---------------------------------------------------------------

    @all_or_nothing
    def fit(self, X, y=None, sample_weight=None, *, validation_data=None):
        """Train on rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            What is to be learned; ignored by densities.
        sample_weight : array-like of shape (n,), optional
            A weight of k counts as k copies of the row.
        validation_data : tuple (X, y) or (X, y, sample_weight), optional
            Rows whose loss decides which epoch is kept, instead of a part of ``X``.

        Returns
        -------
        self
        """
        check_parameters(self, self._parameter_table)
        self._check_device()
        known = self.estimator_ if self._goes_on() else None
        model = self._one_pass() if known is None else copy(known)
        checked = self._check(model, X, y, sample_weight, reset=known is None)
        held_out = None
        if validation_data is not None:
            held_out = self._check(model, *unpacked(validation_data), reset=False)
        elif self.early_stopping:
            checked, held_out = self._split(*checked)
        if known is None:
            self._plan(model, *checked)
        head = deepcopy(getattr(self, "module_", None)) if known is not None else None
        head = head or self._make_head(model, checked)
        self._update_head(head, model, checked)
        self._train(model, head, checked, held_out)

    @classmethod
    def from_estimator(cls, estimator, **parameters):
        """A model that predicts exactly what a one-pass model predicts.

        Fitting it with ``warm_start=True``, as it is by default here, goes on from
        that model's scaling, map and state, truncated to ``rank``.

        Parameters
        ----------
        estimator : fitted one-pass model
        **parameters :
            Of the new model.

        Returns
        -------
        model
        """
        if type(estimator) is not cls._one_pass_class:
            raise TypeError(
                f"{cls.__name__}.from_estimator takes a fitted "
                f"{cls._one_pass_class.__name__}, got {type(estimator).__name__}"
            )
        estimator._require_rows()
        shared = {
            name: getattr(estimator, name)
            for name in cls._shared_parameters()
            if hasattr(estimator, name)
        }
        model = cls(**({"warm_start": True} | shared | parameters))
        check_parameters(model, model._parameter_table)
        model._set_columns(estimator)
        model.estimator_ = estimator._with_matrix()
        # Names of columns are checked here, and rows passed on without them.
        vars(model.estimator_).pop("feature_names_in_", None)
        return model

    def to_estimator(self):
        """A one-pass model with the learned state, which predicts the same.

        It can take up further rows, and merge with models of the same map.
        """
        check_is_fitted(self)
        model = copy(self.estimator_)
        state = model.state_
        summed = state.summed() if isinstance(state, LowRankDensityMatrix) else state
        model._set_state(summed)
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model

    def to_module(self):
        """The model as a torch module, over rows that are already scaled.

        After training, the module that was trained; else one of full rank that
        computes what the one-pass model does.
        """
        check_is_fitted(self)
        if hasattr(self, "module_"):
            return self.module_
        return self._exact_module(self.estimator_)

    # ---- what a subclass says ----------------------------------------------------

    @abstractmethod
    def _make_module(self, model, features, rank, weight, options) -> Head:
        """A head of this rank for outcomes of given weights, its factor at random."""

    @abstractmethod
    def _loss(self, output, target, weight):
        """Mean loss over rows, for outputs of the head."""

    def _weights(self, model, checked):
        """Weights of the outcomes among checked rows, where the head needs them."""
        return None

    def _update_head(self, head, model, checked):
        """Hook: what a head takes from the rows, whatever it started from."""

    def _targets(self, model, target):
        """Targets as the loss wants them, as an array; None where there are none."""
        return None

    def _groups(self, target, n_rows):
        """Rows of the same group are split alike into training and validation."""
        return np.zeros(n_rows, dtype=int)

    def _finish(self, model, held_out):
        """Hook: what a trained model still needs to know."""

    # ---- planning ----------------------------------------------------------------

    @classmethod
    def _shared_parameters(cls):
        return (*cls._passed_on, "random_state")

    def _one_pass(self):
        """The one-pass model that this one starts from, not fitted."""
        shared = {name: getattr(self, name) for name in self._shared_parameters()}
        if shared["gamma"] == "auto":
            shared["gamma"] = "loo"
        model = self._one_pass_class(**shared)
        model._on_grid = False  # factors are trained, and grids have none
        return model

    def _goes_on(self):
        return self.warm_start and hasattr(self, "estimator_")

    def _check(self, model, X, y, sample_weight, *, reset):
        """Rows, weights and targets without rows of weight zero, checked."""
        rows = check_table(self, X, reset=reset, dtype=model._row_dtype())
        model._row_schema = self.schema_
        rows, weights, target = model._check(rows, y, sample_weight, reset=reset)
        if weights is not None:
            seen = weights > 0
            rows, weights = rows[seen], weights[seen]
            target = None if target is None else target[seen]
        return rows, weights, target

    def _check_device(self):
        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(
                f"The 'device' parameter of {type(self).__name__} must be a device "
                f"that torch has here. Got {self.device!r} instead: {error}"
            ) from error

    def _split(self, rows, weights, target):
        """Rows to train on and rows to judge by, None where there are too few."""
        groups = self._groups(target, len(rows))
        held = chosen_judges(rows, groups, self.validation_fraction)
        n_judges = len(np.unique(row_keys(rows[held])))
        if self.early_stopping == "auto" and n_judges < _FEWEST_JUDGES:
            return (rows, weights, target), None
        if not n_judges:
            raise ValueError(
                "early_stopping needs rows to judge by, but validation_fraction="
                f"{self.validation_fraction} of n_samples={len(rows)} is none: raise "
                "it, give validation_data to fit, or set early_stopping=False"
            )

        def part(which):
            parts = rows, weights, target
            return tuple(None if each is None else each[which] for each in parts)

        return part(~held), part(held)

    def _plan(self, model, rows, weights, target):
        """Choose scaling, γ and map; for a start from the estimate, sum up."""
        model._plan(rows, weights, target, bounded=True)
        if self.gamma == "auto" and model.gamma_ is not None and self._widening > 1:
            model.gamma_ /= self._widening
            scaled = model._apply_scaling(rows)
            feature_map = model.feature_map_
            model.feature_map_ = feature_map.with_gamma(model.gamma_, scaled, weights)
        model._set_state(None)
        if self.init == "estimate":
            model._add(rows, weights, target)
        self._set_columns(model)

    def _set_columns(self, model):
        self.n_features_in_ = model.n_features_in_
        self.schema_ = model.schema_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_

    # ---- the module ----------------------------------------------------------------

    def _make_head(self, model, checked):
        """The head that training starts from."""
        rank = choose_rank(np.ones(model.feature_map_.n_components_), self.rank)
        if model.state_ is not None:
            return self._head_of(model, rank)
        return self._module(model, rank, self._weights(model, checked))

    def _module(self, model, rank, weight):
        feature_map = model._measured_map()
        dtype = torch.from_numpy(np.empty(0, feature_map.dtype_)).dtype
        features = feature_layer(
            feature_map, trainable=self.train_features, dtype=dtype, device=self.device
        )
        options = {"device": self.device, "random_state": model._draw_seed()}
        return self._make_module(model, features, rank, weight, options)

    def _head_of(self, model, rank, truncation=None):
        """The head whose factor is a one-pass model's state.

        It has room for ``rank`` eigenvectors, and keeps as many as ``truncation``, in
        the words of a one-pass model, says.
        """
        head = self._module(model, rank, model.state_.weight)
        state = model.density_matrix_  # over the map's states
        rho = state.normalized()
        factor = np.zeros_like(to_numpy(head.measurement.factor))

        def work(worker, block):
            for k in range(block.start, block.stop):
                part = eigen_factor(rho[k], truncation or rank)
                factor[k, : len(part)] = part

        with small_algebra(state.dim):
            map_blocks(work, len(rho), 1)
        if head.measurement.trace == "joint":
            shares = state.weight / state.weight.sum()
            factor *= np.sqrt(shares)[:, None, None].astype(factor.real.dtype)
        with torch.no_grad():
            head.measurement.factor.copy_(torch.from_numpy(factor))
        return head

    def _exact_module(self, estimator):
        """The head that predicts what a one-pass model does."""
        dim = estimator.feature_map_.n_components_
        return self._head_of(estimator, dim, estimator._rank() or dim)

    # ---- training ------------------------------------------------------------------

    def _train(self, model, head, checked, held_out):
        coordinates = self._coordinates(model, head, checked)
        fresh = self.init == "random" and not self._goes_on()
        seed = model._draw_seed()
        training = coordinates.precondition(head, seed, at_random=fresh)
        cached = self._fits_in_memory(training, len(checked[0]))
        rows, judges = (
            None if part is None else self._tensors(model, training, part, cached)
            for part in (checked, held_out)
        )
        recipe = Recipe(
            learning_rate=self.learning_rate,
            max_epochs=self._epochs(len(rows)),
            batch_size=self.batch_size,
            weight_decay=self.weight_decay,
            patience=self.patience if held_out is not None else None,
            seed=seed,
        )
        self.history_ = train(
            training,
            self._loss,
            rows,
            recipe,
            validation=judges,
            forward=training.read if cached else training,
            checkpoint=self.checkpoint,
            settings=self._settings(),
            label=f"Training {type(self).__name__}",
        )
        coordinates.undo(head, training)
        self.module_ = head
        self.n_epochs_ = len(self.history_["loss"])
        self.estimator_ = self._trained(model, head, checked)
        self._finish(self.estimator_, held_out)

    def _settings(self):
        """Parameters that a checkpoint belongs to, as text."""
        parameters = self.get_params(deep=False)
        del parameters["checkpoint"], parameters["warm_start"], parameters["device"]
        return repr({name: parameters[name] for name in sorted(parameters)})

    def _epochs(self, n_rows):
        """Few, or of few rows as many as make enough steps."""
        if self.max_epochs != "auto":
            return self.max_epochs
        steps_per_epoch = -(-n_rows // self.batch_size)
        return max(_FEWEST_EPOCHS, -(-_FEWEST_STEPS // steps_per_epoch))

    def _coordinates(self, model, head, checked):
        """Coordinates to train in, from at most a few thousand rows."""
        rows, weights, _ = checked
        count = min(len(rows), _ROWS_PER_COMPONENT * head.features.n_components)
        some = np.linspace(0, len(rows) - 1, count).astype(int)
        inputs = self._scaled_rows(model, head, rows[some])
        with torch.no_grad():
            states, _ = head.features.scaled(inputs)
        if weights is not None:
            weights = torch.as_tensor(weights[some] / weights[some].mean())
        return Coordinates(states, weights, total_weight(checked))

    def _fits_in_memory(self, head, n_rows):
        """Whether states can be computed once for all epochs."""
        size = head.measurement.factor.element_size() * head.features.n_components
        return head.features.frozen and n_rows * size <= _MOST_CACHED_BYTES

    def _tensors(self, model, head, checked, cached):
        """What the head is trained on: states if they are cached, else rows."""
        rows, weights, target = checked
        device = head.measurement.factor.device
        inputs = (self._scaled_rows(model, head, rows),)
        if cached:
            inputs = self._states(head, inputs[0])
        targets = self._targets(model, target)
        if targets is not None:
            targets = torch.as_tensor(targets, device=device)
        if weights is not None:
            weights = torch.as_tensor(
                weights / weights.mean(), dtype=head.measurement.factor.real.dtype
            ).to(device)
        return Rows(inputs, targets, weights)

    def _scaled_rows(self, model, head, rows):
        scaled = torch.from_numpy(np.array(model._apply_scaling(rows)))
        return scaled.to(head.measurement.factor.device)

    def _states(self, head, rows):
        with torch.no_grad():
            blocks = [head.features.scaled(part) for part in rows.split(_BLOCK)]
        states, scales = zip(*blocks, strict=True)
        if scales[0] is None:
            return torch.cat(states), None
        return torch.cat(states), torch.cat(scales)

    def _trained(self, model, head, checked):
        """The one-pass model with the learned state."""
        trained = copy(model)
        trained.rank = None  # what was learned is not truncated again
        trained.feature_map_ = self._trained_map(model, head, checked[0])
        wide = np.result_type(model.feature_map_.column_dtype_, np.float64)
        with torch.no_grad():
            factor, weight = self._learned(model, head, checked)
            factor = to_numpy(factor).astype(wide)  # (K, r, D)
        trained._set_factor(factor, weight)
        return trained

    def _trained_map(self, model, head, rows):
        if head.features.frozen:
            return model.feature_map_
        return head.features.to_map(model.feature_map_, model._apply_scaling(rows))

    def _learned(self, model, head, checked):
        """Factors of the outcomes' matrices (K, r, D), and their weights (K,)."""
        factor = head.measurement.scaled_factor()
        trace = factor_trace(factor)
        weight = total_weight(checked) * to_numpy(trace).astype(np.float64)
        scale = torch.where(trace > 0, trace, 1).sqrt()
        return factor / scale[:, None, None], weight

    # ---- model files ----------------------------------------------------------------

    def compact(self):
        """A copy that only predicts: see :meth:`DMKDE.compact`."""
        check_is_fitted(self)
        other = copy(self)
        other.estimator_ = self.estimator_.compact()
        vars(other).pop("module_", None)
        return other

    def _keep(self):
        return vars(self)

    def _restore(self):
        """Everything that follows, follows in ``estimator_``."""

    # ---- answering ------------------------------------------------------------------

    def _ask(self, method, X, *arguments):
        """What the one-pass model answers for rows, checked against our columns."""
        check_is_fitted(self)
        dtype = self.estimator_.feature_map_.dtype_
        rows = check_table(self, X, reset=False, dtype=dtype)
        return getattr(self.estimator_, method)(rows, *arguments)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimator_")


def total_weight(checked):
    rows, weights, _ = checked
    return float(len(rows)) if weights is None else float(weights.sum())
