"""ToeplitzDensityMatrix against its definition, and against the matrices it is."""

import itertools
from dataclasses import FrozenInstanceError

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rhokit.core import DensityMatrix, FeatureMean, ToeplitzDensityMatrix
from tests.support import assert_close, assert_same_state, to_numpy

SHAPES = [(1,), (6,), (5, 4), (7, 1), (3, 5, 3)]
# Half widths J of grids -J..J of waves.
GRIDS = [(0,), (3,), (2, 1), (0, 2), (1, 2, 1)]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
every_grid = pytest.mark.parametrize("ends", GRIDS, ids=str)


@pytest.fixture
def rng():
    return np.random.default_rng(2)


# ---- the definitions, written out ----------------------------------------------------


def differences(shape):
    """Place and value of every l that a series of this shape holds."""
    for place in np.ndindex(shape):
        first = [p - size // 2 for p, size in zip(place, shape, strict=True)]
        yield place, np.array([*first[:-1], place[-1]])


def slow_sums(angles, spectrum, outcomes):
    """``P_l Σ_i t_ik exp(i l·θ_i)``, one row and one number after another."""
    total = np.zeros((outcomes.shape[1], *spectrum.shape), complex)
    for k in range(outcomes.shape[1]):
        for place, step in differences(spectrum.shape):
            for theta, weight in zip(angles, outcomes[:, k], strict=True):
                total[k][place] += spectrum[place] * weight * np.exp(1j * step @ theta)
    return total


def slow_born(total, outcomes, angles):
    """``Re Σ_l c_l exp(-i l·θ)``, with the mirror image of each l but the last's 0."""
    values = np.zeros((len(angles), len(total)))
    for k, weight in enumerate(outcomes.sum(axis=0)):
        for place, step in differences(total.shape[1:]):
            for i, theta in enumerate(angles):
                wave = total[k][place] * np.exp(-1j * step @ theta)
                if step[-1] != 0:  # and its mirror image, at -l
                    wave += np.conj(total[k][place]) * np.exp(1j * step @ theta)
                values[i, k] += wave.real / weight if weight > 0 else 0
    return values


def points_of(amplitudes):
    """The whole numbers j (D, d) of a grid -J..J, in the order of its array."""
    ends = [size // 2 for size in amplitudes.shape]
    axes = [range(-end, end + 1) for end in ends]
    return np.array(list(itertools.product(*axes)))


def wave_states(amplitudes, angles):
    """``a_j exp(i j·θ)`` (n, D) for the waves whose amplitudes are not zero."""
    a = amplitudes.ravel()
    return (a * np.exp(1j * angles @ points_of(amplitudes).T))[:, a != 0]


def spectrum_of(amplitudes):
    """``P_l = Σ_{j-k=l} a_j² a_k²`` for all differences, pair by pair."""
    ends = [size - 1 for size in amplitudes.shape]
    spectrum = np.zeros((*(2 * end + 1 for end in ends[:-1]), ends[-1] + 1))
    power, points = amplitudes.ravel() ** 2, points_of(amplitudes)
    for p, j in zip(power, points, strict=True):
        for q, k in zip(power, points, strict=True):
            if j[-1] >= k[-1]:
                spectrum[(*(j - k + ends)[:-1], (j - k)[-1])] += p * q
    return spectrum


# ---- instances -----------------------------------------------------------------------


def make(xp, angles, spectrum, outcomes=None):
    outcomes = None if outcomes is None else xp.asarray(outcomes)
    return ToeplitzDensityMatrix.from_angles(
        xp.asarray(angles), xp.asarray(spectrum), outcomes
    )


def weighted_angles(rng, d, n=9, n_outcomes=3):
    """Angles (n, d) and weights (n, K), a third of them zero."""
    outcomes = rng.uniform(size=(n, n_outcomes)) * rng.integers(0, 3, (n, n_outcomes))
    return rng.uniform(-np.pi, np.pi, size=(n, d)), outcomes


def random_amplitudes(rng, ends):
    """Positive, without any symmetry."""
    return rng.uniform(0.2, 1, size=[2 * end + 1 for end in ends])


def random_instance(rng, shape, **sizes):
    """Angles, spectrum and weights."""
    angles, outcomes = weighted_angles(rng, len(shape), **sizes)
    return angles, rng.uniform(0.1, 1, size=shape), outcomes


class TestAgainstDefinition:
    @every_shape
    def test_sums(self, xp, rng, shape):
        angles, spectrum, outcomes = random_instance(rng, shape)
        state = make(xp, angles, spectrum, outcomes)
        assert_close(state.total, slow_sums(angles, spectrum, outcomes))
        assert_close(state.weight, outcomes.sum(axis=0))
        assert (state.n_outcomes, state.n_columns) == (3, len(shape))
        assert state.nbytes == to_numpy(state.total).nbytes

    @every_shape
    def test_one_outcome_of_weight_one_is_the_default(self, xp, rng, shape):
        angles, spectrum, _ = random_instance(rng, shape)
        alike = make(xp, angles, spectrum, np.ones((9, 1)))
        assert_same_state(make(xp, angles, spectrum), alike)

    @every_shape
    def test_born(self, xp, rng, shape):
        angles, spectrum, outcomes = random_instance(rng, shape)
        outcomes[:, 1] = 0  # never seen
        probes = np.concatenate([angles[:2], rng.uniform(-3, 3, (4, len(shape)))])
        expected = slow_born(slow_sums(angles, spectrum, outcomes), outcomes, probes)
        measured = make(xp, angles, spectrum, outcomes).born(xp.asarray(probes))
        assert_close(measured, expected)
        assert not to_numpy(measured)[:, 1].any()

    @every_shape
    def test_means(self, xp, rng, shape):
        angles, spectrum, outcomes = random_instance(rng, shape)
        outcomes[:, 2] = 0
        total = slow_sums(angles, spectrum, outcomes)
        for k, weight in enumerate(outcomes.sum(axis=0)):
            total[k] *= 1 / weight if weight > 0 else 0
        assert_close(make(xp, angles, spectrum, outcomes).normalized(), total)

    def test_waves_have_a_period(self, xp, rng):
        angles, spectrum, outcomes = random_instance(rng, (5, 4))
        turns = 2 * np.pi * rng.integers(-1, 2, angles.shape)
        state = make(xp, angles, spectrum, outcomes)
        assert_same_state(make(xp, angles + turns, spectrum, outcomes), state)
        measured = state.born(xp.asarray(angles))
        assert_close(state.born(xp.asarray(angles + turns)), measured)

    def test_peak_of_one_row_is_the_sum_of_its_spectrum(self, xp, rng):
        amplitudes = random_amplitudes(rng, (2, 1))
        state = make(xp, np.ones((1, 2)), spectrum_of(amplitudes))
        peak = (amplitudes**2).sum() ** 2
        assert_close(
            state.born(xp.ones((1, 2), dtype=xp.float64)), np.full((1, 1), peak)
        )


class TestAgainstMatrices:
    """The same states summed up as matrices, in one, two and three columns."""

    @every_grid
    def test_born(self, xp, rng, ends):
        amplitudes = random_amplitudes(rng, ends)
        angles, outcomes = weighted_angles(rng, len(ends))
        probes = rng.uniform(-np.pi, np.pi, size=(5, len(ends)))
        rows, weights = wave_states(amplitudes, angles), xp.asarray(outcomes)
        dense = DensityMatrix.from_states(xp.asarray(rows), weights)
        state = make(xp, angles, spectrum_of(amplitudes), outcomes)
        expected = dense.born(xp.asarray(wave_states(amplitudes, probes)))
        assert_close(state.born(xp.asarray(probes)), expected)

    @every_grid
    def test_to_dense(self, xp, rng, ends):
        amplitudes = random_amplitudes(rng, ends)
        angles, outcomes = weighted_angles(rng, len(ends))
        spectrum = spectrum_of(amplitudes)
        rows, weights = wave_states(amplitudes, angles), xp.asarray(outcomes)
        made = make(xp, angles, spectrum, outcomes).to_dense(
            xp.asarray(amplitudes), xp.asarray(spectrum)
        )
        assert isinstance(made, DensityMatrix)
        assert_same_state(made, DensityMatrix.from_states(xp.asarray(rows), weights))

    @pytest.mark.parametrize("ends", [(3,), (2, 2), (1, 2, 1)], ids=str)
    def test_waves_that_are_left_out(self, xp, rng, ends):
        """The matrix is over the waves within a ball, in their order."""
        amplitudes = random_amplitudes(rng, ends)
        lengths = (points_of(amplitudes) ** 2).sum(axis=1)
        amplitudes *= (lengths <= 3).reshape(amplitudes.shape)
        angles, outcomes = weighted_angles(rng, len(ends))
        spectrum = spectrum_of(amplitudes)
        spectrum[spectrum == 0] = 1e-300  # of differences that no pair has
        made = make(xp, angles, spectrum, outcomes).to_dense(
            xp.asarray(amplitudes), xp.asarray(spectrum)
        )
        rows = xp.asarray(wave_states(amplitudes, angles))
        assert made.dim == (lengths <= 3).sum()
        dense = DensityMatrix.from_states(rows, xp.asarray(outcomes))
        assert_same_state(made, dense)

    @pytest.mark.parametrize("cut", [(1,), (1, 1), (1, 0, 1)], ids=str)
    def test_differences_beyond_the_spectrum_are_zero(self, xp, rng, cut):
        """Everything else stays, in the corners of the grid too."""
        d = len(cut)
        amplitudes = random_amplitudes(rng, (1,) * d)
        angles, outcomes = weighted_angles(rng, d)
        kept = [slice(2 - c, 3 + c) for c in cut[:-1]]
        spectrum = spectrum_of(amplitudes)[(*kept, slice(0, 1 + cut[-1]))]
        made = make(xp, angles, spectrum, outcomes).to_dense(
            xp.asarray(amplitudes), xp.asarray(spectrum)
        )
        points = points_of(amplitudes)
        steps = np.abs(points[:, None, :] - points[None, :, :])
        rows = wave_states(amplitudes, angles)
        full = to_numpy(DensityMatrix.from_states(rows, outcomes).total)
        assert_close(made.total, full * (steps <= cut).all(axis=2))
        assert_close(made.weight, outcomes.sum(axis=0))

    @given(
        ends=st.lists(st.integers(0, 2), min_size=1, max_size=3),
        seed=st.integers(0, 2**32 - 1),
    )
    def test_any_grid(self, xp, ends, seed):
        rng = np.random.default_rng(seed)
        amplitudes = random_amplitudes(rng, ends)
        angles, outcomes = weighted_angles(rng, len(ends), n=4, n_outcomes=2)
        spectrum = spectrum_of(amplitudes)
        state = make(xp, angles, spectrum, outcomes)
        dense = state.to_dense(xp.asarray(amplitudes), xp.asarray(spectrum))
        probes = rng.uniform(-np.pi, np.pi, size=(3, len(ends)))
        rows = xp.asarray(wave_states(amplitudes, probes))
        measured = to_numpy(state.born(xp.asarray(probes)))
        assert_close(measured, dense.born(rows))
        assert (measured > -1e-12).all()


class TestLaws:
    """What the estimators rely on: sums add up."""

    @pytest.fixture(params=[(6,), (5, 4), (3, 5, 3)], ids=str)
    def rows(self, request, rng):
        return random_instance(rng, request.param)

    def test_parts_add_up(self, xp, rows):
        angles, spectrum, outcomes = rows
        cuts = [slice(0, 2), slice(2, 5), slice(5, 9)]
        parts = [make(xp, angles[c], spectrum, outcomes[c]) for c in cuts]
        whole = make(xp, angles, spectrum, outcomes)
        for merged in (
            parts[0] + parts[1] + parts[2],
            parts[2] + (parts[0] + parts[1]),
            sum(parts),
        ):
            assert isinstance(merged, ToeplitzDensityMatrix)
            assert_same_state(merged, whole)

    def test_forgotten_is_never_seen(self, xp, rows):
        angles, spectrum, outcomes = rows
        whole = make(xp, angles, spectrum, outcomes)
        left = whole - make(xp, angles[:4], spectrum, outcomes[:4])
        assert_same_state(left, make(xp, angles[4:], spectrum, outcomes[4:]), "solve")

    def test_forgetting_everything_leaves_nothing(self, xp, rows):
        angles, spectrum, outcomes = rows
        left = make(xp, angles, spectrum, outcomes)
        for i in range(len(angles)):
            left = left - make(xp, angles[i : i + 1], spectrum, outcomes[i : i + 1])
        assert not to_numpy(left.weight).any()
        assert not to_numpy(left.born(xp.asarray(angles))).any()

    def test_decay(self, xp, rows):
        angles, spectrum, outcomes = rows
        state = make(xp, angles, spectrum, outcomes)
        faded = state.scale(0.25)
        assert_same_state(faded, make(xp, angles, spectrum, 0.25 * outcomes))
        assert_close(faded.normalized(), state.normalized())

    @pytest.mark.parametrize("places", [[0, 1, 2], [3, 0, 2]], ids=str)
    def test_spread(self, xp, rows, places):
        angles, spectrum, outcomes = rows
        moved = np.zeros((len(angles), 4))
        moved[:, places] = outcomes
        spread = make(xp, angles, spectrum, outcomes).spread(places, 4)
        assert_same_state(spread, make(xp, angles, spectrum, moved))

    @pytest.mark.parametrize("k", [0, 2])
    def test_outcome(self, xp, rows, k):
        angles, spectrum, outcomes = rows
        alone = make(xp, angles, spectrum, outcomes).outcome(k)
        assert_same_state(alone, make(xp, angles, spectrum, outcomes[:, k : k + 1]))

    def test_mix(self, xp, rows, rng):
        angles, spectrum, outcomes = rows
        shares = rng.uniform(size=(2, 3)) * [[1, 0, 1], [0, 0, 1]]
        mixed = make(xp, angles, spectrum, outcomes).mix(xp.asarray(shares))
        assert_same_state(mixed, make(xp, angles, spectrum, outcomes @ shares.T))

    def test_rows_of_weight_zero_are_absent(self, xp, rows):
        angles, spectrum, outcomes = rows
        outcomes[3:6] = 0
        seen = np.delete(np.arange(9), [3, 4, 5])
        assert_same_state(
            make(xp, angles, spectrum, outcomes),
            make(xp, angles[seen], spectrum, outcomes[seen]),
        )


class TestOutside:
    """Infinite angles stand for rows outside the box."""

    @pytest.mark.parametrize("shape", [(6,), (5, 4), (3, 5, 3)], ids=str)
    @pytest.mark.parametrize("far", [np.inf, -np.inf])
    def test_measures_zero(self, xp, rng, shape, far):
        angles, spectrum, outcomes = random_instance(rng, shape)
        state = make(xp, angles, spectrum, outcomes)
        expected = to_numpy(state.born(xp.asarray(angles))).copy()
        outside = angles.copy()
        for row, column in enumerate(np.arange(4) % len(shape)):
            outside[2 * row, column] = far
        outside[1] = far
        expected[[0, 1, 2, 4, 6]] = 0
        assert_close(state.born(xp.asarray(outside)), expected)

    def test_nothing_but_outsiders(self, xp, rng):
        state = make(xp, *random_instance(rng, (5, 4)))
        measured = state.born(xp.full((3, 2), np.inf, dtype=xp.float64))
        assert_close(measured, np.zeros((3, 3)))


class TestNoRows:
    @every_shape
    def test_sums(self, xp, rng, shape):
        state = make(xp, np.zeros((0, len(shape))), np.ones(shape))
        assert_close(state.total, np.zeros((1, *shape), complex))
        assert_close(state.weight, np.zeros(1))
        measured = state.born(xp.zeros((2, len(shape)), dtype=xp.float64))
        assert_close(measured, np.zeros((2, 1)))

    @every_shape
    def test_born(self, xp, rng, shape):
        state = make(xp, *random_instance(rng, shape))
        measured = state.born(xp.zeros((0, len(shape)), dtype=xp.float64))
        assert tuple(measured.shape) == (0, 3)


class TestTypes:
    def test_weights_of_whole_numbers(self, xp, rng):
        angles, spectrum, _ = random_instance(rng, (5, 4))
        weights = rng.integers(0, 4, (9, 2))
        small = make(xp, angles, spectrum, weights.astype(np.uint8))
        assert_same_state(small, make(xp, angles, spectrum, weights.astype(float)))
        assert to_numpy(small.weight).dtype == np.float64

    def test_single_precision_angles(self, xp, rng):
        angles, spectrum, _ = random_instance(rng, (5, 4))
        single = angles.astype(np.float32)
        state = make(xp, single, spectrum)
        assert to_numpy(state.weight).dtype == np.float64
        exact = make(np, single.astype(float), spectrum)
        assert_close(state.total, exact.total, precision="single")
        measured = state.born(xp.asarray(single))
        expected = exact.born(single.astype(float))
        assert_close(measured, expected, "solve", "single")

    def test_results_stay_on_the_device_of_the_angles(self, rng):
        xp, device = array_api_strict, array_api_strict.Device("device1")
        amplitudes = random_amplitudes(rng, (1, 1))
        angles, outcomes = weighted_angles(rng, 2)
        angles, outcomes, spectrum, amplitudes = (
            xp.asarray(array, device=device)
            for array in (angles, outcomes, spectrum_of(amplitudes), amplitudes)
        )
        for weights in (None, outcomes):
            state = ToeplitzDensityMatrix.from_angles(angles, spectrum, weights)
            for made in (state, state + state, state - state, state.spread([1], 2)):
                assert made.born(angles).device == device
            assert state.to_dense(amplitudes, spectrum).total.device == device

    def test_no_operation_changes_a_byte(self, xp, rng):
        angles, spectrum, outcomes = random_instance(rng, (5, 4))
        rows, weights = xp.asarray(angles.copy()), xp.asarray(outcomes.copy())
        state = ToeplitzDensityMatrix.from_angles(rows, xp.asarray(spectrum), weights)
        before = to_numpy(state.total).tobytes(), to_numpy(state.weight).tobytes()
        for made in (state, state.scale(0.5), state + state, state - state):
            made.born(rows)
        after = to_numpy(state.total).tobytes(), to_numpy(state.weight).tobytes()
        assert before == after
        assert to_numpy(rows).tobytes() == angles.tobytes()

    def test_states_are_frozen(self, xp):
        with pytest.raises(FrozenInstanceError):
            make(xp, np.ones((2, 1)), np.ones(3)).total = None


class TestErrors:
    @pytest.mark.parametrize("shape", [(2,), (1, 4, 3), (1, 3, 2, 3)], ids=str)
    def test_shape_of_total(self, xp, shape):
        with pytest.raises(ValueError, match=r"total must have shape \(K, 2 M_1 \+ 1"):
            ToeplitzDensityMatrix(xp.zeros(shape), xp.ones(shape[0]))

    @pytest.mark.parametrize("shape", [(), (1,), (2, 1)])
    def test_shape_of_weight(self, xp, shape):
        with pytest.raises(ValueError, match=r"weight must have shape \(2,\)"):
            ToeplitzDensityMatrix(xp.zeros((2, 3, 3)), xp.ones(shape))

    def test_shape_of_spectrum(self, xp):
        with pytest.raises(ValueError, match="total must have shape"):
            make(xp, np.ones((4, 2)), np.ones((4, 3)))

    def test_shape_of_angles(self, xp):
        with pytest.raises(ValueError, match=r"must have shape \(n, D\)"):
            make(xp, np.ones(3), np.ones(3))

    # A column too many would be passed over in silence.
    @pytest.mark.parametrize("d", [1, 3])
    def test_columns_of_angles(self, xp, d):
        with pytest.raises(ValueError, match="angles"):
            make(xp, np.ones((4, d)), np.ones((5, 3)))
        state = make(xp, np.ones((4, 2)), np.ones((5, 3)))
        with pytest.raises(ValueError, match="angles"):
            state.born(xp.ones((4, d), dtype=xp.float64))

    @pytest.mark.parametrize("shape", [(4,), (1, 2), (3, 2)])
    def test_shape_of_outcomes(self, xp, shape):
        with pytest.raises(ValueError, match=r"outcomes must have shape \(4, K\)"):
            make(xp, np.ones((4, 1)), np.ones(3), np.ones(shape))

    def test_negative_weight(self, xp):
        with pytest.raises(ValueError, match="weights of rows must not be negative"):
            make(xp, np.ones((2, 1)), np.ones(3), np.array([[1.0], [-0.5]]))

    # A single number, or a single outcome, would broadcast over the others.
    @pytest.mark.parametrize(
        ("shape", "n_outcomes"), [((5, 3), 1), ((1, 3), 2), ((5, 1), 2)]
    )
    def test_states_of_different_shapes(self, xp, shape, n_outcomes):
        left = make(xp, np.ones((3, 2)), np.ones((5, 3)), np.ones((3, 2)))
        right = make(xp, np.ones((3, 2)), np.ones(shape), np.ones((3, n_outcomes)))
        with pytest.raises(ValueError, match=r"totals are \(2, 5, 3\) and"):
            left + right
        with pytest.raises(ValueError, match=r"totals are \(2, 5, 3\) and"):
            left - right

    def test_forgetting_more_than_was_seen(self, xp):
        one = make(xp, np.ones((1, 1)), np.ones(3))
        with pytest.raises(ValueError, match="cannot forget more than was seen"):
            one - make(xp, np.ones((2, 1)), np.ones(3))

    @pytest.mark.parametrize("factor", [0, -1.0, np.inf, np.nan])
    def test_factor(self, xp, factor):
        with pytest.raises(ValueError, match="factor must be a positive number"):
            make(xp, np.ones((1, 1)), np.ones(3)).scale(factor)

    def test_only_states_of_the_same_kind_add(self, xp):
        state = make(xp, np.ones((1, 1)), np.ones(3))
        for other in (1, FeatureMean(state.total, state.weight)):
            with pytest.raises(TypeError, match="unsupported operand"):
                state + other
            with pytest.raises(TypeError, match="unsupported operand"):
                state - other
