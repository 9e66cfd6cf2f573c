"""Streams of models on grids: the same density as of all rows, in a box that grows."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rhokit import DMKDE, DMKDClassifier, QMRegressor, Stream, fit_batches, fit_files
from rhokit.features import GridFeatures

TOL = 1e-8
GAMMA = {1: 3.0, 2: 1.5}
RNG = np.random.default_rng(0)
N = 600
# The rows of the end lie far outside of what the first ones span.
CALM = {d: RNG.normal(size=(N, d)) for d in (1, 2)}
DRIFTING = {d: np.concatenate([CALM[d][:400], CALM[d][400:] + 9.0]) for d in (1, 2)}
MAPS = {"auto": "auto", "grid": "grid", "instance": GridFeatures(margin=1.0)}

both = pytest.mark.parametrize("d", [1, 2])
every_map = pytest.mark.parametrize("wanted", MAPS)


def density(d, wanted="grid"):
    return DMKDE(
        gamma=GAMMA[d], scale=None, feature_map=MAPS.get(wanted, wanted), random_state=0
    )


def batches(rows, size=100):
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def kernel_density(rows, queries, gamma, weights=None):
    """The kernel density of weighted rows, written out."""
    squares = ((queries[:, None, :] - rows[None, :, :]) ** 2).sum(axis=-1)
    mass = np.ones(len(rows)) if weights is None else weights
    d = rows.shape[1]
    return np.exp(-gamma * squares) @ mass / mass.sum() * (gamma / np.pi) ** (d / 2)


def named(model, rows):
    """Rows as the model knows its columns."""
    names = getattr(model, "feature_names_in_", None)
    return rows if names is None else pd.DataFrame(rows, columns=names)


def assert_density_of(model, rows, weights=None, tol=3 * TOL):
    """The model is the kernel density of these rows, near them and between them."""
    queries = np.concatenate([rows[::7], rows[::11] + 0.6, rows[:5] + 3.0])
    exact = kernel_density(rows, queries, model.gamma_, weights)
    mass = len(rows) if weights is None else weights.sum()
    assert isinstance(model.feature_map_, GridFeatures)
    assert_allclose(model.state_.weight.sum(), mass, rtol=1e-12)
    found = model.density(named(model, queries))
    assert_allclose(found, exact, rtol=0, atol=tol * exact.max())


def widens():
    return pytest.warns(UserWarning, match="which was widened for")


def holds(model, rows):
    return model.feature_map_.holds(rows)


@both
@every_map
class TestBatches:
    def test_are_one_fit(self, d, wanted):
        model = fit_batches(density(d, wanted), batches(CALM[d]))
        assert_density_of(model, CALM[d])
        whole = density(d, wanted).fit(CALM[d])
        found, expected = (m.density(CALM[d]) for m in (model, whole))
        assert_allclose(found, expected, rtol=0, atol=3 * TOL * expected.max())

    def test_widen_the_box(self, d, wanted):
        with widens() as said:
            model = fit_batches(
                density(d, wanted),
                batches(DRIFTING[d]),
                sample_rows=100,
                batch_rows=100,
            )
        assert_density_of(model, DRIFTING[d])
        assert holds(model, DRIFTING[d])
        assert len(said) == 1  # with room to spare for the rows to come
        assert "of 100 rows lie outside the box" in str(said[0].message)

    def test_in_any_order(self, d, wanted):
        turned = DRIFTING[d][::-1]
        with widens():
            model = fit_batches(
                density(d, wanted), batches(turned), sample_rows=100, batch_rows=100
            )
        assert_density_of(model, turned)


@both
class TestBoxes:
    def test_of_the_first_rows_have_room(self, d):
        """Half of their width to either side, so that few streams leave them."""
        first = CALM[d][:100]
        model = density(d).prepare(first)
        width = np.ptp(first, axis=0)
        assert_allclose(model.feature_map_.low_, first.min(axis=0) - width / 2)
        assert_allclose(model.feature_map_.high_, first.max(axis=0) + width / 2)
        bounds = np.stack([CALM[d].min(axis=0) - 1, CALM[d].max(axis=0) + 1])
        model = density(d, GridFeatures(bounds=bounds)).prepare(first)
        assert_array_equal(model.feature_map_.low_, bounds[0])

    def test_that_are_fixed_refuse_rows_and_keep_the_model(self, d):
        bounds = [[-5.0] * d, [5.0] * d]
        wanted = GridFeatures(bounds=bounds, outside="refuse")
        model = fit_batches(density(d, wanted), batches(CALM[d]))
        before = model.state_
        with pytest.raises(ValueError, match="100 of 100 rows lie outside the box"):
            model.partial_fit(DRIFTING[d][-100:])
        assert model.state_ is before
        with pytest.raises(ValueError, match="rows lie outside the box"):
            fit_batches(
                density(d, wanted),
                batches(DRIFTING[d]),
                sample_rows=100,
                batch_rows=100,
            )
        assert_density_of(model, CALM[d])

    @pytest.mark.parametrize("far", [9.0, 1e3, -1e300])
    def test_rows_of_weight_zero_widen_nothing(self, d, far):
        """They are not there, and leave no trace in the sums either."""
        rows = CALM[d].copy()
        rows[400:] = far
        weights = (np.arange(N) < 400).astype(float)
        model = density(d).prepare(CALM[d]).partial_fit(rows, sample_weight=weights)
        assert_density_of(model, rows[:400])
        model.unlearn(rows[200:], sample_weight=weights[200:])
        assert_density_of(model, rows[:200])

    def test_a_box_cannot_grow_beyond_all_bounds(self, d):
        model = density(d, GridFeatures(max_modes=2**14)).fit(CALM[d])
        before = model.state_
        with pytest.raises(ValueError, match="more than max_modes=16,384"):
            model.partial_fit(CALM[d] + 1e7)
        assert model.state_ is before
        assert_density_of(model, CALM[d])

    def test_a_box_that_may_grow_little_has_no_room(self, d):
        """Where room to spare would be too large, the rows alone are held."""
        far = CALM[d][:50] + 9.0
        exact = density(d).fit(np.concatenate([CALM[d], far]))
        least = exact.feature_map_.spectrum_.size
        model = density(d, GridFeatures(max_modes=least)).fit(CALM[d])
        with widens():
            model.partial_fit(far)
        assert model.feature_map_.spectrum_.size == least
        assert_density_of(model, np.concatenate([CALM[d], far]))

    def test_many_widenings_stay_exact(self, d):
        shifts = [0.0, 9.0, -15.0, 30.0]
        steps = [CALM[d][60 * i : 60 * i + 60] + by for i, by in enumerate(shifts)]
        model = density(d, GridFeatures()).fit(steps[0])
        for step in steps[1:]:
            with widens():
                model.partial_fit(step)
        assert_density_of(model, np.concatenate(steps), tol=4 * TOL)


def test_the_warning_names_the_column_that_grew():
    names = ["speed", "load"]
    model = density(2).fit(pd.DataFrame(CALM[2], columns=names))
    far = pd.DataFrame(CALM[2] + [0, 9.0], columns=names)
    with widens() as said:
        model.partial_fit(far)
    assert "column 'load' from" in str(said[0].message)
    # Rows of the same values in the other column do not leave its box.
    assert "'speed'" not in str(said[0].message)


class TestOutcomes:
    @both
    def test_of_classes(self, d):
        labels = np.arange(N) % 3
        make = {"gamma": GAMMA[d], "scale": None, "feature_map": "grid"}
        pairs = list(zip(batches(DRIFTING[d]), batches(labels), strict=True))
        with widens():
            model = fit_batches(
                DMKDClassifier(**make), pairs, sample_rows=100, batch_rows=100
            )
        whole = DMKDClassifier(**make).fit(DRIFTING[d], labels)
        assert_array_equal(model.class_count_, whole.class_count_)
        found, expected = (m.predict_proba(DRIFTING[d]) for m in (model, whole))
        assert_allclose(found, expected, rtol=0, atol=1e-5)

    @both
    def test_of_values(self, d):
        y = np.sin(DRIFTING[d][:, 0])
        make = {
            "gamma": GAMMA[d],
            "scale": None,
            "feature_map": "grid",
            "bounds": (-1, 1),
        }
        make |= {"n_levels": 5, "beta": 20.0}
        pairs = list(zip(batches(DRIFTING[d]), batches(y), strict=True))
        with widens():
            model = fit_batches(
                QMRegressor(**make), pairs, sample_rows=100, batch_rows=100
            )
        whole = QMRegressor(**make).fit(DRIFTING[d], y)
        found, expected = (m.predict(DRIFTING[d]) for m in (model, whole))
        assert_allclose(found, expected, rtol=0, atol=1e-5)


def write_folder(folder, rows):
    folder.mkdir()
    for number, part in enumerate(np.array_split(rows, 3)):
        table = pa.table(
            {name: part[:, i] for i, name in enumerate("ab"[: part.shape[1]])}
        )
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=70)
    return folder


@both
class TestFiles:
    def test_are_one_fit(self, d, tmp_path):
        folder = write_folder(tmp_path / "rows", CALM[d])
        for wanted in ("auto", "grid"):
            assert_density_of(fit_files(density(d, wanted), folder), CALM[d])

    def test_widen_a_prepared_box(self, d, tmp_path):
        folder = write_folder(tmp_path / "rows", DRIFTING[d])
        model = density(d).prepare(CALM[d])
        with widens():
            fit_files(model, folder, batch_rows=100)
        assert_density_of(model, DRIFTING[d])

    def test_go_on_from_a_checkpoint_after_widening(self, d, tmp_path, monkeypatch):
        """To the same bits as without the interruption."""
        folder = write_folder(tmp_path / "rows", DRIFTING[d])
        path = tmp_path / "fit.rhokit"
        options = {"batch_rows": 50, "checkpoint_every": 0.0}
        plan = density(d).prepare(CALM[d])
        with widens():
            whole = fit_files(plan.blank(), folder, **options)

        learn, learned = DMKDE.partial_fit, []

        def stops(self, *arguments, **keywords):
            if len(learned) == 10:
                raise KeyboardInterrupt
            learned.append(1)
            return learn(self, *arguments, **keywords)

        with monkeypatch.context() as patch:
            patch.setattr(DMKDE, "partial_fit", stops)
            with widens(), pytest.raises(KeyboardInterrupt):
                fit_files(plan.blank(), folder, checkpoint=path, **options)
        # The box is wide already: no warning here.
        again = fit_files(plan.blank(), folder, checkpoint=path, **options)
        assert again.feature_map_.has_box_of(whole.feature_map_)
        assert_array_equal(again.state_.total, whole.state_.total)
        assert_density_of(again, DRIFTING[d])


@both
class TestOneByOne:
    def test_is_one_fit(self, d):
        stream = Stream(density(d), warm_up=100, buffer_rows=64)
        for row in CALM[d]:
            stream.learn_one(row)
        assert_density_of(stream.model, CALM[d])

    def test_widens_the_box(self, d):
        stream = Stream(density(d), warm_up=100, buffer_rows=64)
        names = ["speed", "load"][:d]
        with widens():
            for row in DRIFTING[d]:
                stream.learn_one(dict(zip(names, row, strict=True)))
            model = stream.model
        assert model.feature_names_in_.tolist() == names
        assert_density_of(model, DRIFTING[d])

    @pytest.mark.parametrize("half_life", [40.0, 1000.0])
    def test_fades(self, d, half_life):
        plan = density(d).prepare(CALM[d])
        stream = Stream(plan, half_life=half_life, buffer_rows=64)
        with widens():
            for part in batches(DRIFTING[d], 37):
                stream.learn_many(part)
            model = stream.model
        weights = 2 ** (-np.arange(N)[::-1] / half_life)
        assert_density_of(model, DRIFTING[d], weights)

    def test_forgets_what_leaves_the_window(self, d):
        """Rows that were learned before the box grew, too."""
        stream = Stream(density(d), window=150, warm_up=100, buffer_rows=50)
        with widens():
            for part in batches(DRIFTING[d], 50):
                stream.learn_many(part)
            model = stream.model
        # What was added and taken out again leaves its error.
        assert_density_of(model, DRIFTING[d][-150:], tol=20 * TOL)

    def test_refuses_single_rows(self, d):
        wanted = GridFeatures(bounds=[[-5.0] * d, [5.0] * d], outside="refuse")
        stream = Stream(density(d, wanted).prepare(CALM[d]), buffer_rows=100)
        rows = CALM[d][:90].copy()
        rows[[3, 50]] = 7.0
        stream.learn_many(rows)
        with pytest.raises(ValueError, match=r"2 of 90 rows were refused.*box"):
            stream.model  # noqa: B018
        good = np.delete(rows, [3, 50], axis=0)
        assert stream.n_seen == 88
        assert_density_of(stream.model, good)


@both
def test_decay_before_and_after_widening(d):
    calm, far = CALM[d], CALM[d][:100] + 9.0
    model = density(d).fit(calm)
    with widens():
        model.partial_fit(far, decay=0.5)
    model.partial_fit(calm[:50], decay=0.25)
    rows = np.concatenate([calm, far, calm[:50]])
    weights = np.repeat([0.125, 0.25, 1.0], [N, 100, 50])
    assert_density_of(model, rows, weights)
