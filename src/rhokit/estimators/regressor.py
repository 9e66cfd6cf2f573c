"""QMR: values with their distributions, by measuring a joint state."""

from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from rhokit.core import log_posterior
from rhokit.core.arrays import safe_log
from rhokit.core.distributions import mean_and_std, quantiles
from rhokit.estimators.conformal import (
    interval_offsets,
    quantile_offsets,
    sorted_by_share,
    tails_of,
    uncrossed,
)
from rhokit.estimators.outcomes import OutcomeEstimator
from rhokit.estimators.ranges import range_of, refuse_outside
from rhokit.estimators.supervised_choice import map_overlaps
from rhokit.estimators.tasks import Levels, Values
from rhokit.features import SoftmaxFeatures
from rhokit.validation import Interval, StrOptions

# Outcome weights below the square of this are left out: together they are less than
# 1e-10 of a row, which then has few outcomes instead of all.
_LEAST_ROOT = 1e-6
# Groups of similar targets, for the scaling.
_MOST_GROUPS = 10
# What leave-one-out chooses from: levels, and sharpness in units of their distance.
_LEVELS = (16, 32, 64)
_BETAS = (0.5, 1.0, 2.0, 4.0)


class QMRegressor(RegressorMixin, MultiOutputMixin, OutcomeEstimator):
    r"""Regression by measuring a joint state of inputs and targets (QMR).

    Targets become states over equally spaced levels (eq. phi_sm), and measuring the
    joint density matrix with a new input leaves a distribution over the levels
    (section 5.4 of the paper), the diagonal of :math:`\rho_Y(x)`:

    .. math:: p_j(x) \propto \phi(x)^\top \Big(\sum_i \psi_j(y_i)^2\,
              \phi(x_i)\phi(x_i)^\top\Big) \phi(x), \qquad
              \hat y(x) = \sum_j p_j(x)\, a_j

    with the levels :math:`a_j`. One density matrix per level is all that is kept; the
    Kronecker product is never formed. One pass, no optimiser; models add up, forget
    and learn from streams as all others do.

    Parameters
    ----------
    gamma : float or {"loo", "median", "scott", "silverman"}, default="loo"
        γ of the kernel :math:`e^{-\gamma\|x-y\|^2}`. ``"loo"`` takes scaling, map and
        γ with the smallest squared error on rows of a sample that are left out in
        turn, in closed form. A number is in the units of the (scaled) rows.
    n_components : int, default=1024
        Landmarks, or random features; the most points of a grid that ``"auto"`` takes.
    rank : int, float, "elbow", "loo" or None, default=None
        Keep so many eigenvectors of each level's matrix for prediction.
    feature_map, scale, missing :
        As for :class:`DMKDClassifier`; ``scale="within"`` whitens by the covariance
        of rows with similar targets.
    n_levels : int or "loo", default=32
        m, the number of levels of a target.
    beta : float or "loo", default="loo"
        Sharpness of the targets' states, for targets scaled to [0, 1]; ``"loo"``
        takes what gives the best distributions (mean quantile loss) to rows left out.
    bounds : array-like of shape (2,) or (2, t), optional
        Lowest and highest value of the targets, for streams; learned from the rows of
        :meth:`fit`, or of the first batch, without it. Values outside are an error.
    calibration : {"loo"} or None, default="loo"
        Correct quantiles and intervals by what they missed on rows left out of the
        model in turn (conformal prediction). A sample of at most 2,000 rows is kept
        for it.
    batch_size : int, optional
        Rows per block; chosen for speed without it.
    dtype : {"float32", "float64"}, optional
        Of the features; sums are always float64. None follows the rows.
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    levels_ : array of shape (m,), or (m, t) for several targets
    beta_ : float
    gamma_, feature_map_, scaling_, candidates_, state_ :
        As for :class:`DMKDClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(1000, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(0, 0.1 + 0.1 * np.abs(X[:, 0]))
    >>> model = QMRegressor(random_state=0).fit(X[:800], y[:800])
    >>> model.predict([[1.5]]).round(1)
    array([1.])
    >>> low, high = model.predict_interval(X[800:], coverage=0.9).T
    >>> bool(0.86 < np.mean((low <= y[800:]) & (y[800:] <= high)) < 0.94)
    True
    """

    _parameter_table: ClassVar = OutcomeEstimator._parameter_table | {
        "n_levels": [Interval(Integral, 2, None, closed="left"), StrOptions({"loo"})],
        "beta": [Interval(Real, 0, None, closed="neither"), StrOptions({"loo"})],
        "bounds": ["array-like", None],
        "calibration": [StrOptions({"loo"}), None],
    }

    def __init__(
        self,
        *,
        gamma="loo",
        n_components=1024,
        rank=None,
        feature_map="auto",
        scale="auto",
        n_levels=32,
        beta="loo",
        bounds=None,
        calibration="loo",
        missing="raise",
        batch_size=None,
        dtype=None,
        random_state=None,
    ):
        self.gamma = gamma
        self.n_components = n_components
        self.rank = rank
        self.feature_map = feature_map
        self.scale = scale
        self.n_levels = n_levels
        self.beta = beta
        self.bounds = bounds
        self.calibration = calibration
        self.missing = missing
        self.batch_size = batch_size
        self.dtype = dtype
        self.random_state = random_state

    # ---- answers -------------------------------------------------------------------

    def predict(self, X, return_std=False):
        """Mean of each row's distribution, shape (n,) or (n, t).

        With ``return_std``, also its standard deviation, of the same shape.
        """
        self._require_rows()
        rows = self._checked(X)
        if not return_std and self._rank() is None and not self._lacks(rows):
            return self._by_target(self._means(rows))
        distributions = self._read_out(self._log_measured(rows))
        moments = [mean_and_std(*each) for each in distributions]
        mean, std = (self._by_target(part) for part in zip(*moments, strict=True))
        return (mean, std) if return_std else mean

    def predict_distribution(self, X):
        """Probability of every level of ``levels_``, shape (n, m) or (n, t, m)."""
        return self._by_target([chances for chances, _ in self._distributions(X)])

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
        """Values below which the target lies with given probabilities.

        Parameters
        ----------
        X : array-like of shape (n, d)
        quantiles : array-like of shape (q,), in (0, 1)

        Returns
        -------
        values : array of shape (n, q) or (n, t, q)
            Never falling as the probability rises.
        """
        wanted = self._checked_shares("quantiles", quantiles)
        offsets = self._quantile_offsets(wanted)
        found = self._moved(self._distributions(X), wanted, offsets)
        return self._by_target([sorted_by_share(part, wanted) for part in found])

    def predict_interval(self, X, coverage=0.9):
        """Interval that holds the target with a given probability.

        Between two quantiles of each row's distribution, widened or narrowed by what
        such intervals missed on rows left out of the model: over many rows, the share
        of targets inside is ``coverage``.

        Parameters
        ----------
        X : array-like of shape (n, d)
        coverage : float or array-like of shape (c,), default=0.9
            Several together cost little more than one.

        Returns
        -------
        interval : array of shape (n, 2) or (n, t, 2); of several, (..., c, 2)
        """
        wanted = self._checked_shares("coverage", coverage)
        distributions = self._distributions(X)
        found = [self._intervals(distributions, each) for each in wanted]
        if np.ndim(coverage) == 0:
            return self._by_target(found[0])
        return self._by_target(
            [np.stack(part, axis=1) for part in zip(*found, strict=True)]
        )

    @property
    def levels_(self):
        """The levels in the units of the targets."""
        levels = np.column_stack([m.landmarks_[:, 0] for m in self.output_maps_])
        return levels[:, 0] if self._one_target else levels

    # ---- targets -------------------------------------------------------------------

    def _check_target(self, y, rows, weights, *, reset):
        self._require_target(y)
        target = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(rows, target)
        flat, target = target.ndim == 1, target.reshape(len(target), -1)
        if reset:
            self._one_target = flat
            seen = target if weights is None else target[weights > 0]
            self._low, self._high = range_of(self._with_foreseen(seen), self.bounds)
        elif target.shape[1] != len(self._low):
            raise ValueError(
                f"y must have {len(self._low)} targets, as before, got "
                f"{target.shape[1]}"
            )
        names = ["y"] if self._one_target else None
        refuse_outside(target, self._low, self._high, weights, names)
        return target

    def _with_foreseen(self, target):
        """Targets (n, t) and those that were announced."""
        foreseen = getattr(self, "_foreseen", None)
        if foreseen is None:
            return target
        return np.concatenate(
            [target, np.asarray(foreseen, dtype=float).reshape(-1, target.shape[1])]
        )

    _open_sums = 16  # a value belongs to several levels

    def _n_outcomes(self):
        if hasattr(self, "output_maps_"):
            return self.n_levels_ * len(self.output_maps_)
        return max(_LEVELS) if self.n_levels == "loo" else self.n_levels

    def _essential_targets(self, y):
        return np.stack([np.min(y, axis=0), np.max(y, axis=0)])

    def _groups(self, target, weights):
        """Groups of about equal weight with similar first targets."""
        first = target[:, 0]
        levels = np.arange(1, _MOST_GROUPS) / _MOST_GROUPS
        inner = np.quantile(first, levels, weights=weights, method="inverted_cdf")
        return np.searchsorted(np.unique(inner), first, side="right")

    def _task(self, target, weights):
        return Values(target, weights)

    def _plan_readout(self, loo, sample):
        """Choose the levels' number and sharpness; make the maps of the targets."""
        counts = _LEVELS if self.n_levels == "loo" else (self.n_levels,)
        sharps = _BETAS if self.beta == "loo" else (None,)
        options = [
            (m, float(self.beta) if sharp is None else sharp * (m - 1) ** 2)
            for m in counts
            for sharp in sharps
        ]
        if len(options) > 1:
            losses = self._quantile_losses(loo, sample, options)
            options = [options[int(np.argmin(losses))]]
        self.n_levels_, self.beta_ = options[0]
        self.output_maps_ = self._output_maps(*options[0])

    def _output_maps(self, n_levels, beta):
        """One map per target."""
        maps = [
            SoftmaxFeatures(n_components=n_levels, beta=beta, bounds=[[low], [high]])
            for low, high in zip(self._low, self._high, strict=True)
        ]
        return [each.fit([[low]]) for each, low in zip(maps, self._low, strict=True)]

    def _quantile_losses(self, loo, sample, options):
        """Mean loss of quantiles predicted for rows left out, for each option."""
        tasks = [Levels(self._output_maps(*option)) for option in options]
        probes = loo.probes()
        overlaps = map_overlaps(self.feature_map_, sample, probes)
        evidence = [loo.evidence(task.evidence) for task in tasks]
        gathered = loo.gather(overlaps, probes, np.concatenate(evidence, axis=1))
        stops = np.cumsum([part.shape[1] for part in evidence])[:-1]
        which, target, weight = loo.members(probes)
        return [
            task.quantile_loss(part[which], target, weight)
            for task, part in zip(tasks, np.split(gathered, stops, axis=1), strict=True)
        ]

    def _restore(self):
        super()._restore()
        self.output_maps_ = self._output_maps(self.n_levels_, self.beta_)

    def _rank_task(self, loo):
        return Levels(self.output_maps_)

    # ---- what is summed and measured -----------------------------------------------

    def _sum(self, rows, weights, target):
        """Sums of every target's levels, one after the other."""
        parts = [
            self._sum_outcomes(
                rows,
                weights,
                lambda which, column=column: self._roots(target[which], column),
                np.argsort(target[:, column], kind="stable"),
                self.n_levels_,
            )
            for column in range(target.shape[1])
        ]
        if len(parts) == 1:
            return parts[0]
        total = np.concatenate([part.total for part in parts])
        weight = np.concatenate([part.weight for part in parts])
        return replace(parts[0], total=total, weight=weight)

    def _roots(self, target, column):
        """Square roots of the outcome weights of one target, shape (n, m)."""
        roots = self.output_maps_[column].states(target[:, column : column + 1])
        return np.where(roots > _LEAST_ROOT, roots, 0)

    def _sample_roots(self, sample):
        columns = range(sample.target.shape[1])
        return np.concatenate([self._roots(sample.target, c) for c in columns], axis=1)

    def _log_shares(self, weight):
        """Of the first target's levels, which make up all rows."""
        mine = np.arange(weight.shape[-1]) < self.n_levels_
        mass = np.where(mine, weight, 0)
        return safe_log(mass / mass.sum(axis=-1, keepdims=True))

    def _drawn(self):
        bounds = self._low.tolist(), self._high.tolist()
        return f"{bounds} {self.n_levels_} {self.beta_}"

    def _distributions(self, X):
        """Pairs of probabilities (n, m) and levels (m,), one per target."""
        self._require_rows()
        return self._read_out(self._log_measured(self._checked(X)))

    def _means(self, rows):
        """Means without distributions: two measurements instead of one per level.

        The mean is a ratio of two sums over levels, and sums of density matrices are
        density matrices.
        """
        measure = self._cache.get("means", None, self._prepare_means)

        def use(worker, which, columns, log_scale):
            return measure(columns).astype(np.float64)

        blocks = self._for_blocks(rows, use, relative=True, stretch=2)
        total, *moments = np.concatenate(blocks).T
        seen = total > 0
        safe = np.where(seen, total, 1)
        means = []
        for part, low, high, moment in zip(
            self._parts(), self._low, self._high, moments, strict=True
        ):
            mass = self.state_.weight[part]
            prior = mass @ self._positions() / mass.sum()
            share = np.clip(np.where(seen, moment / safe, prior), 0, 1)
            means.append(low + (high - low) * share)
        return means

    def _prepare_means(self):
        n_outcomes = self.state_.n_outcomes
        shares = np.zeros((1 + len(self._parts()), n_outcomes))
        shares[0, self._parts()[0]] = 1
        for row, part in zip(shares[1:], self._parts(), strict=True):
            row[part] = self._positions()
        sums = self.state_.mix(shares)
        size = np.full(len(shares), sums.weight[0])  # all in units of the total
        return self._measure_states([replace(sums, weight=size)], None).born

    def _positions(self):
        """The levels as parts of the range, shape (m,)."""
        return np.linspace(0, 1, self.n_levels_)

    def _parts(self):
        """Which outcomes belong to each target."""
        m = self.n_levels_
        starts = range(0, len(self.output_maps_) * m, m)
        return [slice(start, start + m) for start in starts]

    def _read_out(self, logs):
        """Distributions from measured logarithms (n, t·m)."""
        pairs = []
        for part, output in zip(self._parts(), self.output_maps_, strict=True):
            priors = safe_log(self.state_.weight[part])
            chances = np.exp(log_posterior(logs[:, part], priors))
            pairs.append((chances, output.landmarks_[:, 0]))
        return pairs

    def _raw_quantiles(self, distributions, wanted):
        return [quantiles(*pair, wanted) for pair in distributions]

    def _intervals(self, distributions, coverage):
        """Intervals (n, 2) of every target."""
        offsets = self._interval_offsets(coverage)
        found = self._moved(distributions, tails_of(coverage), offsets)
        return [uncrossed(ends) for ends in found]

    def _moved(self, distributions, wanted, offsets):
        """Quantiles (n, q) of every target, moved by offsets (q,) of its own."""
        raw = self._raw_quantiles(distributions, wanted)
        return [values + offset for values, offset in zip(raw, offsets, strict=True)]

    def _quantile_offsets(self, shares):
        """What quantiles of rows left out missed, (q,) of every target."""
        return self._offsets(shares, quantile_offsets, shares)

    def _interval_offsets(self, coverage):
        """The same of intervals, (2,) of every target."""
        return self._offsets(tails_of(coverage), interval_offsets, coverage)

    def _offsets(self, wanted, offsets_of, share):
        if self.calibration is None:
            return [np.zeros(len(wanted))] * len(self.output_maps_)
        known = self._cache.get("left out", self._rank(), self._left_out_sample)
        left_out = self._raw_quantiles(known, wanted)
        truths, weight = self.sample_.target.T, self.sample_.weight
        return [
            offsets_of(left, truth, weight, share)
            for left, truth in zip(left_out, truths, strict=True)
        ]

    def _left_out_sample(self):
        sample = self.sample_
        if sample is None:
            raise ValueError(
                "The 'calibration' parameter was set after the model had seen its "
                "rows: set it before fit"
            )
        if not len(sample.weight):
            raise ValueError(
                "calibration: all rows that were kept for it have been unlearned; set "
                "calibration=None, or add rows"
            )
        roots = self._sample_roots(sample)
        return self._read_out(self._log_left_out(sample, roots))

    def _needs_sample(self):
        return self.calibration is not None

    def _by_target(self, parts):
        """Results of each target, as one array; of one target, without its axis."""
        return parts[0] if self._one_target else np.stack(parts, axis=1)

    def _checked_shares(self, name, shares):
        self._require_rows()
        values = np.atleast_1d(np.asarray(shares, dtype=float))
        inside = (values > 0) & (values < 1)
        if values.ndim != 1 or not values.size or not inside.all():
            raise ValueError(f"{name} must lie between 0 and 1, got {shares!r}")
        return values
