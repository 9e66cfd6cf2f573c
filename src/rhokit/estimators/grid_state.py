"""States that are Fourier series: how they are summed up, measured and reboxed."""

import warnings
from copy import copy

import numpy as np

from rhokit.core import ToeplitzDensityMatrix
from rhokit.estimators.base import StateEstimator
from rhokit.features import GridFeatures
from rhokit.validation import level_of_the_user


class GridState(StateEstimator):
    """An estimator whose state may be a Fourier series over a box.

    The box widens when rows come that it does not hold, and models with different
    boxes are brought to a common one before they are merged.
    """

    _on_grid = True

    def _takes_grids(self):
        return self._on_grid and self.rank is None

    def _has_grid(self):
        return isinstance(getattr(self, "feature_map_", None), GridFeatures)

    def _noise(self):
        """Error of a measured value: what is smaller says nothing."""
        return self.feature_map_.series_tol_ if self._has_grid() else 0.0

    def _least_measured(self):
        """What is smaller counts as zero."""
        return 0.0

    def _make_room(self, rows, weights):
        """Widen the box for rows that it does not hold, or refuse them."""
        if not (self._has_grid() and self.feature_map_.outside == "widen"):
            super()._make_room(rows, weights)
            return
        seen = self._apply_scaling(rows if weights is None else rows[weights > 0])
        feature_map = self.feature_map_
        if feature_map.holds(seen):
            return
        wider = feature_map.widened_for(seen)
        self._warn_of(feature_map, wider, feature_map.n_outside(seen), len(seen))
        self._move_to(wider)

    def _warn_of(self, old, new, n_outside, n_rows):
        before, after = ((m.low_, m.high_) for m in (old, new))
        units = " (in scaled units)"
        if self.scaling_.matrix.ndim == 1:
            before, after = self.scaling_.invert(before), self.scaling_.invert(after)
            units = ""
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        changes = [
            f"column {name!r} from [{a:.4g}, {b:.4g}] to [{c:.4g}, {d:.4g}]"
            for name, a, b, c, d in zip(names, *before, *after, strict=True)
            if (a, b) != (c, d)
        ]
        warnings.warn(
            f"{n_outside} of {n_rows} rows lie outside the box of this "
            f"{type(self).__name__}'s grid, which was widened for "
            f"{' and '.join(changes)}{units}. To choose the box beforehand, or to "
            "refuse such rows, give feature_map=GridFeatures(bounds=..., "
            'outside="refuse")',
            UserWarning,
            stacklevel=level_of_the_user(),
        )

    def _move_to(self, feature_map):
        """Hold the same density over another box."""
        old, state = self.feature_map_, self.state_
        self.feature_map_ = feature_map
        if state is not None:
            self._set_state(feature_map.state_from(state, old))

    def _share_box(self, other):
        """The other model, once both have a box that holds either's."""
        if not self._has_grid():
            return other
        mine, yours = self.feature_map_, other.feature_map_
        if mine.has_box_of(yours):
            return other
        common = mine.widened(yours.low_, yours.high_)
        if not common.has_box_of(mine):
            self._move_to(common)
        if not common.has_box_of(yours):
            other = copy(other)
            other._move_to(common)
        return other

    def _take_up(self, other):
        super()._take_up(self._share_box(other))

    def _give_back(self, other):
        super()._give_back(self._share_box(other))

    def _sum_on_grid(self, rows, weights, roots_of, order, n_outcomes):
        """Sum rows up per outcome: see :meth:`MatrixState._sum_outcomes`."""
        sums = self.feature_map_.sums(n_outcomes)

        def use(worker, which, columns, log_scale):
            own = np.ones(1) if weights is None else weights[which]
            if roots_of is None:
                mass = np.broadcast_to(own[:, None], (len(columns), 1))
            else:
                mass = own[:, None] * roots_of(which) ** 2
            sums.add(worker, columns, mass)
            return mass.sum(axis=0)

        masses = self._for_blocks(rows, use, order=order)
        return ToeplitzDensityMatrix(sums.total(), np.sum(masses, axis=0))

    def _series_of(self, states, rank):
        """What measures angles with the outcomes of states, one by one."""
        if rank is not None:
            raise ValueError(
                f"The 'rank' parameter of {type(self).__name__} must be None for a "
                f"model on a grid, which keeps no matrix. Got {rank!r} instead: set it "
                'before fit, or take feature_map="quadrature"'
            )
        means = np.concatenate([state.normalized() for state in states])
        return self.feature_map_.series(means, self._least_measured())

    def _with_matrix(self):
        """A copy whose state is a matrix, for what needs one."""
        other = copy(self)
        if self._has_grid():
            other._on_grid = False
            other.feature_map_ = self.feature_map_.dense()
            other._set_state(self.feature_map_.to_dense(self.state_))
        return other
