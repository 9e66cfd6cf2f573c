"""A model in use, the slow model beside it, and what must hold of the two."""

from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rhokit.testing.comparisons import (
    SMOOTH,
    answers_of,
    assert_same_answers,
    assert_same_sample,
    assert_same_state,
)
from tests.soak.all_rows import AllRows

# Where so little is left of what was there, rounding may be as large as the rest.
MOST_CANCELLED = 1e4
# The part of what a row measures that others must have, to be known to six digits.
LONELY = 1e-9
FEW_SAMPLED = 40


@dataclass
class World:
    """A model in use and the slow model beside it.

    Parameters
    ----------
    case : EstimatorCase
    empty : estimator
        Prepared, without rows: the plan of both models.
    folder : path
        For files.
    model : estimator
    truth : AllRows
    parts : list of (estimator, AllRows)
        Models that were merged, and may be taken out again.
    crowded : bool
        Whether the sample of rows once had no more room.
    loose : bool
        Whether rows were taken out of a sample that had been crowded.
    uneven : bool
        Whether it faded then, so that rows left it whatever their keys were, or began
        anew.
    """

    case: Any
    empty: Any
    folder: Path
    model: Any
    truth: AllRows
    parts: list[Any] = field(default_factory=list)
    crowded: bool = False
    loose: bool = False
    uneven: bool = False
    n_rows: int = 0

    @classmethod
    def of(cls, case, folder, rng):
        """A world without rows; some have little room for sampled ones.

        Some classifiers do not know yet which labels will come.
        """
        empty = prepared_for_few(case) if rng.random() < 0.4 else case.prepared()
        if rng.random() < 0.4:
            model = empty.prepared_model()
            plan = replace(model.plan, sample_rows=FEW_SAMPLED)
            empty = empty.with_model(replace(model, plan=plan))
        world = cls(case, empty, Path(folder), empty.blank(), None)
        world.truth = replace(world.batch(1, rng).only([]), peak=0.0)
        return world

    def batch(self, n, rng):
        """New rows of random weights, of which some are alike."""
        rows, target = self.case.data(n, int(rng.integers(2**31)))
        kind = rng.integers(3)
        weights = [np.ones(n), rng.integers(1, 4, n) / 1.0, rng.uniform(0.1, 2, n)]
        ids = np.arange(self.n_rows, self.n_rows + n)
        self.n_rows += n
        chosen = weights[kind]
        return AllRows(rows, target, chosen, ids, float(chosen.sum()))

    def queries(self, rng):
        """Rows to be asked for, which may lack values where that is allowed."""
        rows = self.case.rows(int(rng.integers(1, 30)), int(rng.integers(2**31)))
        if getattr(self.case.estimator, "missing", "raise") == "integrate":
            rows[rng.random(rows.shape) < 0.2] = np.nan
        return rows

    def fitted(self, rows, empty=None):
        """A fresh fit of the same plan to some rows."""
        empty = self.empty if empty is None else empty
        return empty.blank().partial_fit(*rows.data(), sample_weight=rows.weights)

    def expected(self, rows=None):
        """A fresh fit to all rows that count, with a place for every label so far."""
        known = self.empty.prepared_model().with_outcomes(self.model.readout_)
        rows = self.truth if rows is None else rows
        return self.fitted(rows, self.empty.with_model(known))

    # ---- what changes the sample -----------------------------------------------------

    def noticed(self, lost=False, faded=False):
        """Keep in mind whether the sample of rows has lost any for want of room."""
        sample = self.model.sample_
        if sample is not None:
            self.loose = self.loose or ((lost or faded) and self.crowded)
            anew = not len(sample.keys)
            self.uneven = self.uneven or (self.loose and (faded or anew))
            self.crowded = self.crowded or len(sample.keys) >= sample.size

    # ---- what must hold --------------------------------------------------------------

    def check(self, rng):
        """Compare the model with a fresh fit of all rows that count."""
        queries = self.queries(rng)
        if not len(self.truth):
            with pytest.raises(NotFittedError):
                self.model.score_samples(queries)
            return
        expected = self.expected()
        state, answers = self.tolerances(expected)
        assert self.model.fingerprint() == expected.fingerprint()
        assert_allclose(
            self.model.state_.weight,
            expected.state_.weight,
            rtol=1e-9,
            atol=1e-9 * self.truth.peak,
        )
        assert_same_state(self.model.state_, expected.state_, state)
        self.check_sample(expected)
        if answers < MOST_CANCELLED * self.case.tolerance:
            loose = self.loose or self.has_a_lonely_row()
            found, wanted = (
                self.asked(each, queries, loose) for each in (self.model, expected)
            )
            assert_same_answers(found, wanted, answers)

    def has_a_lonely_row(self):
        """Whether little but rounding is left of a sampled row that is left out."""
        model = self.model.fitted_model()
        if not hasattr(model.sample, "rows"):
            return False
        whole = model.log_measured(model.sample.rows).max(axis=1, initial=-np.inf)
        left = model.log_left_out(model.sample).max(axis=1, initial=-np.inf)
        return bool((left < whole + np.log(LONELY)).any())

    def tolerances(self, expected):
        """Promised errors of states, and of answers."""
        case, truth = self.case, self.truth
        if not truth.forgot:
            return case.state_tolerance, case.tolerance
        weight = np.asarray(expected.state_.weight)
        smallest = weight[weight > 0].min()
        return (
            100 * case.state_tolerance * max(1, truth.peak / truth.total),
            case.unlearned_tolerance * max(1, truth.peak / smallest),
        )

    def check_sample(self, expected):
        """Equal samples; or all rows below a bound, once rows had to make room."""
        if not self.loose or expected.sample_ is None:
            assert_same_sample(self.model.sample_, expected.sample_)
            return
        whole, found = self.whole_sample(), self.model.sample_
        if not self.uneven:
            assert_same_sample(found, whole.below(found.bound))
            return
        place = np.searchsorted(whole.keys, found.keys).clip(max=len(whole.keys) - 1)
        assert_array_equal(whole.keys[place], found.keys, "rows that are forgotten")
        assert (found.weight <= whole.weight[place] * (1 + 1e-6)).all()

    def whole_sample(self):
        """All rows that count, as a sample of a model that has room for them."""
        model = self.empty.prepared_model()
        plan = replace(model.plan, sample_rows=10**9)
        roomy = self.empty.with_model(replace(model, plan=plan))
        return self.fitted(self.truth, roomy).sample_

    def asked(self, model, queries, loose=None):
        """Answers that are promised, by the name of the method."""
        if not (self.loose if loose is None else loose):
            return answers_of(model, queries)
        copied = copy(model)
        of_sample = {"predict_interval"}
        if copied.readout_.name == "located":  # whose residuals are those of the sample
            of_sample.add("predict_distribution")
        if (
            copied.readout_.name == "outliers"
        ):  # whose p-values are shares of the sample
            of_sample.add("score_samples")
        names = [n for n in SMOOTH if n not in of_sample and hasattr(copied, n)]
        return {name: as_array(getattr(copied, name)(queries)) for name in names}

    def beside(self, model, truth, **changes):
        """Another model of the same plan, with all its rows."""
        return replace(self, model=model, truth=truth, **changes)

    def snapshot(self):
        """An estimator that nothing changes any more."""
        return self.model.with_model(self.model.prepared_model())


def prepared_for_few(case):
    """A plan that knows two labels, of a classifier."""
    rows, target = case.data(60, 1)
    if not case.has("predict_proba"):
        return case.prepared()
    labels, codes = np.unique(target, return_inverse=True)
    few = np.where(codes < 2, target, labels[0])
    return clone(case.estimator).prepare(rows, few)


def as_array(answer):
    """One array; several targets answer with one each."""
    if isinstance(answer, list | tuple):
        return np.concatenate([np.ravel(part) for part in answer])
    return np.asarray(answer)
