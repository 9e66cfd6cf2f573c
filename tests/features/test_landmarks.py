"""Nyström features: exact at landmarks, honest about the rest."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from rhokit import DMKDE, MeanEmbeddingKDE
from rhokit.features import LandmarkFeatures, landmarks
from rhokit.features.selection import select_landmarks
from tests.features.support import kernel, lengths, squared_overlaps

SELECTIONS = ["kmeans", "kmeans++", "uniform"]

every_selection = pytest.mark.parametrize("selection", SELECTIONS)


@pytest.fixture
def rows():
    return np.random.default_rng(31).normal(size=(80, 3))


def fit(rows, sample_weight=None, **parameters):
    parameters = {"random_state": 0, "n_components": 20, **parameters}
    return LandmarkFeatures(**parameters).fit(rows, sample_weight=sample_weight)


@st.composite
def weighted_rows(draw):
    """Rows on a small lattice, many of them equal, with small whole weights."""
    shape = draw(st.integers(4, 30)), draw(st.integers(1, 3))
    rows = draw(hnp.arrays(np.int64, shape, elements=st.integers(-3, 3)))
    weights = draw(hnp.arrays(np.int64, shape[:1], elements=st.integers(0, 3)))
    weights[0] = 1
    return rows / 2, weights


class TestKernel:
    @every_selection
    @pytest.mark.parametrize("gamma", [0.1, 1.0, 30.0])
    def test_exact_where_one_row_is_a_landmark(self, rows, selection, gamma):
        feature_map = fit(rows, gamma=gamma, selection=selection)
        landmarks = feature_map.landmarks_
        assert len(landmarks) == 20
        states = map(feature_map.transform, (landmarks, rows))
        assert_allclose(
            squared_overlaps(*states), kernel(landmarks, rows, gamma), atol=1e-7
        )

    @every_selection
    @pytest.mark.parametrize("gamma", [1e-12, 0.1, 1.0, 30.0, 1e12])
    @pytest.mark.parametrize("real", ["float32", "float64"])
    def test_exact_where_all_rows_are_landmarks(self, rows, selection, gamma, real):
        rows = np.concatenate([rows, rows[:30]]).astype(real)
        feature_map = fit(rows, gamma=gamma, selection=selection, n_components=80)
        states = feature_map.transform(rows)
        assert states.dtype == real
        assert len(feature_map.landmarks_) == 80
        tolerance = 5e-4 if real == "float32" else 1e-7
        assert_allclose(
            squared_overlaps(states, states), kernel(rows, rows, gamma), atol=tolerance
        )

    def test_more_landmarks_are_better(self, rows):
        errors = []
        for count in (5, 20, 60):
            states = fit(rows, gamma=0.3, n_components=count).transform(rows)
            error = squared_overlaps(states, states) - kernel(rows, rows, 0.3)
            errors.append(np.abs(error).mean())
        assert errors[1] < errors[0] / 5
        assert errors[2] < errors[1] / 5

    def test_single_is_double_rounded(self, rows):
        landmarks = rows[:15]
        single, double = (
            fit(x, gamma=0.5, landmarks=landmarks).transform(x)
            for x in (rows.astype("float32"), rows)
        )
        assert_allclose(
            squared_overlaps(single, single),
            squared_overlaps(double, double),
            atol=1e-4,
        )

    @pytest.mark.parametrize("offset", [0.0, 1e3])
    @pytest.mark.parametrize("d", [3, 784])
    def test_far_from_the_origin_in_single_precision(self, offset, d):
        rng = np.random.default_rng(5)
        rows = (rng.normal(size=(30, d)) + offset).astype("float32")
        gamma = 1.0 / d
        states = fit(rows, gamma=gamma, n_components=30).transform(rows)
        exact = kernel(rows, rows, gamma)
        assert_allclose(squared_overlaps(states, states), exact, atol=1e-3)

    @pytest.mark.parametrize("d", [3, 8])
    def test_fine_structure_of_distant_clusters_in_single_precision(self, d):
        rng = np.random.default_rng(5)
        centres = rng.choice([-300, 300], size=(40, 1)) * np.ones(d)
        rows = (centres + 0.3 * rng.normal(size=(40, d))).astype("float32")
        states = fit(rows, n_components=40).transform(rows)
        exact = kernel(rows, rows, 1.0)
        assert_allclose(squared_overlaps(states, states), exact, atol=1e-3)

    def test_singular_directions_are_left_out(self, rows):
        feature_map = fit(rows, gamma=1e-4, n_components=80)
        assert feature_map.n_components_ < feature_map.n_columns_ == 80
        assert np.abs(feature_map.whitening_).max() < 1e6

    def test_log_mass(self, rows):
        feature_map = fit(rows, gamma=2.0)
        assert_allclose(feature_map.log_mass(), 1.5 * np.log(np.pi / 2.0))
        assert_allclose(feature_map.log_mass(power=1), 1.5 * np.log(np.pi))


class TestReach:
    @every_selection
    def test_one_at_landmarks_less_elsewhere_zero_far_away(self, rows, selection):
        feature_map = fit(rows, selection=selection)
        assert_allclose(feature_map.reach(feature_map.landmarks_), 1, atol=1e-9)
        reached = feature_map.reach(np.concatenate([rows, 30 * rows]))
        assert ((reached >= 0) & (reached <= 1)).all()
        assert reached.min() < 1e-9
        line = np.linspace(4, 20, 30)[:, None] * np.ones(3)
        assert (np.diff(feature_map.reach(line)) <= 0).all()

    def test_what_is_missing_is_the_error_of_the_state(self, rows):
        """``1 - ‖φ‖²`` is the squared distance from the exact state to the span."""
        feature_map = fit(rows, gamma=0.8)
        landmarks = feature_map.landmarks_
        gram = kernel(landmarks, landmarks, 0.4)
        columns = kernel(rows, landmarks, 0.4)
        projected = np.einsum("ij,ij->i", columns, np.linalg.solve(gram, columns.T).T)
        assert_allclose(feature_map.reach(rows), projected, atol=1e-8)

    @pytest.mark.parametrize("output", ["default", "pandas", "polars"])
    def test_an_array_whatever_transform_returns(self, rows, output):
        feature_map = fit(rows).set_output(transform=output)
        reached = feature_map.reach(rows)
        assert isinstance(reached, np.ndarray)
        assert_array_equal(reached, fit(rows).reach(rows))

    def test_not_fitted(self, rows):
        with pytest.raises(NotFittedError):
            LandmarkFeatures().reach(rows)

    def test_normalised_states_have_none(self, rows):
        with pytest.raises(ValueError, match="normalize=False"):
            fit(rows, normalize=True).reach(rows)


class TestNormalize:
    @pytest.mark.parametrize("real", ["float32", "float64"])
    @pytest.mark.parametrize("d", [2, 8])
    def test_length_one_everywhere(self, real, d):
        rows = np.random.default_rng(4).normal(size=(50, d)).astype(real)
        feature_map = fit(rows, normalize=True)
        far = np.array([1, 1e2, 1e6, 1e15, 1e30, np.finfo(real).max / 2], real)
        given = np.concatenate([rows, far[:, None] * np.eye(d)[:1].astype(real)])
        states = feature_map.transform(given)
        assert_allclose(lengths(states), 1, rtol=1e-4 if real == "float32" else 1e-9)

    def test_same_direction(self, rows):
        plain, normalised = (
            fit(rows, normalize=flag).transform(rows) for flag in (False, True)
        )
        unit = plain / lengths(plain)[:, None]
        assert_allclose(normalised, unit, atol=1e-9)


class TestFarRows:
    """The scale that is taken out ranks rows at any distance."""

    @pytest.mark.parametrize("real", ["float32", "float64"])
    @pytest.mark.parametrize("d", [2, 8])
    def test_finite_and_in_order(self, real, d):
        rows = np.random.default_rng(4).normal(size=(50, d)).astype(real)
        feature_map = fit(rows)
        far = 10.0 ** np.arange(1, 38 if real == "float32" else 150, 4)
        given = (far[:, None] * np.eye(d)[0]).astype(real)
        columns, scale = feature_map.columns(given, relative=True)
        assert np.isfinite(columns).all()
        assert np.isfinite(scale).all()
        assert (np.diff(scale) < 0).all()


class TestSelection:
    @every_selection
    @given(case=weighted_rows(), count=st.integers(1, 12))
    def test_at_most_so_many_distinct(self, selection, case, count):
        rows, weights = case
        feature_map = fit(rows, weights, selection=selection, n_components=count)
        landmarks = feature_map.landmarks_
        seen = rows[weights > 0]
        assert 1 <= len(landmarks) <= count
        assert len(np.unique(landmarks, axis=0)) == len(landmarks)
        assert (landmarks >= seen.min(axis=0) - 1e-9).all()
        assert (landmarks <= seen.max(axis=0) + 1e-9).all()
        if selection != "kmeans":
            assert {*map(tuple, landmarks)} <= {*map(tuple, seen)}

    @every_selection
    @given(case=weighted_rows(), data=st.data())
    def test_a_weight_is_so_many_copies_in_any_order(self, selection, case, data):
        rows, weights = case
        repeated = np.repeat(rows, weights, axis=0)
        order = data.draw(st.permutations(range(len(rows))))
        options = {"selection": selection, "n_components": 5}
        expected = fit(repeated, **options).landmarks_
        for shuffle in (np.arange(len(rows)), np.array(order)):
            weighted = fit(rows[shuffle], weights[shuffle], **options)
            assert_allclose(weighted.landmarks_, expected, atol=1e-12)

    @every_selection
    def test_seeds(self, rows, selection):
        first, again, other = (
            fit(rows, selection=selection, random_state=seed).landmarks_
            for seed in (0, 0, 1)
        )
        assert_array_equal(first, again)
        assert first.shape != other.shape or (first != other).any()

    @every_selection
    def test_heavy_rows_are_preferred(self, selection):
        rows = np.random.default_rng(0).uniform(size=(400, 2))
        heavy = rows[:, 0] < 0.5
        weights = np.where(heavy, 100.0, 0.01)
        landmarks = fit(rows, weights, selection=selection, n_components=40).landmarks_
        assert (landmarks[:, 0] < 0.5).mean() > 0.7

    def test_kmeans_represents_better_than_chance(self):
        rows = np.random.default_rng(0).normal(size=(2000, 4))
        reached = {
            selection: fit(rows, selection=selection, n_components=100, gamma=0.5)
            .reach(rows)
            .mean()
            for selection in SELECTIONS
        }
        assert reached["kmeans"] > reached["uniform"] + 0.01

    @every_selection
    @pytest.mark.parametrize("step", [1e-12, 1e-200])
    def test_rows_that_differ_by_rounding(self, selection, step):
        rows = np.r_[step * np.arange(50), 1.0][:, None]
        feature_map = fit(rows, selection=selection)
        landmarks = feature_map.landmarks_
        assert len(np.unique(landmarks, axis=0)) == len(landmarks) <= 20
        states = feature_map.transform(rows)
        assert_allclose(squared_overlaps(states, states)[0, 1], 1, rtol=1e-6)

    @every_selection
    def test_more_rows_than_are_looked_at(self, selection, monkeypatch):
        monkeypatch.setattr("rhokit.features.selection._SELECTION_ROWS", 100)
        rows = np.random.default_rng(0).normal(size=(500, 2))
        landmarks = select_landmarks(rows, None, 7, selection, np.random.default_rng(0))
        assert landmarks.shape == (7, 2)

    def test_one_row(self):
        feature_map = fit([[1.0, 2.0]])
        assert feature_map.n_components_ == 1
        assert_allclose(feature_map.transform([[1.0, 2.0]]) ** 2, 1)


class TestGiven:
    def test_landmarks_are_taken(self, rows):
        given = rows[:7] + 0.5
        feature_map = fit(rows, landmarks=given)
        assert_array_equal(feature_map.landmarks_, given)
        assert_allclose(feature_map.reach(given), 1, atol=1e-9)

    def test_duplicates_do_no_harm(self, rows):
        given = np.concatenate([rows[:7], rows[:7]])
        once, twice = (fit(rows, landmarks=given[:n]) for n in (7, 14))
        assert twice.n_components_ == once.n_components_
        assert_allclose(twice.reach(rows), once.reach(rows), atol=1e-7)

    def test_a_list_beside_a_frame(self, rows):
        frame = pd.DataFrame(rows, columns=list("abc"))
        feature_map = fit(frame, landmarks=rows[:5].tolist())
        assert len(feature_map.landmarks_) == 5

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (np.zeros((4, 2)), r"'landmarks'.*\(m, 3\).*Got \(4, 2\)"),
            (np.full((4, 3), np.nan), "Input landmarks contains NaN"),
            (np.zeros(3), "Expected 2D array"),
            (np.zeros((0, 3)), "0 sample"),
        ],
    )
    def test_checked(self, rows, given, message):
        with pytest.raises(ValueError, match=message):
            fit(rows, landmarks=given)


class TestWhitening:
    """Triangles of Cholesky where they serve, eigenvectors where they do not."""

    @pytest.fixture
    def by_eigenvectors(self, monkeypatch):
        def make(rows, **parameters):
            with monkeypatch.context() as patched:
                patched.setattr(landmarks, "_SURELY_ABOVE", np.inf)
                return fit(rows, **parameters)

        return make

    @pytest.mark.parametrize("normalize", [False, True])
    @pytest.mark.parametrize("real", [np.float32, np.float64])
    def test_both_give_the_same_overlaps(self, rows, real, normalize, by_eigenvectors):
        rows = rows.astype(real)
        settings = {"gamma": 20.0, "n_components": 10, "normalize": normalize}
        triangular, plain = fit(rows, **settings), by_eigenvectors(rows, **settings)
        assert not np.triu(triangular.whitening_, 1).any()
        assert np.triu(plain.whitening_, 1).any()
        found, expected = (m.transform(rows) for m in (triangular, plain))
        tol = 1e-5 if real == np.float32 else 1e-12
        assert_allclose(found @ found.T, expected @ expected.T, atol=tol)

    def test_of_nearly_equal_landmarks_eigenvectors(self, rows):
        close = np.concatenate([rows[:5], rows[:5] + 1e-5])
        for gamma, is_square in ((1.0, False), (1e12, True)):
            whitening = fit(rows, gamma=gamma, landmarks=close).whitening_
            assert (whitening.shape == (10, 10)) == is_square

    @pytest.mark.parametrize("gamma", 2.0 ** np.arange(-12, 8, 2))
    def test_what_is_left_out_does_not_depend_on_it(self, rows, gamma, by_eigenvectors):
        settings = {"gamma": gamma, "n_components": 20}
        found, expected = fit(rows, **settings), by_eigenvectors(rows, **settings)
        assert found.whitening_.shape == expected.whitening_.shape

    @pytest.mark.parametrize("model", [DMKDE, MeanEmbeddingKDE])
    def test_models_of_both_add_up(self, rows, model, monkeypatch):
        """What is summed are columns; files of older versions have eigenvectors."""
        settings = {"gamma": 20.0, "feature_map": "landmarks", "random_state": 0}
        new = model(n_components=10, **settings).fit(rows)
        monkeypatch.setattr(landmarks, "_SURELY_ABOVE", np.inf)
        old = model(n_components=10, **settings).fit(rows)
        assert np.triu(old.feature_map_.whitening_, 1).any()
        whole = model(n_components=10, **settings).prepare(rows)
        whole.partial_fit(np.concatenate([rows, rows]))
        for one, other in ((new, old), (old, new)):
            both = copy(one).merge(other).score_samples(rows)
            assert_allclose(both, whole.score_samples(rows), rtol=1e-9)


class TestWithGamma:
    @pytest.mark.parametrize("gamma", [1e-3, 0.5, 40.0])
    @pytest.mark.parametrize("normalize", [False, True])
    def test_a_fresh_fit_over_the_same_landmarks(self, rows, gamma, normalize):
        first = fit(rows, gamma=2.0, normalize=normalize)
        before = first.fingerprint()
        other = first.with_gamma(gamma, rows, None)
        fresh = fit(rows, gamma=gamma, normalize=normalize, landmarks=first.landmarks_)
        assert other.gamma == gamma
        assert other.fingerprint() == fresh.fingerprint()
        assert_array_equal(other.transform(rows), fresh.transform(rows))
        assert first.fingerprint() == before
        assert first.gamma == 2.0


class TestWithLandmarks:
    """Landmarks moved by training, with the whitening that they were trained with."""

    def move(self, feature_map, seed=3):
        rng = np.random.default_rng(seed)
        return feature_map.landmarks_ + 0.2 * rng.normal(
            size=feature_map.landmarks_.shape
        )

    @pytest.mark.parametrize("d", [2, 8])
    @pytest.mark.parametrize("offset", [0.0, 40.0])
    def test_columns_of_the_new_ones_whitened_as_before(self, d, offset):
        rows = np.random.default_rng(7).normal(size=(60, d)) + offset
        first = fit(rows, gamma=1 / d)
        before, states = first.fingerprint(), first.transform(rows)
        moved = self.move(first)
        other = first.with_landmarks(moved, rows)
        expected = kernel(rows, moved, 0.5 / d) @ first.whitening_
        assert_allclose(other.transform(rows), expected, atol=1e-9)
        assert_array_equal(other.landmarks_, moved)
        # The first is what it was.
        assert first.fingerprint() == before != other.fingerprint()
        assert_array_equal(first.transform(rows), states)

    def test_normalised(self, rows):
        first = fit(rows, gamma=0.5, normalize=True)
        moved = self.move(first)
        states = kernel(rows, moved, 0.25) @ first.whitening_
        found = first.with_landmarks(moved, rows).transform(rows)
        assert_allclose(found, states / lengths(states)[:, None], atol=1e-9)

    def test_the_same_landmarks_are_the_same_map(self, rows):
        first = fit(rows)
        other = first.with_landmarks(first.landmarks_, rows)
        assert_array_equal(other.transform(rows), first.transform(rows))

    def test_the_fingerprint_knows_the_whitening(self, rows):
        """Equal landmarks over different whitenings give different states."""
        first, second = fit(rows, random_state=0), fit(rows, random_state=1)
        moved = self.move(first)
        maps = [each.with_landmarks(moved, rows) for each in (first, second)]
        assert maps[0].fingerprint() != maps[1].fingerprint()
        again = first.with_landmarks(moved, rows)
        assert maps[0].fingerprint() == again.fingerprint()

    def test_distances_are_taken_as_the_rows_need_it(self):
        rows = np.random.default_rng(7).normal(size=(60, 8))
        feature_map = fit(rows)
        assert feature_map.distances_by_product
        far = np.concatenate([rows, np.full((1, 8), 1e8)])
        other = feature_map.with_landmarks(feature_map.landmarks_, far)
        assert not other.distances_by_product
        assert feature_map.distances_by_product

    @pytest.mark.parametrize("real", ["float32", "float64"])
    def test_precision_stays(self, rows, real):
        first = fit(rows.astype(real))
        other = first.with_landmarks(self.move(first).astype(float), rows.astype(real))
        assert other.landmarks_.dtype == real
        assert other.transform(rows.astype(real)).dtype == real


class TestMassMatrix:
    """The integral of the products of states, against sums over a grid."""

    def integral(self, feature_map, d):
        axis = np.linspace(-10, 10, 400 if d == 1 else 90)
        points = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
        states = feature_map.transform(points)
        volume = (axis[1] - axis[0]) ** d
        return states.T @ states * volume / np.exp(feature_map.log_mass())

    @pytest.mark.parametrize("d", [1, 2])
    @pytest.mark.parametrize("gamma", [0.5, 2.0])
    def test_numerical_integration(self, d, gamma):
        rows = np.random.default_rng(7).normal(size=(40, d))
        feature_map = fit(rows, gamma=gamma, n_components=8)
        expected = self.integral(feature_map, d)
        assert_allclose(feature_map.mass_matrix(), expected, atol=1e-7)
        moved = feature_map.with_landmarks(feature_map.landmarks_ * 1.2 + 0.1, rows)
        assert_allclose(moved.mass_matrix(), self.integral(moved, d), atol=1e-7)
        assert np.abs(moved.mass_matrix() - feature_map.mass_matrix()).max() > 1e-3

    def test_long_rows(self):
        """Distances of many columns come from a product."""
        rows = np.random.default_rng(7).normal(size=(12, 80))
        feature_map = fit(rows, gamma=0.02, n_components=12)
        overlaps = kernel(rows, rows, 0.005)
        order = [
            int(np.argmin(((rows - lm) ** 2).sum(axis=1)))
            for lm in feature_map.landmarks_
        ]
        overlaps = overlaps[np.ix_(order, order)]
        whitening = feature_map.whitening_
        expected = whitening.T @ overlaps @ whitening
        assert_allclose(feature_map.mass_matrix(), expected, atol=1e-9)

    def test_a_landmark_alone_has_mass_one(self):
        assert_allclose(fit([[3.0, 4.0]]).mass_matrix(), [[1.0]], rtol=1e-12)

    def test_in_double_precision(self, rows):
        feature_map = fit(rows.astype("float32"), gamma=0.5)
        assert feature_map.mass_matrix().dtype == np.float64

    def test_unit_states_have_none(self, rows):
        assert fit(rows, normalize=True).mass_matrix() is None


class TestGroups:
    """Landmarks that are chosen group by group."""

    @staticmethod
    def groups_of(landmarks, centres):
        distances = ((landmarks[:, None] - centres) ** 2).sum(axis=2)
        return np.bincount(distances.argmin(axis=1), minlength=len(centres))

    def test_every_group_has_its_share(self):
        rng = np.random.default_rng(0)
        centres = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
        groups = np.repeat([0, 1, 2], [600, 300, 100])
        rows = centres[groups] + rng.normal(size=(1000, 2))
        landmarks = select_landmarks(rows, None, 40, "kmeans", rng, groups)
        assert self.groups_of(landmarks, centres).tolist() == [24, 12, 4]

    def test_the_smallest_group_has_one(self):
        rng = np.random.default_rng(0)
        centres = np.array([[0.0, 0.0], [50.0, 0.0]])
        groups = np.repeat([0, 1], [997, 3])
        rows = centres[groups] + rng.normal(size=(1000, 2))
        landmarks = select_landmarks(rows, None, 20, "kmeans", rng, groups)
        assert self.groups_of(landmarks, centres).tolist() == [19, 1]

    def test_no_landmark_lies_between_two_groups(self):
        rng = np.random.default_rng(0)
        rows = np.concatenate(
            [rng.normal(-9, 0.1, (30, 1)), rng.normal(9, 0.1, (3, 1))]
        )
        groups = np.repeat(["a", "b"], [30, 3])
        landmarks = select_landmarks(rows, None, 2, "kmeans", rng, groups)
        assert_allclose(np.abs(landmarks), 9, atol=0.5)

    def test_weights_count(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(400, 2)) + np.repeat([[0, 0], [60, 0]], 200, axis=0)
        groups = np.repeat([0, 1], 200)
        weights = np.repeat([1.0, 3.0], 200)
        landmarks = select_landmarks(rows, weights, 40, "kmeans", rng, groups)
        assert self.groups_of(landmarks, np.array([[0, 0], [60, 0]])).tolist() == [
            10,
            30,
        ]

    def test_more_groups_than_landmarks(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(50, 2))
        landmarks = select_landmarks(rows, None, 8, "kmeans", rng, np.arange(50))
        assert len(landmarks) == 8


def test_unnormalized_differs_by_a_factor_per_row():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    unit = LandmarkFeatures(n_components=16, normalize=True, random_state=0).fit(rows)
    plain = unit.unnormalized().transform(rows)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    assert_allclose(unit.transform(rows), plain / lengths, rtol=1e-9, atol=1e-12)
    assert lengths.max() <= 1 + 1e-9
