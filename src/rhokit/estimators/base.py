"""The one shell: scaling + feature map + state, filled in one pass."""

import hashlib
from abc import ABC, abstractmethod
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rhokit.core import log_measured
from rhokit.estimators.cache import Cache
from rhokit.estimators.choice import (
    GAMMA_RULES,
    MapChooser,
    choose_gamma,
    map_gamma,
)
from rhokit.estimators.memory import memory_of
from rhokit.estimators.rows import RowChecks
from rhokit.estimators.scaling import RULES as SCALE_RULES
from rhokit.estimators.scaling import Scaling
from rhokit.fast import map_blocks
from rhokit.validation import (
    Interval,
    StrOptions,
    all_or_nothing,
    check_share,
    generator,
)


class StateEstimator(RowChecks, ABC):
    """Common part of all one-pass estimators.

    A subclass says how columns become a state (``_sum``), how the state is measured
    (``_prepare_measurement``), and of what power of the overlap its kernel is.
    """

    _power = 2
    # Outcomes that neighbouring rows have, when sorted by it.
    _open_sums = 4
    _parameter_table: ClassVar[dict[str, Any]] = {
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

    # ---- learning ---------------------------------------------------------------

    @all_or_nothing
    def fit(self, X, y=None, sample_weight=None):
        """Choose scaling, γ and map from the rows, and sum them up.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            Of numbers; columns of a pandas, polars or Arrow frame may be categories.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            A weight of k counts as k copies of the row.

        Returns
        -------
        self
        """
        self._start(X, y, sample_weight, bounded=True, add=True)

    @all_or_nothing
    def partial_fit(self, X, y=None, sample_weight=None, *, decay=None):
        """Add a batch of rows.

        The first batch chooses scaling, γ and map as :meth:`prepare` does; later
        batches, in any order and split, give the same model as all at once.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
        decay : float in (0, 1], optional
            Let all rows seen before count so many times as much as they did: the
            past fades by this factor with every batch.

        Returns
        -------
        self
        """
        self._add_batch(X, y, sample_weight, decay)

    @all_or_nothing
    def prepare(self, X, y=None, sample_weight=None):
        """Choose scaling, γ and map from a sample, without adding its rows.

        For streams and for work on several machines: prepare once, send the model
        to every worker, ``partial_fit`` there, and :meth:`merge` the results.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        self._start(X, y, sample_weight, bounded=False, add=False)

    def blank(self):
        """A copy with the same scaling, γ and map that holds no rows.

        Fit it to other data with :meth:`partial_fit`; the two can be merged.
        """
        self._require_prepared()
        other = copy(self)
        other._set_state(None)
        return other

    @all_or_nothing
    def merge(self, *others):
        """Add what other models have seen.

        They must share scaling, γ and map: see :meth:`prepare` and :meth:`blank`.

        Parameters
        ----------
        *others : estimators of the same class

        Returns
        -------
        self
        """
        self._require_prepared()
        for other in others:
            self._check_mergeable(other)
            if other.state_ is not None:
                self._take_up(other)

    @all_or_nothing
    def unmerge(self, *others):
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
        self._require_rows()
        for other in others:
            self._check_mergeable(other, "unmerge")
            if other.state_ is not None:
                self._give_back(other)

    @all_or_nothing
    def unlearn(self, X, y=None, sample_weight=None):
        """Forget rows: the model becomes what it would be had it never seen them.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows that were added before; nobody can check that, but their total
            weight must not exceed the model's.
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        self._require_rows()
        rows, weights, target = self._check(X, y, sample_weight, reset=False)
        self._refuse_outsiders(rows, weights)
        self._subtract(rows, weights, target)

    def memory_estimate(self, n_features=None, n_outcomes=None, batch_rows=65_536):
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
        return memory_of(self, n_features, n_outcomes, batch_rows)

    # ---- what a subclass says ----------------------------------------------------

    @abstractmethod
    def _sum(self, rows, weights, target):
        """The state of checked rows in the user's units."""

    @abstractmethod
    def _prepare_measurement(self):
        """A function from columns (n, m) to measured values (n, K)."""

    def _takes_grids(self):
        """Whether a state may be a Fourier series."""
        return False

    def _batch_copies(self):
        """Copies of a batch at once: as it was given, checked and scaled."""
        return 3

    def _n_outcomes(self):
        """K, as far as it is known."""
        return 1

    def _check_target(self, y, rows, weights, *, reset):
        """What a supervised model learns for each row; None where there is nothing."""
        return None

    # ---- shared work -------------------------------------------------------------

    def _start(self, X, y, sample_weight, *, bounded, add):
        """Forget everything, choose from these rows, and perhaps add them."""
        self._forget()
        rows, weights, target = self._check(X, y, sample_weight, reset=True)
        self._plan(rows, weights, target, bounded=bounded)
        self._set_state(None)
        if add:
            self._add(rows, weights, target)

    def _add_batch(self, X, y, sample_weight, decay):
        """Add rows; the first ones also decide how."""
        check_share("decay", decay)
        if self._is_prepared():
            checked = self._check(X, y, sample_weight, reset=False)
            if decay is not None and self.state_ is not None:
                self._fade(decay)
            self._add(*checked)
        else:
            self._start(X, y, sample_weight, bounded=False, add=True)

    def _plan(self, rows, weights, target, *, bounded):
        """Choose scaling, γ and map, once."""
        seed = self._draw_seed()
        self.scaling_ = Scaling.from_rows(
            self._scale_rule(), rows, weights, is_number=self._is_number()
        )
        scaled = self.scaling_.apply(rows) if self._numeric_rows() else rows
        chooser = MapChooser(
            self.feature_map,
            scaled,
            weights,
            self.n_components,
            seed,
            bounded,
            grids=self._takes_grids(),
            schema=self.schema_,
        )
        rng = np.random.default_rng(seed)
        if self._is_gaussian():
            self.gamma_ = choose_gamma(self.gamma, chooser, self._power, rng)
            self.feature_map_ = chooser(map_gamma(self.gamma_, self._power))
        else:
            self.gamma_ = None
            self.feature_map_ = chooser(None)
        self._plan_sampling(scaled, weights, rng)

    def _draw_seed(self):
        """One number that everything random in a fit follows from."""
        return int(generator(self.random_state).integers(2**31 - 1))

    def _add(self, rows, weights, target):
        """Add checked rows to the state."""
        self._make_room(rows, weights)
        self._set_state(self._sum(rows, weights, target) + (self.state_ or 0))

    def _subtract(self, rows, weights, target):
        """Take checked rows out of the state."""
        self._set_state(self.state_ - self._sum(rows, weights, target))

    def _fade(self, decay):
        """Let what was seen count less."""
        self._set_state(self.state_.scale(decay))

    def _take_up(self, other):
        """Add what another model has seen."""
        self._set_state(other.state_ + (self.state_ or 0))

    def _give_back(self, other):
        """Take out what another model has seen."""
        self._set_state(self.state_ - other.state_)

    def _make_room(self, rows, weights):
        """See to it that the map takes these rows."""
        self._refuse_outsiders(rows, weights)

    def _plan_sampling(self, scaled, weights, rng):
        """Hook: keep what drawing rows will need."""

    def _for_blocks(
        self, rows, use, *, relative=False, row_scale=None, order=None, stretch=1
    ):
        """Call ``use(worker, which, columns, log_scale)`` block by block, over threads.

        ``which`` indexes the rows of the block; with ``order``, they are taken in it.
        The columns are in memory that the worker uses again for its next block.
        """
        feature_map = self._measured_map() if relative else self.feature_map_
        size = feature_map.rows_per_block(
            len(rows), self._n_outcomes(), self.batch_size, stretch
        )
        buffers = {}

        def work(worker, block):
            if worker not in buffers:
                shape = (min(size, len(rows)), feature_map.n_columns_)
                buffers[worker] = np.empty(shape, feature_map.column_dtype_)
            which = block if order is None else order[block]
            part = self._apply_scaling(rows[which])
            columns, log_scale = feature_map.columns(
                part,
                relative=relative,
                row_scale=None if row_scale is None else row_scale[which],
                out=buffers[worker][: len(part)],
            )
            return use(worker, which, columns, log_scale)

        return map_blocks(work, len(rows), size)

    def _measured_map(self):
        """The map of the rows that are asked for."""
        return self.feature_map_

    def _log_measured(self, rows):
        """Measured values of checked rows as logarithms, shape (n, K), float64."""
        measure = self._measurement()

        def use(worker, which, columns, log_scale):
            measured = measure(columns).astype(np.float64)
            return log_measured(measured, log_scale, self._power)

        return np.concatenate(self._for_blocks(rows, use, relative=True, stretch=2))

    def _log_norm(self):
        """What turns a measured logarithm into a log-density in the user's units."""
        if self.schema_ is None:
            mass = self.feature_map_.log_mass(self._power)
        else:
            mass = self.schema_.log_mass(self.gamma_)
        return self.scaling_.log_volume - mass

    # ---- bookkeeping -------------------------------------------------------------

    def _forget(self):
        for name in [
            n for n in vars(self) if n.endswith("_") and not n.startswith("_")
        ]:
            delattr(self, name)

    def _set_state(self, state):
        self.state_ = state
        self._cache = Cache()

    def _measurement(self):
        """The function that measures columns, made when first needed."""
        return self._cache.get("measurement", self._rank(), self._prepare_measurement)

    def _rank(self):
        """The rank to measure with."""
        return getattr(self, "rank", None)

    def _is_prepared(self):
        return hasattr(self, "feature_map_")

    def __sklearn_is_fitted__(self):
        return getattr(self, "state_", None) is not None

    def _require_prepared(self):
        if not self._is_prepared():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or "
                "'prepare' with appropriate arguments first."
            )

    def _require_rows(self):
        check_is_fitted(self)
        if not float(np.sum(self.state_.weight)) > 0:
            raise NotFittedError(
                f"This {type(self).__name__} instance holds no rows any more."
            )

    def _check_mergeable(self, other, what="merge"):
        if type(other) is not type(self):
            raise TypeError(
                f"{what}: a {type(self).__name__} takes models of its own class, "
                f"got {type(other).__name__}"
            )
        other._require_prepared()
        if other.fingerprint() != self.fingerprint():
            raise ValueError(
                f"{what}: the models differ in scaling, gamma or feature map, so their "
                "states do not add. Fit the second one from a copy: "
                "first.blank().partial_fit(X), or prepare() both on the same sample "
                "with the same random_state"
            )

    def fingerprint(self):
        """Digest of scaling, γ and map: models that share it can be merged."""
        self._require_prepared()
        scaling = (self.scaling_.centre.tolist(), self.scaling_.matrix.tolist())
        text = f"{self.feature_map_.fingerprint()} {scaling} {self._drawn()}"
        if self.schema_ is not None:
            text += f" {self.schema_!r}"
        return hashlib.sha256(text.encode()).hexdigest()

    def _drawn(self):
        """What else two states must share to add up, as text."""
        return ""

    def _keep(self):
        """The attributes that a model file may keep, by name."""
        return vars(self)

    def _restore(self):
        """Set what follows from the attributes that a model file keeps."""
        self._set_state(self.state_)

    def __getstate__(self):
        state = super().__getstate__().copy()
        state.pop("_cache", None)
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if self._is_prepared():
            self._cache = Cache()
