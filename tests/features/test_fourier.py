"""Random Fourier features: the kernel, its error, and its precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit.core import cosine_states
from rhokit.features import FourierFeatures
from rhokit.features.sampling import SAMPLING_RULES
from tests.features.support import kernel, lengths, squared_overlaps

FORMS = ["phase", "pair", "complex"]

every_sampling = pytest.mark.parametrize("sampling", SAMPLING_RULES)
every_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture
def rows():
    return np.random.default_rng(21).normal(size=(25, 4))


def fit(rows, seed=0, **parameters):
    return FourierFeatures(random_state=seed, **parameters).fit(rows)


def kernel_error(rows, gamma=0.3, seeds=4, **parameters):
    """Root mean square error of squared overlaps, over pairs and seeds."""
    exact = kernel(rows, rows, gamma)
    squares = []
    for seed in range(seeds):
        states = fit(rows, seed, gamma=gamma, **parameters).transform(rows)
        squares.append((squared_overlaps(states, states) - exact) ** 2)
    return np.sqrt(np.mean(squares))


def definition(feature_map, rows):
    """States by the core's formula, in double precision."""
    return cosine_states(
        np.asarray(rows, float),
        feature_map.frequencies_,
        feature_map.phases_,
        feature_map.amplitudes_,
        normalize=feature_map.normalize,
    )


class TestKernel:
    @every_sampling
    @every_form
    def test_squared_overlaps_converge(self, rows, sampling, form):
        errors = [
            kernel_error(rows, n_components=dim, sampling=sampling, form=form)
            for dim in (32, 512, 4096)
        ]
        # A random feature's error falls with the root of their number.
        assert errors[0] < 2 / np.sqrt(32)
        assert errors[1] < errors[0] / 2
        assert errors[2] < errors[1] / 1.5
        assert errors[2] < 2 / np.sqrt(4096)

    @every_form
    def test_gamma_is_that_of_squared_overlaps(self, rows, form):
        for gamma in (0.05, 0.4, 2.0):
            assert kernel_error(rows, gamma, n_components=4096, form=form) < 0.03

    @pytest.mark.parametrize("sampling", ["sobol", "halton"])
    def test_low_discrepancy_pays_in_two_dimensions(self, rows, sampling):
        plane = rows[:, :2]
        independent, even = (
            kernel_error(plane, n_components=512, form="pair", sampling=rule)
            for rule in ("iid", sampling)
        )
        assert even < independent / 3

    def test_orthogonal_pays_in_many_dimensions(self):
        many = np.random.default_rng(3).normal(size=(25, 40))
        independent, orthogonal = (
            kernel_error(
                many, 0.01, n_components=512, form="pair", sampling=rule, seeds=8
            )
            for rule in ("iid", "orthogonal")
        )
        assert orthogonal < independent / 1.2

    @every_sampling
    @every_form
    def test_length_one(self, rows, sampling, form):
        feature_map = fit(rows, n_components=30, sampling=sampling, form=form)
        far = 1e6 * rows
        for given in (rows, far):
            assert_allclose(lengths(feature_map.transform(given)), 1, rtol=1e-12)
        assert_array_equal(feature_map.reach(rows).round(12), 1)

    def test_not_normalised(self, rows):
        feature_map = fit(rows, n_components=4096, normalize=False)
        states = feature_map.transform(rows)
        assert np.abs(lengths(states) - 1).max() > 1e-3
        assert_allclose(lengths(states), 1, atol=0.1)

    @every_form
    @pytest.mark.parametrize("dim", [64, 256])
    def test_floor_is_the_overlap_of_unrelated_rows(self, form, dim):
        far = 1e3 * np.random.default_rng(0).normal(size=(60, 3))
        means = []
        for seed in range(10):
            feature_map = fit(far, seed, n_components=dim, form=form)
            states = feature_map.transform(far)
            squares = squared_overlaps(states, states)
            means.append(squares[np.triu_indices(60, 1)].mean())
        assert_allclose(np.mean(means), np.exp(feature_map.log_floor_), rtol=0.05)


class TestForms:
    @every_sampling
    @every_form
    @pytest.mark.parametrize("normalize", [False, True])
    def test_definition(self, rows, sampling, form, normalize):
        feature_map = fit(
            rows, n_components=20, sampling=sampling, form=form, normalize=normalize
        )
        states = feature_map.transform(rows)
        assert_allclose(states, definition(feature_map, rows), atol=1e-12)

    def test_shapes(self, rows):
        widths = {"phase": 20, "pair": 10, "complex": 20}
        for form, width in widths.items():
            feature_map = fit(rows, n_components=20, form=form)
            assert feature_map.frequencies_.shape == (4, width)
            assert feature_map.n_components_ == 20
            assert (feature_map.phases_ is None) == (form == "complex")

    def test_phases_fill_the_circle(self, rows):
        phases = fit(rows, n_components=512).phases_ / (2 * np.pi)
        assert_allclose(np.quantile(phases, [0, 0.5, 1]), [0, 0.5, 1], atol=0.1)

    def test_pairs_are_even(self, rows):
        feature_map = fit(rows, n_components=7, form="pair")
        assert feature_map.n_components_ == 8
        assert feature_map.transform(rows).shape == (25, 8)

    @pytest.mark.parametrize("single", [False, True])
    def test_complex_dtype(self, rows, single):
        given = rows.astype("float32") if single else rows
        feature_map = fit(given, n_components=6, form="complex")
        expected = np.complex64 if single else np.complex128
        assert feature_map.column_dtype_ == expected
        assert feature_map.transform(given).dtype == expected


class TestSeeds:
    @every_sampling
    @every_form
    def test_a_seed_means_a_map(self, rows, sampling, form):
        options = {"n_components": 12, "sampling": sampling, "form": form}
        first, again, other = (
            fit(rows, seed, **options).transform(rows) for seed in (0, 0, 1)
        )
        assert_array_equal(first, again)
        assert np.abs(first - other).max() > 0.01

    @pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
    def test_generators(self, rows, kind):
        first, again, other = (
            fit(rows, kind(seed), n_components=12).transform(rows) for seed in (0, 0, 1)
        )
        assert_array_equal(first, again)
        assert np.abs(first - other).max() > 0.01

    def test_none_is_anew_each_time(self, rows):
        first, second = (
            fit(rows, None, n_components=12).transform(rows) for _ in range(2)
        )
        assert np.abs(first - second).max() > 0.01

    def test_the_rows_do_not_matter(self, rows):
        first, second = (fit(x, n_components=12) for x in (rows, 5 + rows[:3]))
        assert first.fingerprint() == second.fingerprint()


class TestWithFrequencies:
    """The same map with frequencies and phases as training left them."""

    @every_sampling
    @every_form
    @pytest.mark.parametrize("normalize", [False, True])
    def test_definition(self, rows, sampling, form, normalize):
        first = fit(
            rows, n_components=20, sampling=sampling, form=form, normalize=normalize
        )
        before, states = first.fingerprint(), first.transform(rows)
        rng = np.random.default_rng(1)
        frequencies = first.frequencies_ + 0.3 * rng.normal(
            size=first.frequencies_.shape
        )
        phases = None if form == "complex" else first.phases_ + 0.1
        other = first.with_frequencies(frequencies, phases)
        found = other.transform(rows)
        if form != "pair":  # pairs of other phases than a quarter turn are not unit
            assert_allclose(found, definition(other, rows), atol=1e-12)
        plain = cosine_states(
            rows, frequencies, phases, first.amplitudes_, normalize=False
        )
        direction = plain / lengths(plain)[:, None]
        assert_allclose(found / lengths(found)[:, None], direction, atol=1e-12)
        assert np.abs(found - states).max() > 0.01
        # The first is what it was.
        assert first.fingerprint() == before != other.fingerprint()
        assert_array_equal(first.transform(rows), states)

    @every_sampling
    @every_form
    def test_the_same_frequencies_are_the_same_map(self, rows, sampling, form):
        first = fit(rows, n_components=20, sampling=sampling, form=form)
        other = first.with_frequencies(first.frequencies_, first.phases_)
        assert other.fingerprint() == first.fingerprint()
        assert_allclose(other.transform(rows), first.transform(rows), atol=1e-12)

    @every_form
    def test_precision_stays(self, rows, form):
        single = rows.astype("float32")
        first = fit(single, n_components=20, form=form)
        phases = None if first.phases_ is None else first.phases_.astype("float32")
        frequencies = first.frequencies_.astype("float32")
        other = first.with_frequencies(frequencies, phases)
        states = other.transform(single)
        assert states.dtype == first.transform(single).dtype
        assert_allclose(states, definition(other, single), atol=1e-5)

    @every_form
    def test_many_turns_keep_their_digits(self, rows, form):
        """New frequencies may need the wide product where the old ones did not."""
        single = rows.astype("float32")
        first = fit(single, n_components=20, form=form)
        other = first.with_frequencies(1e5 * first.frequencies_, first.phases_)
        found = other.transform(single)
        assert_allclose(found, definition(other, single), atol=1e-5)


@every_form
def test_random_features_have_no_mass_matrix(rows, form):
    """Their states do not fall off, so that the integral is not finite."""
    assert fit(rows, n_components=20, form=form).mass_matrix() is None


class TestPrecision:
    @every_sampling
    @every_form
    def test_single_is_double_rounded(self, rows, sampling, form):
        options = {"n_components": 64, "sampling": sampling, "form": form}
        single = rows.astype("float32")
        narrow, wide = (fit(x, **options).transform(x) for x in (single, rows))
        assert narrow.real.dtype == np.float32
        assert_allclose(narrow, wide, atol=2e-6)

    @every_sampling
    @every_form
    @pytest.mark.parametrize(
        ("gamma", "factor"), [(1e12, 1.0), (1.0, 1e6), (1e12, 1e3)], ids=str
    )
    def test_phases_of_many_turns_keep_their_digits(
        self, rows, sampling, form, gamma, factor
    ):
        """Fitted to small rows, so that the rows to come decide."""
        options = {"n_components": 64, "sampling": sampling, "form": form}
        single = rows.astype("float32")
        feature_map = fit(single, gamma=gamma, **options)
        far = np.float32(factor) * single
        states = feature_map.transform(far)
        assert states.real.dtype == np.float32
        assert_allclose(states, definition(feature_map, far), atol=1e-5)

    @every_form
    @pytest.mark.parametrize("real", ["float32", "float64"])
    def test_the_farthest_rows_still_have_a_state(self, rows, form, real):
        feature_map = fit(rows.astype(real), gamma=1e4, n_components=32, form=form)
        far = np.full((2, 4), np.finfo(real).max, real)
        far[1] *= -1
        states = feature_map.transform(far)
        assert_allclose(lengths(states), 1, rtol=1e-5)

    @pytest.mark.parametrize("gamma", [1e-12, 1e12])
    @every_form
    def test_extreme_gamma(self, rows, gamma, form):
        states = fit(rows, gamma=gamma, n_components=2048, form=form).transform(rows)
        exact = kernel(rows, rows, gamma)
        assert_allclose(squared_overlaps(states, states), exact, atol=0.02)

    @pytest.mark.parametrize("sampling", SAMPLING_RULES)
    def test_many_columns(self, sampling):
        wide = np.random.default_rng(0).normal(size=(8, 784))
        options = {"n_components": 512, "sampling": sampling, "seeds": 1}
        assert kernel_error(wide, 1e-3, **options) < 0.06
