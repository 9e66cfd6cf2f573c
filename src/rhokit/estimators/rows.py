"""Rows of an estimator: checked, scaled, and told apart by what they lack."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator

from rhokit.estimators.choice import check_map
from rhokit.features import FeatureMap
from rhokit.frames import check_table
from rhokit.validation import (
    check_float_dtype,
    check_parameters,
    check_weights,
    level_of_the_user,
)


class RowChecks(BaseEstimator):
    """What an estimator knows of its rows.

    Rows come as arrays or frames. Inside they are arrays of numbers, *wide* where
    columns of categories have several numbers each (see :mod:`rhokit.frames`).
    """

    schema_ = None

    def _check(self, X, y, sample_weight, *, reset):
        """Parameters, rows, weights and targets, checked; rows with gaps left out."""
        check_parameters(self, self._parameter_table)
        check_map(self.feature_map, self._takes_grids())
        rows = check_table(
            self,
            X,
            reset=reset,
            dtype=self._row_dtype(),
            numeric=self._numeric_rows(),
            may_miss=self._may_miss(),
        )
        weights = check_weights(sample_weight, len(rows))
        if self.schema_ is not None and reset:
            self._refuse_maps_of_numbers()
        target = self._check_target(y, rows, weights, reset=reset)
        return self._whole(rows, weights, target)

    def _may_miss(self):
        """Whether values may be missing."""
        return getattr(self, "missing", "raise") == "integrate"

    def _whole(self, rows, weights, target):
        """The rows that lack nothing, which are those that can be learned from."""
        if not self._may_miss():
            return rows, weights, target
        whole = ~np.isnan(rows).any(axis=1)
        if whole.all():
            return rows, weights, target
        if not whole.any():
            raise ValueError(
                f"{type(self).__name__} learns from rows without gaps, but each of the "
                f"{len(rows)} rows lacks a value: fill some"
            )
        warnings.warn(
            f"{int((~whole).sum())} of {len(rows)} rows lack a value and were left "
            f"out: {type(self).__name__} integrates over what is missing when it "
            "predicts, and learns from whole rows",
            UserWarning,
            stacklevel=level_of_the_user(),
        )
        parts = rows, weights, target
        return tuple(None if part is None else part[whole] for part in parts)

    def _refuse_gaps(self, rows, what="leave_one_out"):
        """For what is asked of rows that lack nothing."""
        gaps = int(np.isnan(rows).any(axis=1).sum())
        if gaps:
            raise ValueError(
                f"{what} is for rows without gaps, as the model learned from: "
                f"{gaps} here lack a value"
            )

    def _refuse_maps_of_numbers(self):
        """Not every map takes categories beside numbers."""
        wanted = self.feature_map
        takes = (
            wanted.mixes
            if isinstance(wanted, FeatureMap)
            else wanted not in ("grid", "quadrature")
        )
        if not takes:
            names = [self.schema_.names[i] for i in self.schema_.category_columns()]
            raise ValueError(
                f"The 'feature_map' parameter must be 'auto', 'landmarks' or 'fourier' "
                f"for columns of categories, of which there are {names}. Got "
                f"{wanted!r} instead."
            )

    def _row_dtype(self):
        if hasattr(self, "feature_map_"):
            return self.feature_map_.dtype_
        return check_float_dtype(type(self).__name__, self.dtype)

    def _numeric_rows(self):
        return not isinstance(self.feature_map, FeatureMap) or (
            self.feature_map.numeric_rows
        )

    def _width(self):
        """Numbers of a row as it is worked on."""
        return self.n_features_in_ if self.schema_ is None else self.schema_.width

    def _is_number(self):
        """Which numbers of a row are no part of a category; None for all."""
        return None if self.schema_ is None else self.schema_.is_number

    def _checked(self, X):
        """Rows of a fitted model's columns."""
        feature_map = self.feature_map_
        return check_table(
            self,
            X,
            reset=False,
            dtype=feature_map.dtype_,
            numeric=feature_map.numeric_rows,
            may_miss=self._may_miss(),
        )

    def _scaled(self, X):
        """The same, in the map's units."""
        return self._apply_scaling(self._checked(X))

    def _apply_scaling(self, rows):
        return self.scaling_.apply(rows) if self.feature_map_.numeric_rows else rows

    def _scale_rule(self):
        automatic = isinstance(self.scale, str) and self.scale == "auto"
        if self._numeric_rows():
            rule = "std" if isinstance(self.gamma, str) else None
            return rule if automatic else self.scale
        if automatic or self.scale is None:
            return None
        raise ValueError("The 'scale' parameter must be None for categories.")

    def _is_gaussian(self):
        """Whether the map has a γ to choose."""
        return isinstance(self.feature_map, str) or (
            "gamma" in self.feature_map.get_params()
        )

    def _refuse_outsiders(self, rows, weights):
        if not self.feature_map_.has_outsiders:
            return
        seen = rows if weights is None else rows[weights > 0]
        self.feature_map_.refuse_outsiders(self._apply_scaling(seen))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._may_miss()
        tags.input_tags.categorical = self._numeric_rows()
        return tags
