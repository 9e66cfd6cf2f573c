"""Laws that states obey on any data, any split and any array namespace."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rhokit.core import DensityMatrix, FeatureMean, leave_one_out, partial_trace
from tests.reference import core_oracles as oracle
from tests.support import (
    TOLERANCE,
    assert_close,
    assert_same_state,
    at_most,
    random_array,
    random_states,
    row_sets,
    to_numpy,
    unit,
    weighted_sets,
)

# Each law is tried with three namespaces and two kinds of states.
few = settings(max_examples=10)
every_kind = pytest.mark.parametrize("kind", [DensityMatrix, FeatureMean])


def build(kind, xp, states, outcomes=None):
    if outcomes is not None:
        outcomes = xp.asarray(outcomes)
    return kind.from_states(xp.asarray(states), outcomes)


def measure(state, states):
    return (
        state.overlap(states) if isinstance(state, FeatureMean) else state.born(states)
    )


def draw_parts(data, n, n_parts=3):
    """For each row the number of its part; parts may be empty."""
    return data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, n_parts - 1)))


def basis_for(states, seed=0):
    """A basis that changes the dimension, complex where the states are."""
    rng = np.random.default_rng(seed)
    return random_array(rng, (states.shape[1], 3), states.dtype.name)


class TestSums:
    """What holds for every state that is a sum over rows."""

    @every_kind
    @few
    @given(rows=weighted_sets(), data=st.data())
    def test_any_split_in_any_order_equals_all_at_once(self, kind, xp, rows, data):
        states, outcomes = rows
        part_of = draw_parts(data, len(states))
        order = data.draw(st.permutations(range(3)))
        parts = [
            build(kind, xp, states[part_of == p], outcomes[part_of == p]) for p in order
        ]
        whole = build(kind, xp, states, outcomes)
        assert_same_state(reduce(add, parts), whole)
        assert_same_state(sum(parts), whole)
        assert_same_state(parts[0] + (parts[1] + parts[2]), whole)

    @every_kind
    @few
    @given(rows=weighted_sets(), data=st.data())
    def test_the_order_of_rows_does_not_matter(self, kind, xp, rows, data):
        states, outcomes = rows
        order = data.draw(st.permutations(range(len(states))))
        shuffled = build(kind, xp, states[order], outcomes[order])
        assert_same_state(shuffled, build(kind, xp, states, outcomes))

    @every_kind
    @few
    @given(rows=weighted_sets(), data=st.data())
    def test_forgotten_is_never_seen(self, kind, xp, rows, data):
        states, outcomes = rows
        gone = draw_parts(data, len(states), 2) == 1
        whole = build(kind, xp, states, outcomes)
        left = whole - build(kind, xp, states[gone], outcomes[gone])
        never = build(kind, xp, states[~gone], outcomes[~gone])
        assert_same_state(left, never, "solve")
        assert_close(left.normalized(), never.normalized(), "solve")

    @every_kind
    @few
    @given(rows=weighted_sets())
    def test_forgetting_everything_leaves_nothing(self, kind, xp, rows):
        states, outcomes = rows
        # Forgotten row by row, so that rounding need not cancel by itself.
        left = build(kind, xp, states, outcomes)
        for i in range(len(states)):
            left = left - build(kind, xp, states[i : i + 1], outcomes[i : i + 1])
        assert not to_numpy(left.weight).any()
        assert not to_numpy(measure(left, xp.asarray(states))).any()

    @every_kind
    @few
    @given(states=row_sets(), data=st.data())
    def test_weight_k_is_k_copies(self, kind, xp, states, data):
        counts = data.draw(
            hnp.arrays(np.int64, len(states), elements=st.integers(0, 4))
        )
        weighted = build(kind, xp, states, counts[:, None].astype(float))
        assert_same_state(weighted, build(kind, xp, np.repeat(states, counts, axis=0)))

    @every_kind
    @few
    @given(rows=weighted_sets(max_outcomes=1))
    def test_rows_of_weight_zero_are_absent(self, kind, xp, rows):
        states, outcomes = rows
        seen = outcomes[:, 0] > 0
        assert_same_state(
            build(kind, xp, states, outcomes),
            build(kind, xp, states[seen], outcomes[seen]),
        )

    @every_kind
    @few
    @given(rows=weighted_sets(), factor=st.floats(0.01, 100))
    def test_scale_is_linear_and_leaves_the_mean(self, kind, xp, rows, factor):
        states, outcomes = rows
        state = build(kind, xp, states, outcomes)
        scaled = state.scale(factor)
        assert_same_state(scaled, build(kind, xp, states, factor * outcomes))
        assert_same_state((state + state).scale(factor), scaled + scaled)
        assert_close(scaled.normalized(), state.normalized())

    @every_kind
    @few
    @given(states=row_sets(), data=st.data())
    def test_onehot_outcomes_are_sums_per_class(self, kind, xp, states, data):
        labels = draw_parts(data, len(states))
        together = build(kind, xp, states, np.eye(3)[labels])
        for k in range(3):
            alone = build(kind, xp, states[labels == k])
            assert_close(together.total[k, ...], alone.total[0, ...])
            assert_close(together.weight[k], alone.weight[0])

    @every_kind
    @few
    @given(rows=weighted_sets())
    def test_change_of_basis_is_the_basis_applied_to_each_row(self, kind, xp, rows):
        states, outcomes = rows
        basis = basis_for(states)
        changed = build(kind, xp, states, outcomes).change_basis(xp.asarray(basis))
        assert_same_state(changed, build(kind, xp, states @ basis, outcomes))

    @every_kind
    @few
    @given(rows=weighted_sets(max_outcomes=1))
    def test_leave_one_out_is_the_state_rebuilt_without_the_row(self, kind, xp, rows):
        states, outcomes = rows
        weights = outcomes[:, 0]
        power, rebuilt = {
            DensityMatrix: (4, oracle.born_left_out),
            FeatureMean: (2, oracle.overlap_left_out),
        }[kind]
        state = build(kind, xp, states, outcomes)
        left_out = leave_one_out(
            measure(state, xp.asarray(states))[:, 0],
            own=xp.asarray(np.linalg.norm(states, axis=1) ** power),
            row_weight=xp.asarray(weights),
            total_weight=float(weights.sum()),
        )
        # A mean of features may measure below zero; a density cannot.
        expected = np.clip(rebuilt(states, weights), 0, None)
        assert_close(left_out, expected, "solve")

    @every_kind
    @pytest.mark.parametrize("single", ["float32", "complex64"])
    def test_single_precision_states_merge_to_their_sum(self, kind, xp, single):
        states = random_states(np.random.default_rng(3), 300, 8, single)
        parts = [build(kind, xp, part) for part in np.split(states, [1, 40, 250])]
        whole = build(kind, xp, states.astype(np.result_type(single, "float64")))
        merged = sum(parts)
        assert merged.total.dtype == whole.total.dtype
        assert_close(merged.normalized(), whole.normalized(), precision="single")


class TestDensityMatrix:
    """What holds because the sum is one of outer products."""

    @few
    @given(rows=weighted_sets())
    def test_hermitian_positive_and_of_known_trace(self, xp, rows):
        states, outcomes = rows
        state = build(DensityMatrix, xp, states, outcomes)
        total = to_numpy(state.total)
        assert_close(total, total.conj().swapaxes(1, 2))
        assert at_most(-np.linalg.eigvalsh(total), 0.0)
        lengths = np.linalg.norm(states, axis=1) ** 2
        assert_close(np.trace(total, axis1=1, axis2=2), lengths @ outcomes)

    @few
    @given(rows=weighted_sets())
    def test_unit_states_give_trace_one(self, xp, rows):
        states, outcomes = rows
        states = unit(states)
        outcomes = outcomes * states.any(axis=1, keepdims=True)
        state = build(DensityMatrix, xp, states, outcomes)
        traces = np.trace(to_numpy(state.normalized()), axis1=1, axis2=2)
        assert_close(traces, outcomes.any(axis=0).astype(float) + 0 * traces)

    @few
    @given(rows=weighted_sets())
    def test_born_is_the_definition_and_not_negative(self, xp, rows):
        states, outcomes = rows
        state = build(DensityMatrix, xp, states, outcomes)
        measured = state.born(xp.asarray(states))
        rho = oracle.means(oracle.outer_sums(states, outcomes), outcomes)
        assert_close(measured, oracle.born(rho, states))
        assert at_most(-to_numpy(measured), 0.0)

    @few
    @given(rows=weighted_sets())
    def test_outcome_sums_are_the_diagonal_of_the_joint_state(self, xp, rows):
        states, outcomes = rows
        joint = oracle.joint_state(states, np.sqrt(outcomes))
        state = build(DensityMatrix, xp, states, outcomes)
        measured = to_numpy(state.born(xp.asarray(states))) * to_numpy(state.weight)
        for k, outcome in enumerate(np.eye(outcomes.shape[1])):
            pairs = np.array([np.kron(phi, outcome) for phi in states])
            assert_close(measured[:, k], oracle.born([joint], pairs)[:, 0])

    @few
    @given(rows=weighted_sets(max_outcomes=1), data=st.data())
    def test_tracing_out_unit_outputs_leaves_the_inputs(self, xp, rows, data):
        states, outcomes = rows
        rng = np.random.default_rng(data.draw(st.integers(0, 9)))
        outputs = random_states(rng, len(states), 2, states.dtype.name)
        pairs = np.array([np.kron(x, y) for x, y in zip(states, outputs, strict=True)])
        joint = build(DensityMatrix, xp, pairs, outcomes)
        traced = partial_trace(joint, (states.shape[1], 2), keep=0)
        assert_close(traced, build(DensityMatrix, xp, states, outcomes).normalized())


class TestFactors:
    """What truncation keeps and what it may lose."""

    @few
    @given(rows=weighted_sets())
    def test_full_rank_measures_what_the_matrix_does(self, xp, rows):
        states, outcomes = rows
        state, probes = build(DensityMatrix, xp, states, outcomes), xp.asarray(states)
        for kwargs in ({}, {"rank": state.dim}, {"rank": 1.0}, {"energy": 1.0}):
            factored = state.factorize(**kwargs)
            assert_close(factored.born(probes), state.born(probes), "solve")
            assert_close(factored.normalized(), state.normalized(), "solve")
            assert_close(factored.weight, state.weight)

    @pytest.mark.parametrize(
        "kwargs",
        [{"rank": 1}, {"rank": 2}, {"rank": 0.5}, {"rank": "elbow"}, {"energy": 0.7}],
        ids=str,
    )
    @few
    @given(rows=weighted_sets(max_outcomes=2))
    def test_truncation_only_takes_away(self, xp, kwargs, rows):
        states, outcomes = rows
        state, probes = build(DensityMatrix, xp, states, outcomes), xp.asarray(states)
        factored = state.factorize(**kwargs)
        measured = to_numpy(factored.born(probes))
        assert (measured >= 0).all()
        assert at_most(measured, state.born(probes))
        rest = to_numpy(state.normalized()) - to_numpy(factored.normalized())
        assert at_most(-np.linalg.eigvalsh(rest), 0.0)

    @few
    @given(rows=weighted_sets(max_outcomes=2), rank=st.integers(1, 5))
    def test_the_trace_kept_is_the_sum_of_eigenvalues_kept(self, xp, rows, rank):
        state = build(DensityMatrix, xp, *rows)
        kept = to_numpy(state.factorize(rank).normalized())
        expected = to_numpy(state.eigenvalues())[:, :rank].sum(axis=1)
        assert_close(np.trace(kept, axis1=1, axis2=2).real, expected, "solve")

    @few
    @given(rows=weighted_sets(), energy=st.floats(0.05, 1))
    def test_energy_keeps_its_share_and_no_more_than_needed(self, xp, rows, energy):
        state = build(DensityMatrix, xp, *rows)
        kept = to_numpy(state.factorize(energy=energy).normalized())
        traces = np.trace(kept, axis1=1, axis2=2).real
        for trace, values in zip(traces, to_numpy(state.eigenvalues()), strict=True):
            assert at_most(energy * values.sum(), trace)
            count = int(np.sum(np.cumsum(values) < trace * (1 - 1e-9)))
            assert at_most(values[:count].sum(), energy * values.sum())

    @few
    @given(rows=weighted_sets(), data=st.data())
    def test_merge_at_full_rank_is_the_mixture(self, xp, rows, data):
        states, outcomes = rows
        side = draw_parts(data, len(states), 2)
        whole = build(DensityMatrix, xp, states, outcomes)
        left, right = (
            build(DensityMatrix, xp, states[side == s], outcomes[side == s]).factorize()
            for s in (0, 1)
        )
        merged = left.merge(right, rank=whole.dim)
        assert_close(merged.normalized(), whole.normalized(), "solve")
        assert_close(merged.weight, whole.weight)
        smaller = left.merge(right, rank=1).normalized()
        best = whole.factorize(1).normalized()
        # Compared by trace: where eigenvalues tie, the best factor is not unique.
        assert_close(xp.linalg.trace(smaller), xp.linalg.trace(best), "solve")

    @few
    @given(rows=weighted_sets(), factor=st.floats(0.01, 100))
    def test_scaled_factors_measure_the_same_and_weigh_less(self, xp, rows, factor):
        factored = build(DensityMatrix, xp, *rows).factorize()
        scaled = factored.scale(factor)
        assert_close(scaled.normalized(), factored.normalized())
        assert_close(scaled.weight, factor * to_numpy(factored.weight))

    @few
    @given(rows=weighted_sets())
    def test_folding_is_the_basis_applied_to_each_row(self, xp, rows):
        columns, outcomes = rows
        basis = basis_for(columns)
        states = xp.asarray(columns @ basis)
        factored = build(DensityMatrix, xp, columns @ basis, outcomes).factorize()
        folded = factored.fold(xp.asarray(basis))
        assert_close(folded.born(xp.asarray(columns)), factored.born(states), "solve")


def test_the_tolerances_are_the_promised_ones():
    """Merging, forgetting and namespaces are promised to these digits."""
    assert TOLERANCE["double"]["sum"] <= 1e-12
    assert TOLERANCE["double"]["solve"] <= 1e-10
    assert TOLERANCE["single"]["sum"] <= 1e-6
