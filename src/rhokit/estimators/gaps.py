"""Answers from some of the columns: marginal models, and rows that lack values."""

from numbers import Integral

import numpy as np

from rhokit.estimators.base import StateEstimator
from rhokit.estimators.marginals import (
    knowing,
    log_norm_knowing,
    marginal_of,
    total_mass,
)
from rhokit.features import LandmarkFeatures

# Marginal models that are kept for rows that lack the same columns.
_MOST_KEPT = 16


class GapAnswers(StateEstimator):
    """An estimator that can leave columns out, in closed form."""

    def marginal(self, columns):
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
        >>> DMKDE(random_state=0).fit(X).marginal(1).mean().round(1)
        array([5.])
        >>> X = np.random.default_rng(0).normal([0, 0, 0, 5], size=(500, 4))
        >>> model = DMKDE(gamma=2.0, random_state=0).fit(X)  # landmarks: all rows
        >>> alone = DMKDE(gamma=2.0).fit(X[:, [3]])
        >>> np.abs(model.marginal(3).density([[5.0]]) - alone.density([[5.0]])) < 1e-9
        array([ True])
        """
        return marginal_of(self, sorted(self._places("columns", columns)))

    def _places(self, name, columns):
        """Places of columns that are given by place or by name."""
        self._require_rows()
        many = np.iterable(columns) and not isinstance(columns, str)
        wanted = list(columns) if many else [columns]
        names = list(getattr(self, "feature_names_in_", []))
        places = [names.index(c) if c in names else c for c in wanted]
        d = self.n_features_in_
        known = [
            isinstance(p, Integral) and not isinstance(p, bool) and 0 <= p < d
            for p in places
        ]
        if not places or not all(known) or len(set(places)) < len(places):
            which = names or f"0 to {d - 1}"
            raise ValueError(
                f"{name} must name different columns of this model ({which}), got "
                f"{columns!r}"
            )
        return [int(place) for place in places]

    # ---- rows that lack values -------------------------------------------------------

    def _log_measured(self, rows):
        whole = super()._log_measured

        def answer(model, part):
            return whole(part) if model is self else model._log_measured(part)

        return self._by_gaps(rows, answer)

    def _log_norm_of(self, rows):
        """What turns logarithms of rows into log-densities, for all or each of them."""
        if not self._lacks(rows):
            return self._log_norm()
        known = ~np.isnan(rows[:, self._column_starts()])  # (n, d)
        patterns, which = np.unique(known, axis=0, return_inverse=True)
        kept = (np.flatnonzero(pattern).tolist() for pattern in patterns)
        return np.array([log_norm_knowing(self, each) for each in kept])[which.ravel()]

    def _log_norm(self):
        return super()._log_norm() - self._log_excess()

    def _log_excess(self):
        """What the density integrates to more than one, as a logarithm.

        Ordered categories at either end have less kernel about them than others.
        """
        has_order = self.schema_ is not None and self.schema_.has_order
        is_known = isinstance(self.feature_map_, LandmarkFeatures) and self.state_
        if not (has_order and is_known):
            return 0.0
        return self._cache.get("excess", self._rank(), self._compute_excess)

    def _compute_excess(self):
        weight = self.state_.weight
        return float(np.log(weight @ total_mass(self) / weight.sum()))

    def _lacks(self, rows):
        return self._may_miss() and bool(np.isnan(rows).any())

    def _by_gaps(self, rows, answer):
        """``answer(model, rows)`` of rows that lack the same, with a model of the rest.

        Parameters
        ----------
        rows : array of shape (n, d)
            Checked rows, NaN where a value is missing.
        answer : callable
            From this model, or what answers from some of its columns, and rows of
            these (k, ...), to an array (k, ...).
        """
        if not self._lacks(rows):
            return answer(self, rows)
        starts, places = self._column_starts(), np.arange(rows.shape[1])
        column_of = np.searchsorted(starts, places, side="right") - 1
        known = ~np.isnan(rows[:, starts])  # (n, d)
        patterns, which = np.unique(known, axis=0, return_inverse=True)
        results = None
        for index, pattern in enumerate(patterns):
            mine = np.flatnonzero(which.ravel() == index)
            part = answer(
                self._knowing(pattern), rows[np.ix_(mine, pattern[column_of])]
            )
            if results is None:
                results = np.empty((len(rows), *part.shape[1:]), part.dtype)
            results[mine] = part
        return results

    def _column_starts(self):
        """Where each column begins in a wide row."""
        if self.schema_ is None:
            return np.arange(self.n_features_in_)
        return np.array([block.start for block in self.schema_.blocks])

    def _knowing(self, pattern):
        """What answers from the columns that are known, (d,) of bool."""
        if pattern.all():
            return self
        kept = np.flatnonzero(pattern).tolist()
        return self._cache.get_among(
            "marginals",
            (self._rank(), *kept),
            lambda: knowing(self, kept),
            _MOST_KEPT,
        )
